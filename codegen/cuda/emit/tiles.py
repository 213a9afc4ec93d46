"""Asynchronous copies and products of tiles: calls of weft.cuh. In: a statement, the Function it stands in. Out: its line."""

from __future__ import annotations

from ....ir.graph.index import Index
from ....ir.loops.loop import Buf, Commit, Copy, Multiply, Wait
from .function import Function

Places = list[tuple[Buf, Index]]


def write_copy(fn: Function, s: Copy) -> None:
    operands = [fn.address(s.to, s.at), fn.address(s.source, s.index), fn.condition(s.mask) or "true"]
    fn.writer.line(f"weft_copy_async<{s.size}>({', '.join(operands)}{fn.aligned(s.source)});")


def write_commit(fn: Function, s: Commit) -> None:
    fn.writer.line("weft_cp_async_commit();")


def write_wait(fn: Function, s: Wait) -> None:
    fn.writer.line(f"weft_cp_async_wait<{s.groups}>();")
    fn.writer.line("weft_barrier();")


def write_multiply(fn: Function, s: Multiply) -> None:
    across = s.shape[1] // s.part[1]
    strides = [s.rows.across, s.rows.along, s.lanes.across, s.lanes.along]
    sizes = ", ".join(map(str, [*s.part, s.shape[2], across, *strides]))
    operands = [fn.name(s.acc), fn.address(s.rows.buf, s.rows.first), fn.address(s.lanes.buf, s.lanes.first)]
    fn.writer.line(f"weft_multiply<{sizes}>({', '.join(operands)});")
    fn.changed([s.acc])
