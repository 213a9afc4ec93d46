"""Loads, stores and accumulation. In: a buffer, an Index, a mask, a group of lanes. Out: the
instructions that fit the access.

REG and SCRATCH buffers are arrays on the stack, which SROA turns into registers where all offsets
are constant. Three kinds of REG accumulator: an array (the lane variable is in the index), one slot
a lane (allocated inside the LANES loop), and partial sums (allocated outside), which
`combine_partials` adds up before a LOAD.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Mask
from ...ir.loops.loop import GLOBAL, REG, Alloc, Buf, Prefetch, Reduce, Stmt, Store
from ...ir.loops.walk import part_of
from ...ir.symbolic.integer import Symbolic
from .access import (
    Access,
    Function,
    Partials,
    call_void,
    is_lanewise,
    load_level,
    load_strided,
    load_uniform,
    load_vector,
    pointers,
    store_first,
    store_strided,
    stride_of,
    to_memory,
    to_register,
    write_slot,
)
from .combine import across_lanes, combined, identity, totals
from .lanes import active, any_live, both, far_ranges, mask_value, pointer, tail_of
from .rows_apart import load_apart, row_apart
from .short_rows import load_column, row_of
from .values import Val, const_text, elem_type, integer, memory_type

LINE = 64  # bytes of a cache line
MOST_STORES = 16  # of a fill without a loop
PADDING = 64  # elements after a private array, so that a full vector may be read at its end


class Update(Protocol):
    """What an element becomes; that of one lane, where they come one after the other."""

    def __call__(self, old: Val, lane: int | None = None) -> Val: ...


# ---------------------------------------------------------------- loads


def load(fn: Function, n: Node, group: int) -> Val:
    """The value of a LOAD: 0 where its mask does not hold."""
    buf, index, mask = n.arg
    varies = fn.scope.lanes is not None and fn.scope.lanes.varying(n)
    a = Access(
        fn, buf, index, group, mask_value(fn.scope, mask, group), load_level(fn, buf, varies)
    )
    if is_lanewise(fn, buf):
        raw = load_vector(a, _slot(fn, buf, index, group))
        return to_register(a, raw if a.live is None else fn.writer.select(a.live, raw, a.zero(1)))
    stride = stride_of(fn, index)
    # The mask may hold only past the end, and so may all lanes of a vector behind the first one.
    if buf.space == GLOBAL and (
        stride != 0 or (a.live is not None and a.live.w > 1) or _moves(fn, index, group)
    ):
        a.live = both(fn.writer, a.live, tail_of(fn.scope, group))
    if stride == 0:
        return to_register(a, load_uniform(a))
    if buf.space == GLOBAL and a.live is not None and a.live.w > 1:
        a.some = any_live(fn.scope, far_ranges(mask, index), group)
    apart = row_apart(a) if stride and fn.plan.apart else None
    if apart is not None:
        return to_register(a, load_apart(a, *apart, stride or 1))
    first = row_of(a) if stride and fn.plan.rows else None
    return to_register(
        a, load_strided(a, stride) if first is None else load_column(a, first, stride or 1)
    )


def _moves(fn: Function, index: Index, group: int) -> bool:
    """Is an element that all lanes of a vector read another one than those of the first vector?"""
    return group > 0 and fn.scope.lanes is not None and fn.scope.lanes.var in index.vars()


def prefetch(fn: Function, s: Prefetch, groups: range) -> None:
    """Asks once for every cache line that the lanes read, past the loop's end too; of lanes apart,
    for the first lane's."""
    lanes = fn.scope.lanes
    count = lanes.w * len(groups) if lanes and stride_of(fn, s.index) == 1 else 1
    for first in range(0, count, LINE // s.buf.dtype.itemsize):
        ptr = pointer(fn.scope, fn.base[s.buf], memory_type(s.buf.dtype), s.index + first, 0)
        call_void(
            fn.writer,
            "llvm.prefetch.p0",
            ptr,
            integer(0, 32),
            integer(4 - s.cache, 32),
            integer(1, 32),
        )


# ---------------------------------------------------------------- stores


def _live(fn: Function, buf: Buf, mask: Mask, group: int, harmless: bool = False) -> Val | None:
    """The lanes that are written: those past the loop's end too where nothing looks at them or it
    changes nothing."""
    use = fn.plan.uses.get(buf)
    unseen = (harmless and buf.space == REG) or (use is not None and use.padded)
    return (
        mask_value(fn.scope, mask, group)
        if unseen or is_lanewise(fn, buf)
        else active(fn.scope, mask, group)
    )


def store(fn: Function, s: Store, value: Val, group: int) -> None:
    """The value to every live lane."""
    a = Access(fn, s.buf, s.index, group, _live(fn, s.buf, s.mask, group), 0)
    fn.writer.forget(s.buf)
    if is_lanewise(fn, s.buf):
        write_slot(
            a, _slot(fn, s.buf, s.index, group), to_memory(a, fn.writer.splat(value, a.lanes))
        )
    elif fn.scope.lanes is None:
        with fn.writer.when(a.live):
            fn.writer.store(to_memory(a, value), a.ptr(), a.align)
    else:
        store_strided(a, to_memory(a, fn.writer.splat(value, a.lanes)), stride_of(fn, s.index))


def store_line(fn: Function, buf: Buf, index: Index, value: Val, count: int) -> None:
    """The first lanes of a vector to consecutive places, outside of LANES loops."""
    fn.writer.forget(buf)
    a = Access(fn, buf, index, 0, None, 0)
    store_first(a, a.ptr(), to_memory(a, value), count)


# ---------------------------------------------------------------- accumulation


def reduce(
    fn: Function, s: Reduce, value: Val, update: Update, group: int, harmless: bool = False
) -> None:
    """buf[index] = update(buf[index]) in every live lane; `value` alone where lanes must be
    combined first.

    `harmless`: the update changes nothing in lanes past the loop's end.
    """
    a = Access(
        fn, s.buf, s.index, group, _live(fn, s.buf, s.mask, group, harmless), fn.writer.depth
    )
    fn.writer.forget(s.buf)
    if fn.scope.lanes is None:
        _update_scalar(a, update)
    elif is_lanewise(fn, s.buf):
        _update_slot(a, _slot(fn, s.buf, s.index, group), update)
    elif stride_of(fn, s.index) == 0:
        _update_uniform(a, s.op, value, update)
    elif stride_of(fn, s.index) is None:
        _update_lane_by_lane(a, update)
    else:
        _update_strided(a, update)


def _update_slot(a: Access, ptr: Val, update: Update) -> None:
    old = a.fn.writer.load(ptr, a.elem, a.lanes, a.align, a.level)
    write_slot(a, ptr, to_memory(a, update(to_register(a, old))))


def _update_scalar(a: Access, update: Update) -> None:
    w = a.fn.writer
    with w.when(a.live):
        old = w.load(a.ptr(), a.elem, 1, a.align, w.depth)
        w.store(to_memory(a, update(to_register(a, old))), a.ptr(), a.align)


def _update_uniform(a: Access, op: str, value: Val, update: Update) -> None:
    """All lanes into one element: partial sums for registers, else combined at once."""
    if a.buf.space == REG:
        part = next(p for p in a.fn.partials[a.buf] if p.w == a.lanes)
        _update_partial(a, part, update)
        a.fn.uncombined[a.buf] = None
        return
    w, dtype = a.fn.writer, a.buf.dtype
    value = w.splat(value, a.lanes)
    if a.live is not None:
        value = w.select(a.live, value, identity(op, dtype))
    total = across_lanes(w, op, dtype, value)
    old = to_register(a, w.load(a.ptr(), a.elem, 1, a.align, a.level))
    w.store(to_memory(a, combined(w, op, dtype, old, total)), a.ptr(), a.align)


def _update_partial(a: Access, part: Partials, update: Update) -> None:
    """The partial sum of a vector. Where only a run tells which one that is, each of those that it
    may be becomes what it was or its update: so all stay in registers."""
    w, lanes = a.fn.writer, a.fn.scope.lanes
    assert lanes is not None
    if isinstance(lanes.first, int):
        slot = (lanes.first // part.w + a.group) % part.groups
        _update_slot(a, _partial_slot(a, part, slot), update)
        return
    first = w.splat(w.convert("trunc", lanes.first, "i32"), a.lanes)
    for slot in range(a.group, part.groups, len(lanes.tails)):
        here = w.compare("eq", first, integer((slot - a.group) * part.w, 32))
        of_slot = replace(a, live=both(w, a.live, here))
        _update_slot(of_slot, _partial_slot(a, part, slot), update)


def _update_strided(a: Access, update: Update) -> None:
    stride = stride_of(a.fn, a.index)
    if a.buf.space == REG and stride == 1:
        _update_slot(a, a.ptr(), update)
        return
    old = to_register(a, load_strided(a, stride))
    store_strided(a, to_memory(a, update(old)), stride)


def _update_lane_by_lane(a: Access, update: Update) -> None:
    """Two lanes may meet in one element: one after the other."""
    w, ptrs = a.fn.writer, pointers(a, None)
    for lane in range(a.lanes):
        live = of_lane(a.fn, a.live, lane) if a.live else None
        with w.when(live):
            ptr = w.extract(ptrs, integer(lane))
            old = to_register(a, w.load(ptr, a.elem, 1, a.align, w.depth))
            w.store(to_memory(a, update(old, lane)), ptr, a.align)


def of_lane(fn: Function, value: Val, lane: int) -> Val:
    """What a value is in one lane."""
    assert fn.scope.lanes is not None
    return fn.writer.extract(fn.writer.splat(value, fn.scope.lanes.w), integer(lane))


# ---------------------------------------------------------------- private buffers


def allocate(fn: Function, s: Alloc) -> None:
    """Memory for a private buffer, and its initial contents."""
    if s.buf not in fn.base:
        _reserve(fn, s.buf)
    fn.writer.forget(s.buf)
    for part in fn.partials.get(s.buf, ()):
        _clear_partials(fn, s.buf, part)
    fn.uncombined.pop(s.buf, None)
    if s.init is not None:
        _fill(fn, s.buf, Val(const_text(s.init, s.buf.dtype), elem_type(s.buf.dtype)))


def _reserve(fn: Function, buf: Buf) -> None:
    elem, use = memory_type(buf.dtype), fn.plan.uses.get(buf)
    lanes = fn.scope.lanes
    copies = lanes.w * fn.plan.groups[lanes.var] if lanes else 1
    name = fn.names.name(buf)
    fn.base[buf] = fn.writer.alloca(elem, buf.size * copies if lanes else buf.size + PADDING, name)
    if use and not lanes:
        widths = use.partials.items()
        fn.partials[buf] = [
            Partials(w, g, use.op, fn.writer.alloca(elem, buf.size * g * w, f"{name}.parts"))
            for w, g in widths
        ]


def _slot(fn: Function, buf: Buf, index: Index, group: int) -> Val:
    """Where one group of a lane-wise accumulator is."""
    assert fn.scope.lanes is not None
    w, groups = fn.scope.lanes.w, fn.plan.groups[fn.scope.lanes.var]
    return pointer(
        fn.scope, fn.base[buf], memory_type(buf.dtype), index * (w * groups) + group * w, group
    )


def _partial_slot(a: Access, part: Partials, slot: int) -> Val:
    index = (a.index * part.groups + slot) * part.w
    return pointer(a.fn.scope, part.base, a.elem, index, a.group)


def _fill(fn: Function, buf: Buf, value: Val) -> None:
    """Every element becomes `value`, by vectors as wide as later accesses, so that SROA sees one
    slicing."""
    if fn.scope.lanes:
        w = fn.scope.lanes.w
        size = buf.size * fn.plan.groups[fn.scope.lanes.var] * w
    else:
        w = fn.plan.slice_width(buf, fn.target)
        size = buf.size
    _fill_vectors(fn, buf, fn.base[buf], fn.writer.splat(value, w), size)


def _fill_vectors(fn: Function, buf: Buf, base: Val, value: Val, size: int) -> None:
    """So many elements, and what is behind them in the last vector."""
    w, elem, align = fn.writer, memory_type(buf.dtype), buf.dtype.itemsize
    stored = Access(fn, buf, Index(), 0, None, 0)
    known = not isinstance(size, Symbolic)
    if known and (buf.space == REG or size <= MOST_STORES * value.w):
        for start in range(0, size, value.w):
            w.store(to_memory(stored, value), w.offset(base, elem, integer(start)), align)
        return
    end = -(-size // value.w) * value.w if known else size
    with w.counted(integer(0), w.number(end), value.w, [buf], f"{fn.names.name(buf)}.fill") as i:
        w.store(to_memory(stored, value), w.offset(base, elem, i), align)


def _clear_partials(fn: Function, buf: Buf, part: Partials) -> None:
    neutral = fn.writer.splat(identity(part.op, buf.dtype), part.w)
    _fill_vectors(fn, buf, part.base, neutral, buf.size * part.groups * part.w)


def combine_partials(fn: Function, buf: Buf) -> None:
    """Adds the partial sums of every element to it, groups first, then lanes; and starts afresh."""
    w, elem = fn.writer, memory_type(buf.dtype)
    a = Access(fn, buf, Index(), 0, None, w.depth)
    w.forget(buf)
    for part in fn.partials[buf]:
        sums = [_sum_of_groups(a, part, element) for element in range(buf.size)]
        for element, total in enumerate(totals(w, part.op, buf.dtype, sums)):
            ptr = w.offset(fn.base[buf], elem, integer(element))
            old = to_register(a, w.load(ptr, elem, 1, a.align, w.depth))
            w.store(to_memory(a, combined(w, part.op, buf.dtype, old, total)), ptr, a.align)
        _clear_partials(fn, buf, part)
    fn.uncombined.pop(buf, None)


def hands_over(fn: Function, s: Stmt) -> bool:
    """Does it add partial sums to another accumulator, whose own stay apart?"""
    part = part_of(s)
    return part in fn.uncombined and bool(fn.partials[part]) and fn.scope.lanes is None


def hand_over(fn: Function, s: Reduce) -> None:
    """Adds each vector of partial sums to that of the other accumulator, and what is settled to
    what is."""
    part, w = s.value.arg[0], fn.writer
    a = Access(fn, s.buf, Index(), 0, None, w.depth)
    for buf in (s.buf, part):
        w.forget(buf)
    _add_elements(a, s.op, fn.base[s.buf], fn.base[part], 1, 1)
    for held in fn.partials[part]:
        into = next(p for p in fn.partials[s.buf] if p.w == held.w)
        _add_elements(a, s.op, into.base, held.base, held.groups, held.w)
    fn.uncombined.pop(part)
    fn.uncombined[s.buf] = None


def _add_elements(a: Access, op: str, into: Val, part: Val, count: int, lanes: int) -> None:
    """So many vectors of one array to those of another."""
    w = a.fn.writer
    for at in range(0, count * lanes, lanes):
        to, source = (w.offset(base, a.elem, integer(at)) for base in (into, part))
        old, more = (
            to_register(a, w.load(ptr, a.elem, lanes, a.align, w.depth)) for ptr in (to, source)
        )
        w.store(to_memory(a, combined(w, op, a.buf.dtype, old, more)), to, a.align)


def _sum_of_groups(a: Access, part: Partials, element: int) -> Val:
    """The upper half of the groups onto the lower half, as lanes are combined."""
    w = a.fn.writer
    sums = []
    for group in range(part.groups):
        ptr = w.offset(part.base, a.elem, integer((element * part.groups + group) * part.w))
        sums.append(to_register(a, w.load(ptr, a.elem, part.w, a.align, w.depth)))
    while len(sums) > 1:
        half = (len(sums) + 1) // 2
        pairs = [
            combined(w, part.op, a.buf.dtype, x, y)
            for x, y in zip(sums[:half], sums[half:], strict=False)
        ]
        sums = pairs + sums[len(pairs) : half]
    return sums[0]
