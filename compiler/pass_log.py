"""Log of the compiler's passes. In: passes and their arguments. Out: their results, and a Pass for
each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, TypeVar

from .. import options
from ..ir.graph.graph import Node, verify
from ..ir.graph.rewrite import Trace
from ..ir.graph.shapes import GraphError
from ..ir.parts.parted import PartedGraph

T = TypeVar("T")


@dataclass(frozen=True)
class Pass:
    """One step on the way to a program.

    Attributes: `name`; `seconds` it took; `result`, the Graph after it, None for steps that make
    something else; `rewrites`, the rules that matched, in order, as (name, before, after), where
    the pass is made of rules.
    """

    name: str
    seconds: float
    result: tuple[Node, ...] | PartedGraph | None = None
    rewrites: Trace = field(default_factory=list)

    @cached_property
    def roots(self) -> tuple[Node, ...] | None:
        """Those of the Graph after it; of one in parts they are made when somebody asks."""
        return tuple(self.result.roots) if isinstance(self.result, PartedGraph) else self.result


class Passes:
    """Applies passes and notes them. Attributes: `done`, a Pass each; the first is the Graph that
    came in."""

    def __init__(self, graph: Sequence[Node]) -> None:
        self.done = [Pass("graph", 0.0, tuple(graph))]

    def graph(self, name: str, run: Callable[..., list[Node]], *args: Any) -> list[Node]:
        """What a pass from Graph to Graph gives."""
        return self._noted(name, [], run, *args)

    def rules(
        self, name: str, run: Callable[..., list[Node]], roots: list[Node], *args: Any
    ) -> list[Node]:
        """What a pass gives that notes its rewrites."""
        rewrites: Trace = []
        return self._noted(name, rewrites, run, roots, rewrites, *args)

    def parts(self, name: str, run: Callable[..., PartedGraph], *args: Any) -> PartedGraph:
        """What a pass from Graph in parts to Graph in parts gives."""
        start = perf_counter()
        result = run(*args)
        self.done.append(Pass(name, perf_counter() - start, result))
        if options.current().verify:
            for alike in result.alike:
                check_graph(name, alike.outputs)
        return result

    def step(self, name: str, run: Callable[..., T], *args: Any) -> T:
        """What a step gives that makes something else than a Graph."""
        start = perf_counter()
        result = run(*args)
        self.done.append(Pass(name, perf_counter() - start))
        return result

    def _noted(
        self, name: str, rewrites: Trace, run: Callable[..., list[Node]], *args: Any
    ) -> list[Node]:
        start = perf_counter()
        roots = run(*args)
        self.done.append(Pass(name, perf_counter() - start, tuple(roots), rewrites))
        if options.current().verify:
            check_graph(name, roots)
        return roots


def check_graph(name: str, roots: Sequence[Node]) -> None:
    """Verifies the Graph that a pass gave. Raises GraphError, which names the pass."""
    try:
        verify(roots)
    except GraphError as error:
        raise GraphError(f"after the pass {name!r}: {error}") from error
