"""Stochastic gradient descent. In: parameters with gradients. Out: new values assigned to them."""

from __future__ import annotations

from collections.abc import Iterable

from ... import errors
from ...frontend.arguments import as_bool, as_double
from ...frontend.tensor import Tensor
from .optimizer import Hyperparameters, Optimizer, Rate


class SGD(Optimizer):
    """Stochastic gradient descent with torch's momentum: m = momentum * m + g; p = p - lr * m."""

    def __init__(
        self, params: Iterable[Tensor], lr: Rate, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False
    ) -> None:
        momentum, weight_decay = as_double("SGD", "momentum", momentum), as_double("SGD", "weight_decay", weight_decay)
        if as_bool("SGD", "nesterov", nesterov) and not momentum:
            raise errors.ArgumentError("SGD: nesterov needs a momentum")
        self.state_names = ("momentum",) if momentum else ()
        self.momentum, self.weight_decay, self.nesterov = momentum, weight_decay, nesterov
        super().__init__(params, lr)

    def hyperparameters(self, step: int) -> dict[str, Rate]:
        found = {"lr": self.lr, "momentum": self.momentum}
        return found | {"weight_decay": self.weight_decay} if self.weight_decay else found

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        if "weight_decay" in hyper:
            grad = grad + hyper["weight_decay"] * p
        if state:
            velocity = hyper["momentum"] * state["momentum"] + grad
            grad = grad + hyper["momentum"] * velocity if self.nesterov else velocity
        p.assign(p - hyper["lr"] * grad)
        if state:  # behind what reads the old momentum, so that both are written in place
            state["momentum"].assign(velocity)
