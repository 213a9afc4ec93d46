"""Base of executables on any device, and programs prepared to run again and again. In: arguments.
Out: reports, calls."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import WeftError
from ..ir.passes.bounds_checks import CheckSite
from .image import FIRST
from .threads import pool

if TYPE_CHECKING:
    from ..ir.program.memory_report import Memory
    from .timed import Timings


class Runnable:
    """A program ready to run.

    `planned` makes its Memory report: an image has no names, so the passes run again for it.
    `timings`: how long its phases take, where it was made inside `timed.timing()`.
    """

    planned: Callable[[], Memory] | None = None
    timings: Timings | None = None

    def __init__(
        self, donations: dict[int, int], checks: Sequence[CheckSite], arena_bytes: int
    ) -> None:
        self.donations, self.checks, self.arena_bytes = donations, checks, arena_bytes

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs, which stay valid. Raises CheckFailed."""
        raise NotImplementedError

    def prepared(self) -> Prepared:
        """The program for one caller at a time, on nearly the same addresses again and again."""
        raise NotImplementedError

    def memory(self) -> Memory:
        """Which buffers a run needs, where and when; nothing runs.

        Raises WeftError for an executable of an image alone.
        """
        if self.planned is None:
            what = "an image, which does not name what its buffers hold"
            raise WeftError(f"this executable was made of {what}")
        return self.planned()


# ---------------------------------------------------------------- programs that run again and again
# on nearly the same memory


METH_FASTCALL = 0x80  # of Python's methodobject.h: a C function (self, array of objects, how many)


class _MethodDef(ctypes.Structure):
    """PyMethodDef: what Python knows of a built-in function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclass
class Prepared:
    """For one caller at a time. `words`: the addresses of inputs and outputs, which stay.

    `native`: the driver's table and arguments, and whether other Python threads wait meanwhile;
    None where a run needs more than one native call. `owner` keeps the memory of both.
    """

    words: MutableSequence[int]
    execute: Callable[[], None]  # runs the program. Raises CheckFailed
    fail: Callable[[], None]  # raises it for the check that has failed
    # what to raise for what came out of `call`
    interrupted: Callable[[BaseException], BaseException] = lambda reason: reason
    native: tuple[int, int, bool] | None = None
    owner: object = None

    def call(self, places: Sequence[int]) -> Callable[..., int]:
        """A function of addresses: puts them at these places of `words`, runs the program.

        It returns 1 if a check has failed.
        """
        if self.native is not None:
            block = struct.pack(
                f"{3 + len(places)}q", *self.native, *(FIRST + place for place in places)
            )
            return _builtin(block, (self.owner, self.words))
        words, execute = self.words, self.execute

        def call(*addresses: int) -> int:
            for place, address in zip(places, addresses, strict=True):
                words[place] = address
            execute()
            return 0

        return call


# the one of weft_call: functions refer to it as long as they live
_definitions: list[_MethodDef] = []


def _builtin(block: bytes, owner: object) -> Callable[..., int]:
    """weft_call as a function with this block; its `__module__` keeps the owner alive."""
    if not _definitions:
        _definitions.append(_MethodDef(b"weft_call", pool.runtime().call, METH_FASTCALL, None))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    new = make(("PyCFunction_NewEx", ctypes.pythonapi))
    return new(ctypes.addressof(_definitions[0]), block, owner)
