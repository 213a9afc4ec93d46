"""Optimisers. In: parameters with gradients. Out: new values assigned to them; one step is one program.

Hyperparameters enter each step as 0-d inputs, so changing one (`opt.lr = 0.01`) compiles nothing. Of parameters of 16-bit
floats the state is float32, since small changes of an average would be lost, and a new value is rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import sqrt
from typing import Protocol

import numpy as np

from .. import errors
from ..frontend import ops
from ..frontend.arguments import as_bool, as_double, as_sequence, shown
from ..frontend.grad import no_grad
from ..frontend.tensor import Tensor
from ..ir import dtype as dt
from ..ir.dtype import DType
from ..ir.graph import provenance, user_site


class Scalar(Protocol):
    """Makes the 0-d input that holds a hyperparameter; the same one for all parameters of a step."""

    def __call__(self, name: str, value: float, dtype: DType) -> Tensor: ...


class Optimizer:
    """Holds parameters and, per parameter, state Tensors of its shape and a step count."""

    state_names: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        name = type(self).__name__
        self.params = as_sequence(name, "params", params)
        self.lr = as_double(name, "lr", lr)
        if not self.params:
            raise errors.ArgumentError(f"{name}: there are no parameters; an iterator like model.parameters() is used only once")
        for p in self.params:
            if not isinstance(p, Tensor) or not p.requires_grad:
                raise errors.ArgumentError(f"{name}: every parameter must be a Tensor that requires a gradient, got {shown(p)}")
        self.steps = [0] * len(self.params)
        self.state = [{name: _zeros_like(p) for name in self.state_names} for p in self.params]

    def zero_grad(self) -> None:
        """Forgets the gradients; the next backward() starts from none."""
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        """Updates every parameter that has a gradient, and computes the gradients and the scalars still held beside it."""
        scalar: Scalar = cache(lambda name, value, dtype: ops.tensor(value, dtype))
        updated = [(i, p, p.grad) for i, p in enumerate(self.params) if p.grad is not None]
        with no_grad(), provenance(user_site()):  # one look for the user's line, not one per node
            for i, p, grad in updated:
                self.update(p, _wide(grad), self.state[i], self.steps[i] + 1, scalar)
        ops.realize(*(t for i, p, _ in updated for t in (p, *self.state[i].values())))
        for i, _, _ in updated:  # not where the step failed
            self.steps[i] += 1

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], step: int, scalar: Scalar) -> None:
        """Assigns lazy new values to p and its state; grad has the dtype of the state."""
        raise NotImplementedError(f"{type(self).__name__} defines no update()")


class SGD(Optimizer):
    """Stochastic gradient descent with torch's momentum: m = momentum * m + g; p = p - lr * m."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False
    ) -> None:
        momentum, weight_decay = as_double("SGD", "momentum", momentum), as_double("SGD", "weight_decay", weight_decay)
        if as_bool("SGD", "nesterov", nesterov) and not momentum:
            raise errors.ArgumentError("SGD: nesterov needs a momentum")
        self.state_names = ("momentum",) if momentum else ()
        self.momentum, self.weight_decay, self.nesterov = momentum, weight_decay, nesterov
        super().__init__(params, lr)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], step: int, scalar: Scalar) -> None:
        if self.weight_decay:
            grad = grad + scalar("weight_decay", self.weight_decay, grad.dtype) * p
        if state:
            momentum = scalar("momentum", self.momentum, grad.dtype)
            velocity = momentum * state["momentum"] + grad
            grad = grad + momentum * velocity if self.nesterov else velocity
            state["momentum"].assign(velocity)
        p.assign(p - scalar("lr", self.lr, grad.dtype) * grad)


class Adam(Optimizer):
    """Adam with bias correction (Kingma and Ba 2015); weight decay is added to the gradient, as in torch.optim.Adam."""

    state_names = ("mean", "square")

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        found = [as_double("Adam", "each of betas", b) for b in as_sequence("Adam", "betas", betas)]
        if len(found) != 2 or not all(0.0 <= b < 1.0 for b in found):
            raise errors.ArgumentError(f"Adam: betas must be two numbers in [0, 1), not {shown(betas)}")
        self.betas = (found[0], found[1])
        self.eps, self.weight_decay = as_double("Adam", "eps", eps), as_double("Adam", "weight_decay", weight_decay)
        super().__init__(params, lr)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], step: int, scalar: Scalar) -> None:
        beta1, beta2 = self.betas
        correction = sqrt(1.0 - beta2**step)  # numerator and denominator are multiplied by it
        rate = self.lr * correction / (1.0 - beta1**step)
        if self.weight_decay:
            grad = grad + scalar("weight_decay", self.weight_decay, grad.dtype) * p
        mean = state["mean"] + scalar("1 - beta1", 1.0 - beta1, grad.dtype) * (grad - state["mean"])
        square = state["square"] + scalar("1 - beta2", 1.0 - beta2, grad.dtype) * (grad * grad - state["square"])
        eps = scalar("eps", self.eps * correction, grad.dtype)
        p.assign(p - scalar("rate", rate, grad.dtype) * mean / (square.sqrt() + eps))
        state["mean"].assign(mean)
        state["square"].assign(square)


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype.is_half else x


def _zeros_like(p: Tensor) -> Tensor:
    return ops.tensor(np.zeros(p.shape), dt.float32 if p.dtype.is_half else p.dtype)
