"""Runs a script in several processes. In: its text, their number. Out: what came of it; a time limit ends what would hang."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

LIMIT = 60  # seconds, of which a start takes about two


def require_mpi() -> None:
    """Skips unless processes can be started."""
    pytest.importorskip("mpi4py")
    from weft import errors
    from weft.nn.parallel import launcher

    try:
        launcher.find_mpiexec()
    except errors.MissingPackageError:
        pytest.skip("no mpiexec beside Python nor on the PATH")


def launched(
    folder: Path, code: str, *arguments: str, processes: int = 2, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """What comes of this code in a script."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    return started("-n", str(processes), *options, str(script), *arguments)


def started(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m weft.nn.parallel arguments`."""
    require_mpi()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    line = [sys.executable, "-m", "weft.nn.parallel", *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=env, timeout=LIMIT, check=False)
