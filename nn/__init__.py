"""Layers, losses and optimisers: functions of Tensors, nothing else. Names and layouts follow torch.nn."""

from . import data, functional, init, optim
from .layers import (
    GELU,
    AvgPool2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    LayerNorm,
    Linear,
    MaxPool2d,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
)
from .module import Buffer, Module, Parameter

__all__ = [
    "GELU",
    "AvgPool2d",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "data",
    "functional",
    "init",
    "optim",
]
