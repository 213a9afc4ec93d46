"""Parameter groups. In: what users pass as `params`, and hyperparameters. Out: dicts of both,
checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import errors
from ...frontend.lazy.live_number import plain
from ...frontend.operands.arguments import as_double, as_nonnegative, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..parameter import Parameter
from ..tree import Tree

Group = dict[str, Any]  # "params", and each hyperparameter by its name
# (the caller, the name of a hyperparameter, its value) -> the value as a group holds it
Check = Callable[[str, str, Any], Any]


# ---------------------------------------------------------------- hyperparameters


def rate(name: str, what: str, value: Any) -> float | Tensor:
    """A float of at least 0, or a 0-d Tensor of floats, which is read anew at every step."""
    if not isinstance(value, Tensor):
        return as_nonnegative(name, what, plain(value))
    if value.shape or not value.dtype.is_float:
        raise errors.ArgumentError(
            f"{name}: {what} must be a number or a 0-d Tensor of floats, not {brief(value)}"
        )
    return value


def betas(name: str, what: str, value: Any) -> tuple[float, float]:
    """Two floats in [0, 1)."""
    pair = [as_double(name, f"each of {what}", b) for b in as_sequence(name, what, value)]
    if len(pair) != 2 or not all(0.0 <= b < 1.0 for b in pair):
        raise errors.ArgumentError(
            f"{name}: {what} must be two numbers in [0, 1), not {brief(value)}"
        )
    return pair[0], pair[1]


def checked(name: str, group: Mapping[str, Any], checks: Mapping[str, Check]) -> Group:
    """A copy of the group with its hyperparameters as they should be. Raises for the first that is
    not allowed."""
    if not isinstance(group, Mapping):
        raise errors.DTypeError(f"{name}: hyperparameters must be a dict, not {brief(group)}")
    missing = [what for what in checks if what not in group]
    if missing:
        raise errors.ArgumentError(f"{name}: a group has no {', '.join(missing)}")
    return {
        **group,
        **{what: check(name, what, plain(group[what])) for what, check in checks.items()},
    }


def put(group: Group, what: str, value: Any) -> None:
    """Sets a hyperparameter; one that is a Tensor stays that Tensor, one that is a number a
    number."""
    own = group.get(what)
    if isinstance(own, Tensor):
        own.assign(value)
    else:
        group[what] = value.item() if isinstance(value, Tensor) else value


def extended(hyper: dict[str, Any], group: Group) -> dict[str, Any]:
    """With what is applied to the gradient before `update`, by the names that `hyperparameters`
    gives it."""
    if group.get("weight_decay"):
        hyper["weight_decay"] = group["weight_decay"]
    if group.get("maximize"):
        hyper["maximize"] = True
    return hyper


def scaled_rate(lr: Any, factor: float) -> dict[str, Any]:
    """lr * factor as hyperparameters: one number, or both where lr is a Tensor."""
    return {"lr": lr, "factor": factor} if isinstance(lr, Tensor) else {"rate": lr * factor}


def rate_in(hyper: Mapping[str, Any]) -> Tensor:
    """What `scaled_rate` has put among the hyperparameters."""
    return hyper["rate"] if "rate" in hyper else hyper["lr"] * hyper["factor"]  # type: ignore[no-any-return]


def decoupled(hyper: dict[str, Any], lr: Any) -> dict[str, Any]:
    """With weight decay that is not added to the gradient, but shrinks the parameter by the part lr
    * weight_decay."""
    decay = hyper.pop("weight_decay", None)
    if decay is None:
        return hyper
    return hyper | (
        {"lr": lr, "decay": decay} if isinstance(lr, Tensor) else {"kept": 1.0 - lr * decay}
    )


def decayed(p: Tensor, hyper: Mapping[str, Any]) -> Tensor:
    """The parameter after decoupled weight decay, if there is any."""
    if "kept" in hyper:
        return p * hyper["kept"]  # type: ignore[no-any-return]
    return p * (1.0 - hyper["lr"] * hyper["decay"]) if "decay" in hyper else p  # type: ignore[no-any-return]


def described(group: Group) -> str:
    """How many parameters, and the hyperparameters."""
    count = len(group["params"])
    values = ", ".join(
        f"{name}={value!r}"
        for name, value in group.items()
        if name not in ("params", "param_names")
    )
    return f"{count} parameter{'s' * (count != 1)}: {values}"


# ---------------------------------------------------------------- parameters


def listed(name: str, params: Any) -> list[Group]:
    """The groups that `params` stands for: one, unless it holds dicts."""
    items = _items(name, params)
    if not items:
        raise errors.ArgumentError(
            f"{name}: there are no parameters; an iterator like model.parameters() is used only"
            " once"
        )
    if not any(isinstance(g, Mapping) for g in items):
        return [{"params": items}]
    for g in items:
        _check_group(name, g)
    return [dict(g) for g in items]


def with_parameters(name: str, group: Any, known: list[Tensor]) -> Group:
    """The group with a list of its parameters, and of their names where it has pairs of both. None
    may be known already."""
    _check_group(name, group)
    items = (
        [group["params"]] if isinstance(group["params"], Tensor) else _items(name, group["params"])
    )
    pairs = [p for p in items if isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str)]
    new: Group = {**group, "params": [p[1] for p in pairs] if pairs else items}
    if pairs:
        new["param_names"] = [p[0] for p in pairs]
    if len(new["params"]) != len(items):
        raise errors.ArgumentError(
            f"{name}: params are parameters, or pairs of a name and a parameter, not some of each"
        )
    seen = {*map(id, known)}
    for p in new["params"]:
        _check_parameter(name, p, seen)
    return new


def _items(name: str, params: Any) -> list[Any]:
    if isinstance(params, Tree):
        raise errors.DTypeError(
            f"{name}: params are the parameters() of a model, not the {type(params).__name__}"
            " itself"
        )
    if isinstance(
        params, (Tensor, str, set, frozenset, Mapping)
    ):  # the first two have other items, the others no order
        raise errors.DTypeError(
            f"{name}: params must be a sequence of parameters or of groups, not {brief(params)}"
        )
    return as_sequence(name, "params", params)


def _check_group(name: str, group: Any) -> None:
    if not isinstance(group, Mapping) or "params" not in group:
        raise errors.ArgumentError(
            f"{name}: a group must be a dict with its parameters under 'params', not {brief(group)}"
        )


def _check_parameter(name: str, p: Any, seen: set[int]) -> None:
    if not isinstance(p, Parameter) and not (isinstance(p, Tensor) and p.requires_grad):
        raise errors.ArgumentError(
            f"{name}: each must be a Parameter, or a Tensor that requires a gradient, not"
            f" {brief(p)}"
        )
    if not p.is_leaf:
        raise errors.ArgumentError(
            f"{name}: a parameter must be a leaf, not computed from others: {brief(p)}"
        )
    if id(p) in seen:
        raise errors.ArgumentError(f"{name}: a parameter occurs twice: {p.name or brief(p)}")
    seen.add(id(p))
