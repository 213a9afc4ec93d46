"""Backward passes. In: a loss. Out: the .grad of every leaf that it leads to, lazily."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ... import errors
from ...ir.gradient import gradient as ir_grad
from ...ir.graph.graph import Node, full
from ..lazy import state
from ..lazy.any_tensor import AnyTensor, Hook
from ..lazy.history import reached, stale_owner
from ..operands.likes import ArrayLike
from ..tensor import creation
from ..tensor.tensor import Tensor, wrap
from ..tensor.tracked import Tracked


def backward(loss: Tracked, gradient: ArrayLike | None, retain_graph: bool) -> None:
    """Tensor.backward."""
    if not loss._requires_grad:
        why = (
            loss._note
            or f"this Tensor does not depend on anything that requires a gradient; {_TWICE}"
        )
        raise errors.GradientError(f"backward: {why}")
    _require_history(loss)
    seed = _seed("backward", loss, gradient)
    owned, passed = reached(loss.node)
    if state.traces and (trace := state.trace()) is not None:
        trace.require_history(passed)
    for leaf in owned:
        _require_fresh(leaf)
    owners = {leaf: t for leaf in owned if (t := leaf.arg.owner()) is not None}
    receivers = [*owners.values(), *_retaining(passed)]
    gradients = ir_grad.vjp(
        [loss.node], [seed], [t.node for t in receivers], _hooks(owners, passed)
    )
    for t, g in zip(receivers, gradients, strict=True):
        if g is not None:
            with state.lock:  # another thread may add to the same gradient
                t.grad = wrap(g) if t.grad is None else t.grad + wrap(g)
    if not retain_graph:
        _use_up(loss)
    if state.watchers:
        _tell(receivers)


def _tell(receivers: list[AnyTensor]) -> None:
    """Notifies watchers of these leaves that all gradients are there."""
    refs = [state.watchers.get(id(t)) for t in receivers]
    watching = {id(w): w for ref in refs if ref is not None and (w := ref()) is not None}
    for watcher in watching.values():
        watcher.after_backward()


def _require_history(loss: Tracked) -> None:
    if loss._note is not None:
        kind = errors.StaleError if "replaced" in loss._note else errors.GradientError
        raise kind(f"backward: {loss._note}, and its history went with it")


def _require_fresh(leaf: Node) -> None:
    owner = stale_owner(leaf)
    if owner is not None:
        raise errors.StaleError(
            f"backward: {state.described(owner)} was replaced by an update after this value was"
            " built from it; build it again"
        )


def _seed(name: str, loss: Tracked, gradient: ArrayLike | None) -> Node:
    if gradient is None:
        if loss.size != 1:
            raise errors.GradientError(
                f"{name}: shape {loss.shape} is not a single element; sum it up, or give its"
                " cotangent"
            )
        if loss.dtype.is_complex:
            raise errors.GradientError(
                f"{name}: a complex value has no gradient of its own: take its real part, or give"
                " its cotangent"
            )
        return full(1, loss.dtype, loss.shape)
    g = gradient if isinstance(gradient, Tensor) else creation.tensor(gradient)
    if g.shape != loss.shape:
        raise errors.ShapeError(
            f"{name}: a cotangent of shape {g.shape} does not fit shape {loss.shape}"
        )
    return g.astype(loss.dtype).node


def _retaining(passed: set[Node]) -> list[AnyTensor]:
    """Computed Tensors among these Nodes whose gradient is asked for."""
    alive = [t for ref in list(state.retaining.values()) if (t := ref()) is not None]
    return [t for t in alive if t._requires_grad and t.node in passed]


def _hooks(owners: dict[Node, AnyTensor], passed: set[Node]) -> dict[Node, Callable[[Node], Node]]:
    """By Node, what its hooks make of a gradient."""
    hooks = (
        {n: functions for n in passed if (functions := state.hooks.get(n))} if state.hooks else {}
    )
    hooks |= {leaf: t._hooks for leaf, t in owners.items() if t._hooks}
    return {n: partial(_replaced, list(functions)) for n, functions in hooks.items()}


def _replaced(hooks: list[Hook], gradient: Node) -> Node:
    """The gradient after these hooks have run on it, in the order of their registration."""
    g = wrap(gradient)
    for hook in hooks:
        changed = hook(g)
        if changed is None:
            continue
        if not isinstance(changed, Tensor):
            raise errors.DTypeError(
                f"backward: a hook returns a Tensor or None, not {type(changed).__name__}"
            )
        if changed.shape != g.shape:
            raise errors.ShapeError(
                f"backward: a hook turned a gradient of shape {g.shape} into one of shape"
                f" {changed.shape}"
            )
        g = changed.astype(g.dtype)
    return g.node


def _use_up(loss: Tracked) -> None:
    why = "a backward() without retain_graph=True has used this value"
    if loss._stored() is not None and not loss.is_leaf:
        state.cut_history(loss, why)
    elif not loss.is_leaf:
        loss._note = why


_TWICE = "to differentiate a gradient, take wf.grad(loss, x) in the place of x.grad"
