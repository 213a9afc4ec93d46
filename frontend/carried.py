"""Values that a loop carries from program to program. In: a Capture that computes something again. Out: what it keeps for later.

    v = A @ w; r = v.norm(); w = v / r; r.item()      # in a loop: w waits, and is made of v, which no program has kept

The first program computes r alone. The second one computes v again, and with it the next v, r: now v becomes an output, and w a
value over that memory. So the third program begins there, as do all others, which are one program. No value is computed more
than twice while something alive is made of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..ir import graph
from ..ir.graph import Node
from ..ir.op import Op
from . import growth, state, storage
from .capture import Capture, is_constant
from .computed import Computed
from .storage import Leaf, Storage

Tensor = Any  # frontend.tensor.Tensor, which imports this module

READS = 2  # programs that a value of a loop is expected to be read by, at least one of them in the next turn


@dataclass(slots=True)
class Kept:
    """A value that becomes an output though nobody asked for it: what stands for it in what is computed later."""

    leaf: Node
    old: weakref.ref[Node]
    is_new: bool  # computed for the first time

    def settle(self, stored: Storage) -> None:
        """The program has computed it. Where its Node is needed as it was, for a derivative, the memory is found by that, too."""
        arg: Leaf = self.leaf.arg
        arg.storage, arg.definition = stored, None
        stored.carried = READS if self.is_new else 0
        n = self.old()
        if n is not None:
            storage.own(n, stored)


@dataclass(slots=True)
class Carry:
    """What a program keeps beside its outputs, and the Tensors that are computed later from any of these."""

    nodes: dict[Node, bool]  # are they computed for the first time
    waiting: list[tuple[Tensor, Node]]
    touched: set[Node]  # outputs and kept Nodes that the waiting Tensors are made of
    kept: list[Kept] = field(default_factory=list)
    _moved: list[tuple[Tensor, weakref.ref[Node], Node]] = field(default_factory=list)

    def let_go(self, outputs: dict[Node, Node]) -> None:
        """Gives the waiting Tensors graphs over Leaves, which get memory from the program; `outputs`: those of its outputs."""
        self.kept = [Kept(_leaf_for(n), weakref.ref(n), is_new) for n, is_new in self.nodes.items()]
        leaves = outputs | {n: kept.leaf for n, kept in zip(self.nodes, self.kept, strict=True)}
        history = _above([n for t, n in self.waiting if t._requires_grad], leaves, through_leaves=False)
        plain = [(t, n) for t, n in self.waiting if not t._requires_grad]
        rebuilt = _rebuilt([*(n for _, n in plain), *(n for n in history if n.op is Op.INPUT)], leaves, set(history))
        for t, n in plain:
            if rebuilt[n] is not n and _exchange(t, n, rebuilt[n]):
                self._moved.append((t, weakref.ref(n), rebuilt[n]))
        self.nodes, self.waiting, self.touched = {}, [], set()

    def take_back(self) -> None:
        """A Tensor keeps the Node that something else is still made of, as what requires a gradient is of its history."""
        for t, old, new in self._moved:
            n = old()
            if n is not None:
                _exchange(t, new, n)

    def undo(self, roots: Sequence[Node]) -> None:
        """The run has failed: the Leaves are defined by these roots again, and no Tensor is left with one."""
        for kept, root in zip(self.kept, roots, strict=True):
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


def _rebuilt(roots: Sequence[Node], leaves: dict[Node, Node], history: Container[Node]) -> dict[Node, Node]:
    """The Nodes over these Leaves, but for those of a history, through which derivatives go. None goes through a Leaf that waits:
    it stays, and its definition is another one."""
    known = dict(leaves)
    for n in _above(roots, known):
        stays = not n.src or n in history or storage.lookup(n) is not None
        known[n] = n if stays else graph.rebuild(n, tuple(known[s] for s in n.src))
        if n.op is Op.INPUT and n.arg.definition is not None:
            n.arg.definition = known[n.arg.definition]
    return known


def _above(roots: Sequence[Node], below: Container[Node], through_leaves: bool = True) -> list[Node]:
    """The Nodes of these graphs down to what is `below`, which is left out, or in memory; sources first. The definition of a Leaf
    that waits belongs to them, unless derivatives matter, which end there."""
    order: dict[Node, None] = {}
    stack: list[Node | None] = list(roots)
    cached, lookup = storage.cached, storage.lookup
    while stack:
        n = stack.pop()
        if n is None:  # what the next one is made of is done
            order[stack.pop()] = None  # type: ignore[index]
        elif n not in order and n not in below:
            if n.op is Op.CONST or ((id(n) in cached or not n.src) and lookup(n) is not None):
                order[n] = None
                continue
            stack += (n, None)
            stack += n.src or (graph.sources(n) if through_leaves else ())
    return list(order)


# ---------------------------------------------------------------- what to keep


def carry_of(capture: Capture, roots: Sequence[Node], asked: Container[int]) -> Carry | None:
    """What a program keeps that computes these roots; None where it neither repeats work nor begins with what was kept.

    asked: the ids of the Tensors that it is for.
    """
    here = Computed(capture)
    if not (_begins_with_kept(capture) or any(here.is_repeated(n) for n in capture.again)):
        return None
    growth.after_repeating(capture.again)
    waiting = [(t, n) for t in state.lazy_tensors() if id(t) not in asked and not is_constant(n := t.node)]
    computed, made_here = here.nodes, set[Node]()
    met = {n for _, n in waiting if n in computed}
    for n in _above([n for _, n in waiting], computed):
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


def _begins_with_kept(capture: Capture) -> bool:
    found = [s for s in (s.base or s for s in capture.inputs) if s.carried]
    for s in found:
        s.carried -= 1
    return bool(found)
