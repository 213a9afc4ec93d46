"""The CUDA context of a device. In: a `with` block of any thread. Out: the device is the current
one inside, its errors are ours.

The context is the primary one, which CuPy and PyTorch share. PyCUDA keeps a stack of contexts for
each thread and wants it empty when the thread ends, so nothing stays there: what another library
made current is so again after the block.
"""

from __future__ import annotations

from typing import Any

from ...errors import DeviceError

BROKEN = (
    "this process cannot use the GPU any more and must be started again. CUDA_LAUNCH_BLOCKING=1"
    " names the call that failed:"
)


class Current:
    """Usable from any thread, also one inside the other."""

    def __init__(self, cuda: Any, number: int) -> None:
        self._cuda, self.number = cuda, number
        self._context = cuda.Device(number).retain_primary_context()
        self._push, self._pop = self._context.push, self._context.pop
        self.gone: str | None = None  # why it is of no use any more

    def __enter__(self) -> None:
        if self.gone is not None:
            raise DeviceError(self.gone)
        self._push()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if isinstance(error, self._cuda.Error):
                raise self._explained(error) from None
        finally:
            self._pop()

    def _explained(self, error: Exception) -> DeviceError:
        """Where a question that does no work fails too, everything will."""
        try:
            self._cuda.mem_get_info()
        except self._cuda.Error:
            self.gone = f"{BROKEN} {error}"
            return DeviceError(self.gone)
        return DeviceError(f"cuda:{self.number}: {error}")

    def close(self) -> None:
        """Gives the context back; what PyCUDA has made in it is gone then."""
        self._push()
        self._context.detach()
        self.gone = "CUDA has ended: Python is about to"
