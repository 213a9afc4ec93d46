"""Jobs: all that one program computes. In: Tensors. Out: a Job: their captured graph and its
outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...compiler.structure import Key
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...runtime.memory.storage import Storage
from . import state
from .any_tensor import AnyTensor as Tensor
from .capture import Capture, is_constant
from .carried import Carry, carry_of


@dataclass(slots=True)
class Job:
    """What one program is asked for. `donations`: (output, input) where an assign replaces that
    input.

    `nodes`: what the Tensors stood for when their graph was captured; another thread may move them
    on. `places`: the output of each Tensor. Those of one Node have one, as a parameter and its copy
    that wait for the same update. `roots`: what computes the outputs; `carry`: those kept for the
    next turn of a loop.
    """

    tensors: list[Tensor]
    nodes: list[Node]
    places: list[int]
    roots: list[Node]
    capture: Capture
    donations: list[tuple[int, int]]
    views: list[tuple[Tensor, Node, Storage]]
    carry: Carry | None = None


def root_of(n: Node) -> Node:
    """The Node that computes a value: for a Leaf that waits, its definition."""
    return n.arg.definition or n if n.op is Op.INPUT else n


def job_of(
    device: str, tensors: list[Tensor], with_scalars: bool = False, inside: Sequence[Tensor] = ()
) -> Job:
    capture = Capture(device)
    asked = {id(t): (t, t.node) for t in tensors}
    for _, n in asked.values():
        visit(capture, root_of(n))
    asked |= {
        id(t): (t, n) for t in inside if t._stored() is None and (n := t.node) in capture.index
    }
    if with_scalars:
        _visit_scalars(capture)
    for t, n in capture.scalars:
        asked.setdefault(id(t), (t, n))
    job = Job([], [], [], [], capture, [], [])
    places: dict[Node, int] = {}
    for t, n in asked.values():
        root = root_of(n)
        if root in capture.views:
            job.views.append((t, n, capture.views[root]))
            continue
        if n not in places:
            places[n] = len(places)
            job.roots.append(root)
        job.tensors.append(t)
        job.nodes.append(n)
        job.places.append(places[n])
    job.donations = donations_of(list(places), capture)
    return job


def carry(job: Job) -> None:
    """Adds what the program keeps for the next turn of a loop."""
    job.carry = carry_of(job.capture, job.roots, job.tensors)
    if job.carry is not None:
        job.roots += job.carry.nodes


def key_of(job: Job) -> Key:
    """What the program is found by."""
    return job.capture.finish(job.capture.numbers(job.roots), job.donations)


def visit(capture: Capture, root: Node) -> None:
    if not is_constant(root):
        capture.visit(root)


def _visit_scalars(capture: Capture) -> None:
    """Adds the 0-d Tensors that a user holds and that need little more than what is captured."""
    for ref in list(state.thread.held_scalars.values()):
        t = ref()
        if t is None or t._storage is not None:
            continue
        n = t.node
        if not is_constant(root_of(n)) and capture.is_home(n) and capture.lies_inside(n):
            capture.visit(n)
            capture.scalars.append((t, n))


def donations_of(nodes: list[Node], capture: Capture) -> list[tuple[int, int]]:
    """Pairs (output, input) of which the output may take the input's memory if nothing else needs
    it."""
    replaced = [
        (k, n, n.arg.previous) for k, n in enumerate(nodes) if n.op is Op.INPUT and n.arg.previous
    ]
    if not replaced:
        return []
    place = {id(n): j for j, n in enumerate(capture.slots)}
    uses = Counter(id(s.buffer) for s in capture.inputs)
    out = []
    for k, n, (version, _) in replaced:
        j = place.get(id(version()))
        if j is not None:
            stored = capture.inputs[j]
            same = stored.dtype is n.dtype and stored.shape == n.shape and stored.is_contiguous
            if same and stored.device == capture.device and uses[id(stored.buffer)] == 1:
                out.append((k, j))
    return out
