"""Usual parametrizations of weights. In: a layer and the name of a weight. Out: the layer, its
weight made of others."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import no_grad
from ...frontend.jit.jit import jit
from ...frontend.operands.arguments import as_count, as_positive, normalise_axis
from ...frontend.tensor.parameters_elsewhere import naming
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from ..layers.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Buffer, Module
from .parametrize import is_parametrized, register_parametrization, tensor_of

__all__ = ["spectral_norm", "weight_norm"]

FIRST_ITERATIONS = 15  # of the power method, before the first step


class _WeightNorm(Module):
    def __init__(self, axis: int | None) -> None:
        self.axis = axis

    def forward(self, length: Tensor, direction: Tensor) -> Tensor:
        return direction * (length / self._norm(direction))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return self._norm(weight), weight.detach()

    def _norm(self, x: Tensor) -> Tensor:
        """Of all elements, or of those of each index of the axis, which the others keep as 1."""
        if self.axis is None:
            return x.norm()
        return x.norm(axis=[a for a in range(x.ndim) if a != self.axis], keepdims=True)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


@naming
def weight_norm(module: Module, name: str = "weight", axis: int | None = 0) -> Module:
    """Lets a weight be g * v / |v|, with |v| over all axes but one, or over all with axis=None
    (Salimans and Kingma 2016).

    g and v are learned, `parametrizations.<name>.original0` and `original1` of the state; the
    weight stays as it is at first. `parametrize.remove_parametrizations(module, name)` makes it a
    plain weight again. Returns the module. Raises ArgumentError, AxisError, DTypeError.

    >>> layer = nn.utils.weight_norm(nn.Linear(20, 30))
    >>> layer(wf.ones(2, 20)).shape, layer.parametrizations["weight"].original0.shape
    ((2, 30), (30, 1))
    """
    weight = _plain("weight_norm", module, name)
    place = None if axis is None else normalise_axis("weight_norm", axis, weight.ndim)
    return register_parametrization(module, name, _WeightNorm(place))


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, axis: int, eps: float) -> None:
        self.n_power_iterations, self.axis, self.eps = n_power_iterations, axis, eps
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            u, v = (
                F.normalize(ops.randn(n).to(matrix.device).to(dtype=matrix.dtype), axis=0, eps=eps)
                for n in matrix.shape
            )
            for _ in range(FIRST_ITERATIONS):
                u, v = _iterated(matrix, v, eps)
            self._u, self._v = Buffer(u), Buffer(v)

    def _matrix(self, weight: Tensor) -> Tensor:
        return ops.moveaxis(weight, self.axis, 0).flatten(1)  # type: ignore[no-any-return]

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, axis=0, eps=self.eps)
        matrix, u, v = self._matrix(weight), self._u.detach(), self._v.detach()
        if self.training:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    u, v = _iteration(matrix.detach(), v, self.eps)
                self._u.assign(u)
                self._v.assign(v)
        return weight / (u * (matrix * v).sum(axis=1)).sum()

    def extra_repr(self) -> str:
        return f"n_power_iterations={self.n_power_iterations}, axis={self.axis}, eps={self.eps}"


def _iteration(matrix: Tensor, v: Tensor, eps: Any) -> tuple[Tensor, Tensor]:
    """The power method: both singular vectors, from the right one before."""
    u = F.normalize(matrix @ v, axis=0, eps=eps)
    return u, F.normalize(u @ matrix, axis=0, eps=eps)


_iterated = jit(_iteration, static_argnames="eps")


@naming
def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    axis: int | None = None,
) -> Module:
    """Divides a weight by its greatest singular value, as a matrix of one axis by all others
    (Miyato et al. 2018).

    The value is estimated from the singular vectors, buffers of the state, which each access in
    training mode improves by n_power_iterations. axis: 0 unless given, 1 for ConvTranspose layers.
    The original, `parametrizations.<name>.original`, is learned.
    `parametrize.remove_parametrizations(module, name)` makes it a plain weight again. Returns the
    module. Raises ArgumentError, AxisError, DTypeError.

    >>> layer = nn.utils.spectral_norm(nn.Linear(20, 30))
    >>> layer(wf.ones(2, 20)).shape, [*layer.state_dict()][1:]
    ((2, 30), ['parametrizations.weight.original', 'parametrizations.weight.0._u',
    'parametrizations.weight.0._v'])
    """
    weight = _plain("spectral_norm", module, name)
    times, least = (
        as_count("spectral_norm", "n_power_iterations", n_power_iterations, 1),
        as_positive("spectral_norm", "eps", eps),
    )
    usual = int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))
    place = normalise_axis("spectral_norm", usual if axis is None else axis, weight.ndim)
    return register_parametrization(module, name, _SpectralNorm(weight, times, place, least))


def _plain(function: str, module: Any, name: str) -> Tensor:
    """The weight, which no parametrization makes yet."""
    if isinstance(module, Module) and is_parametrized(module, name):
        raise errors.ArgumentError(
            f"{function}: {type(module).__name__}.{name} is parametrised already"
        )
    return tensor_of(function, module, name)
