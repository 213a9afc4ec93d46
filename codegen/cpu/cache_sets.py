"""Lines of memory that share sets of a cache. In: how far apart they lie, a Target. Out: how many
of them it holds at once.

A line's address picks its set, and a set holds as many lines as the cache has ways: at a pitch of 4
KB all lines share one set of the level-1 cache, at 6 KB two sets, at 256 B sixteen. Runs of 1 KB at
a pitch of 6 KB, whose greatest power of 2 is 2 KB, share half of the level-2 cache.
"""

from __future__ import annotations

from math import gcd

from ..llvm.target import Target

LINE = 64  # bytes
# bytes of a way of the level-1 cache, a page: its sets are found before the address is translated
L1_WAY = 4096
# of the level-2 cache: 1 MB in 16 ways (Zen 5, Skylake-X); 128 KB on Zen 4 and Sapphire Rapids
L2_WAY = 1 << 16


def lines_in_l1(pitch: int, target: Target) -> int:
    """How many lines, each `pitch` bytes after the one before, the level-1 cache holds at once."""
    return target.l1 // L1_WAY * (L1_WAY // gcd(max(pitch, LINE), L1_WAY))


def l2_share(pitch: int, run: int, target: Target) -> int:
    """Bytes of the level-2 cache that runs of `run` bytes can be in, each `pitch` bytes after the
    one before."""
    return min(target.l2, target.l2 * run // gcd(pitch, L2_WAY))
