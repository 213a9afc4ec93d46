"""Devices, where values live and are computed. In: any spelling that a user may pass. Out: its
text, "cpu" or "cuda:0", its memory, copies.

compiler/backends/kinds.py says which kinds of devices there are. A device is looked for when
somebody names it, or the option `device` does; a DeviceError says what is missing.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from functools import cache
from time import perf_counter
from typing import Protocol

from ... import errors, options
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, used
from ..buffer import Buffer

CPU = "cpu"


class Device(Protocol):
    """A place for values. Addresses are integers that only the device itself needs to understand; 0
    is no address.

    Everything happens in the order in which it is asked for. All but `copy_out`, `synchronize` and
    `seconds` may return before.
    """

    @property
    def name(self) -> str:
        """Its one text: "cpu", "cuda:0"."""

    @property
    def stream(self) -> int | None:
        """What DLPack calls the stream that its work is on; None where there are no streams."""

    def allocate(self, nbytes: int) -> Buffer:
        """Memory for nbytes, contents undefined. Raises MemoryError."""

    def foreign(self, address: int, nbytes: int, owner: object) -> Buffer:
        """Memory that belongs to another library."""

    def copy(self, to: int, start: int, nbytes: int) -> None:
        """From its memory to its memory."""

    def copy_in(self, to: int, start: int, nbytes: int) -> None:
        """From the CPU's memory, which may be changed at once."""

    def copy_out(self, to: int, start: int, nbytes: int) -> None:
        """To the CPU's memory."""

    def synchronize(self) -> None:
        """Waits until everything asked for is done."""

    def let_wait(self, stream: int | None) -> None:
        """What another library asks of its stream comes after what was asked of this device. None:
        the stream of old programs."""

    def seconds(self, work: Callable[[], None]) -> float:
        """How long it takes for what `work` asks of it."""


class DeviceKind(Protocol):
    """The devices of one name: cuda:0, cuda:1, .. are those of "cuda"."""

    @property
    def dlpack(self) -> int | None:
        """DLPack's type of their memory; None: other libraries cannot use it."""

    def available(self) -> list[str]:
        """Those that can be used."""

    def device(self, number: int) -> Device:
        """One of them. Raises DeviceError, which says what is missing."""


class Kinds:
    """Every kind of device. The package sets it once, when it is imported."""

    by_name: Mapping[str, DeviceKind]


class Cpu:
    """The CPU, which has one memory whatever the number of its cores."""

    name, stream = CPU, None

    def allocate(self, nbytes: int) -> Buffer:
        """From the allocator of the process."""
        return Buffer.allocate(nbytes)

    def foreign(self, address: int, nbytes: int, owner: object) -> Buffer:
        """Another library's, or an array's."""
        return Buffer(address, nbytes, owner, foreign=True)

    def copy(self, to: int, start: int, nbytes: int) -> None:
        """Within the memory of the process."""
        ctypes.memmove(to, start, nbytes)

    copy_in = copy_out = copy

    def synchronize(self) -> None:
        """Nothing goes on after a call."""

    def let_wait(self, stream: int | None) -> None:
        """There is nothing to wait for."""

    def seconds(self, work: Callable[[], None]) -> float:
        """By the clock."""
        start = perf_counter()
        work()
        return perf_counter() - start


# ---------------------------------------------------------------- names


def get(name: str) -> str:
    """The one text of a device, "cuda:0" for "cuda". Raises DeviceError, which says what is
    missing."""
    if name == CPU or name in used:
        return name
    if not _is_name(name):
        raise errors.DeviceError(
            f"unknown device {name!r}: there is {', '.join(available())} (wf.devices())"
        )
    text = Kinds.by_name[kind_of(name)].device(number_of(name)).name
    used.add(text)
    return text


def _is_name(name: str) -> bool:
    """May it be a device other than the CPU."""
    return re.fullmatch(r"\w+(:\d+)?", name) is not None and kind_of(
        name
    ) in Kinds.by_name.keys() - {CPU}


def check_device(device: object) -> str | None:
    """The text of a device, "cuda:0" for "cuda" or 0; None for None. Raises DeviceError for one
    that is not there."""
    if device is None or (type(device) is str and device == CPU):
        return device
    try:
        # a device of torch counts by its name
        text = f"cuda:{device}" if type(device) is int else str(device)
    except Exception:  # whatever the text of something else raises
        text = ""
    if kind_of(text) in Kinds.by_name:
        return get(text)
    raise errors.DeviceError(
        f"device {brief(device)}: there is {', '.join(available())} (wf.devices())"
    )


def kind_of(device: str) -> str:
    """The name of its kind: "cuda" for "cuda:0"."""
    return device.partition(":")[0]


def number_of(device: str) -> int:
    """Which of its kind it is."""
    return int(device.partition(":")[2] or 0)


@cache
def device(name: str) -> Device:
    """The device of a text that `get` gave."""
    return Kinds.by_name[kind_of(name)].device(number_of(name))


def dlpack_pair(device: str) -> tuple[int, int]:
    """DLPack's (type, number) of a device. Raises BufferError for one that DLPack does not know."""
    kind = Kinds.by_name[kind_of(device)].dlpack
    if kind is None:
        raise errors.BufferError(f"DLPack has no memory like that of {device}: write x.cpu()")
    return kind, number_of(device)


def named_by_dlpack(kind: int, number: int) -> str | None:
    """The text of the device that DLPack calls so, whether it is there or not; None where there are
    no such devices."""
    names = [name for name, known in Kinds.by_name.items() if known.dlpack == int(kind)]
    return None if not names else CPU if names[0] == CPU else f"{names[0]}:{int(number)}"


def default() -> str:
    """Where values are computed that are on no device, and data are put: the option `device`.
    Raises OptionError, DeviceError."""
    name = options.current().device
    if name == CPU or _is_name(name):
        return get(name)
    allowed = ", ".join(
        [CPU, *(f"{kind} or {kind}:<number>" for kind in Kinds.by_name if kind != CPU)]
    )
    raise errors.OptionError(f"WEFT_DEVICE={name!r}: allowed is {allowed}")


def available() -> list[str]:
    """The CPU and each other device that can be used."""
    return [name for kind in Kinds.by_name.values() for name in kind.available()]


def only_cpu() -> bool:
    """Has no other device than the CPU been named: then values need not be asked where they are."""
    return not used and options.current().device == CPU


def device_of(n: Node) -> str:
    """Where a value is computed."""
    return n.device or default()


# ---------------------------------------------------------------- copies


def copy(target: str, to: int, source: str, start: int, nbytes: int) -> None:
    """nbytes from the address `start` of the device `source` to the address `to` of `target`; the
    CPU is between two others."""
    if not nbytes:
        return
    if source == target:
        device(target).copy(to, start, nbytes)
    elif source == CPU:
        device(target).copy_in(to, start, nbytes)
    elif target == CPU:
        device(source).copy_out(to, start, nbytes)
    else:
        between = Buffer.allocate(nbytes)
        device(source).copy_out(between.address, start, nbytes)
        device(target).copy_in(to, between.address, nbytes)
