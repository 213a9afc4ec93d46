"""Attention on CUDA: which chains become kernels there, and what these compute."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.frontend.host import HostBackend
from weft.ir.fuse import Policy
from weft.nn import functional as F

random = np.random.default_rng(0)


def normal(*shape: int) -> wf.Tensor:
    return wf.tensor(random.standard_normal(shape).astype("f4"))


# ---------------------------------------------------------------- chains that need no more than a block of their space


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostBackend, "policy", Policy(chains="blocks"))


def kinds(*tensors: wf.Tensor) -> list[str]:
    return [k.kind for k in wf.explain(list(tensors)).kernels]


def attention(causal: bool = False) -> tuple[list[wf.Tensor], wf.Tensor]:
    leaves = [normal(2, 4, 64, 16), normal(2, 4, 70, 16), normal(2, 4, 70, 16)]
    return leaves, F.scaled_dot_product_attention(*leaves, is_causal=causal)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_blocks_is_one_kernel(in_blocks: None, causal: bool) -> None:
    assert kinds(attention(causal)[1]) == ["chain"]


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_in_blocks_are_a_kernel_for_each_side(in_blocks: None, causal: bool) -> None:
    leaves, out = attention(causal)
    gradients = wf.grad((out * normal(*out.shape)).sum(), leaves)
    assert kinds(out, *gradients) == ["chain", "rows", "chain", "chain"]


def test_what_needs_whole_rows_of_weights_stores_them(in_blocks: None) -> None:
    q, k, v = attention()[0]
    weights = wf.where(normal(2, 4, 64, 1) > 0, (q @ k.transpose(-1, -2)).softmax(axis=-1), 0.0)
    assert kinds(weights @ v) == ["contraction", "rows", "contraction"]


def test_blocks_change_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with options.override(cache_dir=None):
        leaves, out = attention(causal=True)
        want = [t.numpy() for t in (out, *wf.grad((out * out).sum(), leaves))]
        monkeypatch.setattr(HostBackend, "policy", Policy(chains="blocks"))
        again = [wf.tensor(t.numpy()) for t in leaves]
        out = F.scaled_dot_product_attention(*again, is_causal=True)
        got = [out, *wf.grad((out * out).sum(), again)]
        wf.realize(*got)  # together, which is another program
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-5)
