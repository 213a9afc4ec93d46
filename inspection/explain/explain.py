"""`wf.explain`, `wf.one_kernel`, and what all tools take. In: Tensors, functions, Modules. Out: a
Report, or an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ... import errors
from ...frontend.jit.jit import jit, step_behind
from ...frontend.lazy import program_table, realize, watchers
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief

if TYPE_CHECKING:
    from ...compiler.compile import Compiled
    from ...compiler.structure import Structure
    from ...frontend.lazy.cached_program import CachedProgram
    from ...runtime.memory.storage import Storage
    from ..names.naming import InputNames
    from .kernel import KernelReport
    from .report import Report


Subject = Tensor | list[Tensor] | tuple[Tensor, ...] | Callable[..., Any]


def explain(x: Subject, /, *args: Any, **kwargs: Any) -> Report:
    """The kernels that computing x would run, where they come from, and why neighbours stayed
    apart. Nothing is computed.

    `x` is a Tensor or several; what is in memory already needs no kernel. Or it is a function made
    by `wf.jit`, or a method: then it is what a call with these arguments would run, which is traced
    if need be but not run and changes nothing, or without arguments what the last call ran. Or it
    is a Module with example inputs, `wf.explain(model, x)`, or what `wf.compile` made. Tensors that
    a function or a Module meets are computed, as their layout is part of the signature.

    `print(report)` shows for each kernel the lines that it computes, its operations, the names of
    the parameters, arguments and states of optimisers that it reads, outer axes, bytes, arithmetic,
    schedule, the time that the roofline of this machine predicts and what bounds it, and the
    reasons at its boundaries. `report.show()` prints tables if the package rich is there, a
    notebook shows them anyway. `report.kernels` is the list of kernels, `report.memory` says which
    buffers are needed when and how many bytes at most, `report.to_dict()` is all of it for JSON.

    The first report on a machine measures the limits of that machine, which takes half a second;
    the disk cache keeps them. Raises ArgumentError for a function that is not jitted, or that has
    not been called where no arguments are given, for a Module without inputs, and what the call
    would raise.
    """
    from .build import report
    from .report import Report

    structure = structure_behind("explain", x, args, kwargs)
    program = _named(structure)
    if program is None:
        return Report()
    with realize.lock:
        sizes = program_table.sizes_of(structure)
    notes = filter(None, (structure.note, sizes))
    return replace(report(program[0], names=program[1]), note="\n".join(notes))


def named_behind(
    what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Compiled, InputNames] | None:
    """The program that `explain` and `dump` look at, and what its inputs are called; None where all
    is in memory already."""
    return _named(structure_behind(what, x, args, kwargs))


def _named(structure: Structure) -> tuple[Compiled, InputNames] | None:
    from ...compiler import compile
    from ..names.naming import input_names

    return (compile.program_of(structure), input_names(structure)) if structure.key[1] else None


def compiled_behind(
    what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Compiled | None:
    """The program alone."""
    program = named_behind(what, x, args, kwargs)
    return program and program[0]


def structure_behind(what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Structure:
    """What that program computes."""
    if callable(x):
        step = step_behind(what, as_jitted(what, x, args, kwargs), args, kwargs)
        if step is None:
            raise errors.ArgumentError(
                f"{what}: {brief(x)} is not jitted: "
                "give wf.jit of it, or the Tensors that it returns"
            )
        return step.structure
    if args or kwargs:
        raise errors.ArgumentError(
            f"{what}: more arguments are those of a call of a jitted function, but x is {brief(x)}"
        )
    return asked(what, x)[0]


def asked(what: str, x: Any) -> tuple[Structure, list[Storage]]:
    """What computing Tensors would run, and the memory that it would read. Raises DTypeError for
    anything else."""
    try:
        return realize.asked_of(x)
    except errors.DTypeError as error:
        raise errors.DTypeError(f"{what}: {error}") from None


def as_jitted(what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A Module as a function; anything else as it is."""
    from ...nn.module import Module

    if not isinstance(x, Module):
        return x
    if args or kwargs:
        return jit(x)
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    needed = [
        p.name
        for p in signature(x.forward).parameters.values()
        if p.default is p.empty and p.kind not in optional
    ]
    if needed:
        call = f"wf.{what}(model, {', '.join(needed)})"
        raise errors.ArgumentError(
            f"{what}: what {type(x).__name__} computes depends on its inputs: "
            f"give some, as in {call}"
        )

    def without_inputs() -> Any:
        return x()

    return jit(without_inputs)


# ---------------------------------------------------------------- one kernel


Verdict = tuple[int, str]  # how many kernels, what to say of them

# By the executable: whether it takes one kernel at most.
_known: WeakKeyDictionary[object, Verdict] = WeakKeyDictionary()


def _require(program: CachedProgram, structure: Structure) -> None:
    verdict = _known.get(program.executable)
    if verdict is None or verdict[0] > 1:
        verdict = _known[program.executable] = _judged(structure)
    if verdict[0] > 1:
        raise errors.FusionError(verdict[1])


class one_kernel(watchers.Requiring):
    """Inside, in this thread, everything that is computed at once must be one kernel: `with
    wf.one_kernel(): y.numpy()`.

    At once is computed what one call of `realize`, `numpy`, `item` and their like needs, what an
    optimiser's step updates, and a call of a function made by `wf.jit` or `wf.compile`. Checks of
    indices and copies between devices are not kernels. Raises FusionError, which names the kernels,
    the user's lines and why they are not one. It is raised before anything is computed or assigned,
    so that all of it can be computed later. It is also a decorator: `@wf.one_kernel()`.
    """

    value = staticmethod(_require)


def _judged(structure: Structure) -> Verdict:
    from ...compiler import compile
    from .build import report

    explained = report(compile.program_of(structure), predict=False)
    kernels = [k for k in explained.kernels if k.kind != "check"]
    return len(kernels), _told(kernels)


def _told(kernels: list[KernelReport]) -> str:
    """The kernels with their lines, and under each why it is not one with those before."""
    names = {k.name for k in kernels}
    out = [f"one_kernel: this takes {len(kernels)} kernels"]
    for i, k in enumerate(kernels):
        out += ["", k.name, *(f"    {s}" for s in k.sources)]
        reasons = [
            f"  is not one with {b.other}: {b.rule}: {b.detail}"
            for b in k.boundaries
            if b.other in names
        ]
        out += reasons or ["  shares no data with the kernels before it"] * (i > 0)
    return "\n".join(out)
