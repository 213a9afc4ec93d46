"""State of an optimiser as plain data, and back. In: an Optimizer. Out: dicts of Tensors and
numbers in the form of torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from ... import errors
from ...frontend import ops
from ...frontend.lazy.trace import tracing
from ...frontend.operands.arguments import as_int, as_real, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..loading import fitting
from .groups import Check, Group, checked, put

Values = dict[str, Tensor]


class Kept(Protocol):
    """What is stored of an Optimizer."""

    param_groups: list[Group]
    params: list[Tensor]
    steps: list[int]
    state: States
    checks: ClassVar[Mapping[str, Check]]

    def places(self) -> list[tuple[int, range]]: ...
    def complete(self, k: int, places: Sequence[int]) -> None: ...
    def state_names(self, group: Group) -> tuple[str, ...]: ...
    def new_state(self, what: str, p: Tensor, group: Group) -> Tensor: ...
    def check_group(self, group: Group) -> None: ...


class States(list[dict[str, Any]]):
    """One dict of Tensors per parameter, in the order of the groups: states[i], or states[p] by the
    parameter itself."""

    def __init__(self, params: list[Tensor]) -> None:
        self._params = params

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, Tensor):
            return super().__getitem__(key)
        place = next((i for i, p in enumerate(self._params) if p is key), None)
        if place is None:
            raise errors.ArgumentError(
                f"state: this optimiser has no parameter {key.name or brief(key)}"
            )
        return super().__getitem__(place)


def state_dict(optimizer: Kept) -> dict[str, Any]:
    """Of each parameter that has made a step its state, and the groups with places for
    parameters."""
    kept: dict[int, dict[str, Any]] = {}
    groups: list[Group] = []
    for (k, places), group in zip(optimizer.places(), optimizer.param_groups, strict=True):
        stepped = [i for i in places if optimizer.steps[i]]
        optimizer.complete(k, stepped)
        names = optimizer.state_names(group)
        kept |= {
            i: {"step": optimizer.steps[i]} | snapshot({n: optimizer.state[i][n] for n in names})
            for i in stepped
        }
        groups.append({**snapshot(group), "params": [*places]})
    return {"state": kept, "param_groups": groups}


def snapshot(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are now."""
    return {
        name: value.detach() if isinstance(value, Tensor) else value
        for name, value in values.items()
    }


def load_state_dict(optimizer: Kept, state: Any) -> None:
    """Checks everything, then changes the optimiser; Tensors stay the same objects, so jitted
    functions go on with them."""
    name = f"{type(optimizer).__name__}.load_state_dict"
    groups, entries = parts(name, optimizer, state)
    owners = [group for group in groups for _ in group["params"]]
    pairs = enumerate(zip(owners, entries, strict=True))
    states = [
        _fitting(f"{name}: parameter {i}", optimizer, i, group, entry)
        for i, (group, entry) in pairs
    ]
    # what is lazy may fail
    ops.realize(*(value for _, values in states for value in values.values()))
    for own, group in zip(optimizer.param_groups, groups, strict=True):
        for what, value in group.items():
            if what not in ("params", "param_names"):
                put(own, what, value)
    optimizer.steps[:] = [step for step, _ in states]
    for k, places in optimizer.places():
        optimizer.complete(k, places)
    for own_state, (_, values) in zip(optimizer.state, states, strict=True):
        for what, value in values.items():
            own_state[what].assign(value)
    ops.realize(*(t for own_state in optimizer.state for t in own_state.values()))


def parts(name: str, optimizer: Kept, state: Any) -> tuple[list[Group], list[Mapping[str, Any]]]:
    """The groups of a state, checked, and what it holds for each parameter in order."""
    tracing().refuse(name)
    if not isinstance(state, Mapping) or not {"state", "param_groups"} <= state.keys():
        raise errors.DTypeError(
            f"{name}: the state must be a dict with 'state' and 'param_groups', not {brief(state)}"
        )
    groups = _groups(name, optimizer, as_sequence(name, "param_groups", state["param_groups"]))
    return groups, _entries(name, groups, state["state"])


def _groups(name: str, optimizer: Kept, groups: list[Any]) -> list[Group]:
    """The groups of the state, checked, with the places that their parameters have in it."""
    sizes = [len(group["params"]) for group in optimizer.param_groups]
    for group in groups:
        if not isinstance(group, Mapping) or "params" not in group:
            raise errors.DTypeError(
                f"{name}: a group must be a dict with the places of its parameters, not"
                f" {brief(group)}"
            )
        missing = [what for what in optimizer.checks if what not in group]
        if missing:
            raise errors.StateError(f"{name}: a group of the state has no {', '.join(missing)}")
    new = [checked(name, group, optimizer.checks) for group in groups]
    for group in new:
        group["params"] = as_sequence(name, "params", group["params"])
        optimizer.check_group(group)
    if [len(group["params"]) for group in new] != sizes:
        theirs = [len(group["params"]) for group in new]
        raise errors.StateError(
            f"{name}: the optimiser has groups of {sizes} parameters, the state has {theirs}"
        )
    return new


def _entries(name: str, groups: list[Group], state: Any) -> list[Mapping[str, Any]]:
    """What the state holds for each parameter in order; it may be keyed by text, as in JSON."""
    if not isinstance(state, Mapping):
        raise errors.DTypeError(
            f"{name}: 'state' must be a dict by the places of parameters, not {brief(state)}"
        )
    by_place = {str(place): entry for place, entry in state.items()}
    places = [str(place) for group in groups for place in group["params"]]
    unexpected = [place for place in by_place if place not in places]
    if unexpected:
        raise errors.StateError(
            f"{name}: the state has parameters {', '.join(unexpected)}, which are in no group"
        )
    return [by_place.get(place, {}) for place in places]


def _fitting(where: str, optimizer: Kept, i: int, group: Group, entry: Any) -> tuple[int, Values]:
    """The step count of a parameter and its state Tensors; one that has made no step has those it
    began with."""
    if not isinstance(entry, Mapping):
        raise errors.DTypeError(
            f"{where}: the state of a parameter must be a dict, not {brief(entry)}"
        )
    names, p = optimizer.state_names(group), optimizer.params[i]
    state = {what: value for what, value in entry.items() if value is not None and what != "step"}
    if not state and not entry.get("step"):
        return 0, {what: optimizer.new_state(what, p, group) for what in names}
    missing, unexpected = (
        [n for n in names if n not in state],
        [n for n in state if n not in {*names, *optimizer.state[i]}],
    )
    if missing or unexpected:
        parts = [
            f"{what} {', '.join(which)}"
            for what, which in (("missing", missing), ("unexpected", unexpected))
            if which
        ]
        raise errors.StateError(f"{where}: {'; '.join(parts)}")
    step = as_int(where, "step", int(as_real(where, "step", entry.get("step", 1))))
    return step, {
        what: fitting(f"{where}: {what}", optimizer.new_state(what, p, group), value)
        for what, value in state.items()
    }
