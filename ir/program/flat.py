"""Calls of a program in the making, in one list. In: calls, programs inside it. Out: the calls of
all, and the blocks that loops and branches are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .blocks import Block, Counter, Span
from .program import Call, Program
from .ref import Ref


@dataclass
class Flat:
    """`calls`, `blocks` and `counters` as in a Program; `cursors`: how many words there are so
    far."""

    calls: list[Call] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    cursors: int = 0

    def cursor(self) -> Ref:
        """A new word."""
        self.cursors += 1
        return Ref("cursor", self.cursors - 1)

    def embed(
        self, program: Program, inputs: Sequence[Ref], outputs: Sequence[Ref], arena: Ref | None
    ) -> Span:
        """Adds the calls of a program whose inputs, outputs and arena are here."""
        first_cursor, first_call = self.cursors, len(self.calls)
        self.cursors += program.cursors

        def at(ref: Ref) -> Ref:
            match ref.space:
                case "input":
                    return inputs[ref.number]
                case "output":
                    return outputs[ref.number]
                case "cursor":
                    return Ref("cursor", first_cursor + ref.number)
            assert arena is not None
            return Ref(arena.space, arena.number + ref.number)

        self.calls += [replace(c, refs=tuple(map(at, c.refs))) for c in program.calls]
        self.counters += [replace(c, word=at(c.word)) for c in program.counters]
        return span_of(program).moved(at, first_call)


def span_of(program: Program) -> Span:
    """All calls of a program."""
    return Span(0, len(program.calls), program.blocks)
