"""Adam and AdamW. In: parameters with gradients. Out: new values assigned to them and to two averages of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, ClassVar

from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from .groups import Check, Group, betas, decayed, decoupled, extended, rate, rate_in, scaled_rate
from .optimizer import Hyperparameters, Optimizer, Rate

CHECKS: Mapping[str, Check] = {"lr": rate, "betas": betas, "eps": as_nonnegative, "weight_decay": as_nonnegative}


class Adam(Optimizer):
    """Adam with bias correction (Kingma and Ba 2015): p = p - lr * m / (sqrt(v) + eps), m and v averages of g and g * g.

    weight_decay * p is added to the gradient; amsgrad divides by the largest v so far (Reddi et al. 2018); maximize steps
    uphill. params: parameters, (name, parameter) pairs, or groups like {"params": [..], "lr": 0.1}. The betas are in [0, 1).

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.Adam([p], lr=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {**CHECKS, "amsgrad": as_bool, "maximize": as_bool}

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize}
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, **options})

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        correction = sqrt(1.0 - beta2**step)  # numerator and denominator are multiplied by it
        factor = correction / (1.0 - beta1**step)
        hyper = {"1 - beta1": 1.0 - beta1, "1 - beta2": 1.0 - beta2, "eps": group["eps"] * correction}
        hyper |= scaled_rate(group["lr"], factor)
        if group["amsgrad"]:
            hyper["amsgrad"] = True
        return extended(hyper, group)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        mean, square = averages(grad, state, hyper)
        largest = ops.maximum(state["max_exp_avg_sq"], square) if "amsgrad" in hyper else square
        p.assign(decayed(p, hyper) - rate_in(hyper) * mean / (largest.sqrt() + hyper["eps"]))
        state["exp_avg"].assign(mean)
        state["exp_avg_sq"].assign(square)
        if "amsgrad" in hyper:
            state["max_exp_avg_sq"].assign(largest)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019): p = p - lr * weight_decay * p, then Adam's step.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.AdamW([p], lr=0.5, weight_decay=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.25, 1.0]
    """

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        return decoupled(super().hyperparameters(group, step), group["lr"])


def averages(grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> tuple[Tensor, Tensor]:
    """The next averages of the gradient and of its square."""
    mean = state["exp_avg"] + hyper["1 - beta1"] * (grad - state["exp_avg"])
    return mean, state["exp_avg_sq"] + hyper["1 - beta2"] * (grad * grad - state["exp_avg_sq"])
