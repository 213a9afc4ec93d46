"""How long a tiny graph takes, as in a test suite: distinct graphs of 1 to 5 operations on at most 10 elements.

    python benchmarks/tiny_graphs.py [graphs]        default 400

Two processes run the same graphs one after the other: the first starts with an empty cache folder (cold), the second with
what the first left there (warm). Each prints the median and the 90th percentile of milliseconds a graph, from the first
operation to the NumPy array, by the clock and by the processor time of the thread; the latter tells what a busy machine hides.
What is measured once a process (the import, starting LLVM) is left out by a first graph of another kind.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import weft as wf

FLOATS, INTS = ("float32", "float64"), ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHAPES = ((), (1,), (3,), (10,), (2, 5), (5, 2), (1, 7), (2, 2, 2), (3, 1, 3))
_FLOAT_MAPS = "exp expm1 log log1p sqrt sin cos tan asin atan sinh cosh tanh asinh sigmoid erf floor ceil round abs neg square"
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
            return pick(FLOAT_MAPS if is_float else INT_MAPS if x.dtype.kind == "i" else ANY_MAPS)(x)
        if kind < 0.75:
            other = y if y.shape == x.shape and y.dtype is x.dtype else constant
            return pick(FLOAT_BINARY if is_float else INT_BINARY)(x, other)
        if x.ndim and kind < 0.9:
            return pick(REDUCTIONS)(x, axis=int(number * 7) % x.ndim)
        return x.T if x.ndim == 2 else x.reshape(-1) if kind < 0.95 else x.astype("float32" if number < 0.5 else "int32")

    return apply


def measure(count: int) -> None:
    """Runs the graphs and prints what they took."""
    wf.arange(3).numpy()
    clock, cpu = [], []
    for seed in range(count):
        run = graph(seed)
        started, used = time.perf_counter(), time.thread_time()
        run()
        cpu.append(time.thread_time() - used)
        clock.append(time.perf_counter() - started)
    for name, seconds in (("clock", clock), ("processor", cpu)):
        median, high = np.percentile(np.array(seconds) * 1e3, (50, 90))
        print(f"    {name:10s} median {median:6.2f} ms   90 % {high:6.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="?", type=int, default=400)
    parser.add_argument("--here", action="store_true", help="measure in this process, with the cache as it is")
    given = parser.parse_args()
    if given.here:
        measure(given.graphs)
        return
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm"):
            print(f"{state} cache, {given.graphs} graphs", flush=True)
            command = [sys.executable, __file__, str(given.graphs), "--here"]
            subprocess.run(command, env=os.environ | {"WEFT_CACHE_DIR": folder}, check=True)


if __name__ == "__main__":
    main()
