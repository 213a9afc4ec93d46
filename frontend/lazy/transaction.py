"""A Tensor's way from its graph to memory, and back where a run fails. In: Tensors, their Nodes.
Out: the Tensors, changed.

A Tensor lets go of its graph before a run. Another thread may read it meanwhile, build on it, or
give it another value: what it stands for in between gets the memory too, and a Tensor that has
moved on is left alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from ...compiler.structure import Structure
from ...ir.graph import graph
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, toposort
from ...ir.graph.op import Op
from ...ir.graph.shapes import Shape
from ...ir.graph.site import Lines, provenance
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from . import state
from .any_tensor import AnyTensor as Tensor
from .capture import is_constant
from .history import reached, stale_owner


@dataclass(slots=True)
class Detached:
    """A Tensor without its graph. `leaf`: what it stands for meanwhile, None if it keeps its
    history, or until it is asked for; `old` finds the Node again if something else holds it, None
    for a Tensor that was a Leaf before."""

    leaf: Node | None
    old: weakref.ref[Node] | None
    layout: tuple[DType, Shape] | None = None  # of a Tensor that has no Node meanwhile
    device: str | None = None

    def is_held_by(self, t: Tensor) -> bool:
        """Has no other thread given the Tensor another value since."""
        if self.layout is not None:
            return getattr(t, "_node", self.leaf) is self.leaf
        return t.node is (self.leaf if self.old is None else self.old())


def release(t: Tensor, n: Node) -> Detached:
    """Lets go of a Tensor's graph, of which n was the last Node."""
    if n.op is Op.INPUT:
        n.arg.definition = None
        return Detached(n, None)
    if not n.shape:
        state.release_scalar(t, n)
    if _keeps_history(t):
        return Detached(None, weakref.ref(n))
    released = Detached(None, weakref.ref(n), (n.dtype, n.shape), n.device if graph.used else None)
    with state.lock:
        if t._node is n:
            del t._node
            state.released[id(t)] = released
    return released


def reclaim(t: Tensor, n: Node, root: Node) -> None:
    """Gives a Tensor that may have let go of its graph this one back; `root` computes the Node
    n."""
    if n.op is Op.INPUT:
        if n.arg.storage is None:
            n.arg.definition = root
            state.wait_again([t])
        return
    with state.lock:
        released = state.released.pop(id(t), None)
        if released is not None and released.leaf is not None:
            released.leaf.arg.definition = n  # for what another thread has built on it
        if getattr(t, "_node", n) is n or (released is not None and t._node is released.leaf):
            t._node = n
    if not n.shape:
        state.hold_scalar(t)


def _keeps_history(t: Tensor) -> bool:
    return t._requires_grad and t._note is None


def commit(t: Tensor, released: Detached, stored: Storage) -> None:
    """The Tensor gets its memory. Where others still build on its Node it keeps that Node, else it
    becomes a plain value."""
    n = None if released.old is None else released.old()
    with state.lock:
        state.released.pop(id(t), None)
        if released.leaf is not None:
            arg: storage.Leaf = released.leaf.arg
            arg.storage, arg.previous, arg.is_initial = stored, None, False
        if not released.is_held_by(t):
            return
        t._storage = stored
        if n is None or _is_only_named(released, n):
            return
        storage.remember(n, stored)
        t._node = n
    if _keeps_history(t):
        _watch_history(t)


def _is_only_named(released: Detached, n: Node) -> bool:
    """Do others hold the Node because it is a constant, which stays one for them?"""
    return released.layout is not None and is_constant(n)


def keep(t: Tensor, n: Node, stored: Storage) -> None:
    """The Tensor, whose Node is n, is a view of other memory."""
    if not _takes_copy(n, stored):
        stored.mark_shared()
    state.release_scalar(t, n)
    if n.op is Op.INPUT:
        n.arg.storage, n.arg.definition, n.arg.previous = stored, None, None
    elif storage.lookup(n) is not stored:
        storage.remember(n, stored)
    with state.lock:
        if t.node is n:
            t._storage = stored


def _takes_copy(n: Node, stored: Storage) -> bool:
    """Does a Leaf get memory that was copied from another device for it alone; others that need the
    copy make their own."""
    if n.op is not Op.INPUT or storage.copies.get(n.arg.definition or n) is not stored:
        return False
    del storage.copies[n.arg.definition]
    return True


def _watch_history(t: Tensor) -> None:
    """History that leads to replaced parameters is dropped, now or when they are replaced; so is
    one that leads nowhere."""
    leaves = reached(t.node)[0]
    if not leaves and not state.retaining:
        state.cut_history(
            t, "a backward() without retain_graph=True has used what it was computed from"
        )
        return
    for leaf in leaves:
        owner = stale_owner(leaf)
        if owner is not None:
            state.cut_history(t, f"{state.described(owner)} was replaced by an update")
            return
    for leaf in leaves:
        leaf.arg.dependents.append(weakref.ref(t))


# ---------------------------------------------------------------- when something fails


Version = tuple[Tensor, Node, Storage | None]


def versions(tensors: Sequence[Tensor]) -> list[Version]:
    """What Tensors stand for now; nothing in a jitted function that is traced, which forgets what
    it has assigned if it fails."""
    if state.traces and state.trace() is not None:
        return []
    return [(t, t.node, t._storage) for t in tensors]


def go_back(before: Sequence[Version]) -> None:
    """Gives Tensors that were assigned to since what they stood for."""
    for t, n, stored in before:
        if t.node is not n:
            with state.lock:
                t._node, t._storage = n, stored
            if t._requires_grad:
                state.own(t)
            if n.op is Op.INPUT and n.arg.definition is not None:
                state.wait_again([t])


def retract(tensors: Sequence[Tensor]) -> bool:
    """Takes Tensors whose next values wait back to their last; False, and nothing is done, where
    one has no such values."""
    leaves = [t.node for t in tensors]
    if not all(
        n.op is Op.INPUT and n.arg.definition is not None and n.arg.previous for n in leaves
    ):
        return False
    for t, n in zip(tensors, leaves, strict=True):
        with state.lock:
            _revert(t, *n.arg.previous)
    return True


def restore(
    tensors: list[Tensor],
    releases: list[Detached],
    places: list[int],
    inputs: list[Storage],
    slots: list[weakref.ref[Node]],
    structure: Structure,
    lines: Lines,
) -> list[Node]:
    """As before the run; assigned Tensors go back to the version that they had, the assign is
    forgotten. Returns what computes the program's outputs."""
    nodes = [ref() for ref in slots] + [None] * (len(inputs) - len(slots))
    outputs, leaves = structure.graph(copies=True)
    known = {
        leaf: n or _leaf(s, structure.device)
        for leaf, n, s in zip(leaves, nodes, inputs, strict=True)
    }
    for n in toposort(outputs):
        if n not in known:
            with provenance(lines.get(n.site, n.site)):
                known[n] = graph.node(n.op, tuple(known[s] for s in n.src), n.arg) if n.src else n
    for t, released, place in zip(tensors, releases, places, strict=True):
        with state.lock:
            _take_back(t, released, known[outputs[place]])
    return [known[n] for n in outputs]


def _leaf(stored: Storage, device: str) -> Node:
    """An INPUT of a program on a device: what is not there goes along."""
    return storage.leaf(stored) if stored.device == device else storage.operand(stored)


def _take_back(t: Tensor, released: Detached, root: Node) -> None:
    state.released.pop(id(t), None)
    is_held = released.is_held_by(t)
    if released.old is not None:
        n = released.old() or root
        if released.leaf is not None:
            released.leaf.arg.definition = n  # for what another thread has built on it
        if is_held:
            t.node = n
            if not n.shape:
                state.hold_scalar(t)
        return
    assert released.leaf is not None
    arg: storage.Leaf = released.leaf.arg
    if arg.previous is None or not is_held:
        arg.definition = root
        state.wait_again([t])
    else:
        _revert(t, *arg.previous)


def _revert(t: Tensor, version: weakref.ref[Node], stored: Storage) -> None:
    t.node = version() or storage.leaf(stored)
    t._storage = stored
    if t._requires_grad:
        state.own(t)
