"""Table of the native driver: phases, and commands between them. In: a Program. Out: its Image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..ir.program.blocks import Block, BranchBlock, CopyBlock, LoopBlock, Span
from ..ir.program.flat import span_of
from ..ir.program.program import Call, Program, Routined
from ..ir.program.ref import Ref
from .commands import HEADER, RECORD, ZERO, Operation, Slot, header
from .image import FIRST, STATUS, Image, chunk_count
from .native import CHECK, COMMAND, PARALLEL

PATIENCE = 64  # iterations of tiny kernels between two looks at the clock
BRIEF = 8  # tiny kernels, of which each takes about a microsecond


def image_of(program: Program) -> Image:
    """The numbers of a program."""
    code: list[int] = []
    widths = [1]

    def add_call(table: Table, number: int) -> None:
        call = program.calls[number]
        context = _context(table, call)
        widths.append(len(context))
        _add_call(table, code, call, context)

    stoppable = stoppable_of(program)
    table = Table(program, add_call, stoppable)
    table.add(span_of(program))
    parallel = any(any(call.parallel) for call in program.calls)
    tiny = all(call.loops.tiny for call in program.calls)
    has_loops = any(isinstance(b, LoopBlock) for b in program.blocks)
    patience = has_loops * (PATIENCE if tiny else 1)
    table.words[:HEADER] = header(table.phases, parallel, max(widths), len(table.words), patience)
    sizes = len(program.inputs), len(program.outputs), program.arena_bytes, program.cursors
    few = len(program.calls) <= BRIEF and not program.blocks
    brief = few and tiny
    tables = tuple(table.words), tuple(code)
    counters = [(c.first, c.stop, place(program, c.word)[0]) for c in program.counters]
    return Image(
        *sizes,
        *tables,
        program.donations,
        program.checks,
        brief,
        tuple(counters),
        tuple(_stacks(program, stoppable)),
        stoppable is not None,
        len(table.words) if table.overwrites is None else table.overwrites,
        tuple(table.routines),
    )


def stoppable_of(program: Program) -> LoopBlock | None:
    """The loop of which all that is written in place is the last carry: ended after any iteration,
    it leaves what so many iterations give."""
    if not program.donations:
        return None
    donated = {Ref("output", o) for o in program.donations}
    loops = [b for b in program.blocks if isinstance(b, LoopBlock)]
    ends = [{x.end for x in b.swapped} | {x.end for x in b.held} for b in loops]
    return next((b for b, e in zip(loops, ends, strict=True) if donated <= e), None)


def _stacks(program: Program, loop: LoopBlock | None) -> list[tuple[int, int, int, int]]:
    """Of a loop that may be stopped: (the word that counts its iterations, how many there should
    be, a cursor's word, its step) for what it stacks."""
    if loop is None or loop.length is None:
        return []
    counter = place(program, loop.counter)[0]
    return [
        (counter, loop.length, place(program, c.cursor)[0], c.step)
        for c in loop.cursors
        if c.writes
    ]


def _add_call(table: Table, code: list[int], call: Call, context: list[Slot]) -> None:
    if call.routined is not None:
        table.routines.append((len(table.words), call.routined))
        flags = CHECK | (PARALLEL if any(call.parallel) else 0)
        table.words += [0, call.routined.parts, flags, len(context)]
        table.words += [word for slot in context for word in slot]
        table.phases += 1
        return
    last = len(call.loops.phases) - 1
    for i, (phase, parallel) in enumerate(zip(call.loops.phases, call.parallel, strict=True)):
        flags = (PARALLEL if parallel else 0) | (CHECK if call.is_check and i == last else 0)
        own = context if i == 0 else []  # later phases find the context of the first
        code.append(len(table.words))
        table.words += [0, chunk_count(call, phase), flags, len(own)]
        table.words += [word for slot in own for word in slot]
        table.phases += 1


def _context(table: Table, call: Call) -> list[Slot]:
    """The buffers, the params, the status block, each as (place in the argument array, offset)."""
    buffers = [table.slot(ref) for ref in call.refs]
    return [*buffers, *((ZERO, value) for value in call.params), (STATUS, 0)]


def place(program: Program, ref: Ref) -> Slot:
    """Where a Ref is in the argument array, and the offset from the address there."""
    first_output = FIRST + len(program.inputs)
    arena = first_output + len(program.outputs)
    if ref.space == "arena":
        return arena, ref.number
    if ref.space == "cursor":
        return arena + 1 + ref.number, 0
    return (FIRST if ref.space == "input" else first_output) + ref.number, 0


@dataclass
class Table:
    """`words`: those of the table; `phases`: how many it has so far; `overwrites`: the word from
    which on inputs may be overwritten, None so far; `routines`: of phases that a library has, the
    places of their addresses. `call`: adds the phases of a call."""

    program: Program
    call: Callable[[Table, int], None]
    stoppable: LoopBlock | None = None  # what may end after any iteration
    words: list[int] = field(default_factory=lambda: [0] * HEADER)
    phases: int = 0
    routines: list[tuple[int, Routined]] = field(default_factory=list)
    overwrites: int | None = None

    def slot(self, ref: Ref) -> Slot:
        """Where a Ref is in the argument array, which is about to be used. What a body overwrites,
        its loop has named before it begins."""
        if self.overwrites is None and ref.space == "output" and ref.number in self.donations:
            self.overwrites = len(self.words)
        return place(self.program, ref)

    @property
    def donations(self) -> Mapping[int, int]:
        """Those of the program."""
        return self.program.donations

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
