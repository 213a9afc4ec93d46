"""The layers: a Module each, holding Parameters and calling nn/functional. Layouts and arguments are torch's."""

from __future__ import annotations

from .activation import GELU, ReLU, Sigmoid, Tanh
from .container import ModuleDict, ModuleList, ParameterList, Sequential
from .conv import Conv1d, Conv2d
from .dropout import Dropout
from .embedding import Embedding
from .linear import Linear
from .loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from .normalization import LayerNorm
from .pooling import AvgPool2d, MaxPool2d
from .shape import Flatten

__all__ = [
    "GELU",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "Conv1d",
    "Conv2d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "ParameterList",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SmoothL1Loss",
    "Tanh",
]
