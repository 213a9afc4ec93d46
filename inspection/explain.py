"""What users call to look inside. In: Tensors that are not computed yet, or jitted functions. Out: a Report, or files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import errors
from ..frontend import realize
from ..frontend.arguments import shown
from ..frontend.jit import step_behind
from ..frontend.tensor import Tensor

if TYPE_CHECKING:
    from ..frontend.compile import Compiled
    from .kernel_report import Report


Subject = Tensor | list[Tensor] | tuple[Tensor, ...] | Callable[..., Any]


def explain(x: Subject, /, *args: Any, **kwargs: Any) -> Report:
    """The kernels that computing x would run, and why neighbours stayed apart. Nothing is computed.

    `x` is a Tensor or several; what is in memory already needs no kernel. Or it is a function made by `wf.jit`, or a method:
    then it is what a call with these arguments would run, which is traced if need be but not run and changes nothing, or without
    arguments what the last call ran. Tensors that the function meets are computed, as their layout is part of the signature.
    Or it is what `wf.compile` returned.

    `print(report)` shows for each kernel its operations, outer axes, bytes, weighed operations, schedule, source lines and the
    reasons at its boundaries; `report.kernels` is the list of them, `report.memory` tells which buffers are needed when, and how
    many bytes at most. Raises ArgumentError for a function that is not jitted, or that has not been called where no arguments
    are given, and what the call would raise.
    """
    from .kernel_report import Report
    from .report import report

    compiled = compiled_behind("explain", x, args, kwargs)
    return Report() if compiled is None else report(compiled)


def compiled_behind(what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compiled | None:
    """The program that `explain` and others look at; None where everything is in memory already."""
    from ..frontend import compile

    step = step_behind(what, x, args, kwargs)
    if step is not None:
        return compile.program_of(step.structure)
    if callable(x):
        raise errors.ArgumentError(f"{what}: {shown(x)} is not jitted: give wf.jit of it, or the Tensors that it returns")
    if args or kwargs:
        raise errors.ArgumentError(f"{what}: more arguments are those of a call of a jitted function, but x is {shown(x)}")
    structure = realize.structure_of(x)
    return compile.program_of(structure) if structure.key[1] else None
