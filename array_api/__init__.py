"""The Python Array API standard 2024.12 as a namespace: `import weft.array_api as xp`. In: Tensors. Out: lazy Tensors.

The standard's names and signatures, without the extensions linalg and fft and without complex dtypes; `isin` and
`broadcast_shapes` of 2025.12; float16 and bfloat16. What each function does is in frontend/ops.
"""

from __future__ import annotations

from math import e, inf, nan, pi

from ..frontend.tensor.dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from ..ir.graph.dtype import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from ..ir.graph.dtype import bool_ as bool
from . import creation, elementwise, manipulation, reductions
from .creation import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .info import __array_namespace_info__
from .manipulation import *  # noqa: F403
from .reductions import *  # noqa: F403

__array_api_version__ = "2024.12"
newaxis = None

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "bfloat16",
    "bool",
    "can_cast",
    "e",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += creation.__all__ + elementwise.__all__ + manipulation.__all__ + reductions.__all__
