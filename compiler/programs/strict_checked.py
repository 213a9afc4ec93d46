"""WEFT_STRICT=1 with WEFT_VERIFY=1. In: what compiler/compile.py takes. Out: an object that runs
both ways and compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import CompileError
from ...ir.graph.graph import Node
from ...ir.graph.index import row_major_strides
from ...ir.graph.site import site_text
from ...ir.program.program import ValueLayout
from ...runtime.failures import CheckFailed
from ..structure import Structure
from . import on_disk
from .interpreted import Interpreted

Array = np.ndarray[Any, Any]


class Compared(Interpreted):
    """A program that is compiled and interpreted. The same interface as programs.executable."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(*structure.unfolded(), structure.device)
        self._compiled = on_disk.executable(structure)
        self.donations = self._compiled.donations

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs. Raises CheckFailed, and CompileError where a
        bit differs."""
        # first: outputs may be written over inputs
        expected = [np.empty(n.shape, n.dtype.numpy) for n in self.outputs]
        failed: CheckFailed | None = None
        try:
            super().run(inputs, [a.ctypes.data for a in expected])
        except CheckFailed as failure:
            failed = failure
        self._compiled.run(inputs, outputs)
        if failed is not None:
            raise CompileError(
                f"strict mode: compiled code went on where the interpreter finds that {failed}"
            ) from None
        for n, address, want in zip(self.outputs, outputs, expected, strict=True):
            _must_equal(
                n,
                self._array(address, ValueLayout(n.dtype, n.shape, row_major_strides(n.shape))),
                want,
            )


def _must_equal(n: Node, got: Array, want: Array) -> None:
    """Bit for bit; NaNs are all alike."""
    bits = np.dtype(f"u{want.dtype.itemsize}")
    wrong = got.view(bits) != want.view(bits)
    if n.dtype.is_float and np.any(wrong):
        with np.errstate(all="ignore"):
            wrong = wrong & ~(np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))
    places = np.argwhere(wrong)
    if len(places):
        at = tuple(map(int, places[0]))
        line = f" ({site_text(n.site)})" if n.site else ""
        numbers = (
            f"element {list(at)} is {got[at]!r} by compiled code and {want[at]!r} by the"
            " interpreter"
        )
        raise CompileError(
            f"strict mode: {n.op.value} of {n.dtype.name}{list(n.shape)}{line}: {numbers}; please"
            " report it"
        )
