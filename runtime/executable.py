"""Executable on the CPU. In: the Image of a program and the code of its phases. Out: runs of it.

A run is one native call on raw memory addresses.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from ..signals import deferred
from .buffer import Block, memory
from .code import Code, known, phase_names
from .failures import NO_CHECK_FAILED, CheckFailed, Interrupted, failure, site_of
from .image import FIRST, STATUS, Image, SiteAt, unpack
from .runnable import Prepared, Runnable
from .threads import pool
from .timed import HostTimings, wanted

# behind the status block, in words from its start: llvm/driver.ll
MAY_BE_LEFT, STOP, GO_ON = 2, 3, 4
FAILED, LEFT, STOPPED = 1, 2, 3  # what a run returns, 0 apart


class _Frame:
    """The argument array of one running call.

    0, status address, inputs, outputs, arena, cursors, and the status block itself, with what
    follows it where the program has loops.
    """

    __slots__ = ("_status", "address", "args")

    def __init__(self, pointers: int, cursors: int, may_be_left: bool = False) -> None:
        self._status = FIRST + pointers + cursors
        self.args = (ctypes.c_int64 * (self._status + 6))()
        self.args[self._status + MAY_BE_LEFT] = may_be_left
        self.address = ctypes.addressof(self.args)
        self.args[STATUS] = self.address + 8 * self._status

    def status(self) -> tuple[int, int]:
        """(key, value) of the check that failed."""
        return self.args[self._status], self.args[self._status + 1]

    def begin(self) -> None:
        """Before a run that is more than one native call.

        A signal that comes first finds that nothing has run.
        """
        self.args[self._status] = 0
        self.args[self._status + STOP] = self.args[self._status + GO_ON] = 0

    def gone_on(self) -> int:
        """The address in the table where a run that was left goes on."""
        return self.args[self._status + GO_ON]

    def stop(self) -> None:
        """The loop that may be stopped ends after its iteration."""
        self.args[self._status + STOP] = 1

    def interrupted(self, reason: BaseException) -> BaseException:
        """What to raise for an exception that came out of the native call.

        Python looks for signals only when it is over.
        """
        return Interrupted(reason) if self.args[self._status] == NO_CHECK_FAILED else reason


class Executable(Runnable):
    """A program ready to run, from any number of threads at once.

    `codes` have its phases, in order; it keeps them.

    `timings`: how long its phases take, where it was made inside `timed.timing()`.
    """

    def __init__(self, image: Image, codes: Sequence[Code]) -> None:
        super().__init__(image.donations, image.checks, image.arena_bytes)
        self._frames: list[_Frame] = []
        self._codes, self._counters = codes, image.counters
        self._has_loops, self._stacks = image.has_loops, image.stacks
        self._is_stoppable, self._overwrites = image.is_stoppable, image.overwrites
        self._parallel, self._brief = image.parallel, image.brief
        self._pointers, self._cursors = image.inputs + image.outputs + 1, image.cursors
        self._outputs = image.outputs
        self._pack = struct.Struct(f"{self._pointers}q").pack_into
        self._table = (ctypes.c_int64 * len(image.table))(*image.table)
        for place, address in zip(
            image.code, (a for code in codes for a in code.addresses), strict=True
        ):
            self._table[place] = address
        self._raised: dict[int, BaseException] = {}  # in routines, by the address of the status
        self._routines = self._bind(image)
        self._table_address = ctypes.addressof(self._table)
        self.timings = HostTimings(image) if wanted() else None
        self._run = pool.runtime().run if self.timings is None else self.timings.run
        if self._routines:
            from .routines import uninterrupted

            self._run = uninterrupted(self._run)

    def _bind(self, image: Image) -> list[Any]:
        """Native functions for the routines of a library, at their places in the table."""
        if not image.routines:
            return []
        from .routines import native

        functions = [native(routined, self._raised) for _, routined in image.routines]
        for (place, _), function in zip(image.routines, functions, strict=True):
            self._table[place] = ctypes.cast(function, ctypes.c_void_p).value or 0
        return functions

    def _frame(self) -> _Frame:
        return _Frame(self._pointers, self._cursors, self._has_loops)

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs the program on the addresses of its inputs and outputs, which must stay valid.

        Raises CheckFailed.
        """
        if self._parallel:
            pool.ensure()
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._frame()
        frame.begin()
        try:
            self._run_in(frame, inputs, outputs)
        except CheckFailed:
            raise
        except BaseException as reason:
            raise frame.interrupted(reason) from None

    def _run_in(self, frame: _Frame, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        if not self.arena_bytes:
            self._call(frame, inputs, outputs, 0)
            return
        # shared with other programs: kept only while this one runs
        block: Block = memory.take_arena(self.arena_bytes)
        try:
            self._call(frame, inputs, outputs, block[1])
        finally:
            memory.give_arena(block)

    def prepared(self) -> Prepared:
        """The program with an argument block of its own, for one caller at a time."""
        frame, run, table = self._frame(), self._run, self._table_address
        words: Any = (ctypes.c_int64 * self._pointers).from_buffer(frame.args, 8 * FIRST)
        address, ensure, arena = frame.address, pool.ensure, self.arena_bytes

        def failed() -> None:
            raise self._failure(frame)

        def execute() -> None:
            frame.begin()
            try:
                full()
            except CheckFailed:
                raise
            except BaseException as reason:
                raise frame.interrupted(reason) from None

        def full() -> None:
            ensure()
            if not arena:
                serial()
                return
            # shared with other programs: kept only while this one runs
            block = memory.take_arena(arena)
            words[-1] = block[1]
            try:
                serial()
            finally:
                memory.give_arena(block)

        def serial() -> None:
            code = run(table, address)
            if code and (code == FAILED or self._go_on(frame, code) == FAILED):
                failed()

        if self._parallel or arena or self._has_loops or self._routines or self.timings is not None:
            return Prepared(words, execute, failed)
        return Prepared(
            words, execute, failed, frame.interrupted, (table, address, self._brief), self
        )

    def bound(
        self, inputs: Sequence[int], outputs: Sequence[int], arena: int
    ) -> tuple[int, int, object]:
        """What the driver takes for runs on these addresses, and what keeps it.

        For measurements, without a look at checks; such a run is never left in a loop.
        """
        frame = _Frame(self._pointers, self._cursors)
        self._pack(frame.args, 8 * FIRST, *inputs, *outputs, arena)
        return self._table_address, frame.address, frame

    def _call(
        self, frame: _Frame, inputs: Sequence[int], outputs: Sequence[int], arena: int
    ) -> None:
        self._pack(frame.args, 8 * FIRST, *inputs, *outputs, arena)
        code = self._run(self._table_address, frame.address)
        failed = code and (code == FAILED or self._go_on(frame, code) == FAILED)
        reason = self._failure(frame) if failed else None
        self._frames.append(frame)
        if reason is not None:
            raise reason

    def _go_on(self, frame: _Frame, code: int) -> int:
        """Goes on with a run that was left in a loop, so that Python could look for signals.

        What a signal handler raises ends it: at once where nothing of the user's has been
        overwritten yet, else after an iteration, if all that is written in place are the last
        carries of one loop, or else when the program is over.
        """
        try:
            while code == LEFT:
                code = self._run(self._table_address, frame.address)
            return code
        except BaseException:
            with deferred():
                if self._has_overwritten(frame):
                    self._end(frame)
                else:
                    frame.begin()
            raise

    def _has_overwritten(self, frame: _Frame) -> bool:
        """May an input have been overwritten, where the run was left."""
        if (frame.gone_on() - self._table_address) // 8 < self._overwrites:
            return False
        count = self._pointers - 1 - self._outputs
        inputs = frame.args[FIRST : FIRST + count]
        outputs = frame.args[FIRST + count : FIRST + self._pointers - 1]
        return not {*inputs}.isdisjoint(outputs)

    def _end(self, frame: _Frame) -> None:
        if self._is_stoppable:
            frame.stop()
        code = LEFT
        while code >= LEFT:
            code = self._run(self._table_address, frame.address)
            if code == STOPPED:
                self._clear(frame)

    def _clear(self, frame: _Frame) -> None:
        """Zeros where the iterations that are not made would have stacked something."""
        for counter, length, word, step in self._stacks:
            count, at = length - frame.args[counter], frame.args[word]
            first = at if step > 0 else at + (count - 1) * step
            ctypes.memset(first, 0, count * abs(step))

    def _failure(self, frame: _Frame) -> BaseException:
        """That of the check that has failed, or what a routine raised."""
        raised = self._raised.pop(frame.args[STATUS], None)
        if raised is not None:
            return raised
        key, value = frame.status()
        site = site_of(key)
        words = [word for first, stop, word in self._counters if first <= site < stop]
        return failure(self.checks, key, value, [frame.args[word] for word in words])


def stored(data: bytes, site_at: SiteAt) -> Executable | None:
    """The program of an earlier process, if its kernels are still there."""
    image, kernels = unpack(data, site_at)
    codes = [known.find(name, phase_names(name, phases)) for name, phases in kernels]
    there = [code for code in codes if code is not None]
    return Executable(image, there) if len(there) == len(codes) else None
