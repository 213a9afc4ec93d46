"""One product of every schedule, and convolutions, against float64, on the target of the
environment. Run as a script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import weft as wf
from weft import options

PRODUCTS = {
    "packed": ("nn", 70, 90, 60),
    "packed by squares": ("nt", 100, 100, 100),
    "packed by tiles": ("tt", 65, 130, 70),
    "packed, long k": ("tn", 30, 50, 1500),
    "stream": ("nn", 5, 2000, 600),
    "stream, packed rows": ("nn", 40, 2400, 500),
    "stream, stored across": ("tt", 300, 4, 70),
    "dot": ("nt", 4, 100, 300),
    "dot, packed rows": ("nn", 500, 5, 150),
    "dot in blocks of k": ("nt", 8, 60, 3000),
    "outer": ("nn", 70, 120, 3),
    "outer, packed lanes": ("nt", 101, 67, 5),
    "columns": ("nn", 1, 300, 400),
    "rows": ("nt", 1, 300, 400),
    "tiny": ("nn", 5, 6, 7),
}
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "windows": ((4, 3, 20, 20), (8, 3, 3, 3), {"padding": 1}),
    "strided": ((2, 16, 15, 17), (24, 16, 3, 3), {"stride": 2, "padding": 1}),
    "one by one": ((2, 20, 9, 9), (33, 20, 1, 1), {}),
}
TOLERANCE = {"float32": 1e-7, "float64": 2e-16, "float16": 6e-4}


def graphs(dtype: str) -> Iterator[tuple[str, Callable[[], wf.Tensor], Any, int]]:
    """(name, graph, its value in float64, steps of k)."""
    rng = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(dtype)

    for name, (form, m, n, k) in PRODUCTS.items():
        a = array(m, k) if form[0] == "n" else array(k, m).T
        b = array(k, n) if form[1] == "n" else array(n, k).T
        x, y = (
            wf.tensor(a.T).T if form[0] == "t" else wf.tensor(a),
            wf.tensor(b.T).T if form[1] == "t" else wf.tensor(b),
        )
        yield name, lambda x=x, y=y: x @ y, a.astype("d") @ b.astype("d"), k
    if dtype == "float16":
        return
    for name, (image, kernel, how) in CONVOLUTIONS.items():
        x, w = wf.tensor(array(*image)), wf.tensor(array(*kernel))
        wide = wf.nn.functional.conv2d(x.astype("float64"), w.astype("float64"), None, **how)
        yield (
            name,
            lambda x=x, w=w, how=how: wf.nn.functional.conv2d(x, w, None, **how),
            wide,
            int(np.prod(kernel[1:])),
        )


def main(*dtypes: str) -> None:
    """Checks all of them on one thread and on three."""
    for dtype in dtypes:
        unit = TOLERANCE[dtype]
        for name, graph, value, k in graphs(dtype):
            results = []
            for threads in (1, 3):
                with options.override(num_threads=threads):
                    results.append(graph().numpy())
            with options.override(interpret=isinstance(value, wf.Tensor)):
                want = value.numpy() if isinstance(value, wf.Tensor) else value
            error = np.linalg.norm(results[0] - want) / np.linalg.norm(want)
            assert error <= unit * np.sqrt(k), (name, dtype, error)
            assert all(r.tobytes() == results[0].tobytes() for r in results), (name, dtype)


if __name__ == "__main__":
    main(*(sys.argv[1:] or TOLERANCE))
