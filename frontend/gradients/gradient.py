"""Derivatives of Tensors. In: a loss and what to differentiate by, or a function. Out: lazy
gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import errors
from ...ir.gradient import gradient as ir_grad
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, at_home, full
from ...modes import Mode
from ..lazy import state
from ..lazy.history import depends, reached, stale_owner
from ..lazy.realize import realize
from ..operands.arguments import as_double, as_function, as_int, as_sequence
from ..tensor import from_data
from ..tensor.parameters_elsewhere import naming
from ..tensor.tensor import Tensor, wrap
from .backward import _require_fresh, _require_history, _seed

Array = np.ndarray[Any, Any]


class no_grad(Mode):
    """Inside, results do not require gradients: `with wf.no_grad(): ...` or `@wf.no_grad()`; in
    this thread only."""

    blocks, value = state.grad_blocks, False


class enable_grad(Mode):
    """Inside, results require gradients again."""

    blocks, value = state.grad_blocks, True


# ---------------------------------------------------------------- by Tensors


@naming
def grad(loss: Tensor, wrt: Any, gradient: Any = None, allow_unused: bool = False) -> Any:
    """d loss / d w for each w of `wrt` (one Tensor, or a sequence, of which a list comes back);
    lazy, and to any order.

    loss: a single element, or any shape with its cotangent `gradient`. Raises GradientError where
    the loss does not depend on a w, unless allow_unused: then its gradient is 0; StaleError for a
    replaced parameter.
    """
    single = isinstance(wrt, Tensor)
    if not isinstance(loss, Tensor):
        raise errors.DTypeError(f"grad: the loss must be a Tensor, not {brief(loss)}")
    inputs: list[Tensor] = [wrt] if single else as_sequence("grad", "wrt", wrt)
    for w in inputs:
        if not isinstance(w, Tensor) or not w.dtype.is_inexact:
            raise errors.DTypeError(
                f"grad: can differentiate by a Tensor of floats only, not by {brief(w)}"
            )
    gradients = ir_grad.vjp([loss.node], [_seed("grad", loss, gradient)], [w.node for w in inputs])
    out = [
        _gradient(loss, w, i, g, allow_unused)
        for i, (w, g) in enumerate(zip(inputs, gradients, strict=True))
    ]
    return out[0] if single else out


def _gradient(loss: Tensor, w: Tensor, i: int, g: Node | None, allow_unused: bool) -> Tensor:
    if g is not None:
        return wrap(g, loss._requires_grad)
    if not allow_unused and not depends(loss.node, w.node):
        _explain_unreached(loss, w, i)
    return wrap(at_home(full(0, w.dtype, w.shape), w.node.device))


def _explain_unreached(loss: Tensor, w: Tensor, i: int) -> None:
    if loss._note is not None:
        _require_history(loss)
    for leaf in reached(loss.node)[0]:
        if stale_owner(leaf) is w:
            _require_fresh(leaf)
    raise errors.GradientError(
        f"grad: the loss does not depend on wrt[{i}] ({w.dtype.name}{list(w.shape)}), or its"
        " history was dropped when it was computed: require a gradient of what it depends on, or"
        " pass allow_unused=True for zeros"
    )


# ---------------------------------------------------------------- the check by central differences


def check_grad(
    f: Callable[..., Tensor],
    *inputs: Any,
    eps: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    max_elements: int = 40,
    seed: int = 0,
) -> None:
    """Compares the gradient of f by each float input with central differences, in float64.

    f takes Tensors and returns one; of an output with several elements a random combination is
    differentiated. Of inputs with more than max_elements elements so many are drawn. Raises
    GradientError with every element that is off, DTypeError where no input has floats.
    """
    as_function("check_grad", "f", f)
    eps, rtol, atol = (
        as_double("check_grad", n, x) for n, x in (("eps", eps), ("rtol", rtol), ("atol", atol))
    )
    if as_int("check_grad", "max_elements", max_elements) < 0:
        raise errors.ArgumentError(
            f"check_grad: max_elements must be 0 or more, not {max_elements}"
        )
    rng = np.random.default_rng(abs(as_int("check_grad", "seed", seed)))
    arrays = [
        _in_float64(x if isinstance(x, Tensor) else from_data.of_data(from_data.as_array(x, None)))
        for x in inputs
    ]
    places = [x.device if isinstance(x, Tensor) else None for x in inputs]
    tensors = [from_data.of_data(a, device=place) for a, place in zip(arrays, places, strict=True)]
    floats = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    if not floats:
        raise errors.DTypeError("check_grad: no input has floats, so there is no gradient to check")
    out = f(*tensors)
    if not isinstance(out, Tensor):
        raise errors.DTypeError(f"check_grad: the function returns a Tensor, not {brief(out)}")
    weights = from_data.of_data(rng.uniform(0.5, 1.5, out.shape), device=out.device)
    gradients = grad((out * weights).sum(), [tensors[i] for i in floats], allow_unused=True)
    realize(gradients)

    def loss(i: int, changed: Array) -> float:
        given = [
            from_data.of_data(changed if k == i else a, device=places[k])
            for k, a in enumerate(arrays)
        ]
        return float((f(*given) * weights).sum().item())

    wrong: list[str] = []
    for i, g in zip(floats, gradients, strict=True):
        wrong += _differences(
            arrays[i],
            g.cpu().numpy(),
            partial(loss, i),
            rng,
            eps,
            rtol,
            atol,
            max_elements,
            f"input {i}",
        )
    if wrong:
        raise errors.GradientError(
            "check_grad: the gradient differs from central differences\n" + "\n".join(wrong)
        )


def _in_float64(x: Tensor) -> Array:
    """The values, floats of any dtype as float64."""
    return (x.double() if x.dtype.is_float else x).cpu().numpy()


def _differences(
    x: Array,
    gradient: Array,
    loss: Callable[[Array], float],
    rng: np.random.Generator,
    eps: float,
    rtol: float,
    atol: float,
    max_elements: int,
    name: str,
) -> list[str]:
    """One line for each element whose gradient is off."""
    chosen = (
        np.arange(x.size)
        if x.size <= max_elements
        else np.sort(rng.choice(x.size, max_elements, replace=False))
    )
    lines = []
    for k in chosen:
        place = tuple(int(p) for p in np.unravel_index(k, x.shape))
        step = eps * max(1.0, abs(float(x[place])))
        values = []
        for signed in (step, -step):
            moved = x.copy()
            moved[place] = float(x[place]) + signed  # of Python: an infinity is no warning
            values.append(loss(moved))
        numeric, symbolic = (values[0] - values[1]) / (2 * step), float(gradient[place])
        if not abs(numeric - symbolic) <= atol + rtol * max(abs(numeric), abs(symbolic)):
            lines.append(
                f"  {name}{list(place)}: gradient {symbolic:.9g}, central difference {numeric:.9g}"
            )
    return lines
