"""Garbage collection, paused. In: a function. Out: the same function, during which Python does not
look for cycles.

A compilation makes a hundred thousand objects that live until it ends. Going through them again and
again was a quarter of its time (GPT of 24 layers: 7.9 s with collections, 5.9 s without).
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
