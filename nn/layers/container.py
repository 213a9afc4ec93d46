"""Modules made of others. In: layers or Parameters, one by one or by name. Out: a Module that is a
sequence or a dict of them.

Members are attributes of the container, so a list's are named 0, 1, 2 .. and stand in its state as
"0.weight" and so on.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import groupby
from typing import Any, Self

from ... import errors
from ...frontend.operands.arguments import as_int, as_sequence
from ...ir.graph.brief import brief
from ..module import Module, Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Container(Module):
    """Holds members of one kind under their names, in order."""

    kind: type = Module

    def _members(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if isinstance(value, self.kind)}

    def _add(self, name: str, value: Any) -> None:
        self._register(type(self).__name__, name, self._member(name, value))

    def _member(self, name: str, value: Any) -> Any:
        if not isinstance(value, self.kind):
            advice = ": give them one by one, *layers" if isinstance(value, list | tuple) else ""
            raise errors.DTypeError(
                f"{type(self).__name__}: layer {name} must be a Module, not"
                f" {type(value).__name__}{advice}"
            )
        return value

    def __len__(self) -> int:
        return len(self._members())


class _Sequence(_Container):
    """Numbered members; those that a dict has named keep their names."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members().values())

    def __getitem__(self, index: int | slice) -> Any:
        """One member, or a container of those of a slice."""
        members = self._members()
        if isinstance(index, slice):
            return self._of({name: members[name] for name in [*members][index]})
        return members[self._name(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        name = self._name(index)
        setattr(self, name, self._member(name, value))

    def __delitem__(self, index: int | slice) -> None:
        members = self._members()
        for name in [*members][index] if isinstance(index, slice) else [self._name(index)]:
            del members[name]
        self._hold(members.items())

    def __add__(self, other: Iterable[Any]) -> Self:
        """A container of the members of both."""
        both: Self = self[:]
        return both.extend(other)

    def __iadd__(self, other: Iterable[Any]) -> Self:
        return self.extend(other)

    def append(self, value: Any) -> Self:
        """Adds a member at the end."""
        self._add(self._next_name(), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds members at the end, all or none."""
        parts = [
            self._member(str(i), value)
            for i, value in enumerate(as_sequence(type(self).__name__, "what is added", values))
        ]
        for value in parts:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> Self:
        """Adds a member before that of the index, as a list does."""
        name, members = self._next_name(), [*self._members().items()]
        members.insert(
            as_int(type(self).__name__, "an index", index), (name, self._member(name, value))
        )
        self._hold(members)
        return self

    def pop(self, index: int = -1) -> Any:
        """Takes a member out and returns it."""
        value = self[as_int(type(self).__name__, "an index", index)]
        del self[index]
        return value

    def _of(self, members: Mapping[str, Any]) -> Self:
        raise NotImplementedError

    def _name(self, index: int) -> str:
        names = [*self._members()]
        place = as_int(type(self).__name__, "an index", index)
        if not -len(names) <= place < len(names):
            raise errors.IndexError(
                f"{type(self).__name__}: index {place} is out of range for {len(names)} members"
            )
        return names[place]

    def _next_name(self) -> str:
        members = self._members()
        return next(
            str(i) for i in range(len(members), 2 * len(members) + 1) if str(i) not in members
        )

    def _hold(self, members: Iterable[tuple[str, Any]]) -> None:
        """Holds these instead, numbered anew unless one has a name."""
        modules = [*members]
        for name in self._members():
            delattr(self, name)
        is_numbered = all(name.isdecimal() for name, _ in modules)
        for i, (name, value) in enumerate(modules):
            setattr(self, str(i) if is_numbered else name, value)


class Sequential(_Sequence):
    """Calls its layers one after the other; they are named 0, 1, 2 .., or by the keys of a dict.

    A slice is a Sequential of the same layers under the same names.

    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> net(wf.ones(3, 4)).shape, len(net), net[-1].weight.shape
    ((3, 2), 3, (2, 8))
    >>> list(nn.Sequential({"hidden": nn.Linear(4, 8), "act": nn.ReLU()}).state_dict())
    ['hidden.weight', 'hidden.bias']
    """

    def __init__(self, *layers: Module | Mapping[str, Module]) -> None:
        single = layers[0] if len(layers) == 1 else None
        named = (
            single
            if isinstance(single, Mapping)
            else {str(i): layer for i, layer in enumerate(layers)}
        )
        for name, layer in named.items():
            self._add(name, layer)

    def _of(self, members: Mapping[str, Any]) -> Sequential:  # type: ignore[override]
        return Sequential(members)

    def forward(self, x: Any) -> Any:
        for name, layer in self._members().items():
            try:
                x = layer(x)
            except Exception as error:
                error.add_note(f"in layer {name} of {type(self).__name__}: {type(layer).__name__}")
                raise
        return x


class ModuleList(_Sequence):
    """A list of layers, which forward() of another Module calls as it likes. A plain list as an
    attribute counts, too.

    >>> layers = nn.ModuleList(nn.Linear(n, n) for n in (1, 2))
    >>> layers.append(nn.ReLU())
    ModuleList(
      (0): Linear(in_features=1, out_features=1, bias=True)  # 2 parameters
      (1): Linear(in_features=2, out_features=2, bias=True)  # 6 parameters
      (2): ReLU()
    )  # 8 parameters
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.extend(modules)

    def _of(self, members: Mapping[str, Any]) -> ModuleList:  # type: ignore[override]
        return ModuleList(members.values())

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Neighbours that read alike have one row: (0-11): 12 x Block(...)."""
        for text, group in groupby(super()._rows(), key=lambda row: row[1]):
            names = [name for name, _ in group]
            each = " each" if "  # " in text.rpartition("\n")[2] else ""
            yield (
                (names[0], text)
                if len(names) == 1
                else (f"{names[0]}-{names[-1]}", f"{len(names)} x {text}{each}")
            )


class ParameterList(_Sequence):
    """A list of Parameters; Tensors and arrays of floats become such.

    >>> nn.ParameterList([wf.zeros(2, 3), wf.ones(4)])
    ParameterList(float32[2, 3], float32[4])  # 10 parameters
    """

    kind = Parameter

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.extend(values)

    def _member(self, name: str, value: Any) -> Parameter:
        return _parameter(value)

    def _of(self, members: Mapping[str, Any]) -> ParameterList:  # type: ignore[override]
        return ParameterList(members.values())

    def extra_repr(self) -> str:
        return ", ".join(map(_described, self))


class _Mapping(_Container):
    """Members by name, in the order in which they were added."""

    what = "layer"  # what errors call a member

    def __init__(self, members: Any = ()) -> None:
        self.update(members)

    def __getitem__(self, key: str) -> Any:
        self._require(key)
        return self._members()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._add(key, value)

    def __delitem__(self, key: str) -> None:
        self._require(key)
        delattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __contains__(self, key: object) -> bool:
        return key in self._members()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._members().keys()

    def values(self) -> ValuesView[Any]:
        """The members."""
        return self._members().values()

    def items(self) -> ItemsView[str, Any]:
        """Names and members."""
        return self._members().items()

    def update(self, members: Any) -> None:
        """Adds members of a dict, or of pairs, or sets others in their place; all or none."""
        try:
            pairs = dict(members.items() if isinstance(members, _Mapping) else members)
        except (TypeError, ValueError):
            kinds = f"the {self.what}s must be a dict or pairs (name, {self.kind.__name__})"
            raise errors.DTypeError(
                f"{type(self).__name__}: {kinds}, not {brief(members)}"
            ) from None
        parts = {name: self._member(name, value) for name, value in pairs.items()}
        for name, value in parts.items():
            self._add(name, value)

    def pop(self, key: str) -> Any:
        """Takes a member out and returns it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Takes all members out."""
        for name in self._members():
            delattr(self, name)

    def _require(self, key: str) -> None:
        if not isinstance(key, str) or key not in self:
            there = ", ".join(self) or "none"
            raise errors.StateError(
                f"{type(self).__name__}: there is no {self.what} {brief(key)}; there are {there}"
            )


class ModuleDict(_Mapping):
    """Layers by name, in the order in which they were added. A plain dict as an attribute counts,
    too.

    >>> heads = nn.ModuleDict({"mean": nn.Linear(3, 1), "spread": nn.Linear(3, 1)})
    >>> heads["mean"](wf.ones(5, 3)).shape, "spread" in heads
    ((5, 1), True)
    >>> [name for name, p in heads.named_parameters()][:2]
    ['mean.weight', 'mean.bias']
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__(modules)


class ParameterDict(_Mapping):
    """Parameters by name, in the order in which they were added; Tensors and arrays of floats
    become such.

    >>> scales = nn.ParameterDict({"left": wf.ones(2), "right": [0.5]})
    >>> scales["right"].tolist(), [*scales], scales.get("middle")
    ([0.5], ['left', 'right'], None)
    """

    kind, what = Parameter, "parameter"

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__(parameters)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of this name, or the default."""
        return self._members().get(key, default)

    def _member(self, name: str, value: Any) -> Parameter:
        return _parameter(value)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {_described(p)}" for name, p in self.items())


def _parameter(value: Any) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)


def _described(p: Parameter) -> str:
    return f"{p.dtype.name}{list(p.shape)}"
