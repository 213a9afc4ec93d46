"""Layers are their functions with the layer's settings and weights, and a line is an image of one
row: without torch."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

import numpy as np
import pytest
import weft as wf
from nnref import close, normal
from weft import nn

F = nn.functional
SAME: dict[str, tuple[nn.Module, Callable[[wf.Tensor], wf.Tensor], tuple[int, ...]]] = {
    "AdaptiveAvgPool1d": (
        nn.AdaptiveAvgPool1d(3),
        lambda x: F.adaptive_avg_pool1d(x, 3),
        (2, 3, 7),
    ),
    "AdaptiveAvgPool2d": (
        nn.AdaptiveAvgPool2d((3, None)),
        lambda x: F.adaptive_avg_pool2d(x, (3, None)),
        (2, 3, 7, 5),
    ),
    "AdaptiveMaxPool1d": (
        nn.AdaptiveMaxPool1d(3),
        lambda x: F.adaptive_max_pool1d(x, 3),
        (2, 3, 7),
    ),
    "AdaptiveMaxPool2d": (
        nn.AdaptiveMaxPool2d((3, None)),
        lambda x: F.adaptive_max_pool2d(x, (3, None)),
        (2, 3, 7, 5),
    ),
    "AdaptiveAvgPool3d": (
        nn.AdaptiveAvgPool3d((3, None, 2)),
        lambda x: F.adaptive_avg_pool3d(x, (3, None, 2)),
        (2, 3, 7, 5, 4),
    ),
    "AdaptiveMaxPool3d": (
        nn.AdaptiveMaxPool3d(2),
        lambda x: F.adaptive_max_pool3d(x, 2),
        (2, 3, 7, 5, 4),
    ),
    "AvgPool1d": (
        nn.AvgPool1d(3, 2, 1, True, False),
        lambda x: F.avg_pool1d(x, 3, 2, 1, True, False),
        (2, 3, 8),
    ),
    "AvgPool2d": (
        nn.AvgPool2d((3, 2), 2, 1, True, False, 5),
        lambda x: F.avg_pool2d(x, (3, 2), 2, 1, True, False, 5),
        (2, 3, 8, 7),
    ),
    "AvgPool3d": (
        nn.AvgPool3d(2, 2, 1, True, False, 5),
        lambda x: F.avg_pool3d(x, 2, 2, 1, True, False, 5),
        (2, 3, 4, 5, 7),
    ),
    "CircularPad1d": (nn.CircularPad1d((2, 1)), lambda x: F.pad(x, (2, 1), "circular"), (2, 3, 4)),
    "ConstantPad2d": (
        nn.ConstantPad2d((2, 1, 0, -1), 3),
        lambda x: F.pad(x, (2, 1, 0, -1), value=3),
        (2, 3, 4, 4),
    ),
    "Fold": (nn.Fold((5, 6), 2, 2, 1, 2), lambda x: F.fold(x, (5, 6), 2, 2, 1, 2), (2, 8, 9)),
    "MaxPool1d": (
        nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True),
        lambda x: F.max_pool1d(x, 3, 2, 1, 2, True),
        (2, 3, 9),
    ),
    "MaxPool2d": (
        nn.MaxPool2d((3, 2), 2, 1, 2),
        lambda x: F.max_pool2d(x, (3, 2), 2, 1, 2),
        (2, 3, 9, 8),
    ),
    "MaxPool3d": (nn.MaxPool3d(2, 2, 1), lambda x: F.max_pool3d(x, 2, 2, 1), (2, 3, 4, 5, 3)),
    "PixelShuffle": (nn.PixelShuffle(2), lambda x: F.pixel_shuffle(x, 2), (2, 8, 3, 4)),
    "PixelUnshuffle": (nn.PixelUnshuffle(2), lambda x: F.pixel_unshuffle(x, 2), (2, 3, 4, 6)),
    "ReflectionPad3d": (
        nn.ReflectionPad3d(1),
        lambda x: F.pad(x, (1,) * 6, "reflect"),
        (2, 3, 2, 4),
    ),
    "ReplicationPad2d": (
        nn.ReplicationPad2d(2),
        lambda x: F.pad(x, (2,) * 4, "replicate"),
        (2, 3, 2, 4),
    ),
    "Unfold": (nn.Unfold((2, 3), 2, 1, 2), lambda x: F.unfold(x, (2, 3), 2, 1, 2), (2, 3, 6, 7)),
    "Upsample": (
        nn.Upsample(scale_factor=(2, 1.5), mode="bilinear", align_corners=True),
        lambda x: F.interpolate(x, None, (2, 1.5), "bilinear", True),
        (1, 2, 3, 4),
    ),
    "Upsample to a size": (nn.Upsample(7), lambda x: F.interpolate(x, 7), (1, 2, 3)),
    "ZeroPad3d": (
        nn.ZeroPad3d((1, 0, 0, 2, 1, 1)),
        lambda x: F.pad(x, (1, 0, 0, 2, 1, 1)),
        (2, 3, 2, 4),
    ),
}


STATELESS = [
    kind for name in nn.layers.__all__ if getattr(kind := getattr(nn, name), "_settings", ())
]


@pytest.mark.parametrize("kind", STATELESS, ids=lambda kind: kind.__name__)
def test_the_settings_of_a_layer_are_those_of_its_function(kind: type[nn.Module]) -> None:
    own, of_function = signature(kind).parameters, signature(kind._function).parameters  # type: ignore[attr-defined]
    assert {name: p.default for name, p in own.items()} == {
        name: of_function[name].default for name in own
    }
    assert not own.keys() & vars(kind).keys()  # an attribute is a layer's own


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", SAME)
def test_a_layer_is_its_function(name: str) -> None:
    layer, function, shape = SAME[name]
    x = wf.tensor(normal(*shape))
    np.testing.assert_array_equal(layer(x).numpy(), function(x).numpy())


def test_rms_norm_layer_scales_by_its_weight() -> None:
    layer, x = nn.RMSNorm((2, 3), eps=0.5), normal(4, 2, 3)
    layer.weight.assign(wf.tensor(normal(2, 3), "float32"))
    wanted = x / np.sqrt((x * x).mean(axis=(1, 2), keepdims=True) + 0.5) * layer.weight.numpy()
    close(layer.to(wf.float64)(wf.tensor(x)), wanted)


# ---------------------------------------------------------------- defaults

DEFAULTS: dict[str, dict[str, object]] = {  # torch's
    "alpha_dropout": {"p": 0.5},
    "batch_norm": {"momentum": 0.1, "eps": 1e-5},
    "celu": {"alpha": 1},
    "cosine_embedding_loss": {"margin": 0, "reduction": "mean"},
    "cosine_similarity": {"axis": 1, "eps": 1e-8},
    "cross_entropy": {"ignore_index": -100, "reduction": "mean", "label_smoothing": 0},
    "dropout": {"p": 0.5},
    "dropout1d": {"p": 0.5},
    "dropout2d": {"p": 0.5},
    "elu": {"alpha": 1},
    "gelu": {"approximate": "none"},
    "glu": {"axis": -1},
    "group_norm": {"eps": 1e-5},
    "hardtanh": {"min_val": -1, "max_val": 1},
    "hinge_embedding_loss": {"margin": 1, "reduction": "mean"},
    "huber_loss": {"delta": 1, "reduction": "mean"},
    "instance_norm": {"use_input_stats": True, "momentum": 0.1, "eps": 1e-5},
    "kl_div": {"reduction": "mean", "log_target": False},
    "layer_norm": {"eps": 1e-5},
    "leaky_relu": {"negative_slope": 0.01},
    "nll_loss": {"ignore_index": -100, "reduction": "mean"},
    "pad": {"mode": "constant"},
    "rms_norm": {"eps": None},
    "scaled_dot_product_attention": {
        "dropout_p": 0,
        "is_causal": False,
        "scale": None,
        "enable_gqa": False,
    },
    "smooth_l1_loss": {"beta": 1, "reduction": "mean"},
    "softplus": {"beta": 1, "threshold": 20},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_of_a_function(name: str) -> None:
    parameters = signature(getattr(F, name)).parameters
    assert {what: parameters[what].default for what in DEFAULTS[name]} == DEFAULTS[name]


def test_a_layer_has_the_defaults_of_its_function() -> None:
    """Whose name it has but for capitals, underscores and "loss"."""
    plain = {name.replace("_", "").removesuffix("loss"): name for name in F.__all__}
    differ = {"training", "weight", "bias"}
    compared = 0
    for layer in nn.layers.__all__:
        key = layer.lower().removesuffix("loss")
        function = plain.get(key) or plain.get(
            key[:-2]
        )  # BatchNorm1d and BatchNorm2d are batch_norm
        if function is not None:
            mine, theirs = (
                signature(getattr(nn, layer)).parameters,
                signature(getattr(F, function)).parameters,
            )
            for what in mine.keys() & theirs.keys() - differ:
                compared += 1
                assert mine[what].default == theirs[what].default, (layer, what)
    assert compared > 50


# ---------------------------------------------------------------- lines

LINE = normal(2, 4, 9)
KERNEL = normal(4, 2, 3)
LINES: dict[str, Callable[[str, wf.Tensor, wf.Tensor], wf.Tensor]] = {
    "conv{}": lambda f, x, w: getattr(F, f)(
        x, w, stride=_of(f, 1, 2), padding=_of(f, 0, 2), dilation=_of(f, 1, 2), groups=2
    ),
    "conv_transpose{}": lambda f, x, w: getattr(F, f)(
        x, w, None, _of(f, 1, 3), _of(f, 0, 1), _of(f, 0, 2)
    ),
    "max_pool{}": lambda f, x, w: getattr(F, f)(
        x, _of(f, 1, 3), _of(f, 1, 2), _of(f, 0, 1), ceil_mode=True
    ),
    "avg_pool{}": lambda f, x, w: getattr(F, f)(
        x, _of(f, 1, 3), _of(f, 1, 2), _of(f, 0, 1), count_include_pad=False
    ),
    "adaptive_avg_pool{}": lambda f, x, w: getattr(F, f)(x, _of(f, 1, 4)),
    "adaptive_max_pool{}": lambda f, x, w: getattr(F, f)(x, _of(f, 1, 4)),
}


def _of(function: str, row: int, line: int) -> tuple[int, ...]:
    """A size along the line, after that of the one row of an image, and of its one slice of a
    volume."""
    return (*[row] * (int(function[-2]) - 1), line)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", LINES)
def test_a_line_is_an_image_of_one_row_and_that_a_volume_of_one_slice(name: str) -> None:
    x, kernel = wf.tensor(LINE), wf.tensor(KERNEL)
    line, image, volume = (
        LINES[name](
            name.format(f"{n}d"),
            *(t.reshape(*t.shape[:2], *[1] * (n - 1), -1) for t in (x, kernel)),
        )
        for n in (1, 2, 3)
    )
    for other in (image, volume):
        np.testing.assert_allclose(other.reshape(line.shape).numpy(), line.numpy(), rtol=1e-12)
