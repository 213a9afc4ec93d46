"""One access of memory. In: a buffer, an Index, a mask, a group of lanes. Out: the instructions
that fit its stride.

By stride from lane to lane: 0 a scalar access, 1 a vector, -1 a reversed vector, 2 to 4 as many
vectors, x[lane // 2] half a vector stretched, else gather and scatter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.graph.graph import Node
from ...ir.graph.index import Index
from ...ir.graph.op import Op
from ...ir.loops.loop import REG, Buf
from ...ir.loops.text import Names
from ...ir.loops.walk import in_order, operands
from .lane_plan import Plan
from .lanes import Scope, index_bits, pointer, vector_index
from .target import Target
from .values import Val, integer, iota, lanes_of, memory_type, prefix, suffix, vector_type
from .writer import Writer

APART = (2, 3, 4)  # strides for which whole vectors are faster than an element at a time


@dataclass
class Partials:
    """Accumulators of one REG buffer under LANES loops of one width: `groups` vectors an
    element."""

    w: int
    groups: int
    op: str
    base: Val


@dataclass
class Function:
    """The state of one phase's emission."""

    writer: Writer
    target: Target
    scope: Scope
    plan: Plan
    constant: frozenset[Buf]  # read by the phase and never written
    base: dict[Buf, Val] = field(default_factory=dict)
    partials: dict[Buf, list[Partials]] = field(default_factory=dict)
    uncombined: dict[Buf, None] = field(default_factory=dict)  # partial sums not yet added up
    contents: dict[Node, frozenset[Buf]] = field(default_factory=dict)
    streamed: frozenset[Buf] = frozenset()  # buffers that are written past the caches
    names: Names = field(default_factory=Names)  # those of the Loops' text

    def buffers_of(self, root: Node) -> frozenset[Buf]:
        """Every buffer that the phase may change and whose contents a Node depends on."""
        contents = self.contents
        for n in () if root in contents else in_order(root, contents.__contains__):
            below = {contents[o] for o in operands(n)}
            own = below.pop() if len(below) == 1 else frozenset[Buf]().union(*below)
            contents[n] = (
                own | {n.arg[0]} if n.op is Op.LOAD and n.arg[0] not in self.constant else own
            )
        return contents[root]


def load_level(fn: Function, buf: Buf, varies: bool) -> int:
    """How far out a LOAD may stand: inside every open loop that writes the buffer."""
    regions = fn.writer.regions
    level = next((d for d in range(len(regions) - 1, 0, -1) if buf in regions[d].writes), 0)
    return max(level, fn.scope.lanes.level) if varies and fn.scope.lanes else level


def is_lanewise(fn: Function, buf: Buf) -> bool:
    return fn.scope.lanes is not None and buf in fn.scope.lanes.lanewise


def stride_of(fn: Function, index: Index) -> int | None:
    return fn.scope.lanes.stride(index) if fn.scope.lanes else 0


@dataclass
class Access:
    """One element type, place and condition; `live` None: every lane."""

    fn: Function
    buf: Buf
    index: Index
    group: int
    live: Val | None
    level: int
    some: Val | None = (
        # of lanes that differ, whether any may be live; else a load stays at the buffer's start
        None
    )

    @property
    def elem(self) -> str:
        return memory_type(self.buf.dtype)

    @property
    def align(self) -> int:
        return self.buf.dtype.itemsize

    @property
    def lanes(self) -> int:
        return self.fn.scope.lanes.w if self.fn.scope.lanes else 1

    def ptr(self, shift: int = 0) -> Val:
        """The address in lane 0, or `shift` elements on."""
        return pointer(
            self.fn.scope, self.fn.base[self.buf], self.elem, self.index + shift, self.group
        )

    def zero(self, w: int) -> Val:
        return zero(Val("", self.elem, w))


def to_register(a: Access, v: Val) -> Val:
    """A bool is a byte in memory, an i1 in registers."""
    return a.fn.writer.compare("ne", v, integer(0, 8)) if a.buf.dtype.kind == "b" else v


def to_memory(a: Access, v: Val) -> Val:
    return a.fn.writer.convert("zext", v, "i8") if a.buf.dtype.kind == "b" else v


def load_uniform(a: Access) -> Val:
    """One element for all lanes; where no lane is live the buffer's first element is read instead,
    and dropped."""
    w, ptr = a.fn.writer, a.ptr()
    if a.live is None:
        return w.load(ptr, a.elem, 1, a.align, a.level)
    ptr = w.select(w.any_lane(a.live), ptr, a.fn.base[a.buf])
    value = w.load(ptr, a.elem, 1, a.align, a.level)
    return w.select(a.live, value, a.zero(1))


def load_strided(a: Access, stride: int | None) -> Val:
    w = a.fn.writer
    if stride == 1:
        return load_vector(a, a.ptr())
    if stride == -1:
        backwards = list(reversed(range(a.lanes)))
        live = w.shuffle(w.splat(a.live, a.lanes), backwards) if a.live else None
        return w.shuffle(load_vector(a, a.ptr(1 - a.lanes), live), backwards)
    if stride in APART and stride <= a.lanes and masks_are_cheap(a):
        return _load_apart(a, stride)
    stretch = a.fn.scope.lanes.stretch(a.index) if stride is None and a.fn.scope.lanes else None
    if stretch:
        return _load_stretched(a, stretch)
    return _load_masked(
        a, pointers(a, stride), a.lanes, w.splat(a.live or Val("true", "i1"), a.lanes)
    )


def masks_are_cheap(a: Access) -> bool:
    """Does the target load under a mask of lanes in one instruction, if there is one?

    LLVM 22 for x86 halves a vector that takes two registers, and reads a dead element of the second
    half where few are picked, perhaps beyond the end of memory.
    """
    target, itemsize = a.fn.target, a.buf.dtype.itemsize
    one = a.lanes * itemsize * 8 <= target.vector_bits
    return a.live is None or (
        one and (target.has_avx512 or (target.vector_bits >= 256 and itemsize >= 4))
    )


def _load_apart(a: Access, stride: int) -> Val:
    """A vector of elements a few apart, picked from as many vectors; none reaches past the last
    element."""
    w, n = a.fn.writer, a.lanes
    out: Val | None = None
    for i in range(stride):
        first = i * n if a.live or i < stride - 1 else (stride - 1) * (n - 1)
        part = load_vector(a, a.ptr(first), _live_apart(a, first, stride))
        here = [stride * lane // n == i for lane in range(n)]
        if out is None:
            out = w.shuffle(part, [stride * lane if mine else 0 for lane, mine in enumerate(here)])
        else:
            out = w.shuffle(
                out,
                [n + stride * lane - first if mine else lane for lane, mine in enumerate(here)],
                part,
            )
    assert out is not None
    return out


def _live_apart(a: Access, first: int, stride: int) -> Val | None:
    """The lanes of a vector from element `first` on which hold an element of a live lane."""
    if a.live is None:
        return None
    w, n = a.fn.writer, a.lanes
    source = [(first + lane) // stride if (first + lane) % stride == 0 else n for lane in range(n)]
    return w.shuffle(w.splat(a.live, n), source, w.splat(Val("false", "i1"), n))


def _load_stretched(a: Access, by: int) -> Val:
    """Few consecutive elements, each for several neighbouring lanes."""
    w, few = a.fn.writer, a.lanes // by
    each = [lane // by for lane in range(a.lanes)]
    if a.live is None:
        return w.shuffle(w.load(a.ptr(), a.elem, few, a.align, a.level), each)
    live = w.splat(a.live, a.lanes)
    needed = w.shuffle(live, list(range(0, a.lanes, by)))
    if (
        not needed.literal
    ):  # else of the first lanes: where any of the neighbours lives, the first one does
        for first in range(1, by):
            needed = w.binary("or", needed, w.shuffle(live, list(range(first, a.lanes, by))))
    return w.select(live, w.shuffle(_load_masked(a, a.ptr(), few, needed), each), a.zero(a.lanes))


def load_vector(a: Access, ptr: Val, live: Val | None = None) -> Val:
    """Consecutive elements from ptr on. Where all lanes are dead, the pointer stays inside the
    buffer: see load_uniform."""
    live, w = live or a.live, a.fn.writer
    if live is None or is_lanewise(a.fn, a.buf):
        return w.load(ptr, a.elem, a.lanes, a.align, a.level)
    if live.w == 1:
        ptr = w.select(live, ptr, a.fn.base[a.buf])
    return _load_masked(a, ptr, a.lanes, w.splat(live, a.lanes))


def load_first(a: Access, ptr: Val, count: int) -> Val:
    """A vector of consecutive elements of which so many are there, zeros behind them."""
    if count >= a.lanes:
        return a.fn.writer.load(ptr, a.elem, a.lanes, a.align, a.level)
    return _load_masked(a, ptr, a.lanes, prefix(count, a.lanes))


def _load_masked(a: Access, ptr: Val, lanes: int, mask: Val) -> Val:
    """Elements from a pointer on, or through one for each lane; zeros where the mask does not hold.

    Where none of the lanes is live, the place may be memory that nobody has: the processor then
    takes hundreds of cycles.
    """
    w, full = a.fn.writer, vector_type(a.elem, lanes)
    if a.some is not None and ptr.w == 1:
        ptr = w.select(a.some, ptr, a.fn.base[a.buf])
    what, of = ("gather", f"v{lanes}p0") if ptr.w > 1 else ("load", "p0")
    name, args = (
        f"llvm.masked.{what}.{suffix(a.elem, lanes)}.{of}",
        (ptr, integer(a.align, 32), mask, a.zero(lanes)),
    )
    w.declare(full, name, *(v.full for v in args))
    level = max(a.level, *(v.level for v in args))
    return w.emit(f"call {full} @{name}({', '.join(map(str, args))})", a.elem, lanes, level)


def pointers(a: Access, stride: int | None) -> Val:
    """The address in every lane; offsets are 32-bit where they fit."""
    scope, w = a.fn.scope, a.fn.writer
    if stride is not None:
        return w.offset(
            a.ptr(), a.elem, iota(a.lanes, 32 if abs(stride) < 1 << 24 else 64, step=stride)
        )
    assert scope.lanes is not None
    uniform = Index(
        {t: c for t, c in a.index.terms if scope.lanes.stride(Index({t: 1})) == 0}, a.index.const
    )
    moving = a.index - uniform
    base = pointer(scope, a.fn.base[a.buf], a.elem, uniform, a.group)
    return w.offset(base, a.elem, vector_index(scope, moving, a.group, index_bits(moving)))


def zero(like: Val) -> Val:
    """Zeros of the same type and width."""
    return Val(
        "zeroinitializer" if like.w > 1 else "0" if like.type[0] == "i" else "0.0",
        like.type,
        like.w,
    )


def store_strided(a: Access, value: Val, stride: int | None) -> None:
    w = a.fn.writer
    if stride == 1:
        _store_vector(a, value, a.ptr(), a.live)
    elif stride == -1:
        backwards = list(reversed(range(a.lanes)))
        live = w.shuffle(w.splat(a.live, a.lanes), backwards) if a.live else None
        _store_vector(a, w.shuffle(value, backwards), a.ptr(1 - a.lanes), live)
    elif stride in APART and a.fn.target.has_avx512 and a.elem[0] != "i":
        _store_apart(a, value, stride)
    else:
        store_masked(
            w, value, pointers(a, stride), a.align, w.splat(a.live or Val("true", "i1"), a.lanes)
        )


def _store_apart(a: Access, value: Val, stride: int) -> None:
    """A vector to places a few elements apart: as many masked stores, each of a whole vector,
    instead of one an element."""
    w, n = a.fn.writer, a.lanes
    a.live = w.splat(a.live or Val("true", "i1"), n)
    for first in range(0, stride * n, n):
        spread = w.shuffle(value, [min((first + lane) // stride, n - 1) for lane in range(n)])
        mask = _live_apart(a, first, stride)
        assert mask is not None
        store_masked(w, spread, a.ptr(first), a.align, mask)


def _store_vector(a: Access, value: Val, ptr: Val, live: Val | None) -> None:
    w = a.fn.writer
    if a.buf.space == REG:
        write_slot(a, ptr, value)
    elif live is None and a.buf in a.fn.streamed and _is_whole(a):
        w.store_past_caches(value, ptr, a.lanes * a.align)
    elif live is None:
        w.store(value, ptr, a.align)
    elif (count := first_lanes(live, a.lanes)) is not None:
        store_first(a, ptr, value, count)
    else:
        store_masked(w, value, ptr, a.align, w.splat(live, a.lanes))


def store_first(a: Access, ptr: Val, value: Val, count: int) -> None:
    """The first lanes of a vector to consecutive places: under a mask where that is one fast
    instruction, else in powers of two.

    A mask of one lane must be avoided: LLVM 22 for x86 (issue 179489, fixed after it) writes the
    lane before its truncation, over its neighbours, where the value was just truncated.
    """
    w, count, done = a.fn.writer, min(count, value.w), 0
    if 1 < count < value.w and a.fn.target.has_avx512:
        store_masked(w, value, ptr, a.align, prefix(count, value.w))
        return
    while done < count:
        size = 1 << ((count - done).bit_length() - 1)
        piece = w.extract(value, integer(done)) if size == 1 else w.slice(value, done, size)
        w.store(piece, w.offset(ptr, a.elem, integer(done)), a.align)
        done += size


def _is_whole(a: Access) -> bool:
    """Does a vector along the lanes begin at a multiple of its size, if the buffer does? The lane
    variable always does."""
    assert a.fn.scope.lanes is not None
    others = [c for t, c in a.index.terms if t is not a.fn.scope.lanes.var]
    return all(c % a.lanes == 0 for c in [*others, a.index.const])


def first_lanes(live: Val | None, w: int) -> int | None:
    """How many lanes are live, if that is known and they are the first ones."""
    values = ["true"] * w if live is None else lanes_of(live) or []
    count = values.count("true")
    return count if values == ["true"] * count + ["false"] * (w - count) else None


def write_slot(a: Access, ptr: Val, value: Val) -> None:
    """Into registers: dead lanes keep what they had."""
    w = a.fn.writer
    if a.live is not None:
        value = w.select(a.live, value, w.load(ptr, a.elem, a.lanes, a.align, w.depth))
    w.store(value, ptr, a.align)


def store_masked(w: Writer, value: Val, ptr: Val, align: int, mask: Val) -> None:
    """From a pointer on, or through one for each lane, where the mask holds."""
    what, of = ("scatter", f"v{value.w}p0") if ptr.w > 1 else ("store", "p0")
    call_void(
        w,
        f"llvm.masked.{what}.{suffix(value.type, value.w)}.{of}",
        value,
        ptr,
        integer(align, 32),
        mask,
    )


def call_void(w: Writer, name: str, *args: Val) -> None:
    w.declare("void", name, *(v.full for v in args))
    w.line(f"call void @{name}({', '.join(map(str, args))})")
