"""Adagrad and Adadelta. In: parameters with gradients. Out: new values assigned to them and to what
they keep of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...frontend.operands.arguments import as_bool, as_fraction, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from .groups import Check, Group, extended, rate
from .optimizer import Hyperparameters, Optimizer, Rate


class Adagrad(Optimizer):
    """Adagrad (Duchi et al. 2011): p = p - lr * g / (sqrt(s) + eps), s the sum of all g * g and
    initial_accumulator_value.

    The rate of step n is lr / (1 + (n - 1) * lr_decay). weight_decay * p is added to g; maximize
    steps uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.Adagrad([p], lr=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "lr_decay": as_nonnegative,
        "weight_decay": as_nonnegative,
        "initial_accumulator_value": as_nonnegative,
        "eps": as_nonnegative,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"weight_decay": weight_decay, "eps": eps, "maximize": maximize}
        first = {"initial_accumulator_value": initial_accumulator_value}
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, **first, **options})

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("sum",)

    def initial(self, what: str, group: Group) -> float:
        return group["initial_accumulator_value"]  # type: ignore[no-any-return]

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        lr, slower = group["lr"], 1.0 + (step - 1) * group["lr_decay"]
        slowed = {"lr": lr, "slower": slower} if isinstance(lr, Tensor) else {"rate": lr / slower}
        return extended(slowed | {"eps": group["eps"]}, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        rate = hyper["rate"] if "rate" in hyper else hyper["lr"] / hyper["slower"]
        total = state["sum"] + grad * grad
        p.assign(p - rate * grad / (total.sqrt() + hyper["eps"]))
        state["sum"].assign(total)


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012): p = p - lr * d with d = sqrt(a + eps) / sqrt(v + eps) * g, v and a
    averages of g * g and d * d.

    Averages keep the part rho of their old value. weight_decay * p is added to g; maximize steps
    uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.Adadelta([p], lr=0.5, eps=1.0, rho=1.0)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.0, 0.0]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "rho": as_fraction,
        "eps": as_nonnegative,
        "weight_decay": as_nonnegative,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
        )

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        rho = group["rho"]
        return extended(
            {"lr": group["lr"], "rho": rho, "1 - rho": 1.0 - rho, "eps": group["eps"]}, group
        )

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        square = hyper["rho"] * state["square_avg"] + hyper["1 - rho"] * (grad * grad)
        delta = (state["acc_delta"] + hyper["eps"]).sqrt() / (square + hyper["eps"]).sqrt() * grad
        p.assign(p - hyper["lr"] * delta)
        state["acc_delta"].assign(
            hyper["rho"] * state["acc_delta"] + hyper["1 - rho"] * (delta * delta)
        )
        state["square_avg"].assign(square)
