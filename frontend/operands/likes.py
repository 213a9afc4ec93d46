"""Types of arguments that users may spell in several ways. In: annotations. Out: aliases for a type
checker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ...ir.graph.dtype import DType
from ..lazy.any_tensor import AnyTensor

if TYPE_CHECKING:
    import numpy.typing

    from ...ir.graph.graph import Node


class NamedDevice(Protocol):
    """A device of another library, such as torch.device, which counts by its text."""

    @property
    def type(self) -> str: ...


ArrayLike: TypeAlias = "numpy.typing.ArrayLike"  # Tensors too, as they have __array__
DTypeLike = DType | str | type | np.dtype | None  # None: unless given
DeviceLike = str | int | NamedDevice | None
ShapeLike = int | Sequence[int]
Real = float | np.generic | np.ndarray | AnyTensor  # one number
Nested: TypeAlias = (
    "Node | bool | int | float | str | Sequence[Nested]"  # what binding.py makes of an ArrayLike
)
