"""Layers, losses and optimisers: functions of Tensors, nothing else. Names and layouts follow
torch.nn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..frontend.tensor.names_elsewhere import of_module
from . import amp, data, functional, init, layers, optim, parallel, utils
from .amp import GradScaler, autocast
from .checkpoint import CheckpointError, CheckpointFileError, load, save
from .generation import generate
from .layers import *
from .layers.attention import KVCache
from .module import Buffer, Module, Parameter
from .stateless import functional_call, stack_module_state

__all__ = [
    "Buffer",
    "CheckpointError",
    "CheckpointFileError",
    "GradScaler",
    "KVCache",
    "Module",
    "Parameter",
    "amp",
    "autocast",
    "data",
    "functional",
    "functional_call",
    "generate",
    "init",
    "load",
    "optim",
    "parallel",
    "save",
    "stack_module_state",
    "utils",
]
__all__ += layers.__all__  # type: ignore[attr-defined]

for _module in (
    amp,
    data,
    data.transforms,
    functional,
    init,
    optim,
    optim.lr_scheduler,
    parallel,
    utils,
):
    vars(_module)["__getattr__"] = of_module(_module.__name__)
if not TYPE_CHECKING:  # a checker knows what there is
    __getattr__ = of_module(__name__)
