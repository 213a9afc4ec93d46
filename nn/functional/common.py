"""Parts of several functions. In: functions, arguments, losses. Out: decorated, checked,
reduced."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ... import errors
from ...frontend.operands import in_float32 as half
from ...frontend.operands.arguments import as_choice
from ...frontend.operands.autocast import runs_in_float32
from ...frontend.operands.broadcast import broadcast_shape
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R", bound=Tensor)
REDUCTIONS = ("mean", "sum", "none")


# Decorators of functions of Tensors, from the outside in: of_tensors, since the others look at
# dtypes, which only Tensors have; autocast's choice, which is made once for what the user calls;
# then in_float32, for operands that are 16-bit floats after that.


def in_float32(function: Callable[P, R]) -> Callable[P, R]:
    """Of Tensors or what makes them; 16-bit floats are widened, and the result rounded once."""
    return of_tensors(half.in_float32(function))


def in_float32_at_least(function: Callable[P, R]) -> Callable[P, R]:
    """The same, but inside nn.autocast the result of 16-bit floats is float32, and not rounded."""
    return of_tensors(runs_in_float32(half.in_float32(function)))


def indices(x: Tensor, name: str) -> Tensor:
    """x as int64. Raises DTypeError for anything but integers."""
    if not x.dtype.is_int:
        raise errors.DTypeError(f"{name}: expected integer indices, got {x.dtype.name}")
    return x.long()


def numbers(name: str, x: Tensor, what: str = "x") -> Tensor:
    """x itself. Raises DTypeError where it holds truth values."""
    if x.dtype.kind == "b":
        raise errors.DTypeError(f"{name}: {what} holds numbers, not {x.dtype.name}")
    return x


def same_shapes(
    name: str, x: Tensor, target: Tensor, first: str = "x", second: str = "target"
) -> None:
    """Raises ShapeError where they differ, and DTypeError where x holds no numbers."""
    numbers(name, x, first)
    if x.shape != target.shape:
        shapes = f"{first} has shape {x.shape} but {second} has shape {target.shape}"
        raise errors.ShapeError(f"{name}: {shapes}; they must be equal")


def reduced(name: str, x: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of all elements, or each of them. Raises ArgumentError for another
    reduction."""
    match as_choice(name, "reduction", reduction, REDUCTIONS):
        case "mean":
            return x.mean()
        case "sum":
            return x.sum()
    return x


def weighted(x: Tensor, weight: Tensor | None) -> Tensor:
    """x times the weight, if there is one."""
    return x if weight is None else x * weight


def broadcast_weighted(name: str, x: Tensor, weight: Tensor | None) -> Tensor:
    """x times the weight, if there is one. Raises ShapeError where it does not broadcast to x."""
    if (
        weight is not None
        and broadcast_shape(f"{name}: weight", [x.shape, weight.shape]) != x.shape
    ):
        raise errors.ShapeError(
            f"{name}: a weight of shape {weight.shape} does not broadcast to x of shape {x.shape}"
        )
    return weighted(x, weight)
