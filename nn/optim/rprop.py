"""Rprop and RMSprop. In: parameters with gradients. Out: new values assigned to them and to what
they keep of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double, as_nonnegative, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from .groups import Check, Group, extended, rate
from .optimizer import Hyperparameters, Optimizer, Rate


def _etas(name: str, what: str, value: Any) -> tuple[float, float]:
    low, high = _two(name, what, value)
    if not 0.0 < low < 1.0 < high:
        raise errors.ArgumentError(
            f"{name}: {what} must be a factor below 1 and one above it, not {brief(value)}"
        )
    return low, high


def _limits(name: str, what: str, value: Any) -> tuple[float, float]:
    low, high = _two(name, what, value)
    if not 0.0 <= low <= high:
        raise errors.ArgumentError(
            f"{name}: {what} must be the least and the greatest size, not {brief(value)}"
        )
    return low, high


def _two(name: str, what: str, value: Any) -> tuple[float, float]:
    pair = [as_double(name, f"each of {what}", v) for v in as_sequence(name, what, value)]
    if len(pair) != 2:
        raise errors.ArgumentError(f"{name}: {what} must be two numbers, not {brief(value)}")
    return pair[0], pair[1]


class Rprop(Optimizer):
    """Rprop (Riedmiller and Braun 1993): p = p - sign(g) * size, with a size for each element,
    which begins as lr.

    Where the gradient keeps its sign the size grows by etas[1]; where it changes it shrinks by
    etas[0], and the element waits for a step. step_sizes: the least and the greatest size. For
    gradients of all data, as signs of small batches change by chance. maximize steps uphill; params
    as for Adam.

    >>> p = nn.Parameter([1.0, -2.0])
    >>> optimizer = nn.optim.Rprop([p], lr=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, -1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "etas": _etas,
        "step_sizes": _limits,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        )

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("prev", "step_size")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        sizes = {"shrink": shrink, "grow": grow, "least": least, "most": most}
        return extended({"lr": group["lr"], "first": float(step == 1), **sizes}, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        before, turned = (
            ops.where(hyper["first"] > 0.0, hyper["lr"], state["step_size"]),
            grad * state["prev"],
        )
        factor = ops.where(
            turned > 0.0, hyper["grow"], ops.where(turned < 0.0, hyper["shrink"], 1.0)
        )
        size = ops.minimum(ops.maximum(before * factor, hyper["least"]), hyper["most"])
        counted = ops.where(turned < 0.0, 0.0, grad)
        p.assign(p - counted.sign() * size)
        state["prev"].assign(counted)
        state["step_size"].assign(size)


class RMSprop(Optimizer):
    """RMSprop (Hinton's lecture 6e of 2012): p = p - lr * g / (sqrt(v) + eps) with v = alpha * v +
    (1 - alpha) * g * g.

    With centered the variance of the gradient stands in the place of v (Graves 2013); with momentum
    the steps are summed as b = momentum * b + step. weight_decay * p is added to g; maximize steps
    uphill. params as for Adam.

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
        super().__init__(
            params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, **options}
        )

    def state_names(self, group: Group) -> tuple[str, ...]:
        names = {
            "square_avg": True,
            "momentum_buffer": group["momentum"],
            "grad_avg": group["centered"],
        }
        return tuple(name for name, kept in names.items() if kept)

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        hyper = {
            "lr": group["lr"],
            "alpha": group["alpha"],
            "1 - alpha": 1.0 - group["alpha"],
            "eps": group["eps"],
        }
        if group["momentum"]:
            hyper["momentum"] = group["momentum"]
        if group["centered"]:
            hyper["centered"] = True
        return extended(hyper, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        new = {
            "square_avg": hyper["alpha"] * state["square_avg"] + hyper["1 - alpha"] * (grad * grad)
        }
        variance = new["square_avg"]
        if "centered" in hyper:
            new["grad_avg"] = state["grad_avg"] + hyper["1 - alpha"] * (grad - state["grad_avg"])
            # rounded, it may be less
            variance = ops.maximum(variance - new["grad_avg"] * new["grad_avg"], 0.0)
        step = grad / (variance.sqrt() + hyper["eps"])
        if "momentum" in hyper:
            step = new["momentum_buffer"] = hyper["momentum"] * state["momentum_buffer"] + step
        p.assign(p - hyper["lr"] * step)
        for name, value in new.items():
            state[name].assign(value)
