"""Graph -> Graph: sums along the rows of a space, taken of results instead. In: roots and their
spaces. Out: equal roots.

    before    sum_j dP[i, j] P[i, j]     where dP[i, j] = sum_c dO[i, c] v[j, c]
    after     sum_c dO[i, c] O[i, c]     where O[i, c] = sum_j P[i, j] v[j, c]

What is gained: the gradient of a softmax needs no reduction along its rows, so that their columns
can come in blocks. The order of two sums changes, and with it that of multiplications by what is
the same along a row: rounding differs, and where a sum overflows, so may whether it gives inf or
NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..graph.graph import Node, node, permute, reduce, reshape
from ..graph.index import Index, Mask, Var, mask_of, var
from ..graph.op import Op
from ..graph.rewrite import substituted
from ..graph.site import provenance
from ..graph.views import resolve
from ..kernels.chain import factor_of
from ..kernels.kernel import Chain, Unit

Place = tuple[Node, tuple[Index, ...], Mask]


def row_sums_of_results(roots: Sequence[Node], spaces: Iterable[Chain]) -> list[Node]:
    """Replaces every such sum along the rows of a space."""
    new: dict[Node, Node] = {}
    for chain in spaces:
        for u in chain.inner:
            if u.node.op is Op.REDUCE and u.node.arg[0] == "add":
                with provenance(u.node.site):
                    moved = _moved(u, chain)
                new |= {u.node: moved} if moved is not None else {}
    return substituted(roots, new)


def _moved(u: Unit, chain: Chain) -> Node | None:
    """A sum along the rows of a score times the weights of a result, and of factors that are the
    same along a row."""
    wrapped: list[tuple[Op, Node | None]] = []
    x = u.node.src[0]
    while True:
        if x.op is Op.NEG:
            wrapped.append((Op.NEG, None))
            x = x.src[0]
            continue
        parts = _row_factor(x, u.node)
        if parts is None:
            break
        wrapped.append((x.op, parts[1]))
        x = parts[0]
    total = _sum_of_product(x, u, chain)
    if total is None:
        return None
    for op, row in reversed(wrapped):
        total = node(op, (total,) if row is None else (total, row))
    return total


def _row_factor(x: Node, total: Node) -> tuple[Node, Node] | None:
    """(what remains, the factor or divisor) of a map by a value of the row."""
    places = {Op.DIV: (1,), Op.MUL: (0, 1)}.get(x.op, ())
    for at in places:
        s = x.src[at]
        if (
            s.op is Op.EXPAND
            and tuple(a for a, _ in s.arg) == total.arg[1]
            and s.src[0].shape == total.shape
        ):
            return x.src[1 - at], s.src[0]
    return None


def _sum_of_product(x: Node, u: Unit, chain: Chain) -> Node | None:
    if x.op is not Op.MUL:
        return None
    score = {s.node: s for s in chain.scores}
    for product, weight in (x.src, x.src[::-1]):
        for r in chain.results:
            if (
                product in score
                and not chain.sums_rows(r)
                and _is_read(factor_of(chain, r), weight)
            ):
                total = _of_result(score[product], r, chain)
                if total is not None and total.shape == u.node.shape:
                    return total
    return None


def _is_read(factor: Node, weight: Node) -> bool:
    while factor.op in (Op.EXPAND, Op.PERMUTE, Op.DETACH):
        factor = factor.src[0]
    return factor is weight


def _of_result(score: Unit, r: Unit, chain: Chain) -> Node | None:
    """sum_c q[i, c] O[i, c], if the key of the score is the value of the result."""
    lanes = [v for v in r.kept_vars() if v not in chain.labels[r]]
    terms = [v for v in score.inner_vars(score.kept_vars())]
    if [v.extent for v in lanes] != [v.extent for v in terms]:
        return None
    weight = factor_of(chain, r)
    value = next(f for f in r.node.src[0].src if f is not weight)
    where = _place(value, r, chain, dict(zip(lanes, lanes, strict=True)))
    a, b = score.node.src[0].src
    for query, key in ((a, b), (b, a)):
        if _place(key, score, chain, dict(zip(terms, lanes, strict=True))) == where:
            return _inner_product(query, score, r, chain, dict(zip(terms, lanes, strict=True)))
    return None


def _place(n: Node, u: Unit, chain: Chain, names: dict[Var, Var]) -> Place:
    """What a factor reads, in terms of the variables of the space and of the result's lanes."""
    by = {v: var(w) for v, w in (chain.labels[u] | names).items()}
    base, index, mask = resolve(n, [e.substitute(by) for e in u.coordinates()])
    return base, tuple(index), mask_of(mask)


def _inner_product(
    query: Node, score: Unit, r: Unit, chain: Chain, names: dict[Var, Var]
) -> Node | None:
    """The query, brought into the form of the result, times the result, summed over its lanes."""

    def key(u: Unit, axis: int, more: dict[Var, Var]) -> tuple[Var | None, ...]:
        labels = chain.labels[u] | more
        return tuple(labels.get(v, v) for v in u.axes[axis] if v.extent > 1)

    mine = {key(score, a, names): a for a in range(query.ndim) if query.shape[a] > 1}
    kept = [a for a in range(len(r.axes)) if a not in r.node.arg[1] and r.node.src[0].shape[a] > 1]
    wanted = [key(r, a, {}) for a in kept]
    if not all(k in mine for k in wanted):
        return None
    order = [mine[k] for k in wanted]
    cut = tuple((0, d if a in order else 1, 1) for a, d in enumerate(query.shape))
    order += [a for a in range(query.ndim) if a not in order]
    moved = reshape(permute(node(Op.SLICE, (query,), cut), tuple(order)), r.node.shape)
    lanes = {v for v in r.kept_vars() if v not in chain.labels[r]}
    axes = [i for i, sub in enumerate(r.kept()) if any(v in lanes for v in sub)]
    return reduce("add", node(Op.MUL, (moved, r.node)), axes)
