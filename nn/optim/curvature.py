"""L-BFGS's estimate of the curvature. In: gradients and steps, all parameters in one axis. Out:
directions.

It is kept as torch keeps it: a dict with changes of the gradient (old_dirs), the steps that made
them (old_stps), 1 / their products (ro) and the scale of the first estimate (H_diag). The programs
are those of one pair, so that they are compiled once whatever the number of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.jit.jit import jit
from ...frontend.operands.arguments import as_count, as_double, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..loading import fitting

LEAST = 1e-10  # product of a step and its change of the gradient that is taken up
State = dict[str, Any]


def unknown() -> State:
    """Of no pair yet."""
    return {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0}


def remember(state: State, gradient: Tensor, most: int) -> None:
    """Takes up the last step, in the place of the oldest where there are as many as `most`."""
    y, s, product, square = _pair(gradient, state["prev_flat_grad"], state["d"], state["t"])
    ys = product.item()
    if ys > LEAST:
        kept = {"old_dirs": y, "old_stps": s, "ro": 1.0 / ys}
        state |= {
            what: [*state[what][max(0, len(state[what]) + 1 - most) :], new]
            for what, new in kept.items()
        }
        state["H_diag"] = ys / square.item()


def direction(state: State, gradient: Tensor) -> Tensor:
    """Minus the gradient times an estimate of the inverse Hessian (Nocedal and Wright 2006,
    algorithm 7.4)."""
    pairs = [*zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True)]
    shares, d = [], -gradient
    for y, s, ro in reversed(pairs):
        d, share = _backward(d, y, s, ro)
        shares.append(share)
    d = _scaled(d, state["H_diag"])
    for (y, s, ro), share in zip(pairs, reversed(shares), strict=True):
        d = _forward(d, y, s, ro, share)
    return d


@jit
def _pair(new: Tensor, old: Tensor, direction: Tensor, t: Tensor) -> tuple[Tensor, ...]:
    """The change of the gradient by a step, the step, their product and the square of the
    former."""
    y, s = new - old, direction * t
    return y, s, (y * s).sum(), (y * y).sum()


@jit
def _backward(d: Tensor, y: Tensor, s: Tensor, ro: Tensor) -> tuple[Tensor, Tensor]:
    share = (s * d).sum() * ro
    return d - share * y, share


@jit
def _scaled(d: Tensor, factor: Tensor) -> Tensor:
    return d * factor


@jit
def _forward(d: Tensor, y: Tensor, s: Tensor, ro: Tensor, share: Tensor) -> Tensor:
    return d + s * (share - (y * d).sum() * ro)


# ---------------------------------------------------------------- what is loaded


def checked(name: str, entry: Any, like: Tensor) -> State:
    """A state, its Tensors in the dtype and of the shape of one. Raises StateError, ShapeError,
    DTypeError, ArgumentError."""
    if not isinstance(entry, Mapping):
        raise errors.DTypeError(
            f"{name}: the state of a parameter must be a dict, not {brief(entry)}"
        )
    missing = [what for what in ("func_evals", "n_iter", *unknown()) if what not in entry]
    if missing:
        raise errors.StateError(f"{name}: the state has no {', '.join(missing)}")
    entries = {what: x for what, x in entry.items() if x is not None}
    state: State = {what: as_count(name, what, entry[what]) for what in ("func_evals", "n_iter")}
    state |= {
        what: as_double(name, what, entries[what])
        for what in ("t", "H_diag", "prev_loss")
        if what in entries
    }
    state |= {
        what: fitting(f"{name}: {what}", like, entries[what])
        for what in ("d", "prev_flat_grad")
        if what in entries
    }
    for what in ("old_dirs", "old_stps"):
        state[what] = [
            fitting(f"{name}: {what}", like, x)
            for x in as_sequence(name, what, entries.get(what, ()))
        ]
    state["ro"] = [
        as_double(name, "each of ro", x) for x in as_sequence(name, "ro", entries.get("ro", ()))
    ]
    if not len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]):
        raise errors.StateError(f"{name}: old_dirs, old_stps and ro are not equally many")
    flat = [x for value in state.values() for x in (value if isinstance(value, list) else [value])]
    ops.realize(*(x for x in flat if isinstance(x, Tensor)))  # what is lazy may fail
    return state
