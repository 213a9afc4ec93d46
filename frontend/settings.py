"""What the options say about code. In: options, the processor. Out: the Settings of a compilation."""

from __future__ import annotations

from .. import options
from ..codegen.settings import SERIAL_WORK, Settings
from ..codegen.target import named
from ..runtime import device, processor


def current_settings() -> Settings:
    """Target and thresholds from the options. Raises DeviceError for a device that this build lacks."""
    o = options.current()
    device.get(o.device)
    target = processor.host() if o.target == "host" else named(o.target)
    return Settings(target, o.min_chunks, SERIAL_WORK if o.serial_threshold is None else o.serial_threshold, o.tune)
