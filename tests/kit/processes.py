"""Runs a script in several processes. In: its text, their number. Out: what came of it; a time
limit ends what would hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LIMIT = 120  # seconds, of which a start takes about two


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
    """`python -m weft.nn.parallel arguments`, run to its end."""
    require_mpi()
    with launcher_of(*arguments) as running:
        try:
            out, err = running.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return subprocess.CompletedProcess(arguments, running.returncode, out, err)


def launcher_of(*arguments: str) -> subprocess.Popen[str]:
    """The same, running."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    line = [sys.executable, "-m", "weft.nn.parallel", *arguments]
    with interruptible():
        return subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C means something, for processes started in here, too, also where tests run in the
    background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_running(pid: int) -> bool:
    """Is there a process of this number that has not ended, by Linux's /proc; one that nobody has
    waited for has ended, too."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
