"""A traced function, ready to run. In: Tensors and numbers of the signature it was traced for. Out: results, by one native call.

What differs from call to call is a few addresses. A Tensor that the function assigns to keeps its memory, written in place, where
reference counts tell that nobody else can see it: then nothing in Python changes at all.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cache
from operator import add, itemgetter
from sys import getrefcount
from typing import Any

from . import realize, state, storage
from .plain import is_plain, plain
from .recorded import Recorded, Result, View
from .scalars import Scalars
from .signature import Layout, mapped
from .storage import Storage
from .tensor import Tensor, of_storage
from .trace import Trace, Training, require_no_grad


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that gives the items at these places."""
    if len(places) == 1:
        only = places[0]
        return lambda items: (items[only],)
    return itemgetter(*places) if places else lambda items: ()


def references(tensors: Sequence[Tensor], memory: Sequence[Storage]) -> list[int]:
    """How often each Tensor's Leaf and memory are referred to, together."""
    return [getrefcount(t._node) + getrefcount(s) for t, s in zip(tensors, memory, strict=True)]


@cache
def alone() -> int:
    """What `references` gives for a Tensor that nobody else sees; measured in the way of Step.run, for it depends on Python."""
    from .creation import tensor

    sole = tensor(0.0)
    captured = [sole._stored()]
    memory = [*captured]
    return references((sole,), picker([0])(memory))[0]


class Step:
    """One specialisation of a jitted function. Numbers of Tensors count the given ones, then the captured."""

    def __init__(self, recorded: Recorded, trace: Trace, layouts: list[Layout], structure: Any = ()) -> None:
        self.program = realize.find(recorded.key, recorded.capture)
        self.lines = realize.lines_of(self.program, recorded.capture)
        self.call = self.program.executable.caller()  # under realize.lock, so one at a time
        self.name, self.key, self.layouts = recorded.name, recorded.key, layouts
        self._captured: list[Tensor] = recorded.tensors[len(layouts) :]
        self._layouts = [(s.dtype, s.strides) for s in map(realize.value, self._captured)]
        self._tracked = [t._requires_grad for t in self._captured]
        self._modules = [(weakref.ref(m), training) for m, training in trace.modules.values()]
        self._asked = Training.changes
        self._guards, self._afterwards = trace.guards, trace.afterwards
        self._asks = bool(self._modules or self._guards)
        self._without = recorded.without
        self._scalars = Scalars(trace, recorded.numbers)
        self._has_scalars = bool(recorded.numbers or trace.live)
        self._plan_inputs(recorded)
        self._plan_outputs(recorded)
        self._results, self._result, self._gradients = recorded.results, recorded.result, recorded.gradients
        only = self._results[0] if self._result == 0 else Result()
        has_state = self._has_scalars or self._asks or bool(self._afterwards or self._fixed)
        self.plain = plain(self) if is_plain(recorded, structure, layouts, has_state) else None
        self._only = only if only.output is not None and not self._gradients else None

    # ------------------------------------------------------------ plans

    def _plan_inputs(self, recorded: Recorded) -> None:
        """An input is at the address of a Tensor and an offset, or at one that stays: `_fixed`."""
        constants = realize.constants_of(self.program, recorded.capture)
        self._kept = [s for s in [*recorded.capture.inputs, *constants] if not s.is_absent]  # lives as long as this
        for kept in self._kept:
            kept.mark_shared()
        stays: list[tuple[int | None, int | None, int]] = [(None, None, s.address) for s in constants]
        sources = [*recorded.inputs, *stays]
        where = [address if slot is None else self._scalars.address + 8 * slot for _, slot, address in sources]
        first = len(recorded.tensors)
        self._fixed = [at for at, (tensor, _, _) in zip(where, sources, strict=True) if tensor is None]
        later = iter(range(first, first + len(self._fixed)))
        self.inputs = picker([next(later) if tensor is None else tensor for tensor, _, _ in sources])
        offsets = [0 if tensor is None else offset for tensor, _, offset in sources]
        self._offsets = offsets if any(offsets) else None

    def _plan_outputs(self, recorded: Recorded) -> None:
        """An output has the memory of the Tensor it replaces, the donor, where that is allowed and free; else it is new."""
        allowed = self.program.executable.donations
        donors = {o: t for o, t in recorded.donations if o in allowed}
        self._donors = picker(list(donors.values()))
        self._alone = [alone()] * len(donors)
        self.new = [storage.allocator(*layout) for o, layout in enumerate(recorded.outputs) if o not in donors]
        order = [*donors, *(o for o in range(len(recorded.outputs)) if o not in donors)]
        self._order = None if order == sorted(order) else picker([order.index(o) for o in range(len(order))])
        self._updates = recorded.updates
        self._others = [(t, o) for t, o in recorded.updates if o not in donors]  # that get new memory at every call
        self._moves = recorded.moves

    # ------------------------------------------------------------ does it fit

    def fits(self, tensors: Sequence[Tensor], given: Sequence[Storage]) -> list[Storage] | None:
        """The memory of what the function reads from outside, or None where this is not the step for these arguments."""
        for t, s, layout in zip(tensors, given, self.layouts, strict=True):
            if (s.dtype, s.shape, s.strides, t._requires_grad) != layout:
                return None
        if self._asks and self.change():
            return None
        if not self._captured:
            return []
        captured: list[Any] = [t._storage for t in self._captured]
        if None in captured:
            captured = [realize.value(t) for t in self._captured]
        same = [(s.dtype, s.strides) for s in captured] == self._layouts
        same = same and [t._requires_grad for t in self._captured] == self._tracked
        return captured if same else None

    def change(self) -> str | None:
        """What Python has changed since the trace, or None."""
        if self._modules and self._asked != (asked := Training.changes):
            for ref, training in self._modules:
                module = ref()
                if module is not None and module.training is not training:
                    return f"{type(module).__name__}.training is {module.training}"
            self._asked = asked
        for what, value in self._guards:
            if (now := what()) != value:
                return f"{now} is new, it was {value}"
        return None

    # ------------------------------------------------------------ the call

    def run(self, tensors: Sequence[Tensor], given: list[Storage], captured: list[Storage], numbers: Sequence[float]) -> Any:
        """The function's result. Whoever calls holds realize.lock."""
        handles = [*tensors, *self._captured]
        for number in self._without:
            require_no_grad(self.name, handles[number])
        if self._has_scalars:
            self._scalars.fill(numbers)
        memory = [*given, *captured]
        inputs = self.inputs([*[s.address for s in memory], *self._fixed])
        if self._offsets is not None:
            inputs = tuple(map(add, inputs, self._offsets))
        outputs, in_place = self._outputs(handles, memory)
        realize.statistics["runs"] += 1
        try:
            self.call(inputs, [s.address for s in outputs])
        except BaseException as failure:
            raise realize.explained(failure, self.program, self.lines) from None
        for t, o in self._others if in_place else self._updates:
            if outputs[o] is not memory[t]:
                state.replace(handles[t], outputs[o])
        return self._finished(handles, memory, outputs)

    def _outputs(self, handles: Sequence[Tensor], memory: Sequence[Storage]) -> tuple[Sequence[Storage], bool]:
        """Memory for the outputs; whether all that may be are written in place."""
        in_place = True
        donors: Any = self._donors(memory)
        if donors:
            is_free = self._free(self._donors(handles), donors)
            if not all(is_free):
                in_place = False
                donors = [s if free else storage.allocate(s.dtype, s.shape) for s, free in zip(donors, is_free, strict=True)]
            realize.statistics["donated"] += sum(is_free)
        outputs = [*donors, *[make() for make in self.new]]
        return (outputs if self._order is None else self._order(outputs)), in_place

    def _free(self, donors: Sequence[Tensor], memory: Sequence[Storage]) -> list[bool]:
        """May the memory of each Tensor be overwritten."""
        try:
            counts = references(donors, memory)
        except AttributeError:  # one has no Leaf yet
            counts = references([t for t in donors if t.node], memory)
        pinned = [s.shared or s.node is not None or s.buffer.exported or s.buffer.foreign for s in memory]
        return [n == least and not p for n, least, p in zip(counts, self._alone, pinned, strict=True)]

    def _finished(self, handles: Sequence[Tensor], memory: Sequence[Storage], outputs: Sequence[Storage]) -> Any:
        """After the run: Tensors that become views, gradients, what Python does, and the result."""
        for t, view in self._moves:
            state.replace(handles[t], _shown(view, memory))
        if self._only is not None:
            assert self._only.output is not None
            values = [of_storage(outputs[self._only.output], self._only.note)]
        else:
            values = [_value(r, handles, memory, outputs) for r in self._results]
        for t, place in self._gradients:
            handles[t]._grad = None if place is None else values[place]
        for action in self._afterwards:
            action()
        return values[0] if self._result == 0 else mapped(self._result, values.__getitem__)


def _value(r: Result, handles: Sequence[Tensor], memory: Sequence[Storage], outputs: Sequence[Storage]) -> Any:
    if r.output is not None:
        return of_storage(outputs[r.output], r.note)
    if r.view is not None:
        return of_storage(_shown(r.view, memory), r.note)
    return r.value if r.tensor is None else handles[r.tensor]


def _shown(view: View, memory: Sequence[Storage]) -> Storage:
    """The memory that a view shows in this call."""
    seen = view.stored
    if view.tensor is not None:
        base = memory[view.tensor]
        seen = base.view(seen.shape, seen.strides, base.offset + seen.offset)
    seen.mark_shared()
    return seen
