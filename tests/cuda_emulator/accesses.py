"""How warps touch memory. In: launches on a Recorder. Out: a Use for each place: sectors and wavefronts, and the least.

An access of a warp is what its 32 threads do at one place of the code for the n-th time since they last waited for others. In
device memory it moves sectors of 32 bytes. In shared memory, which has 32 banks of 4 bytes, it takes a wavefront for each word
that one bank must give; accesses of 8 and 16 bytes go by half and quarter warps.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuda_emulator import build
from cuda_emulator.driver import EmulatorDriver, Function

Array = np.ndarray[Any, Any]
ACCESS = np.dtype({
    "names": ["code", "address", "block", "epoch", "thread", "bytes", "write", "shared"],
    "formats": ["u8", "u8", "u4", "u4", "u2", "u1", "?", "?"],
    "offsets": [0, 8, 16, 20, 24, 26, 27, 28],
    "itemsize": 32,
})  # fmt: skip
SECTOR, WORD, BANKS, WARP = 32, 4, 32, 32
PLACE = re.compile(r":(\d+)")


@dataclass(frozen=True)
class Use:
    """All accesses of a launch at one place: `units` are sectors or wavefronts, `least` as few as the bytes or phases allow."""

    kernel: str
    line: str
    shared: bool
    write: bool
    width: int  # bytes of a thread
    count: int  # accesses of warps
    units: int
    least: int

    @property
    def ratio(self) -> float:
        return self.units / self.least

    def __str__(self) -> str:
        what = f"{'shared' if self.shared else 'global'} {'write' if self.write else 'read'}"
        return f"{self.ratio:6.2f} {self.units:8} {what:12} {self.width:2} bytes  {self.kernel}: {self.line}"


class Recorder(EmulatorDriver):
    """An emulated device whose launches leave `uses`; slow."""

    instrumented = build.ACCESSES

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.uses: list[Use] = []
        self._machine.emulator_accesses.restype = ctypes.c_size_t
        self._machine.emulator_library.restype = ctypes.c_uint64

    def _launch(self, function: Function, grid: int, block: int, arguments: bytes, shared: int) -> None:
        self._machine.emulator_record(1)
        try:
            super()._launch(function, grid, block, arguments, shared)
        finally:
            self._machine.emulator_record(0)
        self.uses += uses(self._log(), function.name, Lines(self._machine, self._text_of(function.name)))

    def _log(self) -> Array:
        first = ctypes.c_void_p()
        count = self._machine.emulator_accesses(ctypes.byref(first))
        if not count:
            return np.empty(0, ACCESS)
        return np.frombuffer((ctypes.c_char * (ACCESS.itemsize * count)).from_address(first.value or 0), ACCESS).copy()

    def _text_of(self, name: str) -> list[str]:
        return next(text for text in reversed(self._libraries) if name in build.symbols(text)).splitlines()


class Lines:
    """Lines of a kernel's text by addresses of its code."""

    def __init__(self, machine: ctypes.CDLL, text: list[str]) -> None:
        self.machine, self.text = machine, text

    def __call__(self, codes: Array) -> dict[int, str]:
        """The number and the text of the line that each address came from, inlined functions looked through."""
        if not len(codes):
            return {}
        path = ctypes.c_char_p()
        base = self.machine.emulator_library(ctypes.c_uint64(int(codes[0])), ctypes.byref(path))
        offsets = [f"{int(c) - 1 - base:#x}" for c in codes]
        command = ["addr2line", "-i", "-a", "-e", (path.value or b"").decode(), *offsets]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        chains = re.split(r"^0x[0-9a-f]+$", told, flags=re.M)[1:]
        return {int(c): self._of(chain) for c, chain in zip(codes, chains, strict=True)}

    def _of(self, chain: str) -> str:
        found = PLACE.findall(chain)
        number = int(found[-1]) if found else 0  # the last is where all others are inlined
        return f"{number}: {self.text[number - 1].strip()}" if 0 < number <= len(self.text) else "?"


def uses(log: Array, kernel: str, lines: Lines) -> list[Use]:
    """A Use for each place, in the order of the places in the code."""
    codes = np.unique(log["code"])
    where = lines(codes)
    return [use for code in codes for use in _uses_at(log[log["code"] == code], kernel, where[int(code)])]


def _uses_at(log: Array, kernel: str, line: str) -> Iterator[Use]:
    for shared in (False, True):
        part = log[log["shared"] == shared]
        if not len(part):
            continue
        group = _groups(part)
        units, least = (_wavefronts if shared else _sectors)(part, group)
        first = part[0]
        yield Use(kernel, line, shared, bool(first["write"]), int(first["bytes"]), int(group.max()) + 1, units, least)


def _groups(log: Array) -> Array:
    """The number of the warp's access that each belongs to; the log is of one place, each thread in its order."""
    thread = np.stack([log["block"], log["thread"], log["epoch"]], 1).astype(np.int64)
    order = np.lexsort(thread.T[::-1])  # stable
    starts = np.r_[True, (np.diff(thread[order], axis=0) != 0).any(1)]
    at = np.arange(len(log))
    turn = np.empty(len(log), np.int64)
    turn[order] = at - np.maximum.accumulate(np.where(starts, at, 0))
    key = np.stack([log["block"], log["thread"] // WARP, log["epoch"], turn], 1)
    return np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)


def _pieces(log: Array, group: Array, unit: int) -> tuple[Array, Array]:
    """(group, unit) of every distinct unit of memory that an access of a warp touches."""
    many = max(1, int(log["bytes"].max()) // unit)
    at = (log["address"][:, None].astype(np.int64) + unit * np.arange(many)) // unit
    inside = unit * np.arange(many) < log["bytes"][:, None]
    pairs = np.stack([np.broadcast_to(group[:, None], at.shape)[inside], at[inside]], 1)
    found = np.unique(pairs, axis=0)
    return found[:, 0], found[:, 1]


def _sectors(log: Array, group: Array) -> tuple[int, int]:
    asked, _ = _pieces(log, group, 1)
    least = -(-np.bincount(asked) // SECTOR)
    return len(_pieces(log, group, SECTOR)[0]), int(least.sum())


def _wavefronts(log: Array, group: Array) -> tuple[int, int]:
    phases = np.maximum(1, log["bytes"] // WORD).astype(np.int64)
    lanes = log["thread"].astype(np.int64) % WARP
    phase = group * 4 + lanes * phases // WARP
    of, word = _pieces(log, np.unique(phase, return_inverse=True)[1].reshape(-1), WORD)
    count = np.bincount(of * BANKS + word % BANKS, minlength=BANKS * (int(of.max()) + 1)).reshape(-1, BANKS)
    return int(count.max(1).sum()), len(count)
