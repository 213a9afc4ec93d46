"""Starts the processes of a script. In: their number, a script, its arguments. Out: their output
and one exit status."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from ... import errors, options
from .messages import Sieve, reason
from .world import NEEDED, end_with_parent

PATIENCE = 10  # seconds that mpiexec has to end its processes
CHUNK = 1 << 16


def find_mpiexec() -> str:
    """The mpiexec beside the running Python, else that of the PATH. Raises MissingPackageError."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if mpiexec is None or find_spec("mpi4py") is None:
        missing = "no mpiexec beside Python nor on the PATH" if mpiexec is None else "no mpi4py"
        raise errors.MissingPackageError(f"{NEEDED}: there is {missing}")
    return mpiexec


def command(
    mpiexec: str, processes: int, threads: int, prefix: bool, script: Sequence[str]
) -> list[str]:
    """What starts the processes: on the cores that there are, each free to run on any of them; none
    reads stdin."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []  # as in most containers
    shown = ["--output", "rank"] if prefix else []
    placed = [
        "--oversubscribe",
        "--bind-to",
        "none",
        "--stdin",
        "none",
        "-x",
        f"WEFT_NUM_THREADS={threads}",
    ]
    return [
        mpiexec,
        "-n",
        str(processes),
        *root,
        *placed,
        *shown,
        sys.executable,
        "-m",
        f"{__package__}.worker",
        *script,
    ]


def threads_each(processes: int) -> int:
    """The threads of the options, divided among the processes."""
    return max(1, options.current().num_threads // processes)


def launch(arguments: Sequence[str], prefix: bool) -> int:
    """Runs such a command; its exit status, 128 + n for signal n. Says on stderr which process
    failed."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    # A group of its own: Ctrl-C reaches this process alone, which signals mpiexec once. At a second
    # signal it would abandon them.
    running = subprocess.Popen(
        arguments,
        stdin=nothing,
        stdout=pipe if prefix else None,
        stderr=pipe,
        process_group=0,
        preexec_fn=partial(end_with_parent, signal.SIGTERM),  # noqa: PLW1509 - no other thread runs yet
    )
    out, err = Sieve(prefix), Sieve(prefix)
    pairs = [(running.stdout, sys.stdout, out), (running.stderr, sys.stderr, err)]
    readers = [
        Thread(target=_forward, args=pair, daemon=True) for pair in pairs if pair[0] is not None
    ]
    for reader in readers:
        reader.start()
    try:
        status = running.wait()
    finally:
        _end(running)  # after Ctrl-C, or a signal to this process, it runs still
    for reader in readers:
        reader.join()
    if status:
        print(
            f"weft.nn.parallel: {reason(err.said) or f'mpiexec ended with status {status}'}",
            file=sys.stderr,
        )
    return status if status >= 0 else 128 - status


def _forward(source: Any, target: Any, sieve: Sieve) -> None:
    while chunk := os.read(source.fileno(), CHUNK):
        target.buffer.write(sieve.through(chunk))
        target.flush()
    target.buffer.write(sieve.end())
    target.flush()


def _end(running: subprocess.Popen[bytes]) -> None:
    if running.poll() is None:
        running.terminate()  # mpiexec ends its processes
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
