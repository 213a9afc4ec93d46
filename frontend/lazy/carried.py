"""Values that a loop carries from program to program. In: a Capture that computes something again.
Out: what it keeps for later.

    v = A @ w; r = v.norm(); w = v / r; r.item()      # in a loop: w waits, and is made of v, which
                                                      no program has kept

The first program computes r alone. The second one computes v again, and with it the next v, r: now
v becomes an output, and w a value over that memory. So the third program begins there, as do all
others, which are one program. No value is computed more than twice while something alive is made of
it.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from math import inf

from ...ir.graph import graph
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...runtime.memory import storage
from ...runtime.memory.storage import Leaf, Storage
from . import growth, state
from .any_tensor import Above
from .any_tensor import AnyTensor as Tensor
from .capture import Capture, is_constant
from .computed import Computed
from .transaction import Detached

# programs that a value of a loop is expected to be read by, at least one of them in the next turn
READS = 2
# Nodes of waiting Tensors that are looked at, and as many as the program has: those of the newest
MOST_SEEN = 1 << 10


@dataclass(slots=True)
class Kept:
    """A value that becomes an output without being asked for, and its replacement in what is
    computed later."""

    leaf: Node
    old: weakref.ref[Node]
    is_new: bool  # computed for the first time

    def settle(self, stored: Storage) -> None:
        """The program has computed it. Where its Node is needed as it was, for a derivative, the
        memory is found by that, too."""
        arg: Leaf = self.leaf.arg
        arg.storage, arg.definition = stored, None
        stored.carried = READS if self.is_new else 0
        n = self.old()
        if n is not None:
            storage.own(n, stored)


@dataclass(slots=True)
class Carry:
    """What a program keeps beside its outputs, and the Tensors that are computed later from any of
    these."""

    nodes: dict[Node, bool]  # are they computed for the first time
    waiting: list[tuple[Tensor, Node]]
    touched: set[Node]  # outputs and kept Nodes that the waiting Tensors are made of
    kept: list[Kept] = field(default_factory=list)
    _moved: list[tuple[Tensor, weakref.ref[Node], Node]] = field(default_factory=list)

    def let_go(
        self, tensors: Sequence[Tensor], nodes: Sequence[Node], released: Sequence[Detached]
    ) -> None:
        """Gives the waiting Tensors graphs over Leaves, which get memory from the program; so has
        what it was asked for, if that has let go of its graph."""
        asked = zip(tensors, nodes, released, strict=True)
        outputs = {n: t.node for t, n, r in asked if r.layout is not None and n in self.touched}
        self.kept = [Kept(_leaf_for(n), weakref.ref(n), is_new) for n, is_new in self.nodes.items()]
        leaves = outputs | {n: kept.leaf for n, kept in zip(self.nodes, self.kept, strict=True)}
        history = _above(
            [n for t, n in self.waiting if t._requires_grad], leaves, through_leaves=False
        )
        plain = [(t, n) for t, n in self.waiting if not t._requires_grad]
        rebuilt = _rebuilt(
            [*(n for _, n in plain), *(n for n in history if n.op is Op.INPUT)],
            leaves,
            set(history),
        )
        for t, n in plain:
            if rebuilt[n] is not n and _exchange(t, n, rebuilt[n]):
                self._moved.append((t, weakref.ref(n), rebuilt[n]))
        self.nodes, self.waiting, self.touched = {}, [], set()

    def take_back(self) -> None:
        """A Tensor keeps the Node that something else is still made of, as what requires a gradient
        is of its history."""
        for t, old, new in self._moved:
            n = old()
            if n is not None:
                _exchange(t, new, n)

    def settle(
        self, released: Sequence[Detached], places: Sequence[int], outputs: Sequence[Storage]
    ) -> int:
        """The program has run. What something else still needs as it was, for a derivative, is
        found by its Node.

        Returns how many outputs were kept.
        """
        for r, place in zip(released, places, strict=True):
            n = None if r.old is None else r.old()
            if n is not None and not is_constant(n):  # which stays one
                storage.own(n, outputs[place])
        for kept, stored in zip(self.kept, outputs[len(outputs) - len(self.kept) :], strict=True):
            kept.settle(stored)
        return len(self.kept)

    def undo(self, roots: Sequence[Node]) -> None:
        """The run has failed: the Leaves are defined by what computes the outputs again, and no
        Tensor is left with one."""
        for kept, root in zip(self.kept, roots[len(roots) - len(self.kept) :], strict=True):
            kept.leaf.arg.definition = root
        for t, _, new in self._moved:
            if new.op is Op.INPUT and new.arg.definition is not None:
                _exchange(t, new, new.arg.definition)


def _leaf_for(n: Node) -> Node:
    leaf = graph.leaf(Leaf(None), n.dtype, n.shape)
    if graph.used:
        leaf._device = n.device
    return leaf


def _exchange(t: Tensor, old: Node, new: Node) -> bool:
    """Gives a Tensor another Node of the same value, unless another thread has moved it on."""
    with state.lock:
        if t._storage is not None or getattr(t, "_node", None) is not old:
            return False
        t._node = new
    whole = state.thread.indexed.get(id(old))
    if whole is not None and whole() is t:
        state.thread.indexed[id(new)] = state.thread.indexed.pop(id(old))
    if not new.shape:
        state.release_scalar(t, old)
        if new.op is not Op.INPUT:
            state.hold_scalar(t)
    return True


def _rebuilt(
    roots: Sequence[Node], leaves: dict[Node, Node], history: Container[Node]
) -> dict[Node, Node]:
    """The Nodes over these Leaves, but for those of a history, through which derivatives go. None
    goes through a Leaf that waits: it stays, and its definition is another one."""
    known = dict(leaves)
    for n in _above(roots, known):
        stays = not n.src or n in history or storage.lookup(n) is not None
        known[n] = n if stays else graph.rebuild(n, tuple(known[s] for s in n.src))
        if n.op is Op.INPUT and n.arg.definition is not None:
            n.arg.definition = known[n.arg.definition]
    return known


def _above(
    roots: Sequence[Node], below: Container[Node], through_leaves: bool = True
) -> list[Node]:
    """The Nodes of these graphs down to what is `below`, which is left out, or in memory; sources
    first. The definition of a Leaf that waits belongs to them, unless derivatives matter, which end
    there."""
    order: dict[Node, None] = {}
    _walk(roots, below, order, inf, through_leaves)
    return list(order)


def _walk(
    roots: Sequence[Node],
    below: Container[Node],
    order: dict[Node, None],
    most: float,
    through_leaves: bool = True,
) -> float:
    """Adds those Nodes to `order` that are not there, as long as it meets no more than `most`.
    Returns how many are left."""
    stack: list[Node | None] = list(roots)
    cached, lookup = storage.cached, storage.lookup
    while stack and most > 0:
        n = stack.pop()
        if n is None:  # what the next one is made of is done
            order[stack.pop()] = None  # type: ignore[index]
        elif n not in order and n not in below:
            most -= 1
            if n.op is Op.CONST or ((id(n) in cached or not n.src) and lookup(n) is not None):
                order[n] = None
                continue
            stack += (n, None)
            stack += n.src or (graph.sources(n) if through_leaves else ())
    return most


# ---------------------------------------------------------------- what to keep


def carry_of(capture: Capture, roots: Sequence[Node], asked: Sequence[Tensor]) -> Carry | None:
    """What a program keeps that computes these roots; None where it neither repeats work nor begins
    with what was kept.

    asked: the Tensors that it is for.
    """
    here = Computed(capture)
    if not (any(here.is_repeated(n) for n in capture.again) or capture.goes_on):
        return None
    for read in {id(whole): whole for s in capture.inputs for whole in [s.base or s]}.values():
        read.carried = max(read.carried - 1, 0)
    growth.after_repeating(capture.again)
    computed, made_here = here.nodes, set[Node]()
    waiting, above = _waiting_beside(asked, computed)
    met = {n for _, n in waiting if n in computed}
    for n in above:
        for s in n.src or graph.sources(n):
            if s in computed:
                met.add(s)
            elif s not in made_here:
                continue
            made_here.add(n)
    waiting = [(t, n) for t, n in waiting if n in computed or n in made_here]
    met |= here.computed_often(capture.again)
    outputs = set(roots)
    stored = here.stored_for(met, outputs)
    return Carry({n: not n.computed for n in stored if n not in outputs}, waiting, set(stored))


def _waiting_beside(
    asked: Sequence[Tensor], computed: set[Node]
) -> tuple[list[tuple[Tensor, Node]], dict[Node, None]]:
    """The Tensors that are not computed, the newest first, and their Nodes above those that are,
    sources first: so many that what waits for long takes no time."""
    ids, most = {*map(id, asked)}, float(MOST_SEEN + len(computed))
    waiting: list[tuple[Tensor, Node]] = []
    above: dict[Node, None] = {}
    for t in state.lazy_tensors(_all_tensors):
        if most <= 0:
            break
        if id(t) not in ids and not is_constant(n := t.node):
            waiting.append((t, n))
            most = _walk([n], computed, above, most)
    return waiting, above


def _all_tensors() -> list[Tensor]:
    """Those that Python's garbage collector knows."""
    kinds = [Above.kind]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [t for t in gc.get_objects() if type(t) in kinds and _has_graph(t)]


def _has_graph(t: Tensor) -> bool:
    n = getattr(t, "_node", None)
    return (
        n is not None
        and (n.op is not Op.INPUT or isinstance(n.arg, Leaf))
        and hasattr(t, "_storage")
    )
