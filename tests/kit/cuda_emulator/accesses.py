"""How warps touch memory. In: launches on a Recorder. Out: a Use for each place: sectors and
wavefronts, and the least.

An access of a warp is what its 32 threads do at one place of the code for the n-th time since they
last waited for others. In device memory it moves sectors of 32 bytes. In shared memory, which has
32 banks of 4 bytes, it takes a wavefront for each word that one bank must give. There one of 8
bytes goes by half warps, one of 16 bytes by quarters, two of which go as one where threads next to
each other, or next but one, ask for the same (public measurements have it so). Neighbouring words
for which a thread asks in turn, with no wait between, count as one vector, which the compiler makes
of them in unrolled loops.
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
    """All accesses of a launch at one place: `units` are sectors or wavefronts, `least` as few as
    the bytes or phases allow."""

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
        return (
            f"{self.ratio:6.2f} {self.units:8} {what:12} {self.width:2} bytes  {self.kernel}:"
            f" {self.line}"
        )


class Recorder(EmulatorDriver):
    """An emulated device whose launches leave `uses`; slow."""

    instrumented = build.ACCESSES

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.uses: list[Use] = []
        self._machine.emulator_accesses.restype = ctypes.c_size_t
        self._machine.emulator_library.restype = ctypes.c_uint64

    def _launch(
        self, function: Function, grid: int, block: int, arguments: bytes, shared: int
    ) -> None:
        self._machine.emulator_record(1)
        try:
            super()._launch(function, grid, block, arguments, shared)
        finally:
            self._machine.emulator_record(0)
        self.uses += uses(
            self._log(), function.name, Lines(self._machine, self._text_of(function.name))
        )

    def _log(self) -> Array:
        first = ctypes.c_void_p()
        count = self._machine.emulator_accesses(ctypes.byref(first))
        if not count:
            return np.empty(0, ACCESS)
        return np.frombuffer(
            (ctypes.c_char * (ACCESS.itemsize * count)).from_address(first.value or 0), ACCESS
        ).copy()

    def _text_of(self, name: str) -> list[str]:
        return next(
            text for text in reversed(self._libraries) if name in build.symbols(text)
        ).splitlines()


class Lines:
    """Lines of a kernel's text by addresses of its code."""

    def __init__(self, machine: ctypes.CDLL, text: list[str]) -> None:
        self.machine, self.text = machine, text

    def __call__(self, codes: Array) -> dict[int, str]:
        """The number and the text of the line that each address came from, inlined functions looked
        through."""
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
    return [
        use
        for code in codes
        for use in _uses_at(log[log["code"] == code], kernel, where[int(code)])
    ]


def _uses_at(log: Array, kernel: str, line: str) -> Iterator[Use]:
    for shared in (False, True):
        part = log[log["shared"] == shared]
        if not len(part):
            continue
        part = part[
            np.lexsort([part[n] for n in ("epoch", "thread", "block")])
        ]  # stable: a thread's own order stays
        part = _joined(part) if shared else part
        group = _groups(part)
        units, least = (_wavefronts if shared else _sectors)(part, group)
        first = part[0]
        yield Use(
            kernel,
            line,
            shared,
            bool(first["write"]),
            int(first["bytes"]),
            int(group.max()) + 1,
            units,
            least,
        )


def _starts(log: Array) -> Array:
    """Where a thread begins, or has waited."""
    changed = [np.diff(log[n].astype(np.int64)) != 0 for n in ("block", "thread", "epoch")]
    return np.r_[True, np.logical_or.reduce(changed)]


def _position(starts: Array) -> Array:
    """How far each one is behind the last start."""
    at = np.arange(len(starts))
    return at - np.maximum.accumulate(np.where(starts, at, 0))


def _joined(log: Array) -> Array:
    """With vectors for neighbouring words that one thread touches in turn, as wide as all of the
    place allow."""
    width = int(log["bytes"][0])
    if width < WORD:
        return log
    starts = _starts(log)
    starts[1:] |= np.diff(log["address"].astype(np.int64)) != width
    lengths = np.diff(np.r_[np.flatnonzero(starts), len(log)])
    by = 16 // width
    while by > 1 and ((lengths % by).any() or (log["address"][starts] % (by * width)).any()):
        by //= 2
    found = log[_position(starts) % by == 0]
    found["bytes"] = by * width
    return found


def _groups(log: Array) -> Array:
    """The number of the warp's access that each belongs to; the log is of one place, by threads."""
    key = np.zeros(len(log), np.int64)
    for part in (log["block"], log["thread"] // WARP, log["epoch"], _position(_starts(log))):
        key = key * (int(part.max()) + 1) + part
    return np.unique(key, return_inverse=True)[1].reshape(-1)


def _pieces(log: Array, group: Array, unit: int) -> tuple[Array, Array]:
    """(group, unit) of every distinct unit of memory that an access of a warp touches."""
    many = max(1, int(log["bytes"][0]) // unit)
    at = (log["address"][:, None].astype(np.int64) + unit * np.arange(many)) // unit
    first, span = int(at.min()), int(at.max()) - int(at.min()) + 1
    found = np.unique((group[:, None] * span + at - first).reshape(-1))
    return found // span, found % span + first


def _sectors(log: Array, group: Array) -> tuple[int, int]:
    width = int(log["bytes"][0])
    least = -(-np.bincount(_pieces(log, group, width)[0]) * width // SECTOR)
    return len(_pieces(log, group, SECTOR)[0]), int(least.sum())


def _wavefronts(log: Array, group: Array) -> tuple[int, int]:
    phases = max(1, int(log["bytes"][0]) // WORD)  # of a warp, unless they go as one
    whole = group * max(1, phases // 2) + log["thread"] % WARP * max(1, phases // 2) // WARP
    part = (
        np.where(_go_as_one(log, whole), 0, log["thread"] % WARP * phases // WARP % 2)
        if phases > 1
        else 0
    )
    of, word = _pieces(log, 2 * whole + part, WORD)
    most = (
        np.bincount(of * BANKS + word % BANKS, minlength=BANKS * (int(of.max()) + 1))
        .reshape(-1, BANKS)
        .max(1)
    )
    fewest = -(-np.bincount(_pieces(log, whole, WORD)[0]) // BANKS)
    return int(most.sum()), int(fewest.sum())


def _go_as_one(log: Array, whole: Array) -> Array:
    """Whether every thread of what may go as one has a neighbour that asks for the same, or
    nothing."""
    address = np.full((int(whole.max()) + 1, WARP), -1, np.int64)
    lane = log["thread"] % WARP
    address[whole, lane] = log["address"]
    alike = [
        ((address == address[:, np.arange(WARP) ^ apart]) | (address < 0)).all(1)
        for apart in (1, 2)
    ]
    return (alike[0] | alike[1])[whole]
