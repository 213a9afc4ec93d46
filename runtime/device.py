"""In: the name of a device. Out: its record, or an error that says what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import DeviceError


@dataclass(frozen=True)
class Device:
    """Where values live and kernels run."""

    kind: str
    number: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.number}"


CPU = Device("cpu")


def available() -> tuple[Device, ...]:
    """The devices that this build can run on."""
    return (CPU,)


def get(name: str | Device) -> Device:
    """The device called `name`."""
    if name in ("cpu", CPU):
        return CPU
    if isinstance(name, str) and name.partition(":")[0] == "cuda":
        raise DeviceError(
            f"device {name!r} is not available: this build of Weft makes code for the CPU only, it has no CUDA code generator. "
            "Use device='cpu', and unset WEFT_DEVICE if it says otherwise"
        )
    raise DeviceError(f"unknown device {name!r}: there is {', '.join(repr(str(d)) for d in available())}")
