"""wf.host_call: a function of arrays is called once, when its result is needed, in the order of the
graph; what it raises comes out there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf

X = wf.tensor([3.0, 1.0, 2.0])
E = wf.errors


class Counted:
    """A function that notes its calls."""

    __name__ = "counted"

    def __init__(self, function: Any = np.sort) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arrays: np.ndarray) -> Any:
        self.calls += 1
        return self.function(*arrays)


def test_it_is_called_once_and_late() -> None:
    f = Counted()
    y = wf.host_call(f, X, X * 2) + 1
    unused = wf.host_call(f, X, X)
    assert f.calls == 0
    assert y.tolist() == [3, 5, 7] and (y * 2).tolist() == [6, 10, 14] and f.calls == 1
    del unused
    again = wf.host_call(f, X, X)
    assert again.tolist() == again.tolist() == [1, 2, 3] and f.calls == 2


def test_calls_follow_each_other_in_the_order_of_the_graph() -> None:
    seen: list[str] = []

    def first(x: np.ndarray) -> np.ndarray:
        seen.append("first")
        return x + 1

    def second(x: np.ndarray) -> np.ndarray:
        seen.append("second")
        return x * 10

    y = wf.host_call(second, X, wf.host_call(first, X, X) * 2)
    assert y.tolist() == [80, 40, 60] and seen == ["first", "second"]


def test_results_may_be_structures() -> None:
    like = X, {"sum": wf.tensor(0.0), "none": None}
    f = Counted(lambda x: (x + 1, {"sum": x.sum(), "none": None}))
    made = wf.host_call(f, like, X)
    assert made[0].tolist() == [4, 2, 3] and made[1]["sum"].item() == 6 and f.calls == 1


def test_gradients_are_host_calls_as_well() -> None:
    x = wf.tensor([0.5, 1.0], requires_grad=True)
    f = lambda x: wf.host_call(np.exp, x, x, gradient=lambda x, g: g * np.exp(x))  # noqa: E731
    np.testing.assert_allclose(
        wf.grad((f(x) ** 2).sum(), x).numpy(), 2 * np.exp(2 * x.numpy()), rtol=1e-5
    )
    f(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.numpy()), rtol=1e-5)
    with pytest.raises(E.GradientError, match="the host_call of exp has no gradient"):
        wf.grad(wf.host_call(np.exp, x, x).sum(), x)
    y = wf.host_call(np.exp, x, x)
    assert wf.grad((y * 3).sum(), y).tolist() == [3.0, 3.0]


def test_examples_are_called_one_after_the_other() -> None:
    f, rows = Counted(), wf.tensor([[3.0, 1.0], [0.0, -1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(
        wf.vmap(lambda r: wf.host_call(f, r, r))(rows).numpy(), np.sort(rows.numpy(), 1)
    )
    assert f.calls == 3
    pull = lambda x, g: g * np.exp(x)  # noqa: E731
    g = wf.vmap(wf.value_and_grad(lambda r: wf.host_call(np.exp, r, r, gradient=pull).sum()))(rows)
    np.testing.assert_allclose(g[1].numpy(), np.exp(rows.numpy()), rtol=1e-6)


def test_what_it_raises_comes_out_and_changes_nothing() -> None:
    def fails(x: np.ndarray) -> np.ndarray:
        raise ValueError("mine")

    w = wf.tensor([1.0, 2.0, 3.0])
    y = wf.host_call(fails, X, X)
    w += 1
    for _ in range(2):
        with pytest.raises(ValueError, match="mine"):
            wf.realize(y, w)
    assert w.tolist() == [2, 3, 4]


def test_mistakes_are_errors() -> None:
    with pytest.raises(E.ShapeError, match=r"test_host_calls\.py:\d+: .* float32\[2\], not"):
        wf.host_call(lambda x: x[:2], X, X).numpy()
    with pytest.raises(E.ShapeError, match="returned what is no array, not float32"):
        wf.host_call(lambda x: [[1], [1, 2]], X, X).numpy()
    with pytest.raises(E.ShapeError, match="not int64"):
        wf.host_call(lambda x: x, wf.zeros(3, dtype=wf.int64), X).numpy()
    with pytest.raises(E.ShapeError, match="structure of the result"):
        wf.host_call(lambda x: x, (X, X), X)[0].numpy()
    with pytest.raises(E.DTypeError, match="the result must hold"):
        wf.host_call(np.sort, "x", X)
    with pytest.raises(E.JitError, match="in the jitted function"):
        wf.jit(lambda x: wf.host_call(np.sort, x, x))(X)
    with pytest.raises(E.JitError, match=r"in a body of wf\.fori_loop"):
        wf.fori_loop(0, 3, lambda i, x: wf.host_call(np.sort, x, x), X)
