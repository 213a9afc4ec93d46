"""Sorting and searching. In: Nodes, an axis. Out: Nodes; nothing is computed.

All orders are those of NumPy and the Array API standard: NaN is the greatest value, -0.0 equals
0.0, and equal elements keep their order, in descending sorts too. Everything rests on ARGSORT; a
sorted value is a gather, so gradients flow.
"""

from __future__ import annotations

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.graph import Node, node, reshape
from ...ir.graph.op import Op
from ..elementwise.all import (
    add,
    as_float,
    eq,
    imag,
    invert,
    isnan,
    logical_and,
    logical_or,
    lt,
    mul,
    real,
    sub,
    where,
)
from ..functions.movement import part
from ..operands.arguments import as_bool, as_choice, as_int, normalise_axis
from ..operands.broadcast import Operand, as_node, broadcast_to, common_dtype, spread
from ..operands.in_float32 import in_float32


def _line(name: str, x: Node, axis: int | None) -> tuple[Node, int]:
    """x and the axis counted from the front; None sorts the flattened x."""
    if axis is None:
        return reshape(x, (x.size,)), 0
    if not x.ndim:
        raise errors.ShapeError(f"{name}: a 0-d tensor has no axis to sort along")
    return x, normalise_axis(name, axis, x.ndim)


def _order(x: Node, axis: int, descending: bool) -> Node:
    if x.shape[axis] <= 1:
        return graph.full(0, dt.int64, x.shape)
    if x.dtype.is_complex:
        *others, last = _keys(x)
        order = _order(last, axis, descending)
        for key in reversed(others):
            order = _along(order, _order(_along(key, order, axis), axis, descending), axis)
        return order
    return node(Op.ARGSORT, (x,), (axis, as_bool("sort", "descending", descending)))


def _along(x: Node, order: Node, axis: int) -> Node:
    """out[i, j] = x[i, order[i, j]] for axis 1, and so on."""
    places = [spread(node(Op.IOTA, (), d), [a], order.shape) for a, d in enumerate(order.shape)]
    places[axis] = order
    return node(Op.GATHER, (x, *places), tuple(range(x.ndim)))


def argsort(x: Node, axis: int | None = -1, descending: bool = False, stable: bool = True) -> Node:
    """int64 places that sort x along an axis (None: flattened): NaN last, or first if descending;
    always stable.

    Raises ShapeError for a 0-d x or an axis out of range.
    """
    x, place = _line("argsort", x, axis)
    return _order(x, place, descending)


def sort(x: Node, axis: int | None = -1, descending: bool = False, stable: bool = True) -> Node:
    """x sorted along an axis (None: flattened): NaN last, or first if descending; always stable.

    Raises ShapeError for a 0-d x or an axis out of range.
    """
    x, place = _line("sort", x, axis)
    return _along(x, _order(x, place, descending), place) if x.shape[place] > 1 else x


def topk(
    x: Node, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Node, Node]:
    """(values, int64 places) of the k largest elements along an axis, largest first (or of the k
    smallest, smallest first).

    NaN counts as the largest. They are in order whether `sorted` asks for it or not. Raises
    ShapeError for a 0-d x, an axis out of range, or k outside 0 .. extent; DTypeError if k is not
    an int.
    """
    x, place = _line("topk", x, axis)
    count = as_int("topk", "k", k)
    if not 0 <= count <= x.shape[place]:
        raise errors.ShapeError(
            f"topk: k = {count} is not in 0 .. {x.shape[place]}, axis {place} of shape {x.shape}"
        )
    order = part(_order(x, place, largest), place, 0, count)
    return (_along(x, order, place) if order.size else part(x, place, 0, count)), order


def median(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Middle element of each sorted line (None: of all), the mean of the two middle ones for an
    even count.

    A float; NaN where the line has a NaN or no elements. Raises ShapeError for an axis out of
    range.
    """
    kept = (1,) * x.ndim if axis is None else None
    line, place = _line("median", as_float(x), axis)
    n, rest = line.shape[place], (*line.shape[:place], *line.shape[place + 1 :])
    shape = kept or (*line.shape[:place], 1, *line.shape[place + 1 :])
    if not n:
        out = graph.full(float("nan"), line.dtype, rest)
    else:
        ordered = sort(line, place)
        low, high, last = (
            reshape(part(ordered, place, i, i + 1), rest) for i in ((n - 1) // 2, n // 2, n - 1)
        )
        middle = low if n % 2 else _middle(low, high)
        out = where(isnan(last), last, middle)
    return reshape(out, shape) if as_bool("median", "keepdims", keepdims) else out


@in_float32
def _middle(low: Node, high: Node) -> Node:
    return mul(add(low, high), 0.5)


# ---------------------------------------------------------------- searching


def _before(a: Node, b: Node) -> Node:
    """Does a sort before b, NaN being the greatest?"""
    if a.dtype.is_complex:
        return _is_first_before([*zip(_keys(a), _keys(b), strict=True)])
    if not a.dtype.is_float:
        return lt(a, b)
    return logical_or(lt(a, b), logical_and(isnan(b), node(Op.EQ, (a, a))))


def _keys(z: Node) -> list[Node]:
    """What sorts complex numbers as NumPy does, the first key first: is a part NaN, then the real
    part, then the imaginary part."""
    re, im = real(z), imag(z)
    lost = add(mul(graph.cast(isnan(re), dt.uint8), 2), graph.cast(isnan(im), dt.uint8))
    return [lost, re, im]


def _is_first_before(keys: list[tuple[Node, Node]]) -> Node:
    """Does the first pair of keys that differ have the lesser one first?"""
    (a, b), *rest = keys
    if not rest:
        return _before(a, b)
    ties = logical_and(invert(_before(b, a)), _is_first_before(rest))
    return logical_or(_before(a, b), ties)


def searchsorted(x1: Operand, x2: Operand, side: str = "left", sorter: Node | None = None) -> Node:
    """int64 places, of x2's shape, at which x2's elements keep the 1-d ascending x1 sorted.

    side "left": before equal elements, "right": after them. sorter: the argsort of an x1 that is
    not sorted. NaN is the greatest value. A binary search of log2(n) steps; of an x1 that is not
    sorted the places are some in 0 .. n. Raises ShapeError for an x1 or sorter that is not 1-d,
    ArgumentError for another side, DTypeError for a sorter that is not of integers.
    """
    if not isinstance(x1, Node) or x1.ndim != 1:
        shape = x1.shape if isinstance(x1, Node) else ()
        raise errors.ShapeError(f"searchsorted: x1 must be 1-d, not of shape {shape}")
    as_choice("searchsorted", "side", side, ("left", "right"))
    dtype = common_dtype("searchsorted", (x1, x2))
    table, wanted = as_node("searchsorted", x1, dtype), as_node("searchsorted", x2, dtype)
    if sorter is not None:
        table = _sorted_by(table, sorter)
    return _search(table, wanted, side == "right")


def _sorted_by(x: Node, sorter: Node) -> Node:
    if not sorter.dtype.is_int:
        raise errors.DTypeError("searchsorted: sorter must be a tensor of integers")
    if sorter.shape != x.shape:
        raise errors.ShapeError(
            f"searchsorted: a sorter of shape {sorter.shape} does not fit x1 of shape {x.shape}"
        )
    return node(Op.GATHER, (x, graph.cast(sorter, dt.int64)), (0,)) if x.size else x


def search_lines(lines: Node, wanted: Node) -> Node:
    """How many elements of each ascending line (.., n) are not above those wanted of it: (.., m) of
    a wanted (.., m)."""
    count = lines.shape[-1]
    rows = reshape(node(Op.IOTA, (), lines.size // count), (*lines.shape[:-1], 1))
    first = broadcast_to(mul(rows, count), wanted.shape)
    return sub(_search(reshape(lines, (lines.size,)), wanted, True, first, count), first)


def _search(
    table: Node, wanted: Node, right: bool, base: Node | None = None, length: int | None = None
) -> Node:
    """Halves the places that are left, without branches: the answer lies in base .. base + length;
    unless given in all."""

    def step(base: Node, probe: int) -> Node:
        there = node(Op.GATHER, (table, add(base, probe)), (0,))
        return invert(_before(wanted, there)) if right else _before(there, wanted)

    base = graph.full(0, dt.int64, wanted.shape) if base is None else base
    length = table.size if length is None else length
    if not length or not wanted.size:
        return base
    while length > 1:
        half = length // 2
        base = where(step(base, half - 1), add(base, half), base)
        length -= half
    return add(base, graph.cast(step(base, 0), dt.int64))


FEW = 16  # elements that are compared with one by one rather than searched


def isin(x: Operand, test: Operand, assume_unique: bool = False, invert: bool = False) -> Node:
    """True where an element of x equals some element of `test` (or, inverted, none); NaN equals
    nothing. bool, x's shape."""
    dtype = common_dtype("isin", (x, test))
    element, values = as_node("isin", x, dtype), as_node("isin", test, dtype)
    values = reshape(values, (values.size,))
    hits = (
        _is_among(element, values) if element.size else graph.full(False, dt.bool_, element.shape)
    )
    return node(Op.XOR, (hits, graph.full(as_bool("isin", "invert", invert), dt.bool_, hits.shape)))


def _is_among(x: Node, values: Node) -> Node:
    if values.size <= FEW:
        shape = (*x.shape, values.size)
        equal = eq(spread(x, range(x.ndim), shape), broadcast_to(values, shape))
        return graph.reduce("max", equal, (x.ndim,))
    ordered = sort(values)
    place = _search(ordered, x, right=False)
    last = graph.full(values.size - 1, dt.int64, x.shape)
    near = node(Op.GATHER, (ordered, where(lt(last, place), last, place)), (0,))
    return eq(x, near)
