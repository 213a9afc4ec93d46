"""One network in several processes learns what it learns in one."""

from __future__ import annotations

from pathlib import Path

import distributed
import pytest
from effort import rarely
from processes import launched
from stripes import stripes

SMALL = ["--hidden", "32", "--lr", "0.01", "--batch-size", "16"]
SCRIPTS = {
    "digits": "import distributed; distributed.main()",
    "stripes": """
        import distributed
        from stripes import stripes

        distributed.digits = lambda: (stripes(160, 0), stripes(40, 1))
        distributed.main()
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("images", ["stripes", *rarely("digits")])
def test_two_processes_report_what_one_does_and_one_goes_on_from_there(
    images: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("safetensors")
    if images == "stripes":
        monkeypatch.setattr(distributed, "digits", lambda: (stripes(160, 0), stripes(40, 1)))
    kept = str(tmp_path / "two")
    done = launched(tmp_path, SCRIPTS[images], *SMALL, "--epochs", "1", "--checkpoint", kept)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    epoch, last = done.stdout.splitlines()
    assert last.startswith("test accuracy: ") and " on 2 x " in last
    assert distributed.main([*SMALL, "--epochs", "2"]) > 0.9
    first, second, _ = capsys.readouterr().out.splitlines()
    assert epoch == first.replace("/2", "/1")
    distributed.main([*SMALL, "--epochs", "2", "--resume", kept])
    assert capsys.readouterr().out.splitlines()[0] == second


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
