"""Calls of the functions of linalg and fft, drawn by Hypothesis. In: a name. Out: (args, kwargs)
with NumPy arrays.

Matrices that are inverted or factored are far from singular, so that NumPy's values are the ones to
expect; factors are not unique and have tests of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import standard
import standard_cases
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from standard_cases import Call, axis_of
from standard_extensions import EXTENSIONS

ELSEWHERE = frozenset({"linalg.eigh", "linalg.qr", "linalg.svd"})
BATCHES = hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3)
LINES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=7)
NORMS = st.sampled_from(["backward", "ortho", "forward"])


def is_exact(x: Any) -> bool:
    return x.dtype.kind in "biu"


def table_of(name: str) -> tuple[str, str, str]:
    extension, function = name.split(".")
    return EXTENSIONS[extension][function]


def dtypes(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(standard.CATEGORIES[table_of(name)[1]])


def arrays(name: str, shape: Any) -> st.SearchStrategy[Any]:
    """Numbers from -4 to 4, whole for integers."""
    kind = np.dtype(name).kind
    if kind == "b":
        return hnp.arrays(name, shape)
    if kind in "iu":
        return hnp.arrays(name, shape, elements=st.integers(0 if kind == "u" else -4, 4))
    part = st.floats(-4, 4, width=32)
    whole = st.builds(complex, part, part) if kind == "c" else part
    return hnp.arrays(name, shape, elements=whole)


def regular(x: Any) -> Any:
    """Square matrices with a diagonal that outweighs the rest."""
    n = x.shape[-1]
    return (x + np.eye(n) * (8 * n + 1)).astype(x.dtype)


@st.composite
def square(draw: Any, name: str) -> Call:
    n = draw(st.integers(1, 4))
    return (regular(draw(arrays(draw(dtypes(name)), (*draw(BATCHES), n, n)))),), {}


@st.composite
def hermitian(draw: Any, name: str) -> Call:
    ((x,), _) = draw(square(name))
    return (((x + np.swapaxes(x, -1, -2).conj()) / 2).astype(x.dtype),), {}


@st.composite
def oblong(draw: Any, name: str) -> Call:
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    x = draw(arrays(draw(dtypes(name)), (*draw(BATCHES), m, n)))
    far = x + np.eye(m, n) * 40 if x.dtype.kind in "fc" else x
    return (far.astype(x.dtype),), {}


@st.composite
def power(draw: Any, name: str) -> Call:
    ((x,), _) = draw(square(name))
    return (x / x.shape[-1] / 8, draw(st.integers(-3, 4))), {}


@st.composite
def solve(draw: Any, name: str) -> Call:
    ((x,), _) = draw(square(name))
    n = x.shape[-1]
    shape = draw(st.sampled_from([(n,), (n, 2), (*x.shape[:-2], n, 3)]))
    return (x, draw(arrays(x.dtype.name, shape))), {}


@st.composite
def vectors(draw: Any, name: str, n: int | None = None) -> Call:
    kind = draw(dtypes(name))
    x, y = (draw(arrays(kind, (n or draw(st.integers(1, 5)),))) for _ in range(2))
    return (x, y), {}


@st.composite
def diagonals(draw: Any, name: str) -> Call:
    (args, _) = draw(oblong(name))
    return args, {"offset": draw(st.integers(-4, 4))}


@st.composite
def vector_norm(draw: Any, name: str) -> Call:
    x = draw(arrays(draw(dtypes(name)), draw(LINES)))
    orders = st.sampled_from([0, 1, 2, 3, 0.5, float("inf"), -float("inf")])
    return (x,), {
        "axis": draw(axis_of(x.ndim)),
        "ord": draw(orders),
        "keepdims": draw(st.booleans()),
    }


@st.composite
def matrix_norm(draw: Any, name: str) -> Call:
    (args, _) = draw(oblong(name))
    orders = ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]
    return args, {"ord": draw(st.sampled_from(orders)), "keepdims": draw(st.booleans())}


@st.composite
def transform(draw: Any, name: str) -> Call:
    x = draw(arrays(draw(dtypes(name)), draw(LINES)))
    axis = draw(axis_of(x.ndim))
    least = 2 if name.endswith((".irfft", ".hfft")) else 1
    n = draw(st.integers(least, 9) if x.shape[axis] < 2 else st.none() | st.integers(least, 9))
    return (x,), {"n": n, "axis": axis, "norm": draw(NORMS)}


@st.composite
def transform_of_several(draw: Any, name: str) -> Call:
    shape = hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=5)
    x = draw(arrays(draw(dtypes(name)), shape))
    axes = tuple(draw(st.permutations(range(x.ndim)))[: draw(st.integers(1, x.ndim))])
    extents = draw(st.none() | st.tuples(*[st.integers(2, 6)] * len(axes)))
    return (x,), {"s": extents, "axes": axes, "norm": draw(NORMS)}


@st.composite
def shift(draw: Any, name: str) -> Call:
    x = draw(arrays(draw(dtypes(name)), draw(LINES)))
    return (x,), {"axes": draw(st.none() | axis_of(x.ndim))}


@st.composite
def frequencies(draw: Any, name: str) -> Call:
    return (draw(st.integers(1, 40)),), {"d": draw(st.sampled_from([1.0, 0.25, 3.0]))}


Case = Callable[[str], st.SearchStrategy[Call]]
CASES: dict[str, Case] = {
    **dict.fromkeys(["linalg.det", "linalg.inv", "linalg.slogdet"], square),
    **dict.fromkeys(["linalg.cholesky", "linalg.eigvalsh"], hermitian),
    **dict.fromkeys(["linalg.matrix_rank", "linalg.pinv", "linalg.svdvals"], oblong),
    "linalg.matrix_transpose": oblong,
    **dict.fromkeys(["linalg.diagonal", "linalg.trace"], diagonals),
    "linalg.cross": lambda name: vectors(name, 3),
    "linalg.outer": vectors,
    "linalg.matrix_norm": matrix_norm,
    "linalg.matrix_power": power,
    "linalg.solve": solve,
    "linalg.vector_norm": vector_norm,
    **{
        f"linalg.{name}": lambda name: standard_cases.CASES[name.split(".")[1]]()
        for name in ("matmul", "tensordot", "vecdot")
    },
    **dict.fromkeys([f"fft.{name}" for name in ("fft", "ifft", "rfft", "irfft")], transform),
    **dict.fromkeys(["fft.hfft", "fft.ihfft"], transform),
    **{f"fft.{name}": transform_of_several for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **dict.fromkeys(["fft.fftshift", "fft.ifftshift"], shift),
    **dict.fromkeys(["fft.fftfreq", "fft.rfftfreq"], frequencies),
}


def calls(name: str) -> st.SearchStrategy[Call]:
    """Calls of the function of this name, such as `linalg.inv`."""
    return CASES[name](name)
