"""pad. In: a Node, widths, a mode. Out: a Node with more elements around."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph import graph
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ...ir.graph.shapes import addressable
from ..elementwise.all import where
from ..functions.movement import concat, part
from ..functions.rearrange import tile
from ..operands.arguments import as_choice, as_int
from ..operands.broadcast import Operand, common_dtype, number, to_dtype

Widths = int | Sequence[int] | Sequence[Sequence[int]]


def pad(x: Node, /, pad_width: Widths, value: Operand = 0, mode: str = "constant") -> Node:
    """x with pad_width elements around: one int, one (before, after) for all axes, or one pair per
    axis (NumPy's form).

    mode: "constant" for `value`, "edge" for the nearest element, "reflect" and "symmetric" for x
    mirrored without and with its edge, "wrap" for x again. Raises ShapeError for widths that do not
    fit, and where an empty axis has nothing to repeat.
    """
    widths = _widths(x, pad_width)
    if not any(lo or hi for lo, hi in widths):
        return x
    addressable("pad", tuple(lo + d + hi for d, (lo, hi) in zip(x.shape, widths, strict=True)))
    if as_choice("pad", "mode", mode, ("constant", *_TILES)) == "constant":
        return _with_constant(x, tuple((lo, hi, 0) for lo, hi in widths), value)
    for axis, (lo, hi) in enumerate(widths):
        if lo or hi:
            x = _extended(x, axis, lo, hi, mode)
    return x


def _with_constant(x: Node, margins: tuple[tuple[int, int, int], ...], value: Operand) -> Node:
    if isinstance(value, Node) and value.ndim:
        raise errors.ShapeError(f"pad: the value must be one number, not of shape {value.shape}")
    if value == 0 and (not x.dtype.is_float or str(value)[0] != "-"):
        return node(Op.PAD, (x,), margins)
    dtype = common_dtype("pad", (x, value))
    value = value if isinstance(value, Node) else number("pad", value, dtype)
    inside = node(Op.PAD, (graph.full(True, dt.bool_, x.shape),), margins)
    return where(inside, node(Op.PAD, (to_dtype(x, dtype),), margins), value)


def _widths(x: Node, pad_width: object) -> list[tuple[int, int]]:
    given = pad_width.tolist() if hasattr(pad_width, "tolist") else pad_width
    if not isinstance(given, (tuple, list)):
        given = [(given, given)] * x.ndim
    elif len(given) == 2 and not any(isinstance(w, (tuple, list)) for w in given):
        given = [tuple(given)] * x.ndim
    if len(given) != x.ndim or not all(isinstance(p, (tuple, list)) and len(p) == 2 for p in given):
        raise errors.ShapeError(
            f"pad: {brief(pad_width)} is not one pair of widths per axis of shape {x.shape}"
        )
    pairs = [(as_int("pad", "a width", lo), as_int("pad", "a width", hi)) for lo, hi in given]
    if any(w < 0 for p in pairs for w in p):
        raise errors.ShapeError(
            f"pad: {brief(pad_width)} is not one pair of widths, none negative, per axis of shape"
            f" {x.shape}"
        )
    return pairs


def _extended(x: Node, axis: int, lo: int, hi: int, mode: str) -> Node:
    """One axis, continued on both sides by its tiles in turn."""
    if not x.shape[axis]:
        raise errors.ShapeError(
            f'pad: axis {axis} of shape {x.shape} is empty: mode "{mode}" has nothing to repeat'
        )
    flipped = _flipped(x, axis)
    before = _flipped(_filled(_TILES[mode](flipped, axis), axis, lo), axis)
    return concat([before, x, _filled(_TILES[mode](x, axis), axis, hi)], axis)


def _filled(tiles: list[Node], axis: int, width: int) -> Node:
    """Tiles one after the other, again and again, `width` long."""
    period = concat(tiles, axis)
    copies = -(-width // period.shape[axis])
    laid = (
        tile(period, tuple(copies if a == axis else 1 for a in range(period.ndim)))
        if copies > 1
        else period
    )
    return part(laid, axis, 0, width)


def _flipped(x: Node, axis: int) -> Node:
    return node(Op.FLIP, (x,), (axis,))


def _reflected(x: Node, axis: int) -> list[Node]:
    """What follows x: its mirror image without the edge, then x without its first element, and so
    on."""
    if x.shape[axis] == 1:
        return [x]
    return [part(t, axis, 1, x.shape[axis]) for t in (_flipped(x, axis), x)]


def _last(x: Node, axis: int) -> list[Node]:
    return [part(x, axis, x.shape[axis] - 1, x.shape[axis])]


# what follows x along the axis, in turn
_TILES: dict[str, Callable[[Node, int], list[Node]]] = {
    "edge": _last,
    "reflect": _reflected,
    "symmetric": lambda x, axis: [_flipped(x, axis), x],
    "wrap": lambda x, axis: [x],
}
