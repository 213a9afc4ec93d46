"""Initial values: each distribution by its moments, its bounds and its whole shape, and those of
the layers beside torch's."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, sqrt
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn

init = nn.init
SHAPE = (40, 10, 5, 5)  # fan_in 250, fan_out 1000
COUNT = 50_000
Array = np.ndarray[Any, Any]


def flat(t: wf.Tensor) -> Array:
    return t.numpy().astype(np.float64).ravel()


def normal_cdf(x: Array) -> Array:
    return np.array([0.5 * (1.0 + erf(v / sqrt(2.0))) for v in x])


def farthest(draws: Array, cdf: Callable[[Array], Array]) -> float:
    """Kolmogorov's distance in units of 1 / sqrt(n): above 2 with a chance of 0.07 %."""
    steps, expected = np.arange(len(draws) + 1) / len(draws), cdf(np.sort(draws))
    return float(
        max(np.abs(steps[1:] - expected).max(), np.abs(steps[:-1] - expected).max())
        * np.sqrt(len(draws))
    )


def uniform_within(low: float, high: float) -> Callable[[Array], None]:
    def check(draws: Array) -> None:
        assert low <= draws.min() and draws.max() <= high
        assert farthest(draws, lambda x: (x - low) / (high - low)) < 2

    return check


def normal_with(mean: float, std: float) -> Callable[[Array], None]:
    def check(draws: Array) -> None:
        assert (
            abs(draws.mean() - mean) < 4 * std / sqrt(COUNT) and abs(draws.std() / std - 1) < 0.02
        )
        assert farthest(draws, lambda x: normal_cdf((x - mean) / std)) < 2

    return check


def truncated(mean: float, std: float, a: float, b: float) -> Callable[[Array], None]:
    def check(draws: Array) -> None:
        assert a <= draws.min() and draws.max() <= b
        low, high = normal_cdf(np.array([(a - mean) / std, (b - mean) / std]))
        assert farthest(draws, lambda x: (normal_cdf((x - mean) / std) - low) / (high - low)) < 2

    return check


CASES: dict[str, tuple[Callable[[wf.Tensor], wf.Tensor], Callable[[Array], None]]] = {
    "uniform": (lambda t: init.uniform_(t, -2.0, 3.0), uniform_within(-2.0, 3.0)),
    "uniform from 0 to 1": (init.uniform_, uniform_within(0.0, 1.0)),
    "normal": (lambda t: init.normal_(t, 1.0, 0.5), normal_with(1.0, 0.5)),
    "standard normal": (init.normal_, normal_with(0.0, 1.0)),
    "truncated": (init.trunc_normal_, truncated(0.0, 1.0, -2.0, 2.0)),
    "truncated far out": (
        lambda t: init.trunc_normal_(t, 1.0, 0.5, 1.5, 9.0),
        truncated(1.0, 0.5, 1.5, 9.0),
    ),
    "hardly truncated": (
        lambda t: init.trunc_normal_(t, 0.0, 0.1, -2.0, 2.0),
        truncated(0.0, 0.1, -2.0, 2.0),
    ),
    "xavier uniform": (
        lambda t: init.xavier_uniform_(t, 2.0),
        uniform_within(-2 * sqrt(6 / 1250), 2 * sqrt(6 / 1250)),
    ),
    "xavier normal": (init.xavier_normal_, normal_with(0.0, sqrt(2 / 1250))),
    "kaiming uniform": (init.kaiming_uniform_, uniform_within(-sqrt(6 / 250), sqrt(6 / 250))),
    "kaiming uniform of a slope": (
        lambda t: init.kaiming_uniform_(t, sqrt(5.0), mode="fan_out"),
        uniform_within(-sqrt(1 / 1000), sqrt(1 / 1000)),
    ),
    "kaiming normal": (
        lambda t: init.kaiming_normal_(t, nonlinearity="relu"),
        normal_with(0.0, sqrt(2 / 250)),
    ),
    "kaiming normal of tanh": (
        lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"),
        normal_with(0.0, 5 / 3 / sqrt(1000)),
    ),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("case", CASES)
def test_the_distribution_is_the_one_named(case: str) -> None:
    fill, check = CASES[case]
    wf.manual_seed(5)
    p = nn.Parameter(wf.zeros(SHAPE))
    assert fill(p) is p and p.requires_grad and p.is_leaf
    check(flat(p))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_values_have_the_dtype_of_the_tensor(dtype: str) -> None:
    wf.manual_seed(5)
    t = init.normal_(wf.zeros(SHAPE, dtype=dtype), 0.0, 2.0)
    assert t.dtype.name == dtype
    draws = t.double().numpy().ravel()
    assert abs(draws.mean()) < 0.04 and abs(draws.std() - 2) < 0.04
    wide = len(np.unique(draws.astype(np.float32))) < len(np.unique(draws))
    assert wide == (dtype == "float64")  # which a float32 does not hold


def test_constants() -> None:
    assert init.ones_(wf.zeros(2, dtype="int64")).tolist() == [1, 1]
    assert init.zeros_(wf.ones(2)).tolist() == [0, 0] and init.constant_(
        wf.ones(2), -1.5
    ).tolist() == [-1.5, -1.5]
    np.testing.assert_array_equal(init.eye_(wf.full((3, 2), 7.0)).numpy(), np.eye(3, 2))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (3, 2, 4), (5, 5)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    wf.manual_seed(2)
    w = init.orthogonal_(nn.Parameter(wf.zeros(shape)), gain=2.0).numpy().reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4.0 * np.eye(len(small)), atol=1e-6)


@pytest.mark.slow
def test_orthogonal_is_drawn_evenly() -> None:
    wf.manual_seed(3)
    first = np.array([init.orthogonal((2, 2)).numpy()[0] for _ in range(150)])
    angles = np.arctan2(first[:, 1], first[:, 0])
    assert farthest(angles, lambda x: (x + np.pi) / (2 * np.pi)) < 2


def test_inverse_erf() -> None:
    from weft.nn.initial import inverse_erf

    x = np.concatenate([np.linspace(-4.0, 4.0, 2001), [1e-6, -3e-4]])
    y = np.array([erf(v) for v in x])
    np.testing.assert_allclose(inverse_erf(wf.tensor(y)).numpy(), x, rtol=5e-6, atol=1e-12)


def test_gains_are_torchs() -> None:
    expected = {
        "linear": 1,
        "sigmoid": 1,
        "tanh": 5 / 3,
        "relu": sqrt(2),
        "selu": 0.75,
        "leaky_relu": sqrt(2 / 1.0001),
    }
    assert {name: init.calculate_gain(name) for name in expected} == pytest.approx(expected)
    assert init.calculate_gain("leaky_relu", 1.0) == pytest.approx(1.0)


def test_the_seed_decides_the_values_and_building_computes_nothing() -> None:
    runs = wf.frontend.lazy.program_table.statistics["runs"]
    layers = [nn.Linear(3, 2), nn.Linear(3, 2)]
    for layer in layers:
        wf.manual_seed(7)
        init.kaiming_normal_(layer.weight)
    assert wf.frontend.lazy.program_table.statistics["runs"] == runs
    np.testing.assert_array_equal(layers[0].weight.numpy(), layers[1].weight.numpy())


def test_what_cannot_be_initialised_is_refused() -> None:
    E = wf.errors
    t, v = wf.zeros(2, 3), wf.zeros(3)
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (
            lambda: init.xavier_uniform_(v),
            E.ShapeError,
            r"a weight has the shape \(out, in, \*kernel\), not \(3,\)",
        ),
        (lambda: init.eye_(v), E.ShapeError, "eye_: the tensor must be a matrix, not <Tensor"),
        (
            lambda: init.normal_(wf.arange(3)),
            E.DTypeError,
            "normal_: the tensor must hold floats, not ",
        ),
        (
            lambda: init.zeros_([1.0]),
            E.DTypeError,
            r"zeros_: the tensor must be a Tensor, not \[1\.0\]",
        ),
        (
            lambda: init.kaiming_normal_(t, mode="fan"),
            E.ArgumentError,
            "mode must be 'fan_in' or 'fan_out', not 'fan'",
        ),
        (
            lambda: init.kaiming_normal_(t, nonlinearity="gelu"),
            E.ArgumentError,
            "nonlinearity must be 'linear', .* not 'gelu'",
        ),
        (lambda: init.trunc_normal_(t, a=1.0, b=1.0), E.ArgumentError, "a must be less than b"),
        (lambda: init.uniform_(t, "0"), E.DTypeError, "low must be a real number, not '0'"),
        (lambda: wf.jit(init.orthogonal_)(t), E.JitError, "is read while"),
        (
            lambda: init.orthogonal((2**40, 2), dtype=""),
            E.DTypeError,
            "there is no dtype",
        ),  # before anything is drawn
    ]
    for call, kind, text in refused:
        with pytest.raises(kind, match=text):
            call()
    assert t.sum().item() == 0


LAYERS = {
    "Linear": lambda m: m.Linear(64, 50),
    "Conv1d": lambda m: m.Conv1d(8, 40, 2),
    "Conv2d": lambda m: m.Conv2d(4, 40, 3, groups=2),
    "ConvTranspose2d": lambda m: m.ConvTranspose2d(8, 20, 3, groups=2),
    "Embedding": lambda m: m.Embedding(50, 40, padding_idx=3),
    "LayerNorm": lambda m: m.LayerNorm(8),
    "BatchNorm1d": lambda m: m.BatchNorm1d(8),
    "GroupNorm": lambda m: m.GroupNorm(2, 8),
    "PReLU": lambda m: m.PReLU(3),
    "MultiheadAttention": lambda m: m.MultiheadAttention(32, 4, batch_first=True),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_as_torchs_do(name: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    wf.manual_seed(1)
    mine, theirs = LAYERS[name](nn), LAYERS[name](torch.nn)
    expected = {n: t.numpy() for n, t in theirs.state_dict().items()}
    assert list(mine.state_dict()) == list(expected)
    for n, t in mine.state_dict().items():
        ours, given = t.numpy(), expected[n]
        assert ours.shape == given.shape and ours.dtype == given.dtype, n
        size = 0.2 if ours.size > 100 else 0.35
        assert np.abs(ours).max() == pytest.approx(np.abs(given).max(), rel=size), n
        assert ours.std() == pytest.approx(given.std(), rel=size), n


def test_attention_starts_within_the_bound_of_xavier() -> None:
    wf.manual_seed(1)
    weight, bound = nn.MultiheadAttention(32, 4).in_proj_weight.numpy(), sqrt(6 / (32 + 96))
    assert 0.95 * bound < np.abs(weight).max() <= bound
