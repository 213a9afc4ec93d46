"""Random graphs on memory between unreadable pages. In: a number of graphs. Out: status 0, or a
crash at a foreign access.

`python tests/kit/guarded.py 200` (optionally a first seed). POSIX only;
tests/fuzz/test_random_graphs.py runs it in a child.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Sequence

import fuzz
import numpy as np
from fuzz_graphs import Array
from harness import Env, inputs_of
from weft import options
from weft.compiler.compile import Compiled
from weft.ir.graph.graph import Node

PAGE = mmap.PAGESIZE
NO_ACCESS = 0


def guarded(a: Array, at_end: bool) -> Array:
    """A copy with the same strides that touches an unreadable page at its end or at its start."""
    if not a.size:
        return a
    reach = [(d - 1) * s for d, s in zip(a.shape, a.strides, strict=True)]
    first, size = sum(min(0, r) for r in reach), sum(map(abs, reach)) + a.itemsize
    pages = -(-size // PAGE) * PAGE
    block = mmap.mmap(-1, pages + 2 * PAGE)
    memory = np.frombuffer(block, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (0, PAGE + pages):
        if libc.mprotect(
            ctypes.c_void_p(memory.ctypes.data + page), ctypes.c_size_t(PAGE), NO_ACCESS
        ):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + (pages - size if at_end else 0) - first
    out: Array = np.ndarray(a.shape, a.dtype, memory.data, start, a.strides)
    once = tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)
    out[once] = a[once]
    return out


def execute(program: Compiled, outputs: Sequence[Node], env: Env, threads: int = 1) -> list[Array]:
    """harness.execute, twice, on guarded memory."""
    for at_end in (False, True):
        arrays = [guarded(env[n], at_end) for n in inputs_of(outputs)]
        results = [guarded(np.full(n.shape, 7, n.dtype.numpy), at_end) for n in outputs]
        for o, i in program.donations.items():
            results[o] = arrays[i]
        with options.override(num_threads=threads):
            program.run([a.ctypes.data for a in arrays], [r.ctypes.data for r in results])
    return results


if __name__ == "__main__":
    fuzz.execute = execute
    sys.exit(fuzz.main(*map(int, sys.argv[1:])))
