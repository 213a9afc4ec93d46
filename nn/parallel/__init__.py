"""Training in several processes. In: a script that `python -m weft.nn.parallel -n 2 script.py` starts. Out: one model, in all."""

from __future__ import annotations

from .group import all_gather, all_reduce, barrier, broadcast, is_initialized, rank, world_size
from .world import GroupError

__all__ = [
    "GroupError",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "is_initialized",
    "rank",
    "world_size",
]
