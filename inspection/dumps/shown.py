"""Output of WEFT_DUMP and WEFT_DEBUG. In: new programs. Out: files, text on stderr, times at exit.

WEFT_DEBUG=1 shows the kernels and, as the process ends, how long they took; 2 also what wf.explain
says of them; 3 their loops; 4 their code. Programs that are shown run through the driver that takes
times.
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass
from typing import Any

from ... import errors, options
from ...compiler import compile
from ...compiler.compile import Compiled
from ...frontend.lazy.cached_program import CachedProgram
from ...runtime.timed import timing
from ...wording import duration, plural
from ..explain.build import report
from ..names.naming import InputNames, input_names, program_name
from . import files
from .artefacts import kernel_line

CODE = ("ll", "cu")  # endings of what level 4 shows


def show(program: CachedProgram, number: int) -> None:
    """Raises OptionError for a folder that cannot be written."""
    asked = options.current()
    with timing():
        compiled = compile.program_of(program.structure)
    names = input_names(program.structure)
    if asked.dump:
        try:
            files.write(compiled, names, asked.dump / f"program{number}")
        except (OSError, errors.ArgumentError) as error:
            raise errors.OptionError(
                f"WEFT_DUMP={str(asked.dump)!r}: cannot write there: {error}"
            ) from None
    if asked.debug:
        title = f"program {number}: {program_name(program.structure)}"
        _say(debug_text(compiled, names, title, asked.debug))
        if not (asked.strict and asked.verify):  # where most of a run is the interpreter's
            _watch(program, compiled, title)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def debug_text(c: Compiled, names: InputNames, title: str, level: int) -> str:
    """What is known of a program before it runs."""
    explained = report(c, predict=level > 1, names=names)
    out = [f"{title}, {plural(len(explained.kernels), 'kernel')} for {c.backend.device}"]
    if level == 1:
        return "\n".join([*out, *(f"    {k.name}  {kernel_line(k)}" for k in explained.kernels)])
    out.append(str(explained))
    if level > 2:
        endings = ("loops", *CODE) if level > 3 else ("loops",)
        out += [
            text for k in c.in_order() for ending, text in c.texts(k).items() if ending in endings
        ]
    return "\n".join(out)


# ---------------------------------------------------------------- times


@dataclass
class _Watched:
    """A program and what is noted of its runs."""

    title: str
    names: list[str]
    program: Any
    timings: Any


_watched: list[_Watched] = []


def _watch(program: CachedProgram, c: Compiled, title: str) -> None:
    """Runs the program with times from now on, and prints them at the end."""
    if getattr(program.executable, "timings", None) is None:
        c.executable.planned = program.executable.planned
        program.executable = c.executable
    if not _watched:
        atexit.register(_tell, os.getpid())
    _watched.append(
        _Watched(title, [k.name for k in c.in_order()], c.program, program.executable.timings)
    )


def _tell(process: int) -> None:
    if os.getpid() == process and _watched:  # not what was forked from it
        _say(times_text())


def times_text() -> str:
    """Of every program that was shown: how often it ran, how long a run took, and each of its
    kernels."""
    return "\n".join(line for w in _watched for line in _times(w))


def _times(w: _Watched) -> list[str]:
    if not w.timings.runs:
        return [f"{w.title}: no runs"]
    total = w.timings.total
    share = [
        f"{100 * s / total if total else 0:3.0f} %  {duration(s):>8}"
        for s in w.timings.by_call(w.program)
    ]
    lines = [f"    {text}  {name}" for text, name in zip(share, w.names, strict=True)]
    return [f"{w.title}: {plural(w.timings.runs, 'run')} of {duration(total)}", *lines]
