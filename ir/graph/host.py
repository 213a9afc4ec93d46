"""Functions of arrays inside a Graph. In: a Python function, what it returns. Out: Nodes whose
values it computes, between programs.

A Node of Op.HOST is one result: its argument is (HostCall, number of the result), its sources are
the arguments. Nothing is known of the function, so no two calls are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dtype import DType
from .graph import Node
from .shapes import Shape

Array = np.ndarray[Any, Any]
Function = Callable[..., Sequence[Array]]  # of arrays


@dataclass(frozen=True, eq=False)
class HostCall:
    """`function` takes an array for each source and returns one for each of `specs`, (dtype,
    shape); `name`, for texts."""

    name: str
    function: Function
    specs: tuple[tuple[DType, Shape], ...]

    @property
    def results(self) -> int:
        """How many it has."""
        return len(self.specs)

    def result(self, k: int, src: tuple[Node, ...]) -> tuple[DType, Shape]:
        """Dtype and shape of result k."""
        return self.specs[k]

    def batched(self, stacked: Sequence[bool], extent: int) -> HostCall:
        """The same for each row of the stacked sources, one after the other."""

        def rows(*arrays: Array) -> list[Array]:
            each = [
                self.function(*(a[i] if s else a for a, s in zip(arrays, stacked, strict=True)))
                for i in range(extent)
            ]
            if not each:
                return [np.zeros((0, *shape), dtype.numpy) for dtype, shape in self.specs]
            return [np.stack(column) for column in zip(*each, strict=True)]

        specs = tuple([(dtype, (extent, *shape)) for dtype, shape in self.specs])
        return HostCall(self.name, rows, specs)

    def __repr__(self) -> str:
        return f"call of {self.name}"
