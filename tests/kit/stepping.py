"""What tests of training share. In: a model and its optimiser. Out: a step as a user writes it, and
what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as wf
from weft.nn import functional as F
from weft.nn import optim


def stepper(
    model: Callable[..., Any], optimizer: optim.Optimizer
) -> Callable[[wf.Tensor, wf.Tensor], wf.Tensor]:
    """A step of a classifier, to be jitted or not."""

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def states(optimizer: optim.Optimizer) -> list[wf.Tensor]:
    """The optimiser's Tensors, parameter by parameter."""
    return [t for s in optimizer.state for t in s.values()]
