"""Shares of a data set for processes. In: a data set, the number of processes, an epoch. Out: the
rows of this process."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_bool, as_count, as_int
from ...ir.graph.brief import brief
from ..data import Sampler
from .group import rank as own_rank
from .group import world_size
from .reduce import Array


class DistributedSampler(Sampler):
    """Deals the rows of a data set, or of so many rows, out to the processes: every num_replicas-th
    from the one of `rank` on.

    shuffle: in an order that depends on seed and epoch alone, so it is the same in all processes;
    call set_epoch(epoch) before each pass for another one. Each process gets as many rows: the
    first ones again to make it even, or with drop_last the last ones not. num_replicas and rank are
    those of this process unless given. Raises ArgumentError, DTypeError.

    >>> sampler = nn.parallel.DistributedSampler(5, num_replicas=2, rank=1, shuffle=False)
    >>> len(sampler), list(sampler)
    (3, [1, 3, 0])
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        who = type(self).__name__
        self.dataset, self._rows = dataset, _length(who, dataset)
        self.num_replicas = (
            world_size() if num_replicas is None else as_int(who, "num_replicas", num_replicas)
        )
        self.rank = own_rank() if rank is None else as_int(who, "rank", rank)
        self.seed, self.epoch = as_count(who, "seed", seed), 0
        self.shuffle, self.drop_last = (
            as_bool(who, "shuffle", shuffle),
            as_bool(who, "drop_last", drop_last),
        )
        if not 0 <= self.rank < self.num_replicas:
            raise errors.ArgumentError(
                f"{who}: rank {self.rank} is not one of {self.num_replicas} processes"
            )

    def set_epoch(self, epoch: int) -> None:
        """The next pass shuffles in the order of this epoch, an int from 0 on."""
        self.epoch = as_count("set_epoch", "epoch", epoch)

    def order(self) -> Array:
        """The rows of a pass of this process."""
        rows = (
            np.random.default_rng([self.seed, self.epoch]).permutation(self._rows)
            if self.shuffle
            else np.arange(self._rows)
        )
        return np.resize(rows, len(self) * self.num_replicas)[self.rank :: self.num_replicas]

    def __len__(self) -> int:
        """How many rows each process gets."""
        return (
            self._rows // self.num_replicas
            if self.drop_last
            else -(-self._rows // self.num_replicas)
        )


def _length(who: str, dataset: Any) -> int:
    if not isinstance(dataset, int) and not hasattr(dataset, "__len__"):
        raise errors.DTypeError(
            f"{who}: the dataset must have a length, or be one, unlike {brief(dataset)}"
        )
    return as_count(who, "the length", dataset if isinstance(dataset, int) else len(dataset))
