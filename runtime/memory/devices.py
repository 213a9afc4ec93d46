"""Names of devices. In: any spelling that a user may pass. Out: the one text, "cpu" or "cuda:0", or
an error that says what is missing.
"""

from __future__ import annotations

from typing import Any

from ... import errors, options
from ...ir.graph.brief import shown
from ...ir.graph.graph import Node, used
from ..device import CPU, available, copy, default, foreign, get, gpu, number_of

__all__ = ["CPU", "available", "check_device", "copy", "default", "device_of", "foreign", "gpu", "number_of", "only_cpu"]


def check_device(device: Any) -> str | None:
    """The text of a device, "cuda:0" for "cuda" or 0; None for None. Raises DeviceError for one that is not there."""
    if device is None or (type(device) is str and device == CPU):
        return device
    try:
        text = f"cuda:{device}" if type(device) is int else str(device)  # a device of torch counts by its name
    except Exception:  # whatever the text of something else raises
        text = ""
    if text == CPU or text.startswith("cuda"):
        return get(text)
    raise errors.DeviceError(f"device {shown(device)}: there is {', '.join(available())} (wf.devices())")


def only_cpu() -> bool:
    """Has no other device than the CPU been named: then values need not be asked where they are."""
    return not used and options.current().device == CPU


def device_of(n: Node) -> str:
    """Where a value is computed."""
    return n.device or default()
