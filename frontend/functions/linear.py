"""The dense layer. In: Nodes, the features on the last axis. Out: a Node: sums of products with a weight of torch's layout."""

from __future__ import annotations

from functools import lru_cache

from ... import errors
from ...ir.graph.graph import Node
from ...ir.graph.shapes import Shape, addressable
from ...ir.graph.site import provenance, user_site
from ..elementwise.all import add
from ..operands.autocast import lowered
from .products import Places, alike, summed


@lowered
def linear(x: Node, weight: Node, bias: Node | None = None) -> Node:
    """x @ weight.T + bias: (..., in_features) -> (..., out_features), with weight of shape (out_features, in_features).

    >>> F.linear(wf.ones(2, 3), wf.ones(4, 3)).shape
    (2, 4)
    """
    if weight.ndim != 2:
        raise errors.ShapeError(f"linear: weight must have shape (out_features, in_features), not {weight.shape}")
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise errors.ShapeError(f"linear: the last axis of x must be in_features={weight.shape[1]}, but x has shape {x.shape}")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise errors.ShapeError(f"linear: bias must have shape {weight.shape[:1]}, not {bias.shape}")
    with provenance(user_site()):  # one look for the user's line, not one per Node
        if x.dtype is not weight.dtype:
            x, weight = alike("linear", x, weight)
        rows, columns, shape = _linear_axes(x.shape, weight.shape)
        out = summed([(x, rows), (weight, columns)], shape, x.ndim)
        return out if bias is None else add(out, bias)


@lru_cache(4096)
def _linear_axes(x: Shape, weight: Shape) -> tuple[Places, Places, Shape]:
    """Where the axes of x and of the weight stand in x's axes but the last | out_features | in_features, and those extents."""
    last = len(x) - 1
    return (*range(last), last + 1), (last, last + 1), addressable("linear", (*x[:-1], *weight))
