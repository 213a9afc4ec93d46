"""wf.cond and wf.switch: what is chosen is computed, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft import errors

x = wf.tensor(np.random.default_rng(0).standard_normal((3, 4)))
w = wf.tensor(np.random.default_rng(1).standard_normal(4), requires_grad=True)
WAYS = (lambda v: (v * w).sum(), lambda v: v.exp().sum(), lambda v: v.max() * w[0])


@pytest.mark.parametrize("index", range(-1, 4))
@pytest.mark.parametrize("jitted", [False, True])
def test_a_switch_is_the_branch_that_it_chooses(index: int, jitted: bool) -> None:
    def f(i: wf.Tensor, v: wf.Tensor) -> wf.Tensor:
        return wf.switch(i, WAYS, v)

    chosen = (wf.jit(f) if jitted else f)(wf.tensor(index), x)
    wanted = WAYS[min(max(index, 0), 2)](x)
    np.testing.assert_allclose(chosen.numpy(), wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize("index", range(3))
def test_gradients_are_those_of_the_branch(index: int) -> None:
    v = x.detach().requires_grad_()
    found = wf.grad(wf.switch(wf.tensor(index), WAYS, v), [v, w], allow_unused=True)
    wanted = wf.grad(WAYS[index](v), [v, w], allow_unused=True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_cond_takes_bools_numbers_and_structures() -> None:
    for pred in (True, wf.tensor(True), np.float32(0.5), 3):
        chosen = wf.cond(pred, lambda a: {"a": a, "b": (a * 2,)}, lambda a: {"a": -a, "b": (a,)}, 3)
        assert (chosen["a"].item(), chosen["b"][0].item()) == (3, 6)
    assert wf.cond(False, lambda: wf.tensor(1), lambda: wf.tensor(2)).item() == 2


def test_what_is_not_chosen_is_not_computed() -> None:
    """It would never end."""

    def forever(v: wf.Tensor) -> wf.Tensor:
        return wf.while_loop(lambda c: c == c, lambda c: c + 1, v)

    assert wf.cond(wf.tensor(True), lambda v: v * 2, forever, 4).item() == 8


def test_assignments_belong_to_the_choice() -> None:
    p = wf.tensor([1.0, 2.0])
    for pred, wanted in ((False, [1.0, 2.0]), (True, [0.0, 0.0])):
        wf.cond(wf.tensor(pred), lambda: p.assign(p * 0).sum(), p.sum).realize()
        assert p.tolist() == wanted


def test_errors_show_both_branches() -> None:
    with pytest.raises(errors.ShapeError, match=r"float64\[4\].*float64\[3, 4\]"):
        wf.cond(wf.tensor(True), lambda: x, lambda: x[0])
    with pytest.raises(errors.ShapeError, match="structures"):
        wf.cond(wf.tensor(True), lambda: (x,), lambda: x)
    with pytest.raises(errors.DTypeError, match="one bool"):
        wf.cond(x > 0, lambda: x, lambda: x)
    with pytest.raises(errors.DTypeError, match="one int"):
        wf.switch(wf.tensor(0.5), [lambda: x])
    with pytest.raises(errors.ArgumentError, match="no branch"):
        wf.switch(0, [])
