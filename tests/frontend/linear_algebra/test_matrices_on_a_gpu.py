"""wf.linalg of values on an emulated GPU: the CPU computes, and the results are on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler

pytestmark = needs_compiler
la = wf.linalg
X = np.random.default_rng(0).normal(size=(2, 3, 3)).astype(np.float32) + 3 * np.eye(
    3, dtype=np.float32
)

CASES: dict[str, Callable[[wf.Tensor], Any]] = {
    "solve": lambda x: la.solve(x * 2, x[..., :1]).sin(),
    "vmap": wf.vmap(lambda m: la.inv(m).sin() + m),
    "eigh": lambda x: la.eigh(x + x.mT).eigenvalues + x[0, 0],
    "gradient": lambda x: wf.grad((la.inv(x.sin() + x) * x).sum(), x),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_cpu(name: str) -> None:
    want = CASES[name](wf.tensor(X)).numpy()
    device()
    got = CASES[name](wf.tensor(X, device="cuda:0"))
    assert got.device == "cuda:0"
    np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-4, atol=1e-5)


def test_a_jitted_function_of_a_gpu_refuses_them() -> None:
    device()
    with pytest.raises(wf.errors.JitError, match="runs on one device"):
        wf.jit(la.inv)(wf.tensor(X, device="cuda:0")).cpu()


def test_what_is_made_of_constants_is_on_the_cpu() -> None:
    inverse = la.inv(wf.eye(3) * 2)
    device()
    with pytest.raises(wf.errors.DeviceError):
        inverse + wf.tensor(X, device="cuda:0")
    assert (inverse.to("cuda:0") + wf.tensor(X, device="cuda:0")).device == "cuda:0"


def test_a_loop_on_a_gpu_refuses_them() -> None:
    device()
    with pytest.raises(wf.errors.WeftError, match="inv is computed by the CPU"):
        wf.map(la.inv, wf.tensor(X, device="cuda:0")).cpu().numpy()
