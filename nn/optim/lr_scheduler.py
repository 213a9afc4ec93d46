"""All schedules, under the name that their module has in torch: nn.optim.lr_scheduler.StepLR is
nn.optim.StepLR."""

from __future__ import annotations

from .combined import ChainedScheduler, SequentialLR
from .cyclic import CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .schedule import LRScheduler
from .schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
