"""Reasons for another trace of a jitted function, and whether it took another program. In: its
steps, a call that fits none of them. Out: lines on stderr, with WEFT_DEBUG.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ... import options
from ...runtime.memory.storage import Storage
from ..lazy import program_table
from ..lazy.any_tensor import AnyTensor
from .signature import Key
from .traced_step import Steps, TracedStep

WHAT = ("dtype", "shape", "strides", "device", "requires_grad")


def explain(
    name: str,
    steps: Steps,
    key: Key,
    tensors: Sequence[AnyTensor],
    given: Sequence[Storage],
    names: Callable[[], list[str]],
) -> None:
    """Prints what is new about this call, where WEFT_DEBUG asks for it."""
    if not options.current().debug:
        return
    if not steps:
        reason = "this is the first call"
    elif key in steps:
        reason = misfit(steps[key][0], tensors, given, names())
    else:
        reason = _difference(next(reversed(steps)), key)
    print(f"jit: {name} is traced: {reason}", file=sys.stderr)


@contextmanager
def told_if_served(name: str) -> Iterator[None]:
    """Prints, where WEFT_DEBUG asks for it, that what is traced meanwhile needs no program of its
    own."""
    before = program_table.statistics["laid_out"]
    yield
    if options.current().debug and program_table.statistics["laid_out"] > before:
        print(f"jit: {name} is served by a program of several sizes", file=sys.stderr)


def misfit(
    step: TracedStep, tensors: Sequence[AnyTensor], given: Sequence[Storage], names: Sequence[str]
) -> str:
    """The first thing in which a call differs from those that the step is for."""
    for t, s, layout, tracked, name in zip(
        tensors, given, step.layouts, step.tracked, names, strict=True
    ):
        for what, old, new in zip(
            WHAT, (*layout, tracked), (*s.layout, t._requires_grad), strict=True
        ):
            if old != new:
                return (
                    f"{name} has {what} {getattr(new, 'name', new)}, not"
                    f" {getattr(old, 'name', old)}"
                )
    change = step.change()
    return "its other Tensors have another layout" if change is None else change()


def _difference(old: Key, new: Key) -> str:
    old_structure, old_aliases, old_tracks, old_low, old_default = old
    structure, aliases, tracks, low, default = new
    if old_tracks != tracks:
        return "gradients are on" if tracks else "gradients are off"
    if old_low != low:
        return f"autocast is {'off' if low is None else f'on, with {low.name}'}"
    if old_default is not default:
        return f"the default dtype is {default.name}, not {old_default.name}"
    if old_aliases != aliases:
        return "a Tensor is passed twice, or no longer is"
    for i, (a, b) in enumerate(zip(old_structure, structure, strict=False)):
        if a != b:
            return f"argument {i} has another structure, type or static value"
    return f"{len(structure)} arguments, not {len(old_structure)}"
