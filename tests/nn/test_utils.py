"""nn.utils against NumPy and torch: gradients that are limited, parameters as one vector; kernels,
and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from stepping import stepper
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F
from weft.nn import optim, utils

Array = np.ndarray
ORDERS = pytest.mark.parametrize("order", [2.0, 1, 3.5, 0.5, inf, "inf"])


def gradients() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in [(3, 4), (5,), (), (2, 1, 3)]]


def parameters(values: list[Array], dtype: wf.DType = wf.float64) -> list[wf.nn.Parameter]:
    """Parameters with these gradients, and one without."""
    found = [wf.nn.Parameter(wf.zeros(a.shape, dtype=dtype)) for a in values]
    for p, g in zip(found, values, strict=True):
        p.grad = wf.tensor(g, dtype=dtype)
    return [*found, wf.nn.Parameter(wf.ones(2))]


def grads(params: list[wf.nn.Parameter]) -> list[Array]:
    return [p.grad.numpy() for p in params if p.grad is not None]


# ---------------------------------------------------------------- the norm


@pytest.mark.thinned(to=2)
@ORDERS
@pytest.mark.parametrize("most", [0.5, 100.0])
def test_gradients_are_scaled_to_the_norm(order: Any, most: float) -> None:
    values, params = gradients(), parameters(gradients())
    norm = np.linalg.norm(np.concatenate([g.ravel() for g in values]), float(order))
    assert utils.clip_grad_norm_(params, most, order).item() == pytest.approx(norm, rel=1e-12)
    for got, g in zip(grads(params), values, strict=True):
        np.testing.assert_allclose(got, g * min(1.0, most / (norm + 1e-6)), rtol=1e-12)


@ORDERS
def test_gradients_are_scaled_as_in_torch(order: Any) -> None:
    torch = pytest.importorskip("torch")
    params = parameters(gradients())
    theirs = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in gradients()]
    for p, g in zip(theirs, gradients(), strict=True):
        p.grad = torch.tensor(g)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, 0.5, order)
    assert utils.clip_grad_norm_(params, 0.5, order).item() == pytest.approx(
        wanted.item(), rel=1e-12
    )
    for got, p in zip(grads(params), theirs, strict=True):
        np.testing.assert_allclose(got, p.grad.numpy(), rtol=1e-12)


def test_without_gradients_the_norm_is_zero() -> None:
    assert utils.clip_grad_norm_([wf.nn.Parameter(wf.ones(2))], 1.0).item() == 0.0


def test_one_parameter_is_clipped_alone() -> None:
    p = parameters([np.array([3.0, 4.0])])[0]
    assert utils.clip_grad_norm_(p, 2.5).item() == 5.0


def test_a_gradient_without_elements_counts_for_nothing() -> None:
    params = parameters([np.zeros((0, 3)), np.array([3.0, -4.0])])
    assert utils.clip_grad_norm_(params, 1.0, inf).item() == 4.0 and params[0].grad.shape == (0, 3)


def test_half_gradients_are_summed_in_float32() -> None:
    """The square of 300 is beyond float16."""
    params = parameters([np.full(4, 300.0)], wf.float16)
    norm = utils.clip_grad_norm_(params, 60.0)
    assert norm.item() == 600.0 and norm.dtype is wf.float32
    assert params[0].grad.dtype is wf.float16 and params[0].grad.tolist() == [30.0] * 4


@pytest.mark.parametrize("wrong", [nan, inf])
def test_a_norm_that_is_not_finite_spoils_all_or_is_refused(wrong: float) -> None:
    params = parameters([np.array([1.0, wrong]), np.array([2.0])])
    before = [p.grad for p in params]
    with pytest.raises(
        ValueError, match=r"clip_grad_norm_: the gradients' norm of order 2 is (nan|inf)"
    ):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert all(p.grad is g for p, g in zip(params, before, strict=True))
    utils.clip_grad_norm_(params, 1.0)
    assert np.isnan(params[0].grad.numpy()[1])


def test_values_are_limited_and_nan_stays() -> None:
    params = parameters([np.array([-3.0, 0.5, nan]), np.array([[9.0]])])
    utils.clip_grad_value_(params, 1)
    np.testing.assert_array_equal(params[0].grad.numpy(), [-1.0, 0.5, nan])
    assert params[1].grad.tolist() == [[1.0]] and params[2].grad is None


# ---------------------------------------------------------------- in a training step


class Clipped(optim.SGD):
    """Clips before each step, and keeps the norm."""

    norm: wf.Tensor

    def step(self, closure: Any = None) -> Any:
        self.norm = utils.clip_grad_norm_(self.params, 0.1)
        return super().step(closure)


def network() -> wf.nn.Module:
    wf.manual_seed(0)
    return wf.nn.Sequential(wf.nn.Linear(8, 32), wf.nn.ReLU(), wf.nn.Linear(32, 4))


def batch() -> tuple[wf.Tensor, wf.Tensor]:
    rng = np.random.default_rng(0)
    return wf.tensor(rng.standard_normal((16, 8)).astype("float32")), wf.tensor(
        rng.integers(0, 4, 16)
    )


@pytest.mark.slow
def test_clipping_joins_the_one_program_of_a_step() -> None:
    model = network()
    optimizer = Clipped(model.parameters(), 0.1)
    step = stepper(model, optimizer)
    step(*batch())
    before = statistics["runs"]
    loss = step(*batch())
    assert loss.item() > 0 and optimizer.norm.item() > 0.1
    assert statistics["runs"] - before == 1


@pytest.mark.slow
def test_a_clipped_step_has_the_same_bits_lazy_and_jitted() -> None:
    results = []
    for wrapper in (wf.jit, lambda f: f):
        model = network()
        step = wrapper(stepper(model, Clipped(model.parameters(), 0.1)))
        losses = [step(*batch()).tolist() for _ in range(3)]
        results.append([losses, *(p.tolist() for p in model.parameters())])
    assert results[0] == results[1]


def test_the_limit_may_be_a_number_of_a_jitted_function() -> None:
    p = parameters([np.array([3.0, 4.0])])[0]

    @wf.jit
    def norm(x: wf.Tensor, limit: float) -> tuple[wf.Tensor, wf.Tensor]:
        p.grad = x
        return utils.clip_grad_norm_([p], limit), p.grad

    p.grad = None
    for limit in (1.0, 2.5):
        found, clipped = norm(wf.tensor([3.0, 4.0], dtype=wf.float64), limit)
        assert found.item() == 5.0
        np.testing.assert_allclose(clipped.numpy(), np.array([3.0, 4.0]) * limit / 5.0, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("convolves", [False, *rarely(True)])
def test_clipping_adds_few_kernels_to_a_step(convolves: bool) -> None:
    """The sums of squares join the kernels that compute the gradients; what is left is one kernel,
    and updates behind it."""
    counts = []
    for make in (optim.SGD, Clipped):
        wf.manual_seed(0)
        first = [wf.nn.Flatten(), wf.nn.Linear(196, 144), wf.nn.ReLU()]
        if convolves:
            first = [wf.nn.Conv2d(1, 4, 3), wf.nn.ReLU(), wf.nn.MaxPool2d(2), wf.nn.Flatten()]
        model = wf.nn.Sequential(*first, wf.nn.Linear(144, 10))
        step = wf.jit(stepper(model, make(model.parameters(), 0.1)))
        x, y = wf.zeros((32, 1, 14, 14)), wf.tensor(np.arange(32) % 10)
        counts.append(len(wf.explain(step, x, y).kernels))
    assert counts[1] <= counts[0] + 4


# ---------------------------------------------------------------- one vector


def test_parameters_become_a_vector_and_are_set_from_one() -> None:
    params = [wf.nn.Parameter(g.astype("float32")) for g in gradients()]
    wanted = np.concatenate([g.ravel() for g in gradients()]).astype("float32")
    vector = utils.parameters_to_vector(params)
    np.testing.assert_array_equal(vector.numpy(), wanted)
    utils.vector_to_parameters(vector * 2, params)
    for p, g in zip(params, gradients(), strict=True):
        np.testing.assert_array_equal(p.numpy(), g.astype("float32") * 2)
        assert p.is_leaf and p.requires_grad


def test_gradients_flow_through_the_vector() -> None:
    params = [wf.nn.Parameter(g) for g in gradients()]
    utils.parameters_to_vector(params).square().sum().backward()
    for p, g in zip(params, gradients(), strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), 2 * g)


def test_a_function_of_a_vector_sets_the_weights_of_a_network() -> None:
    model, other = network(), network()
    utils.vector_to_parameters(
        utils.parameters_to_vector(model.parameters()) * 3, other.parameters()
    )
    x = batch()[0]
    first, second = (m(x).numpy() for m in (model, other))
    h = np.maximum(x.numpy() @ model[0].weight.numpy().T * 3 + 3 * model[0].bias.numpy(), 0)
    np.testing.assert_allclose(
        second, h @ model[2].weight.numpy().T * 3 + 3 * model[2].bias.numpy(), rtol=1e-4, atol=1e-4
    )
    assert not np.allclose(first, second)


# ---------------------------------------------------------------- what is refused

P = wf.nn.Parameter(wf.ones(3))
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: utils.clip_grad_norm_([P], -1.0),
        ValueError,
        "clip_grad_norm_: max_norm must be at least 0, not -1.0",
    ),
    (
        lambda: utils.clip_grad_norm_([P], nan),
        ValueError,
        "clip_grad_norm_: max_norm must be at least 0, not nan",
    ),
    (
        lambda: utils.clip_grad_norm_([P], "a"),
        TypeError,
        "clip_grad_norm_: max_norm must be a real number",
    ),  # type: ignore[arg-type]
    (
        lambda: utils.clip_grad_norm_([P], 1.0, 0),
        ValueError,
        "clip_grad_norm_: norm_type must be greater than 0, not 0",
    ),
    (
        lambda: utils.clip_grad_norm_([1.0], 1.0),
        TypeError,
        "clip_grad_norm_: every parameter must be a Tensor, not 1.0",
    ),  # type: ignore[list-item]
    (
        lambda: utils.clip_grad_norm_(3, 1.0),
        TypeError,
        "clip_grad_norm_: parameters must be a sequence",
    ),  # type: ignore[arg-type]
    (
        lambda: utils.clip_grad_value_([P], -2),
        ValueError,
        "clip_grad_value_: clip_value must be at least 0, not -2",
    ),
    (
        lambda: utils.parameters_to_vector([]),
        ValueError,
        "parameters_to_vector: there are no parameters",
    ),
    (
        lambda: utils.vector_to_parameters([1.0], [P]),
        TypeError,
        "vector_to_parameters: vec must be a Tensor",
    ),  # type: ignore[arg-type]
    (
        lambda: utils.vector_to_parameters(wf.ones(4), [P]),
        ValueError,
        "vec has shape (4,), but the parameters have 3 elements",
    ),
    (
        lambda: utils.vector_to_parameters(wf.ones(3, 1), [P]),
        ValueError,
        "vec has shape (3, 1), but the parameters have 3",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_what_does_not_fit_is_refused(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, wf.errors.WeftError) and P.tolist() == [1.0, 1.0, 1.0]


def test_the_norm_cannot_be_looked_at_in_a_jitted_function() -> None:
    model = network()

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        F.cross_entropy(model(x), y).backward()
        return utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)

    with pytest.raises(wf.errors.JitError, match="is read while step is traced"):
        wf.jit(step)(*batch())
