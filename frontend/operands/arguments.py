"""Arguments other than Tensors. In: axes, shapes, counts, numbers in any spelling. Out: plain ints
and floats, checked.

Every error names the function, the argument and what it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph.brief import MOST_BITS, brief
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape, addressable
from ..lazy.new_tensor import wrap

Axes = int | Sequence[int] | None
MOST_ITEMS = 1 << 24  # of a range


def as_int(name: str, what: str, value: object, kind: str = "must be an int") -> int:
    """An int from an int or anything with __index__ but a bool. Raises DTypeError: "name: what
    kind, not value"."""
    if type(value) is int:
        return _not_too_long(name, what, value)
    try:
        if isinstance(value, Node) and value.dtype.is_int:
            value = _value(value)
        if isinstance(value, bool):
            raise TypeError
        whole = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise errors.DTypeError(f"{name}: {what} {kind}, not {brief(value)}") from None
    except errors.ShapeError:  # of a Tensor
        raise errors.ShapeError(f"{name}: {what} must be one int, not {brief(value)}") from None
    return _not_too_long(name, what, whole)


def as_count(name: str, what: str, value: object, least: int = 0) -> int:
    """An int of at least `least`. Raises ArgumentError, DTypeError."""
    count = as_int(name, what, value)
    if count < least:
        raise errors.ArgumentError(f"{name}: {what} must be at least {least}, not {count}")
    return count


def _not_too_long(name: str, what: str, value: int) -> int:
    """The int itself. Raises OverflowError for one that no count, place or extent is near, and that
    text cannot show."""
    if value.bit_length() > MOST_BITS:
        raise errors.OverflowError(f"{name}: {what} is {brief(value)}, which is too large")
    return value


def _value(n: Node) -> object:
    """The number that a 0-d Node stands for, computed if need be."""
    return n.arg if n.op is Op.CONST else wrap(n).item()


def as_real(name: str, what: str, value: object) -> int | float:
    """An int or float from a Python or NumPy number or anything 0-d with item(). Raises DTypeError,
    ShapeError."""
    if hasattr(value, "item") and not isinstance(value, type):
        if prod(getattr(value, "shape", ())) != 1:
            raise errors.ShapeError(f"{name}: {what} must be one number, not {brief(value)}")
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value
    raise errors.DTypeError(f"{name}: {what} must be a real number, not {brief(value)}")


def as_number(name: str, what: str, value: object) -> int | float | complex:
    """The same, or a complex number from what has one."""
    if isinstance(value, complex) and not hasattr(value, "item"):
        return value
    is_complex = getattr(getattr(value, "dtype", None), "kind", "") == "c"
    if is_complex and prod(getattr(value, "shape", ())) == 1:
        return complex(value.item())  # type: ignore[attr-defined]
    return as_real(name, what, value)


def as_double(name: str, what: str, value: object) -> float:
    """A float from what as_real takes. Raises OverflowError for an int beyond all floats."""
    number = as_real(name, what, value)
    try:
        return number if number.__class__ is float else float(number)  # a LiveNumber stays one
    except OverflowError:
        raise errors.OverflowError(
            f"{name}: {what} is {brief(value)}, which is too large for a float"
        ) from None


def as_nonnegative(name: str, what: str, value: object) -> float:
    """A float of at least 0. Raises ArgumentError, DTypeError."""
    number = as_double(name, what, value)
    if not number >= 0.0:
        raise errors.ArgumentError(f"{name}: {what} must be at least 0, not {brief(value)}")
    return number


def as_positive(name: str, what: str, value: object) -> float:
    """A float above 0. Raises ArgumentError, DTypeError."""
    number = as_double(name, what, value)
    if not number > 0.0:
        raise errors.ArgumentError(f"{name}: {what} must be greater than 0, not {brief(value)}")
    return number


def as_fraction(name: str, what: str, value: object) -> float:
    """A float in [0, 1]. Raises ArgumentError, DTypeError."""
    number = as_double(name, what, value)
    if not 0.0 <= number <= 1.0:
        raise errors.ArgumentError(f"{name}: {what} must be in [0, 1], not {brief(value)}")
    return number


def as_bool(name: str, what: str, value: object) -> bool:
    """A bool from anything with one truth value, but no text: "False" would be true. Raises
    DTypeError."""
    try:
        if not isinstance(value, str):
            return bool(value)
    except ValueError:
        pass
    raise errors.DTypeError(f"{name}: {what} must be True or False, not {brief(value)}")


def as_choice(name: str, what: str, value: object, choices: Sequence[str]) -> str:
    """One of a few words. Raises ArgumentError."""
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise errors.ArgumentError(
            f"{name}: {what} must be {', '.join(others)} or {last}, not {brief(value)}"
        )
    return value


def as_path(name: str, path: Any) -> Path:
    """A path from a text or whatever stands for one. Raises DTypeError."""
    try:
        return Path(path)
    except TypeError:
        raise errors.DTypeError(
            f"{name}: the path must be a str or a Path, not {brief(path)}"
        ) from None


def as_function(name: str, what: str, value: object) -> Callable[..., Any]:
    """Anything that can be called. Raises DTypeError."""
    if not callable(value):
        raise errors.DTypeError(f"{name}: {what} must be a function, not {brief(value)}")
    return value


def as_sequence(name: str, what: str, value: Any) -> list[Any]:
    """The items of anything that has some. Raises DTypeError."""
    if isinstance(value, range) and abs(value.stop - value.start) // abs(value.step) > MOST_ITEMS:
        raise errors.OverflowError(f"{name}: {what} is {brief(value)}, which is too long")
    try:
        return list(value)
    except TypeError:
        raise errors.DTypeError(f"{name}: {what} must be a sequence, not {brief(value)}") from None


def as_texts(name: str, what: str, value: object) -> list[str]:
    """The texts of a sequence of such. Raises DTypeError."""
    texts = as_sequence(name, what, value)
    if isinstance(value, str) or not all(isinstance(text, str) for text in texts):
        raise errors.DTypeError(f"{name}: {what} must be a sequence of strings, not {brief(value)}")
    return texts


def flat_ints(
    name: str, args: Sequence[object], what: str = "each number", kind: str = "must be an int"
) -> tuple[int, ...]:
    """Ints given one by one or as one sequence. Raises DTypeError."""
    given: Iterable[object] = args
    if len(args) == 1 and (
        isinstance(args[0], (tuple, list, range))
        or (isinstance(args[0], np.ndarray) and args[0].ndim)
    ):
        given = as_sequence(name, "a sequence of ints", args[0])
    return tuple(as_int(name, what, i, kind) for i in given)


def flat_extents(name: str, args: Sequence[object]) -> tuple[int, ...]:
    """The ints of a shape, given so; -1 may stand for an extent that follows. Raises DTypeError."""
    return flat_ints(name, args, "a shape", "must consist of ints")


def as_ints(name: str, what: str, value: object, length: int | None = None) -> tuple[int, ...]:
    """Ints from a sequence of `length` of them (None: of any number), or from one for all. Raises
    DTypeError, ArgumentError."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return (as_int(name, what, value),) * (1 if length is None else length)
    ints = tuple(as_int(name, f"each of {what}", i) for i in as_sequence(name, what, value))
    if length is not None and len(ints) != length:
        raise errors.ArgumentError(
            f"{name}: {what} must be an int or {length} of them, not {brief(ints)}"
        )
    return ints


def as_shape(name: str, shape: Sequence[object]) -> Shape:
    """A shape given as ints or as one sequence. Raises ShapeError for a negative extent or too many
    elements."""
    extents = flat_extents(name, shape)
    if any(d < 0 for d in extents):
        raise errors.ShapeError(f"{name}: shape {extents} has a negative extent")
    return addressable(name, extents)


def as_extents(name: str, **given: object) -> Shape:
    """The extents of an array, each by its own name. Raises ArgumentError, DTypeError, and
    ShapeError for too many elements."""
    return addressable(name, tuple(as_count(name, what, value) for what, value in given.items()))


def normalise_axis(name: str, axis: object, ndim: int) -> int:
    """The axis counted from the front. Raises AxisError, DTypeError."""
    place = as_int(name, "an axis", axis)
    if not -ndim <= place < ndim:
        raise errors.AxisError(f"{name}: axis {place} is out of range for {ndim} axes")
    return place % ndim


def axes_in_order(name: str, axis: object, ndim: int) -> tuple[int, ...]:
    """One or several axes, as listed. Raises AxisError, DTypeError, and ShapeError for an axis
    named twice."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalise_axis(name, a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise errors.ShapeError(f"{name}: an axis is named twice in {tuple(given)}")
    return axes


def normalise_axes(name: str, axis: object, ndim: int) -> tuple[int, ...]:
    """Several axes, ascending; None is all of them."""
    return tuple(range(ndim)) if axis is None else tuple(sorted(axes_in_order(name, axis, ndim)))
