"""Signature of a jitted call. In: positional and named arguments. Out: their Tensors, their Python
numbers, the rest.

The rest is hashable: the structure of tuples, lists, dicts and dataclasses, and what is static:
strings, None, Modules, any other object, and whatever is marked so. Static objects are compared by
equality, which for most is identity.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from inspect import Parameter, signature
from typing import Any

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.shapes import Shape
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from ..operands.likes import ArrayLike
from ..tensor.tensor import Tensor, of_storage
from ..tensor.tracked import Tracked

TENSOR, ARRAY, FOREIGN, NUMBER = "tensor", "array", "foreign", "number"
CONTAINER, RECORD, STATIC = "container", "record", "static"
# (dtype, shape, strides, device), does it require a gradient
Layout = tuple[tuple[DType, Shape, Shape, str], bool]
Structure = tuple[object, ...]  # hashable
# of a call, as jit._call makes it
Key = tuple[Structure, tuple[int, ...] | None, bool, DType | None, DType]
Names = int | tuple[Any, ...]  # of children: how many, keys, or fields

_kinds: dict[type, str] = {Tensor: TENSOR, bool: NUMBER, int: NUMBER, float: NUMBER}


def kind_of(t: type) -> str:
    """How arguments of a type are treated."""
    kind = _kinds.get(t)
    if kind is None:
        kind = _kinds[t] = _kind_of(t)
    return kind


def _kind_of(t: type) -> str:
    if issubclass(t, Tracked):
        return TENSOR
    if issubclass(t, (np.ndarray, np.generic)):
        return ARRAY
    if issubclass(t, (tuple, list, dict)):
        return CONTAINER
    if issubclass(t, (Enum, type)):
        return STATIC
    if issubclass(t, (int, float)):
        return NUMBER
    if hasattr(t, "__array__") or hasattr(t, "__dlpack__"):
        return FOREIGN
    is_module = hasattr(t, "named_modules")  # counts as itself even where it is a dataclass, too
    return RECORD if dataclasses.is_dataclass(t) and not is_module else STATIC


class Arguments:
    """Arguments taken apart. `structure`: what is neither Tensor nor number; `arrays`: places of
    arrays among the Tensors."""

    __slots__ = ("arrays", "numbers", "structure", "tensors")

    def with_tensors(self, tensors: list[Tensor]) -> Arguments:
        """The same with others."""
        other = copy.copy(self)
        other.tensors = tensors
        return other

    def __init__(
        self, args: tuple[object, ...], kwargs: dict[str, object], statics: frozenset[int | str]
    ) -> None:
        self.tensors: list[Tensor] = []
        self.numbers: list[float] = []
        self.arrays: list[int] = []
        parts: list[object] = []
        for i, a in enumerate(args):
            if type(a) is Tensor and not statics:
                self.tensors.append(a)
                parts.append(TENSOR)
            else:
                parts.append(_static(a) if i in statics else self._described(a))
        if kwargs:
            parts.append(
                tuple(
                    (k, _static(a) if k in statics else self._described(a))
                    for k, a in kwargs.items()
                )
            )
        self.structure = tuple(parts)

    def _described(self, x: Any) -> object:
        """Something hashable that is equal for arguments of equal structure."""
        kind = kind_of(type(x))
        if kind is TENSOR:
            self.tensors.append(x)
            return kind
        if kind is NUMBER:
            self.numbers.append(
                x if type(x) in (int, float, bool) else int(x) if isinstance(x, int) else float(x)
            )
            return type(self.numbers[-1])
        if kind is CONTAINER or kind is RECORD:
            names, children = _children(x)
            return (type(x), names, tuple([self._described(c) for c in children]))
        if kind is STATIC:
            return _static(x)
        self.arrays.append(len(self.tensors))
        self.tensors.append(_of_array(x) if kind is ARRAY else _of_foreign(x))
        return ARRAY

    def replaced(
        self,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        statics: frozenset[int | str],
        numbers: list[Tensor],
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """(args, kwargs) with Tensors for arrays and numbers, in containers of their own."""
        tensors, scalars = iter(self.tensors), iter(numbers)
        positional = tuple(
            a if i in statics else _replaced(a, tensors, scalars) for i, a in enumerate(args)
        )
        return positional, {
            k: a if k in statics else _replaced(a, tensors, scalars) for k, a in kwargs.items()
        }


def _children(x: Any) -> tuple[Names, list[object]]:
    """(what names the children, the children)."""
    if isinstance(x, dict):
        return tuple(x), list(x.values())
    if isinstance(x, (tuple, list)):
        return len(x), list(x)
    names = tuple(f.name for f in dataclasses.fields(x))
    return names, [getattr(x, name) for name in names]


def _replaced(x: object, tensors: Iterator[Tensor], numbers: Iterator[Tensor]) -> object:
    kind = kind_of(type(x))
    if kind in (TENSOR, ARRAY, FOREIGN):
        return next(tensors)
    if kind is NUMBER:
        return next(numbers)
    if kind is STATIC:
        return x
    names, children = _children(x)
    return rebuilt(x, names, [_replaced(c, tensors, numbers) for c in children])


def rebuilt(x: Any, names: Names, children: Iterable[Any]) -> Any:
    """A container or dataclass like x with other children."""
    if isinstance(x, (tuple, list)):
        return type(x)(*children) if hasattr(x, "_fields") else type(x)(children)
    new = copy.copy(x)
    assert isinstance(names, tuple)
    for name, child in zip(names, children, strict=True):
        if isinstance(x, dict):
            new[name] = child
        else:
            object.__setattr__(new, name, child)  # frozen ones, too
    return new


def mapped(x: object, function: Callable[[Any], object]) -> Any:
    """The same structure with the function of each leaf."""
    if kind_of(type(x)) not in (CONTAINER, RECORD):
        return function(x)
    names, children = _children(x)
    return rebuilt(x, names, [mapped(c, function) for c in children])


def _static(x: object) -> object:
    """A key that equal objects of one type share."""
    key = x.hex() if type(x) is float else x  # NaNs equal, signed zeros apart
    try:
        hash(key)
    except TypeError:
        raise errors.DTypeError(
            f"jit: a static argument must be hashable, not {brief(x)}"
        ) from None
    return (STATIC, type(x), key)


def _of_array(x: object) -> Tensor:
    """A Tensor over the array's memory where it lies in row-major order, else over a copy: the call
    only reads it."""
    array = np.asarray(x)
    dtype = dt.from_numpy(array.dtype)
    if dtype is None:
        raise errors.DTypeError(f"jit: there is no dtype for an array of {array.dtype}")
    plain = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    return of_storage(storage.from_array(array, dtype, copy=not plain or not array.size))


def _of_foreign(x: ArrayLike) -> Tensor:
    from ..tensor.creation import tensor

    stored = tensor(x)._stored()
    assert stored is not None
    return of_storage(stored)


def layout_of(t: Tensor, stored: Storage) -> Layout:
    """What of a Tensor is part of the signature."""
    return stored.layout, t._requires_grad


def marks_of(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    statics: frozenset[int | str],
) -> list[tuple[str, str]]:
    """For each Python number among the arguments, in their order: (how errors call its argument,
    what marks that static)."""
    given = _given(function, args, kwargs, statics)
    marks = [
        (f"argument {k!r}", f"static_arg{'nums' if isinstance(k, int) else 'names'}={k!r}")
        for k, _ in given
    ]
    return [
        mark for mark, (_, a) in zip(marks, given, strict=True) for _ in range(_count_numbers(a))
    ]


def owners_of(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    statics: frozenset[int | str],
) -> list[str]:
    """For each Tensor among the arguments, in their order: the parameter that it is in."""
    return [
        str(name) for name, a in _given(function, args, kwargs, statics) for _ in names_of((a,), {})
    ]


def _given(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    statics: frozenset[int | str],
) -> list[tuple[str | int, object]]:
    """Arguments that are not static by their parameters, or by their place where there is none."""
    names: list[str] = []
    with suppress(TypeError, ValueError):  # some functions have no signature
        parameters = signature(function).parameters.values()
        names += [
            p.name
            for p in parameters
            if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        ]
    given: list[tuple[str | int, object]]
    given = [(names[i] if i < len(names) else i, a) for i, a in enumerate(args) if i not in statics]
    return given + [(k, a) for k, a in kwargs.items() if k not in statics]


def _count_numbers(x: object) -> int:
    kind = kind_of(type(x))
    if kind in (CONTAINER, RECORD):
        return sum(map(_count_numbers, _children(x)[1]))
    return int(kind is NUMBER)


def names_of(args: tuple[object, ...], kwargs: dict[str, object]) -> list[str]:
    """How errors call the Tensors among the arguments, in their order."""
    paths: list[str] = []
    for i, a in enumerate(args):
        _name(f"argument {i}", a, paths)
    for k, a in kwargs.items():
        _name(f"argument {k!r}", a, paths)
    return paths


def _name(path: str, x: object, paths: list[str]) -> None:
    kind = kind_of(type(x))
    if kind in (TENSOR, ARRAY, FOREIGN):
        paths.append(path)
    elif kind in (CONTAINER, RECORD):
        names, children = _children(x)
        for name, child in zip(
            range(names) if isinstance(names, int) else names, children, strict=True
        ):
            _name(f"{path}[{name!r}]" if kind is CONTAINER else f"{path}.{name}", child, paths)
