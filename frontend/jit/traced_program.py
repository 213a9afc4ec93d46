"""The program of a traced function. In: a Trace, and what the function returned. Out: a
TracedProgram: key, sources of inputs, uses of outputs.

The outputs of the program are the next versions of Tensors that the function assigned to, in the
order of realize, then what it returned. A result that is but a view of an argument needs no
program, unless it would show memory that is not Weft's.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import errors
from ...compiler.structure import Key
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, node
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ...runtime.memory.storage import VIEWED, Storage, seen_through
from ..lazy import state, transfers, weak_numbers
from ..lazy.any_tensor import AnyTensor
from ..lazy.capture import Capture, is_constant
from ..lazy.job import donations_of, root_of, visit
from ..lazy.live_number import plain
from ..lazy.trace import Trace
from ..operands.broadcast import default_float, default_int
from ..tensor.tensor import Tensor
from .signature import mapped

NOTE = "it is the result of a jitted function: call backward() inside"


@dataclass(frozen=True)
class View:
    """Part of the memory of a Tensor: number `tensor` of those that the program sees; None:
    `stored` is the memory itself."""

    tensor: int | None
    stored: Storage


@dataclass(frozen=True)
class Result:
    """One leaf of what the function returns: a Tensor from outside by its number, an output, a
    view, or any other `value`."""

    tensor: int | None = None
    output: int | None = None
    view: View | None = None
    value: object = None
    note: str | None = None  # why it has no history


@dataclass
class TracedProgram:
    """`tensors`: those given, then those captured, as numbers refer to them."""

    name: str
    tensors: list[AnyTensor]
    capture: Capture
    key: Key = ()
    # Tensor or slot of a scalar, byte offset
    inputs: list[tuple[int | None, int | None, int]] = field(default_factory=list)
    outputs: list[tuple[DType, Shape]] = field(default_factory=list)
    updates: list[tuple[int, int]] = field(default_factory=list)  # (Tensor, output)
    moves: list[tuple[int, View]] = field(default_factory=list)  # (Tensor, view that it gets)
    # (output, Tensor whose memory it may take)
    donations: list[tuple[int, int]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    # those used: which argument, in which dtype
    numbers: list[tuple[int, DType]] = field(default_factory=list)
    result: Any = None  # what was returned, the number of a Result for each leaf
    # (Tensor, the Result that its .grad becomes)
    gradients: list[tuple[int, int | None]] = field(default_factory=list)
    without: list[int] = field(default_factory=list)  # Tensors that must have no .grad before


def record(
    trace: Trace, given: Sequence[Tensor], arrays: Sequence[int], result: object
) -> TracedProgram:
    """In the running trace, after the function has returned."""
    return _Recorder(trace, given, arrays).record(result)


class _Recorder:
    def __init__(self, trace: Trace, given: Sequence[Tensor], arrays: Sequence[int]) -> None:
        self.trace = trace
        # by id of the Tensor
        self.numbers = {id(t): i for i, t in reversed(list(enumerate(given)))}
        self.foreign = {given[i] for i in arrays}
        self.out = TracedProgram(trace.name, list(given), Capture())
        self.places = {id(o.leaf.arg.storage.buffer): o.tensor for o in trace.outers.values()}
        self.slots: dict[int, int] = {}  # by id of a buffer: the first of its slots
        self.slot = 0  # the next one
        for leaf in [leaf for live in trace.live for leaf in live.leaves]:
            self._take_slots(leaf.arg.storage.buffer, leaf.size)
        numbers = enumerate(trace.numbers)
        self.versions = {
            id(n.arg.storage.buffer): (i, d)
            for i, number in numbers
            for d, n in number.versions.items()
        }
        self.leaves: dict[int, int] = {}  # the Result of a Tensor that was returned, by its id

    def record(self, result: object) -> TracedProgram:
        out, trace = self.out, self.trace
        updated = self._updated()
        returned: list[Tensor] = []
        out.result = mapped(result, lambda leaf: self._leaf(leaf, returned))
        targets = [(self._number(t), trace.outer(t).node) for t in updated]
        sources = [self._materialised(t) for t in returned]
        out.capture = Capture(self._device(targets, sources))
        out.capture.owners = {buffer: weakref.ref(t) for buffer, t in self.places.items()}
        for n in [n for _, n in targets] + sources:
            visit(out.capture, root_of(n))
        self._finish(targets, returned, sources)
        self._gradients()
        return out

    def _device(self, targets: list[tuple[int, Node]], sources: list[Node]) -> str:
        """Where the program runs. Raises JitError where that is not one device."""
        wanted = [
            root
            for n in [*(n for _, n in targets), *sources]
            if seen_through(root := root_of(n)) is None
        ]
        device = transfers.one_device(self.out.name, wanted)
        for number, n in targets:
            t = self.out.tensors[number]
            if (
                (stored := t._storage) is not None
                and stored.device != device
                and root_of(n) in wanted
            ):
                what = f"gives {state.described(t)} on {stored.device} a value on {device}"
                raise errors.JitError(
                    f"the jitted function {self.out.name} {what}: {transfers.ONE_DEVICE}"
                )
        return device

    def _updated(self) -> list[AnyTensor]:
        """The Tensors from outside that have another value now: the assigned ones in the order of
        realize, then the others."""
        assigned = [t for t in state.take_pending() if self.trace.is_outer(t)]
        known = {id(t) for t in assigned}
        changed = [
            o.tensor
            for o in self.trace.outers.values()
            if o.node is not o.leaf and id(o.tensor) not in known
        ]
        return assigned + changed

    def _number(self, t: AnyTensor) -> int:
        """A Tensor from outside as the TracedProgram refers to it."""
        if id(t) not in self.numbers:
            self.numbers[id(t)] = len(self.out.tensors)
            self.out.tensors.append(t)
        return self.numbers[id(t)]

    def _leaf(self, x: object, returned: list[Tensor]) -> int:
        """The number of the Result for one leaf of what was returned."""
        if not isinstance(x, Tensor):
            return self._add(Result(value=plain(x)))
        if id(x) not in self.leaves:
            if self.trace.is_outer(x) and x not in self.foreign:
                self.leaves[id(x)] = self._add(Result(tensor=self._number(x)))
            else:
                self.leaves[id(x)] = self._add(Result())  # filled in when the outputs are known
                returned.append(x)
        return self.leaves[id(x)]

    def _add(self, result: Result) -> int:
        self.out.results.append(result)
        return len(self.out.results) - 1

    def _materialised(self, t: Tensor) -> Node:
        """The Node of a result: strong, and copied where it would show memory that the next call,
        or another library, writes."""
        n: Node = t.node
        if n in weak_numbers.marks:
            n = cast(
                n,
                default_float() if n.dtype.is_float else default_int if n.dtype.is_int else n.dtype,
            )
        root = root_of(n)
        while root.op in VIEWED:
            root = root_of(root.src[0])
        stored = root.arg.storage if root.op is Op.INPUT else None
        if stored is None or not stored.is_absent:
            return n
        source = self.places.get(id(stored.buffer))
        return node(Op.KEEP, (n,)) if source is None or source in self.foreign else n

    def _finish(
        self, targets: list[tuple[int, Node]], returned: list[Tensor], sources: list[Node]
    ) -> None:
        out, capture, views = self.out, self.out.capture, self.out.capture.views
        wanted = [n for _, n in targets if root_of(n) not in views]
        places = {root_of(n): k for k, n in reversed(list(enumerate(wanted)))}  # of outputs
        for n in sources:
            root = root_of(n)
            if root not in views and root not in places:
                places[root] = len(wanted)
                wanted.append(n)
        numbers = capture.numbers([root_of(n) for n in wanted])
        donations = donations_of(wanted, capture)
        out.key = capture.finish(numbers, donations)
        out.outputs = [(n.dtype, n.shape) for n in wanted]
        out.inputs = [self._input(s) for s in capture.inputs]
        order = iter(range(len(wanted)))
        for number, n in targets:
            view = views.get(root_of(n))
            if view is None:
                out.updates.append((number, next(order)))
            else:
                out.moves.append((number, self._view(view)))
        for t, n in zip(returned, sources, strict=True):
            root, note = root_of(n), NOTE if t._requires_grad else None
            shown = None if root in places else self._view(views[root])
            out.results[self.leaves[id(t)]] = Result(output=places.get(root), view=shown, note=note)
        self._donate(donations)

    def _input(self, stored: Storage) -> tuple[int | None, int | None, int]:
        """Where an input's memory is: a Tensor and an offset in bytes, a slot of the scalars, or an
        address that stays."""
        buffer = id(stored.buffer)
        if buffer in self.places:
            return self._number(self.places[buffer]), None, stored.address
        if buffer in self.versions:
            self._take_slots(stored.buffer, 1)
            self.out.numbers.append(self.versions[buffer])
        return None, self.slots.get(buffer), stored.address

    def _take_slots(self, buffer: object, count: int) -> None:
        self.slots[id(buffer)] = self.slot
        self.slot += count

    def _view(self, stored: Storage) -> View:
        t = self.places.get(id(stored.buffer))
        return View(None if t is None else self._number(t), stored)

    def _donate(self, donations: list[tuple[int, int]]) -> None:
        """Memory that a view shows after the call is not donated."""
        views = [v for _, v in self.out.moves] + [
            r.view for r in self.out.results if r.view is not None
        ]
        shown = {v.tensor for v in views}
        for output, i in donations:
            tensor = self.out.inputs[i][0]
            if tensor is not None and tensor not in shown and (tensor, output) in self.out.updates:
                self.out.donations.append((output, tensor))

    def _gradients(self) -> None:
        self.out.without = [self._number(t) for t in self.trace.assumes_no_grad]
        outers = [o for o in self.trace.outers.values() if o.is_gradient_used]
        self.out.gradients = [
            (self._number(o.tensor), self.leaves.get(id(o.gradient))) for o in outers
        ]
        roots = {id(o.gradient): root_of(o.gradient.node) for o in outers if o.gradient is not None}
        if roots and not any(
            g in self.leaves or is_constant(n) or n in self.out.capture.index
            for g, n in roots.items()
        ):
            self._warn_of_lost_gradients(next(iter(roots.values())))

    def _warn_of_lost_gradients(self, gradient: Node) -> None:
        """backward() without effect: most often the optimiser's step stands outside of the
        function."""
        line = gradient.site or (self.trace.name, 0)
        what = (
            f"the jitted function {self.trace.name} calls backward(), but uses and returns none of"
            " the gradients"
        )
        advice = (
            "after a call there is no .grad: call optimizer.step() in the function, or return the"
            " gradients"
        )
        warnings.warn_explicit(f"{what}; {advice}", errors.GradientWarning, line[0], line[1])
