"""Cells of recurrent networks: their formulas, gradients over several steps, states, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft import errors, nn

IN, HIDDEN, BATCH, STEPS = 4, 5, 3, 3
CELLS = ["RNNCell", "LSTMCell", "GRUCell"]
Array = np.ndarray


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def rnn(x: Array, state: Array, of_x: Array, of_h: Array) -> Array:
    return np.tanh(of_x + of_h)


def lstm(x: Array, state: Array, of_x: Array, of_h: Array) -> Array:
    i, f, g, o = np.split(of_x + of_h, 4, -1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return np.stack([sigmoid(o) * np.tanh(c), c])


def gru(x: Array, state: Array, of_x: Array, of_h: Array) -> Array:
    (r, z, n), (rh, zh, nh) = np.split(of_x, 3, -1), np.split(of_h, 3, -1)
    update = sigmoid(z + zh)
    return (1 - update) * np.tanh(n + sigmoid(r + rh) * nh) + update * state


FORMULAS: dict[str, Callable[..., Array]] = {"RNNCell": rnn, "LSTMCell": lstm, "GRUCell": gru}


def made(name: str, bias: bool = True) -> nn.Module:
    wf.manual_seed(1)
    cell: nn.Module = getattr(nn, name)(IN, HIDDEN, bias=bias).double()
    return cell


def features(*shape: int) -> Array:
    return np.random.default_rng(2).standard_normal(shape)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(BATCH,), ()], ids=["batch", "one"])
@pytest.mark.parametrize("name", CELLS)
def test_steps_follow_the_formulas(name: str, batch: tuple[int, ...], bias: bool) -> None:
    cell, xs = made(name, bias), features(STEPS, *batch, IN)
    w = {k: v.numpy() for k, v in cell.state_dict().items()}
    assert list(w) == ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] * bias)]
    zeros = np.zeros((*batch, HIDDEN))
    expected = np.stack([zeros, zeros]) if name == "LSTMCell" else zeros
    state = None
    for x in xs:
        h = expected[0] if name == "LSTMCell" else expected
        of_x = x @ w["weight_ih"].T + w.get("bias_ih", 0)
        of_h = h @ w["weight_hh"].T + w.get("bias_hh", 0)
        expected = FORMULAS[name](x, expected, of_x, of_h)
        state = cell(x, state)
    got = np.stack([s.numpy() for s in state]) if name == "LSTMCell" else state.numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CELLS)
def test_gradients_go_through_all_steps(name: str) -> None:
    cell, xs = made(name), wf.tensor(features(STEPS, BATCH, IN))
    names, weights = zip(*cell.named_parameters(), strict=True)

    def last(xs: wf.Tensor, *weights: wf.Tensor) -> wf.Tensor:
        state = None
        for t in range(STEPS):
            own = dict(zip(names, weights, strict=True))
            state = nn.functional_call(cell, own, (xs[t], state))
        return state[0] if name == "LSTMCell" else state

    wf.check_grad(last, xs, *(w.detach() for w in weights))


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CELLS)
def test_jitted_steps_have_the_same_bits(name: str) -> None:
    cell, xs = getattr(nn, name)(IN, HIDDEN), features(STEPS, BATCH, IN).astype(np.float32)

    def steps(xs: wf.Tensor) -> wf.Tensor:
        state = None
        for t in range(STEPS):
            state = cell(xs[t], state)
        return state[1] if name == "LSTMCell" else state

    xs = wf.tensor(xs)
    assert (wf.jit(steps)(xs).numpy() == steps(xs).numpy()).all()


def test_relu_takes_the_place_of_tanh() -> None:
    cell = nn.RNNCell(IN, HIDDEN, nonlinearity="relu")
    h = cell(features(BATCH, IN).astype(np.float32)).numpy()
    assert (h >= 0).all() and h.max() > 0


def test_bad_input_is_named() -> None:
    lstm, gru = nn.LSTMCell(IN, HIDDEN), nn.GRUCell(IN, HIDDEN)
    x, h = wf.zeros((BATCH, IN)), wf.zeros((BATCH, HIDDEN))
    with pytest.raises(errors.ShapeError, match=r"in_features=4, but x has shape \(3, 5\)"):
        gru(h)
    with pytest.raises(errors.ShapeError, match=r"GRUCell: hx has shape \(3, 4\), and"):
        gru(x, x)
    with pytest.raises(errors.ShapeError, match=r"LSTMCell: c has shape \(3, 4\)"):
        lstm(x, (h, x))
    with pytest.raises(errors.ArgumentError, match=r"LSTMCell: the state hx is a pair \(h, c\)"):
        lstm(x, h)
    with pytest.raises(errors.DTypeError, match="LSTMCell: h must be a Tensor"):
        lstm(x, ("a", h))
    with pytest.raises(errors.ArgumentError, match="nonlinearity must be 'tanh' or 'relu'"):
        nn.RNNCell(IN, HIDDEN, nonlinearity="gelu")
