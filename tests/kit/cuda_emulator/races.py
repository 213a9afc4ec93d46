"""Runs Python under ThreadSanitizer, so that kernels report races: python -m cuda_emulator.races -m
pytest test.py

In such a process EmulatorDriver compiles kernels with instrumentation and raises EmulatorError for
two threads of a launch, of one block or of two, that touch the same memory, one of them writing,
without a barrier between. Takes a few times as long.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

LOG = "WEFT_EMULATOR_RACES"


def sanitizer() -> str | None:
    """The library of ThreadSanitizer beside g++, or None; it needs fixed addresses, which a
    container may forbid."""
    if shutil.which("g++") is None or shutil.which("setarch") is None:
        return None
    if subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode:
        return None
    done = subprocess.run(
        ["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=False
    )
    path = Path(done.stdout.strip())
    return str(path.resolve()) if path.is_absolute() and path.exists() else None


@cache
def active() -> bool:
    """Whether this process runs under ThreadSanitizer."""
    return hasattr(ctypes.CDLL(None), "__tsan_acquire")


def command(arguments: list[str], log: str) -> tuple[list[str], dict[str, str]]:
    """What runs Python with these arguments under ThreadSanitizer, and its environment; reports go
    to `log`.<process>."""
    options = f"log_path={log} exitcode=0 report_thread_leaks=0 report_signal_unsafe=0"
    environment = os.environ | {"LD_PRELOAD": sanitizer() or "", "TSAN_OPTIONS": options, LOG: log}
    return ["setarch", "-R", sys.executable, *arguments], environment


class Reports:
    """What ThreadSanitizer wrote since the last look."""

    def __init__(self) -> None:
        self.path, self.read = Path(f"{os.environ[LOG]}.{os.getpid()}"), 0

    def new(self) -> str:
        if not self.path.exists():
            return ""
        text = self.path.read_text(errors="replace")[self.read :]
        self.read += len(text)
        return text


if __name__ == "__main__":
    if sanitizer() is None:
        sys.exit("needs g++ with libtsan, and a setarch that may fix addresses")
    with tempfile.TemporaryDirectory() as folder:
        line, environment = command(sys.argv[1:], f"{folder}/races")
        sys.exit(subprocess.run(line, env=environment, check=False).returncode)
