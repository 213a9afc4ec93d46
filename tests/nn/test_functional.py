"""nn/functional.py against NumPy formulas: values, first derivatives by central differences, and
errors at build time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, derivative_holds, normal
from weft import nn
from weft.nn import functional as F

# ---------------------------------------------------------------- convolution


def conv_reference(
    x: Array, w: Array, stride: tuple[int, ...], dilation: tuple[int, ...], groups: int
) -> Array:
    """Direct loops over outputs; any number of spatial axes, no padding."""
    kernel = w.shape[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    out = np.zeros(
        (
            len(x),
            len(w),
            *[(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)],
        )
    )
    per = x.shape[1] // groups
    for o in range(len(w)):
        first = o // (len(w) // groups) * per
        for at in product(*map(range, out.shape[2:])):
            cut = tuple(
                slice(p * s, p * s + r, d)
                for p, s, r, d in zip(at, stride, reach, dilation, strict=True)
            )
            out[(slice(None), o, *at)] = (
                (x[(slice(None), slice(first, first + per), *cut)] * w[o])
                .reshape(len(x), -1)
                .sum(1)
            )
    return out


CONVS = [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (2, 1, 2, 4), (1, 1, 1, 4), (3, 0, 1, 2)]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("stride", "pad", "dilation", "groups"), CONVS)
def test_conv2d(stride: int, pad: int, dilation: int, groups: int) -> None:
    x, w, b = normal(2, 4, 7, 6), normal(8, 4 // groups, 3, 2, seed=1), normal(8, seed=2)
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    expected = conv_reference(padded, w, (stride,) * 2, (dilation,) * 2, groups) + b[:, None, None]
    got = F.conv2d(wf.tensor(x), wf.tensor(w), wf.tensor(b), stride, pad, dilation, groups)
    close(got, expected)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("stride", "pad", "dilation", "groups"), CONVS)
def test_conv2d_derivatives(stride: int, pad: int, dilation: int, groups: int) -> None:
    def conv(x: wf.Tensor, w: wf.Tensor, b: wf.Tensor) -> wf.Tensor:
        return F.conv2d(x, w, b, stride, pad, dilation, groups)

    derivative_holds(conv, normal(1, 4, 7, 6), normal(4, 4 // groups, 3, 2), normal(4))


def test_conv2d_takes_a_pair_for_each_number() -> None:
    x, w = normal(1, 2, 8, 9), normal(3, 2, 2, 3)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))
    got = F.conv2d(wf.tensor(x), wf.tensor(w), stride=(2, 1), padding=(1, 2), dilation=(1, 2))
    close(got, conv_reference(padded, w, (2, 1), (1, 2), 1))


def test_conv_padding_same_keeps_the_extent() -> None:
    x, w = normal(1, 1, 5, 6), normal(1, 1, 2, 3)
    padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 1)))
    close(
        F.conv2d(wf.tensor(x), wf.tensor(w), padding="same"),
        conv_reference(padded, w, (1, 1), (1, 1), 1),
    )


def test_a_convolution_of_integers_sums_products_of_64_bits() -> None:
    x, w = wf.full((1, 2, 4), 1 << 30, dtype="int32"), wf.full((3, 2, 3), 5, dtype="int32")
    out = F.conv1d(x, w)
    assert out.dtype is wf.int64 and out.tolist() == [[[30 << 30] * 2] * 3]
    assert F.conv1d(x > 0, w > 0).tolist() == [[[6] * 2] * 3]


def test_conv1d() -> None:
    x, w, b = normal(2, 3, 9), normal(4, 3, 3, seed=1), normal(4, seed=2)
    expected = conv_reference(np.pad(x, ((0, 0), (0, 0), (1, 1))), w, (2,), (1,), 1) + b[:, None]
    close(F.conv1d(wf.tensor(x), wf.tensor(w), wf.tensor(b), 2, 1), expected)


@pytest.mark.parametrize(
    ("x", "w", "kwargs", "says"),
    [
        ((1, 2, 8, 8), (4, 3, 3, 3), {}, r"expected x of shape \(N, 3, H, W\)"),
        (
            (8, 8),
            (4, 2, 3, 3),
            {},
            r"expected x of shape \(N, C, H, W\) or \(C, H, W\), got \(8, 8\)",
        ),
        (
            (1, 2, 2, 8),
            (4, 2, 3, 3),
            {},
            "a window of 3 does not fit the padded extent 2 of axis 2",
        ),
        ((1, 2, 8, 8), (4, 2, 3), {}, "weight must have 4 axes"),
        ((1, 4, 8, 8), (4, 2, 3, 3), {"groups": 3}, "out_channels=4 is not a multiple of groups=3"),
    ],
)
def test_conv2d_says_what_it_expects(
    x: tuple[int, ...], w: tuple[int, ...], kwargs: dict[str, int], says: str
) -> None:
    with pytest.raises(wf.errors.ShapeError, match=says):
        F.conv2d(wf.zeros(*x), wf.zeros(*w), **kwargs)


# ---------------------------------------------------------------- pooling


def pool_reference(x: Array, k: int, s: int, f: Callable[..., Array]) -> Array:
    rows, columns = ((n - k) // s + 1 for n in x.shape[2:])
    cells = [
        [f(x[:, :, i * s : i * s + k, j * s : j * s + k], axis=(2, 3)) for j in range(columns)]
        for i in range(rows)
    ]
    return np.moveaxis(np.array(cells), (0, 1), (2, 3))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("k", "s", "pad"), [(2, 2, 0), (3, 2, 0), (2, 1, 1), (3, 3, 1)])
def test_pools(k: int, s: int, pad: int) -> None:
    x = normal(2, 3, 6, 7)
    widths = ((0, 0), (0, 0), (pad, pad), (pad, pad))
    close(
        F.max_pool2d(wf.tensor(x), k, s, pad),
        pool_reference(np.pad(x, widths, constant_values=-np.inf), k, s, np.max),
    )
    close(F.avg_pool2d(wf.tensor(x), k, s, pad), pool_reference(np.pad(x, widths), k, s, np.mean))
    derivative_holds(lambda t: F.max_pool2d(t, k, s, pad), normal(1, 2, 6, 7))
    derivative_holds(lambda t: F.avg_pool2d(t, k, s, pad), normal(1, 2, 6, 7))


def test_pool_stride_defaults_to_the_kernel_and_drops_what_is_left_over() -> None:
    x = normal(1, 1, 5, 5)
    close(F.max_pool2d(wf.tensor(x), 2), pool_reference(x[:, :, :4, :4], 2, 2, np.max))


def test_pool1d() -> None:
    x = normal(2, 3, 8)
    close(F.max_pool1d(wf.tensor(x), 2), x.reshape(2, 3, 4, 2).max(-1))
    close(
        F.avg_pool1d(wf.tensor(x), 4, 2),
        np.stack([x[..., i : i + 4].mean(-1) for i in (0, 2, 4)], -1),
    )


def test_max_pool_shares_the_gradient_of_ties() -> None:
    x = wf.tensor(np.ones((1, 1, 2, 2)), requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()
    close(x.grad, np.full((1, 1, 2, 2), 0.25))


def test_pool_says_what_it_expects() -> None:
    with pytest.raises(
        wf.errors.ShapeError, match=r"max_pool2d: expected x of shape \(N, C, H, W\)"
    ):
        F.max_pool2d(wf.zeros(4, 4), 2)
    with pytest.raises(ValueError, match="at most half"):
        F.max_pool2d(wf.zeros(1, 1, 4, 4), 2, padding=2)


# ---------------------------------------------------------------- the rest


@pytest.mark.slow
def test_bilinear() -> None:
    x, y, w, b = (
        normal(3, 2, 4),
        normal(3, 2, 5, seed=1),
        normal(6, 4, 5, seed=2),
        normal(6, seed=3),
    )
    close(F.bilinear(x, y, w, b), np.einsum("nmi,oij,nmj->nmo", x, w, y) + b)
    wf.check_grad(F.bilinear, *map(wf.tensor, (x[0], y[0], w, b)))
    layer = wf.nn.Bilinear(4, 5, 6).double()
    close(layer(wf.tensor(x), wf.tensor(y)), F.bilinear(x, y, layer.weight, layer.bias).numpy())
    assert 0.9 * 0.5 < abs(layer.weight.numpy()).max() <= 0.5
    with pytest.raises(
        wf.errors.ShapeError,
        match=r"bilinear: expected .* got x1 \(3, 2, 4\), x2 \(2, 5\), weight \(6, 4, 5\)",
    ):
        F.bilinear(x, y[0], w)


def test_linear() -> None:
    x, w, b = normal(2, 3, 5), normal(4, 5, seed=1), normal(4, seed=2)
    close(F.linear(wf.tensor(x), wf.tensor(w), wf.tensor(b)), x @ w.T + b)
    derivative_holds(F.linear, x, w, b)
    with pytest.raises(wf.errors.ShapeError, match="the last axis of x must be in_features=5"):
        F.linear(wf.zeros(2, 4), wf.tensor(w))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(6,), (3, 6)])
def test_layer_norm(shape: tuple[int, ...]) -> None:
    x, w, b = normal(2, 3, 6) + 1e3, normal(*shape, seed=1), normal(*shape, seed=2)
    axes = tuple(range(-len(shape), 0))
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(
        x.var(axes, keepdims=True) + 1e-5
    ) * w + b
    close(F.layer_norm(wf.tensor(x), shape, wf.tensor(w), wf.tensor(b)), expected, 1e-9)
    derivative_holds(lambda *a: F.layer_norm(a[0], shape, a[1], a[2]), normal(2, 3, 6), w, b)


def test_layer_norm_says_what_it_expects() -> None:
    with pytest.raises(
        wf.errors.ShapeError, match=r"normalized_shape=\(5,\), but x has shape \(2, 4\)"
    ):
        F.layer_norm(wf.zeros(2, 4), 5)
    with pytest.raises(wf.errors.ShapeError, match="weight must have shape"):
        F.layer_norm(wf.zeros(2, 4), 4, wf.zeros(3))


def test_embedding_and_one_hot() -> None:
    table, i = normal(5, 3), np.array([[0, 4], [2, 2]])
    close(F.embedding(wf.tensor(i), wf.tensor(table)), table[i])
    derivative_holds(lambda t: F.embedding(wf.tensor(i), t), table)
    close(F.one_hot(wf.tensor(i), 5), np.eye(5, dtype=np.int64)[i])
    for f in (lambda i: F.embedding(i, wf.tensor(table)), lambda i: F.one_hot(i, 5)):
        with pytest.raises(IndexError):
            f(wf.tensor([5])).numpy()


@pytest.mark.parametrize("padding", [2, -3])
def test_a_row_of_padding_has_a_value_and_no_gradient(padding: int) -> None:
    table, i = wf.tensor(normal(5, 3), requires_grad=True), np.array([[0, 4], [2, 2]])
    out = F.embedding(wf.tensor(i), table, padding)
    out.sum().backward()
    close(out, table.numpy()[i])
    assert table.grad.tolist() == [[float(row)] * 3 for row in (1, 0, 0, 0, 1)]


def test_padding_costs_the_forward_pass_nothing() -> None:
    i, table = wf.tensor([0, 2]), wf.zeros(5, 3)
    plain, padded = (wf.explain(F.embedding(i, table, padding)) for padding in (None, 2))
    assert [k.nodes for k in plain.kernels] == [k.nodes for k in padded.kernels]


def test_embedding_says_what_it_takes() -> None:
    with pytest.raises(IndexError, match="padding_idx=5 is out of range for 5 rows"):
        F.embedding(wf.tensor([1]), wf.zeros(5, 3), 5)
    with pytest.raises(ValueError, match="there is no max_norm"):
        F.embedding(wf.tensor([1]), wf.zeros(5, 3), max_norm=1.0)
    with pytest.raises(wf.errors.DTypeError, match="expected integer indices, got float32"):
        F.embedding(wf.tensor([1.0]), wf.zeros(5, 3))


def test_embedding_layers() -> None:
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.weight.tolist()[3] == [0.0, 0.0] and layer.weight.numpy()[:3].all()
    assert repr(layer).startswith("Embedding(4, 2, padding_idx=3)")
    fixed = nn.Embedding.from_pretrained(normal(3, 2))
    assert not fixed.weight.requires_grad and fixed.weight.dtype is wf.float64
    assert nn.Embedding.from_pretrained(
        wf.ones(3, 2), freeze=False, padding_idx=0
    ).weight.requires_grad
    with pytest.raises(wf.errors.ShapeError, match=r"embeddings must have shape .*, not \(3,\)"):
        nn.Embedding.from_pretrained(wf.ones(3))


BAGS = np.array([[1, 2, 4], [4, 4, 0]])
REDUCE: dict[str, Callable[..., Array]] = {"sum": np.sum, "mean": np.mean, "max": np.max}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("mode", REDUCE)
def test_bags_of_embeddings(mode: str) -> None:
    table, bag = normal(5, 3), REDUCE[mode]
    close(F.embedding_bag(wf.tensor(BAGS), wf.tensor(table), mode=mode), bag(table[BAGS], axis=1))
    lines = F.embedding_bag(
        wf.tensor(BAGS.ravel()), wf.tensor(table), wf.tensor([0, 2, 2]), mode=mode
    )
    close(
        lines, np.stack([bag(table[[1, 2]], axis=0), np.zeros(3), bag(table[[4, 4, 4, 0]], axis=0)])
    )
    padded = F.embedding_bag(wf.tensor(BAGS), wf.tensor(table), mode=mode, padding_idx=4)
    close(padded, np.stack([bag(table[[1, 2]], axis=0), table[0]]))
    derivative_holds(lambda t: F.embedding_bag(wf.tensor(BAGS[:1]), t, mode=mode), table)


def test_weights_of_a_bag() -> None:
    table, w = normal(5, 3), normal(2, 3, seed=1)
    got = F.embedding_bag(wf.tensor(BAGS), wf.tensor(table), mode="sum", per_sample_weights=w)
    close(got, (table[BAGS] * w[:, :, None]).sum(1))


def test_bags_say_what_they_take() -> None:
    table, line = wf.zeros(5, 3), wf.tensor([1, 2])
    with pytest.raises(wf.errors.ShapeError, match=r"with offsets \(B,\), but x has shape \(2,\)"):
        F.embedding_bag(line, table)
    with pytest.raises(wf.errors.ShapeError, match=r"x has shape \(1, 2\) and offsets \(1,\)"):
        F.embedding_bag(line.unsqueeze(0), table, wf.tensor([0]))
    with pytest.raises(ValueError, match="per_sample_weights are for mode='sum', not 'mean'"):
        F.embedding_bag(line, table, wf.tensor([0]), per_sample_weights=wf.ones(2))
    with pytest.raises(IndexError):
        F.embedding_bag(line, table, wf.tensor([1])).numpy()  # the first index is in no bag
    assert (
        F.embedding_bag(wf.zeros(2, 0, dtype="int64"), table, mode="max").tolist()
        == [[0.0] * 3] * 2
    )


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_empty_bags_have_a_gradient_of_zeros(mode: str) -> None:
    table = wf.ones(4, 3, requires_grad=True)
    none = wf.zeros(0, dtype="int64")
    given = (none.reshape(2, 0), None), (none, wf.tensor([0, 0]))
    for bags in (F.embedding_bag(rows, table, offsets, mode=mode) for rows, offsets in given):
        assert bags.tolist() == [[0.0] * 3] * 2
        assert not wf.grad(bags.sum(), table).numpy().any()


def test_a_layer_of_bags() -> None:
    layer = nn.EmbeddingBag(5, 2, mode="max", padding_idx=0)
    assert (
        repr(layer).startswith("EmbeddingBag(5, 2, padding_idx=0, mode='max')")
        and not layer.weight.numpy()[0].any()
    )
    fixed = nn.EmbeddingBag.from_pretrained(wf.ones(5, 2), mode="sum")
    assert fixed(wf.tensor(BAGS)).tolist() == [[3.0, 3.0]] * 2 and not fixed.weight.requires_grad


def test_one_hot_counts_the_classes_where_it_may_compute() -> None:
    assert F.one_hot(wf.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(wf.errors.JitError):
        wf.jit(F.one_hot)(wf.tensor([0, 2]))
    with pytest.raises(
        ValueError, match="num_classes must be 1 or more, or -1 to count them, not 0"
    ):
        F.one_hot(wf.tensor([0]), 0)
    with pytest.raises(ValueError, match="num_classes is needed"):
        F.one_hot(wf.zeros(0, dtype="int64"))
    for given in ((wf.tensor([0]), 2**31 + 1), (wf.tensor([2**40]),)):
        with pytest.raises(
            ValueError, match=r"one_hot: num_classes must be less than 2\*\*30, not"
        ):
            F.one_hot(*given)
    assert F.one_hot(wf.tensor([0]), 2**30 - 1).shape == (1, 2**30 - 1)


# ---------------------------------------------------------------- dropout


def test_dropout_keeps_the_mean_and_is_off_when_not_training() -> None:
    wf.manual_seed(0)
    x = wf.ones(4000)
    out = F.dropout(x, 0.25).numpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.03
    assert F.dropout(x, 0.25, training=False) is x
    assert not F.dropout(x, 1.0).numpy().any()


@pytest.mark.parametrize("spatial", [1, 2])
def test_dropout_of_channels_drops_all_of_a_channel_or_nothing(spatial: int) -> None:
    wf.manual_seed(0)
    f = (F.dropout1d, F.dropout2d)[spatial - 1]
    x = wf.ones(50, 40, *[3] * spatial)
    out = f(x, 0.25).numpy().reshape(2000, -1)
    assert (out == out[:, :1]).all() and set(out[:, 0]) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out[:, 0] == 0).mean() - 0.25) < 0.04
    assert f(x[0], 0.25).shape == x.shape[1:] and f(x, training=False) is x
    with pytest.raises(
        wf.errors.ShapeError, match=r"expected x of shape \(N, C, .*\) or \(C, .*\), got \(2,\)"
    ):
        f(wf.ones(2))


@pytest.mark.slow
def test_alpha_dropout_keeps_mean_and_variance() -> None:
    wf.manual_seed(0)
    x = wf.randn(100000)
    out = F.alpha_dropout(x, 0.3, training=True).numpy()
    assert abs(out.mean()) < 0.02 and abs(out.var() - 1) < 0.02
    assert F.alpha_dropout(x, 0.3) is x and not F.alpha_dropout(x, 1.0, training=True).numpy().any()


LAYERS = {
    nn.Dropout: wf.ones(50),
    nn.Dropout1d: wf.ones(50, 2),
    nn.Dropout2d: wf.ones(50, 2, 1),
    nn.AlphaDropout: wf.ones(50),
}


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("layer", LAYERS)
def test_dropout_layers_work_while_training_only(layer: type[nn.Module]) -> None:
    x, dropout = LAYERS[layer], layer(0.5)
    assert len(set(dropout(x).numpy().ravel())) == 2 and dropout.eval()(x) is x
    assert repr(dropout) == f"{layer.__name__}(p=0.5)"
    for p in (1.5, float("nan")):
        with pytest.raises(ValueError, match=rf"{layer.__name__}: p must be in \[0, 1\], not {p}"):
            layer(p)
