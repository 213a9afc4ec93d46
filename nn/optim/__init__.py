"""Optimisers. In: parameters with gradients. Out: new values assigned to them; one step is one program."""

from __future__ import annotations

from .adam import Adam
from .optimizer import Hyperparameters, Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "Hyperparameters", "Optimizer"]
