"""Functions with gradients of their own: the gradient is the rule's, at any order, in loops,
batches and jitted functions; what does not fit is an error at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.frontend.lazy.program_table import statistics

X = wf.tensor([0.5, 1.0, -2.0], requires_grad=True)
E = wf.errors


class Exp(wf.Function):
    """With a result that is kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: wf.Tensor) -> wf.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: wf.Tensor) -> wf.Tensor:
        (y,) = ctx.saved_tensors
        return g * y


class Tripled(wf.Function):
    """A gradient that is three times too large, with an argument that is no Tensor."""

    @staticmethod
    def forward(ctx: Any, x: wf.Tensor, power: int) -> tuple[wf.Tensor, wf.Tensor]:
        ctx.x, ctx.power = x, power
        assert ctx.needs_input_grad == (True, False)
        return x**power, x * 2

    @staticmethod
    def backward(ctx: Any, g: wf.Tensor, h: wf.Tensor) -> Any:
        return 3 * ctx.power * ctx.x ** (ctx.power - 1) * g + 6 * h, None


@wf.custom_vjp
def doubled(p: dict[str, wf.Tensor], k: wf.Tensor) -> wf.Tensor:
    return p["x"] * k


doubled.defvjp(
    lambda p, k: (doubled(p, k), (p["x"], k)),
    lambda kept, g: ({"x": 2 * kept[1] * g}, (g * kept[0]).sum()),
)


@wf.custom_jvp
def sine(x: wf.Tensor) -> wf.Tensor:
    return x.sin()


sine.defjvp(lambda primals, tangents: (sine(*primals), 2 * primals[0].cos() * tangents[0]))

FUNCTIONS: dict[str, tuple[Callable[[wf.Tensor], wf.Tensor], Callable[[Any], Any]]] = {
    "Function": (lambda x: Exp.apply(x * 2), lambda x: 2 * np.exp(2 * x)),
    "two results": (lambda x: sum(Tripled.apply(x, 3)), lambda x: 9 * x**2 + 6),
    "custom_vjp": (lambda x: doubled({"x": x}, wf.tensor(3.0)), lambda x: 6 + 0 * x),
    "custom_jvp": (sine, lambda x: 2 * np.cos(x)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_that_of_the_rule_everywhere(name: str) -> None:
    f, derivative = FUNCTIONS[name]
    want = derivative(X.numpy().astype(np.float64))

    def is_right(g: wf.Tensor) -> None:
        np.testing.assert_allclose(g.numpy(), want, rtol=1e-5, atol=1e-6)

    is_right(wf.grad(f(X).sum(), X))
    is_right(wf.jit(wf.value_and_grad(lambda x: f(x).sum()))(X)[1])
    is_right(wf.vmap(wf.value_and_grad(f))(X)[1])
    is_right(wf.grad(wf.vmap(f)(X).sum(), X))
    is_right(wf.grad(wf.scan(lambda c, x: (c, f(x)), 0.0, X)[1].sum(), X))
    is_right(wf.grad(wf.cond(True, f, lambda x: x, X).sum(), X))
    is_right(wf.jvp(f, (X,), (wf.ones(3),))[1])
    is_right(wf.grad(wf.checkpoint(f)(X).sum(), X))
    x = wf.tensor(X.numpy(), requires_grad=True)
    f(x).sum().backward()
    assert x.grad is not None
    is_right(x.grad)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_has_gradients(name: str) -> None:
    f, derivative = FUNCTIONS[name]
    x = X.numpy().astype(np.float64)
    second = (derivative(x + 1e-6) - derivative(x - 1e-6)) / 2e-6
    found = wf.grad(wf.grad(f(X).sum(), X).sum(), X, allow_unused=True)
    np.testing.assert_allclose(found.numpy(), second, rtol=1e-4, atol=1e-5)
    hessian = wf.hessian(lambda x: f(x).sum())(X).numpy()
    np.testing.assert_allclose(hessian, np.diag(second), rtol=1e-4, atol=1e-5)


def test_a_gradient_of_what_examples_share_is_a_sum() -> None:
    k = wf.tensor(3.0, requires_grad=True)
    total = wf.vmap(lambda x, k: doubled({"x": x}, k), (0, None))(X, k).sum()
    np.testing.assert_allclose(wf.grad(total, k).item(), X.numpy().sum(), rtol=1e-6)


def test_values_and_gradient_are_one_kernel() -> None:
    x = wf.tensor(np.ones(5000, np.float32), requires_grad=True)
    y = Exp.apply(x)
    assert len(wf.explain([y, wf.grad(y.sum(), x)]).kernels) == 1


def test_a_rule_that_changes_compiles_nothing_where_no_gradient_is_asked_for() -> None:
    class Scaled(wf.Function):
        @staticmethod
        def forward(ctx: Any, x: wf.Tensor, scale: float) -> wf.Tensor:
            ctx.scale = scale
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: wf.Tensor) -> Any:
            return g * ctx.scale, None

    x, before = wf.ones(7), statistics["built"]
    for turn in range(10):
        x = Scaled.apply(x, 0.1 * turn)
        x[0].item()
    assert statistics["built"] - before < 6


def test_results_may_be_marked_as_constant() -> None:
    class Parts(wf.Function):
        @staticmethod
        def forward(ctx: Any, x: wf.Tensor) -> Any:
            whole = x.floor()
            ctx.mark_non_differentiable(whole)
            return whole, x - whole

        @staticmethod
        def backward(ctx: Any, g: wf.Tensor, h: wf.Tensor) -> wf.Tensor:
            return g + 5 * h

    whole, rest = Parts.apply(X)
    assert wf.grad(rest.sum() + whole.sum(), X).tolist() == [5.0] * 3


MISTAKES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda g: (g, g), E.ArgumentError, "gives 2 cotangents for 1 argument"),
    (lambda g: g.sum(), E.ShapeError, r"shape \(\) for input 0 of shape \(3,\)"),
    (lambda g: g.double(), E.DTypeError, "float64 for input 0, which is float32"),
    (lambda g: "x", E.DTypeError, "must hold Tensors"),
    (lambda g: g.sum().item(), E.JitError, "read while"),
    (lambda g: ([g],), E.DTypeError, "for argument 0"),
    (X.assign, E.JitError, "assigns to"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_what_a_gradient_gives_is_checked_at_the_call(number: int) -> None:
    rule, kind, text = MISTAKES[number]

    class Wrong(wf.Function):
        @staticmethod
        def forward(ctx: Any, x: wf.Tensor) -> wf.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: wf.Tensor) -> Any:
            return rule(g)

    before = X.numpy().copy()
    with pytest.raises(kind, match=text):
        Wrong.apply(X)
    np.testing.assert_array_equal(X.numpy(), before)


def test_mistakes_of_decorated_functions_are_errors() -> None:
    f = wf.custom_vjp(lambda x: x)
    with pytest.raises(E.ArgumentError, match="call defvjp"):
        f(X)
    f.defvjp(lambda x: x, lambda kept, g: (g,))
    with pytest.raises(E.ArgumentError, match=r"forward returns \(result, residuals\)"):
        f(X)
    f.defvjp(lambda x: (x, None), lambda kept, g: g)
    with pytest.raises(E.ArgumentError, match="not a tuple of 1 cotangents"):
        f(X)
    f.defvjp(lambda x: (x, None), lambda kept, g: ({"a": g},))
    with pytest.raises(E.ShapeError, match="for an argument"):
        f(X)
    g = wf.custom_jvp(lambda x: x)
    with pytest.raises(E.ArgumentError, match="call defjvp"):
        g(X)
    g.defjvp(lambda p, t: (p[0], t[0] * t[0]))
    with pytest.raises(E.GradientError, match="not linear in the tangents"):
        g(X)
    g.defjvp(lambda p, t: t[0])
    with pytest.raises(E.ArgumentError, match="tangent like it"):
        g(X)
