"""einsum. In: subscripts and Nodes. Out: a Node; products are formed pair by pair, each one
contraction.

NumPy's notation: one letter per axis, "..." for the axes that broadcast, a repeated letter the
diagonal; without "->" the result has the broadcast axes, then the letters that occur once, in
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from math import prod
from string import ascii_letters

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node
from ...ir.graph.shapes import Shape
from ..operands.arguments import as_int
from ..operands.autocast import runs_in_half
from ..operands.likes import Nested
from .products import Labels, alike, sum_of_products
from .rearrange import diagonal

Term = tuple[Node, tuple[Hashable, ...]]


@runs_in_half
def einsum(subscripts: Nested, /, *operands: Nested) -> Node:
    """einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0, 2]): sums of products over
    named axes.

    Axes of extent 1 broadcast. With more than two operands, the pair whose product saves most
    memory is multiplied first. Raises ShapeError for a notation or extents that do not fit.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists([subscripts, *operands])
    nodes = alike("einsum", *operands) if operands else []  # type: ignore[arg-type]  # it refuses others
    inputs, out = _parsed(subscripts, nodes)
    terms = [_without_repeats(x, labels) for x, labels in zip(nodes, inputs, strict=True)]
    extents = _extents(subscripts, terms)
    terms = [_summed(i, terms, out) for i in range(len(terms))]
    while len(terms) > 2:
        terms = _multiplied(terms, out, extents)
    return sum_of_products("einsum", terms, out, extents)


def _from_lists(given: list[Nested]) -> tuple[str, tuple[Nested, ...]]:
    """Operands each followed by a list of axis numbers, and perhaps a last list, as subscripts."""
    lists = [_letters(x) for x in given[1::2]]
    if len(given) % 2:
        return ",".join(lists) + "->" + _letters(given[-1]), tuple(given[:-1:2])
    return ",".join(lists), tuple(given[::2])


def _letters(numbers: object) -> str:
    if not isinstance(numbers, (tuple, list)):
        raise errors.ShapeError(
            "einsum: expected subscripts as text, or a list of axis numbers after each operand"
        )
    axes = [n if n is Ellipsis else as_int("einsum", "an axis number", n) for n in numbers]
    if not all(n is Ellipsis or 0 <= n < len(ascii_letters) for n in axes):
        raise errors.ShapeError(
            f"einsum: axis numbers must be 0 to {len(ascii_letters) - 1}, not {brief(numbers)}"
        )
    return "".join("..." if n is Ellipsis else ascii_letters[n] for n in axes)


# ---------------------------------------------------------------- the notation


def _parsed(
    subscripts: str, operands: Sequence[Node]
) -> tuple[list[tuple[Hashable, ...]], tuple[Hashable, ...]]:
    """Labels of every operand and of the result; the axes of "..." are labelled by their distance
    from the last of them."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands) or not operands:
        raise errors.ShapeError(
            f'einsum: "{subscripts}" names {len(parts)} operands, got {len(operands)}'
        )
    inputs = [
        _labels(subscripts, part, x.ndim, x.shape) for part, x in zip(parts, operands, strict=True)
    ]
    broadcast = max(
        (sum(isinstance(label, int) for label in labels) for labels in inputs), default=0
    )
    if arrow:
        out = _labels(
            subscripts, right, len(right.replace("...", "")) + ("..." in right) * broadcast, None
        )
    else:
        counts = Counter(label for labels in inputs for label in labels)
        out = (
            *range(-broadcast, 0),
            *sorted(label for label in counts if isinstance(label, str) and counts[label] == 1),
        )
    _check_result(subscripts, inputs, out, broadcast)
    return inputs, out


def _labels(subscripts: str, part: str, ndim: int, shape: Shape | None) -> tuple[Hashable, ...]:
    before, dots, after = part.partition("...")
    if not all(c in ascii_letters for c in before + after):
        raise errors.ShapeError(
            f'einsum: "{part}" of "{subscripts}" has something other than letters and one "..."'
        )
    spare = ndim - len(before) - len(after)
    if spare < 0 or (spare and not dots):
        raise errors.ShapeError(
            f'einsum: "{part}" of "{subscripts}" names {ndim - spare} axes, the operand has shape'
            f" {shape}"
        )
    return (*before, *range(-spare, 0), *after)


def _check_result(subscripts: str, inputs: Sequence[Labels], out: Labels, broadcast: int) -> None:
    known = {label for labels in inputs for label in labels}
    for label in out:
        if label not in known:
            raise errors.ShapeError(
                f'einsum: "{label}" of the result of "{subscripts}" is in no operand'
            )
        if list(out).count(label) > 1:
            raise errors.ShapeError(
                f'einsum: "{label}" occurs twice in the result of "{subscripts}"'
            )
    if sum(isinstance(label, int) for label in out) < broadcast:
        raise errors.ShapeError(
            f'einsum: the result of "{subscripts}" needs "..." for the axes that broadcast'
        )


def _extents(subscripts: str, terms: Sequence[Term]) -> dict[Hashable, int]:
    """The extent of every label; 1 gives way to any other."""
    extents: dict[Hashable, int] = {}
    for x, labels in terms:
        for label, extent in zip(labels, x.shape, strict=True):
            known = extents.get(label, 1)
            if 1 not in (known, extent) and known != extent:
                named = (
                    f'"{label}"'
                    if isinstance(label, str)
                    else f"axis {label} of the broadcast ones"
                )
                raise errors.ShapeError(
                    f'einsum: {named} of "{subscripts}" has the extents {known} and {extent}'
                )
            extents[label] = extent if known == 1 else known
    return extents


# ---------------------------------------------------------------- the order of the work


def _without_repeats(x: Node, labels: tuple[Hashable, ...]) -> Term:
    """A label that occurs twice selects the diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if x.shape[i] != x.shape[j]:
                raise errors.ShapeError(
                    f'einsum: "{label}" has the extents {x.shape[i]} and {x.shape[j]} in one'
                    " operand"
                )
            x = diagonal(x, 0, i, j)
            labels = (*(k for n, k in enumerate(labels) if n not in (i, j)), label)
    return x, labels


def _summed(i: int, terms: Sequence[Term], out: Labels) -> Term:
    """A term, summed over what neither the others nor the result have. Such labels have the term's
    own extents."""
    x, labels = terms[i]
    needed = {*out, *(label for j, term in enumerate(terms) if j != i for label in term[1])}
    kept = tuple(label for label in labels if label in needed)
    if len(terms) == 1 or len(kept) == len(labels):
        return x, labels
    own = dict(zip(labels, x.shape, strict=True))
    return sum_of_products("einsum", [(x, labels)], kept, own), kept


def _multiplied(terms: Sequence[Term], out: Labels, extents: Mapping[Hashable, int]) -> list[Term]:
    """One pair replaced by its product: the pair whose product is smallest compared with its
    factors, then the cheapest."""

    def price(pair: tuple[int, int]) -> tuple[int, int]:
        factors = [terms[i] for i in pair]
        union = {*factors[0][1], *factors[1][1]}
        size = prod(extents[label] for label in _left(terms, pair, out))
        return size - sum(x.size for x, _ in factors), prod(extents[label] for label in union)

    best = min(combinations(range(len(terms)), 2), key=price)
    kept = _left(terms, best, out)
    product = sum_of_products("einsum", [terms[i] for i in best], kept, extents)
    return [*(t for i, t in enumerate(terms) if i not in best), (product, kept)]


def _left(terms: Sequence[Term], pair: tuple[int, int], out: Labels) -> tuple[Hashable, ...]:
    """The labels of a pair's product: those that the result or another term has; those of both
    factors first."""
    needed = {
        *out,
        *(label for i, (_, labels) in enumerate(terms) if i not in pair for label in labels),
    }
    a, b = (terms[i][1] for i in pair)
    order = [
        *(x for x in a if x in b),
        *(x for x in a if x not in b),
        *(x for x in b if x not in a),
    ]
    return tuple(x for x in order if x in needed)
