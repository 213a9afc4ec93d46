"""In-place operators. In: a Tensor, the Node of its new value. Out: the Tensor, which stands for that from now on."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ..elementwise import all as ew
from ..lazy import state
from ..lazy.new_tensor import wrap
from ..lazy.state import grads


def rebind(t: Any, n: Node, requires_grad: bool) -> None:
    """Gives a Tensor the value of n in its own dtype and shape, as an in-place operator does."""
    if n.shape != t.shape:
        raise errors.ShapeError(f"an in-place operation gives shape {n.shape}, which does not fit shape {t.shape}")
    n = ew.cast(n, t.dtype)
    is_waiting = t.node.op is Op.INPUT and t.node.arg.definition is not None
    if t.is_leaf and (t._requires_grad or t._is_assigned_in_place or is_waiting):
        if t._requires_grad and (not grads or state.grad_enabled()):
            raise errors.GradientError("a leaf that requires a gradient is changed in place: do it inside wf.no_grad()")
        t.assign(wrap(n))
        return
    value = wrap(n, requires_grad or t._requires_grad)
    state.move(t, value.node, value._requires_grad)
