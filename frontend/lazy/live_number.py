"""A number of a Module that has changed between calls. In: an attribute, as a traced function reads
it. Out: a number for Python to compute with, which operations on Tensors take as an input.

Arithmetic gives another LiveNumber, whose recipe repeats it at every call. Whatever needs the value
itself (a comparison, a shape, `math.sqrt`) gets it, and the answer becomes part of the signature.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from ...ir.graph.dtype import DType, rounded
from ...ir.graph.graph import Node, const
from . import state

if TYPE_CHECKING:
    from .any_tensor import AnyTrace

R = TypeVar("R")
Ask = Callable[[], object]
Recipe = Callable[[], float]
Operation = Callable[..., float]
Sources = frozenset[Any]  # each an attributes.Attribute


def _parts(x: LiveNumber | float) -> tuple[float, Recipe, Sources]:
    """The value, the recipe and the sources of an operand."""
    return (x.value, x.recipe, x.sources) if type(x) is LiveNumber else (x, lambda: x, frozenset())


def _applied(op: Operation, live: LiveNumber, a: LiveNumber | float, b: LiveNumber | float) -> Any:
    """What the operator gives for two numbers, `live` being one of them: a LiveNumber, or a truth
    value."""
    if not all(type(x) in (LiveNumber, int, float, bool) for x in (a, b)):
        return NotImplemented
    (x, ask_x, of_x), (y, ask_y, of_y) = _parts(a), _parts(b)
    result = LiveNumber(live._trace, lambda: op(ask_x(), ask_y()), op(x, y), of_x | of_y)
    return result if type(result.value) in (int, float) else result.plain()


def _binary(op: Operation) -> Any:
    return lambda self, other: _applied(op, self, self, other)


def _reflected(op: Operation) -> Any:
    return lambda self, other: _applied(op, self, other, self)


def _unary(op: Operation) -> Callable[[LiveNumber], LiveNumber]:
    def apply(self: LiveNumber) -> LiveNumber:
        recipe = self.recipe
        return LiveNumber(self._trace, lambda: op(recipe()), op(self.value), self.sources)

    return apply


def _of_value(op: Callable[..., object]) -> Any:
    return lambda self, *args: op(self.plain(), *args)


def plain(x: Any) -> Any:
    """The value of a LiveNumber, anything else as it is: for what outlives a trace."""
    return x.plain() if type(x) is LiveNumber else x


@final
class LiveNumber:
    """Stands for an int or a float, and says so to isinstance(). `recipe` makes the value of a call
    from what `sources` are."""

    __slots__ = ("_inputs", "_trace", "recipe", "sources", "value")

    def __init__(self, trace: AnyTrace, recipe: Recipe, value: float, sources: Sources) -> None:
        self._trace, self.recipe, self.value, self.sources = trace, recipe, value, sources
        self._inputs: dict[DType, Node] = {}

    def plain(self) -> float:
        """The value itself, which is part of the signature from now on."""
        return self._decided(self.recipe, self.value)

    def as_input(self, dtype: DType) -> Node:
        """A 0-d Node with the value of each call; a constant where the trace is not in force."""
        if state.trace() is not self._trace:
            return const(self.plain(), dtype)
        if dtype not in self._inputs:
            recipe, kind = self.recipe, type(self.value)
            self._decided(lambda: type(recipe()), kind)
            is_rounded_twice = kind is int and dtype.is_float  # unless we do it
            values = (
                (lambda: [rounded(recipe(), dtype)]) if is_rounded_twice else lambda: [recipe()]
            )
            self._inputs[dtype] = self._trace.live_scalars(values, [dtype])[0]
        return self._inputs[dtype]

    def _decided(self, ask: Ask, answer: R) -> R:
        self._trace.reads.decided(ask, answer, self.sources)
        return answer

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    def __getattr__(self, name: str) -> object:
        if not hasattr(self.value, name):
            raise AttributeError(f"{type(self.value).__name__!r} object has no attribute {name!r}")
        return getattr(self.plain(), name)

    def __reduce__(self) -> tuple[type, tuple[float]]:
        return type(self.value), (self.plain(),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.plain(), dtype)

    def __bool__(self) -> bool:
        recipe = self.recipe
        return self._decided(lambda: bool(recipe()), bool(self.value))

    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow), _reflected(operator.pow)
    __lt__, __le__, __eq__ = _binary(operator.lt), _binary(operator.le), _binary(operator.eq)
    __gt__, __ge__, __ne__ = _binary(operator.gt), _binary(operator.ge), _binary(operator.ne)
    __neg__, __pos__, __abs__ = _unary(operator.neg), _unary(operator.pos), _unary(abs)

    __int__, __float__, __complex__, __index__ = (
        _of_value(int),
        _of_value(float),
        _of_value(complex),
        _of_value(operator.index),
    )
    __round__, __trunc__ = _of_value(round), _of_value(math.trunc)
    __floor__, __ceil__ = _of_value(math.floor), _of_value(math.ceil)
    __hash__, __repr__, __str__, __format__ = (
        _of_value(hash),
        _of_value(repr),
        _of_value(str),
        _of_value(format),
    )
    __divmod__, __rdivmod__ = _of_value(divmod), _of_value(lambda x, y: divmod(y, x))
    __and__, __or__, __xor__ = (
        _of_value(operator.and_),
        _of_value(operator.or_),
        _of_value(operator.xor),
    )
    __lshift__, __rshift__, __invert__ = (
        _of_value(operator.lshift),
        _of_value(operator.rshift),
        _of_value(operator.invert),
    )
