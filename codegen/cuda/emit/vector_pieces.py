"""Runs of plain statements over the elements of a piece. In: statements, the open Lanes. Out:
loads, a loop, stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ....ir.graph.graph import Node
from ....ir.graph.index import Index, Var
from ....ir.graph.op import Op
from ....ir.loops.loop import (
    GLOBAL,
    REG,
    THREAD,
    Buf,
    Check,
    For,
    If,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)
from ....ir.loops.walk import operands, postorder, roots, usual_operands, variables
from .function import Function, Lanes
from .layout import own_loads, usual_loads, vector_of
from .values import TYPES, zero

Body = Callable[[list[Stmt]], None]


@dataclass(frozen=True)
class Vector:
    """A LOAD or Store of a whole piece, in parts of w elements."""

    buf: Buf
    index: Index
    w: int
    parts: int

    @property
    def type(self) -> str:
        return (
            f"weft_vec<{TYPES[self.buf.dtype]}, {self.w}>" if self.w > 1 else TYPES[self.buf.dtype]
        )


def write_body(fn: Function, body: list[Stmt], other: Body) -> None:
    """Runs of plain statements over all elements of a piece; other statements one by one."""
    together = list(runs(fn, body))
    again = loaded_again(together)
    for run in together:
        if isinstance(run[0], Store | Reduce | Check):
            write_run(fn, run, other, again)
        else:
            other(run)


def loaded_again(together: list[list[Stmt]]) -> set[Node]:
    """LOADs of arguments that several runs need. An output may overwrite them in between: they must
    not be loaded twice."""
    seen: set[Node] = set()
    again: set[Node] = set()
    for run in together:
        if not isinstance(run[0], For | If):
            loads = usual_loads(run)
            again |= loads.keys() & seen
            seen |= loads.keys()
    return again


def runs(fn: Function, body: list[Stmt]) -> Iterator[list[Stmt]]:
    """Stores, reductions and checks that follow each other, none of which loads what another one
    wrote to memory."""
    run: list[Stmt] = []
    written: set[Buf] = set()
    for s in body:
        plain = isinstance(s, Store | Reduce | Check)
        if run and (not plain or any(n.arg[0] in written for n in own_loads(s))):
            yield run
            run, written = [], set()
        if not plain:
            if not isinstance(s, Prefetch):
                yield [s]
            continue
        run.append(s)
        if isinstance(s, Store | Reduce) and not fn.is_private(s.buf):
            written.add(s.buf)
    if run:
        yield run


def vectors(run: list[Stmt], e: Var | None, piece: Var) -> dict[Node, Vector]:
    """LOADs of whole pieces. Of single lanes: those from arguments that differ from piece to
    piece."""
    pieces: dict[Node, Vector] = {}
    for n in postorder([r for s in run for r in roots(s)], usual_operands):
        if n.op is not Op.LOAD:
            continue
        buf, index, _ = n.arg
        if e is None:
            if not operands(n) and piece in variables(n) and buf.space == GLOBAL:
                pieces[n] = Vector(buf, index, 1, 1)
        elif w := _vector(buf, n, e):
            pieces[n] = Vector(buf, index - Index({e: 1}), w, e.extent // w)
    return pieces


def gathered(run: list[Stmt], lanes: Lanes) -> dict[Node, Vector]:
    """LOADs of whole pieces of arguments, at places that depend on what is alike for a piece: of
    rows that an index chooses."""
    pieces: dict[Node, Vector] = {}
    assert lanes.e is not None
    for n in postorder([r for s in run for r in roots(s)], usual_operands):
        if (
            n.op is Op.LOAD
            and n.arg[0].space == GLOBAL
            and operands(n)
            and not any(map(lanes.varies, operands(n)))
        ):
            buf, index, mask = n.arg
            if w := vector_of(buf, index, mask, lanes.e):
                pieces[n] = Vector(buf, index - Index({lanes.e: 1}), w, lanes.unroll // w)
    return pieces


def _vector(buf: Buf, n: Node, e: Var) -> int:
    return 0 if operands(n) or buf.space in (REG, THREAD) else vector_of(buf, n.arg[1], n.arg[2], e)


def vector_load(fn: Function, n: Node, v: Vector, part: int) -> str:
    """Elements part * w and on."""
    condition = fn.condition(n.arg[2])
    if v.w == 1:
        element = fn.element(v.buf, v.index)
        return f"{condition} ? {element} : {zero(v.buf.dtype)}" if condition else element
    vector = f"weft_load<{v.w}>({fn.address(v.buf, v.index + part * v.w)}{fn.aligned(v.buf)})"
    return f"{condition} ? {vector} : {v.type}{{}}" if condition else vector


def element_of(fn: Function, name: str, v: Vector, slot: str = "") -> str:
    """Element e of a piece that was loaded (as number `slot` of several)."""
    if v.w == 1:
        return f"{name}[{slot}]"
    assert fn.lanes is not None and fn.lanes.e is not None
    e = "e"
    if v.parts == 1:
        return f"{name}[{slot}][{e}]" if slot else f"{name}[{e}]"
    at = f"{v.parts} * {slot} + {e} / {v.w}" if slot else f"{e} / {v.w}"
    return f"{name}[{at}][{e} % {v.w}]"


def write_run(fn: Function, run: list[Stmt], other: Body, again: set[Node]) -> None:
    lanes = fn.lanes
    assert lanes is not None
    if lanes.e is None:
        other(run)
        return
    for n, vector in vectors(run, lanes.e, lanes.piece).items():
        if n not in fn.known and vector.buf not in fn.layout.registers:
            _load_piece(fn, n, vector)
    for n in usual_loads(run):
        if n in again and n not in fn.known and lanes.varies(n):
            _load_elements(fn, n, lanes)
    for n in postorder([r for s in run for r in roots(s)], usual_operands):
        if n.op is not Op.CONST and not lanes.varies(n):
            fn.evaluate(n)
    for n, vector in gathered(run, lanes).items():
        if n not in fn.known:
            _load_piece(fn, n, vector)
    outputs = {
        id(s): v for s in run if isinstance(s, Store) and (v := _stored_vector(fn, s, lanes.e))
    }
    names = {at: fn.writer.fresh(v.buf.name) for at, v in outputs.items()}
    for at, out in outputs.items():
        fn.writer.line(f"{out.type} {names[at]}{f'[{out.parts}]' if out.parts > 1 else ''};")
    with _elements(fn, lanes):
        for s in run:
            if isinstance(s, Store) and id(s) in outputs:
                fn.writer.line(
                    f"{element_of(fn, names[id(s)], outputs[id(s)])} = {fn.evaluate(s.value)};"
                )
            else:
                other([s])
    for s in run:
        if isinstance(s, Store) and id(s) in outputs:
            _store_piece(fn, s, outputs[id(s)], names[id(s)])


def _load_piece(fn: Function, n: Node, v: Vector) -> None:
    name = fn.writer.fresh(v.buf.name)
    if v.parts == 1:
        fn.writer.line(f"const {v.type} {name} = {vector_load(fn, n, v, 0)};")
    else:
        parts = ", ".join(vector_load(fn, n, v, part) for part in range(v.parts))
        fn.writer.line(f"const {v.type} {name}[{v.parts}] = {{{parts}}};")
    fn.known[n] = element_of(fn, name, v)


def _load_elements(fn: Function, n: Node, lanes: Lanes) -> None:
    """One by one, but kept for later runs."""
    name = fn.writer.fresh(n.arg[0].name)
    fn.writer.line(f"{TYPES[n.dtype]} {name}[{lanes.unroll}];")
    with _elements(fn, lanes):
        fn.writer.line(f"{name}[e] = {fn.evaluate(n)};")
    fn.known[n] = f"{name}[e]"


@contextmanager
def _elements(fn: Function, lanes: Lanes) -> Iterator[None]:
    assert lanes.e is not None
    fn.indices.names[lanes.e] = "e"
    with fn.block(f"for (unsigned e = 0; e < {lanes.unroll}; e++)", "#pragma unroll"):
        yield


def _stored_vector(fn: Function, s: Store, e: Var) -> Vector | None:
    if (
        fn.is_private(s.buf)
        or s.buf.space == THREAD
        or s.index.values()
        or any(r.index.values() for r in s.mask)
    ):
        return None
    w = vector_of(s.buf, s.index, s.mask, e)
    return Vector(s.buf, s.index - Index({e: 1}), w, e.extent // w) if w else None


def _store_piece(fn: Function, s: Store, v: Vector, name: str) -> None:
    store = "weft_store_streaming" if s.buf in fn.streamed else "weft_store"
    with fn.when(fn.condition(s.mask)):
        for part in range(v.parts):
            value = name if v.parts == 1 else f"{name}[{part}]"
            fn.writer.line(
                f"{store}({fn.address(v.buf, v.index + part * v.w)}, {value}{fn.aligned(v.buf)});"
            )
    fn.changed([s.buf])
