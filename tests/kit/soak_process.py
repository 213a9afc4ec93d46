"""A process of a soak, as the soak sees it. In: a generator and seeds. Out: messages, how late it
is, what it printed last."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("soak_worker.py").resolve()
MODULE = "soak_generators"
START = 120  # seconds until the first seed begins
PATIENCE = 5  # seconds in which a process that hangs may still print where


class Worker:
    """A process that runs the seeds first .. end - 1 of one generator."""

    def __init__(
        self, generator: Any, first: int, end: int, settings: argparse.Namespace, folder: str
    ) -> None:
        self.generator, self.first, self.end, self.next = generator, first, end, first
        self.running: int | None = None  # the seed that has begun
        self.grown = self.hung = False
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  closed with the worker
        self.module = settings.module
        line = [*self.command(first, end - first), "--follow", str(int(settings.memory * 1e9))]
        path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
        env = os.environ | {"PYTHONPATH": path, "WEFT_CACHE_DIR": f"{folder}/cache"}
        self.began = self.changed = time.monotonic()
        # A session of its own: Ctrl-C is the soak's, and what the process has started ends with it.
        files: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": self.errors,
        }
        self.process = subprocess.Popen(line, cwd=folder, env=env, start_new_session=True, **files)
        assert self.process.stdout is not None
        self.stdout = self.process.stdout
        self._rest = b""

    def command(self, first: int, count: int = 1) -> list[str]:
        module = [] if self.module == MODULE else ["--module", self.module]
        return [sys.executable, str(SCRIPT), self.generator.name, str(first), str(count), *module]

    def messages(self) -> Iterator[list[Any]] | None:
        """What it has said meanwhile; None: it has ended."""
        read = os.read(self.stdout.fileno(), 1 << 16)
        self.changed = time.monotonic()
        *lines, self._rest = (self._rest + read).split(b"\n")
        return map(json.loads, lines) if read else None

    def is_late(self) -> bool:
        return time.monotonic() - self.changed > (
            START if self.running is None else self.generator.limit
        )

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        try:
            os.killpg(self.process.pid, how)
            self.process.wait(PATIENCE)
        except ProcessLookupError:
            pass
        except subprocess.TimeoutExpired:
            self.stop()

    def said(self) -> str:
        """The end of what it has printed, where it crashed or hung."""
        self.errors.seek(0)
        return self.errors.read()[-3000:]

    def close(self) -> None:
        self.stdout.close()
        self.errors.close()
