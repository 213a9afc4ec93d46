"""Derivatives of functions of one or several inputs, and of tuples, lists and dicts:
value_and_grad, vjp, jvp, Hessians."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf

E = wf.errors
Layer = namedtuple("Layer", ["weight", "bias"])


def t(*values: float) -> wf.Tensor:
    return wf.tensor(np.array(values, dtype=float))


def test_gradients_have_the_structure_of_the_argument() -> None:
    parameters = {"a": [t(1, 2), (t(3, 4),)], "b": Layer(t(5, 6), t(7, 8))}

    def loss(p: Any, x: wf.Tensor) -> wf.Tensor:
        return (p["a"][0] * p["a"][1][0] * x + p["b"].weight * p["b"].weight + p["b"].bias).sum()

    value, g = wf.value_and_grad(loss)(parameters, t(10, 100))
    assert value.item() == 30 + 800 + 25 + 36 + 15
    assert isinstance(g["b"], Layer) and isinstance(g["a"], list) and isinstance(g["a"][1], tuple)
    assert [g["a"][0].tolist(), g["a"][1][0].tolist()] == [[30, 400], [10, 200]]
    assert [g["b"].weight.tolist(), g["b"].bias.tolist()] == [[10, 12], [1, 1]]


def test_the_same_tensor_twice_is_two_inputs() -> None:
    for make in (lambda: t(2.0, 3.0), lambda: wf.ones(2) * 3, lambda: wf.ones(2)):
        x = make()
        expected = x.tolist()
        _, (ga, gb) = wf.value_and_grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x)
        assert ga.tolist() == gb.tolist() == expected
        _, pull = wf.vjp(lambda a, b: a * b, x, x)
        assert [g.tolist() for g in pull(wf.ones(2))] == [expected, expected]
        _, d = wf.jvp(lambda a, b: a * b, (x, x), (wf.ones(2), wf.zeros(2)))
        assert d.tolist() == expected


def test_an_equal_value_inside_the_function_is_not_its_input() -> None:
    _, pull = wf.vjp(lambda a: a * wf.ones(2), wf.ones(2))
    assert pull(wf.ones(2))[0].tolist() == [1, 1]
    y = t(2, 3) * 2
    _, g = wf.value_and_grad(lambda a: (a * (y / 1.0)).sum())(y)
    assert g.tolist() == [4, 6]


def test_higher_orders_lead_through_inputs_passed_twice() -> None:
    x = wf.tensor([2.0, 3.0], requires_grad=True)
    value, (g, _) = wf.value_and_grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)
    assert value.requires_grad and g.requires_grad
    (value + g.sum()).backward()  # x**3 + 2 x**2
    assert x.grad.tolist() == [12 + 8, 27 + 12]


def test_negative_argnums_and_keywords() -> None:
    f = wf.value_and_grad(lambda a, b, scale: (a * b * scale).sum(), argnums=-1)
    assert f(t(2.0), t(3.0), scale=10.0)[1].tolist() == [20]


def test_vjp_of_several_outputs() -> None:
    x, y = t(1, 2), t(3, 4)
    out, pull = wf.vjp(lambda a, b: {"product": a * b, "sum": (a + b, a > b)}, x, y)
    assert out["product"].tolist() == [3, 8] and out["sum"][1].tolist() == [False, False]
    ga, gb = pull({"product": wf.ones(2), "sum": (t(10, 100), wf.zeros(2))})
    assert ga.tolist() == [13, 104] and gb.tolist() == [11, 102] and ga.dtype is wf.float64
    assert isinstance(pull(out), tuple)


def test_jvp_of_structures() -> None:
    def f(p: dict[str, wf.Tensor], y: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        return p["x"].sin() * y, y * 3

    x, y, u, v = t(0.3, 0.5), t(2, 4), t(1, 10), t(0.5, 0.25)
    (first, second), (dfirst, dsecond) = wf.jvp(f, ({"x": x}, y), ({"x": u}, v))
    a, b, c, d = (i.numpy() for i in (x, y, u, v))
    np.testing.assert_allclose(first.numpy(), np.sin(a) * b)
    np.testing.assert_allclose(dfirst.numpy(), np.cos(a) * c * b + np.sin(a) * d)
    assert second.tolist() == [6, 12] and dsecond.tolist() == [1.5, 0.75]


def test_a_derivative_along_what_does_not_matter_is_zero() -> None:
    out, d = wf.jvp(lambda a: wf.ones(3), (t(1, 2),), (t(1, 1),))
    assert d.tolist() == [0, 0, 0] and out.shape == (3,)
    _, pull = wf.vjp(lambda a: wf.ones(3), t(1, 2))
    assert pull(wf.ones(3))[0].tolist() == [0, 0]


def test_hessian_vector_products_of_structures() -> None:
    def f(p: tuple[wf.Tensor, wf.Tensor]) -> wf.Tensor:
        return (p[0] ** 3 * p[1]).sum()

    a, b = wf.hessian_vector_product(f, (t(2.0), t(5.0)), (t(1.0), t(10.0)))
    assert a.tolist() == [6 * 2 * 5 + 3 * 4 * 10] and b.tolist() == [3 * 4]
    assert wf.hessian_vector_product(lambda x: (x**3).sum(), t(1, 2), t(1, 1)).tolist() == [6, 12]


def test_derivatives_are_lazy() -> None:
    value, g = wf.value_and_grad(lambda a: a.exp().sum())(t(1, 2))
    assert "lazy" in repr(value) and "lazy" in repr(g)
    assert "lazy" in repr(wf.jvp(lambda a: a.exp(), (t(1, 2),), (t(1, 1),))[1])


X = wf.ones(3)
CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: wf.vjp(lambda a: a, wf.arange(3)),
        E.DTypeError,
        r"vjp: can differentiate by floats only, an input is int64\[3\]",
    ),
    (lambda: wf.vjp(lambda a: 3, X), E.DTypeError, "vjp: the function returns Tensors.* not 3"),
    (
        lambda: wf.vjp(lambda a: a, X)[1](wf.ones(4)),
        E.ShapeError,
        r"cotangent of shape \(4,\) does not fit an output of shape \(3,\)",
    ),
    (
        lambda: wf.vjp(lambda a: (a, a), X)[1](wf.ones(3)),
        E.ShapeError,
        "not have the structure of the output",
    ),
    (
        lambda: wf.jvp(lambda a: a, (X,), ()),
        E.ShapeError,
        "jvp: the tangent does not have the structure of the input",
    ),
    (
        lambda: wf.jvp(lambda a: a, (X,), (wf.ones(2),)),
        E.ShapeError,
        r"tangent of shape \(2,\) does not fit",
    ),
    (
        lambda: wf.value_and_grad(lambda a: a)(X),
        E.GradientError,
        r"returned shape \(3,\), which is not a single element",
    ),
    (lambda: wf.value_and_grad(lambda a: (a.sum(),))(X), E.GradientError, "not a single element"),
    (
        lambda: wf.value_and_grad(lambda a: a, argnums=1)(X),
        E.ArgumentError,
        "argnums names argument 1 of 1",
    ),
    (lambda: wf.hessian_vector_product(lambda a: a, X, X), E.GradientError, "not a single element"),
    (
        lambda: wf.hessian_vector_product(lambda a: a.sum(), X, wf.ones(2)),
        E.ShapeError,
        "tangent of shape",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), CASES, ids=[str(i) for i in range(len(CASES))])
def test_errors(build: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        build()
