"""Loops that reach the limits of a processor. In: a Target. Out: loops, timed from native code.

A loop over registers gives the peak of arithmetic, a loop over memory the bandwidth of the level
where so many bytes lie. All are chunk functions of the project's own pool, so that two threads are
the same two threads that run kernels. `seconds(n)` is what n rounds take, without any Python
between them.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from ... import options
from ...codegen.llvm.build import compile_text
from ...codegen.llvm.target import Target
from ...runtime import native, threads
from ...runtime.commands import HEADER, header
from ...runtime.native import filled
from ...runtime.ticks import address

LLVM_TYPES = {"float32": "float", "float64": "double"}
BITS = {"float32": 32, "float64": 64}
FOLDER = Path(__file__).parent
UNROLL = 4  # times that a step of the FMA loop goes through all accumulators

NOTHING = "define void @nothing(ptr %context, i64 %chunk, i64 %thread) { ret void }"


@cache
def repeats() -> tuple[Callable[..., None], Callable[..., None]]:
    """The native loops around a program, (run, table, args, count), and around the chunks of a
    function."""
    code = native.load_object(
        native.compile_portable(filled("repeat", FOLDER)), ("repeat", "repeat_for")
    )
    pointer, word = ctypes.c_void_p, ctypes.c_int64
    return (
        ctypes.CFUNCTYPE(None, pointer, pointer, pointer, word)(code["repeat"]),
        ctypes.CFUNCTYPE(None, pointer, pointer, pointer, word, word)(code["repeat_for"]),
    )


def clock() -> float:
    """Seconds: of this thread's processor where it is alone, which a busy machine does not disturb,
    else of the wall."""
    return time.thread_time() if options.current().num_threads == 1 else time.perf_counter()


def timed(call: Callable[[], None]) -> float:
    began = clock()
    call()
    return clock() - began


class Chunked:
    """A chunk function on a context, one chunk a thread; `keep` holds the memory that it works
    on."""

    def __init__(self, text: str, target: Target, context: list[int], keep: object = None) -> None:
        self._keep = keep
        self._context = (ctypes.c_int64 * len(context))(*context)
        self._code = _loaded(text, target)
        self._parallel = address(threads.pool.runtime().parallel_for)

    def seconds(self, count: int) -> float:
        running = threads.pool.ensure()
        repeat, context = repeats()[1], ctypes.addressof(self._context)
        return timed(lambda: repeat(self._parallel, self._code["chunk"], context, running, count))


@cache
def _loaded(text: str, target: Target) -> native.Library:
    """The code of a text, which several share."""
    with native.lock:
        return native.load_object(compile_text(text, target), ("chunk",))


def module(body: str, target: Target) -> str:
    features = f' "target-features"="{target.features}"' if target.features else ""
    wide = ' "prefer-vector-width"="512"' if target.vector_bits == 512 else ""
    attributes = f'attributes #0 = {{ nounwind "target-cpu"="{target.cpu}"{features}{wide} }}'
    head = "define void @chunk(ptr %context, i64 %chunk, i64 %thread) #0"
    return f"{head} {{\nentry:\n{body}\n}}\n{attributes}\n"


class Nothing:
    """A program of `phases` phases without work, which no threads share: `seconds(n)` for n runs of
    it."""

    phases = 64

    def __init__(self) -> None:
        code = native.load_object(native.compile_portable(NOTHING), ("nothing",))
        phases = [code["nothing"], 1, 0, 0] * self.phases
        words = HEADER + len(phases)
        first = header(self.phases, False, 1, words)
        self._table = (ctypes.c_int64 * words)(*first, *phases)
        self._status = (ctypes.c_int64 * 2)()
        self._args = (ctypes.c_int64 * 2)(0, ctypes.addressof(self._status))
        self._run = address(threads.pool.runtime().run)

    def seconds(self, count: int) -> float:
        repeat, places = repeats()[0], [*map(ctypes.addressof, (self._table, self._args))]
        return timed(lambda: repeat(self._run, *places, count))


class Peak:
    """Multiplications and additions on registers alone: `seconds(n)` for `n * flops` operations of
    all threads."""

    def __init__(self, target: Target, dtype: str, steps: int = 1000) -> None:
        lanes, self._count = target.lanes(BITS[dtype]), 24 if target.registers >= 32 else 12
        self._flops = 2 * lanes * self._count * UNROLL * steps
        out = np.zeros((256, 64))
        self._loop = Chunked(
            _peak_text(target, LLVM_TYPES[dtype], lanes, self._count),
            target,
            [steps, out.ctypes.data],
            out,
        )

    @property
    def flops(self) -> int:
        return self._flops * options.current().num_threads

    def seconds(self, count: int) -> float:
        return self._loop.seconds(count)


def _peak_text(target: Target, elem: str, lanes: int, count: int) -> str:
    """acc[i] = x * x + acc[i] in all accumulators, UNROLL times a step; the sum is stored, so that
    all of it happens."""
    v = f"<{lanes} x {elem}>"
    lines = [
        "%steps = load i64, ptr %context",
        "%p = getelementptr i64, ptr %context, i64 1",
        "%all = load ptr, ptr %p",
    ]
    lines += [
        "%at = mul i64 %chunk, 512",
        "%out = getelementptr i8, ptr %all, i64 %at",
        f"%x = load {v}, ptr %out, align 8",
    ]
    lines += ["br label %loop", "loop:", "%i = phi i64 [0, %entry], [%i.next, %loop]"]
    lines += [f"%a0.{k} = phi {v} [%x, %entry], [%a{UNROLL}.{k}, %loop]" for k in range(count)]
    lines += [_multiply_add(target, elem, lanes, u, k) for u in range(UNROLL) for k in range(count)]
    lines += [
        "%i.next = add i64 %i, 1",
        "%more = icmp ult i64 %i.next, %steps",
        "br i1 %more, label %loop, label %done",
        "done:",
    ]
    lines.append(f"%s0 = fadd {v} %a{UNROLL}.0, %x")
    lines += [f"%s{k} = fadd {v} %s{k - 1}, %a{UNROLL}.{k}" for k in range(1, count)]
    lines += [f"store {v} %s{count - 1}, ptr %out, align 8", "ret void"]
    declare = f"declare {v} @{_fma(elem, lanes)}({v}, {v}, {v})\n" if target.has_fma else ""
    return declare + module("\n".join(lines), target)


def _multiply_add(target: Target, elem: str, lanes: int, u: int, k: int) -> str:
    """One accumulator's step; without FMA the product is of the accumulator, or it would be the
    same each time."""
    v, old, new = f"<{lanes} x {elem}>", f"%a{u}.{k}", f"%a{u + 1}.{k}"
    if target.has_fma:
        return f"{new} = call {v} @{_fma(elem, lanes)}({v} %x, {v} %x, {v} {old})"
    return f"%m{u}.{k} = fmul {v} {old}, %x\n{new} = fadd {v} %m{u}.{k}, %x"


def _fma(elem: str, lanes: int) -> str:
    return f"llvm.fma.v{lanes}f{32 if elem == 'float' else 64}"
