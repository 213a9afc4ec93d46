"""A user's script, run as Python runs it. In: its name and arguments. Out: its exit status.

It is `__main__`, with its own sys.argv, sys.path[0] and `__file__`; what it raises is shown as
Python shows it, from its first line on. Threads that it has left running have ended when this
returns, as they have when Python exits.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import runpy
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType

from ...errors import WeftError

FAILED, INTERRUPTED = 1, 130  # exit statuses: of an exception, and of Ctrl-C as shells give it
# The files that stand around a script's own frames.
AROUND = {__file__, runpy.__file__, "<frozen runpy>"}


class NoScript(WeftError):
    """There is no such script."""


@dataclass(frozen=True)
class Script:
    """What to run: a file, or with `is_module` the name of a module."""

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False

    @property
    def command(self) -> str:
        """As one would type it."""
        return " ".join(["python", *["-m"] * self.is_module, self.name, *self.arguments])

    def is_file(self, path: str | Path) -> bool:
        """Is this the file that would be run? The path exists."""
        return (
            not self.is_module and os.path.exists(self.name) and os.path.samefile(self.name, path)
        )

    def run(self) -> int:
        """Raises NoScript; never what the script raises."""
        return run(main_of_module(self) if self.is_module else main_of_file(self))


def run(main: Callable[[], None]) -> int:
    """The exit status of what main does, whatever that is."""
    status = outcome(main)
    return outcome(join_threads) or status


def outcome(action: Callable[[], None]) -> int:
    """Runs it; what it raises is shown, and gives the status that it would give a process."""
    try:
        action()
    except SystemExit as leaving:
        return exit_status(leaving.code)
    except BaseException as raised:
        raised.__traceback__ = of_script(raised.__traceback__)
        sys.excepthook(type(raised), raised, raised.__traceback__)
        return INTERRUPTED if isinstance(raised, KeyboardInterrupt) else FAILED
    return 0


def exit_status(code: object) -> int:
    """What Python exits with for SystemExit(code): texts are printed."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return FAILED


def of_script(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this file, and of what it calls to run a script."""
    while trace is not None and trace.tb_frame.f_code.co_filename in AROUND:
        trace = trace.tb_next
    return trace


def join_threads() -> None:
    """Waits for all threads that are no daemons, as Python does before it exits."""
    here = threading.current_thread()
    while waiting := [t for t in threading.enumerate() if t is not here and not t.daemon]:
        for t in waiting:
            t.join()


# ---------------------------------------------------------------- __main__


def main_of_file(script: Script) -> Callable[[], None]:
    """Runs a file. Raises NoScript where it cannot be read."""
    path = os.path.abspath(script.name)
    try:
        with io.open_code(path) as file:
            text = file.read()
    except OSError as error:
        raise NoScript(
            f"cannot run {script.name!r}: {(error.strerror or str(error)).lower()}"
        ) from None

    def main() -> None:
        module = ModuleType("__main__")
        loader = SourceFileLoader("__main__", path)
        vars(module).update(
            __file__=path, __builtins__=builtins, __loader__=loader, __cached__=None
        )
        sys.modules["__main__"] = module
        sys.argv[:] = [script.name, *script.arguments]
        if not sys.flags.safe_path:
            sys.path[0] = os.path.dirname(os.path.realpath(path))
        exec(compile(text, path, "exec", dont_inherit=True), vars(module))

    return main


def main_of_module(script: Script) -> Callable[[], None]:
    """Runs a module, or the `__main__` of a package. Raises NoScript where it is not found."""
    try:
        spec = importlib.util.find_spec(script.name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise NoScript(f"cannot run -m {script.name}: no such module")

    def main() -> None:
        sys.argv[:] = [script.name, *script.arguments]
        runpy.run_module(script.name, run_name="__main__", alter_sys=True)

    return main
