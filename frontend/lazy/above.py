"""Functions of higher rooms that lower ones call. In: the package sets them once, when it is
imported. Out: calls.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


class Above:
    """Functions of rooms above; those that give modules load them when they are first needed."""

    backward: Callable[[Any, Any, bool], None]  # of a loss, its cotangent; whether its graph is kept
    array_api: Callable[[], ModuleType]  # the namespace of a Tensor
    numpy_functions: Callable[[], ModuleType]  # what NumPy's functions are in Weft
    show: Callable[[Any, int], None]  # shows a program that is new as options ask for
