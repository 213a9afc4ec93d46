"""The readable part of a Tensor: its Node, its memory and ways to read it. In: a Node or
memory. Out: shapes, NumPy arrays, Python numbers, text.

Reading a value computes it; describing a Tensor (shape, repr) never does.
"""

from __future__ import annotations

from functools import partial
from math import ceil, floor, isfinite, isinf, prod, trunc
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.shapes import Shape
from ...runtime.memory import devices, storage
from ...runtime.memory import strides as layout
from ...runtime.memory.storage import Storage
from ..lazy import realize, state
from ..lazy.any_tensor import Above, AnyTensor
from ..operands.arguments import as_bool, as_choice
from ..operands.likes import DeviceLike, DTypeLike
from .names_elsewhere import OF_TENSORS, no_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType


# each standard contains the earlier ones
API_VERSIONS = (
    "2021.12",
    "2022.12",
    "2023.12",
    "2024.12",
)


def _numpy_dtype(dtype: object) -> np.dtype:
    """What NumPy asks an array to be. Raises DTypeError."""
    try:
        return np.dtype(dtype)  # type: ignore[call-overload, no-any-return]
    except Exception:  # whatever an object that is no dtype raises where NumPy looks into it
        raise errors.DTypeError(f"__array__: NumPy has no dtype {brief(dtype)}") from None


class Readable(AnyTensor):
    """The methods of a Tensor that make no other Tensor."""

    __slots__ = ()
    __array_priority__ = (
        1000  # libraries older than __array_ufunc__ leave `array * tensor` to Tensor.__rmul__
    )

    # ------------------------------------------------------------ what it stands for

    @property
    def node(self) -> Node:
        """The Node of its value; while a function is traced, what the Tensor stands for in
        there."""
        if state.traces and (trace := state.trace()) is not None:
            return trace.node_of(self)
        try:
            return self._node
        except AttributeError:
            return state.give_leaf(self)

    @node.setter
    def node(self, n: Node) -> None:
        if state.traces and (trace := state.trace()) is not None:
            trace.set_node(self, n)
        else:
            self._node = n

    @property
    def grad(self) -> Any:
        """The gradient that backward() has collected, or None."""
        if state.traces and (trace := state.trace()) is not None:
            return trace.grad_of(self)
        return self._grad

    @grad.setter
    def grad(self, gradient: Any) -> None:
        if gradient is not None:
            self._check_gradient(gradient)
        if state.traces and (trace := state.trace()) is not None:
            trace.set_grad(self, gradient)
        else:
            self._grad = gradient

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> object:
            """For an unknown name: says what it is called here if PyTorch has it."""
            __tracebackhide__ = True
            if name.startswith("_"):  # fields not set yet, and protocols that others ask for
                how = "; pass x.numpy()" if name == "__array_interface__" else ""
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}{how}")
            raise no_attribute(
                f"{type(self).__name__!r} object", name, partial(dir, self), OF_TENSORS
            )

    def _check_gradient(self, gradient: object) -> None:
        if not isinstance(gradient, Readable):
            raise errors.DTypeError(
                f"grad: a gradient must be a Tensor or None, not {brief(gradient)}"
            )
        if gradient.shape != self.shape:
            raise errors.ShapeError(
                f"grad: a gradient of shape {gradient.shape} does not fit shape {self.shape}"
            )

    # ------------------------------------------------------------ what it is

    @property
    def shape(self) -> Shape:
        """The extents, a tuple of ints."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The element type, such as wf.float32."""
        return self.node.dtype

    @property
    def device(self) -> str:
        """The device on which the value is, or is computed: "cpu", "cuda:0"."""
        if devices.only_cpu():
            return devices.CPU
        stored = self._stored()
        return devices.device_of(self.node) if stored is None else stored.device

    @property
    def is_cuda(self) -> bool:
        """True if the value is on a GPU."""
        return self.device.startswith("cuda")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.node.shape)

    @property
    def strides(self) -> Shape:
        """In elements: of the memory if it is computed, else what views make of the row-major order
        of what will be computed."""
        stored = self._stored()
        return layout.strides_of(self.node) if stored is None else stored.strides

    def is_contiguous(self) -> bool:
        """True if the value is in row-major order: `t.T` is not, `t.T + 1` is."""
        return storage.is_row_major(self.shape, self.strides)

    def _stored(self) -> Storage | None:
        if state.traces and (trace := state.trace()) is not None:
            return trace.stored(self)
        stored = self._storage
        if stored is None:
            n = self.node
            stored = storage.lookup(n)
            if stored is not None:
                with (
                    state.lock
                ):  # another thread may give this Tensor another value at this very moment
                    if self.node is n:
                        self._storage = stored
        return stored

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """weft.array_api. Raises ArgumentError (a ValueError) for a version of the standard that it
        does not contain."""
        if api_version is not None:
            as_choice("__array_namespace__", "api_version", api_version, API_VERSIONS)
        return Above.array_api()

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, /, *inputs: object, **options: object
    ) -> object:
        """np.exp(x), and `array * x`, which NumPy takes for np.multiply: computed here, lazily."""
        return Above.numpy_functions().ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Iterable[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """np.mean(x): computed here, lazily. Raises CallError for a function that Weft lacks."""
        return Above.numpy_functions().function(function, tuple(types), args, kwargs)

    def to_device(self, device: DeviceLike, /, *, stream: object = None) -> Any:
        """On another device, as `to` gives it. Raises DeviceError."""
        if stream is not None:
            raise errors.DeviceError(
                f"to_device: stream {brief(stream)}: all work of a device is on the one stream of"
                " Weft"
            )
        return self.to(device)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kDLCPU, 0), or (kDLCUDA, the number of the GPU)."""
        return devices.dlpack_pair(self.device)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Where the value is in the memory of a GPU, for CuPy, Numba and others. Raises
        AttributeError for one of the CPU."""
        from . import dlpack

        return dlpack.cuda_interface(self)

    def __dlpack__(
        self,
        /,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule of the memory, which is computed if need be; a copy only if asked for.

        A consumer of version 1 gets a flag that the memory is read-only; an older one gets none,
        and must not write either. dl_device: where the value is, or the CPU, to which it is copied.
        Raises BufferError for another device, or for a stream of the CPU.
        """
        from . import dlpack

        return dlpack.to_capsule(self, stream, max_version, dl_device, copy)

    # ------------------------------------------------------------ values

    def realize(self) -> Self:
        """Computes the value now; returns self. Raises IndexError for an index out of range."""
        realize.realize(self)
        return self

    def numpy(self, copy: bool = False) -> np.ndarray:
        """The value as a NumPy array: a read-only view of the memory, or a copy.

        bfloat16 needs the package ml_dtypes; without it MissingPackageError is raised.
        """
        array = realize.read(self, Storage.numpy)
        return array.copy() if as_bool("numpy", "copy", copy) else array

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        wanted = array.dtype if dtype is None else _numpy_dtype(dtype)
        if wanted != array.dtype and copy is False:
            raise errors.ShapeError(
                f"__array__: {self.dtype.name} becomes {wanted} only as a copy, which copy=False"
                " forbids"
            )
        with np.errstate(invalid="ignore", over="ignore"):  # no conversion of Weft warns
            return (
                array.astype(wanted)
                if as_bool("__array__", "copy", copy) or wanted != array.dtype
                else array
            )

    def item(self) -> Any:
        """The only element as a Python number. Raises ShapeError if there are more."""
        if self.size != 1:
            what = "only a single element converts to a Python number"
            raise errors.ShapeError(
                f"{what}, this has shape {self.shape}; x.tolist() gives all of them"
            )
        return realize.read(self, lambda stored: stored.peek().item())

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        return realize.read(self, lambda stored: stored.peek().tolist())

    def __bool__(self) -> bool:
        if self.size != 1:
            how = "write x.all() or x.any(), wf.allclose(x, y) for x == y, & for `and`, | for `or`"
            raise errors.ShapeError(
                f"a Tensor of shape {self.shape} has no single truth value: {how}"
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self._real_item("float"))

    def __complex__(self) -> complex:
        return complex(self.item())

    def __int__(self) -> int:
        return self._whole(int)

    def __trunc__(self) -> int:
        return self._whole(trunc)

    def __floor__(self) -> int:
        return self._whole(floor)

    def __ceil__(self) -> int:
        return self._whole(ceil)

    def _whole(self, rounded: Callable[[float], int]) -> int:
        """A whole number near the only element."""
        value = self._real_item(rounded.__name__)
        if isinstance(value, float) and not isfinite(value):
            kind = errors.OverflowError if isinf(value) else errors.ArgumentError
            raise kind(f"{rounded.__name__}: {value} is not a whole number")
        return rounded(value)

    def _real_item(self, name: str) -> bool | int | float:
        """The only element, which must be a real number."""
        value: bool | int | float | complex = self.item()
        if isinstance(value, complex):
            raise errors.DTypeError(f"{name}: {value} is complex: take x.real, x.imag or abs(x)")
        return value

    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise errors.DTypeError(f"only an integer can be an index, this is {self.dtype.name}")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise errors.DTypeError("a 0-d Tensor has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        stored = self._stored()
        if stored is None or stored.is_absent:
            return f"<Tensor {self.dtype.name}{list(self.shape)} {self.device} lazy>"
        with realize.lock:
            values = np.array2string(stored.peek(), separator=", ", prefix="tensor(")
        shape = f", shape={stored.shape}" if 0 in stored.shape and len(stored.shape) > 1 else ""
        device = f", device={stored.device}" if stored.device != devices.CPU else ""
        # of the memory: no Node is made for it
        return f"tensor({values}{shape}, dtype={stored.dtype.name}{device})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks show; Tensors inside of lists and the like are not computed
        for that."""
        from . import display

        printer.text(display.text(self) if len(printer.stack) == 1 else repr(self))

    def __str__(self) -> str:
        realize.value(self)
        return repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self.item() if not self.shape else self)
