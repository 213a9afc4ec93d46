"""Places of private memory, and lanes dealt out to threads. In: a phase, the threads of its blocks.
Out: a Layout.

A LANES loop keeps its `unroll` only where that makes some access a vector, or where it adds up
terms whose order counts; otherwise neighbouring lanes go to neighbouring threads. What each thread
keeps for itself becomes registers: THREAD buffers, REG buffers that are indexed by lane, and
SCRATCH buffers that are small and only touched at the lane itself, in loops that are dealt out
alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Mask, Var
from ....ir.graph.op import Op
from ....ir.kernels.sum_order import has_order
from ....ir.loops.loop import (
    GLOBAL,
    LANES,
    REG,
    SCRATCH,
    THREAD,
    WARPS,
    Alloc,
    Buf,
    For,
    If,
    Loops,
    Param,
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.walk import (
    all_roots,
    index_values,
    indices,
    operands,
    postorder,
    reads,
    roots,
    statements,
    usual_operands,
    writes,
)
from ....ir.symbolic.questions import is_same
from ..target import WARP
from .expr import EmitError

VECTOR = 16  # bytes of the widest access
FEW = 32  # registers of a thread that a SCRATCH buffer may take

Key = tuple[object, ...]


@dataclass
class Layout:
    unroll: dict[int, int] = field(default_factory=dict)  # of LANES loops, by id
    registers: dict[Buf, int] = field(default_factory=dict)  # elements of one thread
    offsets: dict[Buf, int] = field(default_factory=dict)  # bytes in shared memory
    # bytes from warp to warp, 0 where all share it
    strides: dict[Buf, int] = field(default_factory=dict)
    extents: dict[Buf, tuple[int, int]] = field(default_factory=dict)  # the bytes of all warps
    shared: int = 0

    def overlap(self, a: Buf, b: Buf) -> bool:
        """Whether two buffers take turns in one place."""
        if a not in self.extents or b not in self.extents:
            return False
        return self.extents[a][0] < self.extents[b][1] and self.extents[b][0] < self.extents[a][1]


@dataclass
class _Loop:
    """A LANES loop and what it accesses."""

    loop: For
    team: int
    accesses: list[tuple[Buf, Index, Mask]]

    @property
    def key(self) -> Key:
        return self.loop.extent, self.loop.unroll, self.loop.total, self.loop.base, self.team


def threads_of(loops: Loops, phase: int) -> int:
    if not loops.threads:
        raise EmitError(f"{loops.name} has no threads: it was lowered for another target")
    return loops.threads[phase]


def lay_out(phase: For, threads: int) -> Layout:
    loops = list(_lane_loops(phase.body, threads))
    out = Layout()
    allocs = list(_allocs(phase.body, False))
    for buf, _ in allocs:
        if _is_register_array(buf, loops, phase):
            out.registers[buf] = 0
    for one in loops:
        out.unroll[id(one.loop)] = _unroll(one, out)
    _share_registers(out, loops)
    scratch = [
        (b, in_warps) for b, in_warps in allocs if b.space == SCRATCH and b not in out.registers
    ]
    last = _last_uses(phase.body)
    for buf, in_warps in scratch:
        _place(out, buf, threads // WARP if in_warps else 1, last)
    return out


def _lane_loops(body: list[Stmt], team: int) -> Iterator[_Loop]:
    for s in body:
        if isinstance(s, For) and s.kind == LANES:
            yield _Loop(s, team, accesses(s.body))
        elif isinstance(s, For | If):
            yield from _lane_loops(s.body, WARP if isinstance(s, For) and s.kind == WARPS else team)


def _allocs(body: list[Stmt], in_warps: bool) -> Iterator[tuple[Buf, bool]]:
    for s in body:
        if isinstance(s, Alloc):
            yield s.buf, in_warps
        elif isinstance(s, For | If) and not (isinstance(s, For) and s.kind == LANES):
            yield from _allocs(s.body, in_warps or (isinstance(s, For) and s.kind == WARPS))


def accesses(body: list[Stmt]) -> list[tuple[Buf, Index, Mask]]:
    """Every LOAD, Store and Reduce."""
    loads: list[tuple[Buf, Index, Mask]] = [
        n.arg for n in postorder(all_roots(body)) if n.op is Op.LOAD
    ]
    return loads + [
        (s.buf, s.index, s.mask) for s in statements(body) if isinstance(s, Store | Reduce)
    ]


def is_single(s: For) -> bool:
    """Whether a loop has one turn."""
    return isinstance(s.extent, int) and s.extent == 1


def varies(index: Index, v: Var) -> bool:
    """Whether an index names a variable, also inside gathered Nodes."""
    inside = [i for n in postorder(index.values()) for i in indices(n)]
    return any(v in i.vars() for i in [index, *inside])


def _is_register_array(buf: Buf, loops: list[_Loop], phase: For) -> bool:
    users = [(one, index) for one in loops for b, index, _ in one.accesses if b is buf]
    match buf.space:
        case "thread":
            return True
        case "reg":
            return any(varies(index, one.loop.var) for one, index in users)
        case "scratch":
            return bool(users) and _is_own(buf, users, phase)
    return False


def _is_own(buf: Buf, users: list[tuple[_Loop, Index]], phase: For) -> bool:
    """Whether a SCRATCH buffer is small and each thread only touches its own elements."""
    first = users[0][0]
    if not isinstance(first.loop.extent, int) or any(one.key != first.key for one, _ in users):
        return False
    at_lane = all(index.as_var is one.loop.var for one, index in users)
    elsewhere = any(b is buf for b, _, _ in accesses(list(_uniform_statements(phase.body))))
    elements = -(-first.loop.extent // (first.loop.unroll * first.team)) * first.loop.unroll
    return at_lane and not elsewhere and elements * buf.dtype.itemsize <= 4 * FEW


def _uniform_statements(body: list[Stmt]) -> Iterator[Stmt]:
    """All statements outside of LANES loops, loops without their bodies."""
    for s in body:
        yield replace(s, body=[]) if isinstance(s, For | If) else s
        if isinstance(s, For | If) and not (isinstance(s, For) and s.kind == LANES):
            yield from _uniform_statements(s.body)


def _unroll(one: _Loop, out: Layout) -> int:
    s = one.loop
    if any(buf in out.registers for buf, _, _ in one.accesses):
        return (
            s.unroll
            if s.total is None and isinstance(s.extent, int) and s.extent % s.unroll == 0
            else 1
        )
    whole = not isinstance(s.extent, Param) and is_same(s.extent % s.unroll, 0)
    if s.total is None and whole and _has_order(s):
        return s.unroll
    piece, e = Var("piece", s.var.extent), Var("e", s.unroll)
    split = {s.var: Index({piece: s.unroll, e: 1})}
    for buf, index, mask in one.accesses:
        if buf.space in (REG, THREAD) or index.values() or index_values(mask):
            continue
        if vector_of(buf, index.substitute(split), tuple(r.substitute(split) for r in mask), e):
            return s.unroll
    return 1


def _has_order(s: For) -> bool:
    """Does a loop add up terms whose order counts? Each thread then has the same ones, be they in
    registers or not."""
    return any(isinstance(t, Reduce) and has_order(t.op, t.buf.dtype) for t in statements(s.body))


def vector_of(buf: Buf, index: Index, mask: Mask, e: Var) -> int:
    """Elements of the vectors by which e = 0 .. extent-1 is accessed; 0 where that must be done one
    by one."""
    w = min(e.extent, VECTOR // buf.dtype.itemsize)
    if w < 2 or e.extent % w or w & (w - 1) or not is_same(index.coef(e), 1):
        return 0
    if any(varies(r.index, e) for r in mask):
        return 0
    others = [(t, c) for t, c in index.terms if t is not e]
    if any(varies(Index({t: 1}), e) for t, _ in others):
        return 0
    return w if all(is_same(c % w, 0) for c in [*(c for _, c in others), index.const]) else 0


def _share_registers(out: Layout, loops: list[_Loop]) -> None:
    """How many elements of each register array are of one thread: of whole pieces, which all loops
    must deal out alike."""
    pieces: dict[Buf, tuple[int, int]] = {}
    for one in loops:
        for buf, index, _ in one.accesses:
            if buf in out.registers:
                out.registers[buf] = max(out.registers[buf], _share(one, out, index))
                piece = out.unroll[id(one.loop)] * index.coef(one.loop.var), one.team
                (size, team), known = piece, pieces.setdefault(buf, piece)
                if known != piece:
                    raise EmitError(
                        f"{buf} is dealt out in pieces of {known[0]} among {known[1]}, and of"
                        f" {size} among {team}"
                    )


def _share(one: _Loop, out: Layout, index: Index) -> int:
    """Elements of a register array that a thread needs for its lanes."""
    s, u = one.loop, out.unroll[id(one.loop)]
    if not isinstance(s.extent, int):
        raise EmitError(f"registers indexed by {s.var}, whose extent is no constant")
    per = index.coef(s.var)
    rest = index - Index({s.var: per})
    if per < 1 or varies(rest, s.var) or rest.bounds[0] < 0 or rest.bounds[1] >= per:
        raise EmitError(f"[{index}] of registers is not of one lane {s.var}")
    return -(-s.extent // (u * one.team)) * u * per


def _last_uses(body: list[Stmt]) -> dict[Buf, tuple[int, int]]:
    """Where in the phase's body a buffer is allocated and last touched, if it is allocated there
    and not further inside."""
    first = {s.buf: at for at, s in enumerate(body) if isinstance(s, Alloc)}
    last = {b: at for at, s in enumerate(body) for b in reads([s]) | writes([s])}
    return {b: (at, last[b]) for b, at in first.items()}


def _place(out: Layout, buf: Buf, copies: int, lives: dict[Buf, tuple[int, int]]) -> None:
    """The lowest place that no buffer in use at the same time has."""
    size = -(-buf.size * buf.dtype.itemsize // VECTOR) * VECTOR
    at = 0
    for other in sorted(
        (b for b in out.offsets if _meet(b, buf, lives)), key=lambda b: out.offsets[b]
    ):
        start, end = out.extents[other]
        if at + size * copies <= start:
            break
        at = max(at, end)
    out.offsets[buf], out.strides[buf] = at, size if copies > 1 else 0
    out.extents[buf] = at, at + size * copies
    out.shared = max(out.shared, at + size * copies)


def _meet(a: Buf, b: Buf, lives: dict[Buf, tuple[int, int]]) -> bool:
    """Whether two buffers are in use at the same time."""
    if a not in lives or b not in lives:
        return True
    return lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1]


def usual_loads(run: list[Stmt]) -> dict[Node, None]:
    """The LOADs of arguments, through no gathered index, that statements themselves need in any
    case."""
    nodes = postorder([r for s in run for r in roots(s)], usual_operands)
    return dict.fromkeys(
        n for n in nodes if n.op is Op.LOAD and n.arg[0].space == GLOBAL and not operands(n)
    )


def own_loads(s: Stmt) -> list[Node]:
    """The LOADs that a statement itself needs."""
    return [n for n in postorder(roots(s)) if n.op is Op.LOAD]
