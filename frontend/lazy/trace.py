"""A jitted function while it runs for the first time. In: the Tensors it meets. Out: what it did,
as a graph over placeholders.

While a Trace is in force in a thread, every Tensor from outside stands for a placeholder: an INPUT
without memory. What the function assigns to such a Tensor is noted here; the Tensor itself is left
alone, so an exception undoes everything. Values that Python computes anew at every call (a learning
rate, a draw number) are placeholders with a recipe.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TypeVar

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, reach, sources
from ...ir.graph.shapes import Shape
from ...ir.graph.site import located, user_site
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import Storage
from ...signals import within
from . import realize, state
from .any_tensor import AnyTensor as Tensor
from .attributes import Reads, unwatch, watch
from .weak_numbers import Number

R = TypeVar("R")
Recipe = Callable[[], Sequence[float]]
Steps = Callable[[int], Sequence[float]]  # the values that many steps later
SLOT = 8  # bytes of a value that Python makes anew
Mark = Callable[[], Callable[[], None]]


class Outer:
    """What a Tensor from outside stands for: `node`, at first its placeholder `leaf`.

    `gradient`: its .grad in here; `is_gradient_used`: the function has read or set that.
    """

    __slots__ = ("gradient", "is_gradient_used", "leaf", "node", "tensor")

    def __init__(self, tensor: Tensor, leaf: Node) -> None:
        self.tensor, self.leaf, self.node = tensor, leaf, leaf
        self.gradient: Tensor | None = None
        self.is_gradient_used = False


class Live:
    """0-d inputs whose values a recipe makes at every call; `mark()` before it gives what takes
    back those of a failed call."""

    __slots__ = ("leaves", "mark", "recipe")

    def __init__(self, recipe: Recipe, leaves: list[Node], mark: Mark | None) -> None:
        self.recipe, self.leaves, self.mark = recipe, leaves, mark


class Values:
    """Values that Python knows, one recipe for each: what a Trace and NoTrace say alike."""

    def live_scalars(
        self, recipe: Recipe, dtypes: Sequence[DType], mark: Mark | None = None
    ) -> list[Node]:
        """0-d inputs of these dtypes, with the recipe's values."""
        raise NotImplementedError

    def live_steps(
        self, values: Steps, dtypes: Sequence[DType], source: object, place: int
    ) -> list[Node]:
        """0-d inputs with the values of this step, of which `turn` counts those before."""
        return self.live_scalars(lambda: values(0), dtypes)

    def draw(self, recipe: Recipe, mark: Mark) -> Node:
        """The number of a draw of random numbers, another one at each call."""
        return self.live_scalars(recipe, [dt.uint64], mark)[0]


class Trace(Values):
    """Everything that a function does while it is traced. live_numbers: those of Modules that have
    changed before are inputs."""

    is_traced = True

    def __init__(self, name: str, live_numbers: bool = True) -> None:
        self.name, self.is_over = name, False
        self.outers: dict[
            int, Outer
        ] = {}  # by id of the Tensor, in the order in which they are met
        self.live: list[Live] = []
        self.numbers: list[Number] = []  # the arguments that are Python numbers
        self.marks: Callable[[], Sequence[tuple[str, str]]] = (
            list  # how errors call each of them, what marks it static
        )
        self.guards: list[
            tuple[Callable[[], object], object]
        ] = []  # what must be as it was for the trace to hold
        self.reads = Reads(self, live_numbers)
        self.sources: dict[
            int, tuple[object, Node]
        ] = {}  # by id of what they come from: live scalars that many share
        self.turns: dict[
            tuple[int, int], tuple[object, int]
        ] = {}  # by id and place of what counts: how often it has
        self.afterwards: list[Callable[[], None]] = []  # what Python does after every call
        self.leaves: list[Node] = []  # every placeholder
        self.assumes_no_grad: list[Tensor] = []
        self._natives: dict[int, weakref.ref[Tensor]] = {}  # by id: Tensors that were made in here
        self._tables = self._outside = state.no_tables()  # in here; of the thread

    @property
    def place(self) -> str:
        """What is traced, for errors."""
        return f"the jitted function {self.name}"

    # ------------------------------------------------------------ when it is in force

    def run(self, body: Callable[[], R]) -> R:
        """What body() gives while this is in force in the thread. Afterwards no placeholder can be
        computed from."""
        self._outside = state.tables()
        return within(self._begin, self._end, body)

    def _begin(self) -> None:
        self._resume()
        watch(self)

    def _end(self) -> None:
        self._pause()
        unwatch(self)
        self.is_over = True
        for leaf in self.leaves:
            leaf.arg.storage = leaf.arg.owner = None

    def outside(self, body: Callable[[], R]) -> R:
        """What body() gives while this is not in force: what is computed is computed now."""
        return within(self._pause, self._resume, body)

    def _resume(self) -> None:
        state.exchange(self._tables)
        state.traces[get_ident()] = self

    def _pause(self) -> None:
        state.traces.pop(get_ident(), None)
        state.exchange(self._outside)

    # ------------------------------------------------------------ Tensors, from inside and outside

    def adopt(self, t: Tensor) -> None:
        """The Tensor was made in here."""
        self._natives[id(t)] = weakref.ref(t)

    def is_outer(self, t: Tensor) -> bool:
        native = self._natives.get(id(t))
        return native is None or native() is not t

    def outer(self, t: Tensor, device_free: bool = False) -> Outer:
        """What a Tensor from outside stands for; it is computed, if need be, since its layout is
        part of the signature.

        device_free: it is an array's, which goes along with any device.
        """
        outer = self.outers.get(id(t))
        if outer is None:
            stored, owned = self.outside(lambda: (realize.value(t), t._requires_grad and t.is_leaf))
            leaf = self.placeholder(*stored.layout, device_free)
            if owned:
                leaf.arg.owner = weakref.ref(t)
            outer = self.outers[id(t)] = Outer(t, leaf)
        return outer

    def placeholder(
        self,
        dtype: DType,
        shape: Shape,
        strides: Shape | None = None,
        device: str = CPU,
        device_free: bool = False,
    ) -> Node:
        """An INPUT whose memory each call brings along."""
        memory = storage.absent(dtype, shape, strides, device)
        leaf = storage.operand(memory) if device_free else storage.leaf(memory)
        self.leaves.append(leaf)
        return leaf

    def node_of(self, t: Tensor) -> Node:
        return self.outer(t).node if self.is_outer(t) else t._node

    def set_node(self, t: Tensor, n: Node) -> None:
        if self.is_outer(t):
            self.outer(t).node = n
        else:
            t._node = n

    def stored(self, t: Tensor) -> Storage | None:
        """The memory of a value: an absent one for a placeholder, None for what is lazy."""
        if self.is_outer(t):
            return storage.lookup(self.outer(t).node)
        if t._storage is None:
            t._storage = storage.lookup(t._node)
        return t._storage

    def grad_of(self, t: Tensor) -> Tensor | None:
        if not self.is_outer(t):
            return t._grad
        outer = self.outer(t)
        if not outer.is_gradient_used:
            require_no_grad(self.name, t)
            self.assumes_no_grad.append(t)
            outer.is_gradient_used = True
        return outer.gradient

    def set_grad(self, t: Tensor, gradient: Tensor | None) -> None:
        if self.is_outer(t):
            outer = self.outer(t)
            outer.gradient, outer.is_gradient_used = gradient, True
        else:
            t._grad = gradient

    def require_history(self, passed: set[Node]) -> None:
        """Raises GradientError where a derivative would flow on to what was computed outside."""
        for o in self.outers.values():
            if o.leaf in passed and o.tensor._requires_grad and o.leaf.arg.owner is None:
                raise errors.GradientError(
                    f"backward: a {described(o.tensor)} was computed outside of {self.place} from"
                    " what requires a gradient: compute it inside, or pass its detach()"
                )

    # ------------------------------------------------------------ values that Python knows

    def number(self, value: float) -> Node:
        """The next argument that is a Python number."""
        self.numbers.append(Number(type(value), lambda dtype: self.placeholder(dtype, ())))
        return self.numbers[-1].widest

    def live_scalars(
        self, recipe: Recipe, dtypes: Sequence[DType], mark: Mark | None = None
    ) -> list[Node]:
        """0-d inputs of these dtypes, which get the recipe's values at every call."""
        leaves = [self.placeholder(d, ()) for d in dtypes]
        self.live.append(Live(recipe, leaves, mark))
        return leaves

    def live_table(self, recipe: Recipe, dtypes: Sequence[DType], rows: int) -> list[Node]:
        """1-d inputs of so many elements, which get the recipe's values at every call: all of the
        first one, then those of the next."""
        leaves = [self.placeholder(d, (rows,), (SLOT // d.itemsize,)) for d in dtypes]
        self.live.append(Live(recipe, leaves, None))
        return leaves

    def live_source(self, source: object, recipe: Recipe, dtype: DType, now: Node) -> Node:
        """The one live scalar of this source, with the recipe's value at every call; `now` where no
        function is traced."""
        if id(source) not in self.sources:
            self.sources[id(source)] = (source, self.live_scalars(recipe, [dtype])[0])
        return self.sources[id(source)][1]

    def guard(self, what: Callable[[], object]) -> None:
        """The function is traced again when what() is another value than now."""
        self.guards.append((what, what()))

    def after_call(self, action: Callable[[], None]) -> None:
        """Acts after each call."""
        self.afterwards.append(action)

    def turn(self, source: object, place: int) -> int:
        """How often this was asked before."""
        _, before = self.turns.get((id(source), place), (source, 0))
        self.turns[id(source), place] = source, before + 1
        return before

    # ------------------------------------------------------------ values that only a call knows

    def read(self, t: Tensor, how: Callable[[Storage], R]) -> R:
        """What `how` makes of the memory of a value that is the same at every call. Raises JitError
        for another."""
        self.require_constant(t)
        n = t._node
        value = self.outside(lambda: realize.read(t, how))
        t._node = n  # in here it stands for what it stood for
        return value

    def require_constant(self, t: Tensor) -> None:
        """Raises JitError for a value that differs from call to call."""
        met = set() if self.is_outer(t) else {*reach([t._node], sources)}.intersection(self.leaves)
        if met or self.is_outer(t):
            what, advice = self._number_among(met) or (f"a {described(t)}", _ADVICE)
            raise errors.JitError(
                f"{self._where()}the value of {what} is read while {self.name} is traced: {advice}"
            )

    def refuse(self, what: str) -> None:
        """Raises JitError for what Python would do only now."""
        raise errors.JitError(
            f"{what} in {self.place} would happen only while it is traced: do it outside"
        )

    def _where(self) -> str:
        site = user_site()
        return f"{located(site)}: " if site else ""

    def _number_among(self, met: set[Node]) -> tuple[str, str] | None:
        """(a number that was passed, what to write) if these are such numbers alone."""
        passed = {
            leaf: i for i, number in enumerate(self.numbers) for leaf in number.versions.values()
        }
        if not met or not met <= passed.keys():
            return None
        name, mark = self.marks()[min(passed[n] for n in met)]
        return name, f"a number is an input, unless it is marked static: @wf.jit({mark})"


_ADVICE = (
    "it is known only when the function is called. Compute with Tensors (wf.where for a choice),"
    " return the value and read it outside"
)


def described(t: Tensor) -> str:
    return f"Tensor {t.dtype.name}{list(t.shape)}"


def require_no_grad(name: str, t: Tensor) -> None:
    """Raises JitError for a gradient from before the call, which the function would have to add
    to."""
    if t._grad is not None:
        raise errors.JitError(
            f"{name}: {state.described(t)} has a .grad from before the call: call zero_grad(), or"
            " set .grad = None, in the function or before it"
        )


class NoTrace(Values):
    """What a Trace is asked for, where no function is traced: everything is done now."""

    is_traced = False

    def live_scalars(
        self, recipe: Recipe, dtypes: Sequence[DType], mark: Mark | None = None
    ) -> list[Node]:
        return [storage.leaf(s) for s in storage.scalars(recipe(), dtypes)]

    def live_table(self, recipe: Recipe, dtypes: Sequence[DType], rows: int) -> list[Node]:
        values, columns = recipe(), enumerate(dtypes)
        arrays = [(np.array(values[k * rows : (k + 1) * rows]), d) for k, d in columns]
        return [storage.leaf(storage.from_array(a, d, copy=True)) for a, d in arrays]

    def live_source(self, source: object, recipe: Recipe, dtype: DType, now: Node) -> Node:
        return now

    def refuse(self, what: str) -> None: ...
    def guard(self, what: Callable[[], object]) -> None: ...

    def turn(self, source: object, place: int) -> int:
        return 0

    def outside(self, body: Callable[[], R]) -> R:
        return body()

    def after_call(self, action: Callable[[], None]) -> None:
        action()


NO_TRACE = NoTrace()


def tracing() -> Trace | NoTrace:
    """The Trace of this thread."""
    return state.traces.get(get_ident(), NO_TRACE) if state.traces else NO_TRACE  # type: ignore[return-value]
