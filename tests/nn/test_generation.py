"""Attention with a cache, and nn.generate: beside the layer over whole sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import errors, nn
from weft.nn import functional as F

N, PLACES, E = 2, 7, 16


@pytest.fixture
def attention() -> nn.MultiheadAttention:
    wf.manual_seed(0)
    return nn.MultiheadAttention(E, 4, batch_first=True)


def test_steps_give_what_the_layer_gives_of_all_places(attention: nn.MultiheadAttention) -> None:
    x = wf.randn(N, PLACES, E)
    wanted, _ = attention(x, x, x, need_weights=False, is_causal=True)

    def body(cache: nn.KVCache, place: wf.Tensor) -> tuple[nn.KVCache, wf.Tensor]:
        output, cache = attention.step(place, cache)
        return cache, output

    cache, outputs = wf.scan(body, attention.new_cache(N, PLACES), x.swapaxes(0, 1))
    np.testing.assert_allclose(outputs.swapaxes(0, 1).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    assert cache.used.item() == PLACES


@pytest.mark.slow
def test_a_step_writes_a_row_of_the_cache_in_place(attention: nn.MultiheadAttention) -> None:
    x = wf.randn(PLACES, N, E)
    wf.realize(x, *attention.parameters())
    report = wf.explain(
        wf.scan(lambda c, p: attention.step(p, c)[::-1], attention.new_cache(N, PLACES), x)[1]
    )
    puts = [k for k in report.kernels if k.kind == "put"]
    assert len(puts) == 2
    assert all(f"lanes over {N * E} elements, in place" in k.schedule for k in puts)
    second = [b.bytes for b in report.memory.buffers if "/carry" in b.name]
    assert N * PLACES * E * 4 not in second


def test_a_full_cache_is_an_error(attention: nn.MultiheadAttention) -> None:
    x = wf.randn(3, N, E)
    with pytest.raises(errors.IndexError, match="index 2 is out of range for axis 2 of extent 2"):
        wf.scan(lambda c, p: attention.step(p, c)[::-1], attention.new_cache(N, 2), x)[1].numpy()
    with pytest.raises(errors.ShapeError, match="does not fit a cache of 2 sequences"):
        attention.step(x[0, :1], attention.new_cache(N, 2))


def follows(token: wf.Tensor, state: Any) -> tuple[wf.Tensor, Any]:
    """Each number is followed by the next one, as a rule."""
    return F.one_hot((token + 1) % 6, 6).astype(wf.float32) * 3, state


def test_the_best_token_is_taken_at_temperature_0() -> None:
    tokens, ends = nn.generate(
        follows, None, wf.tensor([[2, 4, 0, 0, 0], [1, 3, 0, 0, 0]]), 2, temperature=0
    )
    assert tokens.tolist() == [[2, 4, 5, 0, 1], [1, 3, 4, 5, 0]]
    assert ends.tolist() == [5, 5]


def test_rows_end_with_the_stop_token() -> None:
    tokens, ends = nn.generate(
        follows, None, wf.tensor([[2, 9, 9, 9, 9, 9], [4, 9, 9, 9, 9, 9]]), 1, 0, stop=5
    )
    assert tokens.tolist() == [[2, 3, 4, 5, 5, 5], [4, 5, 5, 5, 5, 5]]
    assert ends.tolist() == [3, 1]


def test_tokens_are_drawn_among_the_best() -> None:
    def scores(token: wf.Tensor, state: None) -> tuple[wf.Tensor, None]:
        return wf.log(wf.tensor([0.1, 0.2, 0.3, 0.4])).expand(*token.shape, 4), state

    wf.manual_seed(0)
    tokens, _ = nn.generate(scores, None, wf.zeros((1, 4001), dtype=wf.int64), 1, top_k=2)
    counts = np.bincount(tokens.numpy()[0, 1:], minlength=4) / 4000
    np.testing.assert_allclose(counts, [0, 0, 3 / 7, 4 / 7], atol=0.03)


def test_one_program_serves_every_prompt() -> None:
    built = wf.frontend.lazy.program_table.statistics

    @wf.jit
    def written(tokens: wf.Tensor, known: wf.Tensor) -> wf.Tensor:
        return nn.generate(follows, None, tokens, known, 0)[0]

    assert written(wf.tensor([[1, 0, 0]]), wf.tensor(1)).tolist() == [[1, 2, 3]]
    before = built["built"]
    assert written(wf.tensor([[1, 4, 0]]), wf.tensor(2)).tolist() == [[1, 4, 5]]
    assert built["built"] == before


def test_bad_input_is_named() -> None:
    tokens = wf.tensor([[1, 0]])
    with pytest.raises(errors.ShapeError, match=r"ints of shape \(N, S\)"):
        nn.generate(follows, None, wf.tensor([1.0]), 1)
    with pytest.raises(errors.ArgumentError, match="temperature must be 0 or more"):
        nn.generate(follows, None, tokens, 1, temperature=-1.0)
    with pytest.raises(errors.ArgumentError, match="top_k"):
        nn.generate(follows, None, tokens, 1, top_k=0)
