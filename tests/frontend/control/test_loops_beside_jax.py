"""Loops beside those of jax, where that is installed: values, gradients, second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf

pytestmark = pytest.mark.torch
RNG = np.random.default_rng(0)


def both(f: Any, *arrays: np.ndarray) -> None:
    """f(functions, xp, *arrays) of Weft and of jax, with the gradient and the second derivatives of
    its sum by the first array."""
    jax = pytest.importorskip("jax")

    def derived(module: Any, loops: Any, xp: Any, asarray: Any) -> list[np.ndarray]:
        given = [asarray(a) for a in arrays]

        def total(x: Any) -> Any:
            return f(loops, xp, x, *given[1:]).sum()

        made = [
            f(loops, xp, *given),
            module.jacrev(total)(given[0]),
            module.hessian(total)(given[0]),
        ]
        return [np.asarray(a) for a in made]

    ours = derived(wf, wf, wf, wf.tensor)
    theirs = derived(jax, jax.lax, jax.numpy, jax.numpy.asarray)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(length: int, reverse: bool) -> None:
    def f(loops: Any, xp: Any, h: Any, w: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            h, total = carry["h"], carry["total"]
            h = xp.tanh(w @ h + x)
            return {"h": h, "total": total + (h * x).sum()}, h[:2]

        last, ys = loops.scan(body, {"h": h, "total": h.sum()}, xs, reverse=reverse)
        return xp.concatenate([last["h"] * last["total"], ys.reshape(-1)])

    shapes = (3,), (3, 3), (length, 3)
    both(f, *(RNG.standard_normal(s).astype(np.float32) for s in shapes))


def test_nested_scans() -> None:
    def f(loops: Any, xp: Any, h: Any, xs: Any) -> Any:
        def inner(c: Any, x: Any) -> Any:
            return xp.sin(c + x), c * x

        def outer(c: Any, row: Any) -> Any:
            c, ys = loops.scan(inner, c, row)
            return c, ys.sum()

        last, ys = loops.scan(outer, h, xs)
        return last * ys.sum()

    both(f, *(RNG.standard_normal(s).astype(np.float32) for s in ((2,), (3, 4, 2))))


def test_branches_and_counted_loops() -> None:
    def f(loops: Any, xp: Any, h: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            return loops.cond(c.sum() > 0, lambda c: xp.sin(c) - i, lambda c: c * c, c)

        return loops.switch(1, [lambda c: c, lambda c: c * 2], loops.fori_loop(0, 4, body, h))

    both(f, RNG.standard_normal(3).astype(np.float32))
