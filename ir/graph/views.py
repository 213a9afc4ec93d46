"""The definition of the views. In: a view Node and an index into its result. Out: the index into
its source and a mask."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ..symbolic.questions import is_below, is_same, value_of
from .graph import Node
from .index import Index, Range, Var, row_major, unravel, var
from .op import VIEWS, Op
from .shapes import Shape


def push(view: Node, index: list[Index]) -> tuple[list[Index], list[Range]]:
    """(index', mask): view[index] is view.src[0][index'] where the mask holds, else 0."""
    shape = view.src[0].shape
    match view.op:
        case Op.RESHAPE:
            return _push_reshape(view.shape, shape, index), []
        case Op.PERMUTE:
            return [index[view.arg.index(axis)] for axis in range(len(shape))], []
        case Op.FLIP:
            return [
                Index(const=d - 1) - i if axis in view.arg else i
                for axis, (i, d) in enumerate(zip(index, shape, strict=True))
            ], []
        case Op.EXPAND:
            new = {axis for axis, _ in view.arg}
            return [i for axis, i in enumerate(index) if axis not in new], []
        case Op.SLICE:
            return [
                i * step + start for i, (start, _, step) in zip(index, view.arg, strict=True)
            ], []
        case Op.PAD:
            return _push_pad(view, index)
        case Op.SKEW:
            n, k, d = view.arg
            return [i + index[k] * d if axis == n else i for axis, i in enumerate(index)], []
        case Op.UNSKEW:
            n, k, d = view.arg
            at = index[n] - index[k] * d
            return [at if axis == n else i for axis, i in enumerate(index)], [
                Range(at, 0, shape[n])
            ]
    raise AssertionError(f"{view.op} is not a view")


def resolve(
    n: Node, index: list[Index], base: Node | None = None
) -> tuple[Node, list[Index], list[Range]]:
    """Follows views down to the Node that holds or computes the value, or to a `base` on the way; a
    kept value is held."""
    mask: list[Range] = []
    while n is not base and (n.op in VIEWS or n.op is Op.DETACH):
        if n.op in VIEWS:
            index, more = push(n, index)
            mask += more
        n = n.src[0]
    return n, index, mask


def bases_of(n: Node) -> list[Node | None]:
    """By the axes of which Nodes a value seen through views may be read, the best first: those of
    the last view if it splits axes, else of what holds the value (None); those of each reshape on
    the way, as of one that repeats elements."""
    reshapes: list[Node | None] = []
    last = n
    while n.op in VIEWS or n.op is Op.DETACH:
        last = n if n.op in VIEWS else last
        reshapes = [n, *reshapes] if n.op is Op.RESHAPE else reshapes
        n = n.src[0]
    return reshapes if last in reshapes and _splits(last) else [None, *reshapes]


def _splits(reshape: Node) -> bool:
    runs = _same_size(reshape.shape, reshape.src[0].shape)
    counts = [tuple(sum(d != 1 for d in axes) for axes in run) for run in runs]
    return all(old <= 1 or new <= 1 for new, old in counts) and any(new > 1 for new, _ in counts)


def steady_axes(x: Node) -> set[int]:
    """The axes along which a value seen through views stays the same."""
    at = [Var(f"a{i}", d) for i, d in enumerate(x.shape)]
    _, index, mask = resolve(x, [var(v) for v in at])
    moving = {v for e in (*index, *(m.index for m in mask)) for v in e.vars()}
    return {axis for axis, v in enumerate(at) if v not in moving}


def _push_reshape(new: Shape, old: Shape, index: list[Index]) -> list[Index]:
    """Axes that neither split nor merge keep their index, also one that is out of range under a
    mask."""
    out: list[Index] = []
    at = 0
    for axes, cut in _same_size(new, old):
        position = row_major(index[at : at + len(axes)], axes)
        out += unravel(position, cut)
        at += len(axes)
    return out


@lru_cache(4096)
def _same_size(new: Shape, old: Shape) -> list[tuple[Shape, Shape]]:
    """The shortest runs of neighbouring axes on both sides that have the same number of
    elements."""
    runs: list[tuple[Shape, Shape]] = []
    i = j = 0
    while i < len(new) or j < len(old):
        a, b = i + (i < len(new)), j + (j < len(old))
        while (a < len(new) or b < len(old)) and not _is_equal(prod(new[i:a]), prod(old[j:b])):
            if b == len(old) or (a < len(new) and _is_less(prod(new[i:a]), prod(old[j:b]))):
                a += 1
            else:
                b += 1
        runs.append((new[i:a], old[j:b]))
        i, j = a, b
    return runs


def _is_equal(a: int, b: int) -> bool:
    """Asks only where it is so at hand: a wrong no makes runs longer."""
    return is_same(a, b) or (value_of(a) == value_of(b) and a == b)


def _is_less(a: int, b: int) -> bool:
    """At hand, where that is not known: a wrong answer makes runs longer."""
    return is_below(a, b) or (not is_below(b, a) and value_of(a) <= value_of(b))


def _push_pad(view: Node, index: list[Index]) -> tuple[list[Index], list[Range]]:
    out, mask = [], []
    for i, (lo, hi, interior), d in zip(index, view.arg, view.src[0].shape, strict=True):
        at = i - lo
        if interior:
            at, rest = at.divmod(interior + 1)
            mask.append(Range(rest, 0, 1))
        # an index of an axis without padding is in range wherever it is needed
        if not (is_same(lo, 0) and is_same(hi, 0) and is_same(interior, 0)):
            mask.append(Range(at, 0, d))
        out.append(at)
    return out, mask
