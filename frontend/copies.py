"""Values on several devices. In: Tensors that are wanted. Out: which to compute where, in turn, and copies on the way.

A program runs on one device. So the graph is cut where a value crosses over: at a COPY of what is in memory or on another
device, and where a 0-d value of the CPU meets a GPU's. What crosses is computed first, in a program of its own device, with all
that is wanted there by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import errors
from ..ir.graph import Node, node, sources
from ..ir.op import Op
from . import storage
from .devices import CPU, default, device_of, only_cpu
from .storage import Storage, copies, lookup

ONE_DEVICE = "it becomes one program, which runs on one device: return what is computed, and move it after the call"

Tensor = Any  # frontend.tensor.Tensor, which imports this module through realize
Waiting = list[tuple[Tensor, list[Node]]]  # each with the places where its graph is cut


def placed(n: Node, device: str) -> Node:
    """The value on a device. A 0-d value of the CPU is there as long as it is on no other."""
    if n.device == device or (device == CPU and not n.shape and n.device is None):
        return n
    return node(Op.COPY, (n,), device)


def rounds(tensors: Sequence[Tensor]) -> Iterator[tuple[str, list[Tensor]]]:
    """(device, Tensors to compute there in one program): when the next is asked for, those before must have been computed."""
    waiting = _with_what_crosses(tensors)
    kept = [t for t, _ in waiting]  # with their memory, until all is done
    while waiting:
        ready, waiting = _ready(waiting)
        yield from ready.items()
    kept.clear()


def _ready(waiting: Waiting) -> tuple[dict[str, list[Tensor]], Waiting]:
    """By device the Tensors for which all that crosses is there, and the others."""
    ready: dict[str, list[Tensor]] = {}
    later = []
    for t, crossings in waiting:
        if all([_has_crossed(n) for n in crossings]):
            ready.setdefault(device_of(t.node), []).append(t)
        else:
            later.append((t, crossings))
    assert ready, "values wait for each other"
    return ready, later


def _with_what_crosses(tensors: Sequence[Tensor]) -> Waiting:
    """The Tensors, and Tensors of what they need from other devices; each with the places where its graph is cut."""
    from .tensor import bare

    known = {t.node for t in tensors}
    out, stack = [], list(tensors)
    while stack:
        t = stack.pop()
        crossings = _crossings(t.node)
        out.append((t, crossings))
        for n in map(_source, crossings):
            if n not in known and in_memory(n) is None:
                known.add(n)
                stack.append(bare(n))
    return out[::-1]


def _source(crossing: Node) -> Node:
    return crossing.src[0] if crossing.op is Op.COPY else crossing


def _crossings(root: Node) -> list[Node]:
    """Where the graph of a value is cut: COPYs, and 0-d values of the CPU."""
    device, found, seen, stack = device_of(root), [], {root}, [root]
    while stack:
        n = stack.pop()
        if lookup(n) is not None:
            continue
        is_scalar = n is not root and n.device == CPU != device
        if is_scalar or (n.op is Op.COPY and (n.src[0].device not in (None, device) or in_memory(n.src[0]) is not None)):
            found.append(n)
        else:
            below = [s for s in sources(n) if s not in seen]
            seen.update(below)
            stack += below
    return found


def one_device(name: str, roots: Sequence[Node]) -> str:
    """Where the program of a jitted function runs, which computes these; what it is given on the CPU, it copies.

    Raises JitError where that is several devices, or where a GPU's value moves on.
    """
    if only_cpu():
        return CPU
    found = sorted({n.device for n in roots if n.device is not None})
    if len(found) > 1:
        raise errors.JitError(f"the jitted function {name} computes values on {' and '.join(found)}: {ONE_DEVICE}")
    seen, stack = set(roots), list(roots)
    while stack:
        n = stack.pop()
        if n.op is Op.COPY and n.src[0].device not in (None, CPU, n.arg):
            line = f"{n.site[0]}:{n.site[1]}: " if n.site else ""
            what = f"a value on {n.src[0].device} is moved to {n.arg} in the jitted function {name}"
            raise errors.JitError(f"{line}{what}: {ONE_DEVICE}")
        below = [s for s in sources(n) if s not in seen]
        seen.update(below)
        stack += below
    return found[0] if found else default()


def _has_crossed(n: Node) -> bool:
    """Is what crosses here in memory; of a COPY, on the other side: it is copied if it can be."""
    stored = in_memory(_source(n))
    if stored is not None and n.op is Op.COPY and n not in copies:
        copies[n] = storage.moved(stored, n.arg)
    return stored is not None


def in_memory(n: Node) -> Storage | None:
    """The memory of a value, also through views."""
    chain = []
    while (stored := lookup(n)) is None:
        if n.op not in storage.VIEWED:
            return None
        chain.append(n)
        n = n.src[0]
    for view in reversed(chain):
        if stored is not None:
            stored = storage.viewed(view, stored)
    return stored
