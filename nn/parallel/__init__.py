"""Training in several processes. In: a script that `python -m weft.nn.parallel -n 2 script.py`
starts. Out: one model, in all."""

from __future__ import annotations

from .ddp import DistributedDataParallel
from .group import all_gather, all_reduce, barrier, broadcast, is_initialized, rank, world_size
from .sampler import DistributedSampler
from .step import jit_step
from .world import GroupError

__all__ = [
    "DistributedDataParallel",
    "DistributedSampler",
    "GroupError",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "is_initialized",
    "jit_step",
    "rank",
    "world_size",
]
