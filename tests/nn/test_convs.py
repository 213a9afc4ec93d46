"""Convolutions, transposed ones and pools as functions: values against NumPy, gradients, kernels,
and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import close, normal
from weft import nn
from weft.nn import functional as F

# ---------------------------------------------------------------- transposed convolutions

HOW = [
    (2, 1, 0, 1, 1),
    (1, 0, 0, 1, 2),
    (3, 0, 2, 1, 1),
    (2, 2, 1, 3, 2),
]  # stride, padding, output_padding, groups, dilation


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_transposed_convolution_is_the_gradient_of_one_by_its_images(
    how: tuple[int, ...],
) -> None:
    stride, padding, _, groups, dilation = how
    x, w = wf.tensor(normal(2, 6, 4, 5)), wf.tensor(normal(6, 2, 3, 2))
    out = F.conv_transpose2d(x, w, None, *how)
    images = wf.zeros_like(out).requires_grad_()
    convolved = F.conv2d(images, w, None, stride, padding, dilation, groups)
    (expected,) = wf.grad(convolved, [images], x)
    close(out, expected.numpy())


@pytest.mark.slow
def test_a_transposed_convolution_has_gradients_of_any_order() -> None:
    x, w, b = wf.tensor(normal(1, 2, 3, 2)), wf.tensor(normal(2, 2, 2, 3)), wf.tensor(normal(2))

    def f(x: wf.Tensor, w: wf.Tensor, b: wf.Tensor) -> wf.Tensor:
        return F.conv_transpose2d(x, w, b, 2, 1, 1)

    def slopes(x: wf.Tensor, w: wf.Tensor, b: wf.Tensor) -> wf.Tensor:
        return wf.grad((f(x, w, b) ** 2.0).sum(), w)

    wf.check_grad(f, x, w, b)
    wf.check_grad(slopes, x, w, b)


def test_no_product_with_a_zero_between_strides_is_computed() -> None:
    """A kernel of 4 and a stride of 2 leave 2 x 2 taps for each place: 32 steps of 8 channels, not
    128; bias and relu join."""
    x, w, b = (
        wf.tensor(normal(*s, seed=len(s)).astype(np.float32))
        for s in ((2, 8, 6, 6), (8, 16, 4, 4), (16,))
    )
    (kernel,) = wf.explain(F.conv_transpose2d(x, w, b, 2, 1).relu()).kernels
    assert "all 32 steps" in kernel.schedule


def test_its_gradients_are_those_of_a_convolution() -> None:
    """Images are found by a convolution, weights by its weight gradient: both read windows where
    they lie."""
    x, w, g = (
        wf.tensor(normal(*s, seed=len(s)).astype(np.float32))
        for s in ((4, 32, 16, 16), (32, 16, 4, 4), (4, 16, 32, 32))
    )
    kernels = wf.explain(wf.grad(F.conv_transpose2d(x, w, None, 2, 1), [x, w], g)).kernels
    assert [k.schedule.split(":")[0] for k in kernels if k.kind == "contraction"] == [
        "windows",
        "windows",
    ]


def test_sums_of_16_bit_floats_round_once() -> None:
    x, w = normal(1, 64, 3, 3).astype(np.float16), normal(64, 2, 3, 3).astype(np.float16)
    got = F.conv_transpose2d(x, w)
    assert got.dtype is wf.float16
    exact = F.conv_transpose2d(x.astype(float), w.astype(float)).numpy()
    np.testing.assert_allclose(got.numpy(), exact, rtol=2**-11, atol=1e-4)


def test_an_output_size_is_one_that_the_convolution_maps_back() -> None:
    layer = nn.ConvTranspose2d(2, 3, 3, stride=(2, 3), padding=1)
    x = wf.zeros(1, 2, 4, 4)
    assert layer(x).shape == (1, 3, 7, 10)
    assert layer(x, output_size=(8, 12)).shape == layer(x, (1, 3, 8, 12)).shape == (1, 3, 8, 12)
    with pytest.raises(ValueError, match=r"output_size must be \(7, 10\) to \(8, 12\)"):
        layer(x, output_size=(9, 10))
    with pytest.raises(ValueError, match=r"not \(1, 8, 12\)"):
        layer(x, output_size=(1, 8, 12))


def test_weights_begin_within_torchs_bound() -> None:
    wf.manual_seed(0)
    layer = nn.ConvTranspose2d(4, 6, (3, 5), groups=2)
    assert layer.weight.shape == (4, 3, 3, 5) and layer.bias.shape == (6,)
    bound = 1 / np.sqrt(3 * 3 * 5)
    for p in (layer.weight, layer.bias):
        assert np.abs(p.numpy()).max() <= bound
    assert np.abs(layer.weight.numpy()).max() > 0.9 * bound


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (nn.Conv1d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 7)),
        (nn.ConvTranspose2d(2, 3, 3), (2, 4, 5)),
        (nn.MaxPool2d(2), (2, 4, 5)),
        (nn.AvgPool1d(2), (2, 5)),
        (nn.AdaptiveAvgPool2d(3), (2, 4, 5)),
        (nn.InstanceNorm1d(2, affine=True), (2, 7)),
        (nn.InstanceNorm2d(2), (2, 4, 5)),
        (nn.Unfold(2), (2, 4, 5)),
        (nn.Fold((4, 5), 2), (8, 12)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_one_image_is_a_batch_of_one(layer: nn.Module, x: tuple[int, ...]) -> None:
    one = wf.tensor(normal(*x))
    close(layer(one), layer(one.reshape(1, *x)).numpy()[0])


@pytest.mark.parametrize(
    ("x", "w", "kwargs", "says"),
    [
        (
            (1, 2, 4, 4),
            (3, 2, 2, 2),
            {},
            r"\(N, 3, H, W\) or \(3, H, W\) for a weight of shape \(3, 2, 2, 2\)",
        ),
        ((1, 2, 4, 4), (2, 3, 2), {}, r"weight must have 4 axes \(C, O // groups, kernel\)"),
        ((1, 2, 4, 4), (2, 3, 2, 2), {"groups": 3}, "in_channels=2 is not a multiple of groups=3"),
        (
            (1, 2, 4, 4),
            (2, 3, 2, 2),
            {"bias": wf.zeros(2)},
            r"bias must have shape \(3,\), not \(2,\)",
        ),
        (
            (1, 2, 4, 4),
            (2, 3, 2, 2),
            {"padding": 3},
            r"padding \(3, 3\) leaves nothing of the extents \(5, 5\)",
        ),
        (
            (1, 2, 4, 4),
            (2, 3, 2, 2),
            {"output_padding": 1},
            r"output_padding \(1, 1\) is not below stride \(1, 1\)",
        ),
        ((1, 2, 4, 4), (2, 3, 2, 2), {"stride": 0}, "stride must be at least 1, not 0"),
        ((1, 2, 0, 4), (2, 3, 2, 2), {}, "there is nothing to place"),
        (
            (4, 4),
            (2, 3, 2, 2),
            {},
            r"conv_transpose2d: expected x of shape \(N, C, H, W\) or \(C, H, W\), got \(4, 4\)",
        ),
    ],
)
def test_a_transposed_convolution_says_what_it_expects(
    x: tuple[int, ...], w: tuple[int, ...], kwargs: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        F.conv_transpose2d(wf.zeros(*x), wf.zeros(*w), **kwargs)


def test_layers_say_what_they_expect() -> None:
    with pytest.raises(
        ValueError,
        match="padding_mode must be 'zeros', 'reflect', 'replicate' or 'circular', not 'same'",
    ):
        nn.Conv2d(1, 1, 3, padding_mode="same")
    with pytest.raises(ValueError, match="groups=2 must divide in_channels=3"):
        nn.ConvTranspose1d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="conv2d: padding must be at least 0, not -1"):
        F.conv2d(wf.zeros(1, 1, 4, 4), wf.zeros(1, 1, 3, 3), padding=-1)
    for how, says in (
        ({"padding": -1}, "Conv2d: padding must be at least 0, not -1"),
        ({"padding": "same", "stride": 2}, "needs stride 1"),
        ({"padding": "full"}, 'padding must be a number, a tuple, "valid" or "same"'),
        ({"stride": 0}, "stride must be at least 1"),
        ({"dilation": (1, 2, 3)}, "dilation must be an int or 2 of them"),
    ):
        with pytest.raises(ValueError, match=says):
            nn.Conv2d(1, 1, 3, **how)
    with pytest.raises(
        ValueError, match="ConvTranspose2d: padding_mode must be 'zeros', not 'reflect'"
    ):
        nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect")


# ---------------------------------------------------------------- padding


def test_pad_counts_axes_from_the_last() -> None:
    x = normal(2, 3, 4)
    close(F.pad(x, (1, 2)), np.pad(x, ((0, 0), (0, 0), (1, 2))))
    close(
        F.pad(x, (1, 0, 0, 2), value=7.0), np.pad(x, ((0, 0), (0, 2), (1, 0)), constant_values=7.0)
    )
    close(F.pad(x, (-1, 2, 1, -2)), np.pad(x, ((0, 0), (1, 0), (0, 2)))[:, :2, 1:])
    for mode, numpys in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        close(F.pad(x, (2, 1, 1, 1), mode), np.pad(x, ((0, 0), (1, 1), (2, 1)), numpys))


def test_pad_says_what_it_expects() -> None:
    for widths in ((1, 2, 3), (1,) * 8, 2):
        with pytest.raises(
            ValueError,
            match=r"pad must be one pair of ints for each of the last axes of \(2, 3, 4\)",
        ):
            F.pad(wf.zeros(2, 3, 4), widths)
    with pytest.raises(
        ValueError,
        match="mode must be 'constant', 'reflect', 'replicate' or 'circular', not 'edge'",
    ):
        F.pad(wf.zeros(3), (1, 1), "edge")
    with pytest.raises(ValueError, match="crops more than shape"):
        F.pad(wf.zeros(3), (-2, -2))


# ---------------------------------------------------------------- pools


def cells(n: int, size: int) -> list[slice]:
    return [slice(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("size", [(3, 4), (7, 2), (1, 1), (9, 5)], ids=str)
def test_adaptive_pools(size: tuple[int, int]) -> None:
    x = normal(2, 3, 7, 6)
    rows, columns = (cells(n, s) for n, s in zip(x.shape[2:], size, strict=True))
    for pooled, f in ((F.adaptive_avg_pool2d, np.mean), (F.adaptive_max_pool2d, np.max)):
        each = [f(x[:, :, r, c], axis=(2, 3)) for r, c in product(rows, columns)]
        close(pooled(x, size), np.stack(each, -1).reshape(2, 3, *size))


@pytest.mark.slow
def test_adaptive_pools_have_gradients() -> None:
    x = wf.tensor(normal(1, 2, 5, 4))
    wf.check_grad(lambda t: F.adaptive_avg_pool2d(t, (3, 3)), x)
    wf.check_grad(lambda t: F.adaptive_max_pool2d(t, (3, 3)), x)


def test_what_is_not_finite_stays_in_its_cells() -> None:
    x = normal(1, 1, 7, 7)
    x[0, 0, 0, 0] = np.nan
    for pooled in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        assert np.isnan(pooled(x, 3).numpy()).sum() == 1


def test_windows_that_reach_over_the_end_begin_before_it() -> None:
    x = np.arange(1.0, 6.0).reshape(1, 1, 5)
    close(
        F.max_pool1d(x, 2, 3, 1, ceil_mode=True), np.array([[[1.0, 4.0]]])
    )  # a third would begin behind the 5
    close(F.max_pool1d(x, 3, 2, 1, ceil_mode=True), np.array([[[2.0, 4.0, 5.0]]]))
    close(F.max_pool1d(x, 4, 3, ceil_mode=True), np.array([[[4.0, 5.0]]]))
    close(F.max_pool1d(x, 6, 2, ceil_mode=True), np.array([[[5.0]]]))
    with pytest.raises(
        wf.errors.ShapeError, match="a window of 7 does not fit the padded extent 5"
    ):
        F.max_pool1d(x, 7, 2, ceil_mode=True)  # half of a step is not enough to begin one


def test_means_divide_by_what_counts() -> None:
    x = np.arange(1.0, 6.0).reshape(1, 1, 5)
    close(F.avg_pool1d(x, 3, 2, 1), np.array([[[1.0, 3.0, 3.0]]]))  # padding counts
    close(F.avg_pool1d(x, 3, 2, 1, count_include_pad=False), np.array([[[1.5, 3.0, 4.5]]]))
    close(
        F.avg_pool1d(x, 4, 3, ceil_mode=True), np.array([[[2.5, 4.5]]])
    )  # what is beyond padding does not
    close(F.avg_pool2d(x, (1, 2), divisor_override=4), np.array([[[0.75, 1.75]]]))
    close(F.avg_pool1d(x.astype(np.int32), 2).double(), np.array([[[1.5, 3.5]]]))


def test_means_of_16_bit_floats_round_once() -> None:
    x = normal(1, 2, 60).astype(np.float16) + np.float16(100)
    got = F.avg_pool1d(x, 50, 10, padding=20, count_include_pad=False).numpy()
    exact = F.avg_pool1d(x.astype(float), 50, 10, padding=20, count_include_pad=False).numpy()
    np.testing.assert_array_equal(got, exact.astype(np.float16))


def test_a_jitted_pool_equals_a_lazy_one() -> None:
    x = wf.tensor(normal(1, 2, 7, 6))

    def pools(x: wf.Tensor) -> wf.Tensor:
        return F.adaptive_avg_pool2d(F.avg_pool2d(x, 2, 1, 1, count_include_pad=False), (3, 2))

    np.testing.assert_array_equal(wf.jit(pools)(x).numpy(), pools(x).numpy())


def test_pools_say_what_they_expect() -> None:
    x = wf.zeros(1, 1, 4, 4)
    with pytest.raises(
        ValueError, match="output_size must be an int, None or 2 of them, not \\[1, 2, 3\\]"
    ):
        F.adaptive_avg_pool2d(x, [1, 2, 3])
    with pytest.raises(wf.errors.ShapeError, match="no cells of output_size=0"):
        F.adaptive_max_pool2d(x, 0)
    with pytest.raises(ValueError, match="avg_pool2d: divisor_override must not be 0"):
        F.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(ValueError, match="kernel_size must be at least 1, not 0"):
        F.max_pool2d(x, 0)
    with pytest.raises(TypeError, match="output_size must be an int"):
        F.adaptive_avg_pool2d(x, "2")


# ---------------------------------------------------------------- shapes


def test_unflatten_splits_an_axis() -> None:
    x = wf.tensor(normal(2, 6))
    assert nn.Unflatten(1, (2, -1))(x).shape == (2, 2, 3)
    assert nn.Unflatten(-1, (6, 1))(x).shape == (2, 6, 1)
    for sizes in ((4, -1), (-1, -1), (2, 2)):
        with pytest.raises(wf.errors.ShapeError, match=r"axis 1 of shape \(2, 6\) does not become"):
            nn.Unflatten(1, sizes)(x)


def test_identity_gives_back_what_it_is_given() -> None:
    x = wf.tensor(normal(2, 3))
    assert nn.Identity(3, p=0.5)(x) is x


def test_images_without_channels_are_refused_by_the_number_of_channels() -> None:
    text = (
        r"or \(1, H, W\) for a weight of shape \(2, 1, 3, 3\), got 4 channels \(as a batch \(1, 4,"
        r" 8, 8\)\)"
    )
    with pytest.raises(wf.errors.ShapeError, match=text):
        wf.nn.Conv2d(1, 2, 3)(wf.zeros(4, 8, 8))
