"""A Program for the values that symbols have. In: a Program whose numbers may be symbolic, inside
`Scope.at`. Out: the same with plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ..passes.bounds_checks import CheckSite
from ..symbolic.questions import value_of
from .blocks import Block, BranchBlock, CopyBlock, Held, LoopBlock, Moved, Span, Swapped
from .program import Call, Lifetime, Program, ValueLayout


def laid_out(program: Program) -> Program:
    """All its numbers."""
    return replace(
        program,
        calls=[_call(call) for call in program.calls],
        inputs=tuple(map(_layout, program.inputs)),
        outputs=tuple(map(_layout, program.outputs)),
        checks=tuple(map(_check, program.checks)),
        lifetimes=tuple(map(_lifetime, program.lifetimes)),
        blocks=tuple(map(_block, program.blocks)),
    )


def _block(block: Block) -> Block:
    match block:
        case CopyBlock():
            return _sized(block)
        case BranchBlock():
            return replace(block, bodies=tuple(map(_span, block.bodies)))
        case LoopBlock():
            return replace(
                block,
                body=_span(block.body),
                length=None if block.length is None else value_of(block.length),
                cursors=tuple(map(_moved, block.cursors)),
                swapped=tuple(map(_sized, block.swapped)),
                held=tuple(map(_sized, block.held)),
            )


def _span(span: Span) -> Span:
    return replace(span, blocks=tuple(map(_block, span.blocks)))


def _moved(m: Moved) -> Moved:
    return replace(m, offset=value_of(m.offset), step=value_of(m.step))


S = TypeVar("S", CopyBlock, Swapped, Held)


def _sized(copied: S) -> S:
    return replace(copied, nbytes=value_of(copied.nbytes))


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
