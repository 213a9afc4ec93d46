"""Values between values. In: Nodes and Python numbers. Out: a Node of floats."""

from __future__ import annotations

from ... import errors
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ..elementwise.all import add, clip, div, eq, gt, isnan, lt, mod, mul, sub, where
from ..functions.movement import concat, part
from ..operands.arguments import as_double
from ..operands.broadcast import Operand, as_node, common_dtype, default_float, to_dtype, together
from ..operands.in_float32 import in_float32
from .sorting import argsort, searchsorted


@in_float32
def lerp(a: Operand, b: Operand, weight: Operand) -> Node:
    """a + weight * (b - a): exactly a where the weight is 0, and b where it is 1. All three
    broadcast."""
    dtype = common_dtype("lerp", (a, b, weight))
    x, y, w = together("lerp", (a, b, weight), dtype if dtype.is_float else default_float())
    gap = sub(y, x)
    return where(lt(w, 0.5), add(x, mul(gap, w)), sub(y, mul(gap, sub(1.0, w))))


@in_float32
def interp(
    x: Operand,
    xp: Node,
    fp: Node,
    left: Operand | None = None,
    right: Operand | None = None,
    period: float | None = None,
) -> Node:
    """The function through the points (xp[i], fp[i]), straight between them, at x: numpy.interp.

    xp: ascending, 1-d; fp of its shape. Before and after the points it is `left` and `right`, or
    the value of the first and the last point. With a period it repeats, and xp may have any order.
    Gradients flow to x, xp and fp. Of xp that do not ascend the result is meaningless. Raises
    ShapeError, ArgumentError.

    >>> wf.interp(2.5, [1.0, 2.0, 3.0], [3.0, 2.0, 0.0]).item()
    1.0
    """
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise errors.ShapeError(
            f"interp: xp and fp must be vectors of equal size, not of shapes {xp.shape} and"
            f" {fp.shape}"
        )
    dtype = common_dtype("interp", (x, xp, fp))
    dtype = dtype if dtype.is_float else default_float()
    at, xp, fp = as_node("interp", x, dtype), to_dtype(xp, dtype), to_dtype(fp, dtype)
    if period is not None:
        at, xp, fp = _repeated(at, xp, fp, as_double("interp", "the period", period))
        left = right = None
    first, last = (reshape(part(xp, 0, i, i + 1), ()) for i in (0, xp.size - 1))
    before, after = (reshape(part(fp, 0, i, i + 1), ()) for i in (0, xp.size - 1))
    inside = _between(at, xp, fp) if xp.size > 1 else before
    out = where(lt(at, first), before if left is None else left, inside)
    out = where(gt(at, last), after if right is None else right, out)
    return where(isnan(at), at, out)


def _between(at: Node, xp: Node, fp: Node) -> Node:
    """On the line through the two points around each place."""
    low = clip(sub(searchsorted(xp, at, "right"), 1), 0, xp.size - 2)
    (x0, f0), (x1, f1) = (
        [node(Op.GATHER, (p, i), (0,)) for p in (xp, fp)] for i in (low, add(low, 1))
    )
    line = lerp(f0, f1, where(eq(x0, x1), 1.0, div(sub(at, x0), sub(x1, x0))))
    return where(isnan(line), _by_slope(at, x0, f0, x1, f1), line)


def _by_slope(at: Node, x0: Node, f0: Node, x1: Node, f1: Node) -> Node:
    """What NumPy gives where points are infinite: a point itself, a line from either point, or both
    values."""
    slope = div(sub(f1, f0), sub(x1, x0))
    up, down = (add(mul(slope, sub(at, x)), f) for x, f in ((x0, f0), (x1, f1)))
    between = where(isnan(up), where(eq(f0, f1), f0, down), up)
    return where(eq(at, x1), f1, where(eq(at, x0), f0, between))


def _repeated(at: Node, xp: Node, fp: Node, period: float) -> tuple[Node, Node, Node]:
    """Places and points within one period, and the nearest points of the periods before and after
    it."""
    if period == 0:
        raise errors.ArgumentError("interp: the period must not be 0")
    at, xp = mod(at, abs(period)), mod(xp, abs(period))
    order = argsort(xp)
    xp, fp = (node(Op.GATHER, (p, order), (0,)) for p in (xp, fp))
    ends = [(part(p, 0, p.size - 1, p.size), p, part(p, 0, 0, 1)) for p in (xp, fp)]
    (last, xp, first), values = ends
    return at, concat([sub(last, abs(period)), xp, add(first, abs(period))]), concat(values)
