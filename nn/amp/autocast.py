"""Mixed precision by the kind of operation. In: a block of code. Out: the same, its matrix products
in 16-bit floats."""

from __future__ import annotations

from ... import errors
from ...frontend.operands.arguments import as_bool, as_choice
from ...frontend.operands.autocast import Lowered
from ...frontend.operands.broadcast import as_dtype
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...runtime.memory.devices import Kinds

__all__ = ["autocast"]


class autocast(Lowered):
    """Inside, products of matrices and windows take 16-bit floats, and what would suffer from them
    float32.

    In `dtype` (bfloat16, float16) are computed `@ matmul tensordot inner dot einsum`, linear,
    (transposed) convolutions and attention: their float32 operands are converted as they are read,
    so weights stay float32 and get float32 gradients. In float32 are computed, and stay,
    exponentials, logarithms, powers, reciprocals, sums, products, means, variances, norms, softmax,
    layer_norm, group_norm, rms_norm, and all losses. Everything else takes what it gets. float64
    stays float64.

    A context manager and a decorator, for this thread; blocks nest, and enabled=False turns it off
    in one. The backward pass needs none. A jitted function is compiled for the state in which it is
    called. float16 needs a GradScaler. device_type is there for code written for torch: all devices
    are treated alike. Raises DTypeError for another dtype.

    >>> w, x = nn.Parameter(wf.ones(4, 3)), wf.ones(2, 3)
    >>> with nn.autocast(dtype=wf.bfloat16):
    ...     y = F.linear(x, w)
    ...     loss = y.sum()
    >>> loss.backward()
    >>> y.dtype.name, loss.dtype.name, w.grad.dtype.name
    ('bfloat16', 'float32', 'float32')
    """

    def __init__(
        self, device_type: str | None = None, dtype: DType | str = dt.bfloat16, enabled: bool = True
    ) -> None:
        if device_type is not None:
            as_choice("autocast", "device_type", device_type, list(Kinds.by_name))
        self.dtype = as_dtype(dtype)
        if not self.dtype.is_half:
            raise errors.DTypeError(
                f"autocast: dtype must be float16 or bfloat16, not {brief(dtype)}"
            )
        self.enabled = as_bool("autocast", "enabled", enabled)
        super().__init__(self.dtype if self.enabled else None)
