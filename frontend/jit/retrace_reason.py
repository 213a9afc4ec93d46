"""Reasons for another trace of a jitted function. In: its steps, a call that fits none of them.
Out: a line on stderr, with WEFT_DEBUG.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ... import options
from ...runtime.memory.storage import Storage
from .signature import names_of
from .traced_step import TracedStep

WHAT = ("dtype", "shape", "strides", "device", "requires_grad")


def explain(name: str, steps: Any, key: Any, tensors: Sequence[Any], given: Sequence[Storage], args: Any, kwargs: Any) -> None:
    """Prints what is new about this call, where WEFT_DEBUG asks for it."""
    if not options.current().debug:
        return
    if not steps:
        reason = "this is the first call"
    elif key in steps:
        reason = misfit(steps[key][0], tensors, given, names_of(args, kwargs))
    else:
        reason = _difference(next(reversed(steps)), key)
    print(f"jit: {name} is traced: {reason}", file=sys.stderr)


def misfit(step: TracedStep, tensors: Sequence[Any], given: Sequence[Storage], names: Sequence[str]) -> str:
    """The first thing in which a call differs from those that the step is for."""
    for t, s, layout, tracked, name in zip(tensors, given, step.layouts, step.tracked, names, strict=True):
        for what, old, new in zip(WHAT, (*layout, tracked), (*s.layout, t._requires_grad), strict=True):
            if old != new:
                return f"{name} has {what} {getattr(new, 'name', new)}, not {getattr(old, 'name', old)}"
    change = step.change()
    return "its other Tensors have another layout" if change is None else change()


def _difference(old: Any, new: Any) -> str:
    if old[2] != new[2]:
        return "gradients are on" if new[2] else "gradients are off"
    if old[3] != new[3]:
        return f"autocast is {'off' if new[3] is None else f'on, with {new[3].name}'}"
    if old[4] is not new[4]:
        return f"the default dtype is {new[4].name}, not {old[4].name}"
    if old[1] != new[1]:
        return "a Tensor is passed twice, or no longer is"
    for i, (a, b) in enumerate(zip(old[0], new[0], strict=False)):
        if a != b:
            return f"argument {i} has another structure, type or static value"
    return f"{len(new[0])} arguments, not {len(old[0])}"
