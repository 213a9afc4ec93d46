"""Gradients of Tensors: against central differences, against formulas, and backward() as torch has
it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from effort import rarely

RNG = np.random.default_rng(0)


def draw(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RNG.uniform(low, high, shape)


F: dict[str, tuple[Callable, tuple]] = {
    "exp": (lambda x: x.exp(), (draw(5),)),
    "log": (lambda x: x.log(), (draw(5, low=0.5),)),
    "sqrt": (lambda x: x.sqrt(), (draw(5, low=0.5),)),
    "rsqrt": (lambda x: x.rsqrt(), (draw(5, low=0.5),)),
    "trigonometry": (lambda x: x.sin() * x.cos() + (x * 0.5).tan(), (draw(5),)),
    "tanh_erf": (lambda x: x.tanh() + x.erf(), (draw(5),)),
    "sigmoid": (lambda x: x.sigmoid(), (np.append(draw(4, low=-20, high=20), 0),)),
    "softplus": (lambda x: x.softplus(), (np.append(draw(4, low=-20, high=20), 0),)),
    "silu_gelu": (lambda x: x.silu() + x.gelu() + x.gelu("tanh"), (np.append(draw(4), 0),)),
    "relu_abs": (lambda x: x.relu() + x.abs() + x.leaky_relu(), (draw(6),)),
    "log1p": (lambda x: x.log1p(), (np.array([1e-9, 0.5, -0.5, 3.0]),)),
    "expm1": (lambda x: x.expm1(), (np.array([1e-9, 0.4, -0.4, 3.0, -3.0]),)),
    "arithmetic": (lambda x, y: x * y - x / y + 2.0 / y, (draw(3, 1), draw(4, low=0.5))),
    "powers": (lambda x, y: x**y + x**3 + x**-1 + x**0.5 + 2.0**y, (draw(4, low=0.5), draw(4))),
    "mod": (lambda x, y: x % y, (np.array([5.3, -2.2]), np.array([2.0, 0.7]))),
    "extremes": (
        lambda x, y: wf.maximum(x, y) + wf.minimum(x, y) * 2.0 + x.clip(-1, 1),
        (draw(6), draw(6)),
    ),
    "where": (lambda x: wf.where(x > 0, x.log(), x * x), (draw(6),)),
    "sum_mean": (lambda x: x.sum(0) * x.mean((0, 1)), (draw(3, 4),)),
    "max_min": (lambda x: x.max(1) + x.min(1, keepdims=True).sum(), (draw(3, 4),)),
    "prod": (lambda x: x.prod(1), (draw(3, 4),)),
    "prod_of_zeros": (
        lambda x: x.prod(1),
        (np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 2.0], [1.0, 2.0, 3.0]]),),
    ),
    "var_std": (lambda x: x.var(0) + x.std(0, correction=1), (draw(4, 3),)),
    "cumsum": (lambda x: x.cumsum(1) * x, (draw(3, 4),)),
    "softmax": (lambda x: x.softmax() * x.log_softmax(0), (draw(3, 4),)),
    "logsumexp": (lambda x: x.logsumexp((0, 1)), (draw(3, 4),)),
    "matmul": (lambda a, b: a @ b, (draw(2, 1, 3, 4), draw(5, 4, 2))),
    "matmul_vectors": (lambda a, b, c: (a @ b) * (b @ c), (draw(3, 4), draw(4), draw(4, 2)[:, 0])),
    "views": (
        lambda x: x.T.reshape(2, 6)[:, ::-2] * x.flip(0).flatten()[3:9].reshape(2, 3),
        (draw(3, 4),),
    ),
    "pad_expand": (lambda x: x.pad(1, 3.0)[1:] * x.unsqueeze(0).expand(1, 1, 4).sum(), (draw(4),)),
    "window": (lambda x: wf.window(x, 0, 3, 2, 2).prod(1), (draw(9),)),
    "joins": (
        lambda x, y: wf.concat([x, y * x], 1) * wf.stack([x, x], 0).reshape(3, 4),
        (draw(3, 2), draw(3, 2)),
    ),
    "gather": (lambda x: x[wf.tensor([0, 2, 0])] * x.take(wf.tensor([1, -1, 1]), 0), (draw(3, 2),)),
    "take_along": (lambda x: wf.take_along_axis(x, wf.tensor([[0], [2]]), 1), (draw(2, 3),)),
    "scatter": (
        lambda x, v: wf.scatter_add(x, wf.tensor([0, 0]), v) ** 2,
        (draw(3, 2), draw(2, 2)),
    ),
}


def _set(x: wf.Tensor, v: wf.Tensor) -> wf.Tensor:
    y = x * 1.0
    y[1:, ::2] = v
    return y * y


F["setitem"] = (_set, (draw(3, 4), draw(2, 2)))


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("name", F)
def test_first_derivatives(name: str) -> None:
    f, inputs = F[name]
    wf.check_grad(f, *inputs)


# Those whose gradients are made of functions of one number, or of what others show.
SIMPLE = [
    "log", "sqrt", "trigonometry", "sigmoid", "relu_abs", "mod", "sum_mean", "prod",
    "matmul_vectors", "take_along", "rsqrt", "softplus", "silu_gelu", "max_min", "logsumexp",
    "pad_expand",
]  # fmt: skip
SECOND = sorted(set(F) - {"log1p", "expm1", *SIMPLE})


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", [*SECOND, *rarely(*SIMPLE)])
def test_second_derivatives(name: str) -> None:
    f, inputs = F[name]

    def first(*xs: wf.Tensor) -> wf.Tensor:
        y = f(*xs)
        gradients = wf.grad((y * y).sum(), list(xs), allow_unused=True)
        return sum((g * (k + 1.0)).sum() for k, g in enumerate(gradients))

    wf.check_grad(first, *inputs, rtol=1e-4, atol=1e-5, max_elements=4)


def test_third_derivative() -> None:
    x = wf.tensor(np.array(0.7))
    g = x.sin()
    for _ in range(3):
        g = wf.grad(g, x)
    assert g.item() == pytest.approx(-np.cos(0.7), abs=1e-12)


def test_functions_without_a_slope() -> None:
    x = wf.tensor([0.3, -1.2, 0.0], requires_grad=True)
    (x.floor() + x.ceil() + x.round() + x.trunc() + x.sign() + x.abs() * 0 + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_derivatives_at_kinks() -> None:
    x = wf.tensor([0.0], requires_grad=True)
    assert [wf.grad(f(x), x).item() for f in (wf.relu, wf.abs, wf.sign, wf.floor, wf.round)] == [
        0
    ] * 5
    assert wf.grad(x.sigmoid(), x).item() == 0.25 and wf.grad(x.softplus(), x).item() == 0.5
    assert wf.grad(wf.maximum(x, 0.0), x).item() == 0.5  # ties share
    assert wf.grad(x.clip(0, 1), x).item() == 1.0


def test_the_deviation_of_equal_numbers_has_no_slope() -> None:
    x = wf.ones(3, 4, requires_grad=True)
    (x.std() + x.std(0).sum() + wf.norm(x - 1)).backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0] * 4] * 3


def test_where_keeps_nan_out_of_the_gradient() -> None:
    x = wf.tensor([0.0, 4.0], requires_grad=True)
    wf.where(x > 0, x.sqrt(), 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_sigmoid_family_has_finite_gradients_far_out() -> None:
    x = wf.tensor([-500.0, 500.0], requires_grad=True)
    (x.sigmoid() + x.softplus() + x.silu() + x.gelu()).sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


# ---------------------------------------------------------------- backward


def test_backward_accumulates_over_shared_nodes_and_calls() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    (y + y * x).sum().backward()
    assert x.grad.tolist() == [5.0, 16.0]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [8.0, 19.0]


def test_gradients_are_lazy() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert repr(x.grad) == "<Tensor float32[2] cpu lazy>"


def test_backward_with_a_cotangent() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(wf.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]
    with pytest.raises(wf.errors.GradientError, match="single element"):
        (x * x).backward()
    with pytest.raises(wf.errors.ShapeError):
        (x * x).backward(wf.tensor([1.0]))


def test_equal_leaves_do_not_share_gradients() -> None:
    a, b = wf.zeros(2, requires_grad=True), wf.zeros(2, requires_grad=True)
    (a * 2 + b * 3).sum().backward()
    assert a.grad.tolist() == [2, 2] and b.grad.tolist() == [3, 3]
    c = wf.rand(2).requires_grad_()
    (c * a.detach()).sum().backward()
    assert c.grad.tolist() == [0, 0] and a.grad.tolist() == [2, 2]


def test_deep_copies_are_leaves_of_their_own() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = copy.deepcopy(x)
    (x * y * y).sum().backward()
    assert x.grad.tolist() == [1.0, 4.0] and y.grad.tolist() == [2.0, 8.0]
    with wf.no_grad():
        x += 1
    assert y.tolist() == [1.0, 2.0] and x.tolist() == [2.0, 3.0]


def test_requires_grad_spreads_and_detach_stops() -> None:
    x = wf.tensor([2.0], requires_grad=True)
    y = x * 3
    assert (
        y.requires_grad
        and not y.is_leaf
        and x.is_leaf
        and not (x > 1).requires_grad
        and not y.detach().requires_grad
    )
    (y.detach() * x).sum().backward()
    assert x.grad.tolist() == [6.0]
    with pytest.raises(wf.errors.GradientError, match="does not depend"):
        y.detach().sum().backward()


def test_no_grad_cuts_history() -> None:
    x = wf.tensor([2.0], requires_grad=True)
    with wf.no_grad():
        y = x * 3
        with wf.enable_grad():
            z = x * 5
    assert not y.requires_grad and z.requires_grad
    (
        x * 3 * y + z
    ).sum().backward()  # x * 3 is the same node as y, yet only the tracked one has a gradient
    assert x.grad.tolist() == [23.0]

    @wf.no_grad()
    def f() -> wf.Tensor:
        return x * 2

    assert not f().requires_grad and (x * 2).requires_grad


def test_a_second_backward_needs_retain_graph() -> None:
    x = wf.tensor([2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [8.0]
    with pytest.raises(wf.errors.GradientError, match="retain_graph"):
        loss.backward()
    assert loss.item() == 4.0


def test_retain_grad_and_hooks() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    seen = []
    y.register_hook(seen.append)
    remove = x.register_hook(lambda g: g * 10)
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0] == seen[0].tolist() and x.grad.tolist() == [80.0, 160.0]
    remove()
    x.grad = None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_in_place_changes_of_a_leaf_need_no_grad() -> None:
    x = wf.tensor([1.0], requires_grad=True)
    with pytest.raises(wf.errors.GradientError, match="no_grad"):
        x += 1
    with wf.no_grad():
        x -= 0.5
    assert x.tolist() == [0.5] and x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_in_place_on_a_result_keeps_gradients_right() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y *= x
    y[0] = x[1]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 9.0]


# ---------------------------------------------------------------- functions


def test_grad_forms() -> None:
    x, y = wf.tensor([1.0, 2.0]), wf.tensor([3.0, 4.0])
    loss = (x * y).sum()
    assert wf.grad(loss, x).tolist() == [3, 4]
    assert [g.tolist() for g in wf.grad(loss, [x, y])] == [[3, 4], [1, 2]]
    assert wf.grad(x * y, x, gradient=wf.tensor([1.0, 0.0])).tolist() == [3, 0]
    z = wf.tensor([1.0])
    with pytest.raises(wf.errors.GradientError, match=r"does not depend on wrt\[0\]"):
        wf.grad(loss, [z])
    assert wf.grad(loss, z, allow_unused=True).tolist() == [0]
    with pytest.raises(wf.errors.DTypeError):
        wf.grad(loss, wf.tensor([1]))


def test_gradient_by_a_computed_tensor() -> None:
    x = wf.tensor([1.0, 2.0])
    h = x * 2
    loss = (h * h).sum()
    h.realize()
    assert wf.grad(loss, h).tolist() == [4.0, 8.0]


def test_value_and_grad() -> None:
    f = wf.value_and_grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))
    value, (ga, gb) = f(wf.tensor([2.0]), 3.0)
    assert value.item() == 12.0 and ga.tolist() == [12.0] and gb.item() == 4.0
    value, g = wf.value_and_grad(lambda a: a.sum())(wf.ones(3))
    assert g.tolist() == [1, 1, 1]


def test_products_with_jacobians_and_hessians() -> None:
    x, v = wf.tensor(draw(4)), wf.tensor(draw(4))
    out, pull = wf.vjp(lambda a: a.sin(), x)
    np.testing.assert_allclose(pull(v)[0].numpy(), v.numpy() * np.cos(x.numpy()))
    value, tangent = wf.jvp(lambda a: a.sin() * a, (x,), (v,))
    np.testing.assert_allclose(
        tangent.numpy(), v.numpy() * (np.cos(x.numpy()) * x.numpy() + np.sin(x.numpy()))
    )
    hv = wf.hessian_vector_product(lambda a: (a**3).sum(), x, v)
    np.testing.assert_allclose(hv.numpy(), 6 * x.numpy() * v.numpy())
    assert out.shape == value.shape == (4,)


def test_gradient_of_a_gradient_penalty() -> None:
    x = wf.tensor([2.0], requires_grad=True)
    (g,) = wf.grad((x**3).sum(), [x])
    (g * g).sum().backward()
    assert x.grad.item() == pytest.approx(2 * 12 * 12.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_check_grad_checks_inputs_of_every_float_dtype(dtype: str) -> None:
    wf.check_grad(lambda x: x * x, wf.tensor([1.0, 2.0], dtype=dtype))
    with pytest.raises(wf.errors.GradientError, match=r"input 0\[1\]: gradient"):
        wf.check_grad(lambda x: x * x.detach(), wf.tensor([1.0, 2.0], dtype=dtype))


def test_check_grad_reports_what_is_off() -> None:
    with pytest.raises(
        wf.errors.GradientError, match=r"input 0\[1\]: gradient 0, central difference"
    ):
        wf.check_grad(
            lambda x: (
                x * x.detach() + x.detach() * wf.tensor([0.0, 1.0]) - x * wf.tensor([0.0, 3.0])
            ),
            np.array([0.0, 3.0]),
        )


def test_check_grad_refuses_to_check_nothing() -> None:
    with pytest.raises(wf.errors.DTypeError, match="check_grad: no input has floats"):
        wf.check_grad(lambda x: x.sum(), wf.arange(3))


def test_a_gradient_that_does_not_fit_is_refused_when_it_is_set() -> None:
    x = wf.ones(2, requires_grad=True)
    with pytest.raises(
        wf.errors.ShapeError, match=r"grad: a gradient of shape \(3,\) does not fit shape \(2,\)"
    ):
        x.grad = wf.ones(3)
    with pytest.raises(
        wf.errors.DTypeError, match="grad: a gradient must be a Tensor or None, not "
    ):
        x.grad = np.ones(2)
    assert x.grad is None
    x.grad = wf.ones(2)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
