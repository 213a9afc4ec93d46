"""The layers: a Module each, holding Parameters and calling nn/functional. Layouts and arguments are torch's."""

from __future__ import annotations

from .activation import GELU, ReLU, Sigmoid, Tanh
from .container import ModuleDict, ModuleList, ParameterList, Sequential
from .conv import Conv1d, Conv2d
from .dropout import Dropout
from .embedding import Embedding
from .linear import Linear
from .normalization import LayerNorm
from .pooling import AvgPool2d, MaxPool2d
from .shape import Flatten

__all__ = [
    "GELU",
    "AvgPool2d",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "Flatten",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "ModuleDict",
    "ModuleList",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
]
