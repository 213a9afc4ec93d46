"""A Program for the values that symbols have. In: a Program whose numbers may be symbolic, inside
`Scope.at`. Out: the same with plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..passes.bounds_checks import CheckSite
from ..symbolic.questions import value_of
from .blocks import CopyBlock
from .program import Call, Lifetime, Program, ValueLayout


def laid_out(program: Program) -> Program:
    """All its numbers. A program that has symbols has no loops (compiler/compile.py)."""
    copies = [b for b in program.blocks if isinstance(b, CopyBlock)]
    assert len(copies) == len(program.blocks) and not program.counters
    return replace(
        program,
        calls=[_call(call) for call in program.calls],
        inputs=tuple(map(_layout, program.inputs)),
        outputs=tuple(map(_layout, program.outputs)),
        checks=tuple(map(_check, program.checks)),
        lifetimes=tuple(map(_lifetime, program.lifetimes)),
        blocks=tuple([replace(b, nbytes=value_of(b.nbytes)) for b in copies]),
    )


def _values(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(value_of, numbers))


def _call(call: Call) -> Call:
    return replace(call, params=_values(call.params), parallel=tuple(map(bool, call.parallel)))


def _layout(v: ValueLayout) -> ValueLayout:
    return replace(v, shape=_values(v.shape), strides=_values(v.strides))


def _check(check: CheckSite) -> CheckSite:
    batch = None if check.batch is None else _values(check.batch)
    return replace(check, extent=value_of(check.extent), shift=value_of(check.shift), batch=batch)


def _lifetime(lifetime: Lifetime) -> Lifetime:
    return replace(lifetime, shape=_values(lifetime.shape))
