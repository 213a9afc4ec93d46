"""Kernels to loops for CUDA: every schedule is verified, interpreted and equal to the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import test_lowering as cpu
from harness import Env, assert_close, inputs_of, interpret, layout, normal_inputs
from optable import ROWS, Row, assert_matches, leaves, values
from weft.codegen.cuda.lowering import CudaLowering
from weft.codegen.cuda.target import CudaTarget
from weft.frontend import compile as compiler
from weft.frontend.compile import Compiled
from weft.ir.fuse import Policy
from weft.ir.graph import Node
from weft.ir.index import row_major_strides
from weft.ir.interp import run as oracle
from weft.ir.program import Value

TARGET = CudaTarget("sm_80")


class NoCode:
    """What a backend makes of loops, without the making."""

    def __enter__(self) -> NoCode:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def begin(self, loops: object) -> None: ...

    def key_of(self, loops: object) -> str:
        return ""


def lowered(outputs: Sequence[Node], env: Env | None = None) -> Compiled:
    """A program of Loops for CUDA, without code."""
    ins = inputs_of(outputs)
    laid_out = [Value(n.dtype, n.shape, layout(env[n]) if env else row_major_strides(n.shape)) for n in ins]
    backend = SimpleNamespace(
        policy=Policy(chains=False, pools=False),
        lowering=CudaLowering(TARGET),
        last_cache=1 << 22,
        making=NoCode,
        link=lambda *_: None,
    )
    before, compiler.backend_of = compiler.backend_of, lambda _: backend
    try:
        return compiler.build(list(outputs), ins, laid_out, {})
    finally:
        compiler.backend_of = before


def check(outputs: Sequence[Node], env: Env, tolerance: float = 1e-5) -> Compiled:
    """Loops == oracle; every kernel has threads."""
    program = lowered(outputs, env)
    assert all(k.step.loops.threads for k in program.lowered.kernels)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), tolerance)
    return program


def schedules(program: Compiled) -> list[str]:
    return [k.lowered.schedule.split(":")[0].split(" ")[0] for k in program.lowered.kernels]


CASES: list[Callable[[], list[Node]]] = [*cpu.CASES, cpu.short, cpu.nearest]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_loops_interpreted_equal_the_oracle(case: Callable[[], list[Node]]) -> None:
    outputs = case()
    check(outputs, normal_inputs(outputs))


def _with_leaves(row: Row) -> tuple[list[Node], dict[Node, Any]]:
    ins = leaves(row)
    arrays = values(row, np.random.default_rng(3))
    return [row.build(*ins)], dict(zip(ins, arrays, strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_every_op_interpreted_equals_the_oracle(row: Row) -> None:
    outputs, env = _with_leaves(row)
    program = lowered(outputs, env)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_matches(got, np.asarray(want), max(4, row.ulp), row.magnitude)
