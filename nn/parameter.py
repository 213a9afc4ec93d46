"""Parameters and Buffers of Modules. In: a Tensor or any array. Out: a Parameter, which is learned,
or a Buffer, which is not.

Both are leaves of their own: of a value in memory they share the memory, of a lazy one they are
computed with the next program.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from .. import errors
from ..frontend import ops
from ..frontend.lazy import state
from ..frontend.operands.arguments import as_bool
from ..frontend.tensor.binding import as_tensor
from ..frontend.tensor.names_elsewhere import OF_TENSORS
from ..frontend.tensor.tensor import Tensor


def clear_gradients(name: str, tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Forgets the gradients, or makes them zeros."""
    forget = as_bool(name, "set_to_none", set_to_none)
    for t in tensors:
        t.grad = None if forget or t.grad is None else ops.zeros_like(t.grad)


def _set_data(self: Tensor, value: Any) -> None:
    """An attribute that nothing reads would be set, and the value would stay."""
    raise errors.AttributeError(
        f"{type(self).__name__}.data is not set: write {OF_TENSORS['data']}"
    )


class Parameter(Tensor):
    """A Tensor that a Module learns, made from a Tensor or any array of floats; it requires a
    gradient and is a leaf.

    May be complex. Raises DTypeError for integers and bools.

    >>> p = nn.Parameter(wf.zeros(2, 3))
    >>> p.shape, p.requires_grad
    ((2, 3), True)
    """

    data = property(None, _set_data)

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        value = as_tensor("Parameter", "data", data)
        if not value.dtype.is_inexact:
            raise errors.DTypeError(
                f"Parameter: the data must be floats, since it is learned, not {value.dtype.name}"
            )
        # a leaf of its own, even over an expression
        super().__init__(value.node, requires_grad=True)
        self.requires_grad_(requires_grad)


class Buffer(Tensor):
    """State of a Module that no gradient reaches, made from a Tensor or any array of any dtype:
    statistics, counts, tables.

    A persistent one is part of the state_dict. `assign`, and operators like `+=`, give it the value
    that the next program computes, at every call of a jitted function, too.

    >>> calls = nn.Buffer(0)
    >>> calls += 1
    >>> calls.item(), calls.dtype, calls.requires_grad
    (1, weft.int64, False)
    """

    _is_assigned_in_place = True
    data = property(None, _set_data)

    def __init__(self, data: Any, persistent: bool = True) -> None:
        value = as_tensor("Buffer", "data", data)
        super().__init__(value.node)
        self.persistent = as_bool("Buffer", "persistent", persistent)
        state.become_leaf(self)  # so that a first value that is lazy makes no program of its own
        self.node.arg.owner = None

    def __deepcopy__(self, memo: Any) -> Self:
        other = super().__deepcopy__(memo)
        other.persistent = self.persistent
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return *super().__reduce__(), {"persistent": self.persistent}
