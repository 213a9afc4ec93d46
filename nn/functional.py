"""Layers and losses as functions. In: Tensors. Out: Tensors; torch's signatures, with `axis` for `dim`.

Everything here is a composite of a few graph ops; frontend/windows.py has convolution and pooling.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from .. import errors
from ..frontend import ops, windows
from ..frontend.arguments import as_bool, as_choice, as_double, as_ints
from ..frontend.binding import function, of_tensors
from ..frontend.half import in_float32
from ..frontend.tensor import Tensor

# ---------------------------------------------------------------- activations


@of_tensors
def relu(x: Tensor) -> Tensor:
    return x.relu()


@of_tensors
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` is the usual cheaper form."""
    return x.gelu(approximate)


@of_tensors
def silu(x: Tensor) -> Tensor:
    return x.silu()


@of_tensors
def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


@of_tensors
def tanh(x: Tensor) -> Tensor:
    return x.tanh()


@of_tensors
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return x.softmax(axis=axis)


@of_tensors
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    return x.log_softmax(axis=axis)


@of_tensors
def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p); the identity when not training."""
    p = as_double("dropout", "p", p)
    if not 0.0 <= p <= 1.0:
        raise errors.ArgumentError(f"dropout: p must be in [0, 1], not {p}")
    if not as_bool("dropout", "training", training) or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    return ops.where(ops.rand(*x.shape) < p, 0.0, x * (1.0 / (1.0 - p)))


# ---------------------------------------------------------------- linear algebra


linear = function(windows.linear)


@of_tensors
def embedding(x: Tensor, weight: Tensor) -> Tensor:
    """Row x[i] of weight for every i: shape x.shape + (embedding_dim,). Raises IndexError on an index outside the table."""
    if weight.ndim != 2:
        raise errors.ShapeError(f"embedding: weight must have shape (num_embeddings, embedding_dim), not {weight.shape}")
    return ops.gather(weight, [_indices(x, "embedding")])


@of_tensors
def one_hot(x: Tensor, num_classes: int) -> Tensor:
    """int64 ones where the new last axis equals x. Raises IndexError on a label outside 0 .. num_classes-1."""
    rows = ops.eye(num_classes, dtype="int64")
    return ops.gather(rows, [_indices(x, "one_hot")])


@of_tensors
@in_float32
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale) @ value over the last two axes; scale defaults to 1 / sqrt(head size).

    A boolean mask is True where a key takes part; a float mask is added to the scores.
    """
    _check_attention(query, key, value)
    factor = 1.0 / sqrt(max(query.shape[-1], 1)) if scale is None else as_double("attention", "scale", scale)
    scores = (query @ key.transpose(-1, -2)) * factor
    if as_bool("attention", "is_causal", is_causal):
        rows, columns = ops.arange(query.shape[-2]), ops.arange(key.shape[-2])
        scores = ops.where(columns <= rows.unsqueeze(1), scores, float("-inf"))
    if attn_mask is not None:
        is_bool = attn_mask.dtype.kind == "b"
        scores = ops.where(attn_mask, scores, float("-inf")) if is_bool else scores + attn_mask
    return dropout(scores.softmax(axis=-1), dropout_p) @ value


def _check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise errors.ShapeError(f"attention: query, key and value need at least two axes, got {shapes}")
    if query.shape[-1] != key.shape[-1]:
        raise errors.ShapeError(f"attention: query and key must agree in their last axis, got {shapes}")
    if key.shape[-2] != value.shape[-2]:
        raise errors.ShapeError(f"attention: key and value must agree in their second to last axis, got {shapes}")


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


# ---------------------------------------------------------------- windows


conv1d, conv2d = map(function, (windows.conv1d, windows.conv2d))
max_pool1d, max_pool2d = map(function, (windows.max_pool1d, windows.max_pool2d))
avg_pool1d, avg_pool2d = map(function, (windows.avg_pool1d, windows.avg_pool2d))


# ---------------------------------------------------------------- losses


@of_tensors
@in_float32
def cross_entropy(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-log softmax(x)[target] over axis 1 of (N, C, ...), or over the only axis of (C,).

    target holds integer class labels of shape (N, ...). A label outside 0 .. C-1 raises IndexError when computed.
    """
    axis = _class_axis("cross_entropy", x, target)
    top = x.max(axis=axis, keepdims=True).detach()
    log_sum = (x - top).exp().sum(axis=axis).log()
    return _reduced("cross_entropy", log_sum - (_pick(x, target, axis) - top.squeeze(axis)), reduction)


@of_tensors
@in_float32
def nll_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-x[target] over axis 1 of log-probabilities (N, C, ...); labels as in cross_entropy."""
    axis = _class_axis("nll_loss", x, target)
    return _reduced("nll_loss", -_pick(x, target, axis), reduction)


@of_tensors
@in_float32
def mse_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(x - target)**2; the two shapes must be equal."""
    _same_shapes("mse_loss", x, target)
    difference = x - target
    return _reduced("mse_loss", difference * difference, reduction)


@of_tensors
@in_float32
def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """-(target * log sigmoid(x) + (1 - target) * log(1 - sigmoid(x))), safe for any x; the two shapes must be equal."""
    _same_shapes("binary_cross_entropy_with_logits", x, target)
    below = x < 0.0  # one side of each choice has the slopes at 0, so that derivatives of all orders are right there
    wrong = ops.where(below, -target * x, (1.0 - target) * x)  # 0 where x has the right sign: the rest is kept whole
    rest = ops.where(below, x, -x).exp().log1p()
    return _reduced("binary_cross_entropy_with_logits", wrong + rest, reduction)


def _same_shapes(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise errors.ShapeError(f"{name}: x has shape {x.shape} but target has shape {target.shape}; they must be equal")


def _class_axis(name: str, x: Tensor, target: Tensor) -> int:
    axis = min(1, x.ndim - 1)
    wanted = x.shape[:axis] + x.shape[axis + 1 :]
    if x.ndim == 0 or target.shape != wanted:
        raise errors.ShapeError(f"{name}: for x of shape {x.shape} the labels must have shape {wanted}, not {target.shape}")
    _indices(target, name)
    return axis


def _pick(x: Tensor, labels: Tensor, axis: int) -> Tensor:
    """x at index labels[...] of `axis` for every other index: one element per row."""
    places = [ops.arange(n).reshape(n, *[1] * (labels.ndim - 1 - i)) for i, n in enumerate(labels.shape)]
    places.insert(axis, labels.long())
    return ops.gather(x, places, tuple(range(x.ndim)))


def _indices(x: Tensor, name: str) -> Tensor:
    if not x.dtype.is_int:
        raise errors.DTypeError(f"{name}: expected integer indices, got {x.dtype.name}")
    return x.long()


def _reduced(name: str, x: Tensor, reduction: str) -> Tensor:
    match as_choice(name, "reduction", reduction, ("mean", "sum", "none")):
        case "mean":
            return x.mean()
        case "sum":
            return x.sum()
    return x
