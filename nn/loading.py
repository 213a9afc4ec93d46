"""Assignment of a state_dict. In: the Tensors of a Module by name, the state. Out: their new
values, or one error that lists all that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import errors
from ..frontend import ops
from ..frontend.lazy import state
from ..frontend.tensor.binding import as_tensor
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief
from ..ir.graph.op import Op
from ..runtime.memory import storage
from ..runtime.memory.storage import Storage
from ..signals import deferred


class Keys(NamedTuple):
    """The names that load_state_dict did not find in the state, and those that it found no place
    for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def load(who: str, own: Mapping[str, Tensor], given: Mapping[str, Any], strict: bool) -> Keys:
    """Assigns by name. A Tensor may stand in `own` under several names, of which the state needs
    one."""
    if not isinstance(given, Mapping):
        raise errors.DTypeError(
            "load_state_dict: the state must be a dict of Tensors or arrays by name, not"
            f" {brief(given)}"
        )
    named = {id(t) for name, t in own.items() if name in given}
    missing: dict[int, str] = {}
    for name, t in own.items():
        if id(t) not in named:
            missing.setdefault(id(t), name)
    keys = Keys([*missing.values()], [str(name) for name in given if name not in own])
    values: dict[int, NextValue] = {}
    misfits: list[errors.WeftError] = []
    for name, t in own.items():
        if name in given:
            try:
                values[id(t)] = NextValue(
                    t, fitting(name, t, given[name]), isinstance(given[name], Tensor)
                )
            except errors.WeftError as error:
                misfits.append(error)
    _refuse(who, [*_wrong_names(keys)] if strict else [], misfits)
    _assign([*values.values()])
    return keys


class NextValue(NamedTuple):
    """The next value of a Tensor, which somebody else may hold."""

    of: Tensor
    next: Tensor
    is_held: bool


def _assign(values: Sequence[NextValue]) -> None:
    """A Tensor takes over the memory of its next value where it can, and shares it with whoever
    holds that; else it is copied."""
    ops.realize([v.next for v in values])  # a value that cannot be computed changes nothing, either
    memory = [(v, _memory_to_take(v)) for v in values]
    copied = [v for v, stored in memory if stored is None]
    for v in copied:
        v.of.assign(v.next)
    ops.realize([v.of for v in copied])
    with deferred():
        for v, stored in memory:
            if stored is not None:
                state.replace(v.of, stored)


def _memory_to_take(v: NextValue) -> Storage | None:
    """That of a leaf, or of an array's elements that were cast: all of a buffer, to which no other
    library can write."""
    if state.traces or (v.of.requires_grad and not v.of.is_leaf):
        return None
    n = v.next.node.src[0] if v.next.node.op is Op.DETACH else v.next.node
    if n.op is not Op.INPUT and (v.is_held or n.op is not Op.CAST):
        return None
    stored = storage.lookup(n)
    if stored is None or stored.device != v.of.device or not stored.is_contiguous:
        return None
    buffer, nbytes = stored.buffer, v.next.size * stored.dtype.itemsize
    if buffer.foreign or buffer.exported or buffer.nbytes != nbytes:
        return None
    if not v.is_held:
        return Storage(buffer, stored.dtype, stored.shape)
    storage.forget(stored)  # detached, it is the value of a Node, which would hold the leaf
    stored.mark_shared()
    return stored


def _wrong_names(keys: Keys) -> Iterator[str]:
    for what, names in (("missing", keys.missing_keys), ("unexpected", keys.unexpected_keys)):
        if names:
            yield f"{what} {', '.join(names)}"


def _refuse(who: str, names: list[str], misfits: list[errors.WeftError]) -> None:
    if names or misfits:
        kind = errors.StateError if names else type(misfits[0])
        raise kind(
            f"load_state_dict: the state does not fit {who}:"
            f" {'; '.join([*names, *map(str, misfits)])}"
        )


def fitting(name: str, own: Tensor, value: Any) -> Tensor:
    """The value in the dtype of the Tensor that it is for. Raises ShapeError, DTypeError."""
    tensor = as_tensor(name, "the value", value)
    tensor = (tensor.detach() if isinstance(value, Tensor) else tensor).astype(own.dtype)
    if tensor.shape != own.shape:
        raise errors.ShapeError(f"{name} has shape {own.shape}, but the state has {tensor.shape}")
    return tensor
