"""Target of CUDA code. In: a device as its driver describes it. Out: a CudaTarget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir.graph.dtype import DType

# bytes of shared memory that weft_block_reduce of weft.cuh has in a kernel, besides what that asks
# for
OWN_SHARED = 256
WARP = 32  # threads that run in step
VECTOR_BITS = 128  # of the widest load and store


@dataclass(frozen=True)
class CudaTarget:
    """A GPU as the code generator sees it. What follows from `multiprocessors` never changes the
    order of a sum."""

    arch: str  # sm_75, sm_80, sm_90a ..
    multiprocessors: int = 132
    shared_limit: int = (227 << 10) - OWN_SHARED  # bytes of shared memory that a block may ask for
    matmul: str = (
        "float32"  # how float32 products are computed: "float32", or "tf32" on tensor cores
    )

    @property
    def generation(self) -> int:
        """75, 80, 90: the compute capability times ten."""
        return int(self.arch.removeprefix("sm_").rstrip("af"))

    @property
    def has_async_copies(self) -> bool:
        """cp.async, and mma.sync of bfloat16 and tf32."""
        return self.generation >= 80

    def lanes_of(self, dtypes: Iterable[DType]) -> int:
        """Neighbours that a thread takes at a time: as many as a load or store of the widest of
        these holds."""
        return VECTOR_BITS // max((max(8, d.bits) for d in dtypes), default=32)
