"""Losses and activations against torch: every setting, edges and all reductions; values and
gradients in float64."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from torchref import Array, agree, draw
from weft import nn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F, TF, T = nn.functional, torch.nn.functional, torch.nn

LABELS = np.array([0, 2, -100, 1, 1, 2])
X, Y, W = draw(6, 3), draw(6, 3, seed=1), np.array([0.5, 2.0, 1.0])
IMAGE, IMAGE_LABELS = draw(2, 3, 2, 2), np.array([[[0, 1], [2, -100]], [[1, 1], [0, 2]]])
Z, SIGNS = draw(6, 3, seed=2), np.sign(Y).astype(int)
P = np.exp(Y) / np.exp(Y).sum(1, keepdims=True)
INSIDE = abs(X) % 1

LOSSES: dict[str, tuple[str, tuple[Array, ...], dict[str, Any]]] = {
    "ignored": ("cross_entropy", (X, LABELS), {}),
    "weighted": ("cross_entropy", (X, LABELS), {"weight": W}),
    "smoothed": ("cross_entropy", (X, LABELS), {"label_smoothing": 0.3}),
    "weighted and smoothed": ("cross_entropy", (X, LABELS), {"weight": W, "label_smoothing": 0.3}),
    "another ignored": ("cross_entropy", (X, LABELS.clip(0)), {"weight": W, "ignore_index": 2}),
    "images": ("cross_entropy", (IMAGE, IMAGE_LABELS), {"weight": W, "label_smoothing": 0.3}),
    "one row": ("cross_entropy", (X[0], np.array(2)), {"weight": W, "label_smoothing": 0.3}),
    "probabilities": ("cross_entropy", (X, P), {}),
    "probabilities, weighted and smoothed": (
        "cross_entropy",
        (X, P),
        {"weight": W, "label_smoothing": 0.3},
    ),
    "probabilities of one row": ("cross_entropy", (X[0], P[0]), {}),
    "nll": ("nll_loss", (X, LABELS), {"weight": W}),
    "nll of images": ("nll_loss", (IMAGE, IMAGE_LABELS.clip(0)), {"weight": W, "ignore_index": 1}),
    "mse": ("mse_loss", (X, Y), {}),
    "l1": ("l1_loss", (X, Y), {}),
    "smooth l1": ("smooth_l1_loss", (X, Y), {"beta": 0.8}),
    "huber": ("huber_loss", (X, Y), {"delta": 0.8}),
    "bce": ("binary_cross_entropy", (INSIDE, P), {"weight": W}),
    "bce with logits": (
        "binary_cross_entropy_with_logits",
        (X, P),
        {"weight": W, "pos_weight": W + 1},
    ),
    "kl": ("kl_div", (X, P), {}),
    "kl of logarithms": ("kl_div", (X, Y), {"log_target": True}),
    "ranking": ("margin_ranking_loss", (X, Y, SIGNS), {"margin": 0.3}),
    "triplets": ("triplet_margin_loss", (X, Y, Z), {}),
    "triplets, swapped, of another order": (
        "triplet_margin_loss",
        (X, Y, Z),
        {"p": 3, "eps": 0.1, "swap": True, "margin": 0.4},
    ),
    "triplets by a distance": (
        "triplet_margin_with_distance_loss",
        (X, Y, Z),
        {"swap": True, "margin": 0.5},
    ),
    "soft margin": ("soft_margin_loss", (X, SIGNS), {}),
    "one margin": ("multi_margin_loss", (X, LABELS.clip(0)), {"margin": 0.7}),
    "one margin, squared and weighted": (
        "multi_margin_loss",
        (X, LABELS.clip(0)),
        {"p": 2, "weight": W},
    ),
    "one margin of one row": ("multi_margin_loss", (X[0], np.array(1)), {"weight": W}),
    "margins": (
        "multilabel_margin_loss",
        (X, np.array([[0, -1, 2], [1, 0, 2], [-1, 1, 1], [2, 2, -1], [1, -1, -1], [0, 1, -1]])),
        {},
    ),
    "margins of one row": ("multilabel_margin_loss", (X[0], np.array([2, -1, 0])), {}),
    "soft margins": (
        "multilabel_soft_margin_loss",
        (X, SIGNS.clip(0).astype(float)),
        {"weight": W},
    ),
    "gaussian": ("gaussian_nll_loss", (X, Y, abs(Z)), {}),
    "gaussian, full, one variance a row": (
        "gaussian_nll_loss",
        (X, Y, abs(Z[:, 0])),
        {"full": True, "eps": 0.5},
    ),
    "poisson": ("poisson_nll_loss", (X, abs(Y)), {}),
    "poisson of means, full": (
        "poisson_nll_loss",
        (abs(X), 3 * abs(Y)),
        {"log_input": False, "full": True},
    ),
    "hinge": ("hinge_embedding_loss", (X, np.sign(Y).astype(int)), {"margin": 0.3}),
}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("case", LOSSES)
def test_losses(case: str) -> None:
    name, arrays, settings = LOSSES[case]
    theirs = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
    for reduction in ("none", "sum", "mean", *(["batchmean"] if name == "kl_div" else [])):
        agree(
            f"{case} {reduction}",
            lambda *a, r=reduction: getattr(F, name)(*a, reduction=r, **settings),
            lambda *a, r=reduction: getattr(TF, name)(*a, reduction=r, **theirs),
            *arrays,
        )


def test_a_mean_of_no_label_is_torchs() -> None:
    for weight in (None, W):
        mine = F.cross_entropy(wf.tensor(X), wf.tensor([-100] * 6), weight, label_smoothing=0.1)
        theirs = TF.cross_entropy(
            torch.tensor(X), torch.tensor([-100] * 6), None if weight is None else torch.tensor(W)
        )
        assert np.isnan(mine.item()) and np.isnan(theirs.item())


def test_bounds_of_binary_cross_entropy() -> None:
    x, y = np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0])
    mine = F.binary_cross_entropy(wf.tensor(x), wf.tensor(y), reduction="none")
    np.testing.assert_array_equal(
        mine.numpy(), TF.binary_cross_entropy(torch.tensor(x), torch.tensor(y), reduction="none")
    )


def test_similarities() -> None:
    agree("cosine", F.cosine_similarity, TF.cosine_similarity, draw(2, 3, 4), draw(3, 1, seed=1))
    short = TF.cosine_similarity(torch.tensor(X), torch.tensor(Y), eps=2.0)
    np.testing.assert_allclose(
        F.cosine_similarity(wf.tensor(X), wf.tensor(Y), eps=2.0).numpy(), short.numpy(), rtol=1e-12
    )
    sign = np.array([1, -1, 1, -1, 1, -1])
    agree(
        "pairs",
        lambda a, b: F.cosine_embedding_loss(a, b, wf.tensor(sign), 0.2),
        lambda a, b: TF.cosine_embedding_loss(a, b, torch.tensor(sign), 0.2),
        X,
        Y,
    )


def test_sequences_of_all_alignments() -> None:
    labels, inputs, lengths = (
        np.array([[1, 2, 2], [3, 1, 1], [2, 1, 3]]),
        np.array([8, 6, 3]),
        np.array([3, 2, 0]),
    )
    for reduction in ("none", "sum", "mean"):
        agree(
            reduction,
            lambda x, r=reduction: F.ctc_loss(
                x.log_softmax(), labels, inputs, lengths, reduction=r
            ),
            lambda x, r=reduction: TF.ctc_loss(
                x.log_softmax(-1), *map(torch.tensor, (labels, inputs, lengths)), reduction=r
            ),
            draw(8, 3, 4),
        )


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_images_and_volumes_at_any_place(mode: str, padding: str, aligned: bool) -> None:
    mine, theirs = (
        partial(f.grid_sample, mode=mode, padding_mode=padding, align_corners=aligned)
        for f in (F, TF)
    )
    for shape in [(5, 4), *([] if mode == "bicubic" else [(3, 2, 4)])]:
        x, grid = (
            draw(2, 3, *shape),
            np.random.default_rng(3).uniform(-1.7, 1.7, (2, *shape[::-1], len(shape))),
        )
        if mode == "nearest":  # the places have no gradient here, and zeros there
            agree(
                mode,
                partial(mine, grid=wf.tensor(grid)),
                partial(theirs, grid=torch.tensor(grid)),
                x,
            )
        else:
            agree(mode, mine, theirs, x, grid)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0, affine_grid")
@pytest.mark.parametrize("aligned", [False, True])
def test_affine_grids(aligned: bool) -> None:
    for size in ((2, 1, 3, 4), (2, 1, 3, 1, 4)):
        mine, theirs = (
            lambda t, f=f, s=size: f.affine_grid(t, s, align_corners=aligned) for f in (F, TF)
        )
        agree(str(size), mine, theirs, draw(2, len(size) - 2, len(size) - 1))


# ---------------------------------------------------------------- activations

EDGES = np.array(
    [-40.0, -6.5, -3.0, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 2.5, 3.0, 6.0, 10.0, 20.0, 40.0]
)
ACTIVATIONS: dict[str, dict[str, Any]] = {
    "relu": {}, "relu6": {}, "leaky_relu": {"negative_slope": 0.2}, "elu": {"alpha": 1.5},
    "selu": {}, "celu": {"alpha": 0.7},
    "gelu": {}, "silu": {}, "mish": {}, "sigmoid": {}, "logsigmoid": {}, "tanh": {}, "softplus": {},
    "softsign": {},
    "hardtanh": {}, "hardsigmoid": {}, "hardswish": {},
    "threshold": {"threshold": 0.5, "value": 3.0},
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_slopes_at_edges(name: str) -> None:
    settings = ACTIVATIONS[name]
    agree(
        name,
        lambda x: getattr(F, name)(x, **settings),
        lambda x: getattr(TF, name)(x, **settings),
        EDGES,
    )


def test_activations_with_settings() -> None:
    agree("softplus", lambda x: F.softplus(x, 2.0, 5.0), lambda x: TF.softplus(x, 2.0, 5.0), EDGES)
    agree(
        "hardtanh", lambda x: F.hardtanh(x, -3.0, 0.5), lambda x: TF.hardtanh(x, -3.0, 0.5), EDGES
    )
    agree("gelu", lambda x: F.gelu(x, "tanh"), lambda x: TF.gelu(x, approximate="tanh"), EDGES)
    agree("prelu", F.prelu, TF.prelu, draw(2, 3, 4), W)
    agree("prelu of one", F.prelu, TF.prelu, EDGES, W[:1])
    for name in ("softmax", "log_softmax", "softmin", "glu"):
        mine, theirs = getattr(F, name), getattr(TF, name)
        agree(name, lambda x, f=mine: f(x, axis=1), lambda x, f=theirs: f(x, dim=1), draw(2, 4, 3))


# ---------------------------------------------------------------- names and defaults

OUT_OF_USE = {
    "size_average",
    "reduce",
    "inplace",
    "device",
    "dtype",
    "min_value",
    "max_value",
    "args",
    "kwargs",
}
SPELLED = {"dim": "axis", "input": "x", "keepdim": "keepdims"}
NOT_HERE = {
    "norm_type",
    "scale_grad_by_freq",
    "sparse",
    "_freeze",
    "add_zero_attn",
    "enable_nested_tensor",
    "mask_check",
}
NAMES = [
    *(
        "BCELoss",
        "BCEWithLogitsLoss",
        "CosineEmbeddingLoss",
        "CosineSimilarity",
        "CrossEntropyLoss",
        "HingeEmbeddingLoss",
    ),
    *(
        "HuberLoss",
        "KLDivLoss",
        "L1Loss",
        "MSELoss",
        "NLLLoss",
        "SmoothL1Loss",
        "CELU",
        "ELU",
        "GELU",
        "GLU",
        "Hardsigmoid",
    ),
    *(
        "Hardswish",
        "Hardtanh",
        "LeakyReLU",
        "LogSigmoid",
        "LogSoftmax",
        "Mish",
        "PReLU",
        "ReLU",
        "ReLU6",
        "SELU",
        "SiLU",
    ),
    *(
        "Sigmoid",
        "Softmax",
        "Softmin",
        "Softplus",
        "Softsign",
        "Tanh",
        "Threshold",
        "AlphaDropout",
        "Dropout",
        "Dropout1d",
    ),
    *(
        "Dropout2d",
        "Embedding",
        "EmbeddingBag",
        "MultiheadAttention",
        "TransformerEncoder",
        "TransformerEncoderLayer",
    ),
    *(
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "Transformer",
        "Bilinear",
        "Conv3d",
        "ConvTranspose3d",
        "MaxPool3d",
    ),
    *("AvgPool3d", "AdaptiveAvgPool3d", "Dropout3d", "ConstantPad1d", "ReflectionPad2d"),
    *(
        "MarginRankingLoss",
        "TripletMarginLoss",
        "TripletMarginWithDistanceLoss",
        "SoftMarginLoss",
        "MultiMarginLoss",
    ),
    *(
        "MultiLabelMarginLoss",
        "MultiLabelSoftMarginLoss",
        "GaussianNLLLoss",
        "PoissonNLLLoss",
        "CTCLoss",
        "PairwiseDistance",
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_arguments_and_defaults_are_torchs(name: str) -> None:
    mine, theirs = (inspect.signature(getattr(m, name)).parameters for m in (nn, T))
    expected = [
        SPELLED.get(p, p)
        for p in theirs
        if p not in OUT_OF_USE | NOT_HERE | {"args", "kwargs", "min_value", "max_value"}
    ]
    assert [p for p in mine if p not in NOT_HERE] == expected
    for p, q in (
        (mine[p], q) for p in mine for q in theirs.values() if SPELLED.get(q.name, q.name) == p
    ):
        if p.name not in (
            "axis",
            "activation",
        ):  # -1 where torch has None and a warning; a name for a function
            assert p.default == q.default, p.name
