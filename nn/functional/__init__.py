"""Layers and losses as functions. In: Tensors. Out: Tensors; torch's signatures, with `axis` for `dim`.

Everything here is a composite of a few graph ops.
"""

from __future__ import annotations

from .activation import (
    celu,
    elu,
    gelu,
    glu,
    log_softmax,
    logsigmoid,
    mish,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softsign,
    tanh,
)
from .attention import scaled_dot_product_attention
from .classification import cross_entropy, nll_loss
from .dropout import alpha_dropout, dropout, dropout1d, dropout2d
from .embedding import embedding, embedding_bag, one_hot
from .loss import binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, kl_div, l1_loss, mse_loss, smooth_l1_loss
from .normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from .padding import pad
from .piecewise import hardsigmoid, hardswish, hardtanh, leaky_relu, prelu, relu, relu6, threshold
from .resampling import fold, interpolate, pixel_shuffle, pixel_unshuffle, unfold
from .similarity import cosine_embedding_loss, cosine_similarity, hinge_embedding_loss
from .windows import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    linear,
    max_pool1d,
    max_pool2d,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "dropout1d",
    "dropout2d",
    "elu",
    "embedding",
    "embedding_bag",
    "fold",
    "gelu",
    "glu",
    "group_norm",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "tanh",
    "threshold",
    "unfold",
]
