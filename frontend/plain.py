"""The shortest way through a jitted function that only maps Tensors to one Tensor. In: a Step. Out: a function of its arguments.

Such a function captures, assigns and draws nothing, so a call needs its arguments' addresses and memory for the result. The way
in general (`Step.fits`, `Step.run`) takes twice as long, which is felt where the program itself takes less than a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import realize
from .recorded import Recorded, Result
from .signature import TENSOR, Layout
from .tensor import Tensor, of_storage

Plain = Callable[[tuple[Any, ...]], Tensor | None]


def is_plain(recorded: Recorded, structure: Any, layouts: list[Layout], has_state: bool) -> bool:
    """Are the arguments Tensors without gradients, and is the result all that a call leaves behind."""
    arguments = [TENSOR] * len(layouts)
    tracked = any(layout[3] for layout in layouts)
    if has_state or tracked or not arguments or list(structure) != arguments or len(recorded.tensors) != len(layouts):
        return False
    touched = recorded.updates or recorded.moves or recorded.gradients or recorded.without
    direct = all(tensor is not None and not offset for tensor, _, offset in recorded.inputs)
    return not touched and direct and recorded.result == 0 and recorded.results == [Result(output=0)]


def plain(step: Any) -> Plain:
    """The function; it gives None where the arguments are others than those that the step is for."""
    layouts, pick, (make,) = step.layouts, step.inputs, step.new
    run, count, statistics, lock = step.call, len(layouts), realize.statistics, realize.lock

    def call(args: tuple[Any, ...]) -> Tensor | None:
        if len(args) != count:
            return None
        with lock:
            addresses = []
            for t, layout in zip(args, layouts, strict=True):
                if type(t) is not Tensor or (s := t._storage) is None:
                    return None
                if (s.dtype, s.shape, s.strides, t._requires_grad) != layout:
                    return None
                addresses.append(s.address)
            out = make()
            statistics["runs"] += 1
            try:
                run(pick(addresses), (out.address,))
            except BaseException as failure:
                raise realize.explained(failure, step.program, step.lines) from None
        return of_storage(out)

    return call
