"""Body of a loop or branch while it is traced. In: the Tensors that it meets. Out: what it did, as
a Graph over placeholders.

As in a jitted function every Tensor from outside stands for a placeholder, and assignments are
noted here. But nothing outside is computed: afterwards the placeholder is what the Tensor's Node
was, or a carry if the body assigns to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import Any, TypeVar

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, cast, const, node
from ...ir.graph.op import Op
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import Storage
from . import realize, state
from .any_tensor import AnyTensor as Tensor
from .trace import Mark, Outer, Recipe, Steps, Trace, described, tracing

R = TypeVar("R")
GOLDEN = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: Knuth, TAOCP 3, 6.4
MASK = (1 << 64) - 1


class OuterOfBody(Outer):
    """`before`: the Tensor's Node outside."""

    __slots__ = ("before",)
    before: Node


class BodyTrace(Trace):
    """A Trace of a body of `wf.name`, which runs `length` times, or as often as nobody knows.
    `counter`: a placeholder for the number of the iteration, if anything needs it."""

    outers: dict[int, OuterOfBody]  # type: ignore[assignment]

    def __init__(self, name: str, length: int | None = None) -> None:
        super().__init__(name)
        self.length = length
        self._steps: list[tuple[Steps, list[Node], tuple[int, int]]] = []
        self._around = state.trace()
        self._depth: int = 1 + getattr(self._around, "_depth", 0)
        self.counter: Node | None = None
        self._read = set[int]()  # ids of Tensors from outside whose values were read

    @property
    def place(self) -> str:
        return f"a body of wf.{self.name}"

    # ------------------------------------------------------------ when it is in force

    def _begin(self) -> None:
        self._resume()

    def _end(self) -> None:
        self._pause()
        self.is_over = True
        for leaf in self.leaves:
            leaf.arg.storage = leaf.arg.owner = None

    def _pause(self) -> None:
        if self._around is None:
            state.traces.pop(get_ident(), None)
        else:
            state.traces[get_ident()] = self._around
        state.exchange(self._outside)

    # ------------------------------------------------------------ Tensors from outside

    def outer(self, t: Tensor, device_free: bool = False) -> Outer:
        """What a Tensor from outside stands for."""
        outer = self.outers.get(id(t))
        if outer is None:
            before, owned = self.outside(lambda: (t.node, t._requires_grad and t.is_leaf))
            leaf = self.like(before, device_free)
            if owned:
                leaf.arg.owner = weakref.ref(t)
            outer = self.outers[id(t)] = OuterOfBody(t, leaf)
            outer.before = before
        return outer

    def like(self, n: Node, device_free: bool = False) -> Node:
        """A placeholder of its dtype and shape, where it is."""
        return self.placeholder(
            n.dtype, n.shape, None, n.device or CPU, device_free or not n.device
        )

    @property
    def places(self) -> dict[Node, Node]:
        """What each placeholder of a Tensor from outside was."""
        return {o.leaf: o.before for o in self.outers.values()}

    def assigned(self) -> list[OuterOfBody]:
        """The Tensors from outside that have another value at the end. Raises JitError for one that
        was read before, or whose gradient would be added to that of the next iteration."""
        for t in self.assumes_no_grad:
            if self.outers[id(t)].gradient is not None:
                raise errors.JitError(
                    f"{self.name}: the body adds to the gradient of {state.described(t)}, which the"
                    " next iteration would start from: call zero_grad() in the body, or return what"
                    " wf.grad gives"
                )
        changed = [o for o in self.outers.values() if o.node is not o.leaf]
        for o in changed:
            if id(o.tensor) in self._read:
                raise errors.JitError(
                    f"{self.name}: the body reads the value of a {described(o.tensor)} and assigns"
                    " to it, so that its value differs from iteration to iteration"
                )
        return changed

    # ------------------------------------------------------------ values that Python knows

    def live_scalars(
        self, recipe: Recipe, dtypes: Sequence[DType], mark: Mark | None = None
    ) -> list[Node]:
        """The same in every iteration."""
        return self.outside(lambda: tracing().live_scalars(recipe, dtypes, mark))

    def live_steps(
        self, values: Steps, dtypes: Sequence[DType], source: object, place: int
    ) -> list[Node]:
        """Those of each iteration: elements of tables, which `tables` makes at the end."""
        if self.length is None or isinstance(self._around, BodyTrace):
            self.refuse("the step of an optimiser, whose number would not be known,")
        leaves = [self.placeholder(d, (), device_free=True) for d in dtypes]
        self._steps.append((values, leaves, (id(source), place)))
        return leaves

    def tables(self) -> list[tuple[Node, Node]]:
        """(what stands for an element, the table) for all that `live_steps` has given."""
        assert self.length is not None or not self._steps
        rows, out = self.length or 0, []
        for values, leaves, key in self._steps:
            _, often = self.turns[key]
            recipe = partial(_columns, values, rows, often)
            made = tracing().live_table(recipe, [leaf.dtype for leaf in leaves], rows)
            out += list(zip(leaves, made, strict=True))
        return out

    def live_source(self, source: object, recipe: Recipe, dtype: DType, now: Node) -> Node:
        return self.outside(lambda: tracing().live_source(source, recipe, dtype, now))

    def draw(self, recipe: Recipe, mark: Mark) -> Node:
        """Another draw in each iteration: apart by a multiple of an odd number that depends on the
        depth."""
        first = self.outside(lambda: tracing().draw(recipe, mark))
        if self.counter is None:
            self.counter = self.placeholder(dt.int64, (), device_free=True)
        step = const((2 * self._depth - 1) * GOLDEN & MASK, dt.uint64)
        return node(Op.ADD, (first, node(Op.MUL, (cast(self.counter, dt.uint64), step))))

    def guard(self, what: Callable[[], object]) -> None:
        self.outside(lambda: tracing().guard(what))

    def number(self, value: float) -> Node:
        raise AssertionError("a body has no arguments that are Python numbers")

    @property
    def reads(self) -> Any:
        """What the function around notes of the attributes of Modules."""
        return NOTHING if self._around is None else self._around.reads

    @reads.setter
    def reads(self, _: object) -> None: ...

    def read(self, t: Tensor, how: Callable[[Storage], R]) -> R:
        """The value of a Tensor from outside, which is the same in each iteration; of what the body
        computes there is none."""
        if self.is_outer(t) and self.outer(t).node is self.outer(t).leaf:
            self._read.add(id(t))
            return self.outside(lambda: realize.read(t, how))
        self.require_constant(t)
        return super().read(t, how)

    def after_call(self, action: Callable[[], None]) -> None:
        """Once for each iteration, after `finish`."""
        if self.length is None:
            self.refuse("what happens once for each iteration, the step of an optimiser,")
        self.afterwards.append(action)

    def finish(self) -> None:
        """The loop is made: what Python does after it happens, or waits for the end of a call."""
        actions, count = list(self.afterwards), self.length or 0

        def often() -> None:
            for _ in range(count):
                for action in actions:
                    action()

        if actions:
            tracing().after_call(often)


def _columns(values: Steps, rows: int, often: int) -> list[float]:
    """The values of each of so many iterations, column by column."""
    table = [values(t * often) for t in range(rows)]
    return [x for column in zip(*table, strict=True) for x in column]


class _Nothing:
    """Where no function around is traced, nothing is noted."""

    def seen(self, module: Any, name: str, value: Any) -> object:
        return value

    def assigned(self, module: Any, name: str) -> None: ...
    def decided(self, ask: object, answer: object, sources: object) -> None: ...


NOTHING = _Nothing()
