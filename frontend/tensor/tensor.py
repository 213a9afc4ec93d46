"""The Tensor: a lazy n-dimensional array. In: operators and methods. Out: Tensors that hold a Node;
nothing is computed until a value is asked for (numpy, item, tolist, bool, int, float, print,
realize)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, used
from ...ir.graph.op import Op
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU, check_device, only_cpu
from ..elementwise import activations as act
from ..elementwise import all as ew
from ..elementwise import transcendental as tr
from ..functions import cumulative, gather, movement, products, rearrange, reductions, vectors
from ..lazy import any_tensor, new_tensor, realize, state, transfers, whole_of_parts
from ..operands.arguments import as_bool, as_int, as_sequence
from ..operands.broadcast import WEAK, as_dtype, broadcast_shape, broadcast_to
from ..operands.likes import ArrayLike, DeviceLike, DTypeLike
from ..selection import indexing, interpolation, nonzero, sets, sorting, statistics
from ..windows import padding
from .binding import Function, as_operand, function, rebind, unwrapped
from .from_data import holds_tensors, of_data
from .tracked import Tracked

if TYPE_CHECKING:  # what these make is of the class below
    Operator = Callable[["Tensor", ArrayLike], "Tensor"]

    def wrap(n: Node, requires_grad: bool = False) -> Tensor: ...
    def bare(n: Node) -> Tensor: ...
    def of_storage(stored: storage.Storage, note: str | None = None) -> Tensor: ...
    def method(inner: Any, name: str = "") -> Callable[..., Tensor]: ...
    def operator(inner: Callable[..., Node]) -> Operator: ...
    def reflected(inner: Callable[..., Node]) -> Operator: ...
    def equality(inner: Callable[..., Node]) -> Callable[[Tensor, object], Tensor]: ...
    def in_place(inner: Callable[..., Node]) -> Operator: ...

    several: Callable[..., Function]  # a method that gives one Tensor or several
else:
    from .binding import equality, in_place, method, operator, reflected

    several, wrap, bare, of_storage = (
        method,
        new_tensor.wrap,
        any_tensor.bare,
        any_tensor.of_storage,
    )


def destination(
    args: tuple[object, ...], device: object, dtype: object
) -> tuple[str | None, DType | None]:
    """The device and the dtype that arguments of `to` ask for, if any: a Tensor for its own. Raises
    DeviceError, DTypeError."""
    for a in args:
        if isinstance(a, Tensor):
            device, dtype = a.device, a.dtype
        elif (
            (isinstance(a, str) and a not in dt.BY_NAME)
            or type(a) is int
            or type(a).__name__ == "device"
        ):  # torch's
            device = a
        elif a is not None:
            dtype = a
    return check_device(device), None if dtype is None else as_dtype(dtype)


def converted(dtype: DType) -> Callable[[Tensor], Tensor]:
    """A method that converts to this dtype."""

    def convert(self: Tensor) -> Tensor:
        return self.astype(dtype)

    convert.__doc__ = f"As {dtype.name}."
    return convert


class Tensor(Tracked):
    """A lazy array of one dtype and a static shape. Make one with wf.tensor, wf.zeros, wf.rand, ...
    or an operator."""

    __slots__ = ()

    if TYPE_CHECKING:  # inherited, but of this class

        @property
        def grad(self) -> Tensor | None: ...
        @grad.setter
        def grad(self, gradient: Tensor | None) -> None: ...
        def to_device(self, device: DeviceLike, /, *, stream: object = None) -> Tensor: ...

    __hash__ = object.__hash__  # equal means equal elements

    # ------------------------------------------------------------ other Tensors of the same value

    def detach(self) -> Tensor:
        """The same value without a history."""
        return wrap(ew.detach(self.node))

    def clone(self) -> Tensor:
        """The same value as another Tensor; gradients flow through. Values never change, so nothing
        is copied."""
        return wrap(self.node, self._requires_grad)

    def __deepcopy__(self, memo: object) -> Self:
        """Another Tensor with the same value, and for a leaf a gradient of its own; copying a model
        copies its parameters."""
        other: Self = object.__new__(type(self))
        Tensor.__init__(other, self.node, self._requires_grad and self.is_leaf)
        other.name = self.name
        return other

    def __copy__(self) -> Self:
        return self.__deepcopy__(None)

    def __reduce__(self) -> tuple[object, ...]:
        """What pickle keeps: the value, and of a leaf that it requires a gradient."""
        array = realize.read(self, lambda stored: stored.peek_raw().copy())
        return _unpickled, (
            type(self),
            array,
            self.dtype,
            self._requires_grad and self.is_leaf,
            self.name,
        )

    def assign(self, value: ArrayLike) -> Self:
        """Gives this Tensor a new value (of its shape, cast to its dtype), computed with the next
        program.

        Expressions made from the old value keep it.
        """
        if self._requires_grad and not self.is_leaf:
            raise errors.GradientError(
                "assign: this Tensor was computed from others that require a gradient"
            )
        old, operand = self.node, as_operand(value)
        if operand is NotImplemented:
            operand = of_data(value, old.dtype).node
        n = (
            ew.cast(operand, old.dtype)
            if isinstance(operand, Node)
            else ew.constant(operand, old.dtype)
        )
        if n.shape != old.shape:
            if broadcast_shape("assign", [n.shape, old.shape]) != old.shape:
                raise errors.ShapeError(
                    f"assign: a value of shape {n.shape} does not fit shape {old.shape}"
                )
            n = broadcast_to(n, old.shape)
        n = transfers.placed(n, self.device) if used else n
        state.assign(self, n.src[0] if n.op is Op.DETACH else n)  # no derivative passes an assign
        return self

    # ------------------------------------------------------------ conversions

    def to(
        self,
        *args: Tensor | DTypeLike | DeviceLike,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        non_blocking: bool = False,
    ) -> Tensor:
        """Another dtype or device: t.to("cuda"), t.to(wf.float64), t.to(device=..., dtype=...),
        t.to(other) for those of a Tensor; a number is that of a GPU. Copies to one never wait for
        it, whatever non_blocking says.

        A value in memory is copied now, unless it requires a gradient; what is lazy stays so.
        Gradients flow back to where the value was. Raises DeviceError for a device that is not
        there, MemoryError.
        """
        place, target = destination(args, device, dtype)
        out = self if target is None else self.astype(target)
        if place is None or (place == CPU and only_cpu()):
            return out
        n = out.node
        if transfers.placed(n, place) is n:
            return out
        stored = None if out._requires_grad else out._stored()
        if stored is None or stored.is_absent:
            return wrap(transfers.placed(n, place), out._requires_grad)
        return of_storage(realize.read(out, partial(storage.moved, device=place)))

    def astype(self, dtype: DTypeLike, copy: builtins.bool = True) -> Tensor:
        """In another dtype: floats to integers truncate and saturate, integers wrap, bool is x !=
        0.

        copy is NumPy's, and changes nothing here: Tensors share no elements.
        """
        as_bool("astype", "copy", copy)
        target = as_dtype(dtype)
        return (
            self if target is self.dtype else wrap(ew.cast(self.node, target), self._requires_grad)
        )

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device: builtins.int = 0) -> Tensor:
        """On a GPU, the first one unless another is named by its number. Raises DeviceError where
        there is none, DTypeError."""
        return self.to(f"cuda:{as_int('cuda', 'device', device)}")

    float, double = converted(dt.float32), converted(dt.float64)
    half, bfloat16 = converted(dt.float16), converted(dt.bfloat16)
    int, long, bool = converted(dt.int32), converted(dt.int64), converted(dt.bool_)

    # ------------------------------------------------------------ operators

    __add__, __radd__, __iadd__ = operator(ew.add), reflected(ew.add), in_place(ew.add)
    __sub__, __rsub__, __isub__ = operator(ew.sub), reflected(ew.sub), in_place(ew.sub)
    __mul__, __rmul__, __imul__ = operator(ew.mul), reflected(ew.mul), in_place(ew.mul)
    __truediv__, __rtruediv__, __itruediv__ = operator(ew.div), reflected(ew.div), in_place(ew.div)
    __floordiv__, __rfloordiv__, __ifloordiv__ = (
        operator(ew.floordiv),
        reflected(ew.floordiv),
        in_place(ew.floordiv),
    )
    __mod__, __rmod__, __imod__ = operator(ew.mod), reflected(ew.mod), in_place(ew.mod)
    __pow__, __rpow__, __ipow__ = operator(tr.power), reflected(tr.power), in_place(tr.power)
    __and__, __rand__, __iand__ = operator(ew.bit_and), reflected(ew.bit_and), in_place(ew.bit_and)
    __or__, __ror__, __ior__ = operator(ew.bit_or), reflected(ew.bit_or), in_place(ew.bit_or)
    __xor__, __rxor__, __ixor__ = operator(ew.bit_xor), reflected(ew.bit_xor), in_place(ew.bit_xor)
    __lshift__, __rlshift__, __ilshift__ = (
        operator(ew.shift_left),
        reflected(ew.shift_left),
        in_place(ew.shift_left),
    )
    __rshift__, __rrshift__, __irshift__ = (
        operator(ew.shift_right),
        reflected(ew.shift_right),
        in_place(ew.shift_right),
    )
    __matmul__, __rmatmul__, __imatmul__ = (
        operator(products.matmul),
        reflected(products.matmul),
        in_place(products.matmul),
    )
    __lt__, __le__, __gt__, __ge__ = (
        operator(ew.lt),
        operator(ew.le),
        operator(ew.gt),
        operator(ew.ge),
    )
    __eq__, __ne__ = equality(ew.eq), equality(ew.ne)  # type: ignore[assignment]
    __neg__, __pos__, __abs__, __invert__ = (
        method(ew.neg),
        method(ew.positive),
        method(ew.absolute),
        method(ew.invert),
    )

    def __divmod__(self, other: ArrayLike, /) -> tuple[Tensor, Tensor]:
        quotient = self.__floordiv__(other)
        return quotient if quotient is NotImplemented else (quotient, self.__mod__(other))

    def __rdivmod__(self, other: ArrayLike, /) -> tuple[Tensor, Tensor]:
        quotient = self.__rfloordiv__(other)
        return quotient if quotient is NotImplemented else (quotient, self.__rmod__(other))

    def __round__(self, ndigits: builtins.int | None = None) -> Tensor:
        return self.round(0 if ndigits is None else ndigits)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> builtins.bool:
        hits = self == value
        return isinstance(hits, Tensor) and bool(hits.any())

    def __getitem__(self, key: object, /) -> Tensor:
        """What NumPy's x[key] gives; a bool mask in the key is computed. Raises IndexError,
        DTypeError, ShapeError."""
        part = wrap(indexing.getitem(self.node, _key(key), self.name), self._requires_grad)
        whole_of_parts.note(self, part)
        return part

    def __setitem__(self, key: object, value: ArrayLike, /) -> None:
        """This Tensor gets the value that NumPy's x[key] = value gives; expressions made from the
        old one keep it."""
        whole_of_parts.assigned(self)
        tracks = [False]
        rebind(
            self,
            indexing.setitem(self.node, _key(key), _assigned(value, self.dtype, tracks), self.name),
            tracks[0],
        )

    # ------------------------------------------------------------ functions

    @property
    def T(self) -> Tensor:
        """All axes reversed."""
        return self.transpose()

    def contiguous(self) -> Tensor:
        """The same value in row-major order."""
        return (
            self
            if self.is_contiguous()
            else wrap(movement.contiguous(self.node), self._requires_grad)
        )

    exp, log, sqrt, rsqrt, sin, cos, tan = map(
        method, (tr.exp, tr.log, ew.sqrt_, ew.rsqrt, tr.sin, tr.cos, tr.tan)
    )
    tanh, erf, sigmoid, relu, gelu, silu = map(
        method, (tr.tanh, tr.erf, act.sigmoid, act.relu, act.gelu, act.silu)
    )
    softplus, leaky_relu, log1p, expm1 = map(
        method, (act.softplus, act.leaky_relu, tr.log1p, tr.expm1)
    )
    asin, acos, atan, asinh, acosh, atanh = map(
        method, (tr.asin, tr.acos, tr.atan, tr.asinh, tr.acosh, tr.atanh)
    )
    erfinv, lgamma, digamma = map(method, (tr.erfinv, tr.lgamma, tr.digamma))
    sinh, cosh, atan2, hypot, logaddexp = map(
        method, (tr.sinh, tr.cosh, tr.atan2, tr.hypot, tr.logaddexp)
    )
    exp2, log2, log10, reciprocal, square = map(
        method, (tr.exp2, tr.log2, tr.log10, ew.reciprocal, ew.square)
    )
    sign, floor, ceil, trunc = map(method, (ew.sign, ew.floor, ew.ceil, ew.trunc))
    abs, neg = method(ew.absolute, "abs"), method(ew.neg, "neg")
    round, pow = method(ew.round_, "round"), method(tr.power, "pow")
    isnan, isinf, isfinite, logical_not = map(
        method, (ew.isnan, ew.isinf, ew.isfinite, ew.logical_not)
    )
    signbit, nan_to_num, conj = map(method, (ew.signbit, ew.nan_to_num, ew.conj))
    angle = method(ew.angle)
    real, imag, mT = map(property, map(method, (ew.real, ew.imag, rearrange.matrix_transpose)))
    copysign, nextafter, fmod, isclose = map(
        method, (ew.copysign, ew.nextafter, ew.fmod, ew.isclose)
    )
    maximum, minimum, fmax, fmin, clip = map(
        method, (ew.maximum, ew.minimum, ew.fmax, ew.fmin, ew.clip)
    )
    clamp = clip
    logical_and, logical_or, logical_xor = map(
        method, (ew.logical_and, ew.logical_or, ew.logical_xor)
    )
    matmul, dot, outer = map(method, (products.matmul, products.dot, products.outer))
    cross, kron, lerp = method(vectors.cross), method(vectors.kron), method(interpolation.lerp)

    def where(self, condition: ArrayLike, other: ArrayLike) -> Tensor:
        """self where the condition holds, else other."""
        return _where(condition, self, other)  # type: ignore[no-any-return]

    sum, mean, prod = map(method, (reductions.sum, reductions.mean, reductions.prod))
    max, min, argmax, argmin = map(
        method, (reductions.max, reductions.min, reductions.argmax, reductions.argmin)
    )
    any, all, var, std = map(
        method, (reductions.any, reductions.all, reductions.var, reductions.std)
    )
    logsumexp, softmax, log_softmax = map(
        method, (reductions.logsumexp, reductions.softmax, reductions.log_softmax)
    )
    cumsum, cumprod, diff, norm = map(
        method, (cumulative.cumsum, cumulative.cumprod, cumulative.diff, cumulative.norm)
    )
    sort, argsort, median = map(method, (sorting.sort, sorting.argsort, sorting.median))
    quantile, cov = method(statistics.quantile), method(statistics.cov)
    argwhere, count_nonzero = method(nonzero.argwhere), method(nonzero.count_nonzero)
    nonzero, unique, topk = several(nonzero.nonzero), several(sets.unique), several(sorting.topk)

    reshape, view = method(movement.reshape), method(movement.view)
    permute, transpose, swapaxes = map(
        method, (movement.permute, movement.transpose, movement.swapaxes)
    )
    moveaxis, expand, broadcast_to = (
        method(movement.moveaxis),
        method(movement.expand),
        method(movement.to_shape, "broadcast_to"),
    )
    squeeze, unsqueeze, flatten = map(
        method, (movement.squeeze, movement.unsqueeze, movement.flatten)
    )
    ravel, flip, pad = map(method, (movement.ravel, movement.flip, padding.pad))
    repeat, tile, roll = map(method, (rearrange.repeat, rearrange.tile, rearrange.roll))
    flipud, fliplr, rot90 = map(method, (rearrange.flipud, rearrange.fliplr, rearrange.rot90))
    split, unstack, chunk = map(several, (movement.split, rearrange.unstack, rearrange.chunk))
    diagonal, trace, diag = map(method, (rearrange.diagonal, rearrange.trace, rearrange.diag))
    take, take_along_axis = method(gather.take), method(gather.take_along_axis)
    put_along_axis, masked_fill = method(gather.put_along_axis), method(gather.masked_fill)
    as_strided = method(gather.as_strided)


any_tensor.Above.kind = Tensor
_where = function(ew.where)


def _unpickled(
    kind: type[Tensor], array: np.ndarray, dtype: DType, requires_grad: bool, name: str | None
) -> Tensor:
    t = object.__new__(kind)
    Tensor.__init__(t, storage.leaf(storage.from_raw(array, dtype, array.shape)), requires_grad)
    t.name = name
    return t


def _key(key: object) -> object:
    """An index with Nodes for Tensors, arrays and sequences."""
    return tuple(_item(k) for k in key) if isinstance(key, tuple) else _item(key)


def _item(item: object) -> object:
    if isinstance(item, Tensor):
        return item.node
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, np.ndarray):
        return item.item() if not item.shape and item.dtype.kind in "biu" else as_operand(item)
    if not isinstance(item, (list, tuple, range)):
        return item
    data = as_sequence("index", "a range", item) if isinstance(item, range) else item
    if holds_tensors(data):
        return of_data(data).node
    indices = of_data(data, device=CPU)
    stored = indices._stored()
    n = indices.node if stored is None else storage.operand(stored)
    return n if indices.size else ew.cast(n, dt.int64)


def _assigned(value: object, dtype: DType, tracks: list[bool]) -> Any:
    """The value of an assignment: a Node or a Python number."""
    plain = unwrapped("assignment", "the value", value, tracks)
    if isinstance(plain, Node) or type(plain) in WEAK:
        return plain
    try:
        array = np.asarray(value)
    except ValueError:
        raise errors.ShapeError("assignment: the nested lists are not of equal lengths") from None
    if dt.from_numpy(array.dtype) is None:
        raise errors.DTypeError(f"assignment: {brief(value)} cannot be converted to {dtype.name}")
    return as_operand(array)
