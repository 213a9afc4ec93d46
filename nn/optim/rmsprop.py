"""RMSprop. In: parameters with gradients. Out: new values assigned to them and to an average of each one's squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from .groups import Check, Group, extended, rate
from .optimizer import Hyperparameters, Optimizer, Rate


class RMSprop(Optimizer):
    """RMSprop (Hinton's lecture 6e of 2012): p = p - lr * g / (sqrt(v) + eps) with v = alpha * v + (1 - alpha) * g * g.

    With centered the variance of the gradient stands in the place of v (Graves 2013); with momentum the steps are summed as
    b = momentum * b + step. weight_decay * p is added to g; maximize steps uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.RMSprop([p], lr=0.5, alpha=0.0)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "alpha": as_nonnegative,
        "eps": as_nonnegative,
        "weight_decay": as_nonnegative,
        "momentum": as_nonnegative,
        "centered": as_bool,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"momentum": momentum, "centered": centered, "maximize": maximize}
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, **options})

    def state_names(self, group: Group) -> tuple[str, ...]:
        names = {"square_avg": True, "momentum_buffer": group["momentum"], "grad_avg": group["centered"]}
        return tuple(name for name, kept in names.items() if kept)

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        hyper = {"lr": group["lr"], "alpha": group["alpha"], "1 - alpha": 1.0 - group["alpha"], "eps": group["eps"]}
        if group["momentum"]:
            hyper["momentum"] = group["momentum"]
        if group["centered"]:
            hyper["centered"] = True
        return extended(hyper, group)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        new = {"square_avg": hyper["alpha"] * state["square_avg"] + hyper["1 - alpha"] * (grad * grad)}
        variance = new["square_avg"]
        if "centered" in hyper:
            new["grad_avg"] = state["grad_avg"] + hyper["1 - alpha"] * (grad - state["grad_avg"])
            variance = ops.maximum(variance - new["grad_avg"] * new["grad_avg"], 0.0)  # rounded, it may be less
        step = grad / (variance.sqrt() + hyper["eps"])
        if "momentum" in hyper:
            step = new["momentum_buffer"] = hyper["momentum"] * state["momentum_buffer"] + step
        p.assign(p - hyper["lr"] * step)
        for name, value in new.items():
            state[name].assign(value)
