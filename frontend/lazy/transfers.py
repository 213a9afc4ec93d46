"""Values on several devices. In: Tensors that are wanted. Out: which to compute where, in turn, and
copies on the way.

A program runs on one device. So the graph is cut where a value crosses over: at a COPY of what is
in memory or on another device, and where a 0-d value of the CPU meets values of another. What
crosses is computed first, in a program of its own device, with all that is wanted there by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ... import errors
from ...ir.graph.graph import Node, node, reach, sources
from ...ir.graph.op import Op
from ...ir.graph.site import located
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU, default, device_of, only_cpu
from ...runtime.memory.storage import copies, lookup, seen_through
from ...runtime.memory.strides import strides_of
from .any_tensor import AnyTensor as Tensor
from .any_tensor import bare

ONE_DEVICE = (
    "it becomes one program, which runs on one device: return what is computed, and move it after"
    " the call"
)


def placed(n: Node, device: str) -> Node:
    """The value on a device. A 0-d value of the CPU is there as long as it is on no other."""
    if n.device == device or (device == CPU and not n.shape and n.device is None):
        return n
    if n.device not in (None, CPU) and not storage.is_row_major(n.shape, strides_of(n)):
        n = node(Op.KEEP, (n,))  # what lies in one piece is sent
    return node(Op.COPY, (n,), device)


def on_cpu(make: Callable[[Sequence[Node]], list[Node]], xs: Sequence[Node]) -> list[Node]:
    """What is made of these values by the CPU alone: those of a GPU are copied there, and the
    results back."""
    home = _home(xs)
    if home is None:
        return make(xs)
    return [placed(r, home) for r in make([placed(x, CPU) for x in xs])]


def _home(xs: Sequence[Node]) -> str | None:
    """The GPU that the values are on; None where the CPU has them."""
    if only_cpu():
        return None
    device = next((x.device for x in xs if x.device is not None), None) or default()
    return None if device == CPU else device


# ---------------------------------------------------------------- what is computed when


def rounds(tensors: Sequence[Tensor]) -> Iterator[tuple[str, list[Tensor], bool]]:
    """(device, Tensors to compute there in one program, whether it is the last one): when the next
    is asked for, those before must have been computed, and the Tensors must stand for the same
    Nodes still."""
    groups = _by_device(tensors)
    if all([_cross(_nodes(group), device) for device, group in groups.items()]):
        last = [*groups][-1:]
        yield from ((device, group, [device] == last) for device, group in groups.items())
        return
    turns = _turns(tensors)  # these Tensors keep their memory until all is done
    for turn in turns:
        groups = _by_device(turn)
        last = [*groups][-1:] if turn is turns[-1] else []
        for device, group in groups.items():
            _cross(_nodes(group), device)
            yield device, group, [device] == last


def _nodes(tensors: Sequence[Tensor]) -> list[Node]:
    return [t.node for t in tensors]


def _by_device(tensors: Sequence[Tensor]) -> dict[str, list[Tensor]]:
    groups: dict[str, list[Tensor]] = {}
    for t in tensors:
        groups.setdefault(device_of(t.node), []).append(t)
    return groups


def _source(crossing: Node) -> Node:
    return crossing.src[0] if crossing.op is Op.COPY else crossing


def _is_crossing(n: Node, device: str) -> bool:
    """Is the graph of a value on this device cut at a Node that it is computed of."""
    return n.op is Op.COPY and (
        n.src[0].device not in (None, device) or seen_through(n.src[0]) is not None
    )


def _crossings(roots: Sequence[Node], device: str) -> list[Node]:
    """Where the graph of values on one device is cut: COPYs, and 0-d values of the CPU."""
    crossings, seen, stack = [], set(roots), list(roots)
    is_far = device != CPU
    while stack:
        n = stack.pop()
        op = n.op
        if op is Op.CONST or lookup(n) is not None:
            continue
        if (is_far and n.device == CPU) or (op is Op.COPY and _is_crossing(n, device)):
            crossings.append(n)
            continue
        for s in n.src or sources(n):
            if s not in seen:
                seen.add(s)
                stack.append(s)
    return crossings


def _cross(roots: Sequence[Node], device: str) -> bool:
    """Copies what values on one device need from others, if all of that is in memory."""
    crossings = _crossings(roots, device)
    values = [seen_through(_source(n)) for n in crossings]
    if None in values:
        return False
    for n, stored in zip(crossings, values, strict=True):
        if n.op is Op.COPY and stored is not None and n not in copies:
            copies[n] = storage.moved(stored, n.arg)
    return True


def _turns(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """The Tensors, and Tensors of what they need from other devices, by how often values cross over
    on the way to them."""
    levels = _levels(_nodes(tensors))
    targets = set(_nodes(tensors))
    wanted = [*tensors, *(bare(n) for n in levels if n not in targets and seen_through(n) is None)]
    turns: list[list[Tensor]] = [[] for _ in range(1 + max(levels.values()))]
    for t in wanted:
        turns[levels[t.node]].append(t)
    return turns


def _levels(roots: Sequence[Node]) -> dict[Node, int]:
    """For each of these, and for all that crosses on the way to them, the most crossings on a path
    to it. A value on no device is looked at from each device that needs it."""
    levels: dict[tuple[Node, str], int] = {}
    items = {(n, device_of(n)): None for n in roots}
    stack = list(items)
    while stack:
        n, device = place = stack[-1]
        below = _below(n, device)
        missing = [p for p in below if p not in levels]
        if missing and place not in levels:
            stack += missing
            continue
        stack.pop()
        levels[place] = max((levels[p] + (p[1] != device) for p in below), default=0)
        items |= dict.fromkeys(p for p in below if p[1] != device)
    return {n: levels[n, device] for n, device in items}


def _below(n: Node, device: str) -> list[tuple[Node, str]]:
    """What a value on a device is computed of, and where."""
    if lookup(n) is not None:
        return []
    if n.op is Op.COPY and _is_crossing(n, device):
        return [(n.src[0], device_of(n.src[0]))]
    return [(s, CPU if s.device == CPU else device) for s in n.src or sources(n)]


def one_device(name: str, roots: Sequence[Node]) -> str:
    """Where the program of a jitted function runs, which computes these; what it is given on the
    CPU, it copies.

    Raises JitError where that is several devices, or where a GPU's value moves on.
    """
    if only_cpu():
        return CPU
    devices = sorted({n.device for n in roots if n.device is not None})
    if len(devices) > 1:
        raise errors.JitError(
            f"the jitted function {name} computes values on {' and '.join(devices)}: {ONE_DEVICE}"
        )
    for n in reach(roots, sources):
        if n.op is Op.COPY and n.src[0].device not in (None, CPU, n.arg):
            line = f"{located(n.site)}: " if n.site else ""
            what = f"a value on {n.src[0].device} is moved to {n.arg} in the jitted function {name}"
            raise errors.JitError(f"{line}{what}: {ONE_DEVICE}")
    return devices[0] if devices else default()
