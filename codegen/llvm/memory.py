"""Loads, stores and accumulation. In: a buffer, an Index, a mask, a group of lanes. Out: the instructions that fit the access.

By stride from lane to lane: 0 a scalar access, 1 a vector, -1 a reversed vector, 2 two vectors, 2 to 4 masked stores
where masks are registers, else gather and scatter. REG and SCRATCH buffers are arrays on the stack, which SROA turns
into registers where all offsets are constant. Three kinds of REG accumulator: an array (the lane variable is in the
index), one slot a lane (allocated inside the LANES loop), and partial sums (allocated outside), which `settle` adds up
before a LOAD.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.graph import Node, Op
from ...ir.index import Index, Mask
from ...ir.loop import GLOBAL, REG, Alloc, Buf
from ...ir.loop_walk import operands
from ..target import Target
from .combine import across_lanes, combined, identity, totals
from .lanes import Scope, active, both, index_bits, mask_value, pointer, tail_of, vector_index
from .plan import Plan
from .writer import Val, Writer, const_text, elem_type, integer, iota, memory_type, suffix, vector_literal, vector_type

APART = (2, 3, 4)  # strides for which whole vectors are faster than an element at a time
PADDING = 64  # elements behind a private array, so that a full vector may be read at its end
Update = Callable[[Val], Val]


@dataclass
class Partials:
    """Accumulators of one REG buffer under LANES loops of one width: `groups` vectors an element."""

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
    base: dict[Buf, Val] = field(default_factory=dict)
    partials: dict[Buf, list[Partials]] = field(default_factory=dict)
    unsettled: dict[Buf, None] = field(default_factory=dict)  # partial sums not yet added up
    contents: dict[Node, frozenset[Buf]] = field(default_factory=dict)

    def buffers_of(self, root: Node) -> frozenset[Buf]:
        """Every buffer whose contents a Node depends on."""
        contents = self.contents
        stack = [] if root in contents else [root]
        while stack:
            n = stack[-1]
            inside = operands(n)
            missing = [o for o in inside if o not in contents]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            below = {contents[o] for o in inside}
            own = below.pop() if len(below) == 1 else frozenset[Buf]().union(*below)
            contents[n] = own | {n.arg[0]} if n.op is Op.LOAD else own
        return contents[root]


def _load_level(fn: Function, buf: Buf, varies: bool) -> int:
    """How far out a LOAD may stand: inside every open loop that writes the buffer."""
    regions = fn.writer.regions
    level = next((d for d in range(len(regions) - 1, 0, -1) if buf in regions[d].writes), 0)
    return max(level, fn.scope.lanes.level) if varies and fn.scope.lanes else level


def _is_lanewise(fn: Function, buf: Buf) -> bool:
    return fn.scope.lanes is not None and buf in fn.scope.lanes.lanewise


def _stride(fn: Function, index: Index) -> int | None:
    return fn.scope.lanes.stride(index) if fn.scope.lanes else 0


# ---------------------------------------------------------------- loads


@dataclass
class Access:
    """One element type, place and condition; `live` None: every lane."""

    fn: Function
    buf: Buf
    index: Index
    group: int
    live: Val | None
    level: int

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
        return pointer(self.fn.scope, self.fn.base[self.buf], self.elem, self.index + shift, self.group)

    def zero(self, w: int) -> Val:
        return zero(Val("", self.elem, w))


def load(fn: Function, n: Node, group: int) -> Val:
    """The value of a LOAD: 0 where its mask does not hold."""
    buf, index, mask = n.arg
    varies = fn.scope.lanes is not None and fn.scope.lanes.varying(n)
    a = Access(fn, buf, index, group, mask_value(fn.scope, mask, group), _load_level(fn, buf, varies))
    if _is_lanewise(fn, buf):
        raw = _load_vector(a, _slot(fn, buf, index, group))
        return _to_register(a, raw if a.live is None else fn.writer.select(a.live, raw, a.zero(1)))
    stride = _stride(fn, index)
    if stride == 0:
        return _to_register(a, _load_uniform(a))
    if buf.space == GLOBAL:
        a.live = both(fn.writer, a.live, tail_of(fn.scope, group))
    return _to_register(a, _load_strided(a, stride))


def _to_register(a: Access, v: Val) -> Val:
    """A bool is a byte in memory, an i1 in registers."""
    return a.fn.writer.compare("ne", v, integer(0, 8)) if a.buf.dtype.kind == "b" else v


def _to_memory(a: Access, v: Val) -> Val:
    return a.fn.writer.convert("zext", v, "i8") if a.buf.dtype.kind == "b" else v


def _load_uniform(a: Access) -> Val:
    """One element for all lanes; where no lane is live the buffer's first element is read instead, and dropped."""
    w, ptr = a.fn.writer, a.ptr()
    if a.live is None:
        return w.load(ptr, a.elem, 1, a.align, a.level)
    ptr = w.select(w.any_lane(a.live), ptr, a.fn.base[a.buf])
    value = w.load(ptr, a.elem, 1, a.align, a.level)
    return w.select(a.live, value, a.zero(1))


def _load_strided(a: Access, stride: int | None) -> Val:
    w = a.fn.writer
    if stride == 1:
        return _load_vector(a, a.ptr())
    if stride == -1:
        backwards = list(reversed(range(a.lanes)))
        live = w.shuffle(w.splat(a.live, a.lanes), backwards) if a.live else None
        return w.shuffle(_load_vector(a, a.ptr(1 - a.lanes), live), backwards)
    if stride in APART and stride <= a.lanes and _masks_are_cheap(a):
        return _load_apart(a, stride)
    stretch = a.fn.scope.lanes.stretch(a.index) if stride is None and a.fn.scope.lanes else None
    return _load_stretched(a, stretch) if stretch else _gather(a, _pointers(a, stride))


def _masks_are_cheap(a: Access) -> bool:
    """Does the target load under a mask of lanes in one instruction, if there is one?"""
    wide = a.fn.target.vector_bits >= 256 and a.buf.dtype.itemsize >= 4
    return a.live is None or a.fn.target.has_avx512 or wide


def _load_apart(a: Access, stride: int) -> Val:
    """A vector of elements a few apart, picked from as many vectors; none reaches behind the last element."""
    w, n = a.fn.writer, a.lanes
    out: Val | None = None
    for i in range(stride):
        first = i * n if a.live or i < stride - 1 else (stride - 1) * (n - 1)
        found = _load_vector(a, a.ptr(first), _live_apart(a, first, stride))
        here = [stride * lane // n == i for lane in range(n)]
        if out is None:
            out = w.shuffle(found, [stride * lane if mine else 0 for lane, mine in enumerate(here)])
        else:
            out = w.shuffle(out, [n + stride * lane - first if mine else lane for lane, mine in enumerate(here)], found)
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
    for first in range(1, by):
        needed = w.binary("or", needed, w.shuffle(live, list(range(first, a.lanes, by))))
    found = _masked(a, "load", few, f"{suffix(a.elem, few)}.p0", a.ptr(), integer(a.align, 32), needed, a.zero(few))
    return w.select(live, w.shuffle(found, each), a.zero(a.lanes))


def _load_vector(a: Access, ptr: Val, live: Val | None = None) -> Val:
    """Consecutive elements from ptr on."""
    live = live or a.live
    if live is None or _is_lanewise(a.fn, a.buf):
        return a.fn.writer.load(ptr, a.elem, a.lanes, a.align, a.level)
    mask = a.fn.writer.splat(live, a.lanes)
    return _masked(a, "load", a.lanes, f"{suffix(a.elem, a.lanes)}.p0", ptr, integer(a.align, 32), mask, a.zero(a.lanes))


def _gather(a: Access, ptrs: Val) -> Val:
    mask = a.fn.writer.splat(a.live or Val("true", "i1"), a.lanes)
    name = f"{suffix(a.elem, a.lanes)}.v{a.lanes}p0"
    return _masked(a, "gather", a.lanes, name, ptrs, integer(a.align, 32), mask, a.zero(a.lanes))


def _masked(a: Access, what: str, lanes: int, name: str, *args: Val) -> Val:
    w, full = a.fn.writer, vector_type(a.elem, lanes)
    w.declare(full, f"llvm.masked.{what}.{name}", *(v.full for v in args))
    level = max(a.level, *(v.level for v in args))
    return w.emit(f"call {full} @llvm.masked.{what}.{name}({', '.join(map(str, args))})", a.elem, lanes, level)


def _pointers(a: Access, stride: int | None) -> Val:
    """The address in every lane; offsets are 32-bit where they fit."""
    scope, w = a.fn.scope, a.fn.writer
    if stride is not None:
        return w.offset(a.ptr(), a.elem, iota(a.lanes, 32 if abs(stride) < 1 << 24 else 64, step=stride))
    assert scope.lanes is not None
    uniform = Index({t: c for t, c in a.index.terms if scope.lanes.stride(Index({t: 1})) == 0}, a.index.const)
    moving = a.index - uniform
    base = pointer(scope, a.fn.base[a.buf], a.elem, uniform, a.group)
    return w.offset(base, a.elem, vector_index(scope, moving, a.group, index_bits(moving)))


# ---------------------------------------------------------------- stores


def _live(fn: Function, buf: Buf, mask: Mask, group: int, harmless: bool = False) -> Val | None:
    """The lanes that are written: those behind the loop's end too where nothing looks at them or it changes nothing."""
    use = fn.plan.uses.get(buf)
    unseen = buf.space == REG and (harmless or (use is not None and use.padded))
    return mask_value(fn.scope, mask, group) if unseen or _is_lanewise(fn, buf) else active(fn.scope, mask, group)


def store(fn: Function, buf: Buf, index: Index, mask: Mask, value: Val, group: int) -> None:
    """buf[index] = value in every live lane."""
    a = Access(fn, buf, index, group, _live(fn, buf, mask, group), 0)
    fn.writer.forget(buf)
    if _is_lanewise(fn, buf):
        _write_slot(a, _slot(fn, buf, index, group), _to_memory(a, fn.writer.splat(value, a.lanes)))
    elif fn.scope.lanes is None:
        with fn.writer.when(a.live):
            fn.writer.store(_to_memory(a, value), a.ptr(), a.align)
    else:
        _store_strided(a, _to_memory(a, fn.writer.splat(value, a.lanes)), _stride(fn, index))


def store_first(fn: Function, buf: Buf, index: Index, value: Val, count: int) -> None:
    """The first lanes of a vector to consecutive places, outside of LANES loops."""
    w, elem = fn.writer, memory_type(buf.dtype)
    w.forget(buf)
    stored, ptr = Access(fn, buf, index, 0, None, 0), pointer(fn.scope, fn.base[buf], elem, index, 0)
    raw = _to_memory(stored, value)
    if count == value.w:
        w.store(raw, ptr, buf.dtype.itemsize)
        return
    mask = vector_literal("i1", (str(lane < count).lower() for lane in range(value.w)))
    name = f"llvm.masked.store.{suffix(elem, value.w)}.p0"
    _call_void(w, name, raw, ptr, integer(buf.dtype.itemsize, 32), mask)


def zero(like: Val) -> Val:
    """Zeros of the same type and width."""
    return Val("zeroinitializer" if like.w > 1 else "0" if like.type[0] == "i" else "0.0", like.type, like.w)


def _store_strided(a: Access, value: Val, stride: int | None) -> None:
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
        _scatter(a, value, _pointers(a, stride))


def _store_apart(a: Access, value: Val, stride: int) -> None:
    """A vector to places a few elements apart: as many masked stores, each of a whole vector, instead of one an element."""
    w, n = a.fn.writer, a.lanes
    a.live = w.splat(a.live or Val("true", "i1"), n)
    for first in range(0, stride * n, n):
        spread = w.shuffle(value, [min((first + lane) // stride, n - 1) for lane in range(n)])
        mask = _live_apart(a, first, stride)
        assert mask is not None
        name = f"llvm.masked.store.{suffix(a.elem, n)}.p0"
        _call_void(w, name, spread, a.ptr(first), integer(a.align, 32), mask)


def _store_vector(a: Access, value: Val, ptr: Val, live: Val | None) -> None:
    w = a.fn.writer
    if a.buf.space == REG:
        _write_slot(a, ptr, value)
    elif live is None:
        w.store(value, ptr, a.align)
    elif _is_first_lane(live):
        w.store(w.extract(value, integer(0)), ptr, a.align)
    else:
        name = f"llvm.masked.store.{suffix(a.elem, a.lanes)}.p0"
        _call_void(w, name, value, ptr, integer(a.align, 32), w.splat(live, a.lanes))


def _is_first_lane(live: Val) -> bool:
    """Whether a mask is known to hold in lane 0 alone. A masked store under it must be avoided, too: LLVM 22 for x86 (issue
    179489, fixed after it) writes the lane before its truncation, over its neighbours, where the value was just truncated.
    """
    return live.text.startswith("<i1 true") and live.text.count("true") == 1


def _write_slot(a: Access, ptr: Val, value: Val) -> None:
    """Into registers: dead lanes keep what they had."""
    w = a.fn.writer
    if a.live is not None:
        value = w.select(a.live, value, w.load(ptr, a.elem, a.lanes, a.align, w.depth))
    w.store(value, ptr, a.align)


def _scatter(a: Access, value: Val, ptrs: Val) -> None:
    w = a.fn.writer
    mask = w.splat(a.live or Val("true", "i1"), a.lanes)
    _call_void(w, f"llvm.masked.scatter.{suffix(a.elem, a.lanes)}.v{a.lanes}p0", value, ptrs, integer(a.align, 32), mask)


def _call_void(w: Writer, name: str, *args: Val) -> None:
    w.declare("void", name, *(v.full for v in args))
    w.line(f"call void @{name}({', '.join(map(str, args))})")


# ---------------------------------------------------------------- accumulation


def reduce(
    fn: Function, buf: Buf, index: Index, op: str, mask: Mask, value: Val, update: Update, group: int, harmless: bool = False
) -> None:
    """buf[index] = update(buf[index]) in every live lane; `value` alone where lanes must be combined first.

    `harmless`: the update changes nothing in lanes behind the loop's end.
    """
    a = Access(fn, buf, index, group, _live(fn, buf, mask, group, harmless), fn.writer.depth)
    fn.writer.forget(buf)
    if fn.scope.lanes is None:
        _update_scalar(a, update)
    elif _is_lanewise(fn, buf):
        _update_slot(a, _slot(fn, buf, index, group), update)
    elif _stride(fn, index) == 0:
        _update_uniform(a, op, value, update)
    elif _stride(fn, index) is None:
        _update_lane_by_lane(a, op, value)
    else:
        _update_strided(a, update)


def _update_slot(a: Access, ptr: Val, update: Update) -> None:
    old = a.fn.writer.load(ptr, a.elem, a.lanes, a.align, a.level)
    _write_slot(a, ptr, _to_memory(a, update(_to_register(a, old))))


def _update_scalar(a: Access, update: Update) -> None:
    w = a.fn.writer
    with w.when(a.live):
        old = w.load(a.ptr(), a.elem, 1, a.align, w.depth)
        w.store(_to_memory(a, update(_to_register(a, old))), a.ptr(), a.align)


def _update_uniform(a: Access, op: str, value: Val, update: Update) -> None:
    """All lanes into one element: partial sums for registers, else combined at once."""
    if a.buf.space == REG:
        part = next(p for p in a.fn.partials[a.buf] if p.w == a.lanes)
        _update_slot(a, _partial_slot(a, part), update)
        a.fn.unsettled[a.buf] = None
        return
    w, dtype = a.fn.writer, a.buf.dtype
    value = w.splat(value, a.lanes)
    if a.live is not None:
        value = w.select(a.live, value, identity(op, dtype))
    total = across_lanes(w, op, dtype, value)
    old = _to_register(a, w.load(a.ptr(), a.elem, 1, a.align, a.level))
    w.store(_to_memory(a, combined(w, op, dtype, old, total)), a.ptr(), a.align)


def _update_strided(a: Access, update: Update) -> None:
    stride = _stride(a.fn, a.index)
    if a.buf.space == REG and stride == 1:
        _update_slot(a, a.ptr(), update)
        return
    old = _to_register(a, _load_strided(a, stride))
    _store_strided(a, _to_memory(a, update(old)), stride)


def _update_lane_by_lane(a: Access, op: str, value: Val) -> None:
    """Two lanes may meet in one element: one after the other."""
    w, dtype = a.fn.writer, a.buf.dtype
    value, ptrs = w.splat(value, a.lanes), _pointers(a, None)
    for lane in range(a.lanes):
        live = w.extract(w.splat(a.live, a.lanes), integer(lane)) if a.live else None
        with w.when(live):
            ptr = w.extract(ptrs, integer(lane))
            old = _to_register(a, w.load(ptr, a.elem, 1, a.align, w.depth))
            w.store(_to_memory(a, combined(w, op, dtype, old, w.extract(value, integer(lane)))), ptr, a.align)


# ---------------------------------------------------------------- private buffers


def allocate(fn: Function, s: Alloc) -> None:
    """Memory for a private buffer, and its initial contents."""
    if s.buf not in fn.base:
        _reserve(fn, s.buf)
    fn.writer.forget(s.buf)
    for part in fn.partials.get(s.buf, ()):
        _clear_partials(fn, s.buf, part)
    fn.unsettled.pop(s.buf, None)
    if s.init is not None:
        _fill(fn, s.buf, Val(const_text(s.init, s.buf.dtype), elem_type(s.buf.dtype)))


def _reserve(fn: Function, buf: Buf) -> None:
    elem, use = memory_type(buf.dtype), fn.plan.uses.get(buf)
    lanes = fn.scope.lanes
    copies = lanes.w * fn.plan.groups[lanes.var] if lanes else 1
    fn.base[buf] = fn.writer.alloca(elem, buf.size * copies if lanes else buf.size + PADDING)
    if use and not lanes:
        widths = use.partials.items()
        fn.partials[buf] = [Partials(w, g, use.op, fn.writer.alloca(elem, buf.size * g * w)) for w, g in widths]


def _slot(fn: Function, buf: Buf, index: Index, group: int) -> Val:
    """Where one group of a lane-wise accumulator is."""
    assert fn.scope.lanes is not None
    w, groups = fn.scope.lanes.w, fn.plan.groups[fn.scope.lanes.var]
    return pointer(fn.scope, fn.base[buf], memory_type(buf.dtype), index * (w * groups) + group * w, group)


def _partial_slot(a: Access, part: Partials) -> Val:
    index = a.index * (part.w * part.groups) + a.group * part.w
    return pointer(a.fn.scope, part.base, a.elem, index, a.group)


def _fill(fn: Function, buf: Buf, value: Val) -> None:
    """Every element becomes `value`, by vectors as wide as later accesses, so that SROA sees one slicing."""
    if fn.scope.lanes:
        w, count = fn.scope.lanes.w, buf.size * fn.plan.groups[fn.scope.lanes.var]
    else:
        w = fn.plan.slice_width(buf, fn.target)
        count = -(-buf.size // w)
    _fill_vectors(fn, buf, fn.base[buf], fn.writer.splat(value, w), count)


def _fill_vectors(fn: Function, buf: Buf, base: Val, value: Val, count: int) -> None:
    w, elem, align = fn.writer, memory_type(buf.dtype), buf.dtype.itemsize
    stored = Access(fn, buf, Index(), 0, None, 0)
    if buf.space == REG or count <= 16:
        for start in range(0, count * value.w, value.w):
            w.store(_to_memory(stored, value), w.offset(base, elem, integer(start)), align)
        return
    with w.counted(integer(0), integer(count * value.w), value.w, [buf]) as i:
        w.store(_to_memory(stored, value), w.offset(base, elem, i), align)


def _clear_partials(fn: Function, buf: Buf, part: Partials) -> None:
    neutral = fn.writer.splat(identity(part.op, buf.dtype), part.w)
    _fill_vectors(fn, buf, part.base, neutral, buf.size * part.groups)


def settle(fn: Function, buf: Buf) -> None:
    """Adds the partial sums of every element to it, groups first, then lanes; and starts afresh."""
    w, elem = fn.writer, memory_type(buf.dtype)
    a = Access(fn, buf, Index(), 0, None, w.depth)
    w.forget(buf)
    for part in fn.partials[buf]:
        sums = [_sum_of_groups(a, part, element) for element in range(buf.size)]
        for element, total in enumerate(totals(w, part.op, buf.dtype, sums)):
            ptr = w.offset(fn.base[buf], elem, integer(element))
            old = _to_register(a, w.load(ptr, elem, 1, a.align, w.depth))
            w.store(_to_memory(a, combined(w, part.op, buf.dtype, old, total)), ptr, a.align)
        _clear_partials(fn, buf, part)
    fn.unsettled.pop(buf, None)


def _sum_of_groups(a: Access, part: Partials, element: int) -> Val:
    """Pairs of groups, then pairs of pairs."""
    w = a.fn.writer
    sums = []
    for group in range(part.groups):
        ptr = w.offset(part.base, a.elem, integer((element * part.groups + group) * part.w))
        sums.append(_to_register(a, w.load(ptr, a.elem, part.w, a.align, w.depth)))
    while len(sums) > 1:
        pairs = [combined(w, part.op, a.buf.dtype, x, y) for x, y in zip(sums[::2], sums[1::2], strict=False)]
        sums = pairs + (sums[-1:] if len(sums) % 2 else [])
    return sums[0]
