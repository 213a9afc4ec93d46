"""Tables that hold nothing alive. In: a table, a key, a value. Out: the table with a weak reference
to the value.

A WeakValueDictionary takes nearly twice as long over it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")

Table = dict[int, Callable[[], T | None]]  # what a call finds, None where it is gone


def remember(table: Table[T], key: int, value: T) -> None:
    """table[key] refers to the value until that dies, or until another one takes its place: then
    the older reference is gone.

    What is called as the value dies is C: Ctrl-C, which would be lost there, comes before or after
    it.
    """
    table[key] = weakref.ref(value, partial(table.pop, key))
