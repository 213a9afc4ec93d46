"""Stochastic gradient descent. In: parameters with gradients. Out: new values assigned to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ... import errors
from ...frontend.operands.arguments import as_bool, as_double, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from .groups import Check, Group, extended, rate
from .optimizer import Hyperparameters, Optimizer, Rate


class SGD(Optimizer):
    """Stochastic gradient descent with torch's momentum: m = momentum * m + (1 - dampening) * g; p
    = p - lr * m.

    The first m is g. With nesterov p - lr * (g + momentum * m); weight_decay * p is added to g;
    maximize steps uphill. params: parameters, (name, parameter) pairs, or groups like {"params":
    [..], "lr": 0.1}.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.SGD([p], lr=0.25, momentum=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, 1.0]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "momentum": as_nonnegative,
        "dampening": as_double,
        "weight_decay": as_nonnegative,
        "nesterov": as_bool,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        averaging = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}
        super().__init__(
            params, {"lr": lr, **averaging, "weight_decay": weight_decay, "maximize": maximize}
        )

    def check_group(self, group: Group) -> None:
        if group["nesterov"] and (not group["momentum"] or group["dampening"]):
            raise errors.ArgumentError("SGD: nesterov needs a momentum, and no dampening")

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        hyper, momentum = {"lr": group["lr"]}, group["momentum"]
        if momentum:
            hyper["momentum"] = momentum
            if group["dampening"]:
                hyper["gain"] = 1.0 if step == 1 else 1.0 - group["dampening"]
            if group["nesterov"]:
                hyper["nesterov"] = True
        return extended(hyper, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        if "momentum" not in hyper:
            p.assign(p - hyper["lr"] * grad)
            return
        velocity = hyper["momentum"] * state["momentum_buffer"] + (
            hyper["gain"] * grad if "gain" in hyper else grad
        )
        p.assign(
            p
            - hyper["lr"]
            * (grad + hyper["momentum"] * velocity if "nesterov" in hyper else velocity)
        )
        # after what reads the old one, so that both are written in place
        state["momentum_buffer"].assign(velocity)
