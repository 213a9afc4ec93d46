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
    """The routine `name` with static parameters; `specs`: (dtype, shape) of its results.

    `pairs`: which of the sources, then of the results, are complex numbers that lie as pairs of
    real ones along a last axis (ir/passes/complex_pairs.py); none unless given.
    """

    name: str
    params: tuple[Param, ...]
    specs: tuple[tuple[DType, Shape], ...]
    pairs: tuple[bool, ...] = ()

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

    def whole_source(self, i: int, shape: Shape) -> Shape:
        """The shape of source i in elements, not in pairs."""
        return shape[:-1] if self.pairs and self.pairs[i] else shape

    @property
    def whole(self) -> Routine:
        """The same over complex numbers."""
        if not self.pairs:
            return self
        are_pairs = self.pairs[-len(self.specs) :]
        specs = [
            (d.as_complex, s[:-1]) if pair else (d, s)
            for (d, s), pair in zip(self.specs, are_pairs, strict=True)
        ]
        return Routine(self.name, self.params, tuple(specs))

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
        pairs = f" {self.pairs}" if self.pairs else ""
        return f"<{self.name} {self.params!r} -> {specs!r}{pairs}>"
