"""Joint work of all threads of a block or warp. In: a statement, the Order of its phase. Out: the
lines before it.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.loops.loop import Buf, Stmt
from .function import Function
from .values import OPERATIONS, identity


def before(fn: Function, s: Stmt) -> None:
    """What threads do together before a statement."""
    for buf in fn.order.settle.get(id(s), ()):
        settle(fn, buf)
    for buf in fn.order.restart.get(id(s), ()):
        restart(fn, buf)
    if id(s) in fn.order.barrier:
        barrier(fn)


def barrier(fn: Function) -> None:
    fn.writer.line("weft_warp_barrier();" if fn.in_warps else "weft_barrier();")


def restart(fn: Function, buf: Buf) -> None:
    """The sum so far stays with the first thread."""
    neutral = identity(fn.order.ops[buf], buf.dtype)
    _each_register(fn, buf, lambda at: f"if ({fn.thread} != 0) {at} = {neutral};")
    fn.changed([buf])


def settle(fn: Function, buf: Buf) -> None:
    """Every thread gets the whole sum."""
    op = OPERATIONS[fn.order.ops[buf]]
    call = f"weft_warp_reduce<{op}>" if fn.in_warps else f"weft_block_reduce<{op}, {fn.threads}>"
    _each_register(fn, buf, lambda at: f"{at} = {call}({at});")
    fn.changed([buf])


def _each_register(fn: Function, buf: Buf, text: Callable[[str], str]) -> None:
    if buf.size == 1:
        fn.writer.line(text(fn.name(buf)))
        return
    with fn.block(f"for (unsigned i = 0; i < {buf.size}; i++)", "#pragma unroll"):
        fn.writer.line(text(f"{fn.name(buf)}[i]"))
