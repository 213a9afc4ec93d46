"""Operations on all parameters at once. In: parameters and their gradients. Out: both limited, or
joined into one vector."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import inf
from operator import add
from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import no_grad
from ...frontend.operands.arguments import as_bool, as_nonnegative, as_positive, as_sequence
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float | Tensor,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scales all gradients down so that their joint norm is at most max_norm, and returns their
    former norm, a 0-d Tensor.

    The norm of norm_type p > 0 is that of all elements in one vector, the largest absolute one for
    inf or "inf"; gradients become g * min(1, max_norm / (norm + 1e-6)). Nothing is computed yet: in
    a training step it joins the one program. Parameters without gradient count for nothing. 16-bit
    floats are summed in float32. With error_if_nonfinite the norm is computed at once (so not in a
    jitted function), and ArgumentError raised for one that is NaN or infinite. Source: Pascanu et
    al. 2013.

    >>> p = nn.Parameter([3.0, 4.0])
    >>> p.grad = wf.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm_([p], max_norm=1.0).item(), p.grad.numpy().round(3)
    (5.0, array([0.6, 0.8], dtype=float32))
    """
    name = "clip_grad_norm_"
    limit = max_norm if isinstance(max_norm, Tensor) else as_nonnegative(name, "max_norm", max_norm)
    order = (
        inf
        if isinstance(norm_type, str) and norm_type == "inf"
        else as_positive(name, "norm_type", norm_type)
    )
    held = [(p, p.grad) for p in _parameters(name, parameters) if p.grad is not None]
    norm = _joint_norm([g.float() if g.dtype.is_half else g for _, g in held if g.size], order)
    if as_bool(name, "error_if_nonfinite", error_if_nonfinite) and not norm.isfinite().item():
        raise errors.ArgumentError(
            f"{name}: the gradients' norm of order {order:g} is {norm.item()}, so they cannot be"
            " scaled"
        )
    factor = ops.minimum(limit / (norm + 1e-6), 1.0)
    for p, g in held:
        p.grad = (
            (g * factor.to(dtype=g.dtype))
            if not g.dtype.is_half
            else (g.float() * factor).to(dtype=g.dtype)
        )
    return norm


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float | Tensor) -> None:
    """Limits every element of every gradient to [-clip_value, clip_value]; a NaN stays. Nothing is
    computed yet.

    >>> p = nn.Parameter([1.0, 2.0])
    >>> p.grad = wf.tensor([0.5, -7.0])
    >>> nn.utils.clip_grad_value_([p], 1.0)
    >>> p.grad.tolist()
    [0.5, -1.0]
    """
    name = "clip_grad_value_"
    limit = (
        clip_value
        if isinstance(clip_value, Tensor)
        else as_nonnegative(name, "clip_value", clip_value)
    )
    for p in _parameters(name, parameters):
        if p.grad is not None:
            p.grad = p.grad.clip(-limit, limit)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements in one axis, parameter after parameter, each in row-major order; gradients flow
    back.

    >>> nn.utils.parameters_to_vector([nn.Parameter([[1.0, 2.0]]), nn.Parameter([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    tensors = _parameters("parameters_to_vector", parameters)
    if not tensors:
        raise errors.ArgumentError(
            "parameters_to_vector: there are no parameters; an iterator is used only once"
        )
    return ops.concat([p.reshape(-1) for p in tensors])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Assigns the elements of a vector as `parameters_to_vector` joins them. Raises ShapeError
    unless the sizes agree.

    >>> p, q = nn.Parameter([[1.0, 2.0]]), nn.Parameter([3.0])
    >>> nn.utils.vector_to_parameters(wf.tensor([4.0, 5.0, 6.0]), [p, q])
    >>> p.tolist(), q.tolist()
    ([[4.0, 5.0]], [6.0])
    """
    name = "vector_to_parameters"
    tensors = _parameters(name, parameters)
    if not isinstance(vec, Tensor):
        raise errors.DTypeError(f"{name}: vec must be a Tensor, not {brief(vec)}")
    total = sum(p.size for p in tensors)
    if vec.shape != (total,):
        raise errors.ShapeError(
            f"{name}: vec has shape {vec.shape}, but the parameters have {total} elements"
        )
    last = 0
    for p in tensors:
        first, last = last, last + p.size
        p.assign(vec.detach()[first:last].reshape(p.shape).to(dtype=p.dtype))


def _joint_norm(gradients: list[Tensor], order: float) -> Tensor:
    """Of all elements. Each gradient's sum joins the kernel that computes it; adding those one by
    one takes one kernel."""
    if not gradients:
        return ops.tensor(0.0)
    if order == inf:
        return reduce(ops.maximum, [g.abs().max() for g in gradients])
    if order == 2.0:
        return reduce(add, [(g * g).sum() for g in gradients]).sqrt()
    return reduce(add, [(g.abs() ** order).sum() for g in gradients]) ** (1.0 / order)


def _parameters(name: str, parameters: Any) -> list[Tensor]:
    tensors = (
        [parameters]
        if isinstance(parameters, Tensor)
        else as_sequence(name, "parameters", parameters)
    )
    for p in tensors:
        if not isinstance(p, Tensor):
            raise errors.DTypeError(f"{name}: every parameter must be a Tensor, not {brief(p)}")
    return tensors
