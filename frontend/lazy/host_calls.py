"""Host calls that are due. In: Nodes that are about to be computed. Out: the calls of Python that
they wait for have been made, in the order of the Graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import errors
from ...ir.graph.graph import Node, reach, sources, toposort
from ...ir.graph.host import HostCall
from ...ir.graph.op import Op
from ...ir.graph.region import Shared, results_of, together
from ...ir.graph.site import located
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU
from ...runtime.memory.storage import Storage, lookup
from .any_tensor import AnyTensor as Tensor
from .any_tensor import bare


class Made:
    """Whether there is a Node of a host call: nobody looks before."""

    any = False


def settle(tensors: Sequence[Tensor], compute: Callable[[list[Tensor]], None]) -> None:
    """Makes the calls; `compute` gives Tensors their memory. What a function raises comes out, and
    calls before it have been made."""
    roots = [t.node for t in tensors]
    for shared in _waiting(roots):
        _call(shared, compute)


def _waiting(roots: Sequence[Node]) -> dict[Shared, list[Node]]:
    """The calls whose results are not in memory, with these, sources first."""

    def below(n: Node) -> Sequence[Node]:
        return () if lookup(n) is not None else n.src or sources(n)

    found = {n for n in reach(roots, below) if n.op is Op.HOST and lookup(n) is None}
    return together([n for n in toposort(found) if n in found], {Op.HOST})


def _call(shared: Shared, compute: Callable[[list[Tensor]], None]) -> None:
    """Results that nobody waits for yet are kept, too, by Tensors that have them."""
    call, src = shared
    given = [bare(n) for n in src]
    compute([t for t in given if t._stored() is None])
    arrays = [_array(t._stored()) for t in given]
    made = call.function(*arrays)
    for n in results_of(Op.HOST, call, src):
        storage.own(n, _stored(call, n, made))


def _array(stored: Storage | None) -> object:
    assert stored is not None
    return storage.moved(stored, CPU).numpy() if stored.device != CPU else stored.numpy()


def _stored(call: HostCall, n: Node, made: Sequence[object]) -> Storage:
    try:
        array = np.asarray(made[n.arg[1]])
        found = f"{array.dtype}{list(array.shape)}"
    except ValueError:  # nested lists of unequal lengths
        array, found = np.asarray(None), "what is no array"
    if array.shape != n.shape or not np.can_cast(array.dtype, n.dtype.numpy, "same_kind"):
        where = f"{located(n.site[:2])}: " if n.site else ""
        raise errors.ShapeError(
            f"{where}host_call: {call.name} returned {found}, not {n.dtype.name}{list(n.shape)}"
        )
    stored = storage.from_array(array, n.dtype, copy=True)
    return stored if n.device in (None, CPU) else storage.moved(stored, n.device)
