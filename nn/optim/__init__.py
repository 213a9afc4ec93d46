"""Optimisers and schedules. In: parameters with gradients. Out: new values assigned to them; one
step is one program."""

from __future__ import annotations

from . import lr_scheduler
from .adagrad import Adadelta, Adagrad
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .lbfgs import LBFGS
from .lr_scheduler import *
from .optimizer import Optimizer
from .rprop import RMSprop, Rprop
from .sgd import SGD

__all__ = [
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
__all__ += lr_scheduler.__all__
