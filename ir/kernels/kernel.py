"""Units and Kernels: which values share loops. In: a simplified Graph. Out: Units with their index
maps, grouped by fuse.py.

A Unit is one computed value and its iteration axes; the views between units have vanished into the
indices of its Reads. A Kernel is a set of Units that share outer (parallel) axes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import log2, prod
from typing import Literal

from ..graph.graph import Node
from ..graph.halves import TRANSPARENT
from ..graph.index import Gathered, Index, Range, Var, mask_of, row_major, unravel, var
from ..graph.op import ELEMENTWISE, REGIONAL, SCANS, SYSTEMS, Op
from ..graph.rewrite import constant_of
from ..graph.shapes import Shape
from ..graph.site import site_text
from ..graph.views import resolve
from ..ops.table import RECORDS, TRANSCENDENTAL
from ..symbolic.questions import has_several
from .places import Places, Read

# rough operations an element, relative to an add
COST = {r.op: r.cost for r in RECORDS.values()} | {Op.ARGSORT: 30}
MIN_PARALLEL = 64  # iterations of the outer axes that keep every thread busy
# powers that are products, roots and quotients
CHEAP_EXPONENTS = frozenset({-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0})


def cost(n: Node) -> int:
    """Operations an element of this Node takes, relative to an add."""
    if n.op is Op.POW and constant_of(n.src[1]) in CHEAP_EXPONENTS:
        return COST[Op.SQRT] + COST[Op.DIV]
    if n.op in SYSTEMS:
        return _system_cost(n)
    if n.op is Op.FFT:
        return transform_cost(n.src[0].shape[n.arg[0]])
    return COST.get(n.op, 1)


def _system_cost(n: Node) -> int:
    """Elimination takes 2/3 n**3 operations, half of that for a symmetric matrix, and each column
    of the result 2 n**2; shared out among the elements of the result."""
    rows, columns = n.shape[-2:]
    if n.op is Op.CHOLESKY:
        return max(1, rows // 3)
    return max(1, 2 * rows + 2 * rows * rows // (3 * max(1, columns)))


def transform_cost(n: int) -> int:
    """5 n log2(n) for a line of n complex numbers of two elements each (M. Frigo and S. Johnson,
    "The design and implementation of FFTW3", 2005)."""
    return max(1, round(2.5 * log2(n)))


def domain(n: Node) -> Shape:
    """The shape of the loops that compute a Node."""
    return n.src[0].shape if n.op is Op.REDUCE else n.shape


def work(nodes: Iterable[Node]) -> int:
    """Operations to compute these Nodes, each once."""
    return sum(cost(n) * prod(domain(n)) for n in nodes)


def kept_axes(n: Node) -> tuple[int, ...]:
    """The axes of the domain that index the result."""
    reduced = n.arg[1] if n.op is Op.REDUCE else ()
    return tuple([a for a in range(len(domain(n))) if a not in reduced])


@dataclass(eq=False)
class Unit:
    """A computed Node with loop variables for its axes, each axis split into the factors that its
    neighbours need."""

    node: Node
    position: int
    axes: list[list[Var]] = field(default_factory=list)
    _reads: list[Read] | None = field(init=False, default=None)
    # of `reads`, by the outer axes
    _places: dict[tuple[Var, ...], Places] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.axes = self.axes or [[Var(f"i{a}", d)] for a, d in enumerate(domain(self.node))]

    def coordinates(self) -> list[Index]:
        """The index of the domain in terms of the variables; size-1 axes are constant 0."""
        return [join(sub) for sub in self.axes]

    def kept(self) -> list[list[Var]]:
        """The sub-axes of each axis of the result."""
        return [self.axes[a] for a in kept_axes(self.node)]

    def kept_vars(self) -> tuple[Var, ...]:
        return tuple(v for sub in self.kept() for v in sub if has_several(v.extent))

    def inner_vars(self, outer: tuple[Var, ...]) -> tuple[Var, ...]:
        return tuple(
            v for sub in self.axes for v in sub if has_several(v.extent) and v not in outer
        )

    def places(self, outer: tuple[Var, ...]) -> Places:
        """Where its own element and those that it reads lie in loops of which these are the outer
        ones."""
        places = self._places.get(outer)
        if places is None:
            places = self._places[outer] = Places(outer, self.inner_vars(outer), self.axes)
        return places

    @property
    def reads(self) -> list[Read]:
        """What each element is computed of."""
        if self._reads is None:
            self._reads = self._found_reads()
        return self._reads

    def _found_reads(self) -> list[Read]:
        n, at = self.node, self.coordinates()
        if n.op in ELEMENTWISE or n.op in SCANS or n.op in (Op.REDUCE, Op.ARGSORT):
            return [r for s in n.src for r in reads_of(s, at)]
        if n.op is Op.SCATTER:
            free = _free(n.src[0])
            return [
                *reads_of(n.src[0], free),
                *(r for s in n.src[1:] for r in reads_of(s, free[: n.src[1].ndim])),
            ]
        if n.op in (Op.ELSEWHERE, Op.PUT, Op.FFT) or n.op in REGIONAL or n.op in SYSTEMS:
            return [r for s in n.src for r in reads_of(s, _free(s))]
        if n.op is Op.KEEP:
            return [r for s in n.src for r in reads_of(s, at)]
        return reads_of(n, at)  # a copy of a view or a leaf

    def split(self, v: Var, by: int) -> None:
        """Splits variable v (extent divisible by `by`) into an outer and an inner one."""
        for sub in self.axes:
            if v in sub:
                at = sub.index(v)
                sub[at : at + 1] = [Var(v.name + "o", v.extent // by), Var(v.name + "i", by)]
        self._reads, self._places = None, {}

    def __repr__(self) -> str:
        return f"{self.node.op.value}{list(domain(self.node))}@{self.position}"

    def __str__(self) -> str:
        """For users, by their lines."""
        where = f" ({site_text(self.node.site)})" if self.node.site else ""
        return f"{self.node.op.value}{list(domain(self.node))}{where}"


def _free(n: Node) -> list[Index]:
    """An index of which nothing is known."""
    return [var(Var(f"s{a}", d)) for a, d in enumerate(n.shape)]


def join(sub: list[Var]) -> Index:
    """One axis index out of the variables it was split into."""
    return row_major(
        [var(v) if has_several(v.extent) else Index() for v in sub], [v.extent for v in sub]
    )


def at_sub_axes(index: Index, sub: list[Var]) -> list[Index]:
    """The index of one axis spread over its sub-axes."""
    return unravel(index, tuple(v.extent for v in sub))


def zero_outside(n: Node, index: list[Index]) -> list[Range]:
    """Conditions without any of which n[index] is 0: those of padding, also of the factors of a
    product."""
    conditions: list[Range] = []
    waiting, seen = [(n, index)], set()
    while waiting:
        n, index, ranges = resolve(*waiting.pop())
        conditions += ranges
        if n.op is Op.MUL and (n, tuple(index)) not in seen:
            seen.add((n, tuple(index)))
            waiting += [(s, index) for s in n.src]
    return conditions


def is_widening(n: Node) -> bool:
    """Is it a 16-bit float as a wider one? That is part of reading it: in memory it would take more
    room than its source."""
    return n.op is Op.CAST and n.dtype.is_float and n.src[0].dtype.is_half and not n.dtype.is_half


def is_seen_through(n: Node) -> bool:
    """Is it a part of reading its source?"""
    return n.op in TRANSPARENT or is_widening(n)


def base_of(n: Node) -> Node:
    """What a Node is a view of, also through a DETACH or a wider float."""
    while is_seen_through(n):
        n = n.src[0]
    return n


def reads_of(n: Node, index: list[Index]) -> list[Read]:
    """The reads that evaluating n[index] needs: one, or several through a gather."""
    n, index, ranges = resolve(n, index)
    out: list[Read] = []
    while n.op is Op.GATHER or is_widening(n):
        if n.op is Op.GATHER:
            index, more = _through_gather(n, index)
            out += more
        n, index, inner = resolve(n.src[0], index)
        ranges += inner
    if n.op not in (Op.CONST, Op.IOTA):
        out.append(Read(n, tuple(index), mask_of(ranges)))
    return out


def _through_gather(n: Node, index: list[Index]) -> tuple[list[Index], list[Read]]:
    ndim = n.src[1].ndim
    at, rest, reads = index[:ndim], iter(index[ndim:]), []
    chosen = dict(zip(n.arg, n.src[1:], strict=True))
    out: list[Index] = []
    for axis, extent in enumerate(n.src[0].shape):
        if axis not in chosen:
            out.append(next(rest))
            continue
        base, where, mask = resolve(chosen[axis], at)
        if base.op is Op.IOTA and not mask_of(mask):
            out.append(where[0])
        else:
            reads += reads_of(chosen[axis], at)
            out.append(Index({Gathered(chosen[axis], extent): 1}))
    return out, reads


Labels = dict[Var, Var]  # a unit's own variables -> those of the space


@dataclass(eq=False)
class Chain:
    """Contractions that share a space of batch x rows x columns, and everything between them."""

    batch: tuple[Var, ...]
    rows: tuple[Var, ...]
    columns: tuple[Var, ...]
    scores: list[Unit]
    inner: list[Unit]  # maps of the space and of its rows, reductions along its rows; in order
    results: list[Unit]
    labels: dict[Unit, Labels]
    # a unit of the epilogue -> the result it follows
    owner: dict[Unit, Unit] = field(default_factory=dict)

    @property
    def contractions(self) -> list[Unit]:
        return [*self.scores, *self.results]

    @property
    def space(self) -> set[Var]:
        return {*self.batch, *self.rows, *self.columns}

    @property
    def reduces(self) -> bool:
        """Is there a reduction along the rows?"""
        return any(u.node.op is Op.REDUCE for u in self.inner)

    def sums_rows(self, u: Unit) -> bool:
        """Does a result sum over the rows rather than the columns?"""
        return self.rows[-1] not in {self.labels[u].get(v) for v in u.kept_vars()}

    def spans(self, u: Unit) -> bool:
        """Is there a value for each element of the space?"""
        return {self.labels[u][v] for v in u.kept_vars()} == self.space


Kind = Literal[
    "map",
    "rows",
    "contraction",
    "chain",
    "scan",
    "scatter",
    "put",
    "sort",
    "systems",
    "fft",
    "loop",
    "branch",
    "routine",
]


@dataclass(eq=False)
class Kernel:
    """Units over shared outer axes. `outer[u]`: the unit's own variables for them (units of a
    prologue have none).

    `columns`: reductions over the outer axes and maps of these, with what is left of their axes;
    maps have no `outer`.
    """

    name: str
    kind: Kind
    units: list[Unit]
    outer: dict[Unit, tuple[Var, ...]]
    extents: tuple[int, ...]
    outputs: list[Node]
    inputs: list[Node]
    anchor: Unit | None = None
    chain: Chain | None = None
    columns: dict[Unit, tuple[Var, ...]] = field(default_factory=dict)
    # of an equal part: over other Nodes, of the same strides
    copy_of: Kernel | None = None


WORDS = {"add": "sum", "max": "max", "mul": "prod"}  # what a reduction is called
NAMED = TRANSCENDENTAL | {Op.REDUCE, Op.SQRT, Op.DIV}  # what a kernel's name mentions


# of a kernel without contractions: that of the first of these ops in it
KINDS: dict[Op, Kind] = {
    Op.SCATTER: "scatter",
    Op.SCAN: "scan",
    Op.SCANMUL: "scan",
    Op.PUT: "put",
    Op.ARGSORT: "sort",
    Op.SOLVE: "systems",
    Op.CHOLESKY: "systems",
    Op.FFT: "fft",
    Op.LOOP: "loop",
    Op.BRANCH: "branch",
    Op.ROUTINE: "routine",
    Op.REDUCE: "rows",
}


def kernel_kind(units: list[Unit], anchor: Unit | None) -> Kind:
    """Of a kernel that is no chain."""
    if anchor is not None:
        return "contraction"
    ops = {u.node.op for u in units}
    return next((kind for op, kind in KINDS.items() if op in ops), "map")


def kernel_name(units: list[Unit], kind: Kind, anchor: Unit | None, number: int) -> str:
    """A readable name: number, kind, then the weightiest operations."""
    named = [u.node for u in units if u.node.op in NAMED and u is not anchor]
    if kind == "routine":
        return f"k{number}_{units[0].node.arg[0].name}"
    words = [WORDS[n.arg[0]] if n.op is Op.REDUCE else n.op.value for n in named]
    return "_".join(
        [f"k{number}", "matmul" if kind == "contraction" else kind, *list(dict.fromkeys(words))[:4]]
    )
