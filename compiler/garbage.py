"""Garbage collection, paused. In: a function. Out: the same function, during which Python does not
look for cycles.

Tracing and compilation make a hundred thousand objects that live until they end. Going through them
again and again was a quarter of the time of both (GPT of 24 layers compiles in 7.9 s with
collections, in 5.9 s without; one of 48 is traced in 0.9 and 0.65 s).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from ..signals import within

P = ParamSpec("P")
R = TypeVar("R")


def without_collections(function: Callable[P, R]) -> Callable[P, R]:
    """Collections wait until the function has ended, whatever ends it; where they were off, they
    stay off."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return function(*args, **kwargs)
        return within(gc.disable, gc.enable, partial(function, *args, **kwargs))

    return call
