"""Rprop. In: parameters with gradients. Out: new values assigned to them, to their step sizes and to the gradients before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import shown
from .groups import Check, Group, extended, rate
from .optimizer import Hyperparameters, Optimizer, Rate


def _etas(name: str, what: str, value: Any) -> tuple[float, float]:
    low, high = _two(name, what, value)
    if not 0.0 < low < 1.0 < high:
        raise errors.ArgumentError(f"{name}: {what} must be a factor below 1 and one above it, not {shown(value)}")
    return low, high


def _limits(name: str, what: str, value: Any) -> tuple[float, float]:
    low, high = _two(name, what, value)
    if not 0.0 <= low <= high:
        raise errors.ArgumentError(f"{name}: {what} must be the least and the greatest size, not {shown(value)}")
    return low, high


def _two(name: str, what: str, value: Any) -> tuple[float, float]:
    pair = [as_double(name, f"each of {what}", v) for v in as_sequence(name, what, value)]
    if len(pair) != 2:
        raise errors.ArgumentError(f"{name}: {what} must be two numbers, not {shown(value)}")
    return pair[0], pair[1]


class Rprop(Optimizer):
    """Rprop (Riedmiller and Braun 1993): p = p - sign(g) * size, with a size for each element, which begins as lr.

    Where the gradient keeps its sign the size grows by etas[1]; where it changes it shrinks by etas[0], and the element waits
    for a step. step_sizes: the least and the greatest size. For gradients of all data, as signs of small batches change by
    chance. maximize steps uphill; params as for Adam.

    >>> p = nn.Parameter([1.0, -2.0])
    >>> optimizer = nn.optim.Rprop([p], lr=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, -1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {"lr": rate, "etas": _etas, "step_sizes": _limits, "maximize": as_bool}

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("prev", "step_size")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        sizes = {"shrink": shrink, "grow": grow, "least": least, "most": most}
        return extended({"lr": group["lr"], "first": float(step == 1), **sizes}, group)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        before, turned = ops.where(hyper["first"] > 0.0, hyper["lr"], state["step_size"]), grad * state["prev"]
        factor = ops.where(turned > 0.0, hyper["grow"], ops.where(turned < 0.0, hyper["shrink"], 1.0))
        size = ops.minimum(ops.maximum(before * factor, hyper["least"]), hyper["most"])
        counted = ops.where(turned < 0.0, 0.0, grad)
        p.assign(p - counted.sign() * size)
        state["prev"].assign(counted)
        state["step_size"].assign(size)
