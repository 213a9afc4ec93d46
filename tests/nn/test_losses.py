"""The losses against NumPy formulas: values, derivatives, edges, and errors when the expression is
built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, derivative_holds, log_softmax, normal
from weft import nn
from weft.nn import functional as F


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64])
def test_cross_entropy(dtype: type) -> None:
    x, y = normal(5, 4) * 3, np.array([0, 3, 1, 1, 2], dtype)
    each = -log_softmax(x)[np.arange(5), y]
    close(F.cross_entropy(wf.tensor(x), wf.tensor(y)), each.mean())
    close(F.cross_entropy(wf.tensor(x), wf.tensor(y), reduction="sum"), each.sum())
    close(F.cross_entropy(wf.tensor(x), wf.tensor(y), reduction="none"), each)
    close(F.nll_loss(wf.tensor(log_softmax(x)), wf.tensor(y)), each.mean())


def test_cross_entropy_gradient_is_softmax_minus_one_hot() -> None:
    a, y = normal(5, 4), np.array([0, 3, 1, 1, 2])
    x = wf.tensor(a, requires_grad=True)
    F.cross_entropy(x, wf.tensor(y)).backward()
    close(x.grad, (np.exp(log_softmax(a)) - np.eye(4)[y]) / 5)


def test_cross_entropy_of_one_row_and_of_images() -> None:
    one = normal(4)
    close(F.cross_entropy(wf.tensor(one), wf.tensor(2)), -log_softmax(one)[2])
    x, y = normal(2, 3, 2, 2), np.array([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])
    expected = -np.take_along_axis(log_softmax(x, 1), y[:, None], 1).mean()
    close(F.cross_entropy(wf.tensor(x), wf.tensor(y)), expected)
    derivative_holds(lambda t: F.cross_entropy(t, wf.tensor(y)), x)


def test_cross_entropy_stays_finite_for_large_logits() -> None:
    x = np.array([[1e4, 0.0], [0.0, -1e4], [3e4, 3e4]])
    close(
        F.cross_entropy(wf.tensor(x), wf.tensor([0, 0, 1]), reduction="none"),
        np.array([0.0, 0.0, np.log(2)]),
    )


@pytest.mark.parametrize("label", [4, -1])
def test_cross_entropy_refuses_a_wrong_label(label: int) -> None:
    with pytest.raises(IndexError, match=f"{label}.*4"):
        F.cross_entropy(wf.tensor(normal(2, 4)), wf.tensor([1, label])).item()


def test_losses_say_what_they_expect() -> None:
    with pytest.raises(wf.errors.ShapeError, match=r"labels must have shape \(5,\), not \(4,\)"):
        F.cross_entropy(wf.zeros(5, 3), wf.tensor([0, 0, 0, 0]))
    with pytest.raises(wf.errors.DTypeError, match="expected integer indices, got float32"):
        F.cross_entropy(wf.zeros(5, 3), wf.zeros(5))
    with pytest.raises(ValueError, match="reduction must be"):
        F.cross_entropy(wf.zeros(1, 3), wf.tensor([0]), reduction="average")
    with pytest.raises(wf.errors.ShapeError, match="must be equal"):
        F.mse_loss(wf.zeros(5, 1), wf.zeros(5))


def test_mse_loss() -> None:
    x, y = normal(3, 4), normal(3, 4, seed=1)
    close(F.mse_loss(wf.tensor(x), wf.tensor(y)), ((x - y) ** 2).mean())
    derivative_holds(F.mse_loss, x, y)


@pytest.mark.parametrize("target", [0.0, 0.3, 1.0])
def test_binary_cross_entropy_of_sure_answers_keeps_its_digits(target: float) -> None:
    x = np.array([-80, -20, -3, -1e-3, 0, 1e-3, 3, 20, 80], np.float32)
    exact = x.astype(np.float64)
    t = wf.tensor(x, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(
        t, np.full(x.shape, target, np.float32), reduction="none"
    )
    loss.sum().backward()
    target = float(np.float32(target))
    value = target * np.logaddexp(0, -exact) + (1 - target) * np.logaddexp(0, exact)
    slope = (1 - target) / (1 + np.exp(-exact)) - target / (1 + np.exp(exact))
    np.testing.assert_allclose(loss.numpy(), value, rtol=1e-6)
    np.testing.assert_allclose(t.grad.numpy(), slope, rtol=1e-5, atol=1e-45)


def test_binary_cross_entropy_of_an_even_chance_has_its_curvature() -> None:
    x, ones = wf.tensor([0.0, 1e-6, -1e-6]), wf.ones(3)
    for target in (0.0, 0.5, 1.0):
        loss = partial(F.binary_cross_entropy_with_logits, target=ones * target, reduction="sum")
        found = wf.hessian_vector_product(loss, x, ones)
        np.testing.assert_allclose(found.numpy(), 0.25, rtol=1e-5)


def test_binary_cross_entropy_with_logits() -> None:
    x, y = np.array([-800.0, -2.0, 0.0, 1.5, 800.0]), np.array([1.0, 0.3, 0.0, 1.0, 1.0])
    expected = np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))
    close(
        F.binary_cross_entropy_with_logits(wf.tensor(x), wf.tensor(y), reduction="none"), expected
    )
    t = wf.tensor(x, requires_grad=True)
    F.binary_cross_entropy_with_logits(t, wf.tensor(y), reduction="sum").backward()
    close(t.grad, 1 / (1 + np.exp(-x.clip(-700, 700))) - y, 1e-9)


# ---------------------------------------------------------------- ignored labels, weights,
# smoothing, probabilities


def cross_entropy_reference(
    x: Array, y: Array, w: Array, ignored: int, smoothing: float
) -> tuple[Array, float]:
    """Each loss, and the weights' sum, by a loop over labels (N, C) alone."""
    logs, each, total = log_softmax(x), np.zeros(len(y)), 0.0
    for i, label in enumerate(y):
        if label != ignored:
            each[i] = (
                -(1 - smoothing) * w[label] * logs[i, label]
                - smoothing / len(w) * (w * logs[i]).sum()
            )
            total += w[label]
    return each, total


LABELS = np.array([0, -100, 3, 1, 1, -100])


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weight", [None, np.array([0.5, 2.0, 1.0, 0.0])])
def test_cross_entropy_with_ignored_labels_weights_and_smoothing(
    weight: Array | None, smoothing: float
) -> None:
    x, y = normal(6, 4) * 3, wf.tensor(LABELS)
    each, total = cross_entropy_reference(
        x, LABELS, np.ones(4) if weight is None else weight, -100, smoothing
    )

    def loss(t: wf.Tensor, reduction: str = "mean") -> wf.Tensor:
        return F.cross_entropy(t, y, weight, reduction=reduction, label_smoothing=smoothing)

    close(loss(wf.tensor(x), "none"), each)
    close(loss(wf.tensor(x), "sum"), each.sum())
    close(loss(wf.tensor(x)), each.sum() / total)
    derivative_holds(loss, x)


def test_nll_loss_with_ignored_labels_and_weights() -> None:
    x, w, y = (
        log_softmax(normal(6, 4)),
        np.array([0.5, 2.0, 1.0, 0.0]),
        np.array([0, 2, 3, 1, 1, 2]),
    )
    each, total = cross_entropy_reference(x, y, w, 2, 0.0)
    close(F.nll_loss(wf.tensor(x), wf.tensor(y), w, ignore_index=2, reduction="none"), each)
    close(F.nll_loss(wf.tensor(x), wf.tensor(y), w, ignore_index=2), each.sum() / total)


def test_an_ignored_row_has_no_gradient() -> None:
    a, y = normal(3, 4), np.array([1, -100, 2])
    x = wf.tensor(a, requires_grad=True)
    F.cross_entropy(x, wf.tensor(y)).backward()
    close(x.grad, (np.exp(log_softmax(a)) - np.eye(4)[[1, 0, 2]]) / 2 * (y != -100)[:, None])


@pytest.mark.slow
def test_the_mean_of_no_label_is_nan_and_their_sum_is_zero() -> None:
    x, y = wf.tensor(normal(2, 3)), wf.tensor([-100, -100])
    assert np.isnan(F.cross_entropy(x, y).item())
    assert F.cross_entropy(x, y, reduction="sum").item() == 0.0


def test_a_label_to_ignore_may_be_one_of_the_classes() -> None:
    x = normal(3, 4)
    close(
        F.cross_entropy(wf.tensor(x), wf.tensor([0, 2, 0]), ignore_index=0), -log_softmax(x)[1, 2]
    )


def test_labels_that_cannot_be_ignored_cost_no_kernel() -> None:
    x = wf.tensor(normal(6, 4).astype(np.float32), requires_grad=True)

    def kernels(y: Array) -> int:
        loss = F.cross_entropy(x, wf.tensor(y))
        return len(wf.explain([loss, wf.grad(loss, x)]).kernels)

    assert kernels(np.zeros(6, np.uint8)) == 3  # the check, the rows, their mean
    assert kernels(np.zeros(6, np.int64)) == 4  # how many labels count


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_probabilities(smoothing: float) -> None:
    x, w = normal(2, 4, 3), np.array([0.5, 2.0, 1.0, 0.0])
    p = np.exp(log_softmax(normal(2, 4, 3, seed=1) * 2, 1))
    each = -(log_softmax(x, 1) * (p * (1 - smoothing) + smoothing / 4) * w[:, None]).sum(1)

    def loss(t: wf.Tensor, target: wf.Tensor, reduction: str = "mean") -> wf.Tensor:
        return F.cross_entropy(t, target, w, reduction=reduction, label_smoothing=smoothing)

    close(loss(wf.tensor(x), wf.tensor(p), "none"), each)
    close(loss(wf.tensor(x), wf.tensor(p)), each.mean())
    derivative_holds(loss, x, p)


def test_probabilities_of_one_class_are_its_label() -> None:
    x, y = wf.tensor(normal(5, 4)), np.array([0, 3, 1, 1, 2])
    close(F.cross_entropy(x, wf.tensor(np.eye(4)[y])), F.cross_entropy(x, wf.tensor(y)).numpy())


WRONG_SETTINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"label_smoothing": 1.5}, ValueError, r"label_smoothing must be in \[0, 1\], not 1.5"),
    (
        {"weight": np.ones(3)},
        wf.errors.ShapeError,
        r"weight must have shape \(4,\), one for each class, not \(3,\)",
    ),
    ({"ignore_index": "pad"}, TypeError, "ignore_index must be an int"),
    ({"ignore_index": 1, "target": np.full((2, 4), 0.25)}, ValueError, "ignore_index=1 is a label"),
    ({"x": wf.zeros(()), "target": 0}, wf.errors.ShapeError, "x needs an axis of classes"),
    (
        {"target": np.zeros((2, 4), np.int64)},
        wf.errors.ShapeError,
        r"labels must have shape \(2,\), not \(2, 4\)",
    ),
]


@pytest.mark.parametrize(("settings", "kind", "says"), WRONG_SETTINGS)
def test_cross_entropy_says_what_it_takes(
    settings: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        F.cross_entropy(**{"x": wf.zeros(2, 4), "target": wf.tensor([0, 1])} | settings)


# ---------------------------------------------------------------- distances


def huber(d: Array, delta: float) -> Array:
    return np.where(abs(d) < delta, d * d / 2, delta * (abs(d) - delta / 2))


DISTANCES: dict[str, tuple[dict[str, float], Callable[[Array], Array]]] = {
    "l1_loss": ({}, np.abs),
    "smooth_l1_loss": ({"beta": 0.7}, lambda d: huber(d, 0.7) / 0.7),
    "huber_loss": ({"delta": 0.7}, lambda d: huber(d, 0.7)),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", DISTANCES)
def test_distances(name: str) -> None:
    settings, reference = DISTANCES[name]
    loss = partial(getattr(F, name), **settings)
    x, y = normal(3, 5), normal(3, 5, seed=1)
    close(loss(wf.tensor(x), wf.tensor(y), reduction="none"), reference(x - y))
    close(loss(wf.tensor(x), wf.tensor(y)), reference(x - y).mean())
    derivative_holds(loss, x, y)


def test_a_distance_of_nothing_has_no_slope_and_a_large_one_a_finite_slope() -> None:
    a = np.array([0.0, 1e30, -1e30, np.inf], np.float32)
    for name in DISTANCES:
        x = wf.tensor(a, requires_grad=True)
        getattr(F, name)(x, wf.zeros(4), reduction="sum").backward()
        assert x.grad.tolist() == [0.0, 1.0, -1.0, 1.0], name


def test_smooth_l1_loss_without_a_parabola_is_l1_loss() -> None:
    x, y = wf.tensor(normal(4)), wf.tensor(normal(4, seed=1))
    close(F.smooth_l1_loss(x, y, beta=0.0), F.l1_loss(x, y).numpy())


@pytest.mark.parametrize(
    ("name", "settings"), [("huber_loss", {"delta": 0.0}), ("smooth_l1_loss", {"beta": -1.0})]
)
def test_a_width_below_what_makes_sense_is_refused(name: str, settings: dict[str, float]) -> None:
    with pytest.raises(wf.errors.ArgumentError, match=f"{name}: .* must be"):
        getattr(F, name)(wf.zeros(2), wf.zeros(2), **settings)


# ---------------------------------------------------------------- probabilities


def test_binary_cross_entropy() -> None:
    x, y, w = (
        1 / (1 + np.exp(-normal(3, 4))),
        abs(normal(3, 4, seed=1)) % 1,
        np.array([1.0, 2.0, 0.5, 0.0]),
    )
    each = -w * (y * np.log(x) + (1 - y) * np.log(1 - x))
    close(F.binary_cross_entropy(wf.tensor(x), wf.tensor(y), w, reduction="none"), each)
    derivative_holds(lambda a, b: F.binary_cross_entropy(a, b, w), x, y)


def test_binary_cross_entropy_of_certainties_is_bounded() -> None:
    x = wf.tensor([0.0, 1.0, 0.0, 1.0, 1.5], requires_grad=True)
    loss = F.binary_cross_entropy(x, wf.tensor([1.0, 0.0, 0.0, 1.0, 1.0]), reduction="none")
    assert loss.tolist()[:4] == [100.0, 100.0, 0.0, 0.0] and np.isnan(loss.numpy()[4])
    loss[:4].sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_binary_cross_entropy_with_logits_weighs_ones_and_elements() -> None:
    x, y, w, ones = (
        normal(3, 4),
        abs(normal(3, 4, seed=1)) % 1,
        np.array([1.0, 2.0, 0.5, 0.0]),
        np.array([3.0, 1.0, 0.5, 2.0]),
    )
    p = 1 / (1 + np.exp(-x))
    loss = partial(F.binary_cross_entropy_with_logits, weight=w, pos_weight=ones)
    close(
        loss(wf.tensor(x), wf.tensor(y), reduction="none"),
        -w * (ones * y * np.log(p) + (1 - y) * np.log(1 - p)),
    )
    derivative_holds(loss, x, y)


@pytest.mark.parametrize("weight", [np.ones((2, 3)), np.ones((5, 1, 3))])
def test_a_weight_must_not_make_the_loss_larger(weight: Array) -> None:
    x = wf.full((1, 3), 0.5)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        with pytest.raises(
            wf.errors.ShapeError,
            match=r"a weight of shape .* does not broadcast to x of shape \(1, 3\)",
        ):
            loss(x, x, weight)


@pytest.mark.slow
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div(log_target: bool) -> None:
    x, p = log_softmax(normal(3, 4)), np.exp(log_softmax(normal(3, 4, seed=1) * 2))
    each, target = p * (np.log(p) - x), np.log(p) if log_target else p
    loss = partial(F.kl_div, log_target=log_target)
    for reduction, expected in {
        "none": each,
        "sum": each.sum(),
        "mean": each.mean(),
        "batchmean": each.sum() / 3,
    }.items():
        close(loss(wf.tensor(x), wf.tensor(target), reduction=reduction), expected)
    derivative_holds(loss, x, target)


def test_kl_div_of_an_impossible_outcome_is_zero() -> None:
    x, p = wf.tensor([-1.0, -2.0], requires_grad=True), wf.tensor([0.0, 1.0], requires_grad=True)
    loss = F.kl_div(x, p, reduction="none")
    loss.sum().backward()
    assert (
        loss.tolist() == [0.0, 2.0]
        and x.grad.tolist() == [0.0, -1.0]
        and np.isfinite(p.grad.numpy()).all()
    )


def test_kl_div_says_what_a_reduction_is() -> None:
    with pytest.raises(
        ValueError, match="reduction must be 'mean', 'sum', 'batchmean' or 'none', not 'average'"
    ):
        F.kl_div(wf.zeros(2), wf.zeros(2), reduction="average")
    with pytest.raises(wf.errors.ShapeError, match="needs an axis"):
        F.kl_div(wf.zeros(()), wf.zeros(()), reduction="batchmean")


# ---------------------------------------------------------------- similarity


def test_cosine_similarity() -> None:
    a, b = normal(2, 3, 4), normal(3, 1, seed=1)
    expected = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(0))
    close(F.cosine_similarity(wf.tensor(a), wf.tensor(b)), expected)
    derivative_holds(F.cosine_similarity, a, b)


def test_a_vector_of_zeros_is_like_nothing_and_its_gradient_is_finite() -> None:
    x = wf.tensor(np.zeros((1, 3)), requires_grad=True)
    out = F.cosine_similarity(x, wf.ones(1, 3))
    out.backward(wf.ones(1))
    assert out.tolist() == [0.0] and np.isfinite(x.grad.numpy()).all()


def test_losses_of_pairs() -> None:
    a, b, y = normal(4, 3), normal(4, 3, seed=1), np.array([1, -1, -1, 1])
    b[1], b[2] = b[1] + 2 * a[1], b[2] - 2 * a[2]  # alike, though they are to be apart; and apart
    cosine = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    assert cosine[1] > 0.1 and cosine[2] < 0
    expected = np.where(y == 1, 1 - cosine, np.maximum(0, cosine - 0.1))
    close(
        F.cosine_embedding_loss(wf.tensor(a), wf.tensor(b), wf.tensor(y), 0.1, reduction="none"),
        expected,
    )
    expected = np.where(y == 1, cosine, np.maximum(0, 0.5 - cosine))
    close(F.hinge_embedding_loss(wf.tensor(cosine), wf.tensor(y), 0.5, reduction="none"), expected)
    with pytest.raises(
        wf.errors.ShapeError, match=r"x1 and x2 have shape \(N, D\) and target \(N,\)"
    ):
        F.cosine_embedding_loss(wf.zeros(2, 3), wf.zeros(2, 3), wf.zeros(3))


# ---------------------------------------------------------------- as layers

P, Q = np.exp(log_softmax(normal(3, 4))), np.exp(log_softmax(normal(3, 4, seed=1) * 2))
LAYERS: dict[str, tuple[nn.Module, Callable[..., wf.Tensor], tuple[Any, ...]]] = {
    "cross_entropy": (
        nn.CrossEntropyLoss(
            [1.0, 2.0, 3.0, 4.0], ignore_index=1, reduction="sum", label_smoothing=0.1
        ),
        partial(
            F.cross_entropy,
            weight=[1.0, 2.0, 3.0, 4.0],
            ignore_index=1,
            reduction="sum",
            label_smoothing=0.1,
        ),
        (P, np.array([1, 2, 3])),
    ),
    "nll": (
        nn.NLLLoss(ignore_index=2, reduction="none"),
        partial(F.nll_loss, ignore_index=2, reduction="none"),
        (P, [1, 2, 3]),
    ),
    "mse": (nn.MSELoss(reduction="sum"), partial(F.mse_loss, reduction="sum"), (P, Q)),
    "l1": (nn.L1Loss(reduction="sum"), partial(F.l1_loss, reduction="sum"), (P, Q)),
    "smooth": (nn.SmoothL1Loss(beta=0.1), partial(F.smooth_l1_loss, beta=0.1), (P, Q)),
    "huber": (nn.HuberLoss("sum", 0.1), partial(F.huber_loss, reduction="sum", delta=0.1), (P, Q)),
    "bce": (
        nn.BCELoss([2.0], reduction="sum"),
        partial(F.binary_cross_entropy, weight=[2.0], reduction="sum"),
        (P, Q),
    ),
    "logits": (
        nn.BCEWithLogitsLoss([2.0], pos_weight=[3.0]),
        partial(F.binary_cross_entropy_with_logits, weight=[2.0], pos_weight=[3.0]),
        (P, Q),
    ),
    "kl": (
        nn.KLDivLoss(reduction="batchmean", log_target=True),
        partial(F.kl_div, reduction="batchmean", log_target=True),
        (P, Q),
    ),
    "cosine": (nn.CosineSimilarity(-1), partial(F.cosine_similarity, axis=-1), (P, Q)),
    "pairs": (
        nn.CosineEmbeddingLoss(0.2),
        partial(F.cosine_embedding_loss, margin=0.2),
        (P, Q, [1, -1, -1]),
    ),
    "hinge": (
        nn.HingeEmbeddingLoss(0.2),
        partial(F.hinge_embedding_loss, margin=0.2),
        (P[0], [1, -1, -1, 1]),
    ),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_passes_its_settings_on(name: str) -> None:
    layer, function, arrays = LAYERS[name]
    tensors = [wf.tensor(a) for a in arrays]
    np.testing.assert_array_equal(layer(*tensors).numpy(), function(*tensors).numpy())


def test_the_repr_of_a_loss_shows_its_settings() -> None:
    assert repr(nn.SmoothL1Loss(beta=0.5)) == "SmoothL1Loss(reduction='mean', beta=0.5)"
    assert repr(nn.NLLLoss()) == "NLLLoss(ignore_index=-100, reduction='mean')"
    assert repr(nn.NLLLoss([0.5])).startswith("NLLLoss(weight=tensor([0.5]") and "_" not in repr(
        nn.BCELoss([1.0])
    )


def test_halves_and_jitted_losses_are_those_of_a_lazy_loop() -> None:
    x, y = wf.tensor(normal(3, 4)).half(), wf.tensor([0, -100, 3])
    loss = partial(F.cross_entropy, label_smoothing=0.1)
    assert loss(x, y).dtype is wf.float16
    assert wf.jit(loss)(x, y).item() == loss(x, y).item()
