"""In: a Program and the addresses of its phases. Out: one native call that runs it on raw memory addresses."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

from ..errors import WeftError
from ..ir.loop import For, Param
from ..ir.program import Call, CheckSite, Program, Ref
from .buffer import Block, memory
from .driver_ir import CHECK, PARALLEL
from .threads import pool

ZERO, STATUS, FIRST = 0, 1, 2  # places in the argument array: the constant 0, the status block's address, the first input
POSITION_BITS = 40


class CheckFailed(WeftError):
    """A Check of the program failed: where it stands, at which element, with which value."""

    def __init__(self, site: CheckSite, position: int, value: int) -> None:
        where = f"{site.what}: value {value} at position {position}"
        super().__init__(f"{where} is outside of axis {site.axis} with extent {site.extent}")
        self.site, self.position, self.value = site, position, value


def chunk_count(call: Call, phase: For) -> int:
    """How many chunks a phase has in this call: the extent of its GRID loop."""
    if isinstance(phase.extent, Param):
        return call.params[call.loops.params.index(phase.extent)]
    return phase.extent


class _Frame:
    """The argument array of one running call: 0, status address, inputs, outputs, arena, and the status block itself."""

    __slots__ = ("_status", "address", "args")

    def __init__(self, pointers: int) -> None:
        self._status = FIRST + pointers
        self.args = (ctypes.c_int64 * (self._status + 2))()
        self.address = ctypes.addressof(self.args)
        self.args[STATUS] = self.address + 8 * self._status

    def status(self) -> tuple[int, int]:
        """(key, value) of the check that failed."""
        return self.args[self._status], self.args[self._status + 1]


class Executable:
    """A program ready to run, from any number of threads at once. `phases[c][p]` is the address of phase p of call c.

    `code` is kept as long as this object: whatever owns the memory at those addresses.
    """

    def __init__(self, program: Program, phases: Sequence[Sequence[int]], code: object = None) -> None:
        self.checks = program.checks
        self.arena_bytes = program.arena_bytes
        self._code = code
        self._first_output = FIRST + len(program.inputs)
        self._arena = self._first_output + len(program.outputs)
        self._pointers = self._arena + 1 - FIRST
        self._pack = struct.Struct(f"{self._pointers}q").pack_into
        self._parallel = any(any(call.parallel) for call in program.calls)
        self._table = self._build_table(program, phases)
        self._table_address = ctypes.addressof(self._table)
        self._frames: list[_Frame] = []
        self._run = pool.runtime().run

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs the program on the addresses of its inputs and outputs, which must stay valid. Raises CheckFailed."""
        if self._parallel:
            pool.ensure()
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._pointers)
        if not self.arena_bytes:
            self._call(frame, inputs, outputs, 0)
            return
        block: Block = memory.take(self.arena_bytes)  # shared with other programs: kept only while this one runs
        try:
            self._call(frame, inputs, outputs, block[1])
        finally:
            memory.give(block)

    def _call(self, frame: _Frame, inputs: Sequence[int], outputs: Sequence[int], arena: int) -> None:
        self._pack(frame.args, 8 * FIRST, *inputs, *outputs, arena)
        failed = self._run(self._table_address, frame.address)
        status = frame.status() if failed else None
        self._frames.append(frame)
        if status is not None:
            self._fail(*status)

    def _fail(self, key: int, value: int) -> None:
        site = self.checks[key >> POSITION_BITS]
        raise CheckFailed(site, key & ((1 << POSITION_BITS) - 1), value)

    def _build_table(self, program: Program, phases: Sequence[Sequence[int]]) -> ctypes.Array[ctypes.c_int64]:
        """The driver's table; its layout is described in driver_ir."""
        slots = [self._slots(call) for call in program.calls]
        count = sum(len(addresses) for addresses in phases)
        width = max((len(s) for s in slots), default=0)
        words = [count, int(self._parallel), max(width, 1)]
        for call, call_slots, addresses in zip(program.calls, slots, phases, strict=True):
            words += self._call_words(call, call_slots, addresses)
        return (ctypes.c_int64 * len(words))(*words)

    def _call_words(self, call: Call, slots: list[tuple[int, int]], addresses: Sequence[int]) -> list[int]:
        words = []
        last = len(addresses) - 1
        for i, (phase, parallel, address) in enumerate(zip(call.loops.phases, call.parallel, addresses, strict=True)):
            flags = (PARALLEL if parallel else 0) | (CHECK if call.is_check and i == last else 0)
            own = slots if i == 0 else []  # later phases find the context of the first
            words += [address, chunk_count(call, phase), flags, len(own)]
            words += [word for slot in own for word in slot]
        return words

    def _slots(self, call: Call) -> list[tuple[int, int]]:
        """A context: the buffers, the params, the status block, each as (place in the argument array, offset)."""
        buffers = [self._place(ref) for ref in call.refs]
        return [*buffers, *((ZERO, value) for value in call.params), (STATUS, 0)]

    def _place(self, ref: Ref) -> tuple[int, int]:
        if ref.space == "arena":
            return self._arena, ref.number
        return (FIRST if ref.space == "input" else self._first_output) + ref.number, 0
