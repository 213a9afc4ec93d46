"""Normalised activations. In: a Tensor. Out: one of the same shape."""

from __future__ import annotations

from collections.abc import Sequence

from ... import errors
from ...frontend.arguments import as_double, as_ints
from ...frontend.binding import of_tensors
from ...frontend.half import in_float32
from ...frontend.tensor import Tensor


@of_tensors
@in_float32
def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the trailing axes; var is the mean of (x - mean)**2."""
    shape, eps = as_ints("layer_norm", "normalized_shape", normalized_shape), as_double("layer_norm", "eps", eps)
    if not shape or x.shape[-len(shape) :] != shape:
        raise errors.ShapeError(f"layer_norm: the last axes of x must be normalized_shape={shape}, but x has shape {x.shape}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != shape:
            raise errors.ShapeError(f"layer_norm: {name} must have shape {shape}, not {t.shape}")
    axes = tuple(range(-len(shape), 0))
    centred = x - x.mean(axis=axes, keepdims=True)
    out = centred * ((centred * centred).mean(axis=axes, keepdims=True) + eps).rsqrt()  # one division a row, also in gradients
    out = out if weight is None else out * weight
    return out if bias is None else out + bias
