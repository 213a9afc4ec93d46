"""Operations of all processes together. In: a Tensor or an array in each of them. Out: what comes
of all.

Each of these functions is called by all processes in the same order, with the same shapes and
dtypes; where they differ, or one has ended, all get a GroupError that says what each does. With one
process they need neither MPI nor mpi4py.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ... import errors
from ...frontend.lazy.trace import tracing
from ...frontend.operands.arguments import as_choice, as_int
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ...runtime.memory import storage
from . import flat
from .reduce import Array, octets, reduced
from .world import is_joined, world

Data = TypeVar("Data", Tensor, Array)

OPS = ("sum", "mean")


def rank() -> int:
    """The number of this process, from 0.

    >>> nn.parallel.rank()
    0
    """
    return world().rank


def world_size() -> int:
    """The number of processes that compute together.

    >>> nn.parallel.world_size()
    1
    """
    return world().size


def is_initialized() -> bool:
    """True if this process has joined others, as in every process that `python -m weft.nn.parallel`
    starts.

    >>> nn.parallel.is_initialized()
    False
    """
    return is_joined()


def barrier() -> None:
    """Returns when every process has called it. Raises GroupError.

    >>> nn.parallel.barrier()
    """
    tracing().refuse("barrier")
    world().agree("barrier()")


def all_reduce(tensor: Data, op: str = "sum") -> Data:
    """Gives the Tensor or array, of one shape and dtype in all processes, its "sum" or "mean" over
    them; returns it.

    Added in the order of the ranks: the same bits in every process and every run. Integers wrap;
    16-bit floats are added in float32 and rounded once. A Tensor loses its history; expressions
    made from it keep the old value. Raises ArgumentError, DTypeError for bools and for the mean of
    integers, GroupError.

    >>> loss = wf.tensor(2.0)
    >>> nn.parallel.all_reduce(loss, "mean").item()
    2.0
    """
    layout = _layout("all_reduce", tensor)
    mean = as_choice("all_reduce", "op", op, OPS) == "mean"
    if layout[0].kind == "b" or (mean and not layout[0].is_float):
        raise errors.DTypeError(
            f"all_reduce: there is no {op} of {layout[0].name}: convert it first"
        )
    world().agree(f"all_reduce(op={op!r}) of {_described(layout)}")
    flat.replace(tensor, reduced(world(), flat.packed([tensor], [layout]), mean))
    return tensor


def broadcast(tensor: Data, src: int = 0) -> Data:
    """Gives the Tensor or array, of one shape and dtype in all processes, the value that it has in
    process `src`; returns it.

    A Tensor loses its history; expressions made from it keep the old value. Raises ArgumentError,
    DTypeError, GroupError.

    >>> nn.parallel.broadcast(wf.arange(3)).tolist()
    [0, 1, 2]
    """
    layout = _layout("broadcast", tensor)
    if not 0 <= as_int("broadcast", "src", src) < world_size():
        raise errors.ArgumentError(
            f"broadcast: src must be the rank of one of {world_size()} processes, not {src}"
        )
    world().agree(f"broadcast(src={src}) of {_described(layout)}")
    values = flat.packed([tensor], [layout])
    if world().comm is not None:
        world().comm.Bcast(octets(values), src)
    flat.replace(tensor, values)
    return tensor


def all_gather(tensor: Tensor | Array) -> list[Tensor]:
    """The Tensors or arrays of all processes, of one shape and dtype, in the order of the ranks.
    Raises DTypeError, GroupError.

    >>> [t.tolist() for t in nn.parallel.all_gather(wf.arange(3))]
    [[0, 1, 2]]
    """
    layout = _layout("all_gather", tensor)
    world().agree(f"all_gather of {_described(layout)}")
    own = flat.packed([tensor], [layout])
    if world().comm is None:
        return flat.parts(own, [layout])
    every = storage.allocate(layout[0], (world_size() * own.shape[0],))
    world().comm.Allgather(octets(own), octets(every))
    return flat.parts(every, [layout] * world_size())


def _layout(name: str, tensor: Any) -> flat.Layout:
    tracing().refuse(name)
    if not isinstance(tensor, (Tensor, np.ndarray)):
        raise errors.DTypeError(
            f"{name}: the tensor must be a Tensor or a NumPy array, not {brief(tensor)}"
        )
    return flat.layout(tensor)


def _described(layout: flat.Layout) -> str:
    return f"{layout[0].name}{list(layout[1])}"
