"""Devices on which values live. In: the name of a device. Out: its one text ("cpu", "cuda:0"),
memory on it and copies between devices, or an error that says what is missing.

Weft looks for a GPU once a user, or the option `device`, names one.
"""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

from .. import options
from ..errors import DeviceError
from ..ir.graph.graph import used
from .buffer import Buffer

if TYPE_CHECKING:
    from .cuda.devices import Gpu

CPU = "cpu"


def get(name: str) -> str:
    """The one text of a device, "cuda:0" for "cuda". Raises DeviceError, which says what is missing."""
    if name == CPU or name in used:
        return name
    found = re.fullmatch(r"cuda(?::(\d+))?", name)
    if found is None:
        raise DeviceError(f"unknown device {name!r}: there is {', '.join(available())} (wf.devices())")
    text = f"cuda:{int(found[1] or 0)}"
    gpu(text)
    used.add(text)
    return text


def default() -> str:
    """Where values are computed that are on no device, and data are put: the option `device`. Raises DeviceError."""
    name = options.current().device
    return CPU if name == CPU else get(name)


def available() -> list[str]:
    """The CPU and each GPU that can be used."""
    from .cuda import devices

    return [CPU, *(f"cuda:{number}" for number in devices.available())]


def number_of(device: str) -> int:
    """Which GPU it is."""
    return int(device.partition(":")[2])


def gpu(device: str) -> Gpu:
    """Driver and memory of a GPU. Raises DeviceError."""
    from .cuda import devices

    return devices.gpu(number_of(device))


# ---------------------------------------------------------------- memory


def allocate(device: str, nbytes: int) -> Buffer:
    """Memory for nbytes, contents undefined. Raises MemoryError."""
    return Buffer.allocate(nbytes) if device == CPU else gpu(device).pool.allocate(nbytes)


def foreign(device: str, address: int, nbytes: int, owner: Any) -> Buffer:
    """Memory that belongs to another library."""
    if device == CPU:
        return Buffer(address, nbytes, owner, foreign=True)
    from .cuda.memory import DeviceBuffer

    return DeviceBuffer(address, nbytes, owner, gpu(device).pool, foreign=True)


def copy(target: str, to: int, source: str, start: int, nbytes: int) -> None:
    """nbytes from the address `start` of the device `source` to the address `to` of `target`, the host between two GPUs."""
    if not nbytes:
        return
    if source == target == CPU:
        ctypes.memmove(to, start, nbytes)
    elif source == target:
        gpu(target).driver.copy(to, start, nbytes)
    elif source == CPU:
        gpu(target).driver.upload(to, start, nbytes)
    elif target == CPU:
        gpu(source).driver.download(to, start, nbytes)
    else:
        between = Buffer.allocate(nbytes)
        gpu(source).driver.download(between.address, start, nbytes)
        gpu(target).driver.upload(to, between.address, nbytes)
