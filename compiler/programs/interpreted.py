"""The debug option WEFT_INTERPRET=1. In: what compiler/compile.py takes. Out: an object that runs
it with ir/ops/interp.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ... import options
from ...codegen.math.expand import expand
from ...ir.graph.graph import Node, indices_of
from ...ir.graph.negative_indices import shift_of
from ...ir.graph.op import Op
from ...ir.ops import interp, strict
from ...ir.ops.routines import RoutineFailed, batch_in
from ...ir.ops.values import Evaluator
from ...ir.passes.bounds_checks import CheckSite, pivots_of
from ...ir.program.program import ValueLayout
from ...runtime.failures import CheckFailed
from ...runtime.memory import devices
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import Storage, on_host
from ...runtime.runnable import Prepared
from ..structure import Structure


@cache
def strictly() -> Mapping[Op, Evaluator]:
    """What ops mean in strict mode, to compiled code, too."""
    return strict.evaluators(partial(expand, strict=True))


def executable(structure: Structure) -> Interpreted:
    """The same interface as programs.executable."""
    return Interpreted(*structure.unfolded(), structure.device)


class Interpreted:
    """A program that the interpreter runs: all outputs are computed before the first is written.

    For other devices it computes on the CPU, and copies there and back.
    """

    def __init__(
        self,
        outputs: list[Node],
        leaves: list[Node],
        values: list[ValueLayout],
        donations: dict[int, int],
        device: str = CPU,
    ) -> None:
        self.outputs, self.leaves, self.values, self.donations, self.device = (
            outputs,
            leaves,
            values,
            donations,
            device,
        )
        self.evaluators = strictly() if options.current().strict else interp.EVALUATORS

    def prepared(self) -> Prepared:
        first = len(self.leaves)
        words = [0] * (first + len(self.outputs))
        return Prepared(words, lambda: self.run(words[:first], words[first:]), lambda: None)

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs. Raises CheckFailed."""
        arrays = {
            leaf: self._array(a, v)
            for leaf, a, v in zip(self.leaves, inputs, self.values, strict=True)
        }
        try:
            results = interp.run(self.outputs, arrays, self.evaluators)
        except (interp.OutOfRange, interp.BadPivot) as found:
            raise _failed(found) from None
        except RoutineFailed as found:
            raise _refused(found) from None
        for address, result in zip(outputs, results, strict=True):
            dense = np.ascontiguousarray(result)
            devices.copy(self.device, address, CPU, dense.ctypes.data, dense.nbytes)

    def _array(self, address: int, v: ValueLayout) -> np.ndarray[Any, Any]:
        """The elements of an input."""
        buffer = devices.device(CPU if v.is_host else self.device).foreign(address, 0, None)
        seen = on_host(Storage(buffer, v.dtype, v.shape, v.strides))
        return seen.buffer.as_numpy(v.dtype.numpy, v.shape, v.strides)


def _failed(found: interp.OutOfRange | interp.BadPivot) -> CheckFailed:
    """What a compiled program raises for it."""
    n = found.node
    if isinstance(found, interp.BadPivot):
        return CheckFailed(pivots_of(n), found.position, found.value, found.iterations)
    indices, axis, extent = indices_of(n)[found.which]
    site = CheckSite(n.op.value, axis, extent, n.site, shift_of(indices, extent))
    return CheckFailed(site, found.position, found.value, found.iterations)


def _refused(found: RoutineFailed) -> CheckFailed:
    n = found.node
    site = CheckSite(n.arg[0].name, 0, 0, n.site, batch=batch_in(n))
    return CheckFailed(site, found.position, 0, found.iterations)
