"""The activations against NumPy formulas: values, slopes also where pieces meet, NaN, large
arguments, layers, errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf
from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, derivative_holds, log_softmax, normal
from weft import nn
from weft.nn import functional as F

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0, -x))


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


SMOOTH: dict[str, tuple[dict[str, Any], Callable[[Array], Array]]] = {
    "gelu": ({}, lambda x: x * np.array([0.5 * (1 + erf(v / np.sqrt(2))) for v in x])),
    "gelu tanh": ({"approximate": "tanh"}, gelu_tanh),
    "silu": ({}, lambda x: x * sigmoid(x)),
    "mish": ({}, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "sigmoid": ({}, sigmoid),
    "logsigmoid": ({}, lambda x: -np.logaddexp(0, -x)),
    "tanh": ({}, np.tanh),
    "softplus": ({"beta": 2.0, "threshold": 30.0}, lambda x: np.logaddexp(0, 2 * x) / 2),
    "softsign": ({}, lambda x: x / (1 + abs(x))),
    "celu": ({"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0) / 0.5))),
    "softmax": ({}, lambda x: np.exp(log_softmax(x))),
    "log_softmax": ({}, log_softmax),
    "softmin": ({}, lambda x: np.exp(log_softmax(-x))),
}
PIECES: dict[str, tuple[dict[str, Any], Callable[[Array], Array]]] = {
    "elu": ({"alpha": 1.5}, lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0)))),
    "selu": (
        {},
        lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
    ),
    "relu": ({}, lambda x: np.maximum(x, 0)),
    "relu6": ({}, lambda x: x.clip(0, 6)),
    "hardtanh": ({"min_val": -2.0, "max_val": 3.0}, lambda x: x.clip(-2, 3)),
    "hardsigmoid": ({}, lambda x: (x + 3).clip(0, 6) / 6),
    "hardswish": ({}, lambda x: x * (x + 3).clip(0, 6) / 6),
    "leaky_relu": ({"negative_slope": 0.2}, lambda x: np.where(x > 0, x, 0.2 * x)),
    "threshold": ({"threshold": 0.3, "value": -1.0}, lambda x: np.where(x > 0.3, x, -1.0)),
}
ALL = SMOOTH | PIECES


def function(name: str) -> Callable[..., wf.Tensor]:
    return partial(getattr(F, name.split(maxsplit=1)[0]), **ALL[name][0])


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", ALL)
def test_values_and_slopes(name: str) -> None:
    x = np.array([-7.0, -3.2, -1.5, -0.4, 0.25, 0.7, 1.9, 3.4, 8.0])
    close(function(name)(wf.tensor(x)), ALL[name][1](x), 1e-9)
    derivative_holds(function(name), x)


SLOPES: dict[
    str, tuple[dict[str, Any], dict[float, float]]
] = {  # where pieces meet, those of PyTorch
    "relu": ({}, {0.0: 0.0}),
    "relu6": ({}, {0.0: 0.0, 6.0: 0.0}),
    "hardtanh": ({}, {-1.0: 0.0, 1.0: 0.0}),
    "hardsigmoid": ({}, {-3.0: 0.0, 3.0: 0.0}),
    "hardswish": ({}, {-3.0: 0.0, 0.0: 0.5, 3.0: 1.0}),
    "leaky_relu": ({"negative_slope": 0.2}, {0.0: 0.2}),
    "threshold": ({"threshold": 0.5, "value": 0.0}, {0.5: 0.0}),
    "elu": ({"alpha": 1.5}, {0.0: 1.5}),
    "selu": ({}, {0.0: SELU_ALPHA * SELU_SCALE}),
    "celu": ({"alpha": 0.5}, {0.0: 1.0}),
    "softsign": ({}, {0.0: 1.0}),
    "softplus": ({}, {0.0: 0.5, 20.0: sigmoid(np.array(20.0)), 21.0: 1.0}),
    "logsigmoid": ({}, {0.0: 0.5}),
    "mish": ({}, {0.0: 0.6}),
}


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_where_pieces_meet(name: str) -> None:
    settings, slopes = SLOPES[name]
    x = wf.tensor(np.array(list(slopes)), requires_grad=True)
    getattr(F, name)(x, **settings).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), list(slopes.values()), rtol=1e-14)


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize(
    "name", sorted(set(ALL) - {"softmax", "log_softmax", "softmin", "gelu tanh"})
)  # that cubes x
def test_large_arguments_and_nan(name: str) -> None:
    a = np.array([-1e30, -1e4, -90.0, 90.0, 1e4, 1e30, np.nan], np.float32)
    x = wf.tensor(a, requires_grad=True)
    out = function(name)(x)
    out.sum().backward()
    assert np.isfinite(out.numpy()[:-1]).all() and np.isfinite(x.grad.numpy()[:-1]).all()
    assert np.isnan(out.numpy()[-1])


def test_softplus_is_its_argument_above_the_threshold() -> None:
    x = wf.tensor(np.array([4.9, 5.1]))
    assert (F.softplus(x, beta=2.0, threshold=10.0) == x).tolist() == [False, True]


def test_softmax_takes_an_axis() -> None:
    x = normal(2, 3, 4)
    close(F.softmin(wf.tensor(x), 1), np.exp(log_softmax(-x, 1)), 1e-9)
    close(nn.LogSoftmax(0)(wf.tensor(x)), log_softmax(x, 0), 1e-9)


def test_glu() -> None:
    x = normal(4, 6)
    close(F.glu(wf.tensor(x)), x[:, :3] * sigmoid(x[:, 3:]), 1e-9)
    close(nn.GLU(0)(wf.tensor(x)), x[:2] * sigmoid(x[2:]), 1e-9)
    derivative_holds(F.glu, x)
    with pytest.raises(
        wf.errors.ShapeError, match=r"glu: axis 1 of shape \(2, 3\) does not have two halves"
    ):
        F.glu(wf.zeros(2, 3), 1)


def test_prelu_has_a_weight_for_all_channels_or_for_each() -> None:
    x, w = normal(2, 3, 2), np.array([0.5, 0.25, 2.0])
    close(F.prelu(wf.tensor(x), w), np.where(x > 0, x, w[:, None] * x))
    close(F.prelu(wf.tensor(x), w[:1]), np.where(x > 0, x, 0.5 * x))
    close(F.prelu(wf.tensor(x[0, 0]), w[:1]), np.where(x[0, 0] > 0, x[0, 0], 0.5 * x[0, 0]))
    assert F.prelu(wf.tensor(-2.0), w[:1]).item() == -1.0
    derivative_holds(F.prelu, x, w)
    with pytest.raises(
        wf.errors.ShapeError, match="weight has 1 element or 3, one for each channel"
    ):
        F.prelu(wf.zeros(2, 3), wf.zeros(2))


def test_prelu_learns_its_weight() -> None:
    layer = nn.PReLU(2)
    layer(wf.tensor([[-1.0, -3.0], [2.0, -1.0]])).sum().backward()
    assert layer.weight.tolist() == [0.25, 0.25] and layer.weight.grad.tolist() == [-1.0, -4.0]
    assert repr(layer).startswith("PReLU(num_parameters=2)") and list(layer.state_dict()) == [
        "weight"
    ]


LAYERS: dict[nn.Module, tuple[str, tuple[Any, ...]]] = {
    nn.GELU("tanh"): ("gelu", ("tanh",)), nn.SiLU(): ("silu", ()), nn.Mish(): ("mish", ()),
    nn.Sigmoid(): ("sigmoid", ()),
    nn.LogSigmoid(): ("logsigmoid", ()), nn.Tanh(): ("tanh", ()),
    nn.Softplus(2.0, 1.0): ("softplus", (2.0, 1.0)),
    nn.Softsign(): ("softsign", ()), nn.ELU(0.5): ("elu", (0.5,)), nn.SELU(): ("selu", ()),
    nn.CELU(0.5): ("celu", (0.5,)),
    nn.Softmax(0): ("softmax", (0,)), nn.LogSoftmax(0): ("log_softmax", (0,)),
    nn.Softmin(0): ("softmin", (0,)),
    nn.ReLU(): ("relu", ()), nn.ReLU6(): ("relu6", ()),
    nn.Hardtanh(-0.5, 0.1): ("hardtanh", (-0.5, 0.1)),
    nn.Hardsigmoid(): ("hardsigmoid", ()), nn.Hardswish(): ("hardswish", ()),
    nn.LeakyReLU(0.5): ("leaky_relu", (0.5,)),
    nn.Threshold(0.1, 0.3): ("threshold", (0.1, 0.3)), nn.GLU(0): ("glu", (0,)),
}  # fmt: skip


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_a_layer_passes_its_settings_on(layer: nn.Module) -> None:
    name, settings = LAYERS[layer]
    x = wf.tensor(normal(6) * 2)
    np.testing.assert_array_equal(layer(x).numpy(), getattr(F, name)(x, *settings).numpy())
    assert all(str(setting) in repr(layer) for setting in settings)


def test_activations_of_halves_round_once() -> None:
    x = wf.tensor(normal(20)).half()
    for f in (F.mish, F.elu, F.hardswish, F.softplus, F.softsign):
        np.testing.assert_array_equal(f(x).numpy(), f(x.float()).half().numpy())


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: F.hardtanh(wf.zeros(2), 1.0, -1.0),
        ValueError,
        "min_val=1.0 must not be above max_val=-1.0",
    ),
    (lambda: F.celu(wf.zeros(2), 0.0), ValueError, "alpha must not be 0"),
    (lambda: F.elu(wf.zeros(2), "1"), TypeError, "elu: alpha must be a real number, not '1'"),
    (lambda: F.softplus("x"), TypeError, "softplus: x must be a Tensor, an array or a number"),
    (lambda: nn.PReLU(-1), ValueError, "num_parameters must be at least 0, not -1"),
    (lambda: F.softmin(wf.zeros(2), 1), wf.errors.AxisError, "axis 1 is out of range"),
]


@pytest.mark.parametrize(("call", "kind", "says"), WRONG)
def test_what_is_refused(call: Callable[[], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        call()
