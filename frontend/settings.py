"""What the options say about code. In: options, a device. Out: the Settings of a compilation."""

from __future__ import annotations

from .. import options
from ..codegen.settings import SERIAL_WORK, Settings
from ..codegen.target import named
from ..runtime import device as devices
from ..runtime import processor

AnySettings = Settings


def current_settings(device: str | None = None) -> AnySettings:
    """Target and thresholds from the options. Raises DeviceError for a device that this build lacks."""
    o = options.current()
    devices.get(device or o.device)
    target = processor.host() if o.target == "host" else named(o.target)
    return Settings(target, o.min_chunks, SERIAL_WORK if o.serial_threshold is None else o.serial_threshold, o.tune)
