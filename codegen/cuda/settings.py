"""Settings of CUDA lowering: all it may depend on besides the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from .target import CudaTarget


@dataclass(frozen=True)
class CudaSettings:
    target: CudaTarget
    number: int = 0  # of the device; every one of an architecture runs the same code
    # what kernels check the values for that they compute: "", "nan" or "inf"
    # (codegen/kernels/finite_checks.py)
    nans: str = ""
