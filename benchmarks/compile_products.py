"""How long a first product takes: products of distinct shapes and forms, one kernel each. Out: milliseconds, cold and warm.

    python benchmarks/compile_products.py [products]        default 60

Two processes compute the same products one after the other: the first starts with an empty cache folder (cold: it builds the
program and compiles its kernel), the second finds what the first left there (warm). Each prints the median and the 90th
percentile of milliseconds from the operands to the result, by the clock and by the processor time of the thread. What is
measured once a process is left out by a first product.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import weft as wf
from weft import options


def operands(seed: int) -> tuple[wf.Tensor, wf.Tensor, str]:
    """Two matrices, skinny or not, and the form of their product."""
    choose = random.Random(seed)
    sizes = [choose.choice((choose.randint(2, 12), choose.randint(13, 96), choose.randint(97, 300))) for _ in range(3)]
    (m, n, k), form = sizes, choose.choice(("nn", "nt", "tn", "tt"))
    left = (m, k) if form[0] == "n" else (k, m)
    right = (k, n) if form[1] == "n" else (n, k)
    a, b = (np.random.default_rng(seed).standard_normal(s).astype(np.float32) for s in (left, right))
    return wf.tensor(a), wf.tensor(b), form


def product(seed: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    a, b, form = operands(seed)
    started, used = time.perf_counter(), time.thread_time()
    wf.realize((a if form[0] == "n" else a.T) @ (b if form[1] == "n" else b.T))
    return time.perf_counter() - started, time.thread_time() - used


def measure(count: int) -> None:
    """Computes the products and prints what they took."""
    with options.override(num_threads=1):
        product(count)
        times = np.array([product(seed) for seed in range(count)]) * 1e3
    for name, column in zip(("clock", "processor"), times.T, strict=True):
        median, high = np.percentile(column, (50, 90))
        print(f"    {name:10s} median {median:6.2f} ms   90 % {high:6.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", nargs="?", type=int, default=60)
    parser.add_argument("--here", action="store_true", help="measure in this process, with the cache as it is")
    given = parser.parse_args()
    if given.here:
        measure(given.products)
        return
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm"):
            print(f"{state} cache, {given.products} products", flush=True)
            command = [sys.executable, __file__, str(given.products), "--here"]
            subprocess.run(command, env=os.environ | {"WEFT_CACHE_DIR": folder}, check=True)


if __name__ == "__main__":
    main()
