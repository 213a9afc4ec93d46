"""Layers, losses and optimisers: functions of Tensors, nothing else. Names and layouts follow torch.nn."""

from __future__ import annotations

from . import amp, data, functional, init, layers, optim, parallel, utils
from .amp import GradScaler, autocast
from .checkpoint import CheckpointError, CheckpointFileError, load, save
from .layers import *  # noqa: F403
from .module import Buffer, Module, Parameter
from .stateless import functional_call

__all__ = [
    "Buffer",
    "CheckpointError",
    "CheckpointFileError",
    "GradScaler",
    "Module",
    "Parameter",
    "amp",
    "autocast",
    "data",
    "functional",
    "functional_call",
    "init",
    "load",
    "optim",
    "parallel",
    "save",
    "utils",
]
__all__ += layers.__all__
