"""Attributes of Modules on which a jitted function depends. In: what it reads while it is traced.
Out: what must stay as it was.

Plain values (numbers, bools, texts, None, members of enumerations, tuples of these) are compared;
of anything else it counts how often it has been set. What was looked for in vain, or found in the
class, must not be set over. A Module notes in itself which of its attributes were ever read, so
that others may change for free.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any

from ... import locks
from ...ir.graph.brief import brief
from . import state
from .live_number import Ask, LiveNumber, Sources

if TYPE_CHECKING:
    from .any_tensor import AnyTrace

READ = "_weft_read"  # beside the attributes that a user gives a Module: a Noted
PARTS = "__dict__"  # read where all attributes are; counts Parameters, Buffers and Modules alone
PLAIN = frozenset({bool, int, float, complex, str, bytes, NoneType})
MISSING = object()


class Attributes:
    """The base of Modules."""


@dataclass
class Noted:
    """How often each attribute that was read has been set since. No dict, in which a Module's parts
    would be looked for."""

    times: dict[str, int] = field(default_factory=dict)


_NOTHING = Noted()


def _noted(module: Attributes) -> dict[str, int]:
    return _fields(module).get(READ, _NOTHING).times  # type: ignore[no-any-return]


def _fields(module: Attributes) -> dict[str, Any]:
    """What vars() gives, which would count as read."""
    return object.__getattribute__(module, "__dict__")  # type: ignore[no-any-return]


def _present(module: Attributes, name: str) -> object:
    fields = _fields(module)
    return fields[name] if name in fields else getattr(type(module), name, MISSING)


def is_plain(value: object) -> bool:
    """Is a value compared as it is."""
    return (
        type(value) in PLAIN
        or isinstance(value, Enum)
        or (type(value) is tuple and all(map(is_plain, value)))
    )


def same(a: object, b: object) -> bool:
    """Are both one object, or plain values of one type that read alike: NaNs do, 0.0 and -0.0 do
    not."""
    return a is b or (type(a) is type(b) and is_plain(a) and repr(a) == repr(b))


def changed(module: Attributes, name: str, old: object, new: object, is_part: bool) -> None:
    """An attribute was set or deleted. is_part: it is, or was, a Parameter, a Buffer or a
    Module."""
    trace = state.trace() if state.traces else None
    if trace is not None:
        trace.reads.assigned(module, name)
    times = _noted(module)
    read = times.keys() & ({name, PARTS} if is_part else {name})
    if read and not same(old, new):
        for n in read:
            times[n] += 1
        state.changes.count += 1


# ---------------------------------------------------------------- what is read


def _observed(self: Attributes, name: str) -> object:
    trace = state.trace()
    try:
        value = super(Attributes, self).__getattribute__(name)
    except AttributeError:
        if trace is not None:
            trace.reads.seen(self, name, MISSING)
        raise
    return value if trace is None else trace.reads.seen(self, name, value)


def _can_be_set_over(kind: type, name: str) -> bool:
    """Would an instance's own attribute come before what its class has: before a function, but not
    before a property."""
    return not name.startswith("__") and not hasattr(type(getattr(kind, name, None)), "__set__")


_lock = locks.new("attributes")
_watching: list[AnyTrace] = []  # the traces in force, in any thread


def watch(trace: AnyTrace) -> None:
    """The trace notes every attribute that its thread reads. Otherwise Modules have no
    __getattribute__, which is slow."""
    with _lock:
        _watching.append(trace)
        Attributes.__getattribute__ = _observed  # type: ignore[method-assign, assignment]


def unwatch(trace: AnyTrace) -> None:
    """Ends that; nothing happens where it is not watching."""
    with _lock:
        _watching[:] = [other for other in _watching if other is not trace]
        if not _watching and "__getattribute__" in vars(Attributes):
            del Attributes.__getattribute__


class Attribute:
    """One that was read, its value then, and how often it had been set if that is neither plain nor
    missing.

    noted: how often each attribute of the Module has been set, which counts on there.
    """

    __slots__ = ("is_assigned", "module", "name", "noted", "times", "value")

    def __init__(self, module: Attributes, name: str, value: object, noted: dict[str, int]) -> None:
        # no descriptor made it
        is_compared = value is MISSING or (is_plain(value) and _present(module, name) is value)
        self.module, self.name, self.noted, self.is_assigned = (
            weakref.ref(module),
            name,
            noted,
            False,
        )
        self.value = value if is_compared else MISSING
        self.times = None if is_compared else noted.get(name, 0)

    def now(self) -> Any:
        """The value of a plain or missing one, which stays where the function itself assigned to it
        while it was traced."""
        module = self.module()
        if module is None or self.is_assigned:
            return self.value
        if self.value is MISSING:  # a metaclass may have one of the name, such as mro
            return _fields(module).get(self.name, MISSING)
        return _present(module, self.name)

    def differs(self) -> bool:
        """Has one that the function did not assign to got another value."""
        if self.times is None:
            return not same(self.now(), self.value)
        return self.noted[self.name] != self.times


class Reads:
    """What a function reads while it is traced. live_numbers: those that have changed before become
    inputs."""

    def __init__(self, trace: AnyTrace, live_numbers: bool) -> None:
        self._trace, self._gives_live_numbers = trace, live_numbers
        self._modules: dict[
            int, Attributes
        ] = {}  # in the order in which they are met; kept, so that ids stay theirs
        self._attributes: dict[tuple[int, str], Attribute] = {}
        self._numbers: dict[tuple[int, str], LiveNumber] = {}
        self._decisions: list[tuple[Ask, object, Sources]] = []

    @property
    def has_given_numbers(self) -> bool:
        """Has the function got a LiveNumber."""
        return bool(self._numbers)

    def seen(self, module: Attributes, name: str, value: Any) -> object:
        """What the function gets for an attribute of this value. MISSING: there is none."""
        key = id(module), name
        attribute = self._attributes.get(key)
        if attribute is not None:
            return value if attribute.is_assigned else self._numbers.get(key, value)
        fields = _fields(module)
        if name in fields or name == PARTS or _can_be_set_over(type(module), name):
            noted = fields.setdefault(READ, Noted()).times
            times = noted.setdefault(name, 0)
            attribute = self._attributes[key] = Attribute(module, name, value, noted)
            self._modules[id(module)] = module
            if (
                self._gives_live_numbers
                and times
                and attribute.times is None
                and type(value) in (int, float)
            ):
                value = self._numbers[key] = LiveNumber(
                    self._trace, attribute.now, value, frozenset({attribute})
                )
        return value

    def assigned(self, module: Attributes, name: str) -> None:
        """The function sets an attribute, which is no part of the signature then."""
        attribute = self._attributes.setdefault(
            (id(module), name), Attribute(module, name, None, {})
        )
        attribute.is_assigned = True
        self._modules[id(module)] = module

    def decided(self, ask: Ask, answer: object, sources: Sources) -> None:
        """The function goes on by what a LiveNumber gives."""
        if not self._trace.is_over:
            self._decisions.append((ask, answer, sources))

    def conditions(self) -> Conditions:
        """What must be as it was for the trace to hold."""
        compared = [
            a
            for key, a in self._attributes.items()
            if key not in self._numbers and not a.is_assigned
        ]
        compared.sort(key=lambda a: a.name == PARTS)  # says less than others do
        return Conditions([*map(weakref.ref, self._modules.values())], compared, self._decisions)


# ---------------------------------------------------------------- what has changed


class Conditions:
    """Attributes that must be as they were, and answers that must be the same."""

    def __init__(
        self,
        modules: list[weakref.ref[Attributes]],
        attributes: list[Attribute],
        decisions: list[tuple[Ask, object, Sources]],
    ) -> None:
        self._modules, self._attributes, self._decisions = modules, attributes, decisions

    def difference(self) -> Callable[[], str] | None:
        """A description of the first one that is not; None where all are."""
        for attribute in self._attributes:
            if attribute.differs():
                return partial(self._told, attribute)
        for ask, answer, sources in self._decisions:
            if not _answers(ask, answer):
                return partial(
                    self._told,
                    next((s for s in sources if not same(s.now(), s.value)), next(iter(sources))),
                )
        return None

    def _told(self, attribute: Attribute) -> str:
        module = attribute.module()
        kind, where = type(module).__name__, self._path(module)
        if attribute.name == PARTS:
            return f"{where or kind} has got other parts"
        what = f"{kind}.{attribute.name}{where and f' of {where}'}"
        if attribute.times is not None:
            return f"{what} was set anew"
        old, new = (
            "nothing" if value is MISSING else brief(value)
            for value in (attribute.value, attribute.now())
        )
        return f"{what} changed from {old} to {new}"

    def _path(self, module: Attributes | None) -> str:
        """Where the Module stands in the first one that holds it, such as Net.drop; nothing for one
        that stands alone."""
        for root in (ref() for ref in self._modules):
            if root is not None and root is not module:
                for name, part in root.named_modules():  # type: ignore[attr-defined]
                    if part is module:
                        return f"{type(root).__name__}.{name}"
        return ""


def _answers(ask: Ask, answer: object) -> bool:
    try:
        return same(ask(), answer)
    except (
        Exception
    ):  # as a division by a number that is 0 now: the function, traced anew, raises it at its line
        return False
