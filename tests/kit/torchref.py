"""What the tests against torch share: arrays, layers, and agreement of two functions in float64.
Skips where torch is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn

torch = pytest.importorskip("torch")

Array = np.ndarray


def draw(*shape: int, seed: int = 0) -> Array:
    """The same at each call: arrays that must not be alike, as a weight and a bias, have seeds of
    their own."""
    return np.random.default_rng([len(shape), seed]).standard_normal(shape)


def pair(name: str, *args: Any, **kwargs: Any) -> tuple[nn.Module, Any]:
    """The same layer of both, with torch's weights, which are moved away from zeros and ones."""
    torch.manual_seed(0)
    mine, theirs = getattr(nn, name)(*args, **kwargs), getattr(torch.nn, name)(*args, **kwargs)
    for p in theirs.parameters():
        p.data += 0.1 * torch.randn(p.shape)
    mine.load_state_dict(theirs.state_dict())
    return mine, theirs


def agree(name: str, mine: Callable[..., Any], theirs: Callable[..., Any], *arrays: Array) -> None:
    """Values, and gradients of the sum of squares, with respect to every floating-point
    argument."""
    a = [wf.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    b = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
    out, expected = mine(*a), theirs(*b)
    np.testing.assert_allclose(
        out.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9, err_msg=name
    )
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    for x, y in zip(a, b, strict=True):
        if x.requires_grad:
            np.testing.assert_allclose(
                x.grad.numpy(), y.grad.numpy(), rtol=1e-8, atol=1e-8, err_msg=name
            )
