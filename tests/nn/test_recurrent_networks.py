"""nn.RNN, LSTM and GRU: beside their cells in a Python loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import errors, nn

KINDS = ["RNN", "LSTM", "GRU"]
T, N, IN, HIDDEN = 6, 3, 4, 5


def draw(*shape: int) -> wf.Tensor:
    rng = np.random.default_rng(sum(shape))
    return wf.tensor(rng.standard_normal(shape).astype(np.float32), requires_grad=True)


def states(state: Any) -> list[wf.Tensor]:
    return list(state) if isinstance(state, tuple) else [state]


def stepped(cell: nn.Module, xs: list[wf.Tensor]) -> tuple[list[wf.Tensor], Any]:
    state, outputs = None, []
    for x in xs:
        state = cell(x, state)
        outputs.append(states(state)[0])
    return outputs, state


def pair(kind: str, **options: Any) -> tuple[nn.Module, nn.Module]:
    wf.manual_seed(0)
    network = getattr(nn, kind)(IN, HIDDEN, **options)
    cell = getattr(nn, f"{kind}Cell")(IN, HIDDEN)
    cell.load_state_dict(
        {k.removesuffix("_l0"): v for k, v in network.state_dict().items() if k.endswith("_l0")}
    )
    return network, cell


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_its_cell_at_each_step(kind: str) -> None:
    network, cell = pair(kind)
    x = draw(T, N, IN)
    output, last = network(x)
    wanted, end = stepped(cell, [x[t] for t in range(T)])
    found = [output, *(s[0] for s in states(last))]
    for a, b in zip(found, [wf.stack(wanted), *states(end)], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    gradients = wf.grad(output.square().sum(), [x, *network.parameters()])
    expected = wf.grad(wf.stack(wanted).square().sum(), [x, *cell.parameters()])
    for a, b in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("kind", KINDS)
def test_lengths_end_each_sequence(kind: str) -> None:
    """Both directions, beside each sequence alone."""
    network, x, lengths = (
        getattr(nn, kind)(IN, HIDDEN, bidirectional=True),
        draw(T, N, IN),
        [6, 2, 4],
    )
    output, last = network(x, lengths=lengths)
    for i, length in enumerate(lengths):
        alone, end = network(x[:length, i])
        np.testing.assert_allclose(output[:length, i].numpy(), alone.numpy(), rtol=1e-5, atol=1e-6)
        assert not output[length:, i].numpy().any()
        for a, b in zip(states(last), states(end), strict=True):
            np.testing.assert_allclose(a[:, i].numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_layouts_and_names_are_torchs() -> None:
    network = nn.LSTM(IN, HIDDEN, num_layers=2, bidirectional=True, proj_size=3, batch_first=True)
    output, (h, c) = network(draw(N, T, IN))
    assert (output.shape, h.shape, c.shape) == ((N, T, 6), (4, N, 3), (4, N, HIDDEN))
    assert list(network.state_dict())[:6] == [
        *("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"),
        "weight_ih_l0_reverse",
    ]
    assert network.weight_ih_l1.shape == (20, 6)
    assert repr(nn.GRU(4, 5, bias=False)).startswith("GRU(4, 5, bias=False)")


@pytest.mark.slow
def test_a_state_goes_on_where_another_run_ended() -> None:
    network, x = nn.LSTM(IN, HIDDEN, num_layers=2), draw(T, N, IN)
    whole, end = network(x)
    first, state = network(x[:4])
    second, last = network(x[4:], state)
    pairs = [(wf.concatenate([first, second]), whole), *zip(last, end, strict=True)]
    for a, b in pairs:
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("length", [2, 20])
def test_a_step_has_the_same_kernels_at_every_length(length: int) -> None:
    """One product in the loop, one in that of the gradient, all others outside."""
    network, x = nn.LSTM(64, 64), draw(length, 16, 64)
    wf.realize(x, *network.parameters())
    loss = network(x)[0].square().sum()
    report = wf.explain([loss, *wf.grad(loss, network.parameters())])
    inside = [k for k in report.kernels if "_loop_" in k.name]
    assert len([k for k in inside if "matmul" in k.name]) == 2
    assert len(inside) <= 7
    assert len(report.kernels) <= 14


def test_bad_input_is_named() -> None:
    network = nn.LSTM(IN, HIDDEN)
    with pytest.raises(errors.ShapeError, match=r"LSTM: the features have shape \(3, 9\)"):
        network(wf.zeros((3, 9)))
    with pytest.raises(errors.ShapeError, match=r"c has shape \(1, 3, 4\), .* \(1, 3, 5\)"):
        network(draw(T, N, IN), (wf.zeros((1, N, HIDDEN)), wf.zeros((1, N, 4))))
    with pytest.raises(errors.ArgumentError, match=r"a pair \(h, c\)"):
        network(draw(T, N, IN), wf.zeros((1, N, HIDDEN)))
    with pytest.raises(errors.ShapeError, match="lengths are 3 ints"):
        network(draw(T, N, IN), lengths=[1, 2])
    with pytest.raises(errors.ArgumentError, match="proj_size 5 must be less"):
        nn.LSTM(IN, HIDDEN, proj_size=5)
