"""Hooks and retained gradients of computed Tensors and of leaves, as torch has them."""

from __future__ import annotations

import gc

import pytest
import weft as wf

E = wf.errors


def leaf(*values: float) -> wf.Tensor:
    return wf.tensor(list(values), requires_grad=True)


def test_a_replaced_gradient_goes_on_upstream() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    (y * y).sum().backward()
    assert x.grad.tolist() == [180.0, 360.0]


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x, seen = leaf(1.0, 2.0), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * y + y.sin() * 0 + y).sum().backward()
    assert seen == [[7.0, 13.0]] and x.grad.tolist() == [21.0, 39.0]


def test_hooks_run_in_order_each_on_what_the_last_one_gave() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g + 1)
    remove = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: None)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [40.0]
    remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_retained_gradients_are_those_after_the_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (y * 1).sum().backward()
    assert y.grad.tolist() == [10.0] and x.grad.tolist() == [20.0]


def test_a_hook_outlives_its_tensor() -> None:
    x, seen = leaf(1.0), []

    def forward() -> wf.Tensor:
        hidden = x * 2
        hidden.register_hook(lambda g: seen.append(1) or g * 5)
        return hidden * 3

    y = forward()
    gc.collect()
    y.sum().backward()
    assert seen == [1] and x.grad.tolist() == [30.0]


def test_hooks_of_leaves_run_before_the_gradient_is_added() -> None:
    x = leaf(1.0)
    remove = x.register_hook(lambda g: g * 2)
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [12.0]
    remove()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [15.0]


def test_hooks_on_a_chain() -> None:
    x = leaf(1.0)
    a = x * 2
    b = a * 3
    a.register_hook(lambda g: g + 1)
    b.register_hook(lambda g: g * 7)
    b.sum().backward()
    assert x.grad.tolist() == [(7 * 3 + 1) * 2]


def test_hooks_of_realized_tensors() -> None:
    x = leaf(1.0, 2.0)
    y = (x * 3).realize()
    y.register_hook(lambda g: g * 10)
    z = (y * y).sum()
    assert z.item() == 45.0
    z.backward()
    assert x.grad.tolist() == [180.0, 360.0]


def test_gradients_through_hooks_under_a_mask_stay_zero() -> None:
    x = leaf(0.0, 4.0)
    y = x.sqrt()
    y.register_hook(lambda g: g * 2)
    wf.where(x > 0, y, 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.5]


def test_equal_tensors_retain_each_their_gradient() -> None:
    x = leaf(1.0)
    y, z = x * 2, x * 2
    y.retain_grad()
    z.retain_grad()
    (y * z).sum().backward()
    assert y.grad.tolist() == z.grad.tolist() == [4.0]  # one value: its gradient is that of both


def test_constants_powers_have_zero_gradients() -> None:
    for f in (
        lambda x: x**0,
        lambda x: x**0.0,
        lambda x: wf.pow(x, 0),
        lambda x: x * 0,
        lambda x: x.floor(),
    ):
        x = leaf(0.0, -2.0, float("inf"))
        f(x).sum().backward()
        assert x.grad is not None and x.grad.tolist()[:2] == [0.0, 0.0]
        assert wf.grad(f(x).sum(), x).tolist()[:2] == [0.0, 0.0]


def test_errors() -> None:
    plain = wf.zeros(2)
    with pytest.raises(
        E.GradientError, match="register_hook: this Tensor does not require a gradient"
    ):
        plain.register_hook(print)
    with pytest.raises(
        E.GradientError, match="retain_grad: this Tensor does not require a gradient"
    ):
        plain.retain_grad()
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g.sum())
    with pytest.raises(
        E.ShapeError, match=r"turned a gradient of shape \(2,\) into one of shape \(\)"
    ):
        y.sum().backward()
    z = x * 3
    z.register_hook(lambda g: 3)
    with pytest.raises(E.DTypeError, match="a hook returns a Tensor or None, not int"):
        z.sum().backward()
    assert x.grad is None


def test_a_hook_is_removed_once_by_its_handle() -> None:
    x = wf.ones(1, requires_grad=True)

    def double(g: wf.Tensor) -> wf.Tensor:
        return g * 2

    first, _ = x.register_hook(double), x.register_hook(double)
    first.remove()
    first.remove()
    x.sum().backward()
    assert x.grad.item() == 2.0
