"""Commands of `python -m weft` in tests. In: arguments, scripts as text. Out: what a process
prints, or an exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from weft.__main__ import main


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Another Python that finds the same packages."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    line = [sys.executable, *arguments]
    return subprocess.run(
        line, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def status(*arguments: str) -> int:
    """The exit status of a command that runs no script."""
    try:
        return main([*arguments])
    except SystemExit as leaving:
        assert isinstance(leaving.code, int)
        return leaving.code


def script(folder: Path, text: str) -> str:
    (folder / "script.py").write_text(text)
    return "script.py"
