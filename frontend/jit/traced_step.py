"""A traced function, ready to run. In: Tensors and numbers of the signature it was traced for. Out:
results, by one native call.

What differs from call to call is a few addresses. A Tensor that the function assigns to keeps its
Leaf where reference counts show that nothing else can see it: then it is written in place, or
exchanges its memory, and nothing else in Python changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ...ir.graph.index import row_major_strides
from ...ir.graph.op import Op
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import Storage
from ...signals import Actions, deferred
from ..lazy import program_table, realize, state, watchers
from ..lazy.any_tensor import AnyTensor
from ..lazy.run import late_interrupt, lines_of
from ..lazy.trace import Trace, require_no_grad
from ..tensor.tensor import Tensor, of_storage
from .dynamic_axes import Dynamic
from .fast_call import Known, is_repeatable, references, repeater
from .live_scalars import Scalars
from .signature import TENSOR, Key, Layout, Structure, mapped
from .traced_program import Result, TracedProgram, View

if TYPE_CHECKING:
    from ...compiler.programs.nan_checked import Watched


@cache
def alone() -> int:
    """The value of `references` for a Tensor with no other holder; measured, because it depends on
    Python."""
    from ..tensor.creation import tensor

    sole = tensor(0.0, device=CPU)
    sole._stored()
    return references([sole])[0]


class Steps(dict[Key, list["TracedStep"]]):
    """The specialisations of one function by the signature of a call; `last`: the one that ran
    last; `memory`: the bytes that each may take; `dynamic`: may programs serve several sizes, and
    of which axes from the first one on."""

    last: TracedStep | None = None
    memory: int | None = None  # bytes that a step may take
    dynamic: Dynamic = True


class TracedStep:
    """One specialisation of a jitted function. Numbers of Tensors count the given ones, then the
    captured. `several_sizes`: may its program serve others, too."""

    def __init__(
        self,
        recorded: TracedProgram,
        trace: Trace,
        layouts: list[Layout],
        structure: Structure = (),
        several_sizes: bool = True,
    ) -> None:
        self.program = program_table.find(recorded.key, recorded.capture, several_sizes)
        self.structure = self.program.structure.at(
            recorded.capture.sites, recorded.capture.origins()
        )
        self.lines = lines_of(self.program, self.structure.sites)
        # under realize.lock, so for one at a time
        self.prepared = self.program.executable.prepared()
        self.words = self.prepared.words
        self.name, self.key = recorded.name, recorded.key
        self.layouts, self.tracked = (
            [layout for layout, _ in layouts],
            [tracked for _, tracked in layouts],
        )
        given = recorded.tensors[: len(layouts)]
        self.is_aliased = len({*map(id, given)}) < len(given)
        # and nothing else
        self.takes_tensors = not self.is_aliased and all(part is TENSOR for part in structure)
        self.captured: list[AnyTensor] = recorded.tensors[len(layouts) :]
        self.captured_layouts = [s.layout for s in map(realize.value, self.captured)]
        self._tracked = [t._requires_grad for t in self.captured]
        self.grad_enabled, self.autocast = state.grad_enabled(), state.autocast()
        self._conditions = trace.reads.conditions()
        self.known = Known()
        self.guards, self.afterwards = trace.guards, trace.afterwards
        self.without = recorded.without
        self.scalars = Scalars(trace, recorded.numbers)
        self._plan_inputs(recorded)
        self._plan_outputs(recorded)
        self.results, self.result, self.gradients = (
            recorded.results,
            recorded.result,
            recorded.gradients,
        )
        self.repeat = repeater(self, alone()) if is_repeatable(self) else None

    # ------------------------------------------------------------ plans

    def _plan_inputs(self, recorded: TracedProgram) -> None:
        """`inputs`: (which word, which Tensor, the offset of its part in bytes). Other inputs stay
        where they are."""
        capture = recorded.capture
        constants = program_table.constants_of(self.program, capture)
        # lives as long as this
        self._kept = [s for s in [*capture.inputs, *constants] if not s.is_absent]
        for kept in self._kept:
            kept.mark_shared()
        self.inputs = [
            (word, t, offset)
            for word, (t, _, offset) in enumerate(recorded.inputs)
            if t is not None
        ]
        stays: list[tuple[int | None, int | None, int]] = [
            (None, None, s.address) for s in constants
        ]
        for word, (tensor, slot, address) in enumerate([*recorded.inputs, *stays]):
            if tensor is None:
                self.words[word] = address if slot is None else self.scalars.address + 8 * slot
        self.first_output = len(recorded.inputs) + len(constants)

    def _plan_outputs(self, recorded: TracedProgram) -> None:
        """An output has the memory of the Tensor it replaces, the donor, where that is allowed and
        free; else it is new."""
        allowed = self.program.executable.donations
        self.donors = {o: t for o, t in recorded.donations if o in allowed}
        device = recorded.capture.device
        self.makers = [storage.allocator(*layout, device) for layout in recorded.outputs]
        self.new_layouts = [
            (dtype, shape, row_major_strides(shape), device) for dtype, shape in recorded.outputs
        ]
        self.updates, self.moves = recorded.updates, recorded.moves

    # ------------------------------------------------------------ does it fit

    def fits(self, tensors: Sequence[Tensor], given: Sequence[Storage]) -> bool:
        """Is this the step for these arguments, and for what the function reads from outside as
        that is now."""
        if [s.layout for s in given] != self.layouts or [
            t._requires_grad for t in tensors
        ] != self.tracked:
            return False
        changes = state.changes.count
        if self.change() is not None:
            return False
        same = [realize.value(t).layout for t in self.captured] == self.captured_layouts
        same = same and [t._requires_grad for t in self.captured] == self._tracked
        if same and not watchers.demand_blocks.hold():
            self.known.changes = changes
        return same

    def change(self) -> Callable[[], str] | None:
        """A description of something that Python has changed since the trace, or None."""
        if (
            self.known.changes != state.changes.count
            and (difference := self._conditions.difference()) is not None
        ):
            return difference
        for what, value in self.guards:
            if (now := what()) != value:
                return partial("{} is new, it was {}".format, now, value)
        return None

    # ------------------------------------------------------------ the call

    def run(
        self, tensors: Sequence[Tensor], given: Sequence[Storage], numbers: Sequence[float]
    ) -> Any:
        """The function's result, whatever has changed since the last call. The caller holds
        realize.lock."""
        if watchers.demands:
            watchers.on_run(self.program, self.structure)
        handles = [*tensors, *self.captured]
        for number in self.without:
            require_no_grad(self.name, handles[number])
        self.known.tokens = []
        free = {t: self._is_free(handles[t], held=t < len(given)) for t, _ in self.updates}
        memory = [*given, *map(realize.value, self.captured)]
        for word, t, offset in self.inputs:
            self.words[word] = memory[t].address + offset
        outputs: list[Storage] = []
        watched = program_table.watched_of(self.program)
        for o, make in enumerate(self.makers):
            donor = self.donors.get(o)
            outputs.append(
                memory[donor] if donor is not None and free[donor] and watched is None else make()
            )
            self.words[self.first_output + o] = outputs[o].address
        program_table.statistics["runs"] += 1
        self.scalars.mark()
        execute = self.prepared.execute if watched is None else partial(self._execute, watched)
        has_run, actions = False, Actions(self.afterwards)
        try:
            self.scalars.fill(numbers)
            has_run = execute() is None
            result = self._finished(handles, memory, outputs, actions)
        except BaseException as failure:
            with deferred():
                if not has_run:
                    lines = (
                        self.lines
                        if watched is None
                        else lines_of(self.program, self.structure.sites)
                    )
                    failure = late_interrupt(failure, self.program, lines, self.scalars.undo)
                self._finished(handles, memory, outputs, actions)
                raise failure from None
        program_table.statistics["donated"] += (
            0 if watched else sum(free[t] for t in self.donors.values())
        )
        if self.repeat is not None and self.captured:
            self._remember()
        return result

    def _execute(self, watched: Watched) -> None:
        """The run of what checks its values; the next call must look, too."""
        self.known.changes = -1
        last = self.first_output + len(self.makers)
        watched.run(self.words[: self.first_output], self.words[self.first_output : last])

    def inputs_of(
        self, given: Sequence[Storage], numbers: Sequence[float]
    ) -> tuple[list[int], object]:
        """The addresses that a call would read, and what keeps them. Nothing changes. The caller
        holds realize.lock."""
        self.scalars.mark()
        self.scalars.fill(numbers)
        block = self.scalars.copied()
        self.scalars.undo()
        memory = [*given, *map(realize.value, self.captured)]
        moved, words = block.address - self.scalars.address, self.words[: self.first_output]
        addresses = [word + moved if self.scalars.holds(word) else word for word in words]
        for word, t, offset in self.inputs:
            addresses[word] = memory[t].address + offset
        return addresses, (self, block, memory)

    def _is_free(self, t: AnyTensor, held: bool) -> bool:
        """May the memory of a Tensor be overwritten. `held`: it is one of the arguments, whose
        memory is in a list."""
        if not hasattr(t, "_node"):
            state.give_leaf(t)
        s = t._storage
        assert s is not None
        pinned = (
            s.shared
            or s.buffer.exported
            or s.buffer.foreign
            or t._node.op is not Op.INPUT
            or t._node.arg.storage is not s
        )
        del s
        return not pinned and references([t])[0] == alone() + held

    def _remember(self) -> None:
        """Notes where the memory of what is captured is now, for calls like this one. What was
        assigned to is free by now."""
        memory = [realize.value(t) for t in self.captured]
        if [s.layout for s in memory] != self.captured_layouts:
            return
        first = len(self.layouts)
        for word, t, offset in self.inputs:
            if t >= first:
                self.words[word] = memory[t - first].address + offset
        for o, t in self.donors.items():
            self.words[self.first_output + o] = memory[t - first].address
        for s in memory:
            s.token = s.token or object()
        self.known.tokens = [s.token for s in memory]

    def _finished(
        self,
        handles: Sequence[AnyTensor],
        memory: Sequence[Storage],
        outputs: Sequence[Storage],
        actions: Actions,
    ) -> Any:
        """After the run: new memory, Tensors that become views, gradients, what Python does, and
        the result. May be done again where it was interrupted.
        """
        for t, o in self.updates:
            if outputs[o] is not memory[t]:
                state.replace(handles[t], outputs[o])
        for t, view in self.moves:
            state.replace(handles[t], _shown(view, memory))
        values = [_value(r, handles, memory, outputs) for r in self.results]
        for t, place in self.gradients:
            handles[t]._grad = None if place is None else values[place]
        actions.finish()
        return values[0] if self.result == 0 else mapped(self.result, values.__getitem__)


def _value(
    r: Result, handles: Sequence[AnyTensor], memory: Sequence[Storage], outputs: Sequence[Storage]
) -> Any:
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
