"""The verifier of Loops. In: Loops. Out: nothing, or a LoopError that names the rule they break."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import dtype as dt
from ..graph.graph import Node, infer
from ..graph.index import Index, Mask, Range, Var
from ..graph.op import ELEMENTWISE, Op
from ..graph.shapes import GraphError
from ..symbolic.integer import Symbolic
from .loop import (
    GLOBAL,
    GRID,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    THREAD,
    UNROLL,
    WARPS,
    Alloc,
    Buf,
    Check,
    Commit,
    Copy,
    For,
    If,
    Loops,
    Multiply,
    Prefetch,
    Reduce,
    Stmt,
    Store,
    Wait,
)
from .walk import in_order, indices, postorder, reads, statements


class LoopError(ValueError):
    """Loops that break the rules of the language: a bug in the lowering."""


def _require(ok: bool, why: str) -> None:
    if not ok:
        raise LoopError(why)


def verify(loops: Loops) -> None:
    """Checks scopes, dtypes, bounds and the rules for lanes; raises LoopError."""
    _require(
        len(loops.threads) in (0, len(loops.phases)),
        f"threads {loops.threads} of {len(loops.phases)} phases",
    )
    _require(
        all(t % 32 == 0 < t <= 1024 for t in loops.threads), f"blocks of {loops.threads} threads"
    )
    for phase in loops.phases:
        _require(phase.kind == GRID, f"a phase must be a grid loop, not {phase.kind}")
        _Verifier(loops).loop(phase)


class _Verifier:
    def __init__(self, loops: Loops) -> None:
        self.params = set(loops.params)
        self.bufs = set(loops.buffers)
        self.vars: set[Var] = set()
        self.lanes: Var | None = None
        # of loops that may stand here
        self.kinds = {
            LANES,
            UNROLL,
            SERIAL,
            *([WARPS] if loops.threads else []),
        }
        self.lanewise: set[Buf] = set()
        self.seen: set[Node] = set()
        self.holds: list[Range] = []  # conditions of the Ifs and ends of the loops around
        for b in loops.buffers:
            _require(b.space == GLOBAL, f"argument {b} is {b.space}")

    # ------------------------------------------------------------ statements

    def body(self, body: list[Stmt]) -> None:
        bufs, seen = set(self.bufs), set(self.seen)
        for s in body:
            self.statement(s)
        self.bufs, self.seen = bufs, seen

    def statement(self, s: Stmt) -> None:
        match s:
            case For():
                _require(
                    s.kind in self.kinds,
                    f"a {s.kind} loop inside a phase, or inside lanes or warps",
                )
                self.loop(s)
            case Alloc():
                self.alloc(s)
            case Store() | Reduce():
                self.write(s)
            case If(cond, body):
                self.mask(cond)
                _require(
                    not any(self.varies(r.index) for r in cond),
                    "the condition of an If differs between lanes",
                )
                self.body_where(cond, body)
            case Check(index, extent, site, position):
                self.node(index)
                _require(
                    isinstance(site, int) or site in self.params, f"unknown site {site} of a check"
                )
                _require(
                    index.dtype is dt.int64 and extent > 0,
                    f"check of {index.dtype.name} against {extent}",
                )
                self.index(position)
            case Prefetch(buf, index):
                _require(
                    buf.space == GLOBAL and buf in self.bufs,
                    f"prefetch of {buf}, which is no argument",
                )
                _require(not index.values(), f"prefetch of {buf} gathers")
                self.index(index)
            case Copy():
                self.copy(s)
            case Multiply():
                self.multiply(s)
            case Commit() | Wait():
                _require(
                    self.lanes is None and WARPS in self.kinds,
                    "copies are waited for by whole blocks",
                )

    def loop(self, s: For) -> None:
        _require(s.var not in self.vars, f"loop variable {s.var} is already in use")
        for e in (s.extent, s.total):
            _require(
                e is None or isinstance(e, int | Symbolic) or e in self.params,
                f"unknown extent {e} of {s.var}",
            )
        _require(
            isinstance(s.extent, int) or s.kind != UNROLL,
            f"unrolled loop {s.var} has no constant extent",
        )
        _require(
            not isinstance(s.extent, int) or 0 <= s.extent <= s.var.extent,
            f"{s.var} runs beyond {s.var.extent}",
        )
        _require(s.unroll >= 1, f"unroll {s.unroll}")
        self.index(s.base)
        _require(not self.varies(s.base), f"the base of {s.var} differs between lanes")
        self.vars.add(s.var)
        if s.kind == LANES:
            self.lanes_loop(s)
        elif s.kind == WARPS:
            self.kinds.discard(WARPS)
            self.body(s.body)
            self.kinds.add(WARPS)
        else:
            end = (
                [Range(s.base + Index({s.var: 1}), 0, s.total)] if isinstance(s.total, int) else []
            )
            self.body_where(end, s.body)
        self.vars.remove(s.var)

    def body_where(self, conditions: Sequence[Range], body: list[Stmt]) -> None:
        """A body that runs only where these hold."""
        self.holds += conditions
        self.body(body)
        del self.holds[len(self.holds) - len(conditions) :]

    def bounds(self, index: Index) -> tuple[int, int]:
        """Least and greatest value: also as a multiple of a condition's index and a rest, where
        that is tighter."""
        lo, hi = index.bounds
        for r in self.holds:
            term, coef = r.index.terms[0] if r.index.terms else (None, 1)
            scale = index.coef(term) // coef if term is not None else 0
            rest = index - r.index * scale
            least, most = sorted((scale * r.lo, scale * (r.hi - 1)))
            if scale:
                lo, hi = max(lo, rest.bounds[0] + least), min(hi, rest.bounds[1] + most)
        return lo, hi

    def lanes_loop(self, s: For) -> None:
        _require(self.lanes is None, f"lanes loop {s.var} inside lanes loop {self.lanes}")
        self.lanes, self.lanewise = s.var, set()
        sums = {
            t.buf
            for t in statements(s.body)
            if isinstance(t, Reduce) and t.buf.space == REG and not self.varies(t.index)
        }
        sums -= {t.buf for t in statements(s.body) if isinstance(t, Alloc)}
        _require(
            not sums & reads(s.body),
            f"partial sums of {sums} are read in the loop that adds to them",
        )
        self.body(s.body)
        self.lanes = None

    def alloc(self, s: Alloc) -> None:
        _require(
            s.buf.space != GLOBAL and s.buf.size > 0,
            f"alloc of {s.buf}: {s.buf.space}[{s.buf.size}]",
        )
        _require(s.buf not in self.bufs, f"{s.buf} is allocated already")
        _require(self.lanes is None or s.buf.space == REG, f"scratch {s.buf} inside a lanes loop")
        self.bufs.add(s.buf)
        if self.lanes is not None:
            self.lanewise.add(s.buf)

    def write(self, s: Store | Reduce) -> None:
        self.node(s.value)
        self.place(s.buf, s.index, s.mask)
        _require(
            s.value.dtype is s.buf.dtype,
            f"{s.value.dtype.name} written to {s.buf}: {s.buf.dtype.name}",
        )
        if isinstance(s, Reduce):
            _require(s.op in ("add", "max", "mul"), f"unknown reduction {s.op}")
        elif self.lanes is not None and s.buf not in self.lanewise:
            _require(
                self.lanes.extent == 1 or self.varies(s.index),
                f"every lane stores to the same element of {s.buf}",
            )

    def copy(self, s: Copy) -> None:
        _require(
            s.to.space == SCRATCH and s.source.space == GLOBAL, f"a copy from {s.source} to {s.to}"
        )
        _require(
            s.to.dtype is s.source.dtype and s.size * s.to.dtype.itemsize == 16,
            f"a copy of {s.size} {s.to.dtype.name}",
        )
        self.place(s.to, s.at, ())
        self.place(s.source, s.index, s.mask)
        aligned = all(
            c % s.size == 0 for i in (s.at, s.index) for c in (i.const, *(c for _, c in i.terms))
        )
        _require(
            aligned and not s.index.values(),
            f"a copy from {s.source}[{s.index}] to {s.to}[{s.at}] is not aligned",
        )

    def multiply(self, s: Multiply) -> None:
        _require(self.lanes is None and WARPS in self.kinds, "tiles are multiplied by whole blocks")
        _require(
            s.acc.space == THREAD and s.acc.dtype is dt.float32 and s.acc in self.bufs,
            f"sums in {s.acc}",
        )
        step = 16 if s.rows.buf.dtype.is_half else 8
        whole = not any(
            n % by
            for n, by in zip(
                (*s.part, s.shape[2], *s.shape[:2]), (16, 16, step, *s.part), strict=True
            )
        )
        _require(
            whole and s.rows.buf.dtype is s.lanes.buf.dtype, f"a product of {s.shape} by {s.part}"
        )
        for m, size in ((s.rows, s.shape[0]), (s.lanes, s.shape[1])):
            last = m.first + (size - 1) * m.across + (s.shape[2] - 1) * m.along
            _require(1 in (m.across, m.along) and m.buf.space == SCRATCH, f"a tile in {m.buf}")
            self.place(m.buf, m.first, ())
            self.place(m.buf, last, ())

    # ------------------------------------------------------------ expressions

    def varies(self, index: Index) -> bool:
        """Whether an index names the lane variable or gathers through a value that does, or that
        each lane holds for itself."""
        if self.lanes is None:
            return False
        nodes = postorder(index.values())
        held = any(n.op is Op.LOAD and n.arg[0] in self.lanewise for n in nodes)
        return held or any(
            self.lanes in i.vars() for i in [index, *(i for n in nodes for i in indices(n))]
        )

    def place(self, buf: Buf, index: Index, mask: Mask) -> None:
        _require(buf in self.bufs, f"{buf} is not an argument and not allocated here")
        self.index(index)
        self.mask(mask)
        lo, hi = self.bounds(index)
        # lo > hi: the conditions around never hold
        inside = isinstance(buf.size, Symbolic) or lo > hi or 0 <= lo <= hi < buf.size
        _require(
            bool(mask) or buf.space == GLOBAL or inside, f"{buf}[{index}] is outside 0..{buf.size}"
        )
        _require(
            buf not in self.lanewise or not self.varies(index),
            f"lane-wise {buf} is indexed by lane",
        )

    def mask(self, mask: Mask) -> None:
        for r in mask:
            self.index(r.index)

    def index(self, index: Index) -> None:
        for v in index.vars():
            _require(v in self.vars, f"undefined loop variable {v}")
        for n in index.values():
            self.node(n)
            _require(n.dtype is dt.int64, f"an index of dtype {n.dtype.name}")

    def node(self, root: Node) -> None:
        for n in in_order(root, self.seen.__contains__):
            self.seen.add(n)
            self.one_node(n)

    def one_node(self, n: Node) -> None:
        _require(n.shape == (), f"{n} is not a scalar")
        match n.op:
            case Op.CONST:
                return
            case Op.VAR:
                self.index(n.arg)
                _require(n.dtype is dt.int64, "the value of an index is int64")
            case Op.LOAD:
                buf, index, mask = n.arg
                self.place(buf, index, mask)
                _require(
                    n.dtype is buf.dtype, f"{n.dtype.name} loaded from {buf}: {buf.dtype.name}"
                )
            case Op.ANY:
                _require(n.dtype is dt.bool_ and n.src[0].dtype is dt.bool_, "any of bools")
            case Op.FMA:
                _require(
                    n.dtype.is_float and all(s.dtype is n.dtype for s in n.src) and len(n.src) == 3,
                    "fma of floats",
                )
            case Op.LDEXP:
                x, by = n.src
                _require(x.dtype is n.dtype and n.dtype.is_float, "ldexp of a float")
                _require(
                    by.dtype.kind == "i" and by.dtype.bits == x.dtype.bits,
                    "ldexp by an integer of the same width",
                )
            case _:
                _elementwise(n)


def _elementwise(n: Node) -> None:
    _require(n.op in ELEMENTWISE, f"{n.op.value} at loop level")
    try:
        dtype, _ = infer(n.op, n.src, n.arg)
    except GraphError as e:
        raise LoopError(str(e)) from e
    _require(dtype is n.dtype, f"{n.op.value} of dtype {n.dtype.name}, not {dtype.name}")
