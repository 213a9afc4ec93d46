"""Limits and other forms of parameters. In: Modules, or parameters with gradients. Out: the same,
limited or computed."""

from __future__ import annotations

from . import parametrizations, parametrize, prune
from .parameters import (
    clip_grad_norm_,
    clip_grad_value_,
    parameters_to_vector,
    vector_to_parameters,
)
from .parametrizations import spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
