"""Capabilities of this implementation of the standard. In: the standard's questions. Out: dicts and
lists."""

from __future__ import annotations

from ..frontend.operands.broadcast import default_complex, default_float, default_int
from ..frontend.operands.likes import DeviceLike
from ..frontend.tensor.dtypes import Kind, isdtype, standard_dtypes
from ..ir.graph.dtype import DType
from ..runtime.memory import devices
from ..runtime.memory.devices import check_device

MAX_DIMENSIONS = 64  # of a NumPy array, which is how values leave


class Info:
    """The inspection part of the standard."""

    def capabilities(self) -> dict[str, bool | int]:
        """Which optional features there are; boolean masks and shapes that depend on values are
        computed when asked for."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_DIMENSIONS,
        }

    def default_device(self) -> str:
        """Where arrays are made unless a device is given."""
        return devices.default()

    def devices(self) -> list[str]:
        """Every device there is."""
        return devices.available()

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """By kind, the dtype of Python numbers."""
        check_device(device)
        return {
            "real floating": default_float(),
            "complex floating": default_complex(),
            "integral": default_int,
            "indexing": default_int,
        }

    def dtypes(self, *, device: DeviceLike = None, kind: Kind | None = None) -> dict[str, DType]:
        """The standard's dtypes of a kind (all if None) by name; float16 and bfloat16 exist beside
        them."""
        check_device(device)
        return {
            name: d for name, d in standard_dtypes().items() if kind is None or isdtype(d, kind)
        }


def __array_namespace_info__() -> Info:
    """Answers to what this namespace supports."""
    return Info()
