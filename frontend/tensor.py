"""The Tensor: a lazy n-dimensional array. In: operators and methods. Out: Tensors that hold a Node; nothing is computed
until a value is asked for (numpy, item, tolist, bool, int, float, print, realize)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Self

import numpy as np

from .. import errors
from ..ir import dtype as dt
from ..ir.dtype import DType
from ..ir.graph import Node, Op, const
from . import activations as act
from . import (
    arrange,
    contract,
    cumulative,
    gathering,
    indexing,
    movement,
    nonzero,
    padding,
    realize,
    reductions,
    sets,
    sorting,
    state,
    storage,
)
from . import elementwise as ew
from . import transcendental as tr
from .broadcast import WEAK, as_dtype, broadcast_shape, broadcast_to
from .tracking import Tracked
from .values import check_device

Unary = Callable[..., Node]
Operator = Callable[["Tensor", Any], "Tensor"]
KINDS = "buif"  # each takes the values of those before it in place


def as_operand(x: Any) -> Any:
    """A Node or a Python number from anything that an operator accepts; NotImplemented otherwise."""
    if isinstance(x, Tensor):
        return x.node
    if type(x) in WEAK:
        return x
    if isinstance(x, np.generic):
        return const(x.item(), as_dtype(x.dtype))
    if isinstance(x, np.ndarray):
        return storage.leaf(storage.from_array(x, as_dtype(x.dtype), copy=True))
    if isinstance(x, (int, float)):  # an enumeration's member, say
        return int(x) if isinstance(x, int) else float(x)
    return NotImplemented


def unary(function: Unary) -> Callable[..., Tensor]:
    """A method from a function of one Node (and other arguments that are not Tensors)."""

    @wraps(function)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return wrap(function(self.node, *args, **kwargs), self._requires_grad)

    return method


def several(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method from a function of one Node that gives a Node or a (named) tuple of them."""

    @wraps(function)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        out = function(self.node, *args, **kwargs)
        if isinstance(out, Node):
            return wrap(out, self._requires_grad)
        made = [wrap(n, self._requires_grad) for n in out]
        return out._make(made) if hasattr(out, "_make") else tuple(made)

    return method


def named_as(function: Callable[..., Any], method: Operator) -> Operator:
    """The operator with the function's name and text, but parameters of its own: (other, /)."""
    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def binary(function: Callable[..., Node]) -> Operator:
    """An operator from a function of two operands."""

    def method(self: Tensor, other: Any, /) -> Tensor:
        if isinstance(other, Tensor):
            return wrap(function(self.node, other.node), self._requires_grad or other._requires_grad)
        operand = other if type(other) in WEAK else as_operand(other)
        if operand is NotImplemented:
            return NotImplemented
        return wrap(function(self.node, operand), self._requires_grad)

    return named_as(function, method)


def equality(function: Callable[..., Node]) -> Operator:
    """== or !=, which leaves what has no dtype here to Python: such a thing is not equal."""
    method = binary(function)

    def compare(self: Tensor, other: Any, /) -> Tensor:
        if isinstance(other, (np.ndarray, np.generic)) and dt.from_numpy(other.dtype) is None:
            return NotImplemented
        return method(self, other)

    return named_as(function, compare)


def reflected(function: Callable[..., Node]) -> Operator:
    """The operator with its operands the other way round."""
    return binary(wraps(function)(lambda a, b: function(b, a)))


def converted(dtype: DType) -> Callable[[Tensor], Tensor]:
    """A method that converts to this dtype."""

    def method(self: Tensor) -> Tensor:
        return self.astype(dtype)

    method.__doc__ = f"As {dtype.name}."
    return method


def in_place(function: Callable[..., Node]) -> Operator:
    """An operator that gives this Tensor a new value; expressions made from the old one keep it.

    Raises DTypeError for a result that is of another kind (NumPy's "same kind" rule), ShapeError for one of another shape.
    """

    def method(self: Tensor, other: Any, /) -> Tensor:
        operand = as_operand(other)
        if operand is NotImplemented:
            return NotImplemented
        n = function(self.node, operand)
        if KINDS.index(n.dtype.kind) > KINDS.index(self.dtype.kind):
            raise errors.DTypeError(f"an in-place operation gives {n.dtype.name}, which does not fit {self.dtype.name}")
        rebind(self, n, isinstance(other, Tensor) and other._requires_grad)
        return self

    return named_as(function, method)


def general(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method from a function any of whose positional or keyword arguments may be Tensors or arrays."""

    @wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        tracks = [False]
        plain = [_unwrapped(a, tracks) for a in args]
        out = function(*plain, **{k: _unwrapped(v, tracks) for k, v in kwargs.items()})
        if isinstance(out, (list, tuple)):
            return type(out)(wrap(n, tracks[0]) for n in out)
        return wrap(out, tracks[0])

    return method


def named(function: Callable[..., Node]) -> Callable[..., Any]:
    """A method from a function that takes the name of its first argument too."""
    method = general(function)

    @wraps(function)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return method(x, *args, **kwargs, name=getattr(x, "name", None))

    return call


def _unwrapped(x: Any, tracks: list[bool]) -> Any:
    """Nodes for Tensors and arrays, also inside lists, tuples and slices; tracks[0] becomes True if one requires a gradient."""
    if isinstance(x, Tensor):
        tracks[0] |= x._requires_grad
        return x.node
    if isinstance(x, (list, tuple)) and any(isinstance(i, (Tensor, np.ndarray, list, tuple)) for i in x):
        return tuple(_unwrapped(i, tracks) for i in x)
    return as_operand(x) if isinstance(x, (np.ndarray, np.generic, int, float)) else x


def wrap(n: Node, requires_grad: bool = False) -> Tensor:
    """The Tensor of a Node. Where gradients are off, a value that would have needed one is cut from its history."""
    t: Tensor = object.__new__(Tensor)
    if requires_grad and not (state.mode.grad_enabled and n.dtype.is_float):
        requires_grad = False
        if n.dtype.is_float:
            n = ew.detach(n)
    t.node = n
    t._requires_grad = requires_grad
    t._storage = t.grad = t.name = t._note = t._hooks = None
    if not n.shape and n.op is not Op.INPUT:
        state.hold_scalar(t)
    return t


def rebind(t: Tensor, n: Node, requires_grad: bool) -> None:
    """Gives a Tensor the value of n in its own dtype and shape, as an in-place operator does."""
    if n.shape != t.shape:
        raise errors.ShapeError(f"an in-place operation gives shape {n.shape}, which does not fit shape {t.shape}")
    n = ew.cast(n, t.dtype)
    if t.is_leaf and (t._requires_grad or (t.node.op is Op.INPUT and t.node.arg.definition is not None)):
        if t._requires_grad and state.mode.grad_enabled:
            raise errors.GradientError("a leaf that requires a gradient is changed in place: do it inside wf.no_grad()")
        t.assign(wrap(n))
        return
    value = wrap(n, requires_grad or t._requires_grad)
    state.move(t, value.node, value._requires_grad)


class Tensor(Tracked):
    """A lazy array of one dtype and a static shape. Make one with wf.tensor, wf.zeros, wf.rand, ... or an operator."""

    __slots__ = ()
    __hash__ = object.__hash__  # equal means equal elements

    # ------------------------------------------------------------ other Tensors of the same value

    def detach(self) -> Tensor:
        """The same value without a history."""
        return wrap(ew.detach(self.node))

    def clone(self) -> Tensor:
        """The same value as another Tensor; gradients flow through. Values never change, so nothing is copied."""
        return wrap(self.node, self._requires_grad)

    def __deepcopy__(self, memo: Any) -> Self:
        """Another Tensor with the same value, and for a leaf a gradient of its own; copying a model copies its parameters."""
        other: Self = object.__new__(type(self))
        Tensor.__init__(other, self.node, self._requires_grad and self.is_leaf)
        other.name = self.name
        return other

    def __copy__(self) -> Self:
        return self.__deepcopy__(None)

    def __reduce__(self) -> tuple[Any, ...]:
        """What pickle keeps: the value, and of a leaf that it requires a gradient."""
        array = realize.read(self, lambda stored: stored.peek_raw().copy())
        return _unpickled, (type(self), array, self.dtype, self._requires_grad and self.is_leaf, self.name)

    def assign(self, value: Any) -> Self:
        """Gives this Tensor a new value (of its shape, cast to its dtype), computed with the next program.

        Expressions made from the old value keep it.
        """
        if self._requires_grad and not self.is_leaf:
            raise errors.GradientError("assign: this Tensor was computed from others that require a gradient")
        operand = as_operand(value)
        if operand is NotImplemented:
            operand = storage.copied(value, self.dtype)
        n = ew.cast(operand, self.dtype) if isinstance(operand, Node) else ew.constant(operand, self.dtype)
        if n.shape != self.shape:
            if broadcast_shape("assign", [n.shape, self.shape]) != self.shape:
                raise errors.ShapeError(f"assign: a value of shape {n.shape} does not fit shape {self.shape}")
            n = broadcast_to(n, self.shape)
        state.assign(self, n)
        return self

    # ------------------------------------------------------------ conversions

    def to(self, *args: Any, device: Any = None, dtype: Any = None) -> Tensor:
        """Another dtype or device: t.to("cpu"), t.to(wf.float64), t.to(device=..., dtype=...)."""
        for a in args:
            if isinstance(a, str) and a not in dt.BY_NAME:
                device = a
            elif a is not None:
                dtype = a
        check_device(device)
        return self if dtype is None else self.astype(dtype)

    def astype(self, dtype: Any) -> Tensor:
        """In another dtype: floats to integers truncate and saturate, integers wrap, bool is x != 0."""
        target = as_dtype(dtype)
        return self if target is self.dtype else wrap(ew.cast(self.node, target), self._requires_grad)

    def cpu(self) -> Tensor:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self) -> Tensor:
        """On the GPU. Raises DeviceError where there is none."""
        return self.to("cuda")

    float, double = converted(dt.float32), converted(dt.float64)
    half, bfloat16 = converted(dt.float16), converted(dt.bfloat16)
    int, long, bool = converted(dt.int32), converted(dt.int64), converted(dt.bool_)

    # ------------------------------------------------------------ operators

    __add__, __radd__, __iadd__ = binary(ew.add), reflected(ew.add), in_place(ew.add)
    __sub__, __rsub__, __isub__ = binary(ew.sub), reflected(ew.sub), in_place(ew.sub)
    __mul__, __rmul__, __imul__ = binary(ew.mul), reflected(ew.mul), in_place(ew.mul)
    __truediv__, __rtruediv__, __itruediv__ = binary(ew.div), reflected(ew.div), in_place(ew.div)
    __floordiv__, __rfloordiv__, __ifloordiv__ = binary(ew.floordiv), reflected(ew.floordiv), in_place(ew.floordiv)
    __mod__, __rmod__, __imod__ = binary(ew.mod), reflected(ew.mod), in_place(ew.mod)
    __pow__, __rpow__, __ipow__ = binary(tr.power), reflected(tr.power), in_place(tr.power)
    __and__, __rand__, __iand__ = binary(ew.bit_and), reflected(ew.bit_and), in_place(ew.bit_and)
    __or__, __ror__, __ior__ = binary(ew.bit_or), reflected(ew.bit_or), in_place(ew.bit_or)
    __xor__, __rxor__, __ixor__ = binary(ew.bit_xor), reflected(ew.bit_xor), in_place(ew.bit_xor)
    __lshift__, __rlshift__, __ilshift__ = binary(ew.shift_left), reflected(ew.shift_left), in_place(ew.shift_left)
    __rshift__, __rrshift__, __irshift__ = binary(ew.shift_right), reflected(ew.shift_right), in_place(ew.shift_right)
    __matmul__, __rmatmul__, __imatmul__ = binary(contract.matmul), reflected(contract.matmul), in_place(contract.matmul)
    __lt__, __le__, __gt__, __ge__ = binary(ew.lt), binary(ew.le), binary(ew.gt), binary(ew.ge)
    __eq__, __ne__ = equality(ew.eq), equality(ew.ne)  # type: ignore[assignment]
    __neg__, __pos__, __abs__, __invert__ = unary(ew.neg), unary(ew.positive), unary(ew.absolute), unary(ew.invert)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> builtins.bool:
        found = self == value
        return bool(found.any()) if isinstance(found, Tensor) else False

    def __getitem__(self, key: Any, /) -> Tensor:
        """What NumPy's x[key] gives; a bool mask in the key is computed. Raises IndexError, DTypeError, ShapeError."""
        return wrap(indexing.getitem(self.node, _key(key), self.name), self._requires_grad)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """This Tensor gets the value that NumPy's x[key] = value gives; expressions made from the old one keep it."""
        tracks = [False]
        rebind(self, indexing.setitem(self.node, _key(key), _assigned(value, self.dtype, tracks), self.name), tracks[0])

    # ------------------------------------------------------------ functions

    @property
    def T(self) -> Tensor:
        """All axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped. Raises ShapeError for fewer than two."""
        return unary(arrange.matrix_transpose)(self)

    def contiguous(self) -> Tensor:
        """The same value in row-major order."""
        return self if self.is_contiguous() else wrap(movement.contiguous(self.node), self._requires_grad)

    exp, log, sqrt, rsqrt, sin, cos, tan = (unary(f) for f in (tr.exp, tr.log, ew.sqrt_, ew.rsqrt, tr.sin, tr.cos, tr.tan))
    tanh, erf, sigmoid, relu, gelu, silu = (unary(f) for f in (tr.tanh, tr.erf, act.sigmoid, act.relu, act.gelu, act.silu))
    softplus, leaky_relu, log1p, expm1 = (unary(f) for f in (act.softplus, act.leaky_relu, tr.log1p, tr.expm1))
    asin, acos, atan, asinh, acosh, atanh = (unary(f) for f in (tr.asin, tr.acos, tr.atan, tr.asinh, tr.acosh, tr.atanh))
    sinh, cosh = unary(tr.sinh), unary(tr.cosh)
    atan2, hypot, logaddexp = general(tr.atan2), general(tr.hypot), general(tr.logaddexp)
    exp2, log2, log10, reciprocal, square = (unary(f) for f in (tr.exp2, tr.log2, tr.log10, ew.reciprocal, ew.square))
    abs, neg, sign, floor, ceil = (unary(f) for f in (ew.absolute, ew.neg, ew.sign, ew.floor, ew.ceil))
    round, trunc = unary(ew.round_), unary(ew.trunc)
    isnan, isinf, isfinite, logical_not = (unary(f) for f in (ew.isnan, ew.isinf, ew.isfinite, ew.logical_not))
    signbit, nan_to_num, conj = unary(ew.signbit), unary(ew.nan_to_num), unary(ew.conj)
    real, imag = property(unary(ew.real)), property(unary(ew.imag))
    copysign, nextafter, fmod = general(ew.copysign), general(ew.nextafter), general(ew.fmod)
    fmax, fmin, logical_xor, isclose = (general(f) for f in (ew.fmax, ew.fmin, ew.logical_xor, ew.isclose))
    maximum, minimum, pow, clip = general(ew.maximum), general(ew.minimum), general(tr.power), general(ew.clip)
    logical_and, logical_or, matmul = general(ew.logical_and), general(ew.logical_or), general(contract.matmul)

    def where(self, condition: Any, other: Any) -> Tensor:
        """self where the condition holds, else other."""
        return where(condition, self, other)

    sum, mean, prod = unary(reductions.sum), unary(reductions.mean), unary(reductions.prod)
    max, min = unary(reductions.max), unary(reductions.min)
    any, all, var, std = unary(reductions.any), unary(reductions.all), unary(reductions.var), unary(reductions.std)
    argmax, argmin, norm = unary(reductions.argmax), unary(reductions.argmin), unary(cumulative.norm)
    cumsum, cumprod, diff = unary(cumulative.cumsum), unary(cumulative.cumprod), general(cumulative.diff)
    sort, argsort, topk, median = unary(sorting.sort), unary(sorting.argsort), several(sorting.topk), unary(sorting.median)
    argwhere, count_nonzero = unary(nonzero.argwhere), unary(nonzero.count_nonzero)
    nonzero, unique = several(nonzero.nonzero), several(sets.unique)
    logsumexp, softmax, log_softmax = (unary(f) for f in (reductions.logsumexp, reductions.softmax, reductions.log_softmax))

    reshape = view = unary(movement.reshape)
    permute, transpose, swapaxes = unary(movement.permute), unary(movement.transpose), unary(movement.swapaxes)
    moveaxis, expand, broadcast_to = unary(movement.moveaxis), unary(movement.expand), unary(movement.to_shape)
    ravel = unary(movement.ravel)
    squeeze, unsqueeze, flatten = unary(movement.squeeze), unary(movement.unsqueeze), unary(movement.flatten)
    flip = unary(movement.flip)
    pad, repeat, split = unary(padding.pad), general(arrange.repeat), general(movement.split)
    tile, roll, unstack, chunk = unary(arrange.tile), unary(arrange.roll), general(arrange.unstack), general(arrange.chunk)
    diagonal, trace, diag = unary(arrange.diagonal), unary(arrange.trace), unary(arrange.diag)
    dot, outer = general(contract.dot), general(contract.outer)
    take, take_along_axis = named(gathering.take), named(gathering.take_along_axis)
    put_along_axis, masked_fill = named(gathering.put_along_axis), general(gathering.masked_fill)


where = general(ew.where)


def _unpickled(kind: type[Tensor], array: np.ndarray[Any, Any], dtype: DType, requires_grad: bool, name: str | None) -> Tensor:
    t = object.__new__(kind)
    Tensor.__init__(t, storage.leaf(storage.from_raw(array, dtype, array.shape)), requires_grad)
    t.name = name
    return t


def _key(key: Any) -> Any:
    """An index with Nodes for Tensors, arrays and sequences."""
    return tuple(_item(k) for k in key) if isinstance(key, tuple) else _item(key)


def _item(item: Any) -> Any:
    if isinstance(item, Tensor):
        return item.node
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, np.ndarray):
        return item.item() if not item.shape and item.dtype.kind in "biu" else as_operand(item)
    if not isinstance(item, (list, tuple, range)):
        return item
    from .creation import tensor  # which imports this module

    found = tensor(list(item) if isinstance(item, range) else item)
    return found.node if found.size else ew.cast(found.node, dt.int64)


def _assigned(value: Any, dtype: DType, tracks: list[bool]) -> Any:
    """The value of an assignment: a Node or a Python number."""
    plain = _unwrapped(value, tracks)
    if isinstance(plain, Node) or type(plain) in WEAK:
        return plain
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise errors.ShapeError(f"assignment: the nested lists are not of equal lengths ({error})") from None
    if dt.from_numpy(array.dtype) is None:
        raise errors.DTypeError(f"assignment: {value!r:.60} does not become {dtype.name}")
    return as_operand(array)
