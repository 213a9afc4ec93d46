"""Similarity of vectors, and losses of it. In: pairs of vectors. Out: a number per pair, or a scalar."""

from __future__ import annotations

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_double, normalise_axis
from ...frontend.operands.broadcast import broadcast_shape
from ...frontend.tensor.tensor import Tensor
from .common import in_float32_at_least, numbers, reduced, same_shapes

__all__ = ["cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "normalize", "pairwise_distance"]


@in_float32_at_least
def normalize(x: Tensor, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """x divided by its norm of order p along an axis; norms below eps count as eps.

    >>> F.normalize(wf.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    place, least = normalise_axis("normalize", axis, numbers("normalize", x).ndim), as_double("normalize", "eps", eps)
    return x / x.norm(as_double("normalize", "p", p), place, keepdims=True).clip(least)


@in_float32_at_least
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Tensor:
    """The norm of order p of x1 - x2 + eps along the last axis, of shapes that broadcast.

    >>> F.pairwise_distance(wf.tensor([[3.0, 0.0]]), wf.tensor([[0.0, 4.0]]), eps=0.0).tolist()
    [5.0]
    """
    name = "pairwise_distance"
    shape = broadcast_shape(name, [numbers(name, x1).shape, numbers(name, x2).shape])
    if not shape:
        raise errors.ShapeError(f"{name}: expected vectors (..., D), got shapes {x1.shape} and {x2.shape}")
    difference = x1 - x2 + as_double(name, "eps", eps)
    return difference.norm(as_double(name, "p", p), -1, as_bool(name, "keepdims", keepdims))


@in_float32_at_least
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """sum(x1 * x2) / (|x1| * |x2|) along an axis, of shapes that broadcast; lengths below eps count as eps.

    >>> F.cosine_similarity(wf.tensor([3.0, 4.0]), wf.tensor([4.0, 3.0]), axis=0).item()
    0.96...
    """
    least, shape = as_double("cosine_similarity", "eps", eps), broadcast_shape("cosine_similarity", [x1.shape, x2.shape])
    place = normalise_axis("cosine_similarity", axis, len(shape))
    a, b = (x / x.norm(axis=place, keepdims=True).clip(least) for x in (x1.broadcast_to(shape), x2.broadcast_to(shape)))
    return (a * b).sum(axis=place)


@in_float32_at_least
def cosine_embedding_loss(x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean") -> Tensor:
    """1 - cosine_similarity where target is 1, max(0, cosine_similarity - margin) where it is -1.

    x1 and x2: (N, D), target (N,); or (D,) and a scalar.

    >>> F.cosine_embedding_loss(wf.tensor([[1.0, 0.0]]), wf.tensor([[1.0, 1.0]]), wf.tensor([-1])).item()
    0.7071...
    """
    if x1.shape != x2.shape or x1.ndim not in (1, 2) or target.shape != x1.shape[:-1]:
        shapes = f"{x1.shape}, {x2.shape} and {target.shape}"
        raise errors.ShapeError(f"cosine_embedding_loss: x1 and x2 have shape (N, D) and target (N,), not {shapes}")
    cosine = cosine_similarity(x1, x2, axis=-1)
    apart = (cosine - as_double("cosine_embedding_loss", "margin", margin)).relu()
    return reduced("cosine_embedding_loss", _of_sign(target, 1.0 - cosine, apart), reduction)


@in_float32_at_least
def hinge_embedding_loss(x: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1; the two shapes must be equal.

    >>> F.hinge_embedding_loss(wf.tensor([0.5, 0.25]), wf.tensor([1, -1]), reduction="none").tolist()
    [0.5, 0.75]
    """
    same_shapes("hinge_embedding_loss", x, target)
    apart = (as_double("hinge_embedding_loss", "margin", margin) - x).relu()
    return reduced("hinge_embedding_loss", _of_sign(target, x, apart), reduction)


def _of_sign(target: Tensor, alike: Tensor, apart: Tensor) -> Tensor:
    """One value where target is 1, another one where it is -1, 0 elsewhere."""
    return ops.where(target == 1, alike, ops.where(target == -1, apart, 0.0))
