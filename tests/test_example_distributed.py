"""One network in several processes learns what it learns in one."""

from __future__ import annotations

from pathlib import Path

import distributed
import pytest
from processes import started


def test_two_processes_report_what_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    assert distributed.main(["--epochs", "3"]) > 0.9
    alone = capsys.readouterr().out.splitlines()
    done = started("-n", "2", str(Path(distributed.__file__)), "--epochs", "3")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    *epochs, last = done.stdout.splitlines()
    assert epochs == alone[:3] and epochs[2].startswith("epoch 3/3: loss ")
    assert last.split(" after ")[0] == alone[3].split(" after ")[0] and " on 2 x " in last


@pytest.mark.parametrize("arguments", [["--batch-size", "0"], ["--hidden", "x"], ["--lr", "-1"]])
def test_wrong_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        distributed.main(arguments)
    assert end.value.code == 2 and f"argument {arguments[0]}: " in capsys.readouterr().err.splitlines()[-1]
