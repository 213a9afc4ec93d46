"""Weights with some elements held at 0. In: a layer, the name of a weight, how much of it. Out: the
layer, with a mask.

As in torch a weight becomes `weight_orig`, which is learned, times the Buffer `weight_mask`.
Pruning again takes from what is left, amounts being parts of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import no_grad
from ...frontend.operands.arguments import as_double, as_int, normalise_axis
from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.parameters_elsewhere import naming
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..derived import derive, recipe_of, settle
from ..module import Buffer, Module
from .parametrize import tensor_of

__all__ = [
    "custom_from_mask",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]

Amount = int | float


@dataclass(frozen=True)
class Masked:
    """The recipe of a pruned weight."""

    name: str

    def __call__(self, module: Module) -> Tensor:
        parts = vars(module)
        return parts[f"{self.name}_orig"] * parts[f"{self.name}_mask"]  # type: ignore[no-any-return]


# ---------------------------------------------------------------- single elements


@no_grad()
def l1_unstructured(
    module: Module, name: str, amount: Amount, importance_scores: Any = None
) -> Module:
    """Holds the elements of least absolute value at 0: a part of those left (a float of 0 to 1), or
    so many (an int).

    importance_scores, of the weight's shape, take its place: those of least absolute value are held
    at 0. Returns the module. Raises ArgumentError, DTypeError, ShapeError.

    >>> layer = nn.Linear(4, 1)
    >>> layer.weight = nn.Parameter([[3.0, -1.0, 2.0, -4.0]])
    >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight.tolist()
    [[3.0, -0.0, 0.0, -4.0]]
    """
    mask = _mask("l1_unstructured", module, name)
    scores = _scores("l1_unstructured", module, name, importance_scores).abs()
    return _masked(module, name, _without_least("l1_unstructured", scores, mask, amount))


@no_grad()
def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Holds elements chosen at random at 0: a part of those left (a float of 0 to 1), or so many
    (an int). Returns the module.

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(5, 2), "weight", amount=3)
    >>> layer.weight_mask.sum().item()
    7.0
    """
    mask = _mask("random_unstructured", module, name)
    return _masked(
        module, name, _without_least("random_unstructured", ops.rand(*mask.shape), mask, amount)
    )


# ---------------------------------------------------------------- whole rows


@naming
@no_grad()
def ln_structured(
    module: Module, name: str, amount: Amount, n: float, axis: int, importance_scores: Any = None
) -> Module:
    """Holds whole indices of an axis at 0, those whose elements have the least norm of order n.
    Returns the module.

    amount: a part of the indices that have any element left, or so many.

    >>> layer = nn.Linear(2, 3)
    >>> layer.weight = nn.Parameter([[3.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, axis=0).weight_mask.tolist()
    [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    mask = _mask("ln_structured", module, name)
    scores = _scores("ln_structured", module, name, importance_scores)
    place = normalise_axis("ln_structured", axis, mask.ndim)
    norms = (scores * mask).norm(
        as_double("ln_structured", "n", n), [a for a in range(mask.ndim) if a != place]
    )
    return _masked(module, name, _without_rows("ln_structured", norms, mask, amount, place))


@naming
@no_grad()
def random_structured(module: Module, name: str, amount: Amount, axis: int) -> Module:
    """Holds whole indices of an axis, chosen at random, at 0. amount as for ln_structured. Returns
    the module.

    >>> layer = nn.utils.prune.random_structured(nn.Linear(5, 4), "weight", amount=0.5, axis=0)
    >>> sorted(layer.weight_mask.sum(axis=1).tolist())
    [0.0, 0.0, 5.0, 5.0]
    """
    mask = _mask("random_structured", module, name)
    place = normalise_axis("random_structured", axis, mask.ndim)
    return _masked(
        module,
        name,
        _without_rows("random_structured", ops.rand(mask.shape[place]), mask, amount, place),
    )


# ---------------------------------------------------------------- masks


@no_grad()
def custom_from_mask(module: Module, name: str, mask: Any) -> Module:
    """Holds the elements at 0 where the mask, of the weight's shape, is 0. Returns the module.

    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "bias", mask=[0])
    >>> layer.bias.tolist(), [*layer.state_dict()]
    ([0.0], ['weight', 'bias_orig', 'bias_mask'])
    """
    old, new = _mask("custom_from_mask", module, name), as_tensor("custom_from_mask", "mask", mask)
    if new.shape != old.shape:
        raise errors.ShapeError(
            f"custom_from_mask: the mask must have shape {old.shape}, not {new.shape}"
        )
    return _masked(module, name, old * (new != 0))


@no_grad()
def identity(module: Module, name: str) -> Module:
    """A mask that holds nothing at 0, so that the names of the state are those of a pruned weight.
    Returns the module.

    >>> [*nn.utils.prune.identity(nn.Linear(2, 1, bias=False), "weight").state_dict()]
    ['weight_orig', 'weight_mask']
    """
    return _masked(module, name, _mask("identity", module, name))


@no_grad()
def remove(module: Module, name: str) -> Module:
    """Makes the weight, with its zeros, a plain one again, which is learned everywhere. Returns the
    module.

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(5, 2), "weight", amount=3)
    >>> [*nn.utils.prune.remove(layer, "weight").state_dict()], (layer.weight == 0).sum().item()
    (['bias', 'weight'], 3)
    """
    if not isinstance(module, Module) or not isinstance(recipe_of(module, name), Masked):
        raise errors.ArgumentError(
            f"remove: {type(module).__name__} has no pruned weight {brief(name)}"
        )
    original = vars(module)[f"{name}_orig"]
    value = getattr(module, name)
    delattr(module, f"{name}_orig")
    delattr(module, f"{name}_mask")
    settle(module, name, original.assign(value))
    return module


def is_pruned(module: Module) -> bool:
    """True if the Module, or one below it, has a pruned weight.

    >>> nn.utils.prune.is_pruned(nn.Sequential(nn.utils.prune.identity(nn.Linear(2, 1), "weight")))
    True
    """
    if not isinstance(module, Module):
        raise errors.DTypeError(f"is_pruned: module must be a Module, not {brief(module)}")
    return any(
        isinstance(recipe_of(m, name.removesuffix("_mask")), Masked)
        for m in module.modules()
        for name in vars(m)
    )


def _mask(name: str, module: Any, tensor_name: str) -> Tensor:
    """The mask that a weight has, or ones."""
    if isinstance(module, Module) and isinstance(recipe_of(module, tensor_name), Masked):
        return vars(module)[f"{tensor_name}_mask"]  # type: ignore[no-any-return]
    return ops.ones_like(tensor_of(name, module, tensor_name))  # type: ignore[no-any-return]


def _scores(name: str, module: Module, tensor_name: str, importance: Any) -> Tensor:
    weight: Tensor = getattr(module, tensor_name)
    if importance is None:
        return weight.detach()
    scores = as_tensor(name, "importance_scores", importance)
    if scores.shape != weight.shape:
        raise errors.ShapeError(
            f"{name}: importance_scores must have shape {weight.shape}, not {scores.shape}"
        )
    return scores


def _masked(module: Module, name: str, mask: Tensor) -> Module:
    """The module with this mask; a first one takes the weight apart."""
    if not isinstance(recipe_of(module, name), Masked):
        original = derive(module, name, Masked(name))
        setattr(module, f"{name}_orig", original)
    setattr(module, f"{name}_mask", Buffer(mask.to(dtype=vars(module)[f"{name}_orig"].dtype)))
    return module


def _without_least(name: str, scores: Tensor, mask: Tensor, amount: Amount) -> Tensor:
    """The mask without the elements of least score among those that it has."""
    kept = mask.flatten(0) != 0
    count = _count(name, amount, int(kept.sum().item()))
    order = ops.where(kept, scores.reshape(-1), float("inf")).argsort()
    return mask * (order.argsort() >= count).reshape(mask.shape)


def _without_rows(name: str, scores: Tensor, mask: Tensor, amount: Amount, axis: int) -> Tensor:
    others = [a for a in range(mask.ndim) if a != axis]
    kept = _without_least(name, scores, (mask != 0).any(axis=others).astype(mask.dtype), amount)
    return mask * kept.reshape([-1 if a == axis else 1 for a in range(mask.ndim)])


def _count(name: str, amount: Any, left: int) -> int:
    """How many of those left: an int itself, a float as a part of them."""
    if isinstance(amount, float):
        if not 0.0 <= amount <= 1.0:
            raise errors.ArgumentError(
                f"{name}: amount must be a fraction from 0 to 1, or a whole number, not"
                f" {brief(amount)}"
            )
        return round(amount * left)
    count = as_int(name, "amount", amount)
    if not 0 <= count <= left:
        raise errors.ArgumentError(
            f"{name}: amount={count} is not one of the numbers 0 to {left} of what is left"
        )
    return count
