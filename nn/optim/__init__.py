"""Optimisers and schedules. In: parameters with gradients. Out: new values assigned to them; one step is one program."""

from __future__ import annotations

from . import lr_scheduler
from .adagrad import Adadelta, Adagrad
from .adam import Adam, AdamW
from .lr_scheduler import *  # noqa: F403
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
__all__ += lr_scheduler.__all__
