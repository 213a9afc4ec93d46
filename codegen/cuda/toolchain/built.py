"""Output of a CUDA compiler: machine code, and the resources that each kernel in it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """What one thread, or with `shared` one block, of a kernel takes: registers, and bytes."""

    registers: int
    shared: int  # static; generated kernels ask for theirs at the launch
    spill_stores: int
    spill_loads: int
    local: int


@dataclass(frozen=True)
class Built:
    """An image that a driver loads, and the Usage of its kernels by symbol."""

    image: bytes
    report: dict[str, Usage]
