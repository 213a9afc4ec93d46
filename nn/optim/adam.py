"""Adam and its variants. In: parameters with gradients. Out: new values assigned to them and to two
averages of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, ClassVar

from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from .groups import Check, Group, betas, decayed, decoupled, extended, rate, rate_in, scaled_rate
from .optimizer import Hyperparameters, Optimizer, Rate

CHECKS: Mapping[str, Check] = {
    "lr": rate,
    "betas": betas,
    "eps": as_nonnegative,
    "weight_decay": as_nonnegative,
}


class Adam(Optimizer):
    """Adam with bias correction (Kingma and Ba 2015): p = p - lr * m / (sqrt(v) + eps), m and v
    averages of g and g * g.

    weight_decay * p is added to the gradient; amsgrad divides by the largest v so far (Reddi et al.
    2018); maximize steps uphill. params: parameters, (name, parameter) pairs, or groups like
    {"params": [..], "lr": 0.1}. The betas are in [0, 1).

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
        return (
            ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
            if group["amsgrad"]
            else ("exp_avg", "exp_avg_sq")
        )

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        correction = sqrt(1.0 - beta2**step)  # numerator and denominator are multiplied by it
        factor = correction / (1.0 - beta1**step)
        hyper = {
            "1 - beta1": 1.0 - beta1,
            "1 - beta2": 1.0 - beta2,
            "eps": group["eps"] * correction,
        }
        hyper |= scaled_rate(group["lr"], factor)
        if group["amsgrad"]:
            hyper["amsgrad"] = True
        return extended(hyper, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        mean, square = averages(grad, state, hyper)
        largest = ops.maximum(state["max_exp_avg_sq"], square) if "amsgrad" in hyper else square
        p.assign(decayed(p, hyper) - rate_in(hyper) * mean / (largest.sqrt() + hyper["eps"]))
        state["exp_avg"].assign(mean)
        state["exp_avg_sq"].assign(square)
        if "amsgrad" in hyper:
            state["max_exp_avg_sq"].assign(largest)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019): p = p - lr * weight_decay * p,
    then Adam's step.

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


def averages(
    grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
) -> tuple[Tensor, Tensor]:
    """The next averages of the gradient and of its square."""
    mean = state["exp_avg"] + hyper["1 - beta1"] * (grad - state["exp_avg"])
    return mean, state["exp_avg_sq"] + hyper["1 - beta2"] * (grad * grad - state["exp_avg_sq"])


class Adamax(Optimizer):
    """Adam by the greatest gradient (Kingma and Ba 2015): p = p - lr * m / u with u = max(beta2 *
    u, |g| + eps).

    m is the average of the gradients, corrected as in Adam. weight_decay * p is added to g;
    maximize steps uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.Adamax([p], lr=0.5)
    >>> (p * p).sum().backward(); optimizer.step(); p.numpy().round(6).tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {**CHECKS, "maximize": as_bool}

    def __init__(
        self,
        params: Any,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        hyper = {"1 - beta1": 1.0 - beta1, "beta2": beta2, "eps": group["eps"]}
        return extended(hyper | scaled_rate(group["lr"], 1.0 / (1.0 - beta1**step)), group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        mean = state["exp_avg"] + hyper["1 - beta1"] * (grad - state["exp_avg"])
        largest = ops.maximum(hyper["beta2"] * state["exp_inf"], grad.abs() + hyper["eps"])
        p.assign(p - rate_in(hyper) * mean / largest)
        state["exp_avg"].assign(mean)
        state["exp_inf"].assign(largest)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat 2016): p = p - lr * (a * g + b * m) / (sqrt(v) + eps), v
    corrected as in Adam.

    a = (1 - mu) / (1 - M) and b = mu' / (1 - M * mu'), with mu = beta1 * (1 - 0.96**(step *
    momentum_decay) / 2), mu' that of the next step, and M the product of all mu so far.
    weight_decay * p is added to g, or with decoupled_weight_decay taken from p as in AdamW;
    maximize steps uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.NAdam([p], lr=0.5, betas=(0.0, 0.0))
    >>> (p * p).sum().backward(); optimizer.step(); p.numpy().round(6).tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        **CHECKS,
        "momentum_decay": as_nonnegative,
        "decoupled_weight_decay": as_bool,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        decay = {"weight_decay": weight_decay, "momentum_decay": momentum_decay}
        options = {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize}
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, **decay, **options})

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("mu_product", "exp_avg", "exp_avg_sq")

    def state_shape(self, what: str, p: Tensor) -> tuple[int, ...]:
        return () if what == "mu_product" else p.shape

    def initial(self, what: str, group: Group) -> float:
        return 1.0 if what == "mu_product" else 0.0

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        mu, after = (
            beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)
        )
        correction = sqrt(1.0 - beta2**step)  # numerator and denominator are multiplied by it
        hyper = {
            "mu": mu,
            "next mu": after,
            "eps": group["eps"] * correction,
            **scaled_rate(group["lr"], correction),
        }
        return _with_decay(hyper, group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        mean, square = averages(grad, state, hyper)
        product, lr = state["mu_product"] * hyper["mu"], rate_in(hyper)
        of_grad, of_mean = (
            (1.0 - hyper["mu"]) / (1.0 - product),
            hyper["next mu"] / (1.0 - product * hyper["next mu"]),
        )
        step = lr * (of_grad * grad + of_mean * mean) / (square.sqrt() + hyper["eps"])
        p.assign(decayed(p, hyper) - step)
        state["mu_product"].assign(product)
        state["exp_avg"].assign(mean)
        state["exp_avg_sq"].assign(square)


class RAdam(Optimizer):
    """Adam that does without v while too few steps fix its variance (Liu et al. 2020): p = p - lr *
    r * m / (sqrt(v) + eps).

    m and v are corrected as in Adam. r is the rectification of the paper; in the first steps, five
    with the usual betas, p = p - lr * m. weight_decay * p is added to g, or with
    decoupled_weight_decay taken from p as in AdamW; maximize steps uphill. params as for Adam.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = nn.optim.RAdam([p], lr=0.25)
    >>> (p * p).sum().backward(); optimizer.step(); p.numpy().round(6).tolist()
    [0.5, 1.0]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        **CHECKS,
        "decoupled_weight_decay": as_bool,
        "maximize": as_bool,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, **options})

    def state_names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        rectified = _rectification(beta2, step)
        hyper = {"eps": group["eps"], "rectified": rectified, "plain": float(not rectified)}
        return _with_decay(hyper | scaled_rate(group["lr"], 1.0 / (1.0 - beta1**step)), group)

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        mean, square = averages(grad, state, hyper)
        by_variance = hyper["rectified"] / (square.sqrt() + hyper["eps"])
        p.assign(
            decayed(p, hyper)
            - rate_in(hyper) * mean * ops.where(hyper["plain"] > 0.0, hyper["plain"], by_variance)
        )
        state["exp_avg"].assign(mean)
        state["exp_avg_sq"].assign(square)


def _with_decay(hyper: dict[str, Any], group: Group) -> dict[str, Any]:
    """The hyperparameters with those that both have; weight decay is added to the gradient or
    not."""
    beta1, beta2 = group["betas"]
    hyper = extended({"1 - beta1": 1.0 - beta1, "1 - beta2": 1.0 - beta2, **hyper}, group)
    return decoupled(hyper, group["lr"]) if group["decoupled_weight_decay"] else hyper


def _rectification(beta2: float, step: int) -> float:
    """The factor r, with the correction of v in it; 0 for a step in which v does not count."""
    correction, limit = 1.0 - beta2**step, 2.0 / (1.0 - beta2) - 1.0
    length = limit - 2.0 * step * beta2**step / correction  # of a simple average that is as certain
    if length <= 5.0:
        return 0.0
    return sqrt(
        correction
        * (length - 4.0)
        * (length - 2.0)
        * limit
        / ((limit - 4.0) * (limit - 2.0) * length)
    )
