"""Transformers against NumPy formulas: values, derivatives, masks, stacks, kernels, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from nnref import Array, close, derivative_holds, heads_reference, minus_infinity, normal
from weft import nn

E, H, N, L, S = 6, 2, 3, 4, 5
PADDING, MEMORY_PADDING = (
    np.arange(N * L).reshape(N, L) % 4 == 3,
    np.arange(N * S).reshape(N, S) % 4 == 1,
)
NOTHING = np.zeros(1)
CAUSAL = minus_infinity(~np.tri(L, dtype=bool))


def norm_reference(m: nn.LayerNorm, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return (
        centred / np.sqrt((centred**2).mean(-1, keepdims=True) + m.eps) * m.weight.numpy()
        + m.bias.numpy()
    )


def reference(
    m: nn.Module, x: Array, memory: Array, added: Array, of_memory: Array = NOTHING
) -> Array:
    """What an encoder layer, or a decoder layer, makes of x; `added` goes to the scores of its
    attentions."""

    def fed(x: Array) -> Array:
        hidden = np.maximum(x @ m.linear1.weight.numpy().T + m.linear1.bias.numpy(), 0)
        return hidden @ m.linear2.weight.numpy().T + m.linear2.bias.numpy()

    parts = [lambda x: heads_reference(m.self_attn, x, x, x, added)[0], fed]
    if isinstance(m, nn.TransformerDecoderLayer):
        parts.insert(
            1, lambda x: heads_reference(m.multihead_attn, x, memory, memory, of_memory)[0]
        )
    for i, part in enumerate(parts, 1):
        norm = getattr(m, f"norm{i}")
        x = x + part(norm_reference(norm, x)) if m.norm_first else norm_reference(norm, x + part(x))
    return x


def made(kind: type[nn.Module], **settings: Any) -> Any:
    wf.manual_seed(5)
    layer = kind(E, H, 8, **{"batch_first": True, "dropout": 0.0} | settings).double()
    for p in layer.parameters():
        p.assign(p + 0.1 * normal(*p.shape))
    return layer


@pytest.mark.slow
@pytest.mark.parametrize("norm_first", [False, *rarely(True)])
def test_an_encoder_layer(norm_first: bool) -> None:
    m, x = made(nn.TransformerEncoderLayer, norm_first=norm_first), normal(N, L, E)
    close(m(wf.tensor(x)), reference(m, x, x, NOTHING), 1e-9)
    masked = minus_infinity(PADDING)[:, None, None] + CAUSAL
    close(
        m(wf.tensor(x), src_key_padding_mask=PADDING, is_causal=True),
        reference(m, x, x, masked),
        1e-9,
    )
    derivative_holds(m, normal(2, 3, E))


@pytest.mark.slow
@pytest.mark.parametrize("norm_first", [True, *rarely(False)])
def test_a_decoder_layer(norm_first: bool) -> None:
    m, x, memory = (
        made(nn.TransformerDecoderLayer, norm_first=norm_first),
        normal(N, L, E),
        normal(N, S, E, seed=1),
    )
    close(m(wf.tensor(x), wf.tensor(memory)), reference(m, x, memory, NOTHING), 1e-9)
    between = np.arange(L * S).reshape(L, S) % 3 == 2
    masks = {"tgt_mask": CAUSAL, "tgt_key_padding_mask": PADDING, "memory_mask": between}
    of_memory = minus_infinity(MEMORY_PADDING[:, None, None] | between)
    got = m(wf.tensor(x), wf.tensor(memory), **masks, memory_key_padding_mask=MEMORY_PADDING)
    close(
        got,
        reference(m, x, memory, minus_infinity(PADDING)[:, None, None] + CAUSAL, of_memory),
        1e-9,
    )
    close(m(wf.tensor(x), memory, tgt_is_causal=True), reference(m, x, memory, CAUSAL), 1e-9)
    by_place = minus_infinity(~np.tri(L, S, dtype=bool))
    close(
        m(wf.tensor(x), memory, memory_is_causal=True),
        reference(m, x, memory, NOTHING, by_place),
        1e-9,
    )
    derivative_holds(m, normal(2, 3, E), normal(2, 4, E, seed=1))


@pytest.mark.slow
def test_an_encoder_stacks_copies_with_parameters_of_their_own() -> None:
    first = made(nn.TransformerEncoderLayer)
    m = nn.TransformerEncoder(first, 2, norm=nn.LayerNorm(E).double())
    x = normal(N, L, E)
    expected = reference(first, reference(first, x, x, NOTHING), x, NOTHING)
    close(m(wf.tensor(x)), norm_reference(m.norm, expected), 1e-9)
    assert len({id(p) for p in m.parameters()}) == 2 * 12 + 2
    assert {"layers.1.self_attn.in_proj_weight", "layers.0.linear2.bias", "norm.weight"} <= set(
        m.state_dict()
    )


def test_a_transformer_is_its_encoder_and_its_decoder() -> None:
    wf.manual_seed(0)
    m = nn.Transformer(E, H, 1, 2, 8, dropout=0.0).double()
    src, tgt = (np.swapaxes(x, 0, 1) for x in (normal(N, S, E), normal(N, L, E, seed=1)))
    mask = nn.Transformer.generate_square_subsequent_mask(L)
    np.testing.assert_array_equal(mask.numpy(), CAUSAL)
    got = m(
        src,
        tgt,
        tgt_mask=mask,
        src_key_padding_mask=MEMORY_PADDING,
        memory_key_padding_mask=MEMORY_PADDING,
    )
    memory = m.encoder(wf.tensor(src), src_key_padding_mask=MEMORY_PADDING)
    close(
        got,
        m.decoder(tgt, memory, tgt_is_causal=True, memory_key_padding_mask=MEMORY_PADDING).numpy(),
        1e-9,
    )
    first, second = m.decoder.layers
    assert np.array_equal(first.norm1.weight.numpy(), np.ones(E)) and not wf.allclose(
        first.linear1.weight, second.linear1.weight
    )
    assert 0.7 * np.sqrt(6 / 14) < abs(first.linear1.weight.numpy()).max() <= np.sqrt(6 / 14)


def test_stacks_of_ones_own_take_the_place_of_the_usual_ones() -> None:
    class Halved(nn.Module):
        def forward(self, x: wf.Tensor, *rest: Any) -> wf.Tensor:
            return x / 2

    m = nn.Transformer(4, 2, custom_encoder=Halved(), custom_decoder=Halved())
    assert m(wf.ones(5, 3, 4), wf.ones(2, 3, 4)).tolist() == wf.full(
        (2, 3, 4), 0.5
    ).tolist() and not list(m.parameters())


@pytest.mark.slow
def test_a_decoder_layer_is_two_attention_kernels_between_products() -> None:
    m = nn.TransformerDecoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    tgt, memory = wf.randn(2, 32, 64), wf.randn(2, 48, 64)
    wf.realize(tgt, memory, *m.parameters())
    kinds = [k.kind for k in wf.explain(m(tgt, memory, tgt_is_causal=True)).kernels]
    attention = ["contraction", "chain", "contraction", "rows"]
    assert kinds == [*attention, "contraction", *attention, "contraction", "contraction", "rows"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [nn.TransformerEncoderLayer, *rarely(nn.TransformerDecoderLayer)])
def test_a_layer_drops_while_training_only(kind: type[nn.Module]) -> None:
    m, x = made(kind, dropout=0.5, activation="gelu"), wf.tensor(normal(N, L, E))
    inputs = [x] if kind is nn.TransformerEncoderLayer else [x, x]
    assert not np.array_equal(m(*inputs).numpy(), m(*inputs).numpy())
    np.testing.assert_array_equal(m.eval()(*inputs).numpy(), m(*inputs).numpy())


def test_what_transformers_refuse() -> None:
    with pytest.raises(
        ValueError, match="TransformerDecoderLayer: activation must be 'relu' or 'gelu', not 'tanh'"
    ):
        nn.TransformerDecoderLayer(E, H, activation="tanh")
    with pytest.raises(TypeError, match="TransformerDecoder: decoder_layer must be a Module"):
        nn.TransformerDecoder(nn.TransformerDecoderLayer, 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="TransformerEncoder: norm must be a Module, not 3"):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(E, H), 2, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Transformer: custom_encoder must be a Module, not 3"):
        nn.Transformer(E, H, custom_encoder=3)  # type: ignore[arg-type]
    with pytest.raises(wf.errors.ShapeError, match=r"MultiheadAttention: expected \(L, N, E\)"):
        nn.TransformerDecoderLayer(E, H)(wf.zeros(L, N, E), wf.zeros(S, N + 1, E))
