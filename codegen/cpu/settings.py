"""Settings of CPU lowering: all it may depend on besides the kernel, and never the number of
threads.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..llvm.target import Target

# operations, loads among them, below which waking threads costs more than it gains: 1 to 1.5 us
SERIAL_WORK = 40_000


@dataclass(frozen=True)
class Settings:
    target: Target
    min_chunks: int = 1
    serial_work: int = SERIAL_WORK
    tune: bool = False  # candidates are timed
    # the bits of the reference interpreter (ir/ops/strict.py): sums in order, functions by the same
    # steps
    strict: bool = False
    # what kernels check the values for that they compute: "", "nan" or "inf"
    # (codegen/kernels/finite_checks.py)
    nans: str = ""
