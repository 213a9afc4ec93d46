"""The Graph: hash-consed Nodes of a closed op set. In: op, sources, argument. Out: a Node with
shape and dtype.

Equality is identity: building the same expression twice returns the same Node, so common
subexpressions are shared for free. Shapes are static ints. Loop bodies use the same Node class
with ops of their own (see ir/graph/op.py and ir/loops/loop.py).

A Node is on the device of its sources. Constants, counters and 0-d values in the CPU's memory are
on none: they go along with what they meet, and so does what is computed of such alone, or of 0-d
values that the CPU computes.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any, TypeVar

from ... import errors
from ..symbolic.integer import NotSymbolic, Symbolic
from . import dtype as dt
from .dtype import DType
from .op import ELEMENTWISE, JOINT, LOOP_ONLY, MIXED, Op
from .shapes import SHAPES, GraphError, Shape, addressable, require, shape_of
from .site import Site, is_gradient, provenance, site_text, stated, user_site

T = TypeVar("T")


class Node:
    """One value. Never constructed directly: `node`, `const`, `leaf` and the builders below intern
    it."""

    __slots__ = ("__weakref__", "_device", "arg", "computed", "dtype", "op", "shape", "site", "src")
    __match_args__ = ("op", "src", "arg")
    op: Op
    src: tuple[Node, ...]
    arg: Any
    dtype: DType
    shape: Shape
    site: Site | None
    computed: int  # programs that have computed it
    _device: str | None  # not set in Nodes from before another device than the CPU was used

    @property
    def device(self) -> str | None:
        """Where the value is, or is computed: "cpu", "cuda:0"; None for one that goes along with
        others."""
        try:
            return self._device
        except AttributeError:
            return _device_found(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"<{self.op.value} {self.dtype.name}{list(self.shape)}>"


# devices other than the CPU that values have been on; empty nearly always, then nothing looks at
# devices
used: set[str] = set()
interned: dict[
    Any, weakref.ref[Node]
] = {}  # every Node alive, in the order in which they were made
# C: what Python calls as a Node dies must not meet Ctrl-C, which would be lost there
_drop = interned.pop


def node(op: Op, src: Iterable[Node] = (), arg: Any = None) -> Node:
    """The one Node with this op, sources and argument; checks and infers its shape and dtype."""
    src = tuple(src)
    key = (op, arg, src)
    entry = interned.get(key)
    known = None if entry is None else entry()
    if known is not None:
        return _take_newer_site(known)
    dtype, shape = infer(op, src, arg)
    return _intern(key, op, src, arg, dtype, shape)


def shaped(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType, shape: Shape) -> Node:
    """The same as `node` where the caller knows dtype and shape: nothing is checked."""
    key = (op, arg, src)
    entry = interned.get(key)
    known = None if entry is None else entry()
    return _intern(key, op, src, arg, dtype, shape) if known is None else _take_newer_site(known)


def _take_newer_site(n: Node) -> Node:
    """A Node is of the line that asked for it last, which is the one that is looked at; passes and
    gradients do not count."""
    if not stated.keeps_sites:
        site = user_site(3)  # nearer frames are those of this file
        if site is not None and site[0] and not is_gradient(site):
            n.site = site
    return n


def _intern(
    key: Any,
    op: Op,
    src: tuple[Node, ...],
    arg: Any,
    dtype: DType,
    shape: Shape,
    indexed: bool = False,
) -> Node:
    """A new Node, unless another thread has just made it. The key holds the sources, as the Node
    does."""
    n = _new(Node)
    n.op, n.src, n.arg, n.dtype, n.shape, n.site = (
        op,
        src,
        arg,
        dtype,
        shape,
        stated.site or user_site(3),
    )
    n.computed = 0
    if used:
        n._device = _device_of(n)
    entry: weakref.ref[Node]
    if indexed:
        entry = _Indexed(n, _dead.append)
        entry.key = key
    else:
        entry = _ref(n, partial(_drop, key))
    other = interned.setdefault(key, entry)
    kept = n if other is entry else other()
    if kept is not None:
        return kept  # of another thread that was faster
    if indexed:
        interned[key] = entry  # in the place of one that has died
    return n  # else beside one that is just dying, and not shared


_new, _ref = object.__new__, weakref.ref


def _known(
    key: Any,
    op: Op,
    src: tuple[Node, ...],
    arg: Any,
    dtype: DType,
    shape: Shape,
    indexed: bool = False,
) -> Node:
    """The Node of a key that says more than op, argument and sources."""
    entry = interned.get(key)
    known = None if entry is None else entry()
    return _intern(key, op, src, arg, dtype, shape, indexed) if known is None else known


class _Indexed(weakref.ref[Node]):
    """The entry of a Node whose key holds an Index, which hashes in Python: as the Node dies, it
    only joins a list."""

    __slots__ = ("key",)
    key: Any


_dead: list[Any] = []  # entries


def forget_dead() -> None:
    """Removes the entries of indexed Nodes that have died. One that an interruption leaves behind
    is replaced when it is met."""
    with suppress(IndexError):  # another thread may take the last one
        while _dead:
            entry = _dead.pop()
            key = entry.key
            if interned.get(key) is entry:
                del interned[key]


def const_key(value: float | int | bool, dtype: DType) -> Any:
    """Distinguishes -0.0 from 0.0 and makes NaNs equal by their bits."""
    if isinstance(value, Symbolic):
        return value
    return struct.pack("<d", value) if dtype.is_float else int(value)


def const(value: complex | float | int | bool, dtype: DType) -> Node:
    """A scalar constant, rounded to dtype; a complex one is made of its parts."""
    if dtype.is_complex:
        parts = [const(part, dtype.part) for part in (value.real, value.imag)]
        return node(Op.COMPLEX, parts)
    if isinstance(value, complex):
        raise GraphError(f"const: {value} is no {dtype.name}")
    if isinstance(value, Symbolic):
        if dtype is not dt.int64:
            raise NotSymbolic(f"{value} as {dtype.name}")
    elif dtype.is_float:
        value = float(value) if dtype is dt.float64 else dt.rounded(value, dtype)
    elif dtype.kind == "b":
        value = bool(value)
    else:
        value = int(value) & ((1 << dtype.bits) - 1)
        if dtype.kind == "i" and value >> (dtype.bits - 1):
            value -= 1 << dtype.bits
    return _known((Op.CONST, const_key(value, dtype), dtype), Op.CONST, (), value, dtype, ())


def leaf(serial: Any, dtype: DType, shape: Shape) -> Node:
    """An INPUT: a value that comes from outside, identified by its serial number."""
    return _known((Op.INPUT, serial, shape, dtype), Op.INPUT, (), serial, dtype, shape)


def scalar_node(op: Op, src: tuple[Node, ...], arg: Any, dtype: DType) -> Node:
    """A loop-level Node (shape ()) whose dtype is given."""
    if _dead:
        forget_dead()
    return _known((op, arg, dtype, src), op, src, arg, dtype, (), op in (Op.VAR, Op.LOAD))


# ---------------------------------------------------------------- devices

# what functions do to operands before they meet
FITTING = (
    Op.EXPAND,
    Op.RESHAPE,
    Op.PERMUTE,
    Op.PAD,
    Op.CAST,
)


def _device_of(n: Node) -> str | None:
    """The device of a Node, whose sources know theirs. Raises DeviceError where they are on
    several."""
    if n.op is Op.INPUT:
        return getattr(n.arg, "device", None)
    if n.op is Op.COPY:
        return n.arg  # type: ignore[no-any-return]
    first: Node | None = None
    for s in n.src:
        device = s.device
        if device is None or (device == "cpu" and not s.shape):
            continue
        if first is not None and device != first.device:
            raise errors.DeviceError(
                f"a value {_given(first)} on {first.device} meets one {_given(s)} on {device}: move"
                f" one of them, with x.to({first.device!r}) or x.to({device!r})"
            )
        first = s
    if first is None and n.op is Op.ROUTINE:  # whose library is one of the CPU
        return "cpu"
    if first is None:
        return "cpu" if not n.shape and any(s.device for s in n.src) else None
    return first.device


def _given(n: Node) -> str:
    """The dtype and shape of a value before it was fitted to others."""
    while n.op in FITTING:
        n = n.src[0]
    return f"{n.dtype.name}{list(n.shape)}"


def _device_found(n: Node) -> str | None:
    """The same for a Node that was made before anybody looked: of it and of all such below; a loop,
    not recursion."""
    stack = [n]
    while stack:
        below = [s for s in sources(stack[-1]) if not hasattr(s, "_device")]
        if below:
            stack += below
        else:
            last = stack.pop()
            last._device = _device_of(last)
    return n._device


def at_home(n: Node, device: str | None) -> Node:
    """A value, there if it is on no device: read on its own, it would be wherever new data go."""
    if not used or device is None or n.device is not None:
        return n
    return node(Op.COPY, (n,), device)


def sources(n: Node) -> tuple[Node, ...]:
    """What a Node is computed of: an INPUT that waits for a value, of the Node that defines it."""
    return getattr(n.arg, "sources", ()) if n.op is Op.INPUT else n.src


# ---------------------------------------------------------------- inference


def infer(op: Op, src: tuple[Node, ...], arg: Any) -> tuple[DType, Shape]:
    """Dtype and shape of a Node; raises GraphError where the op's rules are broken."""
    if op in ELEMENTWISE:
        return _infer_elementwise(op, src, arg)
    if op in SHAPES:
        x = src[0]
        return x.dtype, shape_of(op, x.shape, arg)
    if op is Op.IOTA:
        return dt.int64, (arg,)
    if op in JOINT or op is Op.HOST:
        spec, k = arg
        result: tuple[DType, Shape] = spec.result(k, src)
        return result
    require(bool(src), op, "not a Graph op, or it needs an explicit dtype")
    x = src[0]
    match op:
        case Op.SCAN | Op.SCANMUL:
            require(0 <= arg < x.ndim, op, f"axis {arg} of {x.shape}")
            return x.dtype, x.shape
        case Op.ARGSORT:
            require(
                0 <= arg[0] < x.ndim and len(arg) == 2, op, f"axis and direction {arg} of {x.shape}"
            )
            require(not x.dtype.is_complex, op, f"of {x.dtype.name}")
            return dt.int64, x.shape
        case Op.SOLVE | Op.CHOLESKY:
            _check_systems(op, src)
            return src[-1].dtype, src[-1].shape
        case Op.FFT:
            _check_pairs(x, arg)
            return x.dtype, arg[3]
        case Op.GATHER:
            _check_indices(op, src[1:], arg)
            return x.dtype, addressable(
                "gather", src[1].shape + tuple(d for i, d in enumerate(x.shape) if i not in arg)
            )
        case Op.SCATTER:
            axes, shape = arg[:2]
            _check_indices(op, src[1:], axes)
            require(
                not arg[2:] or (arg[2:] == ("max",) and x.dtype.is_int),
                op,
                f"{arg[2:]} of {x.dtype.name}",
            )
            rest = tuple(d for i, d in enumerate(shape) if i not in axes)
            require(
                x.shape == src[1].shape + rest,
                op,
                f"values {x.shape}, indices {src[1].shape}, result {shape}",
            )
            return x.dtype, shape
        case Op.PUT:
            _check_indices(op, src[2:], arg)
            rest = tuple(d for i, d in enumerate(x.shape) if i not in arg)
            fits = src[1].shape == rest and src[1].dtype is x.dtype and not src[2].shape
            require(fits, op, f"{src[1].dtype.name}{src[1].shape} into {x.dtype.name}{x.shape}")
            return x.dtype, x.shape
        case Op.DETACH | Op.KEEP | Op.COPY:
            return x.dtype, x.shape
        case Op.ELSEWHERE:
            return arg[1], arg[2]
    raise GraphError(f"{op.value}: not a Graph op, or it needs an explicit dtype")


def _infer_elementwise(op: Op, src: tuple[Node, ...], arg: Any) -> tuple[DType, Shape]:
    dtype, shape, kinds = src[0].dtype, src[0].shape, op.kinds
    for s in src[1:]:
        if s.shape != shape:
            raise GraphError(f"{op.value}: shapes {[s.shape for s in src]}")
        if s.dtype is not dtype and kinds != MIXED:
            raise GraphError(f"{op.value}: dtypes {[s.dtype.name for s in src]}")
    if kinds == MIXED:
        return _infer_mixed(op, src, arg), shape
    if dtype.kind not in kinds:
        raise GraphError(f"{op.value}: of {dtype.name}")
    return GIVES[op.gives](dtype), shape


GIVES: dict[str, Callable[[DType], DType]] = {
    "": lambda dtype: dtype,
    "b": lambda _: dt.bool_,
    "c": lambda dtype: dtype.as_complex,
    "f": lambda dtype: dtype.part,
}


def _infer_mixed(op: Op, src: tuple[Node, ...], arg: Any) -> DType:
    """The dtype of the ops whose operands have several."""
    if op is Op.WHERE:
        require(
            src[0].dtype is dt.bool_ and src[1].dtype is src[2].dtype,
            op,
            f"dtypes {[s.dtype.name for s in src]}",
        )
        return src[1].dtype
    require(
        op is Op.CAST or arg.itemsize == src[0].dtype.itemsize,
        op,
        f"{src[0].dtype.name} to {arg.name}",
    )
    target: DType = arg
    return target


def _check_indices(op: Op, idx: tuple[Node, ...], axes: tuple[int, ...]) -> None:
    require(len(idx) == len(axes) > 0, op, f"{len(idx)} indices for axes {axes}")
    require(
        all(i.dtype is dt.int64 and i.shape == idx[0].shape for i in idx),
        op,
        "indices must be int64 of one shape",
    )


def _check_systems(op: Op, src: tuple[Node, ...]) -> None:
    """Square matrices of float32 or float64; for SOLVE also right-hand sides of as many rows."""
    a, b, count = src[0], src[-1], 2 if op is Op.SOLVE else 1
    shapes = [s.shape for s in src]
    square = len(src) == count and a.ndim >= 2 and a.shape[-1] == a.shape[-2]
    require(square and b.shape[:-1] == a.shape[:-1], op, f"shapes {shapes}")
    require(
        a.dtype in (dt.float32, dt.float64) and b.dtype is a.dtype,
        op,
        f"dtypes {[s.dtype.name for s in src]}",
    )


def _check_pairs(x: Node, arg: Any) -> None:
    """Pairs of floats along a last axis, and an axis before it; where they are turned first, also
    the axis behind that one."""
    axis, _, turns, shape = arg
    fits = x.ndim > 1 and x.shape[-1] == 2 and 0 <= axis < x.ndim - 1 - bool(turns)
    fits = fits and prod(shape) == x.size
    require(fits, Op.FFT, f"axis {axis} of {x.shape}")
    require(x.dtype in (dt.float32, dt.float64), Op.FFT, f"of {x.dtype.name}")


# ---------------------------------------------------------------- builders that skip the trivial


def full(value: complex | float | int | bool, dtype: DType, shape: Shape) -> Node:
    """A constant of any shape."""
    return expand_to(const(value, dtype), shape)


def expand_to(scalar: Node, shape: Shape) -> Node:
    return node(Op.EXPAND, (scalar,), tuple(enumerate(shape))) if shape else scalar


def zeros_like(x: Node) -> Node:
    return full(0, x.dtype, x.shape)


def reshape(x: Node, shape: Shape) -> Node:
    return x if x.shape == shape else node(Op.RESHAPE, (x,), shape)


def permute(x: Node, order: tuple[int, ...]) -> Node:
    return x if order == tuple(range(x.ndim)) else node(Op.PERMUTE, (x,), order)


def expand(x: Node, new_axes: tuple[tuple[int, int], ...]) -> Node:
    return node(Op.EXPAND, (x,), new_axes) if new_axes else x


def reduce(kind: str, x: Node, axes: Iterable[int]) -> Node:
    axes = tuple(sorted(axes))
    return node(Op.REDUCE, (x,), (kind, axes)) if axes else x


def cast(x: Node, dtype: DType) -> Node:
    return x if x.dtype is dtype else node(Op.CAST, (x,), dtype)


# ---------------------------------------------------------------- walks and text


def indices_of(n: Node) -> list[tuple[Node, int, int]]:
    """(index Node, axis, extent of the axis) for each index of a GATHER, SCATTER or PUT."""
    axes, shape = n.arg[:2] if n.op is Op.SCATTER else (n.arg, n.src[0].shape)
    indices = n.src[first_index(n) :]
    return [(index, axis, shape[axis]) for axis, index in zip(axes, indices, strict=True)]


def first_index(n: Node) -> int:
    """Which source of a GATHER, SCATTER or PUT is the first index."""
    return 2 if n.op is Op.PUT else 1


def toposort(roots: Iterable[Node], known: Collection[Node] = ()) -> list[Node]:
    """Every Node reachable from the roots, sources first; a loop, not recursion. What is known is
    left out, and not passed."""
    done: dict[Node, None] = dict.fromkeys(known)
    stack: list[Node | None] = []
    stack += reversed(list(roots))
    while stack:
        n = stack.pop()
        if n is None:  # the sources of the Node below are done
            n = stack.pop()
            assert n is not None
            done[n] = None
        elif n not in done:
            if n.src:
                stack += (n, None)
                stack += [s for s in n.src[::-1] if s not in done]
            else:
                done[n] = None
    return list(done)[len(known) :]


def reach(roots: Iterable[T], below: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """The roots and everything reachable from them, each once, before what is below it; `below` may
    leave out what to stop at."""
    seen = set[T]()
    stack = list(roots)
    while stack:
        x = stack.pop()
        if x not in seen:
            seen.add(x)
            yield x
            stack += below(x)


DEVIATION = "deviation"


def deviation_squared(x: Node) -> Node:
    """x * x, of a distance from a mean. No other expression is this Node, and no user reads it: so
    its sum may use FMA."""
    return node(Op.MUL, (x, x), DEVIATION)


def is_deviation_squared(n: Node) -> bool:
    """Is it made by deviation_squared()?"""
    return n.op is Op.MUL and n.arg == DEVIATION


def rebuild(n: Node, src: tuple[Node, ...]) -> Node:
    """The same op over other sources."""
    return n if src == n.src else _rebuilt(n, src)


def _rebuilt(n: Node, src: tuple[Node, ...]) -> Node:
    with provenance(n.site):
        if n.op in LOOP_ONLY:
            return scalar_node(n.op, src, n.arg, n.dtype)
        return node(n.op, src, n.arg)


def rebuilt_over(roots: Iterable[Node], places: Mapping[Node, Node]) -> dict[Node, Node]:
    """What every Node of these graphs, down to these places, becomes where others stand there."""
    known = dict(places)
    for n in toposort(roots, known):
        known[n] = rebuild(n, tuple([known[s] for s in n.src]))
    return known


def show_arg(n: Node) -> str:
    """The argument as text, as in the one-line print of a Node."""
    if n.arg is None:
        return ""
    if isinstance(n.arg, DType):
        return n.arg.name
    if n.op in JOINT:
        return f"{n.arg[0]}, result {n.arg[1]}"
    return str(n.arg)


def type_of(n: Node) -> str:
    """`float32[4,5]`."""
    return f"{n.dtype.name}[{','.join(map(str, n.shape))}]"


def print_graph(roots: Iterable[Node], title: str = "graph") -> str:
    """One line a Node: `%3 = add(%1, %2)  float32[4,5]  # file:line`; the body of a loop stands
    below its first result."""
    return "\n".join(_lines(list(roots), title, ())) + "\n"


def _lines(roots: list[Node], title: str, params: tuple[Node, ...]) -> list[str]:
    names = {p: f"%p{i}" for i, p in enumerate(params)}
    lines = [title]
    shown = set[Any]()
    for i, n in enumerate(toposort(roots, names)):
        names[n] = f"%{i}"
        operands = ", ".join(
            [names[s] for s in n.src] + ([show_arg(n)] if n.arg is not None else [])
        )
        line = f"  %{i} = {n.op.value}({operands})  {type_of(n)}"
        if n.site is not None:
            line = f"{line}  # {site_text(n.site[:2])}"
        lines.append(line)
        if n.op in JOINT and (n.arg[0], n.src) not in shown:
            shown.add((n.arg[0], n.src))
            for region in n.arg[0].regions:
                head = ", ".join(f"%p{k} {type_of(p)}" for k, p in enumerate(region.params))
                inner = _lines(list(region.outputs), f"body({head})", region.params)
                lines += [f"    {text}" for text in inner]
    lines.append("  return " + ", ".join(names[r] for r in roots))
    return lines


def verify(roots: Iterable[Node]) -> None:
    """Re-infers every Node of a Graph, and of those inside it, and compares; raises GraphError."""
    for n in toposort(roots):
        for region in n.arg[0].regions if n.op in JOINT and not n.arg[1] else ():
            verify(region.outputs)
        require(n.op not in LOOP_ONLY, n.op, "loop-level op in a Graph")
        if n.op in (Op.INPUT, Op.CONST):
            continue
        dtype, shape = infer(n.op, n.src, n.arg)
        require(
            dtype is n.dtype and shape == n.shape,
            n.op,
            f"stored {n.dtype} {n.shape}, inferred {dtype} {shape}",
        )
