"""The programs of a script, and their times. In: calls of watchers. Out: Entries of a document.

Programs are noted as they are new and timed as they run; what a report needs of them is made when
the script has ended. A script that fails is reported as far as it came. A forked process is not
looked into.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ... import locks
from ...compiler import compile
from ...frontend.lazy import realize, watchers
from ...frontend.lazy.cached_program import CachedProgram
from ...frontend.tensor.tensor import Tensor
from ...nn.module import Module
from ...runtime.timed import timing
from ..layout.layout import layout
from ..names import naming
from ..summary.summary import Calls, summary_of
from .document import Entry

MOST = 2000  # programs that are kept: those with the least time are forgotten beyond twice as many

Json = dict[str, Any]


@dataclass
class Seen:
    """A program of the script, and the names of its inputs when it was new."""

    program: CachedProgram
    names: dict[int, str] = field(default_factory=dict)

    @property
    def timings(self) -> Any:
        """What is known of its runs; None where it could not be timed."""
        return getattr(self.program.executable, "timings", None)

    @property
    def runs(self) -> int | None:
        """How often it ran."""
        return self.timings and self.timings.runs

    @property
    def seconds(self) -> float:
        """Of all runs, as far as they were timed: of a typical one, times their number."""
        return (
            typical(self.timings.calls, self.timings.history)[0] * self.timings.runs
            if self.runs
            else 0.0
        )

    def entry(self, name: str, detailed: bool = True) -> Entry:
        """What a document shows; with details it is compiled again, with every artefact."""
        structure, times = self.program.structure, self.timings
        c = compile.program_of(structure) if detailed else None
        if not times or not times.runs:
            return Entry(name, structure.device, c, self.names, times and times.runs)
        call, run = typical(times.calls, times.history)
        kernels = None if c is None else times.by_call(c.program, run)
        return Entry(
            name, structure.device, c, self.names, times.runs, call, sum(times.first), kernels
        )


def typical(calls: Iterable[float], runs: Iterable[list[float]]) -> tuple[float, list[float]]:
    """(seconds as Python measures them, by phase) of the run with as many slower ones as faster:
    its phases belong together."""
    order = sorted(zip(calls, runs, strict=False))
    return order[(len(order) - 1) // 2]


class Collection:
    """The programs of a script. Attributes: `seen`; `forgotten`, how many there were besides."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.forgotten = 0
        self._names = naming.Names()
        self._calls = Calls()
        self._roots: list[weakref.ref[Any]] = []
        self._trees: dict[int, Json] = {}  # by the place of a Module in the roots
        self._is_new = False  # something of the Modules, since the trees were made
        self._process = os.getpid()
        self._lock = locks.new("report")

    @property
    def is_ours(self) -> bool:
        """Is this the process that began to collect, not one forked from it."""
        return os.getpid() == self._process

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Notes and times the programs that are new inside."""
        with timing(), watchers.watching(self._note), watchers.watching_calls(self._called):
            yield

    @property
    def modules(self) -> list[Json]:
        """The outermost Modules that held inputs of programs, as trees that say what each returned
        first."""
        trees: list[Json] = []
        for tree in self._trees.values():
            trees += [] if tree in trees else [tree]
        return trees

    def by_time(self) -> list[Seen]:
        """All, those that took longest first; as they came where nothing was timed."""
        return sorted(self.seen, key=lambda s: -s.seconds)

    def entries(self, detailed: int) -> list[Entry]:
        """By time; the first so many with details."""
        order = self.by_time()
        names = naming.apart([naming.program_name(s.program.structure) for s in order])
        return [
            s.entry(name, i < detailed)
            for i, (s, name) in enumerate(zip(order, names, strict=True))
        ]

    def layouts(self) -> list[Json]:
        """How the Tensors among the script's own variables lie in memory."""
        return layouts_by_name(vars(sys.modules["__main__"]))

    def _note(self, program: CachedProgram) -> None:
        seen = Seen(program)
        with self._lock:
            self.seen.append(seen)
            # Of a Module's own extra_repr, say: the script goes on as it would alone.
            with suppress(Exception):
                self._name(seen)
            if len(self.seen) > 2 * MOST:
                self.forgotten += len(self.seen) - MOST
                self.seen = self.by_time()[:MOST]

    def _name(self, seen: Seen) -> None:
        owners = naming.owners_of(seen.program.structure)
        modules = self._names.learn(owners)
        seen.names = self._names.of_inputs(owners)
        self._roots += map(weakref.ref, modules)
        if modules or self._is_new:
            alive = [
                (i, module) for i, root in enumerate(self._roots) if (module := root()) is not None
            ]
            self._trees |= {i: summary_of(module, self._calls).to_dict() for i, module in alive}
            self._is_new = False

    def _called(self, module: Any, result: Any) -> None:
        with suppress(Exception):  # of what the script's own classes do
            self._is_new |= not self._calls.of(module)[1]
            self._calls(module, result)


# ---------------------------------------------------------------- trees and layouts beside the
# programs


MOST_LAYOUTS = 8  # of a report


def trees_of(x: object, modules: Iterable[Module], calls: Calls) -> list[Json]:
    """Of x, if it is a Module, else of other Modules, with what they returned."""
    return [summary_of(m, calls).to_dict() for m in ([x] if isinstance(x, Module) else modules)]


def layouts_of(values: Iterable[Any]) -> list[Json]:
    """Of the Tensors among some values, and in lists and tuples of them, that are in memory."""
    flat = [t for v in values for t in (v if isinstance(v, list | tuple) else [v])]
    return [layout(t).to_dict() for t in flat if is_in_memory(t)][:MOST_LAYOUTS]


def layouts_by_name(variables: Mapping[str, Any]) -> list[Json]:
    """Of a script's variables that are Tensors in memory; those that share their memory
    together."""
    groups: dict[int, dict[str, Tensor]] = {}
    for name, value in variables.items():
        if is_in_memory(value) and not name.startswith("_"):
            groups.setdefault(id(realize.value(value).buffer), {})[name] = value
    return [layout(*group.values(), names=[*group]).to_dict() for group in groups.values()][
        :MOST_LAYOUTS
    ]


def is_in_memory(value: Any) -> bool:
    """Is it a Tensor for which nothing must be computed."""
    return isinstance(value, Tensor) and not realize.structure_of(value).key[1]
