"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops."""

from __future__ import annotations

from ...ir.graph import Node
from ...ir.kernel import Kernel
from ..lower import Lowered
from .naive import lower_naive
from .target import CudaTarget


def lower_contraction(kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: CudaTarget) -> Lowered:
    """Loops of a contraction kernel."""
    return lower_naive(kernel, strides, target)
