"""One process of several, `python -m weft.nn.parallel.worker script.py ...`. In: a script. Out: its
exit status, known to all."""

from __future__ import annotations

import runpy
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .world import die, end_with_parent, world


def run(script: str, args: Sequence[str]) -> None:
    """Runs the script as Python would. If it fails, this process ends at once, and the launcher
    ends the others."""
    sys.argv = [script, *args]
    sys.path[0] = str(Path(script).resolve().parent)
    end_with_parent(signal.SIGKILL)  # mpiexec asks before it ends itself
    try:
        world()  # all join before any of them can end
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = exit_status(end.code)
        if status:
            die(status)
    except BaseException as error:
        own = error.with_traceback(_of_script(error))
        sys.excepthook(type(own), own, own.__traceback__)
        die(1)


def exit_status(code: Any) -> int:
    """What Python makes of sys.exit(code); a text goes to stderr."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def _of_script(error: BaseException) -> Any:
    """The traceback from the script on, without what has started it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(
        ("<frozen runpy", __file__)
    ):
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
