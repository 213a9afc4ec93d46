"""Sums over the rows of a kernel join it: chunks of rows leave partial sums, a last phase adds
them. In: units. Out: a Form.

    before    y = f(x) by rows | sum(g * y) over all rows | w - rate * sum
    after     one kernel: for each chunk of rows: y, sum of g * y; then for each column: sum of
              partial sums, w - rate * sum

What is gained: the rows are read once, and what only the sums need is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from math import prod

from ..graph.graph import Node, reach
from ..graph.op import ELEMENTWISE, VIEWS, Op
from ..symbolic.integer import Symbolic
from ..symbolic.questions import has_several
from .align import Form, Outer, identity_axes
from .groups import Group
from .kernel import Unit, domain
from .reason import Reason, Rule
from .sum_order import has_order

# fewer would leave too few chunks, or chunks of so few rows that partial sums are half of the
# traffic
MIN_ROWS = 64
MOST_ROWS = 1 << 18  # more would lose accuracy
MIN_COLUMNS = 8  # lanes run along the columns
MAX_BYTES = 1 << 18  # of a chunk's sums: they and the rows fit a level-2 cache
FEW_COLUMNS = 1 << 10  # whose blocks of lanes are fewer than a few threads share
SMALL = 1 << 14  # elements below which lanes do not matter


def joined_whole(nodes: Iterable[Node]) -> set[Node]:
    """Column sums of what reductions along as many rows read, too: kernels of rows will take them,
    so they are not cut before."""
    along: dict[int, list[Node]] = {}
    sums = []
    for n in nodes:
        if n.op is Op.REDUCE and n.size and n.src[0].size > n.size > 1:
            # whether each axis is reduced
            real = [a in n.arg[1] for a, d in enumerate(n.src[0].shape) if has_several(d)]
            if real == sorted(real):
                along.setdefault(n.size, []).append(n.src[0])
            elif real == sorted(real, reverse=True):
                sums.append(n)
    read = cache(lambda rows: _large(along[rows], 0))

    def is_along(n: Node, rows: int, others: int) -> bool:
        """Sizes that are not known are compared last."""
        if not isinstance(rows - others, Symbolic) and rows != others:
            return False
        return not read(others).isdisjoint(_large(n.src, n.src[0].size)) and rows == others

    return {
        n
        for n in sums
        if any(is_along(n, n.src[0].size // n.size, rows) for rows in along) and _is_joinable(n)
    }


def _is_joinable(n: Node) -> bool:
    rows = n.src[0].size // n.size
    return (
        rows < MOST_ROWS
        and n.size >= MIN_COLUMNS
        and n.size * n.dtype.itemsize <= MAX_BYTES
        and not _are_few(rows, n.size)
    )


def _are_few(rows: int, columns: int) -> bool:
    """Are rows too few for partial sums? Of few columns one thread adds up any number."""
    return columns > FEW_COLUMNS and rows < MIN_ROWS


def _large(roots: Iterable[Node], least: int) -> set[Node]:
    """Values of at least so many elements from which maps and views compute the roots."""
    return set(
        reach(
            roots,
            lambda n: (
                [s for s in n.src if s.size >= least]
                if n.op in ELEMENTWISE or n.op in VIEWS
                else ()
            ),
        )
    )


def summed_vars(u: Unit) -> Outer:
    """The variables that a reduction reduces."""
    return tuple(v for a in u.node.arg[1] for v in u.axes[a] if has_several(v.extent))


def turned(form: Form) -> Form | None:
    """A group of column sums seen along its rows: what its reductions reduce as outer axes, if
    those lead and all share them."""
    units = form.units
    sums = [u for u in units if u.node.op is Op.REDUCE]
    if not sums or form.columns or any(not sums_columns(u, form.outer[u]) for u in sums):
        return None
    extents = [v.extent for v in summed_vars(sums[0])]
    inside = {u.node: u for u in units}
    out = Form({})
    for u in inside.values():
        kept = form.outer[u] or ()
        own = [inside[r.base] for r in u.reads if r.base in inside]
        if any(
            p in out.columns for p in own
        ):  # a map of sums, of nothing else, with an element for each sum
            if (
                u.node.op is Op.REDUCE
                or kept != u.kept_vars()
                or any(p not in out.columns for p in own)
            ):
                return None
            out.outer[u], out.columns[u] = None, kept
            continue
        rows = summed_vars(u) if u.node.op is Op.REDUCE else u.inner_vars(kept)
        if [v.extent for v in rows] != extents or not _reads_rows(u, rows, inside, out):
            return None
        out.outer[u] = rows
        if u.node.op is Op.REDUCE:
            out.columns[u] = kept
    return out


def sums_columns(u: Unit, kept: Outer | None) -> bool:
    """Do the axes that it reduces lead, and are those that are left the outer ones, in their
    order?"""
    rows = summed_vars(u)
    return bool(rows) and bool(kept) and (*rows, *(kept or ())) == u.inner_vars(())


def has_column_sums(g: Group) -> bool:
    """Has it column sums whose order matters, and no contraction?"""
    return g.form.anchor is None and any(
        u.node.op is Op.REDUCE
        and has_order(u.node.arg[0], u.node.dtype)
        and sums_columns(u, g.form.outer.get(u))
        for u in g.units
    )


def near_column_sums(*groups: Group) -> bool:
    """May what these merge with decide which kernel such sums join, and so their order?"""
    return any(has_column_sums(h) for g in groups for h in (g, *g.neighbours))


def _reads_rows(u: Unit, rows: Outer, inside: Mapping[Node, Unit], known: Form) -> bool:
    """Does it read every value of the group at its own row?"""
    every = {(i, i) for i in range(len(rows))}
    reads = [(inside[r.base], r) for r in u.reads if r.base in inside]
    return all(identity_axes(p, known.outer[p] or (), rows, r) == every for p, r in reads)


def refuse_columns(form: Form) -> Reason | None:
    """Why the column sums of a form cannot be computed in a kernel of rows."""
    sums = [u for u in form.columns if u.node.op is Op.REDUCE]
    for u in sums:
        if set(form.outer[u] or ()) != set(summed_vars(u)):
            return Reason(Rule.MISALIGNED, f"{u} does not sum over the shared outer axes alone")
    if not sums:
        return None
    rows, columns = prod(v.extent for v in summed_vars(sums[0])), [u.node.size for u in sums]
    if min(columns) < MIN_COLUMNS and not _is_small(form):
        return Reason(Rule.COLUMN_SUMS, f"fewer than {MIN_COLUMNS} columns would leave lanes idle")
    held = sum(u.node.size * u.node.dtype.itemsize for u in sums)
    if held > MAX_BYTES:
        return Reason(Rule.COLUMN_SUMS, f"{held} bytes of sums for each chunk of rows")
    if _are_few(rows, max(columns)):
        return Reason(Rule.PARALLELISM, f"{rows} rows are too few for partial sums")
    return None


def _is_small(form: Form) -> bool:
    """Has it so few elements that lanes do not matter?"""
    return all(prod(domain(u.node)) <= SMALL for u in form.outer)
