"""How long a first product takes: products of distinct shapes and forms, one kernel each. Out:
milliseconds, cold and warm.

    python benchmarks/compile_products.py [products]        default 60

Milliseconds a product are from the operands to the result, in two processes as cold_warm.py
describes: the first builds the program and compiles its kernel. What is measured once a process is
left out by a first product.
"""

from __future__ import annotations

import random

import numpy as np
import weft as wf
from cold_warm import Computation, main, measure
from weft import options


def operands(seed: int) -> tuple[wf.Tensor, wf.Tensor, str]:
    """Two matrices, skinny or not, and the form of their product."""
    choose = random.Random(seed)
    sizes = [
        choose.choice((choose.randint(2, 12), choose.randint(13, 96), choose.randint(97, 300)))
        for _ in range(3)
    ]
    (m, n, k), form = sizes, choose.choice(("nn", "nt", "tn", "tt"))
    left = (m, k) if form[0] == "n" else (k, m)
    right = (k, n) if form[1] == "n" else (n, k)
    a, b = (
        np.random.default_rng(seed).standard_normal(s).astype(np.float32) for s in (left, right)
    )
    return wf.tensor(a), wf.tensor(b), form


def product(seed: int) -> Computation:
    a, b, form = operands(seed)
    return lambda: wf.realize((a if form[0] == "n" else a.T) @ (b if form[1] == "n" else b.T))


def here(count: int) -> None:
    with options.override(num_threads=1):
        product(count)()  # what is measured once a process
        measure([product(seed) for seed in range(count)])


if __name__ == "__main__":
    main(__file__, __doc__, "products", 60, here)
