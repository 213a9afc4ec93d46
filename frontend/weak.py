"""Tables that hold nothing alive. In: a table, a key, a value. Out: the table with a weak reference to the value.

A WeakValueDictionary takes nearly twice as long over it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

Table = dict[int, Callable[[], T | None]]  # what a call finds, None where it is gone


def remember(table: Table[T], key: int, value: T) -> None:
    """table[key] refers to the value until that dies, or until another one takes its place.

    Several threads may drop what they hold at once: whoever comes second finds nothing to forget.
    """
    table[key] = weakref.ref(value, lambda ref: table.pop(key, None) if table.get(key) is ref else None)
