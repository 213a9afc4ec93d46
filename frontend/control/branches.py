"""Branches inside a program. In: a condition, functions. Out: lazy Tensors: when the program runs,
it computes what the condition chooses and nothing else.

Every function is traced. What they assign to Tensors from outside is part of the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const
from ...ir.regions.body import OpenBranch, without_definitions
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..operands.arguments import as_sequence
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap
from .traced import Function, Traced, as_tensor, described, shown, tensors


def cond(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    """true_fn(*operands) if pred, one bool, is true, else false_fn(*operands).

    Both return the same structure of the same shapes and dtypes. Gradients flow to the operands and
    to all Tensors that the functions use. Raises ShapeError where the results differ, DTypeError
    for a condition that is not one bool or number.
    """
    chosen = as_tensor("cond", "pred", pred)
    if chosen.shape:
        raise errors.DTypeError(f"cond: pred must be one bool, not {shown(chosen.node)}")
    index = (chosen.astype(dt.bool_)).astype(dt.int64)
    return _chosen("cond", index, (false_fn, true_fn), operands)


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """branches[index](*operands); an index out of range chooses the nearest branch.

    All return the same structure of the same shapes and dtypes. Raises ShapeError where they do
    not, DTypeError for an index that is not one int, ArgumentError without branches.
    """
    chosen = as_tensor("switch", "index", index)
    if chosen.shape or not (chosen.dtype.is_int or chosen.dtype is dt.bool_):
        raise errors.DTypeError(f"switch: the index must be one int, not {shown(chosen.node)}")
    ways = as_sequence("switch", "branches", branches)
    if not ways:
        raise errors.ArgumentError("switch: there is no branch")
    return _chosen("switch", chosen.astype(dt.int64), ways, operands)


def _chosen(
    name: str, index: Tensor, functions: Sequence[Function], operands: Sequence[Any]
) -> Any:
    given = tensors(name, "operands", tuple(operands))
    bodies = []
    for f in functions:
        body = Traced(name, f, BodyTrace(name), given)
        body.call(lambda leaves: tree.like(tuple(operands), [*leaves]))
        bodies.append(body)
    for body in bodies[1:]:
        _require_alike(name, bodies[0], body)
    changed = {id(o.tensor): o.tensor for b in bodies for o in b.trace.assigned()}
    params: list[tuple[Node, Node]] = []
    ways: list[list[Node]] = []
    for body in bodies:
        last = [body.trace.node_of(t) for t in changed.values()]
        own = [
            *zip(body.params, (t.node for t in given), strict=True),
            *body.trace.places.items(),
        ]
        if body.trace.counter is not None:
            own.append((body.trace.counter, const(0, dt.int64)))
        params += own
        ways.append(without_definitions([p for p, _ in own], [*body.nodes, *last]))
    made = OpenBranch(index.node, params, ways).close()
    count = len(bodies[0].nodes)
    for t, n in zip(changed.values(), made[count:], strict=True):
        state.assign(t, n)
    tracks = any(b.needs_gradient for b in bodies)
    results = [wrap(n, tracks and n.dtype.is_inexact) for n in made[:count]]
    return tree.like(bodies[0].result, [*results])


def _require_alike(name: str, one: Traced, other: Traced) -> None:
    if not tree.is_like(one.result, other.result):
        raise errors.ShapeError(
            f"{name}: the branches return different structures: {described(one.result)} and"
            f" {described(other.result)}"
        )
    for a, b in zip(one.nodes, other.nodes, strict=True):
        if a.dtype is not b.dtype or a.shape != b.shape:
            raise errors.ShapeError(f"{name}: one branch returns {shown(a)}, another {shown(b)}")
