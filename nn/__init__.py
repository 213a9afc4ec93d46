"""Layers, losses and optimisers: functions of Tensors, nothing else. Names and layouts follow torch.nn."""

from __future__ import annotations

from . import data, functional, init, layers, optim
from .layers import *
from .layers import BatchNorm1d, BatchNorm2d, GroupNorm, InstanceNorm1d, InstanceNorm2d, RMSNorm
from .module import Buffer, Module, Parameter

__all__ += layers.__all__


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "Module",
    "Parameter",
    "RMSNorm",
    "data",
    "functional",
    "init",
    "optim",
]
