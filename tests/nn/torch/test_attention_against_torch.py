"""Attention, transformers and other layers with parameters against torch: its state is loaded;
outputs and gradients agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from torchref import Array, agree, draw, pair
from weft import nn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F, TF, T = nn.functional, torch.nn.functional, torch.nn

E, H, N, L, S = 8, 2, 3, 4, 5


def same(mine: nn.Module, theirs: Any, call: Callable[..., Any], *arrays: Array) -> None:
    """Outputs to 1e-5, and gradients of inputs and parameters to 1e-4 of the greatest; call picks
    and passes what is tested."""
    a = [wf.tensor(x.astype(np.float32), requires_grad=True) for x in arrays]
    b = [torch.tensor(x.astype(np.float32), requires_grad=True) for x in arrays]
    out, expected = call(mine, *a), call(theirs, *b)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-5)
    weights = draw(*out.shape).astype(np.float32)
    (out * wf.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    pairs = {str(i): (x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))}
    pairs |= {
        n: (p, q) for (n, p), q in zip(mine.named_parameters(), theirs.parameters(), strict=True)
    }
    wf.realize(
        *(x.grad for x, _ in pairs.values() if x.grad is not None)
    )  # one program, not one for each
    for name, (x, y) in pairs.items():
        assert (x.grad is None) == (y.grad is None), name
        if y.grad is not None:
            most = float(abs(y.grad).max())
            np.testing.assert_allclose(
                x.grad.numpy(), y.grad.numpy(), rtol=1e-4, atol=1e-4 * most + 1e-6, err_msg=name
            )


def of(kind: Any, mask: Array | None) -> Any:
    """The mask for a layer of ours or of torch."""
    return (
        mask
        if mask is None
        else wf.tensor(mask)
        if isinstance(kind, nn.Module)
        else torch.tensor(mask)
    )


CAUSAL = ~np.tri(L, dtype=bool)
PADDING = np.arange(N * L).reshape(N, L) % 4 == 3
MASKS: dict[str, dict[str, Array]] = {
    "none": {},
    "causal": {"attn_mask": CAUSAL},
    "padding": {"key_padding_mask": PADDING},
    "both": {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
    "added": {"attn_mask": draw(L, L).astype(np.float32)},
    "of each head": {"attn_mask": draw(N * H, L, L).astype(np.float32)},
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    "settings",
    [{"batch_first": True}, {"bias": False}],
    ids=["batch first", "batch second, no bias"],
)
def test_self_attention(name: str, settings: dict[str, Any]) -> None:
    mine, theirs = pair("MultiheadAttention", E, H, **settings)
    x = draw(N, L, E) if settings.get("batch_first") else draw(L, N, E)

    def call(m: Any, x: Any, part: int = 0, **how: Any) -> Any:
        return m(x, x, x, **{k: of(m, mask) for k, mask in MASKS[name].items()}, **how)[part]

    same(mine, theirs, call, x)
    mine.zero_grad()
    theirs.zero_grad()
    same(mine, theirs, lambda m, x: call(m, x, need_weights=False), x)
    for average in (True, False):
        shares, expected = (
            call(m, of(m, x.astype(np.float32)), 1, average_attn_weights=average)
            for m in (mine, theirs)
        )
        np.testing.assert_allclose(shares.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 3, "vdim": 5}, {"kdim": E, "vdim": 5}])
def test_attention_to_other_inputs(sizes: dict[str, int]) -> None:
    mine, theirs = pair("MultiheadAttention", E, H, batch_first=True, **sizes)
    arrays = (
        draw(N, L, E),
        draw(N, S, sizes.get("kdim", E), seed=1),
        draw(N, S, sizes.get("vdim", E), seed=2),
    )
    same(mine, theirs, lambda m, q, k, v: m(q, k, v)[0], *arrays)


def test_attention_without_a_batch() -> None:
    mine, theirs = pair("MultiheadAttention", E, H)
    same(
        mine,
        theirs,
        lambda m, x, y: m(x, y, y, key_padding_mask=of(m, np.arange(S) == 1))[0],
        draw(L, E),
        draw(S, E, seed=1),
    )


def test_heads_that_share_keys_and_values() -> None:
    arrays = draw(N, 6, L, E), draw(N, 2, S, E, seed=1), draw(N, 2, S, E, seed=2)
    f, g = F.scaled_dot_product_attention, TF.scaled_dot_product_attention
    agree("gqa", lambda *x: f(*x, enable_gqa=True), lambda *x: g(*x, enable_gqa=True), *arrays)
    mask, (q, k, v) = draw(L, S) > -0.5, (x[:, :2] for x in arrays)
    agree(
        "mask",
        lambda *x: f(*x, wf.tensor(mask), scale=0.3),
        lambda *x: g(*x, torch.tensor(mask), scale=0.3),
        q,
        k,
        v,
    )


LAYERS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "norm first": {"norm_first": True},
    "gelu, no bias": {"activation": "gelu", "bias": False},
    "batch second": {"batch_first": False, "layer_norm_eps": 0.1},
}


@pytest.mark.parametrize("name", LAYERS)
def test_encoder_layers(name: str) -> None:
    mine, theirs = pair(
        "TransformerEncoderLayer", E, H, 16, **{"dropout": 0.0, "batch_first": True} | LAYERS[name]
    )
    x = draw(L, N, E) if "batch_first" in LAYERS[name] else draw(N, L, E)
    same(mine, theirs, lambda m, x: m(x, of(m, CAUSAL), of(m, PADDING)), x)


@pytest.mark.parametrize("name", LAYERS)
def test_decoder_layers(name: str) -> None:
    mine, theirs = pair(
        "TransformerDecoderLayer", E, H, 16, **{"dropout": 0.0, "batch_first": True} | LAYERS[name]
    )
    x, memory = (
        (draw(L, N, E), draw(S, N, E))
        if "batch_first" in LAYERS[name]
        else (draw(N, L, E), draw(N, S, E))
    )
    between = np.arange(L * S).reshape(L, S) % 5 == 2

    def call(m: Any, x: Any, memory: Any) -> Any:
        return m(x, memory, of(m, CAUSAL), of(m, between), tgt_key_padding_mask=of(m, PADDING))

    same(mine, theirs, call, x, memory)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    "settings", [{}, {"batch_first": True, "norm_first": True, "activation": "gelu", "bias": False}]
)
def test_transformers(settings: dict[str, Any]) -> None:
    mine, theirs = pair("Transformer", E, H, 1, 2, 16, dropout=0.0, **settings)
    src, tgt = (draw(N, n, E) if settings else draw(n, N, E) for n in (S, L))
    same(
        mine,
        theirs,
        lambda m, x, y: m(x, y, tgt_mask=of(m, CAUSAL), tgt_key_padding_mask=of(m, PADDING)),
        src,
        tgt,
    )


def test_an_encoder_in_eval_mode() -> None:
    torch.manual_seed(0)
    settings = {"dim_feedforward": 16, "dropout": 0.3, "batch_first": True}
    theirs = T.TransformerEncoder(
        T.TransformerEncoderLayer(E, H, **settings),
        2,
        norm=T.LayerNorm(E),
        enable_nested_tensor=False,
    )
    mine = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(E, H, **settings), 2, norm=nn.LayerNorm(E)
    )
    mine.load_state_dict(theirs.state_dict())
    same(mine.eval(), theirs.eval(), lambda m, x: m(x, of(m, CAUSAL)), draw(N, L, E))


def test_recurrent_cells() -> None:
    x, h, c = draw(2, 3), draw(2, 4, seed=1), draw(2, 4, seed=2)
    same(*pair("RNNCell", 3, 4, nonlinearity="relu"), lambda m, x, h: m(x, m(x, h)), x, h)
    same(*pair("RNNCell", 3, 4, False), lambda m, x: m(x), x)
    same(*pair("GRUCell", 3, 4), lambda m, x, h: m(x, m(x, h)), x, h)
    same(*pair("LSTMCell", 3, 4), lambda m, x, h, c: m(x, m(x, (h, c)))[0], x, h, c)


def test_bilinear_prelu_and_embedding() -> None:
    same(*pair("Bilinear", 3, 4, 5), lambda m, x, y: m(x, y), draw(2, 6, 3), draw(2, 6, 4, seed=1))
    same(*pair("PReLU", 3), lambda m, x: m(x), draw(2, 3, 4))
    same(*pair("Embedding", 6, 4, padding_idx=2), lambda m: m(of(m, np.array([[0, 2], [5, 5]]))))
    same(*pair("Embedding", 6, 4), lambda m: m(of(m, np.array([[0, 2], [5, 5]]))))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags_of_embeddings(mode: str, padding: int | None) -> None:
    lines = np.array([0, 1, 2, 5, 5, 3, 2, 4, 1])
    for last, offsets in ((False, [0, 0, 3, 7]), (True, [0, 4, 4, 9])):
        mine, theirs = pair(
            "EmbeddingBag", 6, 4, mode=mode, padding_idx=padding, include_last_offset=last
        )
        same(mine, theirs, lambda m, o=offsets: m(of(m, lines), of(m, np.array(o))))
    same(
        *pair("EmbeddingBag", 6, 4, mode=mode, padding_idx=padding),
        lambda m: m(of(m, lines.reshape(3, 3))),
    )


def test_initial_values_are_spread_like_torchs() -> None:
    wf.manual_seed(0)
    mine, theirs = nn.TransformerEncoderLayer(64, 4, 128), T.TransformerEncoderLayer(64, 4, 128)
    for (name, p), q in zip(mine.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(
            p.numpy().std(), q.detach().numpy().std(), rtol=0.25, atol=1e-6, err_msg=name
        )
