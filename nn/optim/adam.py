"""Adam. In: parameters with gradients. Out: new values assigned to them and to two averages of each."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

from ... import errors
from ...frontend.arguments import as_double, as_sequence, shown
from ...frontend.tensor import Tensor
from .optimizer import Hyperparameters, Optimizer, Rate


class Adam(Optimizer):
    """Adam with bias correction (Kingma and Ba 2015); weight decay is added to the gradient, as in torch.optim.Adam."""

    state_names = ("mean", "square")

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: Rate = 1e-3,
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

    def hyperparameters(self, step: int) -> dict[str, Rate]:
        beta1, beta2 = self.betas
        correction = sqrt(1.0 - beta2**step)  # numerator and denominator are multiplied by it
        factor = correction / (1.0 - beta1**step)
        found: dict[str, Rate] = {"1 - beta1": 1.0 - beta1, "1 - beta2": 1.0 - beta2, "eps": self.eps * correction}
        found |= {"lr": self.lr, "factor": factor} if isinstance(self.lr, Tensor) else {"rate": self.lr * factor}
        return found | {"weight_decay": self.weight_decay} if self.weight_decay else found

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        if "weight_decay" in hyper:
            grad = grad + hyper["weight_decay"] * p
        rate = hyper["rate"] if "rate" in hyper else hyper["lr"] * hyper["factor"]
        mean = state["mean"] + hyper["1 - beta1"] * (grad - state["mean"])
        square = state["square"] + hyper["1 - beta2"] * (grad * grad - state["square"])
        p.assign(p - rate * mean / (square.sqrt() + hyper["eps"]))
        state["mean"].assign(mean)
        state["square"].assign(square)
