"""Statements without a body. In: one statement, the Function it stands in. Out: its lines."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.graph.index import Index
from ....ir.loops.loop import Alloc, Check, Commit, Copy, Multiply, Prefetch, Reduce, Store, Wait
from ....ir.loops.walk import index_values, indices, postorder
from .expr import EmitError, combined
from .function import Function, Lanes
from .layout import varies
from .values import TYPES, literal


def alloc(fn: Function, s: Alloc) -> None:
    buf, of = s.buf, TYPES[s.buf.dtype]
    name, init = fn.name(buf), None if s.init is None else literal(s.init, s.buf.dtype)
    fn.changed([buf])
    size = fn.layout.registers.get(buf, buf.size * (fn.lanes.unroll if fn.lanes else 1))
    if buf in fn.layout.offsets:
        at = str(fn.layout.offsets[buf])
        if stride := fn.layout.strides[buf]:
            at += f" + {stride} * weft_warp()"
        fn.writer.line(f"{of}* const {name} = weft_shared<{of}>({at});  // {buf.size} elements")
        if init is not None:
            with fn.block(f"for (unsigned i = {fn.thread}; i < {buf.size}; i += {fn.team})"):
                fn.writer.line(f"{name}[i] = {init};")
    elif size == 1 and buf not in fn.layout.registers:
        fn.writer.line(f"{of} {name}{'' if init is None else f' = {init}'};")
    else:
        fn.writer.line(f"{of} {name}[{size}];")
        if init is not None:
            with fn.block(f"for (unsigned i = 0; i < {size}; i++)", "#pragma unroll"):
                fn.writer.line(f"{name}[i] = {init};")


def store(fn: Function, s: Store) -> None:
    fn.evaluate_all([*s.index.values(), *index_values(s.mask)])
    value = fn.evaluate(s.value)
    _guarded(fn, s, f"{fn.element(s.buf, s.index)} = {value};")


def reduce(fn: Function, s: Reduce) -> None:
    if fn.lanes and not fn.is_private(s.buf) and _may_meet(fn.lanes, s.index):
        raise EmitError(f"lanes meet in {s.buf}[{s.index}]: they must be summed in registers first")
    fn.evaluate_all([*s.index.values(), *index_values(s.mask)])
    at, is_float = fn.element(s.buf, s.index), s.value.dtype.is_float
    if s.fuses:
        a, b = [fn.evaluate(n) for n in s.value.src]
        _guarded(fn, s, f"{at} = weft_fma({a}, {b}, {at});")
    else:
        _guarded(fn, s, f"{at} = {combined(s.op, is_float, at, fn.evaluate(s.value))};")


def _may_meet(lanes: Lanes, index: Index) -> bool:
    """Whether two lanes may have the same index."""
    gathered = [varies(i, lanes.piece) for n in postorder(index.values()) for i in indices(n)]
    return any(gathered) or lanes.piece not in index.vars()


def _guarded(fn: Function, s: Store | Reduce, text: str) -> None:
    condition = fn.condition(s.mask)
    fn.writer.line(f"if ({condition}) {text}" if condition else text)
    fn.changed([s.buf])


def check(fn: Function, s: Check) -> None:
    fn.evaluate_all(s.position.values())
    value, position = fn.evaluate(s.index), fn.indices.number(s.position)
    site = s.site if isinstance(s.site, int) else fn.name(s.site)
    extent = fn.indices.bare(s.extent)
    fn.writer.line(f"weft_check(status, {value}, {extent}, {site}, {position});")


def prefetch(fn: Function, s: Prefetch) -> None:
    """A GPU hides latency by having more threads."""


# ---------------------------------------------------------------- products of tiles: calls of
# weft.cuh


def copy(fn: Function, s: Copy) -> None:
    operands = [
        fn.address(s.to, s.at),
        fn.address(s.source, s.index),
        fn.condition(s.mask) or "true",
    ]
    fn.writer.line(f"weft_copy_async<{s.size}>({', '.join(operands)}{fn.aligned(s.source)});")


def commit(fn: Function, s: Commit) -> None:
    fn.writer.line("weft_cp_async_commit();")


def wait(fn: Function, s: Wait) -> None:
    fn.writer.line(f"weft_cp_async_wait<{s.groups}>();")
    fn.writer.line("weft_barrier();")


def multiply(fn: Function, s: Multiply) -> None:
    across = s.shape[1] // s.part[1]
    strides = [s.rows.across, s.rows.along, s.lanes.across, s.lanes.along]
    sizes = ", ".join(map(str, [*s.part, s.shape[2], across, *strides]))
    operands = [
        fn.name(s.acc),
        fn.address(s.rows.buf, s.rows.first),
        fn.address(s.lanes.buf, s.lanes.first),
    ]
    fn.writer.line(f"weft_multiply<{sizes}>({', '.join(operands)});")
    fn.changed([s.acc])


PLAIN: dict[type, Callable[..., None]] = {
    Alloc: alloc,
    Store: store,
    Reduce: reduce,
    Check: check,
    Prefetch: prefetch,
    Copy: copy,
    Commit: commit,
    Wait: wait,
    Multiply: multiply,
}
