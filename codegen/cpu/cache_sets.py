"""Lines of memory that share sets of a cache. In: how far apart they lie, a Target. Out: how many of them it holds at once.

A line's address picks its set, and a set holds as many lines as the cache has ways: at a pitch of 4 KB all lines share one set
of the level-1 cache, at 6 KB two sets, at 256 B sixteen.
"""

from __future__ import annotations

from math import gcd

from ..llvm.target import Target

LINE = 64  # bytes
L1_WAY = 4096  # bytes of a way of the level-1 cache, a page: its sets are found before the address is translated


def lines_in_l1(pitch: int, target: Target) -> int:
    """How many lines, each `pitch` bytes after the one before, the level-1 cache holds at once."""
    return target.l1 // L1_WAY * (L1_WAY // gcd(max(pitch, LINE), L1_WAY))
