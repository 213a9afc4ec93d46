"""Transformations on an emulated GPU: the values are those of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler

pytestmark = needs_compiler
RNG = np.random.default_rng(0)
W = RNG.standard_normal((6, 6)).astype(np.float32) / 3
X = RNG.standard_normal((5, 6)).astype(np.float32)


class Doubled(wf.Function):
    @staticmethod
    def forward(ctx: Any, x: wf.Tensor) -> wf.Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: wf.Tensor) -> wf.Tensor:
        return 2 * ctx.saved_tensors[0].cos() * g


def halving(x: wf.Tensor) -> wf.Tensor:
    return wf.while_loop(lambda x: (x * x).sum() > 1, lambda x: x / 2, x)


CASES: dict[str, Callable[[wf.Tensor, wf.Tensor], Any]] = {
    "vmap": lambda w, x: wf.vmap(lambda r: (w @ r).softmax(0))(x),
    "while in vmap": lambda w, x: wf.vmap(halving)(x * 3),
    "jacobian": lambda w, x: wf.jacrev(lambda r: (w @ r).tanh())(x[0]),
    "hessian": lambda w, x: wf.hessian(lambda r: ((w @ r) ** 3).sum())(x[0]),
    "jvp of while": lambda w, x: wf.jvp(halving, (x[0] * 3,), (x[1],))[1],
    "own gradient": lambda w, x: wf.grad((Doubled.apply(x) * x).sum(), x),
    "checkpoint": lambda w, x: wf.grad(
        wf.checkpoint(lambda x: ((x @ w).tanh() @ w).sin())(x).sum(), [x, w]
    ),
    "host call": lambda w, x: wf.host_call(np.sort, x, x * 2) + x,
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_cpu(name: str) -> None:
    def computed(place: str) -> list[np.ndarray]:
        made = CASES[name](*(wf.tensor(a, device=place) for a in (W, X)))
        return [t.cpu().numpy() for t in (made if isinstance(made, list) else [made])]

    want = computed("cpu")
    device()
    for a, b in zip(computed("cuda:0"), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
