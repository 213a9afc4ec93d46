"""Attention against NumPy formulas: values, derivatives, masks, layouts, kernels, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import (
    Array,
    close,
    derivative_holds,
    heads_reference,
    log_softmax,
    minus_infinity,
    normal,
)
from weft import nn
from weft.nn import functional as F


def attention_reference(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.exp(log_softmax(scores if mask is None else np.where(mask, scores, -np.inf))) @ v


def test_attention() -> None:
    q, k, v = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 5, 6, seed=2)
    close(
        F.scaled_dot_product_attention(wf.tensor(q), wf.tensor(k), wf.tensor(v)),
        attention_reference(q, k, v),
    )
    causal = F.scaled_dot_product_attention(
        wf.tensor(q), wf.tensor(k), wf.tensor(v), is_causal=True
    )
    close(causal, attention_reference(q, k, v, np.tri(3, 5, dtype=bool)))
    mask = np.arange(15).reshape(3, 5) % 4 != 1
    masked = F.scaled_dot_product_attention(
        wf.tensor(q), wf.tensor(k), wf.tensor(v), wf.tensor(mask)
    )
    close(masked, attention_reference(q, k, v, mask))
    derivative_holds(F.scaled_dot_product_attention, q, k, v)


@pytest.mark.slow
def test_heads_of_the_query_share_those_of_key_and_value() -> None:
    q, k, v = normal(2, 6, 3, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)
    expected = attention_reference(q, np.repeat(k, 3, 1), np.repeat(v, 3, 1))
    grouped = F.scaled_dot_product_attention(
        wf.tensor(q), wf.tensor(k), wf.tensor(v), enable_gqa=True
    )
    close(grouped, expected)
    many, few = wf.zeros(1, 8, 64, 32), wf.zeros(1, 2, 64, 32)
    wf.realize(many, few)
    assert (
        len(wf.explain(F.scaled_dot_product_attention(many, few, few, enable_gqa=True)).kernels)
        == 1
    )  # no head is copied
    with pytest.raises(wf.errors.ShapeError, match="axis -3 of key must divide that of query"):
        F.scaled_dot_product_attention(
            wf.tensor(q), wf.zeros(2, 4, 5, 4), wf.tensor(v), enable_gqa=True
        )
    with pytest.raises(wf.errors.ShapeError, match="axis -3 of value must divide that of query"):
        F.scaled_dot_product_attention(wf.tensor(q), wf.tensor(k), wf.zeros(5, 4), enable_gqa=True)


WRONG: list[tuple[tuple[tuple[int, ...], ...], dict[str, Any], type[Exception], str]] = [
    (((3, 4), (5, 3), (5, 4)), {}, wf.errors.ShapeError, "must agree in E"),
    (((3, 4), (5, 4), (4, 4)), {}, wf.errors.ShapeError, "must agree in S"),
    (((4,), (5, 4), (5, 4)), {}, wf.errors.ShapeError, r"got query \(4,\), key \(5, 4\)"),
    (
        ((3, 4), (5, 4), (5, 4)),
        {"attn_mask": np.ones((3, 5), np.int64)},
        wf.errors.DTypeError,
        "attn_mask must be a bool mask",
    ),
    (
        ((3, 4), (5, 4), (5, 4)),
        {"attn_mask": np.ones((2, 2), bool)},
        wf.errors.ShapeError,
        "scores and attn_mask",
    ),
    (((3, 4), (5, 4), (5, 4)), {"dropout_p": 2}, wf.errors.ArgumentError, r"p must be in \[0, 1\]"),
    (((3, 4), (5, 4), (5, 4)), {"scale": "1"}, wf.errors.DTypeError, "scale must be a real number"),
]


@pytest.mark.parametrize(("shapes", "settings", "kind", "says"), WRONG)
def test_attention_says_what_it_takes(
    shapes: Any, settings: Any, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        F.scaled_dot_product_attention(*map(wf.zeros, shapes), **settings)


# ---------------------------------------------------------------- several heads

E, H, N, L, S = 6, 2, 3, 4, 5


def layer(**settings: Any) -> nn.MultiheadAttention:
    wf.manual_seed(3)
    made = nn.MultiheadAttention(E, H, **{"batch_first": True} | settings).double()
    if made.in_proj_bias is not None:
        made.in_proj_bias.assign(normal(3 * E))
    return made


PADDING = np.arange(N * S).reshape(N, S) % 4 == 1
BETWEEN = np.arange(L * S).reshape(L, S) % 3 == 2
MASKS: dict[str, tuple[dict[str, Any], Array]] = {
    "none": ({}, np.zeros(1)),
    "padding": ({"key_padding_mask": PADDING}, minus_infinity(PADDING)[:, None, None]),
    "added padding": ({"key_padding_mask": normal(N, S)}, normal(N, S)[:, None, None]),
    "mask": ({"attn_mask": BETWEEN}, minus_infinity(BETWEEN)),
    "added": ({"attn_mask": normal(L, S)}, normal(L, S)),
    "of each head": ({"attn_mask": normal(N * H, L, S)}, normal(N * H, L, S).reshape(N, H, L, S)),
    "causal": ({"is_causal": True}, minus_infinity(~np.tri(L, S, dtype=bool))),
    "both": (
        {"attn_mask": BETWEEN, "key_padding_mask": PADDING & ~BETWEEN[0]},
        minus_infinity(BETWEEN | (PADDING & ~BETWEEN[0])[:, None, None]),
    ),
    "added and padding": (
        {"attn_mask": normal(L, S), "key_padding_mask": PADDING},
        normal(L, S) + minus_infinity(PADDING)[:, None, None],
    ),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", MASKS)
def test_several_heads_with_masks(name: str) -> None:
    masks, added = MASKS[name]
    m, (q, k, v) = layer(), (normal(N, L, E), normal(N, S, E, seed=1), normal(N, S, E, seed=2))
    output, weights = heads_reference(m, q, k, v, added)
    got, shares = m(wf.tensor(q), wf.tensor(k), wf.tensor(v), average_attn_weights=False, **masks)
    close(got, output, 1e-9)
    close(shares, weights, 1e-9)
    alone, nothing = m(wf.tensor(q), wf.tensor(k), wf.tensor(v), need_weights=False, **masks)
    close(alone, output, 1e-9)
    assert nothing is None


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "settings", [{"bias": False}, {"kdim": 3, "vdim": 4}, {"kdim": 3, "vdim": 4, "bias": False}]
)
def test_several_heads_of_other_inputs(settings: dict[str, Any]) -> None:
    m = layer(**settings)
    q, k, v = (
        normal(N, n, settings.get(what, E), seed=i)
        for i, (n, what) in enumerate([(L, "qdim"), (S, "kdim"), (S, "vdim")])
    )
    output, weights = heads_reference(m, q, k, v, np.zeros(1))
    got, shares = m(wf.tensor(q), wf.tensor(k), wf.tensor(v))
    close(got, output, 1e-9)
    close(shares, weights.mean(1), 1e-9)


@pytest.mark.slow
def test_the_batch_is_the_second_axis_unless_told_and_may_be_missing() -> None:
    m, x = layer(), normal(N, L, E)
    expected, weights = (t.numpy() for t in m(wf.tensor(x), wf.tensor(x), wf.tensor(x)))
    m.batch_first = False
    y = wf.tensor(np.swapaxes(x, 0, 1))
    got, shares = m(y, y, y)
    close(got, np.swapaxes(expected, 0, 1), 1e-9)
    close(shares, weights, 1e-9)
    one = wf.tensor(x[0])
    got, shares = m(one, one, one, key_padding_mask=wf.zeros(L) > 0)
    close(got, expected[0], 1e-9)
    close(shares, weights[0], 1e-9)


@pytest.mark.slow
def test_derivatives_of_several_heads() -> None:
    m = layer()
    derivative_holds(lambda x: m(x, x, x, is_causal=True, need_weights=False)[0], normal(2, 3, E))
    derivative_holds(lambda q, k: m(q, k, k)[1], normal(2, 3, E), normal(2, 4, E, seed=1))


def test_self_attention_without_weights_is_three_kernels() -> None:
    m = nn.MultiheadAttention(64, 4, batch_first=True)
    x, padding = wf.randn(2, 64, 64), wf.rand(2, 64) < 0.1
    wf.realize(x, padding, *m.parameters())
    kernels = wf.explain(m(x, x, x, padding, need_weights=False, is_causal=True)[0]).kernels
    assert [k.kind for k in kernels] == [
        "contraction",
        "chain",
        "contraction",
    ]  # projections, attention, output


@pytest.mark.slow
def test_dropout_of_weights_while_training_only() -> None:
    m, x = layer(dropout=0.5), wf.tensor(normal(N, L, E))
    dropped = m(x, x, x, average_attn_weights=False)[1].numpy()
    kept = m.eval()(x, x, x, average_attn_weights=False)[1].numpy()
    assert (dropped == 0).any() and (kept > 0).all()
    np.testing.assert_allclose(dropped[dropped > 0], 2 * kept[dropped > 0])


def test_names_layouts_and_initial_values_are_torchs() -> None:
    shapes = {n: t.shape for n, t in nn.MultiheadAttention(E, H).state_dict().items()}
    assert shapes == {
        "in_proj_weight": (18, 6),
        "in_proj_bias": (18,),
        "out_proj.weight": (6, 6),
        "out_proj.bias": (6,),
    }
    m = nn.MultiheadAttention(E, H, kdim=3)
    weights = ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    assert list(m.state_dict()) == [*weights, "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    assert not m.in_proj_bias.numpy().any() and not m.out_proj.bias.numpy().any()
    bound = np.sqrt(6 / (3 + E))
    assert 0.5 * bound < abs(m.k_proj_weight.numpy()).max() <= bound


def test_a_jitted_layer_is_the_lazy_one() -> None:
    m, x = layer(), wf.tensor(normal(N, L, E))
    got = wf.jit(lambda x: m(x, x, x))(x)
    for a, b in zip(got, m(x, x, x), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"key": wf.zeros(3, 5, 4)},
        wf.errors.ShapeError,
        r"expected \(N, L, E\) .* with E = 6 .* key \(3, 5, 4\)",
    ),
    ({"query": wf.zeros(4, 6)}, wf.errors.ShapeError, r"got query \(4, 6\)"),
    ({"query": wf.zeros(2, 4, 6)}, wf.errors.ShapeError, r"got query \(2, 4, 6\)"),
    (
        {"key_padding_mask": wf.zeros(5, 3) > 0},
        wf.errors.ShapeError,
        r"key_padding_mask must have shape \(3, 5\), not \(5, 3\)",
    ),
    (
        {"attn_mask": wf.zeros(5, 4)},
        wf.errors.ShapeError,
        r"attn_mask must have shape \(4, 5\) or \(6, 4, 5\), not \(5, 4\)",
    ),
    (
        {"attn_mask": wf.zeros(4, 5, dtype="int32")},
        wf.errors.DTypeError,
        "attn_mask must be a bool mask, or a float mask",
    ),
]


@pytest.mark.parametrize(("given", "kind", "says"), REFUSED)
def test_several_heads_say_what_they_take(
    given: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        layer()(
            **{"query": wf.zeros(N, L, E), "key": wf.zeros(N, S, E), "value": wf.zeros(N, S, E)}
            | given
        )


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"num_heads": 4}, "num_heads=4 must divide embed_dim=6"),
        ({"add_bias_kv": True}, "add_bias_kv"),
        ({"dropout": 2}, "dropout"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(wf.errors.ArgumentError, match=says):
        nn.MultiheadAttention(**{"embed_dim": 6, "num_heads": 2} | settings)
