"""Fourier transforms: `wf.fft`. In: Tensors, or what makes them. Out: lazy Tensors.

The functions are those of frontend/fft.py.
"""

from __future__ import annotations

from ..frontend.fft import *  # noqa: F403
from ..frontend.tensor.names_elsewhere import of_module as _of_module
from ..frontend.tensor.names_elsewhere import public as _public

globals()["__all__"] = _public(globals())
__getattr__ = _of_module(__name__)
