"""nn against torch, where torch is installed: the same weights give the same outputs, gradients and
updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from torchref import Array, agree, draw
from weft import nn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
T = torch.nn

F, TF = nn.functional, T.functional
LABELS = np.array([0, 2, 1, 1])
CONV = (draw(2, 4, 9, 8), draw(6, 4, 3, 3), draw(6))
QKV = draw(2, 5, 4), draw(2, 5, 4, seed=1), draw(2, 5, 6, seed=2)
CASES: dict[str, tuple[str, tuple[Array, ...], dict[str, Any]]] = {
    "conv2d": ("conv2d", CONV, {"stride": 2, "padding": 1, "dilation": 2}),
    "conv2d grouped": ("conv2d", (CONV[0], draw(8, 1, 3, 2)), {"padding": 2, "groups": 4}),
    "conv2d same": ("conv2d", (CONV[0], draw(3, 4, 2, 4)), {"padding": "same"}),
    "conv1d": ("conv1d", (draw(2, 3, 7), draw(4, 3, 3), draw(4)), {"padding": 2}),
    "max_pool2d": ("max_pool2d", CONV[:1], {"kernel_size": 3, "stride": 2, "padding": 1}),
    "avg_pool2d": ("avg_pool2d", CONV[:1], {"kernel_size": 3, "stride": 2, "padding": 1}),
    "cross_entropy": ("cross_entropy", (draw(4, 3), LABELS), {}),
    "cross_entropy sum": ("cross_entropy", (draw(4, 3), LABELS), {"reduction": "sum"}),
    "nll_loss": ("nll_loss", (draw(4, 3), LABELS), {}),
    "bce": ("binary_cross_entropy_with_logits", (draw(4, 3), np.abs(draw(4, 3, seed=1)) % 1), {}),
    "mse_loss": ("mse_loss", (draw(4, 3), draw(4, 3, seed=1)), {}),
    "layer_norm": ("layer_norm", (draw(2, 3, 5), draw(5), draw(5, seed=1)), {}),
    "attention": ("scaled_dot_product_attention", (QKV[0][:, :3], *QKV[1:]), {}),
    "causal": ("scaled_dot_product_attention", QKV, {"is_causal": True}),
    "gelu": ("gelu", (draw(7),), {}),
    "gelu tanh": ("gelu", (draw(7),), {"approximate": "tanh"}),
    "silu": ("silu", (draw(7),), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_functional(case: str) -> None:
    name, arrays, kwargs = CASES[case]
    mine, theirs = getattr(F, name), getattr(TF, name)
    if name == "layer_norm":
        agree(
            case, lambda x, w, b: mine(x, 5, w, b), lambda x, w, b: theirs(x, (5,), w, b), *arrays
        )
    else:
        agree(case, lambda *a: mine(*a, **kwargs), lambda *a: theirs(*a, **kwargs), *arrays)


def test_embedding() -> None:
    agree(
        "embedding",
        lambda t: F.embedding(wf.tensor(LABELS), t),
        lambda t: TF.embedding(torch.tensor(LABELS), t),
        draw(3, 4),
    )


def networks() -> tuple[nn.Module, Any]:
    mine = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3)
    )
    theirs = T.Sequential(
        T.Conv2d(1, 2, 3, padding=1), T.ReLU(), T.MaxPool2d(2), T.Flatten(), T.Linear(18, 3)
    )
    mine.load_state_dict(theirs.state_dict())
    return mine, theirs


def test_a_state_with_tied_weights_loads_strictly_and_stays_tied() -> None:
    mine = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    theirs = T.Sequential(T.Embedding(5, 3), T.Linear(3, 5, bias=False))
    mine[1].weight, theirs[1].weight = mine[0].weight, theirs[0].weight
    assert list(theirs.state_dict()) == [
        "0.weight",
        "1.weight",
    ]  # of one Parameter, which mine names once
    assert mine.load_state_dict(theirs.state_dict()) == ([], [])
    assert mine[1].weight is mine[0].weight
    np.testing.assert_array_equal(mine[0].weight.numpy(), theirs[0].weight.detach().numpy())
    theirs.load_state_dict(
        {name: torch.tensor(mine.get_parameter(name).numpy()) for name in theirs.state_dict()}
    )


OPTIMISERS = {
    "sgd": lambda m, p: m.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda m, p: m.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda m, p: m.Adam(p, lr=0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_training_from_torchs_weights(name: str) -> None:
    mine, theirs = networks()
    a, b = (
        OPTIMISERS[name](nn.optim, mine.parameters()),
        OPTIMISERS[name](torch.optim, theirs.parameters()),
    )
    x, y = draw(4, 1, 6, 6).astype(np.float32), LABELS
    for _ in range(3):
        a.zero_grad()
        b.zero_grad()
        loss = F.cross_entropy(mine(wf.tensor(x)), wf.tensor(y))
        expected = TF.cross_entropy(theirs(torch.tensor(x)), torch.tensor(y))
        loss.backward()
        expected.backward()
        a.step()
        b.step()
        np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-4)
    for (n, p), q in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-3, atol=1e-5, err_msg=n)
