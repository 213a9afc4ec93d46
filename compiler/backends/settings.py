"""Settings of a compilation, from the options. In: options, a device. Out: Settings."""

from __future__ import annotations

from dataclasses import replace

from ... import options
from ...codegen.cpu.settings import SERIAL_WORK, Settings
from ...codegen.cuda.settings import CudaSettings
from ...codegen.llvm.target import named
from ...errors import DeviceError
from ...runtime import device as devices
from ...runtime import processor

AnySettings = Settings | CudaSettings


def current_settings(device: str = "cpu") -> AnySettings:
    """Target and thresholds from the options. Raises DeviceError for a device that is not there."""
    found = devices.get(device)
    return _host_settings() if found == devices.CPU else _cuda_settings(devices.number_of(found))


def _host_settings() -> Settings:
    o = options.current()
    target = processor.host() if o.target == "host" else named(o.target)
    if o.strict:
        target = replace(target, has_fma=False)
    serial = SERIAL_WORK if o.serial_threshold is None else o.serial_threshold
    return Settings(target, o.min_chunks, serial, o.tune and not o.strict, o.strict)


def _cuda_settings(number: int) -> CudaSettings:
    if options.current().strict:
        raise DeviceError(f"cuda:{number}: strict mode (WEFT_STRICT) is there for the CPU alone")
    from ...codegen.cuda.target import CudaTarget
    from ...runtime.cuda.devices import driver

    found = driver(number)
    return CudaSettings(CudaTarget(found.arch, found.multiprocessors, found.shared_limit, options.current().matmul), number)
