"""Parametrised, normalised and pruned weights: values and gradients against NumPy and torch,
states, what is refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from nnref import Array, close, normal
from weft import nn
from weft.nn.utils import parametrize, prune, spectral_norm, weight_norm

F = nn.functional


def linear() -> nn.Linear:
    wf.manual_seed(0)
    return nn.Linear(5, 4)


class Symmetric(nn.Module):
    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return wf.triu(x) + wf.triu(x, 1).T


class Doubled(nn.Module):
    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return 2 * x


class Exponential(nn.Module):
    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return x.exp()

    def right_inverse(self, x: wf.Tensor) -> wf.Tensor:
        return x.log()


# ---------------------------------------------------------------- any function


def test_a_weight_is_what_its_parametrization_makes_of_the_original() -> None:
    layer = nn.Linear(3, 3)
    before, original = layer.weight.numpy(copy=True), layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    np.testing.assert_array_equal(layer.weight.numpy(), np.triu(before) + np.triu(before, 1).T)
    assert layer.parametrizations.weight.original is original and parametrize.is_parametrized(
        layer, "weight"
    )
    assert not parametrize.is_parametrized(layer, "bias") and parametrize.is_parametrized(layer)
    layer(wf.ones(2, 3)).sum().backward()
    np.testing.assert_array_equal(
        original.grad.numpy(), np.triu(np.full((3, 3), 4.0)) - 2 * np.eye(3)
    )
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is original and [*layer.state_dict()] == ["weight", "bias"][::-1]
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_an_inverse_keeps_the_value_and_parametrizations_follow_each_other() -> None:
    layer = nn.Linear(3, 3, bias=False)
    layer.weight = nn.Parameter(abs(normal(3, 3)))
    before, original = layer.weight.numpy(copy=True), layer.weight
    parametrize.register_parametrization(layer, "weight", Exponential())
    close(layer.weight, before)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    close(layer.weight, np.triu(before) + np.triu(before, 1).T)
    close(original, np.log(before))
    parametrize.remove_parametrizations(layer, "weight")
    assert (
        layer.weight is original
        and not parametrize.is_parametrized(layer)
        and not hasattr(layer, "parametrizations")
    )
    close(layer.weight, np.triu(before) + np.triu(before, 1).T)


# ---------------------------------------------------------------- lengths and directions


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_weight_norm(axis: int | None) -> None:
    layer = linear().double()
    before = layer.weight.numpy(copy=True)
    weight_norm(layer, axis=axis)
    close(layer.weight, before)
    length, _ = layer.parametrizations.weight.originals()
    rest = None if axis is None else 1 - axis
    close(length, np.sqrt((before**2).sum(rest, keepdims=axis is not None)))
    g, v = wf.tensor(normal(*length.shape)), wf.tensor(normal(4, 5, seed=1))
    made = layer.parametrizations.weight[0]
    close(
        made(g, v),
        g.numpy() * v.numpy() / np.sqrt((v.numpy() ** 2).sum(rest, keepdims=axis is not None)),
    )
    wf.check_grad(made, g, v)


@pytest.mark.slow
@pytest.mark.parametrize("jitted", [False, True])
def test_a_normalised_layer_trains_and_may_be_made_plain(jitted: bool) -> None:
    layer, x = weight_norm(linear()), wf.tensor(normal(6, 5).astype(np.float32))
    optimizer = nn.optim.SGD(layer.parameters(), 0.1)

    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = wf.jit(step) if jitted else step
    losses = [run(x).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.8 * losses[0]
    expected = layer(x).numpy()
    parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-6)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_a_jitted_call_notices_what_a_weight_is_made_of() -> None:
    layer, x = linear(), wf.ones(1, 5)
    call = wf.jit(layer)
    first = call(x)
    parametrize.register_parametrization(layer, "bias", Doubled())
    np.testing.assert_allclose(call(x).numpy(), (first + layer.bias / 2).numpy(), rtol=1e-6)
    parametrize.remove_parametrizations(layer, "bias", leave_parametrized=False)
    assert call(x).tolist() == first.tolist()
    prune.custom_from_mask(layer, "bias", wf.zeros(4))
    np.testing.assert_allclose(call(x).numpy(), (x @ layer.weight.T).numpy(), rtol=1e-6)


# ---------------------------------------------------------------- singular values

LAYERS: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "linear": (linear, 0),
    "conv": (lambda: nn.Conv2d(3, 4, 2), 0),
    "transposed": (lambda: nn.ConvTranspose2d(3, 4, 2), 1),
}


@pytest.mark.parametrize("name", ["transposed", *rarely("linear", "conv")])
def test_spectral_norm(name: str) -> None:
    make, axis = LAYERS[name]
    layer = make()
    before = np.moveaxis(layer.weight.numpy(copy=True), axis, 0).reshape(4, -1)
    greatest = np.linalg.svd(before)[1][0]
    spectral_norm(layer, n_power_iterations=20)
    found = np.moveaxis(layer.weight.numpy(), axis, 0).reshape(4, -1)
    np.testing.assert_allclose(found, before / greatest, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("jitted", [False, True])
def test_each_access_in_training_mode_goes_on_with_the_power_method(jitted: bool) -> None:
    layer = spectral_norm(linear().double())
    part, matrix = layer.parametrizations.weight[0], layer.parametrizations.weight.original.numpy()
    part._u, part._v = (
        nn.Buffer(normal(4) / np.linalg.norm(normal(4))),
        nn.Buffer(normal(5) / np.linalg.norm(normal(5))),
    )
    call, x, v = (
        wf.jit(layer) if jitted else layer,
        wf.tensor(normal(2, 5)),
        part._v.numpy(copy=True),
    )
    for _ in range(3):
        u = matrix @ v / np.linalg.norm(matrix @ v)
        v = u @ matrix / np.linalg.norm(u @ matrix)
        close(call(x), x.numpy() @ matrix.T / (u @ matrix @ v) + layer.bias.numpy(), 1e-9)
    close(part._v, v, 1e-9)
    layer.eval()
    call(x).realize()
    close(part._v, v, 1e-9)
    wf.check_grad(part, wf.tensor(matrix))


def test_the_spectral_norm_of_a_vector_is_its_length() -> None:
    layer = spectral_norm(linear(), "bias")
    np.testing.assert_allclose(np.linalg.norm(layer.bias.numpy()), 1.0, rtol=1e-6)


# ---------------------------------------------------------------- masks


def test_the_least_elements_are_pruned_and_pruning_again_takes_from_what_is_left() -> None:
    layer = linear()
    before, original = layer.weight.numpy(copy=True), layer.weight
    order = np.argsort(abs(before).reshape(-1))
    for amount, total in ((0.25, 5), (3, 8), (0.5, 14)):
        prune.l1_unstructured(layer, "weight", amount)
        mask = np.ones(20)
        mask[order[:total]] = 0
        np.testing.assert_array_equal(layer.weight_mask.numpy(), mask.reshape(4, 5))
        np.testing.assert_array_equal(layer.weight.numpy(), before * mask.reshape(4, 5))
    assert layer.weight_orig is original and [*layer.state_dict()] == [
        "bias",
        "weight_orig",
        "weight_mask",
    ]
    layer(wf.ones(1, 5)).sum().backward()
    np.testing.assert_array_equal(original.grad.numpy() != 0, layer.weight_mask.numpy() != 0)
    assert prune.is_pruned(nn.Sequential(layer)) and prune.remove(layer, "weight") is layer
    assert (
        layer.weight is original
        and not prune.is_pruned(layer)
        and [*layer.state_dict()] == ["bias", "weight"]
    )
    np.testing.assert_array_equal(layer.weight.numpy(), before * mask.reshape(4, 5))


@pytest.mark.slow
def test_rows_are_pruned_by_their_norm_scores_by_what_is_given_and_at_random() -> None:
    layer, scores = linear(), normal(4, 5)
    norms = np.linalg.norm(layer.weight.numpy(), axis=0)
    prune.ln_structured(layer, "weight", 0.4, 2, axis=1)
    prune.ln_structured(layer, "weight", 1, 2, axis=1)
    assert (
        layer.weight_mask.numpy()[:, np.argsort(norms)[:3]] == 0
    ).all() and layer.weight_mask.sum().item() == 8
    given = prune.l1_unstructured(linear(), "weight", 6, importance_scores=scores)
    assert {*np.flatnonzero(given.weight_mask.numpy() == 0)} == {
        *np.argsort(abs(scores).reshape(-1))[:6]
    }
    drawn = [
        prune.random_structured(linear(), "weight", 2, axis=0).weight_mask.numpy() for _ in range(1)
    ]
    assert sorted(drawn[0].sum(1)) == [0, 0, 5, 5]
    again = prune.random_unstructured(
        prune.random_unstructured(nn.Linear(5, 4), "weight", 0.5), "weight", 0.5
    )
    assert again.weight_mask.sum().item() == 5


@pytest.mark.slow
def test_copies_and_states_of_such_layers() -> None:
    for layer in (
        weight_norm(linear()),
        spectral_norm(linear()).eval(),
        prune.l1_unstructured(linear(), "weight", 0.5),
    ):
        expected = layer(wf.ones(1, 5)).tolist()
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert other(wf.ones(1, 5)).tolist() == expected
            (other(wf.ones(1, 5)) ** 2).sum().backward()
            assert all(p.grad is None for p in layer.parameters()) and all(
                p.grad is not None for p in other.parameters()
            )
        for p in other.parameters():
            p.assign(p * 2)
        other.load_state_dict(layer.state_dict())
        assert (
            other(wf.ones(1, 5)).tolist() == expected and other.double().weight.dtype is wf.float64
        )


def test_a_normalised_layer_adds_a_kernel_for_its_lengths() -> None:
    layer, x = linear(), wf.randn(8, 5).realize()
    plain = len(wf.explain(layer(x)).kernels)
    assert len(wf.explain(weight_norm(layer)(x)).kernels) <= plain + 1


REFUSED: list[tuple[Callable[[nn.Module], Any], type[Exception], str]] = [
    (
        lambda m: weight_norm(m, "wieght"),
        wf.errors.ArgumentError,
        "weight_norm: Linear has no weight 'wieght'; it has weight, bias",
    ),
    (lambda m: weight_norm(3), wf.errors.DTypeError, "weight_norm: module must be a Module, not 3"),  # type: ignore[arg-type]
    (
        lambda m: weight_norm(weight_norm(m)),
        wf.errors.ArgumentError,
        r"weight_norm: Linear\.weight is parametrised already",
    ),
    (lambda m: weight_norm(m, axis=2), wf.errors.AxisError, "weight_norm: axis 2 is out of range"),
    (
        lambda m: spectral_norm(m, n_power_iterations=0),
        wf.errors.ArgumentError,
        "n_power_iterations must be at least 1",
    ),
    (
        lambda m: parametrize.register_parametrization(m, "weight", nn.Flatten(0)),
        wf.errors.ShapeError,
        "Flatten must keep",
    ),
    (
        lambda m: parametrize.register_parametrization(m, "bias", abs),
        wf.errors.DTypeError,
        "a parametrization must be a Module",
    ),  # type: ignore[arg-type]
    (
        lambda m: parametrize.remove_parametrizations(m, "weight"),
        wf.errors.ArgumentError,
        "Linear.weight is not parametrised",
    ),
    (
        lambda m: parametrize.remove_parametrizations(
            weight_norm(m), "weight", leave_parametrized=False
        ),
        wf.errors.ArgumentError,
        "there is one original, not 2",
    ),
    (
        lambda m: setattr(weight_norm(m), "weight", nn.Parameter(wf.ones(4, 5))),
        wf.errors.ArgumentError,
        "is computed from other",
    ),
    (
        lambda m: prune.l1_unstructured(m, "weight", 1.5),
        wf.errors.ArgumentError,
        "amount must be a fraction from 0 to 1",
    ),
    (
        lambda m: prune.l1_unstructured(m, "weight", 21),
        wf.errors.ArgumentError,
        "amount=21 is not one of the numbers 0 to 20",
    ),
    (
        lambda m: prune.custom_from_mask(m, "bias", [1, 0]),
        wf.errors.ShapeError,
        r"the mask must have shape \(4,\), not \(2,\)",
    ),
    (
        lambda m: prune.l1_unstructured(m, "bias", 1, [1.0]),
        wf.errors.ShapeError,
        "importance_scores must have shape",
    ),
    (
        lambda m: prune.remove(m, "weight"),
        wf.errors.ArgumentError,
        "remove: Linear has no pruned weight 'weight'",
    ),
]


@pytest.mark.parametrize(("call", "kind", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_what_is_refused(
    call: Callable[[nn.Module], Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        call(linear())


def test_a_misspelt_attribute_is_an_attribute_error() -> None:
    for layer in (linear(), weight_norm(linear())):
        with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
            _ = layer.wieght


# ---------------------------------------------------------------- torch


def gradients_agree(mine: nn.Module, theirs: Any, x: Array) -> None:
    torch = pytest.importorskip("torch")
    out, expected = mine(wf.tensor(x)), theirs(torch.tensor(x))
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    for (name, p), (other, q) in zip(
        mine.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert name == other
        np.testing.assert_allclose(
            p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=name
        )


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("kind", ["Linear", "Conv1d"])
def test_torchs_states_values_and_gradients(name: str, kind: str) -> None:
    torch = pytest.importorskip("torch")
    settings, x = ((5, 4), normal(3, 5)) if kind == "Linear" else ((5, 4, 3), normal(3, 5, 6))
    theirs = getattr(torch.nn.utils.parametrizations, name)(getattr(torch.nn, kind)(*settings))
    mine = getattr(nn.utils, name)(getattr(nn, kind)(*settings))
    mine.load_state_dict(theirs.state_dict())
    assert [*mine.state_dict()] == [*theirs.state_dict()]
    for _ in range(2):
        mine.zero_grad()
        theirs.zero_grad()
        gradients_agree(mine, theirs, x.astype(np.float32))
    for what, value in theirs.state_dict().items():
        np.testing.assert_allclose(
            mine.state_dict()[what].numpy(), value.numpy(), rtol=1e-5, atol=1e-6, err_msg=what
        )


def test_torchs_pruning() -> None:
    torch = pytest.importorskip("torch")
    pruning = pytest.importorskip("torch.nn.utils.prune")
    mine, theirs = linear(), torch.nn.Linear(5, 4)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in mine.state_dict().items()})
    for make in (
        lambda p, m: p.l1_unstructured(m, "weight", 0.3),
        lambda p, m: p.l1_unstructured(m, "weight", 0.5),
    ):
        make(prune, mine)
        make(pruning, theirs)
        np.testing.assert_array_equal(mine.weight_mask.numpy(), theirs.weight_mask.numpy())
    prune.ln_structured(mine, "weight", 1, 2, axis=1)
    pruning.ln_structured(theirs, "weight", 1, 2, dim=1)
    np.testing.assert_array_equal(mine.weight.numpy(), theirs.weight.detach().numpy())
    assert {*mine.state_dict()} == {*theirs.state_dict()}
