"""A jitted function that counts its traces. In: a function. Out: its results, and how often its
Python ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as wf


class Counted:
    """A function, jitted, that counts how often its Python runs."""

    def __init__(self, function: Callable[..., Any], **statics: Any) -> None:
        self.traces = 0

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.traces += 1
            return function(*args, **kwargs)

        counting.__signature__ = __import__("inspect").signature(function)  # type: ignore[attr-defined]
        self.call = wf.jit(counting, **statics)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)
