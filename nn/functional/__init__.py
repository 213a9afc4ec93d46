"""Layers and losses as functions. In: Tensors. Out: Tensors; torch's signatures, with `axis` for `dim`.

Everything here is a composite of a few graph ops; frontend/windows.py has convolution and pooling.
"""

from __future__ import annotations

from ...frontend import windows
from ...frontend.binding import function
from .activation import gelu, log_softmax, relu, sigmoid, silu, softmax, tanh
from .attention import scaled_dot_product_attention
from .classification import cross_entropy, nll_loss
from .dropout import dropout
from .embedding import embedding, one_hot
from .loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from .normalization import layer_norm
from .similarity import cosine_embedding_loss, cosine_similarity, hinge_embedding_loss

linear = function(windows.linear)
conv1d, conv2d = map(function, (windows.conv1d, windows.conv2d))
max_pool1d, max_pool2d = map(function, (windows.max_pool1d, windows.max_pool2d))
avg_pool1d, avg_pool2d = map(function, (windows.avg_pool1d, windows.avg_pool2d))

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "tanh",
]
