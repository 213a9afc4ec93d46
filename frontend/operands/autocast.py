"""Mixed precision. In: functions of Nodes or Tensors. Out: the same; inside nn.autocast they choose
the dtype of their operands.

`lowered` functions are sums of products, which 16-bit floats make fast; `widened` ones would
overflow in float16, or lose what they are about. All others take what they get. The choice is made
for what a user calls, not again for what that is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...modes import Mode
from ..lazy import state
from ..lazy.weak_numbers import marks
from .in_float32 import converted, float_dtype

P = ParamSpec("P")
R = TypeVar("R")


class Lowered(Mode):
    """Inside, products are computed in this dtype; None: in that of their operands."""

    blocks = state.autocast_blocks

    def __init__(self, dtype: DType | None) -> None:
        self.value = dtype


def runs_in_float32(function: Callable[P, R]) -> Callable[P, R]:
    """Takes its 16-bit operands as float32, so that the result is float32 too."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        low = state.autocast() if state.autocasts else None
        if low is None:
            return function(*args, **kwargs)
        return _apart(
            partial(function, *map(_wide, args), **{name: _wide(x) for name, x in kwargs.items()})
        )

    return call


def runs_in_half(function: Callable[P, R]) -> Callable[P, R]:
    """Takes its float32 and 16-bit operands in autocast's dtype, and gives that, unless one is a
    float64.

    What is added to the products, `bias` or `attn_mask`, is taken as it is: it costs nothing, and
    is rounded with them.
    """
    places = {
        name: place
        for place, name in enumerate(signature(function).parameters)
        if name in ("bias", "attn_mask")
    }
    added = frozenset(places.values())

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        low = state.autocast() if state.autocasts else None
        if low is None or dt.float64 in map(_strong_float, [*args, *kwargs.values()]):
            return function(*args, **kwargs)
        factors: list[Any] = [x if i in added else _low(x, low) for i, x in enumerate(args)]
        named: dict[str, Any] = {
            name: x if name in places else _low(x, low) for name, x in kwargs.items()
        }
        result: R = _low(_apart(partial(function, *factors, **named)), low)
        return result

    return call


def _apart(call: Callable[[], R]) -> R:
    """The call outside of autocast."""
    with Lowered(None):
        return call()


def _strong_float(x: object) -> DType | None:
    """The dtype of floats; not of a Node that stands for a Python number, which takes the dtype of
    what it meets."""
    dtype = float_dtype(x)
    return None if dtype is None or (marks and getattr(x, "node", x) in marks) else dtype


def _wide(x: Any) -> Any:
    dtype = _strong_float(x)
    return x if dtype is None or not dtype.is_half else converted(x, dt.float32)


def _low(x: Any, low: DType) -> Any:
    dtype = _strong_float(x)
    return x if dtype is None or dtype is low else converted(x, low)
