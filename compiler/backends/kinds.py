"""Every kind of device that there is code for. In: the name of a device. Out: its memory, settings,
programs; a Backend for it.

A kind of device is an entry of KINDS, and what its Kind, Device and Backend say is all that differs
between devices. The files of a kind are imported by its methods: a program that is on disk needs no
compiler, and who names no GPU loads nothing for one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ... import options
from ...errors import DeviceError
from ...runtime.memory import devices
from ...runtime.memory.devices import Device, DeviceKind, kind_of, number_of

if TYPE_CHECKING:
    from ...codegen.cpu.settings import Settings
    from ...codegen.cuda.settings import CudaSettings
    from ...runtime.image import SiteAt
    from ...runtime.runnable import Runnable
    from .backend import Backend


class Kind(DeviceKind, Protocol):
    """What there is for devices of one name. Its settings are frozen, and what they print is part
    of the key of a program."""

    takes_sizes: bool  # may kernels take extents as arguments (codegen/kernels/arguments.py)

    def settings(self, number: int, nans: str) -> Any:
        """All that code for a device depends on, the graph apart, from the options; `nans` says
        what kernels check the values for that they compute: "", "nan" or "inf". Raises
        DeviceError."""

    def require(self, settings: Any) -> None:
        """Raises DeviceError where code by these settings can be made but not run."""

    def load(self, number: int, data: bytes, site_at: SiteAt) -> Runnable | None:
        """The executable that `Backend.packed` described, if its kernels are there; `site_at` gives
        the user's lines."""

    def backend(self, settings: Any) -> Backend:
        """What makes programs."""


class CpuKind:
    """The CPU: kernels as LLVM IR, a program as one native call."""

    dlpack = 1  # kDLCPU
    takes_sizes = True

    def available(self) -> list[str]:
        """Always."""
        return [devices.CPU]

    def device(self, number: int) -> Device:
        """The only one."""
        return devices.Cpu()

    def settings(self, number: int, nans: str) -> Settings:
        """Target and thresholds."""
        from ...codegen.cpu.settings import SERIAL_WORK, Settings
        from ...codegen.llvm.target import named
        from ...runtime import processor

        o = options.current()
        target = processor.host() if o.target == "host" else named(o.target)
        if o.strict:
            target = replace(target, has_fma=False)
        serial = SERIAL_WORK if o.serial_threshold is None else o.serial_threshold
        return Settings(target, o.min_chunks, serial, o.tune and not o.strict, o.strict, nans)

    def require(self, settings: Settings) -> None:
        """That the processor has the target's instructions."""
        from ...runtime import processor

        if not settings.target.runs_on(processor.host()):
            lacking = f"this processor has no {options.current().target}"
            raise DeviceError(
                f"{lacking}: WEFT_TARGET=host makes code for it; wf.explain and wf.dump show that"
                " for any"
            )

    def load(self, number: int, data: bytes, site_at: SiteAt) -> Runnable | None:
        """An image, and machine code from the cache."""
        from ...runtime.executable import stored

        return stored(data, site_at)

    def backend(self, settings: Settings) -> Backend:
        """Loads the compiler and LLVM."""
        from .cpu import CpuBackend

        return CpuBackend(settings)


class CudaKind:
    """GPUs of NVIDIA: kernels as CUDA C, a program as launches."""

    dlpack = 2  # kDLCUDA
    takes_sizes = True

    def available(self) -> list[str]:
        """Those that PyCUDA finds."""
        from ...runtime.cuda.devices import available

        return [f"cuda:{number}" for number in available()]

    def device(self, number: int) -> Device:
        """Starts it."""
        from ...runtime.cuda.devices import CudaDevice, gpu

        gpu(number)
        return CudaDevice(number)

    def settings(self, number: int, nans: str) -> CudaSettings:
        """What the driver says of it. Raises DeviceError in strict mode, too."""
        from ...codegen.cuda.settings import CudaSettings
        from ...codegen.cuda.target import CudaTarget
        from ...runtime.cuda.devices import driver

        o = options.current()
        if o.strict:
            raise DeviceError(
                f"cuda:{number}: strict mode (WEFT_STRICT) is there for the CPU alone"
            )
        gpu = driver(number)
        return CudaSettings(
            CudaTarget(gpu.arch, gpu.multiprocessors, gpu.shared_limit, o.matmul), number, nans
        )

    def require(self, settings: CudaSettings) -> None:
        """Nothing: the code is for the GPU that the driver found."""

    def load(self, number: int, data: bytes, site_at: SiteAt) -> Runnable | None:
        """An image, and kernels from the cache."""
        from ...runtime.cuda.executable import stored

        return stored(data, site_at, number)

    def backend(self, settings: CudaSettings) -> Backend:
        """Loads the compiler."""
        from .cuda import CudaBackend

        return CudaBackend(settings)


KINDS: dict[str, Kind] = {"cpu": CpuKind(), "cuda": CudaKind()}


def kind(device: str) -> Kind:
    """That of a device."""
    return KINDS[kind_of(device)]


def current_settings(device: str = devices.CPU, nans: str = "") -> Any:
    """The settings of its code, by the options in force. Raises DeviceError for a device that is
    not there."""
    name = devices.get(device)
    return kind(name).settings(number_of(name), nans)


def current_backend(device: str = devices.CPU, nans: str = "") -> Backend:
    """The Backend for it, by the options in force. Raises DeviceError."""
    return kind(device).backend(current_settings(device, nans))
