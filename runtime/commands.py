"""Table of the native driver. In: the calls and blocks of a Program. Out: its words: phases, and
the commands between them that make loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from ..ir.program.program import Block, BranchBlock, CopyBlock, LoopBlock, Ref, Span
from .native import COMMAND

Slot = tuple[int, int]  # a place in the argument array, an offset
HEADER = 5  # words of the table before the first phase
RECORD = 4  # words of a phase before its slots, of a command before its entries
ZERO = 0  # the place of the constant 0


def header(phases: int, parallel: bool, width: int, words: int, patience: int = 0) -> list[int]:
    """The first words of a table of so many words. `width`: slots of the widest context;
    `patience`: how often a loop goes back until the clock is looked at, 0 without loops."""
    return [phases, int(parallel), width, words, patience]


class Operation(IntEnum):
    """What a command does; llvm/driver.ll explains them."""

    SET, ADD, TURN, COPY, LOAD_BYTE, LOAD_WORD = range(6)
    IF_ZERO, IF_NOT_ZERO, IF_GREATER, UNLESS_STOPPED = range(6, 10)


@dataclass(frozen=True)
class Entry:
    """A phase or a command of a table, as its words say: `number` is its operation, or for a phase
    the first word; `entries`: (word, argument, offset) each; `target`: the place of the Entry to
    which it may jump."""

    is_command: bool
    number: int
    entries: tuple[tuple[int, int, int], ...] = ()
    target: int | None = None


def parsed(words: Sequence[int]) -> list[Entry]:
    """The phases and commands of a table whose phases have no slots."""
    starts: dict[int, int] = {}
    at, count = HEADER, 0
    while at < len(words):
        starts[at] = count
        count += 1
        at += RECORD + 3 * words[at + 3]
    starts[at] = count
    out = []
    for start in list(starts)[:-1]:
        number, _, flags, size = words[start : start + RECORD]
        flat = words[start + RECORD : start + RECORD + 3 * size]
        entries = tuple(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
        is_command = bool(flags & COMMAND)
        jumps = is_command and number >= Operation.IF_ZERO
        target = starts[entries[0][0]] if jumps else None
        out.append(Entry(is_command, number, entries, target))
    return out


@dataclass
class Table:
    """`words`: those of the table; `phases`: how many it has so far. `slot`: where a Ref is in the
    argument array; `call`: adds the phases of a call."""

    slot: Callable[[Ref], Slot]
    call: Callable[[Table, int], None]
    stoppable: LoopBlock | None = None  # what may end after any iteration
    words: list[int] = field(default_factory=lambda: [0] * HEADER)
    phases: int = 0

    def add(self, span: Span) -> None:
        """The calls and blocks of a span."""
        at = span.first
        for block in span.blocks:
            self._calls(at, block.bodies[0].first)
            self._block(block)
            at = block.bodies[-1].stop
        self._calls(at, span.stop)

    def _calls(self, first: int, stop: int) -> None:
        for number in range(first, stop):
            self.call(self, number)

    def _block(self, block: Block) -> None:
        match block:
            case LoopBlock():
                self._loop(block)
            case BranchBlock():
                self._branch(block)
            case CopyBlock():
                self._copy(block.nbytes, block.end, block.start)

    # ------------------------------------------------------------ commands

    def _command(self, operation: Operation, entries: Sequence[tuple[int, Slot]]) -> None:
        if entries:
            self.words += [operation, 0, COMMAND, len(entries)]
            self.words += [word for place, slot in entries for word in (place, *slot)]

    def _jump(self, operation: Operation, slot: Slot) -> int:
        """A jump to nowhere yet; where its words are."""
        at = len(self.words)
        self._command(operation, [(0, slot)])
        return at

    def _land(self, jump: int, target: tuple[int, int] | None = None) -> None:
        """The jump goes to here, or to a (word, phase) before."""
        word, phase = target or self._here()
        self.words[jump + 1], self.words[jump + RECORD] = phase, word

    def _here(self) -> tuple[int, int]:
        return len(self.words), self.phases

    def _place(self, cursor: Ref) -> int:
        return self.slot(cursor)[0]

    # ------------------------------------------------------------ loops

    def _loop(self, loop: LoopBlock) -> None:
        place, slot = self._place, self.slot
        begin = [(place(loop.counter), (ZERO, 0))]
        for c in loop.cursors:
            word, offset = slot(c.start)
            begin.append((place(c.cursor), (word, offset + c.offset)))
        for s in loop.swapped:
            begin += [(place(s.read), slot(s.start)), (place(s.written), slot(s.ways[0]))]
            begin.append((place(s.turn), slot(s.ways[0])))
        self._command(Operation.SET, begin)
        self._command(Operation.TURN, [(place(s.turn), slot(s.ways[1])) for s in loop.swapped])
        for h in loop.held:
            self._copy(h.nbytes, h.end, h.start)
        head = self._here()
        out = []
        if loop.condition is not None:
            self._command(Operation.LOAD_BYTE, [(place(loop.seen), slot(loop.condition))])
            out.append(self._jump(Operation.IF_ZERO, slot(loop.seen)))
        self.add(loop.body)
        self._advance(loop)
        counter, _ = slot(loop.counter)
        again = Operation.UNLESS_STOPPED if loop is self.stoppable else Operation.IF_NOT_ZERO
        # without a length it goes round always: the counter is not 0
        self._land(self._jump(again, (counter, -(loop.length or 0))), head)
        for jump in out:
            self._land(jump)
        for s in loop.swapped:
            self._copy(s.nbytes, s.end, s.read)

    def _advance(self, loop: LoopBlock) -> None:
        """From one iteration to the next."""
        place, slot = self._place, self.slot
        self._command(Operation.SET, [(place(s.read), slot(s.written)) for s in loop.swapped])
        self._command(Operation.TURN, [(place(s.written), slot(s.turn)) for s in loop.swapped])
        steps = [(place(c.cursor), (ZERO, c.step)) for c in loop.cursors]
        self._command(Operation.ADD, [(place(loop.counter), (ZERO, 1)), *steps])

    def _copy(self, nbytes: int, to: Ref, start: Ref) -> None:
        self._command(Operation.COPY, [(nbytes, self.slot(to)), (0, self.slot(start))])

    # ------------------------------------------------------------ branches

    def _branch(self, branch: BranchBlock) -> None:
        seen = self._place(branch.seen)
        self._command(Operation.LOAD_WORD, [(seen, self.slot(branch.index))])
        ends = []
        for k, body in enumerate(branch.bodies):
            is_last = k == len(branch.bodies) - 1
            other = None if is_last else self._jump(Operation.IF_GREATER, (seen, -k))
            self.add(body)
            if other is not None:
                ends.append(self._jump(Operation.IF_ZERO, (ZERO, 0)))
                self._land(other)
        for jump in ends:
            self._land(jump)
