"""A third back end, whole in this file: the loop interpreter as a device. In: `with registered():`.
Out: the device "toy".

Its memory is NumPy arrays at addresses that the process has not, so that nobody else reads them.
Kernels are lowered as for a CPU with vectors of 128 bits, and run an element at a time.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np
from weft import options
from weft.codegen.cpu.lowering import CpuLowering
from weft.codegen.cpu.settings import Settings
from weft.codegen.kernels.lower_program import LoweredKernel
from weft.codegen.llvm.target import named
from weft.compiler.backends.backend import Launch, verified
from weft.compiler.backends.kinds import KINDS
from weft.errors import DeviceError
from weft.ir.kernels.fuse import Policy
from weft.ir.loops import interp
from weft.ir.loops.listing import listing
from weft.ir.loops.loop import Loops
from weft.ir.program.blocks import CopyBlock
from weft.ir.program.program import Call, Program, ValueLayout
from weft.ir.program.ref import Ref
from weft.runtime.buffer import DeviceBuffer
from weft.runtime.failures import CheckFailed
from weft.runtime.image import PlaceOf, SiteAt
from weft.runtime.runnable import Prepared, Runnable

Array = np.ndarray[Any, Any]
FAR = 1 << 56  # beyond what a process can address
ROOM = 1 << 40  # between the addresses of two pieces


class Toy:
    """One device. `pieces`: its memory by address."""

    stream = None

    def __init__(self, number: int) -> None:
        self.name = f"toy:{number}"
        self.pieces: dict[int, Array] = {}
        self._addresses = count(FAR, ROOM)

    def allocate(self, nbytes: int) -> DeviceBuffer:
        address = next(self._addresses)
        self.pieces[address] = np.full(nbytes, 0xCD, np.uint8)
        return DeviceBuffer(
            address, nbytes, None, self.name, give=partial(self.pieces.pop, address)
        )

    def foreign(self, address: int, nbytes: int, owner: Any) -> DeviceBuffer:
        return DeviceBuffer(address, nbytes, owner, self.name, foreign=True)

    def bytes_at(self, address: int, nbytes: int) -> Array:
        """So many bytes of one piece."""
        starts = sorted(self.pieces)
        start = starts[bisect_right(starts, address) - 1]
        found = self.pieces[start][address - start :][:nbytes]
        assert len(found) == nbytes, f"{nbytes} bytes at {address:#x} are no memory of {self.name}"
        return found

    def copy(self, to: int, start: int, nbytes: int) -> None:
        self.bytes_at(to, nbytes)[:] = self.bytes_at(start, nbytes)

    def copy_in(self, to: int, start: int, nbytes: int) -> None:
        self.bytes_at(to, nbytes)[:] = host_bytes(start, nbytes)

    def copy_out(self, to: int, start: int, nbytes: int) -> None:
        host_bytes(to, nbytes)[:] = self.bytes_at(start, nbytes)

    def synchronize(self) -> None: ...

    def let_wait(self, stream: int | None) -> None: ...

    def seconds(self, work: Callable[[], None]) -> float:
        start = perf_counter()
        work()
        return perf_counter() - start


def host_bytes(address: int, nbytes: int) -> Array:
    """Memory of the process."""
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)


class ToyExecutable(Runnable):
    """A Program, which the interpreter runs call by call."""

    def __init__(self, program: Program, device: Toy) -> None:
        super().__init__(program.donations, program.checks, program.arena_bytes)
        self.program, self.device = program, device

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """On the addresses of inputs and outputs. Raises CheckFailed."""
        p = self.program
        arena = np.full(p.arena_bytes, 0xCD, np.uint8)
        spaces = {
            "input": [self._memory(a, v) for a, v in zip(inputs, p.inputs, strict=True)],
            "output": [self._memory(a, v) for a, v in zip(outputs, p.outputs, strict=True)],
        }

        def memory(ref: Ref, nbytes: int) -> Array:
            return (
                arena[ref.number :][:nbytes]
                if ref.space == "arena"
                else spaces[ref.space][ref.number]
            )

        copies = {b.place: b for b in p.blocks if isinstance(b, CopyBlock)}
        for number, call in enumerate(p.calls):
            if (copy := copies.get(number)) and copy.end != copy.start:
                memory(copy.end, copy.nbytes)[:] = memory(copy.start, copy.nbytes)
            self._call(call, memory)

    def _memory(self, address: int, v: ValueLayout) -> Array:
        return (host_bytes if v.is_host else self.device.bytes_at)(address, v.span)

    def _call(self, call: Call, memory: Callable[[Ref, int], Array]) -> None:
        places = zip(call.refs, call.loops.buffers, strict=True)
        arrays = [memory(r, b.size * b.dtype.itemsize).view(b.dtype.numpy) for r, b in places]
        for site, position, value in interp.run(call.loops, arrays, call.params)[:1]:
            raise CheckFailed(self.checks[site], position, value)

    def prepared(self) -> Prepared:
        """For jitted functions: the same on addresses that stay."""
        first = len(self.program.inputs)
        words = [0] * (first + len(self.program.outputs))
        return Prepared(words, lambda: self.run(words[:first], words[first:]), lambda: None)


class NoCode:
    """What is made of loops: nothing."""

    def __enter__(self) -> NoCode:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def begin(self, loops: Loops, same: Loops | None) -> None:
        verified(loops)

    def key_of(self, loops: Loops) -> str:
        return ""


class ToyBackend:
    """Programs for one device."""

    strict, policy, last_cache = False, Policy(), 1 << 20

    def __init__(self, kind: ToyKind, settings: tuple[Settings, int]) -> None:
        self._device = kind.device(settings[1])
        self.device = self._device.name
        self.lowering = CpuLowering(settings[0])

    def builder(self) -> NoCode:
        return NoCode()

    def link(self, program: Program, keys: Sequence[str], code: NoCode) -> ToyExecutable:
        return ToyExecutable(program, self._device)

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        return {"loops": listing(k.lowered.loops, k.line)}

    def missing(self) -> dict[str, str]:
        return {}

    def launches(self, call: Call, key: str) -> tuple[Launch, ...]:
        return ()

    def packed(self, program: Program, keys: Sequence[str], place_of: PlaceOf) -> None:
        """Nothing is kept on disk."""


class ToyKind:
    """Two such devices."""

    dlpack, takes_sizes = None, False

    def __init__(self) -> None:
        self._devices = [Toy(0), Toy(1)]

    def available(self) -> list[str]:
        return [d.name for d in self._devices]

    def device(self, number: int) -> Toy:
        if number >= len(self._devices):
            raise DeviceError(f"device 'toy:{number}' does not exist: there are toy:0 and toy:1")
        return self._devices[number]

    def settings(self, number: int, nans: str) -> tuple[Settings, int]:
        if options.current().strict:
            raise DeviceError("the toy's sums are not those of strict mode")
        return Settings(named("sse2"), nans=nans), number

    def require(self, settings: tuple[Settings, int]) -> None:
        """Loops run anywhere."""

    def load(self, number: int, data: bytes, site_at: SiteAt) -> None:
        """Nothing was kept."""

    def backend(self, settings: tuple[Settings, int]) -> ToyBackend:
        return ToyBackend(self, settings)


TOY = ToyKind()


@contextmanager
def registered() -> Iterator[ToyKind]:
    """The devices toy:0 and toy:1 exist inside."""
    with mock.patch.dict(KINDS, toy=TOY):
        yield TOY
