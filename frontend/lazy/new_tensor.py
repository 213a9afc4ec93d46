"""New Tensors. In: a Node just built. Out: its Tensor, entered in the tables of live Tensors."""

from __future__ import annotations

from threading import get_ident
from weakref import ref

from ...ir.graph.graph import Node, interned, shaped
from ...ir.graph.op import Op
from . import growth, state
from .any_tensor import Above, AnyTensor
from .growth import Seen
from .state import grads


def wrap(n: Node, requires_grad: bool = False) -> AnyTensor:
    """The Tensor of a Node. Where gradients are off, a value that would have needed one is cut from
    its history."""
    t = object.__new__(Above.kind)
    if requires_grad and not (n.dtype.kind in "fc" and (not grads or state.grad_enabled())):
        requires_grad = False
        if n.dtype.kind in "fc":
            n = shaped(Op.DETACH, (n,), None, n.dtype, n.shape)
    t._node = n
    t._requires_grad = requires_grad
    t._storage = t._grad = t.name = t._note = t._hooks = None
    if state.traces:
        state.born(t)
    elif (
        state.loops and n.op is not Op.INPUT and (lazy := state.loops.get(get_ident())) is not None
    ):
        lazy.append(ref(t))
    if not n.shape and n.op is not Op.INPUT:
        state.hold_scalar(t)
    if len(interned) > Seen.limit:
        growth.look()
    return t
