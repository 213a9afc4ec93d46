"""Layer by layer against torch: its state dict is loaded, then outputs and all gradients agree, in
training and eval mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from torchref import pair
from weft import nn

torch = pytest.importorskip("torch")
T = torch.nn

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Using padding='same'"),  # of torch, about its own copy
]

Array = np.ndarray
Case = tuple[
    str, tuple[int, ...], tuple[Any, ...], dict[str, Any]
]  # layer, shape of the input, arguments

IMAGE, LINE, VOLUME = (2, 4, 7, 6), (2, 4, 9), (2, 4, 5, 4, 6)
CASES: dict[str, Case] = {
    "linear": ("Linear", (2, 3, 5), (5, 4), {}),
    "linear without bias": ("Linear", (5,), (5, 4), {"bias": False}),
    "conv1d": ("Conv1d", LINE, (4, 3, 3), {"stride": 2, "padding": 1, "dilation": 2}),
    "conv1d of one line": ("Conv1d", LINE[1:], (4, 6, 2), {"groups": 2, "padding": "same"}),
    "conv2d": ("Conv2d", IMAGE, (4, 3, (3, 2)), {"stride": (2, 1), "padding": (1, 0)}),
    "conv2d of one image": ("Conv2d", IMAGE[1:], (4, 3, 3), {"padding": "valid", "bias": False}),
    "conv2d depthwise": ("Conv2d", IMAGE, (4, 8, 3), {"groups": 4, "padding": 1, "dilation": 2}),
    "conv2d reflect": ("Conv2d", IMAGE, (4, 3, 3), {"padding": (2, 1), "padding_mode": "reflect"}),
    "conv2d replicate": (
        "Conv2d",
        IMAGE,
        (4, 3, 4),
        {"padding": "same", "padding_mode": "replicate"},
    ),
    "conv1d circular": ("Conv1d", LINE, (4, 3, 3), {"padding": 2, "padding_mode": "circular"}),
    "conv3d": (
        "Conv3d",
        VOLUME,
        (4, 6, (3, 2, 3)),
        {"stride": (2, 1, 1), "padding": (1, 0, 2), "groups": 2},
    ),
    "conv3d of one volume": (
        "Conv3d",
        VOLUME[1:],
        (4, 3, 2),
        {"padding": "same", "dilation": 2, "padding_mode": "replicate"},
    ),
    "transposed line": ("ConvTranspose1d", LINE, (4, 3, 4), {"stride": 2, "padding": 1}),
    "transposed, dilated line": (
        "ConvTranspose1d",
        LINE[1:],
        (4, 6, 2),
        {"stride": 3, "dilation": 2, "groups": 2},
    ),
    "transposed": ("ConvTranspose2d", (2, 4, 4, 5), (4, 3, 4, 2, 1), {}),
    "transposed one by one": (
        "ConvTranspose2d",
        (2, 4, 4, 5),
        (4, 3, 3),
        {"padding": 1, "bias": False},
    ),
    "transposed with more": (
        "ConvTranspose2d",
        (4, 4, 5),
        (4, 6, (3, 2), (2, 3), (1, 0), (1, 2)),
        {"groups": 2},
    ),
    "transposed, dilated": (
        "ConvTranspose2d",
        (2, 4, 4, 5),
        (4, 4, 3),
        {"dilation": 2, "groups": 4, "output_padding": 1},
    ),
    "transposed volume": (
        "ConvTranspose3d",
        VOLUME,
        (4, 6, (2, 3, 2), 2, (0, 1, 0), (1, 0, 1), 2),
        {},
    ),
    "max pool of lines": ("MaxPool1d", LINE, (3, 2, 1), {"dilation": 2}),
    "max pool": ("MaxPool2d", IMAGE, (3, 2), {"ceil_mode": True, "padding": 1}),
    "max pool of one image": ("MaxPool2d", IMAGE[1:], ((2, 3),), {}),
    "max pool of volumes": ("MaxPool3d", VOLUME, (2, (2, 1, 2), 1), {"ceil_mode": True}),
    "average of lines": ("AvgPool1d", LINE, (4, 3, 2, True, False), {}),
    "average": ("AvgPool2d", IMAGE, (3, 2, 1), {}),
    "average of what is there": ("AvgPool2d", IMAGE, (3, (1, 2), 1), {"count_include_pad": False}),
    "average over the end": ("AvgPool2d", IMAGE, (4, 3, 1), {"ceil_mode": True}),
    "average with a divisor": (
        "AvgPool2d",
        IMAGE[1:],
        (2,),
        {"divisor_override": 3, "ceil_mode": True},
    ),
    "average of volumes": ("AvgPool3d", VOLUME, ((2, 3, 2), 2, 1), {"count_include_pad": False}),
    "adaptive average of lines": ("AdaptiveAvgPool1d", LINE, (4,), {}),
    "adaptive average": ("AdaptiveAvgPool2d", IMAGE, ((3, 4),), {}),
    "adaptive average of all": ("AdaptiveAvgPool2d", IMAGE, (1,), {}),
    "adaptive average, more cells": ("AdaptiveAvgPool2d", IMAGE[1:], ((None, 8),), {}),
    "adaptive maximum of lines": ("AdaptiveMaxPool1d", LINE, (3,), {}),
    "adaptive maximum": ("AdaptiveMaxPool2d", IMAGE, ((5, 3),), {}),
    "adaptive average of volumes": ("AdaptiveAvgPool3d", VOLUME, ((3, None, 2),), {}),
    "adaptive maximum of a volume": ("AdaptiveMaxPool3d", VOLUME[1:], ((2, 3, 4),), {}),
    "nearest": ("Upsample", IMAGE, (None, (2, 3)), {}),
    "nearest of another size": ("Upsample", IMAGE, ((5, 10),), {}),
    "nearest by the middle": ("Upsample", LINE, (None, 1.5), {"mode": "nearest-exact"}),
    "linear to a size": ("Upsample", LINE, (14,), {"mode": "linear"}),
    "linear by a factor": ("Upsample", LINE, (None, 1.7), {"mode": "linear"}),
    "bilinear": ("Upsample", IMAGE, (None, (2, 0.6)), {"mode": "bilinear"}),
    "bilinear, corners kept": (
        "Upsample",
        IMAGE,
        ((13, 4),),
        {"mode": "bilinear", "align_corners": True},
    ),
    "bilinear, an axis kept": ("Upsample", IMAGE, (None, (1.1, 2.7)), {"mode": "bilinear"}),
    "bilinear to one": ("Upsample", IMAGE, (1,), {"mode": "bilinear", "align_corners": True}),
    "nearest in volumes": ("Upsample", VOLUME, (None, (2, 1.5, 0.5)), {}),
    "trilinear": ("Upsample", VOLUME, ((4, 6, 5),), {"mode": "trilinear"}),
    "trilinear, corners kept": (
        "Upsample",
        VOLUME,
        (None, 1.6),
        {"mode": "trilinear", "align_corners": True},
    ),
    "reflection": ("ReflectionPad3d", VOLUME, ((1, 2, 3, 0, 1, 2),), {}),
    "replication": ("ReplicationPad2d", IMAGE[1:], ((1, 2, 3, 0),), {}),
    "circular": ("CircularPad1d", LINE, ((3, 1),), {}),
    "constant": ("ConstantPad2d", IMAGE, ((1, -2, 3, 0), 0.5), {}),
    "zeros": ("ZeroPad3d", VOLUME[1:], (1,), {}),
    "pixel shuffle": ("PixelShuffle", IMAGE, (2,), {}),
    "pixel unshuffle": ("PixelUnshuffle", (4, 6, 9), (3,), {}),
    "unfold": ("Unfold", IMAGE, ((2, 3), (1, 2), 1, 2), {}),
    "fold": ("Fold", (2, 12, 12), ((7, 6), (2, 3)), {"stride": 2, "padding": (1, 1)}),
    "fold, dilated": ("Fold", (8, 12), ((5, 6), 2, 2), {}),
    "layer norm": ("LayerNorm", (2, 3, 5), ((3, 5),), {}),
    "rms norm": ("RMSNorm", (2, 3, 5), (5,), {}),
    "rms norm, plain": ("RMSNorm", (2, 3, 5), ((3, 5), 0.1, False), {}),
    "group norm": ("GroupNorm", IMAGE, (2, 4), {}),
    "group norm, plain": ("GroupNorm", LINE[:2], (2, 4, 1e-3, False), {}),
    "batch norm of rows": ("BatchNorm1d", (6, 4), (4,), {}),
    "batch norm of lines": ("BatchNorm1d", LINE, (4,), {"affine": False, "momentum": None}),
    "batch norm": ("BatchNorm2d", IMAGE, (4, 1e-3, 0.3), {}),
    "batch norm of the batch alone": ("BatchNorm2d", IMAGE, (4,), {"track_running_stats": False}),
    "batch norm of volumes": ("BatchNorm3d", VOLUME, (4,), {}),
    "instance norm of one line": ("InstanceNorm1d", LINE[1:], (4,), {}),
    "instance norm": ("InstanceNorm2d", IMAGE, (4,), {"affine": True, "track_running_stats": True}),
    "instance norm, one image": ("InstanceNorm2d", IMAGE[1:], (4,), {"affine": True}),
    "instance norm of volumes": (
        "InstanceNorm3d",
        VOLUME,
        (4,),
        {"affine": True, "track_running_stats": True},
    ),
    "flatten": ("Flatten", IMAGE, (1, 2), {}),
    "unflatten": ("Unflatten", IMAGE, (-3, (2, -1)), {}),
}


def draw(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layers(case: str) -> tuple[nn.Module, Any]:
    """The layer of a case, of both."""
    name, _, args, kwargs = CASES[case]
    return pair(name, *args, **kwargs)


def close(mine: Any, theirs: Any, tolerance: float, what: str) -> None:
    expected = theirs.detach().numpy()
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(
        mine.numpy(), expected, rtol=tolerance, atol=tolerance * scale, err_msg=what
    )


def outputs_and_gradients_agree(mine: nn.Module, theirs: Any, x: Array) -> None:
    a, b = wf.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    out, expected = mine(a), theirs(b)
    close(out, expected, 1e-5, "output")
    weights = draw(out.shape, 1)
    (out * wf.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    close(a.grad, b.grad, 1e-4, "gradient of the input")
    ours = dict(mine.named_parameters())
    for name, p in theirs.named_parameters():
        close(ours[name].grad, p.grad, 1e-4, f"gradient of {name}")


@pytest.mark.parametrize("case", CASES)
def test_outputs_and_gradients(case: str) -> None:
    outputs_and_gradients_agree(*layers(case), draw(CASES[case][1]))


TRACKING = [case for case in CASES if hasattr(layers(case)[1], "running_mean")]


@pytest.mark.parametrize("case", TRACKING)
@pytest.mark.parametrize("jitted", [False, True], ids=["lazy", "jitted"])
def test_running_statistics_follow_and_eval_mode_uses_them(case: str, jitted: bool) -> None:
    mine, theirs = layers(case)
    call = wf.jit(mine) if jitted else mine
    for seed in range(3):
        x = draw(CASES[case][1], seed) * (seed + 1) + seed
        out, expected = call(wf.tensor(x)), theirs(torch.tensor(x))
    close(out, expected, 1e-5, "output")
    state = mine.state_dict()
    assert list(state) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        close(state[name], value, 1e-5, name)
    outputs_and_gradients_agree(mine.eval(), theirs.eval(), x)


def test_places_of_the_greatest_elements() -> None:
    x = draw(IMAGE)
    for how in (
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 2, "dilation": 2, "ceil_mode": True},
    ):
        mine, theirs = (m.MaxPool2d(**how, return_indices=True) for m in (nn, T))
        (out, places), (expected, there) = mine(wf.tensor(x)), theirs(torch.tensor(x))
        close(out, expected, 0, "output")
        np.testing.assert_array_equal(places.numpy(), there.numpy())
