"""The 0-d inputs of a jitted function that Python makes anew, and tables of such. In: the numbers
of a call, recipes. Out: one block of memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...runtime.memory.storage import FORMATS, Storage, allocate, packed
from ..lazy.trace import SLOT, Trace

WIDE = 1 << 53  # beyond, an integer is rounded twice on its way to a float32


class Scalars:
    """Slots of eight bytes: those of recipes, one for each element of a leaf, then those of
    `numbers`: (which argument, in which dtype)."""

    def __init__(self, trace: Trace, numbers: Sequence[tuple[int, DType]]) -> None:
        self._name = trace.name
        self.marks = [live.mark for live in trace.live if live.mark is not None]
        self._undo: list[Callable[[], None]] = []
        self.recipes: list[Callable[[], Sequence[float]]] = [live.recipe for live in trace.live]
        self.places = [place for place, _ in numbers]
        live = [leaf for live in trace.live for leaf in live.leaves]
        self._dtypes = [leaf.dtype for leaf in live for _ in range(leaf.size)]
        self._dtypes += [d for _, d in numbers]
        # what struct packs as we do
        self._exact = all(d in (dt.float32, dt.float64) or d.is_int for d in self._dtypes)
        first = len(self._dtypes) - len(numbers)
        ints = [i for i, number in enumerate(trace.numbers) if number.kind is int]
        # unless they are too large
        self._wide = [first + k for k, (i, d) in enumerate(numbers) if d.is_float and i in ints]
        # does `pack` write `block` as `write` does, wherever it does not fail
        self.packs = self._exact and not self._wide
        self._memory = allocate(dt.uint64, (len(self._dtypes),))
        self.address = self._memory.address
        self.block = (ctypes.c_char * (SLOT * len(self._dtypes))).from_address(self.address)
        self.pack = struct.Struct("=" + "".join(_format(d) for d in self._dtypes)).pack_into

    def fill(self, numbers: Sequence[float]) -> None:
        """Writes the numbers of a call that mark() began, and what recipes give now.

        Raises OverflowError for one that its dtype cannot hold.
        """
        values: list[float] = []
        for recipe in self.recipes:
            values += recipe()
        self.write([*values, *(numbers[i] for i in self.places)])

    def write(self, values: Sequence[float]) -> None:
        """Writes a value into each slot."""
        try:
            if self._exact and not (self._wide and any(abs(values[i]) > WIDE for i in self._wide)):
                self.pack(self.block, 0, *values)
                return
        except (struct.error, OverflowError):  # beyond the range of its dtype
            pass
        try:
            self.block.raw = b"".join(
                self._packed(v, d) for v, d in zip(values, self._dtypes, strict=True)
            )
        except errors.OverflowError:
            self.undo()
            raise

    def holds(self, address: int) -> bool:
        """Is it that of a slot."""
        return self.address <= address < self.address + SLOT * len(self._dtypes)

    def copied(self) -> Storage:
        """The slots in memory of their own."""
        new = allocate(dt.uint64, (len(self._dtypes),))
        ctypes.memmove(new.address, self.address, SLOT * len(self._dtypes))
        return new

    def mark(self) -> None:
        """A call begins."""
        self._undo = [mark() for mark in self.marks]

    def undo(self) -> None:
        """Takes back what the recipes gave for a call that has failed."""
        for undo in self._undo:
            undo()

    def _packed(self, value: float, dtype: DType) -> bytes:
        try:
            rounded = (
                float(value)
                if dtype is dt.float64
                else dt.rounded(value, dtype)
                if dtype.is_float
                else value
            )
            return packed(rounded, dtype).ljust(SLOT, b"\0")
        except (struct.error, OverflowError):
            raise errors.OverflowError(
                f"{self._name}: {brief(value)} is out of bounds for {dtype.name}"
            ) from None


def _format(dtype: DType) -> str:
    """A slot in the language of struct; 16-bit floats have none, and are refused there."""
    code = "H" if dtype.is_half else FORMATS[dtype.name]
    return f"{code}{SLOT - dtype.itemsize}x"
