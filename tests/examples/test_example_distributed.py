"""One network in several processes learns what it learns in one."""

from __future__ import annotations

from pathlib import Path

import distributed
import pytest
from processes import started


def test_two_processes_report_what_one_does_and_one_goes_on_from_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("safetensors")
    done = started(
        "-n",
        "2",
        str(Path(distributed.__file__)),
        "--epochs",
        "2",
        "--checkpoint",
        str(tmp_path / "two"),
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    *epochs, last = done.stdout.splitlines()
    assert last.startswith("test accuracy: ") and " on 2 x " in last
    assert distributed.main(["--epochs", "3"]) > 0.9
    first, second, third, _ = capsys.readouterr().out.splitlines()
    assert epochs == [line.replace("/3", "/2") for line in (first, second)]
    distributed.main(["--epochs", "3", "--resume", str(tmp_path / "two")])
    assert capsys.readouterr().out.splitlines()[0] == third


@pytest.mark.parametrize("arguments", [["--batch-size", "0"], ["--hidden", "x"], ["--lr", "-1"]])
def test_wrong_options_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        distributed.main(arguments)
    assert (
        end.value.code == 2
        and f"argument {arguments[0]}: " in capsys.readouterr().err.splitlines()[-1]
    )
