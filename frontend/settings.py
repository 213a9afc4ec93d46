"""What the options say about code. In: options, a device. Out: the Settings of a compilation."""

from __future__ import annotations

from .. import options
from ..codegen.cuda.settings import CudaSettings
from ..codegen.settings import SERIAL_WORK, Settings
from ..codegen.target import named
from ..runtime import device as devices
from ..runtime import processor

AnySettings = Settings | CudaSettings


def current_settings(device: str = "cpu") -> AnySettings:
    """Target and thresholds from the options. Raises DeviceError for a device that is not there."""
    found = devices.get(device)
    return _host_settings() if found == devices.CPU else _cuda_settings(devices.number_of(found))


def _host_settings() -> Settings:
    o = options.current()
    target = processor.host() if o.target == "host" else named(o.target)
    return Settings(target, o.min_chunks, SERIAL_WORK if o.serial_threshold is None else o.serial_threshold, o.tune)


def _cuda_settings(number: int) -> CudaSettings:
    from ..codegen.cuda.target import CudaTarget
    from ..runtime.cuda.devices import driver

    found = driver(number)
    return CudaSettings(CudaTarget(found.arch, found.multiprocessors, found.shared_limit, options.current().matmul), number)
