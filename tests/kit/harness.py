"""Compiled code against the oracle. In: roots of a Graph, arrays for its INPUTs. Out: the results
of both, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from optable import assert_matches
from weft import options
from weft.codegen.llvm.target import host, named
from weft.compiler.compile import Compiled, build
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node, toposort
from weft.ir.graph.index import row_major_strides
from weft.ir.graph.op import Op
from weft.ir.kernels.fuse import Fused, fuse
from weft.ir.kernels.units import collect
from weft.ir.loops.interp import run as run_loops
from weft.ir.loops.loop import Buf
from weft.ir.loops.verify import verify
from weft.ir.ops.interp import run as oracle
from weft.ir.passes.along_memory import along_memory
from weft.ir.passes.fold_empty import fold_empty
from weft.ir.passes.keep_gathers import keep_gathers
from weft.ir.passes.keep_views import keep_deep_views
from weft.ir.passes.merge_sums import merge_sums
from weft.ir.passes.simplify import simplify
from weft.ir.passes.split_reductions import split_reductions
from weft.ir.passes.sums_apart import sums_apart
from weft.ir.passes.widen_halves import widen
from weft.ir.program.blocks import CopyBlock
from weft.ir.program.program import ValueLayout
from weft.ir.program.ref import Ref

Array = np.ndarray[Any, Any]
Env = Mapping[Node, Array]
# Every kernel is verified and meets the pool; nothing is left on disk.
TARGETS = [t for t in ("avx512", "avx2", "sse2") if named(t).runs_on(host())]
FORCED: dict[str, Any] = {"verify": True, "serial_threshold": 0, "min_chunks": 3, "cache_dir": None}

_serial = iter(range(1 << 30, 1 << 31))


def leaf(*shape: int, dtype: DType = dt.float32) -> Node:
    """A fresh INPUT."""
    return graph.leaf(next(_serial), dtype, shape)


def inputs_of(outputs: Sequence[Node]) -> list[Node]:
    return [n for n in toposort(outputs) if n.op is Op.INPUT]


def normal_inputs(outputs: Sequence[Node], seed: int = 0, extent: int = 5) -> dict[Node, Array]:
    """Normal floats, whole numbers below `extent`, bools."""
    rng = np.random.default_rng(seed)
    return {n: _drawn(n, rng, extent) for n in inputs_of(outputs)}


def _drawn(n: Node, rng: np.random.Generator, extent: int) -> Array:
    if n.dtype.is_float:
        return np.asarray(rng.standard_normal(n.shape)).astype(n.dtype.numpy)
    return np.asarray(rng.integers(0, 2 if n.dtype.kind == "b" else extent, n.shape)).astype(
        n.dtype.numpy
    )


def fused(*outputs: Node) -> Fused:
    """The kernels of a Graph, without any machine code."""
    roots = list(outputs)
    for change in (
        sums_apart,
        widen,
        simplify,
        merge_sums,
        fold_empty,
        keep_gathers,
        keep_deep_views,
        partial(along_memory, strides={}),
        split_reductions,
    ):
        roots = change(roots)
    return fuse(collect(roots))


def layout(a: Array) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple(s // a.itemsize for s in a.strides)


def values_of(leaves: Sequence[Node], env: Env | None = None) -> list[ValueLayout]:
    """How inputs lie in memory: as in `env`, else dense."""
    return [
        ValueLayout(n.dtype, n.shape, layout(env[n]) if env else row_major_strides(n.shape))
        for n in leaves
    ]


def compiled(
    outputs: Sequence[Node],
    env: Env | None = None,
    donations: Mapping[int, int] | None = None,
    **opts: Any,
) -> Compiled:
    """The program of distinct outputs under options; its inputs are laid out as in `env`, else
    dense."""
    leaves = inputs_of(outputs)
    values = values_of(leaves, env)
    with options.override(**(FORCED | opts)):
        return build(list(outputs), leaves, values, donations or {})


def with_caches(monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
    """Named targets have caches of these sizes, l2=1 << 19, whatever the host has."""
    monkeypatch.setattr(
        "weft.codegen.llvm.target.named", lambda name: replace(named(name), **sizes)
    )


def execute(program: Compiled, outputs: Sequence[Node], env: Env, threads: int = 1) -> list[Array]:
    """The results of a program. Outputs are poisoned first; donated inputs are copied, others must
    stay as they are."""
    arrays = [env[n] for n in inputs_of(outputs)]
    before = [a.copy() for a in arrays]
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    for o, i in program.donations.items():
        arrays[i] = results[o] = arrays[i].copy()
    with options.override(num_threads=threads):
        program.run([a.ctypes.data for a in arrays], [r.ctypes.data for r in results])
    for n, old in zip(inputs_of(outputs), before, strict=True):
        assert_same_bits([env[n]], [old])  # an input is never written
    return results


def interpret(program: Compiled, outputs: Sequence[Node], env: Env) -> list[Array]:
    """The results of a program by the loop interpreter, in its own order and arena; verifies the
    loops."""
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    arena = np.zeros(program.program.arena_bytes, np.uint8)
    spaces = {
        "input": [_whole(env[n]) for n in inputs_of(outputs)],
        "output": [r.reshape(-1) for r in results],
    }

    def there(r: Ref, b: Buf) -> Array:
        if r.space == "arena":
            return arena[r.number :][: b.size * b.dtype.itemsize].view(b.dtype.numpy)
        return spaces[r.space][r.number]

    copies = {b.place: b for b in program.program.blocks if isinstance(b, CopyBlock)}
    for number, call in enumerate(program.program.calls):
        buffers = [there(r, b) for r, b in zip(call.refs, call.loops.buffers, strict=True)]
        if number in copies:
            of = dict(zip(call.refs, buffers, strict=True))
            of[copies[number].end][:] = of[copies[number].start]
        verify(call.loops)
        assert not run_loops(call.loops, buffers, call.params)
    return results


def _whole(a: Array) -> Array:
    """A view that starts at the first element of an array and reaches all others, whatever its
    (positive) strides."""
    last = sum((d - 1) * s for d, s in zip(a.shape, layout(a), strict=True)) if a.size else -1
    return np.lib.stride_tricks.as_strided(a, (last + 1,), (a.itemsize,))


def check(
    outputs: Sequence[Node],
    env: Env,
    ulp: float = 0,
    magnitude: float = 0.0,
    threads: Sequence[int] = (1,),
    **opts: Any,
) -> Compiled:
    """Compiled == oracle within `ulp`, and the same bits on any number of threads."""
    outputs = list(outputs)
    program = compiled(outputs, env, **opts)
    results = [execute(program, outputs, env, t) for t in threads]
    for got, want in zip(results[0], oracle(outputs, env), strict=True):
        assert_matches(got, np.asarray(want), ulp, magnitude)
    for other in results[1:]:
        assert_same_bits(other, results[0])
    return program


def check_close(
    outputs: Sequence[Node],
    env: Env,
    tolerance: float = 2e-5,
    threads: Sequence[int] = (1,),
    **opts: Any,
) -> Compiled:
    """Compiled == oracle within `tolerance` of the largest value of each output: for sums of many
    terms."""
    outputs = list(outputs)
    program = compiled(outputs, env, **opts)
    results = [execute(program, outputs, env, t) for t in threads]
    for got, want in zip(results[0], oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), tolerance)
    for other in results[1:]:
        assert_same_bits(other, results[0])
    return program


def assert_close(got: Array, want: Array, tolerance: float) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype
    scale = max(1e-30, float(np.abs(want.astype(np.float64)).max(initial=0)))
    error = float(np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)) / scale
    assert error <= tolerance, f"relative error {error:.3g}"


def assert_same_bits(got: Sequence[Array], want: Sequence[Array]) -> None:
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_array_equal(
            np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8)
        )


def schedules(program: Compiled) -> list[str]:
    """The name of each kernel's schedule; the first of several."""
    return [k.lowered.choices[0].schedule for k in program.lowered.kernels]
