"""Maps that a gradient needs again: what is stored for it, and that no bit changes."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft.compiler.compile import Compiled
from weft.inspection.explain.explain import compiled_behind
from weft.ir.graph.op import Op
from weft.ir.passes import recompute_maps

F = wf.nn.functional
ROWS, WIDTH = 96, 64


def step(activation: Callable[[wf.Tensor], wf.Tensor]) -> list[wf.Tensor]:
    """The result of two linear layers with an activation between them, and its gradients."""
    random = np.random.default_rng(0)
    shapes = (ROWS, WIDTH), (WIDTH, WIDTH), (WIDTH,), (WIDTH, WIDTH)
    leaves = [
        wf.tensor(random.standard_normal(s, dtype=np.float32), requires_grad=True) for s in shapes
    ]
    x, a, b, c = leaves
    y = activation(x @ a + b) @ c
    return [y, *wf.grad(y.square().mean(), leaves)]


def compiled(outputs: list[wf.Tensor], least: int) -> tuple[Compiled, list[np.ndarray]]:
    """The program, and its results, where values of so many bytes are worth it."""
    with mock.patch.object(recompute_maps, "MIN_BYTES", least):
        program = compiled_behind("explain", outputs, (), {})
        assert program is not None
        return program, [t.numpy() for t in outputs]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "activation",
    [
        F.gelu,
        *rarely(lambda x: F.gelu(x, approximate="tanh"), F.silu, F.mish, wf.tanh),
        wf.relu,
        lambda x: x.exp() * x.sin(),
    ],
)
def test_no_bit_changes_and_no_more_is_stored(activation: Callable[[wf.Tensor], wf.Tensor]) -> None:
    stored, expected = compiled(step(activation), 1 << 60)
    again, results = compiled(step(activation), 1)
    assert all((a == b).all() for a, b in zip(results, expected, strict=True))
    assert again.program.arena_bytes <= stored.program.arena_bytes
    assert len(again.in_order()) <= len(stored.in_order())


@pytest.mark.parametrize(("least", "stored"), [(1, 2), (ROWS * WIDTH * 4 + 1, 4)])
def test_of_a_gelu_that_is_large_operand_and_result_are_stored(least: int, stored: int) -> None:
    program, _ = compiled(step(F.gelu), least)
    first = next(k for k in program.fused.kernels if any(u.node.op is Op.ERF for u in k.units))
    assert first.anchor is not None and len(first.outputs) == stored
