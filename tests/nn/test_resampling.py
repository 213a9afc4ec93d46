"""Images of other sizes, and windows as columns: values against NumPy, gradients, kernels, and what
is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import close, normal
from weft.nn import functional as F

# ---------------------------------------------------------------- sizes


def test_nearest_elements() -> None:
    x = normal(2, 3, 4, 5)
    close(F.interpolate(x, scale_factor=2), x.repeat(2, 2).repeat(2, 3))
    close(F.interpolate(x, (3, 8)), x[:, :, np.arange(3) * 4 // 3][..., np.arange(8) * 5 // 8])
    close(F.interpolate(x, (2, 5), mode="nearest-exact"), x[:, :, [1, 3]])


def test_means_of_neighbours_are_on_straight_lines() -> None:
    """A ramp stays one, up to its ends, which repeat unless corners are kept."""
    ramp = np.arange(5.0).reshape(1, 1, 5)
    close(
        F.interpolate(ramp, 9, mode="linear", align_corners=True),
        np.linspace(0, 4, 9).reshape(1, 1, 9),
        1e-6,
    )
    close(
        F.interpolate(ramp, 10, mode="linear"),
        (np.arange(10) / 2 - 0.25).clip(0, 4).reshape(1, 1, 10),
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_gradients_of_any_order(mode: str) -> None:
    x = wf.tensor(normal(1, 2, 3, 4))

    def f(x: wf.Tensor) -> wf.Tensor:
        return F.interpolate(x, (5, 3), mode=mode)

    wf.check_grad(f, x)
    wf.check_grad(lambda x: wf.grad((f(x) ** 3.0).sum(), x), x)


def test_16_bit_floats_round_once() -> None:
    x = normal(1, 2, 7, 6).astype(np.float16)
    got = F.interpolate(x, (12, 15), mode="bilinear")
    assert got.dtype is wf.float16
    close(
        got,
        F.interpolate(x.astype(np.float32), (12, 15), mode="bilinear").numpy().astype(np.float16),
        0,
    )


def test_kernels() -> None:
    """Repeated elements are read in place; means are products with shares, axis by axis, in both
    directions."""
    x, g = (
        wf.tensor(normal(*s, seed=len(s)).astype(np.float32))
        for s in ((4, 8, 16, 16), (4, 8, 32, 32))
    )
    assert len(wf.explain(F.interpolate(x, scale_factor=2).relu()).kernels) == 1
    y = F.interpolate(x, scale_factor=2, mode="bilinear")
    for out in (y, wf.grad(y, x, g)):
        assert [k.kind for k in wf.explain(out).kernels].count("contraction") == 2


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({}, "either size or scale_factor is given, not None and None"),
        ({"size": 4, "scale_factor": 2}, "either size or scale_factor is given"),
        ({"size": (4, 4, 4)}, "size must be an int or 2 of them"),
        ({"size": 0}, "there is no image of"),
        ({"scale_factor": -1.0}, "scale_factor must be a positive number or 2 of them, not -1.0"),
        ({"scale_factor": (2, 2, 2)}, "scale_factor must be a positive number or 2 of them"),
        (
            {"size": 4, "mode": "cubic"},
            "mode must be 'nearest', 'nearest-exact', 'linear', 'bilinear' or 'trilinear'",
        ),
        (
            {"size": 4, "mode": "linear"},
            r"mode 'linear' takes x of shape \(N, C, L\), got \(1, 2, 3, 4\)",
        ),
        (
            {"size": 4, "align_corners": True},
            "align_corners is for modes 'linear', 'bilinear' and 'trilinear'",
        ),
    ],
)
def test_interpolate_says_what_it_expects(kwargs: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        F.interpolate(wf.zeros(1, 2, 3, 4), **kwargs)


# ---------------------------------------------------------------- blocks


def test_pixels_are_shuffled_and_put_back() -> None:
    x = normal(2, 12, 3, 2)
    expected = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 4)
    close(F.pixel_shuffle(x, 2), expected)
    close(F.pixel_unshuffle(expected, 2), x)
    close(F.pixel_shuffle(x[0], 2), expected[0])
    close(F.pixel_shuffle(x[:, :, :0], 2), expected[:, :, :0])
    close(F.pixel_unshuffle(expected[:0], 2), x[:0])
    for f, says in (
        (F.pixel_shuffle, r"12 channels of shape \(2, 12, 3, 2\) are no multiple of 5 \* 5"),
        (F.pixel_unshuffle, "=5"),
    ):
        with pytest.raises(wf.errors.ShapeError, match=says):
            f(x, 5)


def test_a_convolution_is_a_product_with_unfolded_windows() -> None:
    x, w = normal(2, 3, 6, 5), normal(4, 3, 2, 3)
    product = w.reshape(4, -1) @ F.unfold(x, (2, 3), 1, 1, 2).numpy()
    close(F.conv2d(x, w, None, 2, 1), product.reshape(2, 4, 4, 3))


def test_fold_is_the_gradient_of_unfold() -> None:
    x, how = wf.tensor(normal(2, 3, 6, 5)), ((2, 3), (2, 1), (1, 0), (2, 1))
    columns = F.unfold(x, *how)
    g = wf.tensor(normal(*columns.shape))
    close(F.fold(g, (6, 5), *how), wf.grad(columns, x, g).numpy())
    close(F.fold(g[0], (6, 5), *how), wf.grad(columns, x, g).numpy()[0])


def test_fold_says_what_it_expects() -> None:
    with pytest.raises(
        wf.errors.ShapeError,
        match=r"columns of shape \(N, C \* 4, 16\), but x has shape \(1, 8, 9\)",
    ):
        F.fold(wf.zeros(1, 8, 9), (5, 5), 2)
    with pytest.raises(wf.errors.ShapeError, match="that no image has"):
        F.fold(wf.zeros(1, 16, 1), (3, 3), 4)
