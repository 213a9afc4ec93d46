"""Calls of every function of the Array API standard, drawn by Hypothesis. In: a name. Out: (args,
kwargs) with NumPy arrays.

Only calls that the standard defines: dtypes that meet, axes that exist, shapes that broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import standard
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Call = tuple[tuple[Any, ...], dict[str, Any]]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FULL_SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)
SPECIALS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-40,
    5e-324,
    1e30,
    -1e300,
    3.14159,
)


def values(name: str) -> st.SearchStrategy[Any]:
    """Elements of a dtype, the special ones often; complex ones of moderate size, since for others
    the standard and NumPy differ (test_complex_numbers has special values)."""
    dtype = np.dtype(name)
    if dtype.kind == "c":
        parts = st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0]),
            st.integers(-512, 512).map(lambda n: n / 64),
        )
        return st.builds(complex, parts, parts)
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        edges = st.sampled_from([low, low + 1, max(low, -1), 0, 1, 2, high - 1, high])
        return st.one_of(st.integers(max(low, -9), 9), edges, st.integers(low, high))
    with np.errstate(over="ignore"):
        specials = [float(dtype.type(v)) for v in SPECIALS]
    return st.one_of(
        st.sampled_from(specials), st.floats(-8, 8, width=32), st.floats(width=dtype.itemsize * 8)
    )


def arrays(name: str, shape: Any = SHAPES) -> st.SearchStrategy[Any]:
    return hnp.arrays(np.dtype(name), shape, elements=values(name))


def dtypes(category: str = "any") -> st.SearchStrategy[str]:
    return st.sampled_from(standard.CATEGORIES[category])


def small(x: Any, below: int) -> Any:
    """The same array with its elements brought into 0 .. below - 1."""
    return np.asarray(x.astype(np.int64) % below, x.dtype)


def finite(x: Any) -> Any:
    """The same array with 2 for every infinity."""
    return np.where(np.isinf(x), np.asarray(2, x.dtype), x)


@st.composite
def one_operand(draw: Any, name: str) -> Call:
    return (draw(arrays(draw(st.sampled_from(standard.ONE_OPERAND[name][0])))),), {}


@st.composite
def two_operands(draw: Any, name: str) -> Call:
    """Two arrays whose dtypes and shapes meet, or one of them a Python number."""
    choices = standard.TWO_OPERANDS[name][0]
    a = draw(st.sampled_from(choices))
    b = draw(st.sampled_from([c for c in choices if standard.promoted(a, c)]))
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=4)
    ).input_shapes
    x, y = draw(arrays(a, shapes[0])), draw(arrays(b, shapes[1]))
    if name.endswith("shift"):
        y = small(y, 7)
    if name == "pow" and y.dtype.kind == "i":
        y = small(y, 9)
    if name == "pow" and "c" in (x.dtype.kind, y.dtype.kind):
        # powers of 0 are not NumPy's
        x = np.where(x == 0, np.asarray(1, x.dtype), x)
    if name == "divide" and "c" in (x.dtype.kind, y.dtype.kind):
        y = np.where(y == 0, np.asarray(1, y.dtype), y)
    if (
        name == "floor_divide"
        # of infinities the standard says otherwise than NumPy: test_elementwise_special has its
        # cases
    ):
        x, y = finite(x), finite(y)
    scalar = (
        draw(st.sampled_from(["neither", "neither", "x1", "x2"]))
        if name != "floor_divide"
        else "neither"
    )
    if scalar == "x1":
        return (draw(values(b)) if name != "pow" else draw(arrays(b, ())), y), {}
    if scalar == "x2" and not name.endswith("shift") and name != "pow":
        return (x, draw(values(a))), {}
    return (x, y), {}


def axis_of(ndim: int) -> st.SearchStrategy[int]:
    return st.integers(-ndim, ndim - 1)


def axes_of(ndim: int) -> st.SearchStrategy[Any]:
    """None, an axis, or several."""
    if not ndim:
        return st.sampled_from([None, ()])
    several = st.lists(axis_of(ndim), unique_by=lambda a: a % ndim, max_size=ndim).map(tuple)
    return st.one_of(st.none(), axis_of(ndim), several)


def reducing(
    category: str, *, empty: bool, **extra: st.SearchStrategy[Any]
) -> Callable[[], st.SearchStrategy[Call]]:
    """A reduction over axes; `empty`: has it a value over no elements."""

    @st.composite
    def call(draw: Any) -> Call:
        x = draw(arrays(draw(dtypes(category)), SHAPES if empty else FULL_SHAPES))
        keywords = {"axis": draw(axes_of(x.ndim)), "keepdims": draw(st.booleans())}
        return (x,), keywords | {k: draw(s) for k, s in extra.items()}

    return call


def along_axis(
    category: str, none: bool = False, shape: Any = FULL_SHAPES, **extra: Any
) -> Callable[[], st.SearchStrategy[Call]]:
    """A function along one axis of an array of at least one."""

    @st.composite
    def call(draw: Any) -> Call:
        x = draw(arrays(draw(dtypes(category)), shape))
        axis = draw(st.one_of(st.none(), axis_of(x.ndim)) if none else axis_of(x.ndim))
        return (x,), {"axis": axis} | {k: draw(s) for k, s in extra.items()}

    return call


@st.composite
def cumulative(draw: Any) -> Call:
    shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
    x = draw(arrays(draw(dtypes("numeric")), shapes))
    return (x,), {"axis": draw(axis_of(x.ndim)), "include_initial": draw(st.booleans())}


@st.composite
def diff(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes("numeric")), FULL_SHAPES))
    return (x,), {"axis": draw(axis_of(x.ndim)), "n": draw(st.integers(0, 3))}


@st.composite
def matmul(draw: Any) -> Call:
    name = draw(dtypes("integer or complex"))
    m, k, n = (draw(st.integers(0, 4)) for _ in range(3))
    batch = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=0, max_side=3)
    ).input_shapes
    left = draw(st.sampled_from([(k,), (*batch[0], m, k)]))
    right = draw(st.sampled_from([(k,), (*batch[1], k, n)]))
    return (draw(arrays(name, left)), draw(arrays(name, right))), {}


@st.composite
def tensordot(draw: Any) -> Call:
    name = draw(dtypes("integer or complex"))
    shared = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    left, right = (
        draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)) for _ in range(2)
    )
    x, y = draw(arrays(name, left + shared)), draw(arrays(name, shared + right))
    pairs = (tuple(range(len(left), x.ndim)), tuple(range(len(shared))))
    return (x, y), {"axes": draw(st.sampled_from([len(shared), pairs]))}


@st.composite
def vecdot(draw: Any) -> Call:
    name = draw(dtypes("integer or complex"))
    k = draw(st.integers(0, 4))
    batch = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=1, max_side=3)
    ).input_shapes
    return (draw(arrays(name, (*batch[0], k))), draw(arrays(name, (*batch[1], k)))), {}


@st.composite
def several(draw: Any, stacked: bool) -> Call:
    """Arrays for concat or stack."""
    shape = draw(FULL_SHAPES)
    axis = draw(axis_of(len(shape) + stacked))
    names = draw(
        st.sampled_from(
            [
                ["float32", "float64"],
                ["int8", "int32"],
                ["uint8"],
                ["bool"],
                ["int16", "uint16", "int64"],
                ["complex64", "float32", "complex128"],
            ]
        )
    )
    parts = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        extent = (
            shape
            if stacked
            else [
                *shape[: axis % len(shape)],
                draw(st.integers(0, 3)),
                *shape[axis % len(shape) + 1 :],
            ]
        )
        parts.append(draw(arrays(name, tuple(extent))))
    if not stacked and draw(st.booleans()):
        return (parts,), {"axis": None}
    return (parts,), {"axis": axis}


@st.composite
def broadcast_to(draw: Any) -> Call:
    shapes = draw(
        hnp.mutually_broadcastable_shapes(
            num_shapes=1, base_shape=draw(FULL_SHAPES), max_dims=4, max_side=4
        )
    )
    return (draw(arrays(draw(dtypes()), shapes.input_shapes[0])), shapes.result_shape), {}


@st.composite
def broadcast_arrays(draw: Any) -> Call:
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3)
    ).input_shapes
    return tuple(draw(arrays(draw(dtypes()), s)) for s in shapes), {}


@st.composite
def expand_dims(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    return (x,), {"axis": draw(axis_of(x.ndim + 1))}


@st.composite
def flip(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    return (x,), {"axis": draw(axes_of(x.ndim))}


@st.composite
def moveaxis(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes()), FULL_SHAPES))
    n = draw(st.integers(1, x.ndim))
    source, destination = (tuple(draw(st.permutations(range(x.ndim)))[:n]) for _ in range(2))
    return (x, source[0], destination[0]) if n == 1 else (x, source, destination), {}


@st.composite
def permute_dims(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    return (x, tuple(draw(st.permutations(range(x.ndim))))), {}


@st.composite
def repeat(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes()), FULL_SHAPES))
    axis = draw(st.one_of(st.none(), axis_of(x.ndim)))
    n = x.size if axis is None else x.shape[axis]
    counts = hnp.arrays(np.int64, (n,), elements=st.integers(0, 3))
    return (x, draw(st.one_of(st.integers(0, 3), counts))), {"axis": axis}


@st.composite
def reshape(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    whole = st.sampled_from(
        [(x.size,), (-1,) if x.size else (0,), (1, x.size), x.shape[::-1], (*x.shape, 1)]
    )
    return (x, draw(whole)), {}


@st.composite
def roll(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    if not x.ndim or draw(st.booleans()):
        return (x, draw(st.integers(-20, 20))), {"axis": None}
    axes = tuple(draw(st.lists(axis_of(x.ndim), min_size=1, max_size=3)))
    return (x, tuple(draw(st.integers(-9, 9)) for _ in axes)), {"axis": axes}


@st.composite
def squeeze(draw: Any) -> Call:
    x = draw(
        arrays(draw(dtypes()), hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=2))
    )
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    return (x, tuple(draw(st.lists(st.sampled_from(ones), unique=True))) if ones else ()), {}


@st.composite
def tile(draw: Any) -> Call:
    return (draw(arrays(draw(dtypes()))), tuple(draw(st.lists(st.integers(0, 3), max_size=4)))), {}


@st.composite
def unstack(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes()), FULL_SHAPES))
    return (x,), {"axis": draw(axis_of(x.ndim))}


@st.composite
def where(draw: Any) -> Call:
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3)
    ).input_shapes
    a = draw(dtypes())
    b = draw(st.sampled_from([c for c in standard.EVERY if standard.promoted(a, c)]))
    return (
        draw(arrays("bool", shapes[0])),
        draw(arrays(a, shapes[1])),
        draw(arrays(b, shapes[2])),
    ), {}


@st.composite
def searchsorted(draw: Any) -> Call:
    name = draw(dtypes("real"))
    numbers = values(name).filter(lambda v: v == v)
    x1 = draw(hnp.arrays(np.dtype(name), st.integers(0, 9), elements=numbers))
    x2 = draw(hnp.arrays(np.dtype(name), SHAPES, elements=numbers))
    side = draw(st.sampled_from(["left", "right"]))
    if draw(st.booleans()):
        return (x1, x2), {"side": side, "sorter": np.argsort(x1, kind="stable")}
    return (np.sort(x1), x2), {"side": side}


@st.composite
def take(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes()), FULL_SHAPES))
    axis = draw(axis_of(x.ndim))
    indices = hnp.arrays(np.int64, st.integers(0, 5), elements=axis_of(x.shape[axis]))
    return (x, draw(indices)), {"axis": axis}


@st.composite
def take_along_axis(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes()), FULL_SHAPES))
    axis = draw(axis_of(x.ndim))
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    return (x, draw(hnp.arrays(np.int64, tuple(shape), elements=axis_of(x.shape[axis])))), {
        "axis": axis
    }


@st.composite
def clip(draw: Any) -> Call:
    name = draw(dtypes("real"))
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3)
    )
    numbers = values(name).filter(lambda v: v == v)
    bounds = []
    for shape in shapes.input_shapes[1:]:
        bounds.append(
            draw(st.one_of(st.none(), numbers, hnp.arrays(np.dtype(name), shape, elements=numbers)))
        )
    x = draw(arrays(name, shapes.result_shape))
    return (x,), {"min": bounds[0], "max": bounds[1]}


@st.composite
def triangle(draw: Any) -> Call:
    x = draw(
        arrays(draw(dtypes()), hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    )
    return (x,), {"k": draw(st.integers(-6, 6))}


@st.composite
def eye(draw: Any) -> Call:
    rows, columns = draw(st.integers(0, 5)), draw(st.one_of(st.none(), st.integers(0, 5)))
    return (rows, columns), {"k": draw(st.integers(-7, 7)), "dtype": draw(dtypes("real"))}


@st.composite
def arange(draw: Any) -> Call:
    if draw(st.booleans()):
        start, stop = draw(st.integers(-50, 50)), draw(st.integers(-50, 50))
        step = draw(st.integers(-9, 9).filter(bool))
        return (start, stop, step), {
            "dtype": draw(st.sampled_from(["int8", "int32", "int64", "float32", "float64"]))
        }
    start, stop = draw(st.floats(-50, 50, width=32)) + 0.0, draw(st.floats(-50, 50, width=32))
    return (start, stop, draw(st.sampled_from([0.5, -0.25, 1.5, 3.0]))), {"dtype": "float64"}


@st.composite
def linspace(draw: Any) -> Call:
    numbers = st.one_of(st.integers(-100, 100), st.floats(-1e6, 1e6), values("complex128"))
    start, stop = draw(numbers), draw(numbers)
    keywords = {
        "num": draw(st.integers(0, 12)),
        "endpoint": draw(st.booleans()),
        "dtype": "complex128" if complex in (type(start), type(stop)) else "float64",
    }
    return (start, stop), keywords


@st.composite
def filled(draw: Any) -> Call:
    name = draw(dtypes())
    return (draw(SHAPES), draw(values(name))), {"dtype": name}


@st.composite
def like(draw: Any) -> Call:
    return (draw(arrays(draw(dtypes()))),), {"dtype": draw(st.one_of(st.none(), dtypes()))}


@st.composite
def full_like(draw: Any) -> Call:
    x = draw(arrays(draw(dtypes())))
    return (x, draw(values(x.dtype.name))), {}


@st.composite
def by_shape(draw: Any) -> Call:
    return (draw(SHAPES),), {"dtype": draw(dtypes())}


@st.composite
def meshgrid(draw: Any) -> Call:
    name = draw(dtypes("numeric"))
    vectors = draw(
        st.lists(arrays(name, st.integers(0, 4).map(lambda n: (n,))), min_size=1, max_size=3)
    )
    return tuple(vectors), {"indexing": draw(st.sampled_from(["xy", "ij"]))}


@st.composite
def astype(draw: Any) -> Call:
    x = draw(hnp.arrays(np.dtype(draw(dtypes())), SHAPES, elements=st.integers(0, 1)))
    targets = ("bool", *standard.COMPLEX) if x.dtype.kind == "c" else standard.EVERY
    return (x, draw(st.sampled_from(targets))), {}


CORRECTION = st.sampled_from([0.0, 1.0, 0.5])
CASES: dict[str, Callable[[], st.SearchStrategy[Call]]] = {
    "all": reducing("any", empty=True),
    "any": reducing("any", empty=True),
    "arange": arange,
    "argmax": along_axis("real", none=True, keepdims=st.booleans()),
    "argmin": along_axis("real", none=True, keepdims=st.booleans()),
    "argsort": along_axis("real"),
    "astype": astype,
    "broadcast_arrays": broadcast_arrays,
    "broadcast_to": broadcast_to,
    "clip": clip,
    "concat": lambda: several(False),
    "count_nonzero": reducing("any", empty=True),
    "cumulative_prod": cumulative,
    "cumulative_sum": cumulative,
    "diff": diff,
    "empty_like": like,
    "expand_dims": expand_dims,
    "eye": eye,
    "flip": flip,
    "full": filled,
    "full_like": full_like,
    "linspace": linspace,
    "matmul": matmul,
    "matrix_transpose": lambda: triangle().map(lambda call: (call[0], {})),
    "max": reducing("real", empty=False),
    "mean": reducing("inexact", empty=False),
    "meshgrid": meshgrid,
    "min": reducing("real", empty=False),
    "moveaxis": moveaxis,
    "nonzero": lambda: (
        dtypes().flatmap(lambda name: arrays(name, FULL_SHAPES)).map(lambda x: ((x,), {}))
    ),
    "ones": by_shape,
    "ones_like": like,
    "permute_dims": permute_dims,
    "prod": reducing("integer or complex", empty=True),
    "repeat": repeat,
    "reshape": reshape,
    "roll": roll,
    "searchsorted": searchsorted,
    "sort": along_axis("real"),
    "squeeze": squeeze,
    "stack": lambda: several(True),
    "std": reducing("floating", empty=False, correction=CORRECTION),
    "sum": reducing("integer or complex", empty=True),
    "take": take,
    "take_along_axis": take_along_axis,
    "tensordot": tensordot,
    "tile": tile,
    "tril": triangle,
    "triu": triangle,
    "unstack": unstack,
    "var": reducing("floating", empty=False, correction=CORRECTION),
    "vecdot": vecdot,
    "where": where,
    "zeros": by_shape,
    "zeros_like": like,
}
# what NumPy's answer does not settle or cannot give: looked at by tests of their own
_ELSEWHERE = (
    "asarray can_cast empty finfo from_dlpack iinfo isdtype result_type"
    " __array_namespace_info__ unique_all unique_counts unique_inverse unique_values"
)
ELSEWHERE = frozenset(_ELSEWHERE.split())


def calls(name: str) -> st.SearchStrategy[Call]:
    """Calls of the standard's function of this name."""
    if name in standard.ONE_OPERAND:
        return one_operand(name)
    return two_operands(name) if name in standard.TWO_OPERANDS else CASES[name]()
