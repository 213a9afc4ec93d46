"""Layers, losses and optimisers: functions of Tensors, nothing else. Names and layouts follow torch.nn."""

from __future__ import annotations

from . import data, functional, init, layers, optim, utils
from .layers import *  # noqa: F403
from .module import Buffer, Module, Parameter

__all__ = [
    "Buffer",
    "Module",
    "Parameter",
    "data",
    "functional",
    "init",
    "optim",
    "utils",
]
__all__ += layers.__all__
