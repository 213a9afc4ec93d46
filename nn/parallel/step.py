"""Compiled training steps of several processes. In: a model, its optimiser, its loss. Out: a
function that makes one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import errors
from ...frontend.jit.jit import jit
from ...frontend.operands.arguments import as_function
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..optim import Optimizer
from ..parameter import Parameter
from .ddp import DistributedDataParallel
from .world import world

Parameters = list[Parameter]


def jit_step(
    model: DistributedDataParallel,
    optimizer: Optimizer,
    loss: Callable[..., Any],
    before_update: Callable[[], object] | None = None,
) -> Callable[..., Any]:
    """A function of the arguments of `loss` that makes one training step and returns what `loss`
    returns: of this process.

    loss: a function that returns a Tensor of one element, or a tuple that begins with it. Loss and
    gradients are one native call, the update is another, and between them the gradients are
    averaged over all processes; alone, all is one native call. before_update: what is done to the
    averaged gradients in .grad, as to clip them; traced like the rest. Gradients from before are
    forgotten; none are left. Raises DTypeError, JitError, GroupError.

    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
    >>> optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    >>> step = nn.parallel.jit_step(model, optimizer, lambda x, y: F.mse_loss(model(x), y))
    >>> step(wf.ones(4, 3), wf.zeros(4, 2)).shape
    ()
    """
    if not isinstance(model, DistributedDataParallel):
        raise errors.DTypeError(
            f"jit_step: the model must be a DistributedDataParallel, not {brief(model)}"
        )
    as_function("jit_step", "the loss", loss)
    prepare = as_function(
        "jit_step", "before_update", (lambda: None) if before_update is None else before_update
    )
    parameters = [*model.parameters()]
    gradients, update = (
        _first_half(model, parameters, loss),
        _second_half(parameters, prepare, optimizer),
    )

    def alone(*args: Any, **kwargs: Any) -> Any:
        result, own = gradients(*args, **kwargs)
        update(own)
        return result

    if world().comm is None:
        return jit(alone)  # type: ignore[no-any-return]
    first, second = jit(gradients), jit(update)

    def step(*args: Any, **kwargs: Any) -> Any:
        result, _ = first(*args, **kwargs)
        model.all_reduce()
        averaged = [p.grad for p in parameters]
        _forget(parameters)
        second(averaged)
        return result

    return step


def _first_half(
    model: DistributedDataParallel, parameters: Parameters, loss: Callable[..., Any]
) -> Callable[..., Any]:
    """(what `loss` returns, the gradients of this process) from the arguments of `loss`."""

    def gradients(*args: Any, **kwargs: Any) -> Any:
        _forget(parameters)
        with model.no_sync():
            result = loss(*args, **kwargs)
            (result[0] if isinstance(result, tuple) else result).backward()
        return result, [p.grad for p in parameters]

    return gradients


def _second_half(
    parameters: Parameters, prepare: Callable[[], object], optimizer: Optimizer
) -> Callable[..., None]:
    """The update from averaged gradients."""

    def update(averaged: list[Tensor | None]) -> None:
        for p, gradient in zip(parameters, averaged, strict=True):
            p.grad = gradient
        prepare()
        optimizer.step()

    return update


def _forget(parameters: Parameters) -> None:
    for p in parameters:
        p.grad = None
