"""CUDA programs as Loops, without code or device. In: roots of a Graph. Out: a Compiled program;
what the oracle says of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from harness import Env, assert_close, inputs_of, interpret, values_of
from weft.codegen.cuda.lowering import CudaLowering
from weft.codegen.cuda.target import CudaTarget
from weft.compiler.compile import Compiled, build
from weft.ir.graph.graph import Node
from weft.ir.kernels.groups import Policy
from weft.ir.ops.interp import run as oracle

SM80, TF32 = CudaTarget("sm_80"), CudaTarget("sm_80", matmul="tf32")


class NoCode:
    """What a backend makes of loops, without the making."""

    def __enter__(self) -> NoCode:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def begin(self, loops: object, same: object) -> None: ...

    def key_of(self, loops: object) -> str:
        return ""


def lowered(outputs: Sequence[Node], env: Env | None = None, target: CudaTarget = SM80) -> Compiled:
    """The program of some outputs; inputs are laid out as in `env`, else dense."""
    ins = inputs_of(outputs)
    backend = SimpleNamespace(
        strict=False,
        policy=Policy(chains="none", pooled_epilogues=False, windows=False),
        lowering=CudaLowering(target),
        last_cache=1 << 22,
        builder=NoCode,
        link=lambda *_: None,
    )
    return build(list(outputs), ins, values_of(ins, env), {}, backend)


def check(outputs: Sequence[Node], env: Env, tolerance: float = 1e-5) -> Compiled:
    """The interpreter finds what the oracle does; every kernel has threads."""
    program = lowered(outputs, env)
    assert all(k.step.loops.threads for k in program.lowered.kernels)
    for got, want in zip(interpret(program, outputs, env), oracle(outputs, env), strict=True):
        assert_close(got, np.asarray(want), tolerance)
    return program
