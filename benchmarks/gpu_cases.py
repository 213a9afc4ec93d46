"""The kernels of benchmarks/gpu.py. In: a random generator. Out: inputs, what is computed of them,
what that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf, prod
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpu_systems import Run, System

Array = np.ndarray
M = 1 << 20


@dataclass(frozen=True)
class Case:
    """`maths` of a namespace of operations and of the inputs; `cut`: which inputs have rows that
    alone decide the result's."""

    group: str
    name: str
    maths: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    cost: float  # bytes that must be moved, or operations of floats
    cut: Sequence[int] = ()
    axes: int = 1  # of rows
    dtype: str = "float32"
    precision: str = "float32"
    tolerance: float = 1e-5  # of the largest element
    without: Sequence[str] = ()  # systems that have nothing to show here

    def prepare(self) -> Prepared:
        return Prepared(self)

    def inputs(self, rng: np.random.Generator) -> list[Array]:
        return [rng.standard_normal(shape, dtype=np.float32) for shape in self.shapes]


def e1(o: Any, a: Any, b: Any, c: Any) -> Any:
    """A chain of cheap operations."""
    return o.tanh(a * b + c) * o.sigmoid(a) - o.relu(b) / (1.0 + o.abs(c))


def memory_cases(small: bool) -> list[Case]:
    """Those that a perfect kernel does as fast as memory can be read and written: bytes."""
    sizes = [M // 16] if small else [16 * M, 64 * M]
    rows = [(64, 256), (16, 2048)] if small else [(65536, 1024), (16384, 4096), (4096, 16384)]
    square = (128, 256) if small else (8192, 8192)
    read, no_cupy = 4 * square[0] * square[1], ("cupy",)
    chains = [Case("memory", f"E1, {n} elements", e1, [(n,)] * 3, 16 * n, (0, 1, 2)) for n in sizes]
    softmax = [
        Case(
            "memory",
            f"softmax, {s}",
            lambda o, x: o.softmax(x),
            [s],
            8 * prod(s),
            (0,),
            without=no_cupy,
        )
        for s in rows
    ]
    norms = [
        Case(
            "memory",
            f"layer norm, {s}",
            lambda o, *x: o.layer_norm(*x),
            [s, s[1:], s[1:]],
            8 * prod(s),
            (0,),
            without=no_cupy,
        )
        for s in rows
    ]
    sums = [
        Case(
            "memory",
            f"sum {what}, {square}",
            lambda o, x, axis=axis: o.sum(x, axis),
            [square],
            read,
            cut,
        )
        for what, axis, cut in [("of all", None, ()), ("of rows", 1, (0,)), ("of columns", 0, ())]
    ]
    moments = Case(
        "memory", f"mean and variance of rows, {square}", lambda o, x: o.mean_var(x), [square], read
    )
    return [*chains, *softmax, *norms, *sums, moments]


PRODUCTS: dict[str, dict[str, Any]] = {
    "float32": {},
    "TF32": {"precision": "tf32", "tolerance": 2e-3},
    "bfloat16": {"dtype": "bfloat16", "tolerance": 1e-2},
}


def product_cases(small: bool) -> list[Case]:
    """Matrix products beside cuBLAS: operations."""
    cases = []
    for n in [64] if small else [1024, 2048, 4096, 8192]:
        for name, how in PRODUCTS.items():
            without = ("torch.compile", "cupy") if "dtype" in how else ("torch.compile",)
            maths = lambda o, a, b: o.matmul(a, b)  # noqa: E731
            cases.append(
                Case(
                    "products",
                    f"{name}, {n}",
                    maths,
                    [(n, n)] * 2,
                    2 * n**3,
                    (0,),
                    without=without,
                    **how,
                )
            )
    m, k, n = (16, 32, 64) if small else (4096, 1024, 4096)
    for name, how in PRODUCTS.items():
        shapes = [(m, k), (n, k), (n,)]
        title = f"{name}, gelu(linear), {m} x {k} x {n}"
        cases.append(
            Case(
                "products",
                title,
                lambda o, *x: o.linear_gelu(*x),
                shapes,
                2 * m * n * k,
                (0,),
                without=("cupy",),
                **how,
            )
        )
    return cases


def attention_cases(small: bool) -> list[Case]:
    """Attention of (batch, heads, places, features) beside torch's own: operations, half of them
    where later keys are masked."""
    sizes = (
        [(1, 2, 32, 16)] if small else [(8, 16, 1024, 64), (4, 16, 4096, 64), (2, 16, 4096, 128)]
    )
    return [
        _attention_case(size, causal, how)
        for size in sizes
        for how in ("float32", "bfloat16")
        for causal in (False, True)
    ]


def _attention_case(size: tuple[int, ...], causal: bool, how: str) -> Case:
    batch, heads, places, features = size
    cost = 4 * batch * heads * places**2 * features / (2 if causal else 1)
    name = f"{how}, {size}{', causal' if causal else ''}"
    settings = {"axes": 2, "without": ("torch.compile", "cupy")} | (
        {"tolerance": 2e-5} if how == "float32" else PRODUCTS[how]
    )
    return Case(
        "attention",
        name,
        lambda o, *x: o.attention(*x, causal),
        [size] * 3,
        cost,
        (0, 1, 2),
        **settings,
    )


CASES = {"memory": memory_cases, "products": product_cases, "attention": attention_cases}


# ---------------------------------------------------------------- the reference


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(x: Array, w: Array, b: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0)))


def _attention(q: Array, k: Array, v: Array, causal: bool) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return _softmax(scores) @ v


NUMPY = SimpleNamespace(
    tanh=np.tanh,
    sigmoid=lambda x: 1.0 / (1.0 + np.exp(-x)),
    relu=lambda x: np.maximum(x, 0.0),
    abs=np.abs,
    sum=lambda x, axis: x.sum(axis),
    mean_var=lambda x: np.stack([x.mean(-1), x.var(-1)]),
    softmax=_softmax,
    layer_norm=_layer_norm,
    matmul=np.matmul,
    linear_gelu=lambda x, w, b: _gelu(x @ w.T + b),
    attention=_attention,
)
CHECKED = 8  # rows, or elements of a long vector, that are computed in float64


class Prepared:
    """The inputs of a case, and what part of their result is in float64."""

    def __init__(self, case: Case) -> None:
        self.case, self.inputs = case, case.inputs(np.random.default_rng(0))
        self.part = (slice(CHECKED if case.axes == 1 else 1),) * (case.axes if case.cut else 0)
        self.expected = self._reference(lambda x: x)
        self.scale = np.abs(self._reference(np.abs)).max()  # of the terms, which sums may cancel

    def _reference(self, of: Callable[[Array], Array]) -> Array:
        given = [
            of((x[self.part] if i in self.case.cut else x).astype(np.float64))
            for i, x in enumerate(self.inputs)
        ]
        return np.asarray(self.case.maths(NUMPY, *given))

    def start(self, system: System) -> Run:
        """One call, compiled and checked. Raises ArithmeticError."""
        case = self.case
        system.precision(case.precision)
        given = [system.put(x, case.dtype if case.dtype != "float32" else "") for x in self.inputs]
        f = system.compiled(lambda *xs: case.maths(system.ops, *xs))
        worst = float(np.abs(system.get(f(*given))[self.part] - self.expected).max() / self.scale)
        if not worst <= case.tolerance:
            raise ArithmeticError(
                f"off by {worst:.1e} of the largest element, {case.tolerance:.0e} is allowed"
            )
        return lambda: f(*given)
