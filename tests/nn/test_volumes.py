"""Functions and layers of three spatial axes: values against NumPy, gradients, schedules, and what
is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, normal
from weft import nn
from weft.nn import functional as F

SPATIAL = (2, 3, 4)


def windows(x: Array, kernel: tuple[int, ...], stride: int) -> Array:
    """(N, C, *positions, *kernel)."""
    found = np.lib.stride_tricks.sliding_window_view(x, kernel, SPATIAL)
    return found[:, :, ::stride, ::stride, ::stride]


def convolved(x: Array, w: Array, b: Array) -> Array:
    """With a stride of 2 and a padding of 1."""
    win = windows(np.pad(x, [(0, 0)] * 2 + [(1, 1)] * 3), w.shape[2:], 2)
    return np.einsum("ncdhwijk,ocijk->nodhw", win, w) + b[:, None, None, None]


def upsampled(x: Array) -> Array:
    """Means of neighbours by distance, each axis to double its extent."""
    for axis in SPATIAL:
        n = x.shape[axis]
        at = ((np.arange(2 * n) + 0.5) / 2 - 0.5).clip(0, n - 1)
        shares = (1 - abs(at[:, None] - np.arange(n))).clip(0)
        x = np.moveaxis(np.tensordot(x, shares, ([axis], [1])), -1, axis)
    return x


def standardised(x: Array, axes: tuple[int, ...]) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


X, W, B = normal(2, 3, 4, 5, 6), normal(4, 3, 3, 2, 3, seed=1), normal(4, seed=2)
VALUES: dict[str, tuple[Callable[[wf.Tensor], wf.Tensor], Array]] = {
    "conv": (lambda x: F.conv3d(x, W, B, stride=2, padding=1), convolved(X, W, B)),
    "max pool": (lambda x: F.max_pool3d(x, (2, 1, 3), 2), windows(X, (2, 1, 3), 2).max((5, 6, 7))),
    "average": (lambda x: F.avg_pool3d(x, 2), windows(X, (2, 2, 2), 2).mean((5, 6, 7))),
    "adaptive average": (
        lambda x: F.adaptive_avg_pool3d(x, (2, 1, 3)),
        X.reshape(2, 3, 2, 2, 1, 5, 3, 2).mean((3, 5, 7)),
    ),
    "batch norm": (nn.BatchNorm3d(3).double(), standardised(X, (0, *SPATIAL))),
    "instance norm": (nn.InstanceNorm3d(3).double(), standardised(X, SPATIAL)),
    "trilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), upsampled(X)),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    function, expected = VALUES[name]
    close(function(wf.tensor(X)), expected, 1e-10)


@pytest.mark.slow
def test_a_transposed_convolution_is_the_gradient_of_one_by_its_images() -> None:
    x, w = wf.tensor(normal(2, 4, 3, 2, 3)), wf.tensor(normal(4, 3, 2, 3, 2))
    out = F.conv_transpose3d(x, w, None, 2, (0, 1, 0), (1, 0, 0))
    images = wf.zeros_like(out).requires_grad_()
    (expected,) = wf.grad(F.conv3d(images, w, None, 2, (0, 1, 0)), [images], x)
    close(out, expected.numpy())


@pytest.mark.slow
def test_gradients() -> None:
    x, w = wf.tensor(normal(1, 2, 2, 3, 3)), wf.tensor(normal(2, 2, 2, 2, 1, seed=1))
    wf.check_grad(lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=1), x, w)
    wf.check_grad(lambda x, w: F.conv_transpose3d(x, w, stride=2), x, w)
    wf.check_grad(lambda x: F.max_pool3d(x, (1, 2, 2)), x)


def test_places_of_the_greatest_lie_in_the_flattened_volume() -> None:
    out, places = F.max_pool3d(wf.tensor(X), (3, 2, 2), return_indices=True)
    found = np.take_along_axis(X.reshape(2, 3, -1), places.numpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(found.reshape(out.shape), out.numpy())


@pytest.mark.slow
def test_a_convolution_and_its_gradients_read_windows_where_they_lie() -> None:
    x, w = (
        wf.tensor(normal(*s).astype(np.float32)) for s in ((2, 16, 8, 16, 16), (16, 16, 3, 3, 3))
    )
    y = F.conv3d(x, w, padding=1)
    for found in (wf.explain(y.relu()), wf.explain(wf.grad((y * y).sum(), [x, w]))):
        kinds = [k.schedule.split(":")[0] for k in found.kernels if k.kind == "contraction"]
        assert kinds and {*kinds} == {"windows"}


def test_what_is_no_volume_is_refused() -> None:
    image = wf.zeros(2, 3)
    for call, name in (
        (lambda: F.conv3d(image, wf.zeros(1, 1, 1, 1, 1)), "conv3d"),
        (lambda: F.dropout3d(image), "dropout3d"),
        (lambda: nn.ZeroPad3d(1)(image), "ZeroPad3d"),
        (lambda: nn.BatchNorm3d(3)(image), "BatchNorm3d"),
    ):
        with pytest.raises(
            wf.errors.ShapeError, match=rf"{name}: expected x of shape \(N, C, D, H, W\)"
        ):
            call()
