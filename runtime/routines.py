"""Native functions that call a routine of NumPy's. In: a Routined, as a phase of a program. Out: a
function for the table of the driver.

The driver calls it with a context: the addresses of the sources, of all results, and of the status
block. It takes Python's global lock, and no exception leaves it: a matrix that is refused sets the
status as a failed Check does, and what else is raised is kept for whoever started the run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .. import locks
from ..ir.graph.index import row_major_strides
from ..ir.ops.routines import Part, batch_of, called, first_refused, is_transform
from ..ir.program.program import Routined, ValueLayout
from ..signals import deferred
from .blas_threads import one_thread
from .failures import POSITION_BITS

Array = np.ndarray[Any, Any]
Run = Callable[[Any, Any], int]  # (the driver's table, its arguments) -> what the driver returns
Raised = dict[int, BaseException]  # by the address of the status block
_failing = locks.new("status")
_PHASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class _View:
    """Makes arrays of addresses. The last one is kept, as runs often meet the same memory again; it
    owns nothing."""

    def __init__(self, v: ValueLayout) -> None:
        size = v.dtype.itemsize
        reach = [(d - 1) * s * size for d, s in zip(v.shape, v.strides, strict=True)]
        self._before = sum(r for r in reach if r < 0)
        self._memory = ctypes.c_char * (sum(map(abs, reach)) + size)
        self._shape, self._dtype = v.shape, v.dtype.numpy
        self._strides = [s * size for s in v.strides]
        self._last: tuple[int, Array] | None = None

    def at(self, address: int) -> Array:
        """The array whose first element is there."""
        last = self._last
        if last is not None and last[0] == address:
            return last[1]
        memory: Any = self._memory.from_address(address + self._before)
        array = np.ndarray(self._shape, self._dtype, memory, -self._before, self._strides)
        self._last = address, array
        return array


def native(routined: Routined, raised: Raised) -> Any:
    """A function of the driver's phases, which ctypes keeps alive as long as this object is."""
    routine, site = routined.routine, routined.site
    sources = [_View(v) for v in routined.sources]
    results = [_View(ValueLayout(d, s, row_major_strides(s))) for d, s in routine.specs]
    count = len(sources)
    words = ctypes.c_int64 * (count + len(results) + 1)

    batch = batch_of(routine, routined.sources[0].shape)
    parts = [Part(batch, routined.parts, number) for number in range(routined.parts)]
    has_one_thread = len(parts) > 1 and not is_transform(routine)
    alone: AbstractContextManager[None] = one_thread if has_one_thread else nullcontext()

    def phase(context: int, chunk: int, _: int) -> None:
        *addresses, status = words.from_address(context)
        part = parts[chunk]
        try:
            given = [part.of(v.at(a)) for v, a in zip(sources, addresses, strict=False)]
            try:
                with alone:
                    computed = called(routine, given)
            except np.linalg.LinAlgError:
                _fail(status, site, part.place(first_refused(routine, given)))
                return
            for v, a, array in zip(results, addresses[count:], computed, strict=True):
                part.of(v.at(a))[...] = array
        except BaseException as reason:
            raised[status] = reason
            _fail(status, site, 0)

    return _PHASE(phase)


def _fail(status: int, site: int, position: int) -> None:
    """The first matrix of those that are refused counts, whatever thread finds it."""
    key = (site << POSITION_BITS) | position
    with _failing:
        word = ctypes.c_uint64.from_address(status)
        word.value = min(word.value, key)


def uninterrupted(run: Run) -> Run:
    """The same, in which handlers of signals wait until it is over: one that raised inside a native
    function would end it, and the program would go on."""

    def whole(table: Any, args: Any) -> int:
        signals = deferred()
        signals.__enter__()
        try:
            return run(table, args)
        finally:
            signals.pass_on()

    return whole
