"""The Python Array API standard 2024.12 as a namespace: `import weft.array_api as xp`. In: Tensors.
Out: lazy Tensors.

The standard's names and signatures with the extensions linalg and fft; `isin` and
`broadcast_shapes` of 2025.12; float16 and bfloat16. What each function does is in frontend/ops.
"""

from __future__ import annotations

import math as _math

from ..frontend import fft as fft
from ..frontend import linalg as linalg
from ..frontend.tensor import dtypes as _dtypes
from ..frontend.tensor.names_elsewhere import public as _public
from ..ir.graph import dtype as _dt
from . import info as _info
from .functions import *  # noqa: F403

astype, can_cast, isdtype, result_type = (
    _dtypes.astype,
    _dtypes.can_cast,
    _dtypes.isdtype,
    _dtypes.result_type,
)
finfo, iinfo = _dtypes.finfo, _dtypes.iinfo
bool, bfloat16, float16, float32, float64 = (
    _dt.bool_,
    _dt.bfloat16,
    _dt.float16,
    _dt.float32,
    _dt.float64,
)
complex64, complex128 = _dt.complex64, _dt.complex128
int8, int16, int32, int64 = _dt.int8, _dt.int16, _dt.int32, _dt.int64
uint8, uint16, uint32, uint64 = _dt.uint8, _dt.uint16, _dt.uint32, _dt.uint64
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

__array_namespace_info__ = _info.__array_namespace_info__
__array_api_version__ = "2024.12"

_OTHERS = ("__array_api_version__", "__array_namespace_info__", "fft", "linalg")
globals()["__all__"] = [*_public(globals()), *_OTHERS]
