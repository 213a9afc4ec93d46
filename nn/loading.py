"""Assignment of a state_dict. In: the Tensors of a Module by name, the state. Out: their new values, or one error that lists all
that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .. import errors
from ..frontend import ops
from ..frontend.tensor.binding import as_tensor
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief


class Keys(NamedTuple):
    """The names that load_state_dict did not find in the state, and those that it found no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def load(who: str, own: Mapping[str, Tensor], state: Mapping[str, Any], strict: bool) -> Keys:
    """Assigns by name. A Tensor may stand in `own` under several names, of which the state needs one."""
    if not isinstance(state, Mapping):
        raise errors.DTypeError(f"load_state_dict: the state must be a dict of Tensors or arrays by name, not {brief(state)}")
    named = {id(t) for name, t in own.items() if name in state}
    missing: dict[int, str] = {}
    for name, t in own.items():
        if id(t) not in named:
            missing.setdefault(id(t), name)
    keys = Keys([*missing.values()], [str(name) for name in state if name not in own])
    values: dict[int, tuple[Tensor, Tensor]] = {}
    misfits: list[errors.WeftError] = []
    for name, t in own.items():
        if name in state:
            try:
                values[id(t)] = t, fitting(name, t, state[name])
            except errors.WeftError as error:
                misfits.append(error)
    _refuse(who, [*_wrong_names(keys)] if strict else [], misfits)
    ops.realize([value for _, value in values.values()])  # a value that cannot be computed changes nothing, either
    for t, value in values.values():
        t.assign(value)
    ops.realize([t for t, _ in values.values()])
    return keys


def _wrong_names(keys: Keys) -> Iterator[str]:
    for what, names in (("missing", keys.missing_keys), ("unexpected", keys.unexpected_keys)):
        if names:
            yield f"{what} {', '.join(names)}"


def _refuse(who: str, names: list[str], misfits: list[errors.WeftError]) -> None:
    if names or misfits:
        kind = errors.StateError if names else type(misfits[0])
        raise kind(f"load_state_dict: the state does not fit {who}: {'; '.join([*names, *map(str, misfits)])}")


def fitting(name: str, own: Tensor, value: Any) -> Tensor:
    """The value in the dtype of the Tensor that it is for. Raises ShapeError, DTypeError."""
    tensor = as_tensor(name, "the value", value).detach().astype(own.dtype)
    if tensor.shape != own.shape:
        raise errors.ShapeError(f"{name} has shape {own.shape}, but the state has {tensor.shape}")
    return tensor
