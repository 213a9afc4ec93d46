"""Loops and branches on a GPU: the host walks through them."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft import errors

pytestmark = needs_compiler
rng = np.random.default_rng(0)
W, XS = rng.standard_normal((6, 6)).astype(np.float32) * 0.4, rng.standard_normal((5, 3, 6))
XS = XS.astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def gpu() -> None:
    device()


def results(where: str) -> list[np.ndarray]:
    w, xs = (wf.tensor(a, device=where, requires_grad=True) for a in (W, XS))

    def body(c: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        c = (c @ w + x).tanh()
        c = wf.fori_loop(0, 2, lambda i, v: v * 0.5 + x * i, c)
        return c, wf.cond(c.sum() > 0, lambda: c.sum(1), lambda: x.sum(1))

    last, ys = wf.scan(body, wf.zeros((3, 6), device=where), xs, reverse=True)
    steps = wf.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.5 + 1, last * last)
    gradients = wf.grad(last.sum() + ys.square().sum(), [w, xs])
    return [t.cpu().numpy() for t in (last, ys, steps, *gradients)]


def test_results_are_those_of_the_cpu() -> None:
    for a, b in zip(results("cuda:0"), results("cpu"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_jitted_loop_runs_again_and_again() -> None:
    @wf.jit
    def f(xs: wf.Tensor) -> wf.Tensor:
        return wf.scan(lambda c, x: (c + x, c.sum()), wf.zeros((3, 6), device="cuda:0"), xs)[1]

    for scale in (1.0, 2.0, 3.0):
        given = wf.tensor(XS * scale, device="cuda:0")
        sums = np.cumsum([np.zeros((3, 6)), *XS[:-1] * scale], axis=0).sum((1, 2))
        np.testing.assert_allclose(f(given).cpu().numpy(), sums, rtol=1e-4, atol=1e-4)


def test_a_check_in_a_loop_fails() -> None:
    table = wf.tensor(XS, device="cuda:0")
    at = wf.tensor([1, 9, 2], device="cuda:0")
    with pytest.raises(errors.IndexError, match="index 9 is out of range for axis 0 of extent 5"):
        wf.scan(lambda c, i: (c, table.take(i, 0)), None, at)[1].cpu().numpy()


def test_parts_are_written_in_place() -> None:
    def body(c: wf.Tensor, i: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        c[i] = c.sum(0) + 1
        return c, c.max()

    first, at = wf.zeros((3, 6), device="cuda:0"), wf.tensor([2, 0, 1, 2], device="cuda:0")
    last, greatest = wf.scan(body, first, at)
    assert greatest.cpu().tolist() == [1.0, 2.0, 4.0, 8.0]
    assert last.cpu()[:, 0].tolist() == [2.0, 4.0, 8.0]


@pytest.mark.slow
def test_launches_are_timed_together() -> None:
    f = wf.jit(lambda xs: wf.scan(lambda c, x: (c * 2 + x, None), xs[0], xs)[0])
    report = wf.profile(f, wf.tensor(XS, device="cuda:0"))
    assert any("_loop_" in k.name for k in report.kernels)
