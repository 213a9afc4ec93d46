"""What several functions share. In: their arguments. Out: those, checked; and losses reduced to what was asked for."""

from __future__ import annotations

from ... import errors
from ...frontend.arguments import as_choice
from ...frontend.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


def indices(x: Tensor, name: str) -> Tensor:
    """x as int64. Raises DTypeError for what is no integer."""
    if not x.dtype.is_int:
        raise errors.DTypeError(f"{name}: expected integer indices, got {x.dtype.name}")
    return x.long()


def numbers(name: str, x: Tensor) -> Tensor:
    """x itself. Raises DTypeError where it holds truth values."""
    if x.dtype.kind == "b":
        raise errors.DTypeError(f"{name}: x holds numbers, not {x.dtype.name}")
    return x


def same_shapes(name: str, x: Tensor, target: Tensor) -> None:
    """Raises ShapeError where they differ, and DTypeError where x holds no numbers."""
    numbers(name, x)
    if x.shape != target.shape:
        raise errors.ShapeError(f"{name}: x has shape {x.shape} but target has shape {target.shape}; they must be equal")


def reduced(name: str, x: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of all elements, or each of them. Raises ArgumentError for another reduction."""
    match as_choice(name, "reduction", reduction, REDUCTIONS):
        case "mean":
            return x.mean()
        case "sum":
            return x.sum()
    return x


def weighted(x: Tensor, weight: Tensor | None) -> Tensor:
    """x times the weight, if there is one."""
    return x if weight is None else x * weight
