"""The order of frequencies. In: Nodes, axes. Out: Nodes."""

from __future__ import annotations

from ...ir.graph.graph import Node
from ..functions.rearrange import roll
from ..operands.arguments import Axes, normalise_axes


def fftshift(x: Node, /, *, axes: Axes = None) -> Node:
    """The frequency 0 moved from the front to the middle of each of these axes; of all unless
    given."""
    places = normalise_axes("fftshift", axes, x.ndim)
    return roll(x, [x.shape[a] // 2 for a in places], list(places)) if places else x


def ifftshift(x: Node, /, *, axes: Axes = None) -> Node:
    """The inverse of `fftshift`."""
    places = normalise_axes("ifftshift", axes, x.ndim)
    return roll(x, [-(x.shape[a] // 2) for a in places], list(places)) if places else x
