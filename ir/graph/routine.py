"""Routines of a library inside a Graph. In: a name in the table of routines, parameters. Out: a
spec, of which Nodes of Op.ROUTINE are the results.

A Node of Op.ROUTINE is one result: its argument is (Routine, number of the result), its sources are
matrices with the same leading batch axes. What the names mean stands in ir/ops/routines.py. A
routine runs as a step of the program: nothing of it is known to fusion but its shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .dtype import DType
from .shapes import Shape

if TYPE_CHECKING:
    from .graph import Node

Param = int | str | bool


@dataclass(frozen=True)
class Routine:
    """The routine `name` with static parameters; `specs`: (dtype, shape) of its results."""

    name: str
    params: tuple[Param, ...]
    specs: tuple[tuple[DType, Shape], ...]

    @property
    def results(self) -> int:
        """How many it has."""
        return len(self.specs)

    @property
    def regions(self) -> tuple[()]:
        """No Graphs inside."""
        return ()

    def result(self, k: int, src: tuple[Node, ...]) -> tuple[DType, Shape]:
        """Dtype and shape of result k."""
        return self.specs[k]

    def batched(self, extent: int) -> Routine:
        """The same with one more batch axis, the first."""
        specs = tuple([(dtype, (extent, *shape)) for dtype, shape in self.specs])
        return replace(self, specs=specs)

    def __str__(self) -> str:
        params = f"({', '.join(map(str, self.params))})" if self.params else ""
        return f"{self.name}{params}"

    def __repr__(self) -> str:
        """Equal for equal Routines, in any process."""
        specs = [(dtype.name, shape) for dtype, shape in self.specs]
        return f"<{self.name} {self.params!r} -> {specs!r}>"
