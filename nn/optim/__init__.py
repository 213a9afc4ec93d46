"""Optimisers. In: parameters with gradients. Out: new values assigned to them; one step is one program."""

from __future__ import annotations

from .adagrad import Adadelta, Adagrad
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"]
