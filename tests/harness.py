"""Compiled code against the oracle. In: roots of a Graph, arrays for its INPUTs. Out: the results of both, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optable import assert_matches

from weft import options
from weft.codegen.lower import row_major_strides
from weft.frontend.compile import Compiled, build
from weft.ir import dtype as dt
from weft.ir import graph
from weft.ir.dtype import DType
from weft.ir.fuse import Fused, fuse
from weft.ir.graph import Node, Op, toposort
from weft.ir.interp import run as oracle
from weft.ir.prepare import prepare
from weft.ir.program import Value
from weft.ir.rules import simplify
from weft.ir.sums import merge_sums
from weft.ir.units import collect

Array = np.ndarray[Any, Any]
Env = Mapping[Node, Array]
# Every kernel is verified and meets the pool; nothing is left on disk.
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
    return np.asarray(rng.integers(0, 2 if n.dtype.kind == "b" else extent, n.shape)).astype(n.dtype.numpy)


def fused(*outputs: Node) -> Fused:
    """The kernels of a Graph, without any machine code."""
    return fuse(collect(prepare(merge_sums(simplify(list(outputs))))))


def compiled(outputs: Sequence[Node], donations: Mapping[int, int] | None = None, **opts: Any) -> Compiled:
    """The program of distinct outputs over dense inputs, under options."""
    leaves = inputs_of(outputs)
    values = [Value(n.dtype, n.shape, row_major_strides(n.shape)) for n in leaves]
    with options.override(**(FORCED | opts)):
        return build(list(outputs), leaves, values, donations or {})


def execute(program: Compiled, outputs: Sequence[Node], env: Env, threads: int = 1) -> list[Array]:
    """The results of a program on copies of the inputs; outputs are poisoned first."""
    arrays = [np.ascontiguousarray(env[n]).copy() for n in inputs_of(outputs)]
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    with options.override(num_threads=threads):
        program.run([a.ctypes.data for a in arrays], [r.ctypes.data for r in results])
    for n, a in zip(inputs_of(outputs), arrays, strict=True):
        np.testing.assert_array_equal(a.view(np.uint8), np.ascontiguousarray(env[n]).view(np.uint8), "an input was written")
    return results


def check(outputs: Sequence[Node], env: Env, ulp: float = 0, magnitude: float = 0.0, threads: Sequence[int] = (1,), **opts: Any) -> Compiled:
    """Compiled == oracle within `ulp`, and the same bits on any number of threads."""
    outputs = list(outputs)
    program = compiled(outputs, **opts)
    results = [execute(program, outputs, env, t) for t in threads]
    for got, want in zip(results[0], oracle(outputs, env), strict=True):
        assert_matches(got, np.asarray(want), ulp, magnitude)
    for other in results[1:]:
        assert_same_bits(other, results[0])
    return program


def check_close(outputs: Sequence[Node], env: Env, tolerance: float = 2e-5, threads: Sequence[int] = (1,), **opts: Any) -> Compiled:
    """Compiled == oracle within `tolerance` of the largest value of each output: for sums of many terms."""
    outputs = list(outputs)
    program = compiled(outputs, **opts)
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
        np.testing.assert_array_equal(np.atleast_1d(a).view(np.uint8), np.atleast_1d(b).view(np.uint8))


def schedules(program: Compiled) -> list[str]:
    """The first word of each kernel's schedule."""
    return [k.lowered.schedule.split(":")[0].split()[0] for k in program.lowered.kernels]
