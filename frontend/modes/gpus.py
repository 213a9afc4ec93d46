"""`wf.cuda`, after torch.cuda: questions about the GPUs, waiting for them, timing. In: devices.
Out: numbers, texts, Events.

Each function takes "cuda:1", 1, or None for the first GPU. Raises DeviceError, which says what is
missing, where there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import errors
from ...ir.graph.brief import brief
from ...runtime.cuda import devices
from ...runtime.cuda.devices import Gpu
from ...runtime.memory.devices import check_device, kind_of, number_of
from ..lazy.realize import realize
from ..tensor.names_elsewhere import of_module

__all__ = [
    "Event",
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "memory_allocated",
    "memory_reserved",
    "synchronize",
]


def is_available() -> bool:
    """True if there is a GPU to compute on."""
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs."""
    return len(devices.available())


def _unit(device: int | str | None) -> Gpu:
    name = check_device(0 if device is None else device) or ""
    if kind_of(name) != "cuda":
        raise errors.DeviceError(f"device {brief(device)} is not a GPU")
    return devices.gpu(number_of(name))


def get_device_name(device: int | str | None = None) -> str:
    """The name of the GPU."""
    return _unit(device).driver.name


def synchronize(device: int | str | None = None) -> None:
    """Waits until the GPU has finished all its work. Lazy values stay lazy: wf.realize() computes
    them."""
    _unit(device).driver.synchronize()


def memory_allocated(device: int | str | None = None) -> int:
    """Bytes of the GPU's memory in use by Tensors."""
    return _unit(device).pool.allocated_bytes


def memory_reserved(device: int | str | None = None) -> int:
    """Bytes in use or kept for reuse."""
    pool = _unit(device).pool
    return pool.allocated_bytes + pool.cached_bytes


def empty_cache() -> None:
    """Returns memory kept for reuse to the driver, on every GPU in use."""
    for unit in devices.opened():
        unit.pool.trim()


class Event:
    """A point in the work of a GPU: record() it, compute, record() another one, and ask for the
    time between.

    >>> start, end = wf.cuda.Event(), wf.cuda.Event()        # doctest: +SKIP
    >>> start.record(); y.realize(); end.record(); start.elapsed_time(end)        # doctest: +SKIP
    1.25
    """

    def __init__(self, enable_timing: bool = True, device: int | str | None = None) -> None:
        self._driver = _unit(device).driver
        self._event: Any = None

    def record(self) -> None:
        """Marks the end of the work that was asked for by now; pending updates are asked for
        first."""
        realize()
        self._event = self._driver.record()

    def synchronize(self) -> None:
        """Waits for that work."""
        self._driver.synchronize()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to another one, for which it waits. Raises ArgumentError
        unless both were recorded."""
        if self._event is None or end._event is None:
            raise errors.ArgumentError("elapsed_time: record() both events first")
        return self._driver.elapsed(self._event, end._event)


if not TYPE_CHECKING:  # a checker knows what there is
    __getattr__ = of_module(__name__)
