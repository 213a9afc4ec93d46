"""Loops that read and write memory at full speed. In: a Target, bytes. Out: seconds of rounds.

A round copies as many bytes as are both read and written, then reads the rest and writes the rest,
each thread a part of them: the least that memory has to do for a kernel that moves so much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen.llvm.target import Target
from ...runtime.native import filled
from .limits import FOLDER, Chunked, module

STEPS = 8  # vectors that a step of a loop reads or writes
STREAMS = (
    4  # places that a step works at: faster than one where memory is the bound, and never slower
)
LINE = 64  # bytes, at a multiple of which all parts begin

Array = np.ndarray[Any, Any]


def memory_of(nbytes: int) -> Array:
    """Memory that has been written, since fresh pages are slow to write and, when read, are all one
    page of zeros."""
    return np.ones(nbytes + LINE, np.uint8)


class Stream:
    """Reads so many bytes and writes so many. `seconds(n)` for n times `rounds`, between which no
    thread waits for others.

    `memory` may be shared with other Streams. `non_temporal` stores go past the caches; `in_place`,
    copies stay where they are.
    """

    def __init__(
        self,
        target: Target,
        read: int,
        written: int,
        threads_used: int,
        memory: Array | None = None,
        rounds: int = 1,
        non_temporal: bool = False,
        in_place: bool = False,
    ) -> None:
        both, step = min(read, written), STEPS * target.vector_bits // 8
        copies, reads, writes = (
            -(-n // (step * threads_used)) for n in (both, read - both, written - both)
        )
        lengths = [
            n * step * threads_used for n in (copies, reads, 0 if in_place else copies, writes)
        ]
        memory = memory_of(sum(lengths)) if memory is None else memory
        assert sum(lengths) + LINE <= memory.nbytes
        copied = memory.ctypes.data + -memory.ctypes.data % LINE
        read_at = copied + lengths[0]
        copy_at, write_at = (
            copied if in_place else read_at + lengths[1],
            read_at + lengths[1] + lengths[2],
        )
        context = [
            copied,
            copy_at,
            copies,
            read_at,
            read_at,
            reads,
            write_at,
            write_at,
            writes,
            rounds,
        ]
        self._loop = Chunked(_text(target, non_temporal), target, context, memory)

    def seconds(self, count: int) -> float:
        return self._loop.seconds(count)


CALL = """
  %p.{name} = getelementptr i64, ptr %context, i64 {place}
  %q.{name} = getelementptr i64, ptr %p.{name}, i64 1
  %s.{name} = getelementptr i64, ptr %p.{name}, i64 2
  %from.{name} = load ptr, ptr %p.{name}
  %to.{name} = load ptr, ptr %q.{name}
  %steps.{name} = load i64, ptr %s.{name}
  call void @{name}(ptr %from.{name}, ptr %to.{name}, i64 %steps.{name}, i64 %chunk)
"""
READ = "%x.{k} = load {v}, ptr %from.{k}, align {size}"
WRITE = "store {v} {value}, ptr %to.{k}, align {size}{how}"
ADD = (
    "%old.{k} = load {v}, ptr %sum.{k}\n"
    "%new.{k} = add {v} %old.{k}, %x.{k}\n"
    "store {v} %new.{k}, ptr %sum.{k}"
)
# What a step does, STEPS times.
VECTOR = {"copy": f"{READ}\n{WRITE}", "read": f"{READ}\n{ADD}", "write": WRITE}
SUM = "%kept.{k} = alloca {v}\n%sum.{k} = alloca {v}\nstore {v} zeroinitializer, ptr %sum.{k}"
# Without it no loop would be left.
USED = "%all.{k} = load {v}, ptr %sum.{k}\nstore volatile {v} %all.{k}, ptr %kept.{k}"


def _text(target: Target, non_temporal: bool) -> str:
    """The three loops, and the chunk function that goes through them so many rounds."""
    calls = "".join(CALL.format(name=name, place=3 * k) for k, name in enumerate(VECTOR))
    head = (
        f"%p = getelementptr i64, ptr %context, i64 {3 * len(VECTOR)}\n"
        "%rounds = load i64, ptr %p\nbr label %round\nround:"
    )
    count = "%n = phi i64 [0, %entry], [%n.next, %round]"
    end = (
        "%n.next = add i64 %n, 1\n%more = icmp ult i64 %n.next, %rounds\n"
        "br i1 %more, label %round, label %out\nout:\nret void"
    )
    loops = "".join(_loop(name, target.vector_bits // 8, non_temporal) for name in VECTOR)
    return loops + module("\n".join([head, count, calls, end]), target) + "!0 = !{i32 1}\n"


def _loop(name: str, size: int, non_temporal: bool) -> str:
    """A function of one of them: a step goes on in STREAMS runs of neighbours, by vectors of `size`
    bytes."""
    lanes, run = size // 4, STEPS // STREAMS * size
    v, ones = f"<{lanes} x i32>", f"<{', '.join(['i32 1'] * lanes)}>"
    how, sums, used, vectors = ", !nontemporal !0" if non_temporal else "", [], [], []
    for k in range(STEPS):
        words = {
            "k": k,
            "v": v,
            "size": size,
            "how": how,
            "value": ones if name == "write" else f"%x.{k}",
        }
        row, near = divmod(k * size, run)
        vectors.append(f"%o.{k} = add i64 %row.{row}, {near}")
        vectors += [
            f"%{side}.{k} = getelementptr i8, ptr %{side}, i64 %o.{k}" for side in ("from", "to")
        ]
        vectors.append(VECTOR[name].format(**words))
        if name == "read":
            sums.append(SUM.format(**words))
            used.append(USED.format(**words))
    rows = [f"%row.{r} = add i64 %row.{r - 1}, %part" for r in range(1, STREAMS)]
    parts = {"sums": sums, "rows": rows, "vectors": vectors, "used": used}
    texts = {part: "\n".join(lines) for part, lines in parts.items()}
    return filled("stream", FOLDER, name=name, run=run, streams=STREAMS, **texts)
