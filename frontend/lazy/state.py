"""Process-wide tables of live Tensors. In: Tensors as they are made and assigned. Out: pending
assignments, held scalars, hooks, grad mode.

Everything here is weak: dropping a Tensor drops it from every table. Only its hooks live on, with
the graph they stand in. What is pending or held belongs to the thread that made it: no other thread
computes it unless it asks for that very Tensor.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeGuard

from ... import locks
from ...ir.graph import graph
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...modes import Blocks
from ...runtime.memory import storage, weak_table
from ...runtime.memory.storage import Leaf, Storage
from . import weak_numbers
from .any_tensor import AnyTensor as Tensor
from .any_tensor import Hook, bare

if TYPE_CHECKING:
    from .any_tensor import AnyTrace, Watcher

retaining: weak_table.Table[Tensor] = {}  # by id: computed Tensors that asked for their gradient
# of computed Tensors, dead ones too
hooks: weakref.WeakKeyDictionary[Node, list[Hook]] = weakref.WeakKeyDictionary()
watchers: weak_table.Table[Watcher] = {}  # by id of a leaf
lock = locks.new("tensors")

# ---------------------------------------------------------------- Tensors that wait, for loops


MOST_LAZY = 1 << 13  # the oldest is forgotten beyond


class Lazy(deque[weakref.ref[Tensor]]):
    """Tensors that were not computed when they were registered, the oldest first."""

    def __init__(self, tensors: list[Tensor]) -> None:
        super().__init__(map(weakref.ref, tensors), MOST_LAZY)
        self._enough = 2 * len(tensors)

    def clean(self) -> None:
        """Drops those that do not wait any more, now and then."""
        if len(self) > self._enough:
            waiting = [ref for ref in [*self] if _waits(ref())]
            self.clear()
            self.extend(waiting)
            self._enough = 2 * len(waiting)


# by thread: of the first one once it has computed something again, of others from their start
loops: dict[int, Lazy] = {}


def lazy_tensors(all_tensors: Callable[[], list[Tensor]]) -> Iterator[Tensor]:
    """The Tensors of this thread that are not computed, the newest first. The first thread looks
    for them among all at first."""
    lazy = loops.get(get_ident())
    if lazy is None:
        others = {id(ref()) for other in [*loops.values()] for ref in [*other]}
        lazy = loops[get_ident()] = Lazy([t for t in all_tensors() if id(t) not in others])
    lazy.clean()
    seen = set()
    for ref in reversed([*lazy]):
        if _waits(t := ref()) and id(t) not in seen:
            seen.add(id(t))
            yield t


def _waits(tensor: Tensor | None) -> TypeGuard[Tensor]:
    return tensor is not None and tensor._stored() is None


# ---------------------------------------------------------------- what belongs to a thread


class _PerThread(threading.local):
    has_first = False  # has a thread computed something

    def __init__(self) -> None:
        if _PerThread.has_first:
            loops[get_ident()] = Lazy([])  # so that its Tensors are known from those of the first
        _PerThread.has_first = True
        self.held_scalars: weak_table.Table[
            Tensor
        ] = {}  # by id of the Node: 0-d Tensors that are not computed yet
        self.indexed: weak_table.Table[
            Tensor
        ] = {}  # by id of the Node: lazy Tensors of which parts were taken
        self.pending: list[
            weakref.ref[Tensor]
        ] = []  # Tensors whose Leaf has a definition that the next program computes


thread = _PerThread()


Tables = tuple[weak_table.Table[Tensor], weak_table.Table[Tensor], list[weakref.ref[Tensor]]]


def no_tables() -> Tables:
    """Those of a thread that has made nothing yet."""
    return {}, {}, []


def tables() -> Tables:
    """Those of this thread."""
    return thread.held_scalars, thread.indexed, thread.pending


def exchange(new: Tables) -> Tables:
    """Puts other tables in the place of this thread's, and returns those."""
    old = tables()
    thread.held_scalars, thread.indexed, thread.pending = new
    return old


grad_blocks: Blocks[bool] = Blocks({})  # no_grad and enable_grad
grads = grad_blocks.anywhere  # empty nearly always: then gradients are on


def grad_enabled() -> bool:
    """In this thread."""
    return grad_blocks.value(True)


autocast_blocks: Blocks[DType | None] = Blocks({})  # nn.autocast, by its dtype, or None
autocasts = autocast_blocks.anywhere


def autocast() -> DType | None:
    """In this thread."""
    return autocast_blocks.value(None) if autocasts else None


# ---------------------------------------------------------------- functions that are traced


class _Changes:
    """How often something has changed on which steps rely: what they read of Modules, which Tensors
    require a gradient."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


changes = _Changes()
released: dict[int, Any] = {}  # by id: Tensors that are being computed, each a transaction.Detached
traces: dict[
    int, AnyTrace
] = {}  # by thread: the trace.Trace of the jitted function that it runs; empty nearly always


def trace() -> AnyTrace | None:
    """The Trace of this thread, or None."""
    return traces.get(get_ident())


def born(tensor: Tensor) -> None:
    """A Tensor was made, perhaps inside a trace."""
    running = trace()
    if running is not None:
        running.adopt(tensor)


def is_outer(tensor: Tensor) -> bool:
    """Was the Tensor made before the function that is traced here began."""
    running = trace() if traces else None
    return running is not None and running.is_outer(tensor)


def give_leaf(tensor: Tensor) -> Node:
    """The Leaf of a Tensor that has had but memory so far, or that is being computed."""
    with lock:
        if not hasattr(tensor, "_node"):  # else another thread was faster
            waiting = released.get(id(tensor))
            if waiting is None:
                assert tensor._storage is not None
                tensor._node = storage.leaf(tensor._storage)
            else:
                tensor._node = waiting.leaf = graph.leaf(Leaf(None), *waiting.layout)
                tensor._node._device = waiting.device
        return tensor._node


def stand_for(tensor: Tensor, n: Node) -> None:
    """The Tensor's value is from now on that of a Node, which is not in memory."""
    if traces and trace() is not None:
        tensor.node = n
        if not is_outer(tensor):
            tensor._storage = None
    else:
        tensor._node, tensor._storage = n, None  # at once: nothing is called


# ---------------------------------------------------------------- scalars, gradients


def hold_scalar(tensor: Tensor) -> None:
    """Registers a 0-d Tensor, so that a program inside which it lies computes it too."""
    if weak_numbers.marks:
        weak_numbers.mark_if_weak(tensor.node)
    weak_table.remember(thread.held_scalars, id(tensor.node), tensor)


def release_scalar(tensor: Tensor, n: Node) -> None:
    """The 0-d Tensor of this Node is computed now, or has another Node."""
    held = thread.held_scalars
    ref = held.get(id(n))
    if ref is not None and ref() is tensor:
        del held[id(n)]


def retain(tensor: Tensor) -> None:
    """Registers a computed Tensor whose gradient is asked for."""
    weak_table.remember(retaining, id(tensor), tensor)


def watch(tensor: Tensor, watcher: Watcher) -> None:
    """At the end of every backward() that leads to this leaf, or to others with the same watcher,
    that is called once.

    It keeps the leaf alive itself.
    """
    weak_table.remember(watchers, id(tensor), watcher)


def own(tensor: Tensor) -> None:
    """Gradients of the Tensor's Leaf are collected in the Tensor."""
    tensor.node.arg.owner = weakref.ref(tensor)


def become_leaf(tensor: Tensor) -> None:
    """Gives the Tensor a Leaf of its own with the same value, so that no equal expression shares
    its gradient."""
    old = weakref.ref(tensor.node)
    stored = tensor._stored()
    if stored is None:
        tensor.node = storage.defined_leaf(tensor.node)
        tensor.node.arg.is_initial = True
        thread.pending.append(weakref.ref(tensor))
    else:
        tensor.node = storage.leaf(stored)
        stored.shared |= old() is not None
        stored.has_changed()
    own(tensor)


def become(tensor: Tensor, value: Node) -> None:
    """The Tensor is a leaf with another value from now on, perhaps of another dtype or elsewhere;
    what was built from it keeps the old one."""
    if traces and (running := trace()) is not None and running.is_outer(tensor):
        running.refuse("changing the dtype or the device of a Tensor from outside")
    with lock:
        old: Node = tensor.node
        tensor.node, tensor._storage, tensor._note = value, None, None
        become_leaf(tensor)
        if not tensor._requires_grad:
            tensor.node.arg.owner = None
    if old.op is Op.INPUT:
        _cut_dependents(old.arg, tensor)


def assign(tensor: Tensor, value: Node) -> None:
    """The Tensor's next version: a new Leaf, defined by `value` until the next program computes
    it."""
    new = storage.defined_leaf(value)
    with lock:
        old: Node = tensor.node
        stored = tensor._stored()
        arg: Leaf = new.arg
        if old.op is Op.INPUT:
            arg.previous = old.arg.previous if stored is None else (weakref.ref(old), stored)
            arg.awaits = _first_version(old) if stored is None else None
        if tensor._requires_grad:
            arg.owner = weakref.ref(tensor)
        stand_for(tensor, new)
    if old.op is Op.INPUT and old.arg.dependents:
        _cut_dependents(old.arg, tensor)
    thread.pending.append(weakref.ref(tensor))


def replace(tensor: Tensor, stored: Storage) -> None:
    """The Tensor's next version is in memory already; expressions made from the old one keep
    that."""
    with lock:
        old, was_leaf = tensor.node, tensor.is_leaf
        new = storage.leaf(stored)
        if tensor._requires_grad and was_leaf:
            new.arg.owner = weakref.ref(tensor)
        tensor._node, tensor._storage = new, stored  # at once: nothing is called
    if old.op is Op.INPUT:
        _cut_dependents(old.arg, tensor)


def move(tensor: Tensor, n: Node, requires_grad: bool) -> None:
    """The Tensor stands for another value from now on."""
    with lock:
        stand_for(tensor, n)
        if not is_outer(tensor):
            was, tensor._requires_grad, tensor._note = tensor._requires_grad, requires_grad, None
            changes.count += was != requires_grad
            if loops and (lazy := loops.get(get_ident())) is not None:
                lazy.append(weakref.ref(tensor))
    if not n.shape and n.op is not Op.INPUT:
        hold_scalar(tensor)


def _first_version(old: Node) -> Tensor | None:
    if not old.arg.is_initial:
        return old.arg.awaits  # type: ignore[no-any-return]
    first = bare(old)
    if traces:
        born(first)
    return first


def first_versions(waiting: list[Tensor]) -> list[Tensor]:
    """The Tensors among (or below) the waiting ones whose first value is not computed."""
    first = [t if t.node.arg.is_initial else t.node.arg.awaits for t in waiting]
    return [t for t in first if t is not None]


def forget_first_versions(waiting: list[Tensor]) -> None:
    """After those are computed: they are versions to replace, like any other."""
    for t in waiting:
        arg: Leaf = t.node.arg
        if arg.awaits is not None:
            arg.previous = (weakref.ref(arg.awaits.node), arg.awaits._stored())
            arg.awaits = None


def _cut_dependents(replaced: Leaf, tensor: Tensor) -> None:
    """Computed Tensors cannot be differentiated through a version that is gone: their history is of
    no use any more."""
    for ref in replaced.dependents:
        dependent = ref()
        if dependent is not None:
            cut_history(dependent, f"{described(tensor)} was replaced by an update")


def cut_history(tensor: Tensor, why: str) -> None:
    """A computed Tensor becomes a plain value; `why` explains it to a later backward()."""
    assert tensor._storage is not None
    storage.forget(tensor._storage)
    tensor.node = storage.leaf(tensor._storage)
    tensor._note = why


def described(tensor: Tensor) -> str:
    """How errors name a parameter: its name, or else its dtype and shape."""
    shape = f"{tensor.dtype.name}{list(tensor.shape)}"
    return f"parameter {tensor.name!r} ({shape})" if tensor.name else f"parameter {shape}"


def take_pending() -> list[Tensor]:
    """The Tensors with a pending value, each once, in the order of their last assign; the list is
    emptied."""
    alive = {id(t): t for ref in reversed(thread.pending) if (t := ref()) is not None}
    thread.pending.clear()
    return [
        t
        for t in reversed(alive.values())
        if t.node.op is Op.INPUT and t.node.arg.definition is not None
    ]


def wait_again(tensors: list[Tensor]) -> None:
    """Puts Tensors that still have a pending value back."""
    thread.pending.extend(
        weakref.ref(t)
        for t in tensors
        if t.node.op is Op.INPUT and t.node.arg.definition is not None
    )
