"""How long a tiny graph takes, as in a test suite: distinct graphs of 1 to 5 operations on at most
10 elements.

    python benchmarks/tiny_graphs.py [graphs]        default 400

Milliseconds a graph are from the first operation to the NumPy array, in two processes as
cold_warm.py describes. What is measured once a process is left out by a first graph of another
kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import weft as wf
from cold_warm import main, measure

FLOATS, INTS = (
    ("float32", "float64"),
    ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
SHAPES = ((), (1,), (3,), (10,), (2, 5), (5, 2), (1, 7), (2, 2, 2), (3, 1, 3))
_FLOAT_MAPS = (
    "exp expm1 log log1p sqrt sin cos tan asin atan sinh cosh tanh asinh sigmoid erf floor ceil"
    " round abs neg square"
)
_BINARY = "add subtract multiply maximum minimum less equal not_equal greater_equal"
FLOAT_MAPS = [*_FLOAT_MAPS.split(), "reciprocal", "sign", "relu", "isnan", "isfinite"]
ANY_MAPS = ["abs", "neg", "square", "sign", "positive"]
INT_MAPS = [*ANY_MAPS, "bitwise_invert"]
BINARY = _BINARY.split()
FLOAT_BINARY = [*BINARY, "divide", "pow", "atan2", "hypot", "remainder", "floor_divide"]
INT_BINARY = [*BINARY, "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder"]
REDUCTIONS = ["sum", "max", "min", "prod", "any", "all", "argmax"]


def graph(seed: int) -> Callable[[], Any]:
    """The graph of this seed: a function that builds it and computes it."""
    choose = random.Random(seed)
    shape, dtype = choose.choice(SHAPES), choose.choice(FLOATS * 3 + INTS)
    values = np.random.default_rng(seed).uniform(0.1, 4, (2, *shape)).astype(dtype)
    steps = [step(choose) for _ in range(choose.randint(1, 5))]

    def run() -> Any:
        x, y = wf.tensor(values[0]), wf.tensor(values[1])
        for apply in steps:
            x = apply(x, y)
        return x.numpy()

    return run


def step(choose: random.Random) -> Callable[[Any, Any], Any]:
    """One operation, chosen by the dtype that it meets."""
    kind, number, constant = choose.random(), choose.random(), choose.choice((1, 2, 3))

    def pick(names: list[str]) -> Any:
        return getattr(wf, names[int(number * len(names))])

    def apply(x: Any, y: Any) -> Any:
        is_float = x.dtype.is_float
        if x.dtype.kind == "b":
            return wf.where(x, constant, 0)
        if kind < 0.4:
            return pick(FLOAT_MAPS if is_float else INT_MAPS if x.dtype.kind == "i" else ANY_MAPS)(
                x
            )
        if kind < 0.75:
            other = y if y.shape == x.shape and y.dtype is x.dtype else constant
            return pick(FLOAT_BINARY if is_float else INT_BINARY)(x, other)
        if x.ndim and kind < 0.9:
            return pick(REDUCTIONS)(x, axis=int(number * 7) % x.ndim)
        return (
            x.T
            if x.ndim == 2
            else x.reshape(-1)
            if kind < 0.95
            else x.astype("float32" if number < 0.5 else "int32")
        )

    return apply


def here(count: int) -> None:
    wf.arange(3).numpy()  # what is measured once a process: the import, starting LLVM
    measure(graph(seed) for seed in range(count))


if __name__ == "__main__":
    main(__file__, __doc__, "graphs", 400, here)
