"""Loops of tiny kernels. In: the axes of a kernel, statements over one variable per axis. Out: a
nest of serial loops, few axes.

    before    for o0 < 3: for o1 < 4: out[4*o0 + o1] = exp(in[4*o0 + o1])
    after     for o0 < rows: out[o0] = exp(in[o0])        rows = 12 is an argument

What is gained: less code, and one kernel for dense values of any shape. Such a kernel runs for
about a microsecond whatever its code, so what counts is compile time: scalar text is short, and
LLVM compiles it without optimisation, in a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from ...ir.graph.index import Div, Index, Mod, Var, var
from ...ir.loops.loop import SERIAL, For, Param, Reduce, Stmt, Store
from ...ir.loops.walk import Substitution, all_roots, indices, postorder, statements
from ..kernels.loop_axes import TINY_WORK, nested


def nest(
    axes: Sequence[Var], body: list[Stmt]
) -> tuple[list[Stmt], tuple[Param, ...], tuple[int, ...]]:
    """(the statements inside loops over the axes, params, their values)."""
    if not axes:
        return body, (), ()
    walked = _indices(body)
    divided = {
        v for i in walked for t, _ in i.terms if isinstance(t, Div | Mod) for v in t.index.vars()
    }
    groups = _merged(axes, walked, divided)
    extents = [prod(v.extent for v in g) for g in groups]
    shared = divided.isdisjoint(groups[0])  # its extent decides nothing in the text
    loops = [Var(f"o{i}", TINY_WORK if shared and i == 0 else d) for i, d in enumerate(extents)]
    by = {v: Index() for g in groups for v in g[:-1]} | {
        g[-1]: var(o) for g, o in zip(groups, loops, strict=True)
    }
    inner = nested(loops[1:], Substitution(by).body(body))
    rows = Param("rows")
    outermost = For(loops[0], rows if shared else extents[0], SERIAL, inner)
    return [outermost], (rows,) * shared, (extents[0],) * shared


def _indices(body: list[Stmt]) -> set[Index]:
    """Every Index of the statements."""
    walked = {i for n in postorder(all_roots(body)) for i in indices(n)}
    for s in statements(body):
        if isinstance(s, Store | Reduce):
            walked |= {s.index, *(r.index for r in s.mask)}
    return walked


def _merged(axes: Sequence[Var], walked: set[Index], divided: set[Var]) -> list[list[Var]]:
    """Neighbours are one where every Index walks them as one: its coefficients are those of a dense
    value."""
    groups = [[axes[0]]]
    for a, b in pairwise(axes):
        as_one = (
            a not in divided
            and b not in divided
            and all(i.coef(a) == b.extent * i.coef(b) for i in walked)
        )
        if as_one:
            groups[-1].append(b)
        else:
            groups.append([b])
    return groups
