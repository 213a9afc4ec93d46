"""Loops and branches of a Program. In: Refs of cursors and buffers. Out: Blocks, which say that
calls are repeated, chosen, or come after a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .ref import Ref

At = Callable[[Ref], Ref]


@dataclass(frozen=True)
class Moved:
    """A cursor that starts `offset` bytes behind `start`, and moves by `step` bytes after each
    iteration; `writes`: what it points at is stacked there."""

    cursor: Ref
    start: Ref
    offset: int
    step: int
    writes: bool

    def moved(self, at: At) -> Moved:
        """In another program."""
        return replace(self, cursor=at(self.cursor), start=at(self.start))


@dataclass(frozen=True)
class Swapped:
    """Two buffers, `ways`, that are written in turn. `read` points at the last carry, at first at
    `start`; `written` at the next one; `turn` holds what they differ in. The last carry belongs at
    `end`."""

    read: Ref
    written: Ref
    turn: Ref
    start: Ref
    ways: tuple[Ref, Ref]
    end: Ref
    nbytes: int

    def moved(self, at: At) -> Swapped:
        """In another program."""
        first, second = self.ways
        return Swapped(
            at(self.read),
            at(self.written),
            at(self.turn),
            at(self.start),
            (at(first), at(second)),
            at(self.end),
            self.nbytes,
        )


@dataclass(frozen=True)
class Held:
    """A carry that stays at `end`, where `start` is copied to."""

    start: Ref
    end: Ref
    nbytes: int

    def moved(self, at: At) -> Held:
        """In another program."""
        return replace(self, start=at(self.start), end=at(self.end))


@dataclass(frozen=True)
class Span:
    """The calls from `first` to before `stop`, and the loops and branches among them."""

    first: int
    stop: int
    blocks: tuple[Block, ...] = ()

    def moved(self, at: At, by: int) -> Span:
        """In another program, whose call `by` is the first one here."""
        blocks = tuple([b.moved(at, by) for b in self.blocks])
        return Span(self.first + by, self.stop + by, blocks)


@dataclass(frozen=True)
class LoopBlock:
    """A body that is repeated: `length` times, or while the byte `condition` is not 0, at most
    `length` times. `counter` counts the iterations; `seen` is a word for the condition."""

    body: Span
    length: int | None
    condition: Ref | None
    counter: Ref
    seen: Ref
    cursors: tuple[Moved, ...]
    swapped: tuple[Swapped, ...]
    held: tuple[Held, ...]

    def moved(self, at: At, by: int) -> LoopBlock:
        """In another program, whose call `by` is the first one here."""
        return replace(
            self,
            body=self.body.moved(at, by),
            condition=None if self.condition is None else at(self.condition),
            counter=at(self.counter),
            seen=at(self.seen),
            cursors=tuple([c.moved(at) for c in self.cursors]),
            swapped=tuple([s.moved(at) for s in self.swapped]),
            held=tuple([h.moved(at) for h in self.held]),
        )

    @property
    def bodies(self) -> tuple[Span, ...]:
        """Its body."""
        return (self.body,)


@dataclass(frozen=True)
class BranchBlock:
    """Of the bodies, one after the other, the one that the int64 `index` chooses runs; `seen` is a
    word for it."""

    index: Ref
    bodies: tuple[Span, ...]
    seen: Ref

    def moved(self, at: At, by: int) -> BranchBlock:
        """In another program, whose call `by` is the first one here."""
        bodies = tuple([b.moved(at, by) for b in self.bodies])
        return BranchBlock(at(self.index), bodies, at(self.seen))


@dataclass(frozen=True)
class CopyBlock:
    """Bytes that are copied before call `place`, unless they are there."""

    place: int
    start: Ref
    end: Ref
    nbytes: int

    @property
    def bodies(self) -> tuple[Span, ...]:
        """No calls."""
        return (Span(self.place, self.place),)

    def moved(self, at: At, by: int) -> CopyBlock:
        """In another program, whose call `by` is the first one here."""
        return CopyBlock(self.place + by, at(self.start), at(self.end), self.nbytes)


Block = LoopBlock | BranchBlock | CopyBlock


@dataclass(frozen=True)
class Counter:
    """The `word` that counts the iterations of a loop which has the checks from `first` to before
    `stop`."""

    first: int
    stop: int
    word: Ref
