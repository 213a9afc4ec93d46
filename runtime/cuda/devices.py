"""CUDA devices. In: a number. Out: a Device: its Driver and its memory, or a DeviceError that says
what is missing.

Weft looks for PyCUDA at the first request for a device, and remembers what it found.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ... import locks
from ...errors import DeviceError
from ..buffer import DeviceBuffer
from .driver import Driver
from .kernels import Kernels
from .memory import Pool

LEGACY_STREAM = 1  # what CUDA and others call the stream that all work of old programs is on
USE_CPU = "Use device='cpu' otherwise, and unset WEFT_DEVICE if it says cuda"


@dataclass(frozen=True)
class Gpu:
    """A device that runs, its memory, and the kernels that it has loaded."""

    driver: Driver
    pool: Pool
    kernels: Kernels


_gpus: dict[int, Gpu] = {}
_lock = locks.new("device")
_pycuda: list[Any] = []  # pycuda.driver, initialised, or the DeviceError that says why not


def install(driver: Driver, number: int = 0) -> None:
    """Makes `driver` the device cuda:number."""
    with _lock:
        _gpus[number] = Gpu(driver, Pool(driver, number), Kernels(driver))


def uninstall(number: int = 0) -> None:
    """Forgets it; memory that is in use goes back to its driver when its Buffers die."""
    with _lock:
        gpu = _gpus.pop(number, None)
    if gpu is not None:
        gpu.pool.trim()


def gpu(number: int = 0) -> Gpu:
    """The device cuda:number. Raises DeviceError."""
    return _gpus.get(number) or _found(number)


def driver(number: int = 0) -> Driver:
    """The Driver of cuda:number. Raises DeviceError: PyCUDA, the NVIDIA driver, a GPU or this one
    is missing."""
    return gpu(number).driver


def pool(number: int = 0) -> Pool:
    """The memory of cuda:number. Raises DeviceError."""
    return gpu(number).pool


def possible() -> bool:
    """May there be CUDA devices: some installed, or PyCUDA is there. Imports nothing."""
    return bool(_gpus) or bool(_pycuda) or importlib.util.find_spec("pycuda") is not None


def available() -> tuple[int, ...]:
    """The numbers of the devices, none where something is missing."""
    if not possible():
        return tuple(sorted(_gpus))
    try:
        count = _count(_cuda())
    except DeviceError:
        count = 0
    return tuple(sorted({*_gpus, *range(count)}))


def opened() -> list[Gpu]:
    """Those that somebody has named."""
    return [*_gpus.values()]


class CudaDevice:
    """A number as a Device: what drives it may change in tests."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"cuda:{number}"

    @property
    def gpu(self) -> Gpu:
        """Its driver and memory. Raises DeviceError."""
        return gpu(self.number)

    @property
    def stream(self) -> int:
        """The handle of its one stream."""
        return getattr(self.gpu.driver, "stream", LEGACY_STREAM)

    def allocate(self, nbytes: int) -> DeviceBuffer:
        """From its pool."""
        return self.gpu.pool.allocate(nbytes)

    def foreign(self, address: int, nbytes: int, owner: object) -> DeviceBuffer:
        """Another library's."""
        return DeviceBuffer(address, nbytes, owner, self.name, foreign=True)

    def copy(self, to: int, start: int, nbytes: int) -> None:
        """On the device."""
        self.gpu.driver.copy(to, start, nbytes)

    def copy_in(self, to: int, start: int, nbytes: int) -> None:
        """From the host."""
        self.gpu.driver.upload(to, start, nbytes)

    def copy_out(self, to: int, start: int, nbytes: int) -> None:
        """To the host."""
        self.gpu.driver.download(to, start, nbytes)

    def synchronize(self) -> None:
        """Waits for its stream."""
        self.gpu.driver.synchronize()

    def let_wait(self, stream: int | None) -> None:
        """Where nobody can order the streams, its own is awaited here."""
        driver = self.gpu.driver
        if hasattr(driver, "let_wait"):
            driver.let_wait(LEGACY_STREAM if stream is None else stream)
        else:
            driver.synchronize()

    def seconds(self, work: Callable[[], None]) -> float:
        """Between two events."""
        driver = self.gpu.driver
        start = driver.record()
        work()
        return driver.elapsed(start, driver.record()) / 1000


# ---------------------------------------------------------------- PyCUDA


def _found(number: int) -> Gpu:
    with _lock:
        if number not in _gpus:
            cuda = _cuda()
            count = _count(cuda)
            if not 0 <= number < count:
                raise DeviceError(f"device 'cuda:{number}' does not exist: {_devices(count)}")
            from .pycuda_driver import PycudaDriver

            install(PycudaDriver(cuda, number), number)
        return _gpus[number]


def _devices(count: int) -> str:
    return (
        "there is one, cuda:0" if count == 1 else f"there are {count}, cuda:0 to cuda:{count - 1}"
    )


def _cuda() -> Any:
    """pycuda.driver, initialised. Raises the same DeviceError again and again where that is not
    possible."""
    with _lock:
        if not _pycuda:
            try:
                _pycuda.append(_initialised())
            except DeviceError as error:
                _pycuda.append(error)
    if isinstance(_pycuda[0], DeviceError):
        raise DeviceError(str(_pycuda[0]))
    return _pycuda[0]


def _initialised() -> Any:
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        raise DeviceError(_missing(error)) from None
    try:
        cuda.init()
        count = _count(cuda)
    except cuda.Error as error:
        raise DeviceError(
            f"CUDA does not start: {error}. Does `nvidia-smi` see a GPU? {USE_CPU}"
        ) from None
    if count == 0:
        raise DeviceError(
            "no CUDA device: `nvidia-smi` lists the GPUs, CUDA_VISIBLE_DEVICES may hide them."
            f" {USE_CPU}"
        )
    return cuda


def _missing(error: ImportError) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == "pycuda":
        return (
            "device 'cuda' needs PyCUDA: `pip install pycuda`, with a C++ compiler and the CUDA"
            f" toolkit. {USE_CPU}"
        )
    if "libcuda.so" in str(error):
        return (
            "device 'cuda' needs the NVIDIA driver, whose library libcuda.so.1 could not be"
            f" loaded: {error}. {USE_CPU}"
        )
    return (
        f"PyCUDA could not be imported: {error}. `pip install --force-reinstall pycuda` builds it"
        f" anew. {USE_CPU}"
    )


def _count(cuda: Any) -> int:
    return int(cuda.Device.count())
