"""Reductions of rows of a few elements: a row a lane, rows loaded as whole vectors and sorted into
columns, and stored the same way back."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft.codegen.llvm.target import host
from weft.inspection.explain.explain import compiled_behind

random = np.random.default_rng(0)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [2, 3, 5, 6, 7, 8, 10, 12, 16, 17])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("rows", [(4096,), (5001,), (7, 1999)], ids=str)
def test_rows_of_any_few_elements(columns: int, dtype: str, rows: tuple[int, ...]) -> None:
    x = (random.standard_normal((*rows, columns)) * 50).astype(dtype)
    t, exact = wf.tensor(x), x.astype(np.float64)
    assert np.allclose(t.sum(axis=-1).numpy(), exact.sum(axis=-1), rtol=1e-5, atol=1e-3)
    assert (t.max(axis=-1).numpy() == x.max(axis=-1)).all()
    assert (t.argmax(axis=-1).numpy() == x.argmax(axis=-1)).all()
    assert np.allclose(t.astype("float64").var(axis=-1).numpy(), exact.var(axis=-1))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [2, 3, 5, 6, 8, 10, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("rows", [(4096,), (5001,), (300, 14)], ids=str)
def test_rows_of_any_few_results(columns: int, dtype: str, rows: tuple[int, ...]) -> None:
    x = (random.standard_normal((*rows, columns)) * 50).astype(dtype)
    t = wf.tensor(x)
    top = t.max(axis=-1, keepdims=True)
    is_top, below = wf.realize(t == top, top - t)
    assert (is_top.numpy() == (x == x.max(axis=-1, keepdims=True))).all()
    assert (below.numpy() == x.max(axis=-1, keepdims=True) - x).all()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bool"])
@pytest.mark.parametrize("n", [1 << 14, 5001])
def test_columns_side_by_side_are_one_kernel(dtype: str, n: int) -> None:
    x, y = ((random.standard_normal(n) * 50).astype(dtype) for _ in range(2))
    a, b = wf.tensor(x), wf.tensor(y)
    both = wf.stack([a, wf.where(b > 0, a, b)], axis=1)
    assert len(wf.explain(both).kernels) == 1
    assert (both.numpy() == np.stack([x, np.where(y > 0, x, y)], axis=1)).all()
    again = both[:, 0] != both[:, 1]
    assert (again.numpy() == (both.numpy()[:, 0] != both.numpy()[:, 1])).all()


def test_windows_two_apart_that_overlap() -> None:
    x = random.standard_normal(10_003).astype(np.float32)
    t = wf.tensor(x)
    got = t[:-2:2] + 2 * t[1:-1:2] - t[2::2] * t[:-2:2]
    want = x[:-2:2] + 2 * x[1:-1:2] - x[2::2] * x[:-2:2]
    assert (got.numpy() == want).all()


@pytest.mark.slow
def test_pooled_places_are_stored_as_vectors() -> None:
    """Two neighbours of a window, a byte each: no byte is stored by itself."""
    images = wf.tensor(random.standard_normal((64, 6, 28, 28)).astype(np.float32))
    windows = images.reshape(64, 6, 14, 2, 14, 2)
    top = windows.max(axis=(3, 5), keepdims=True)
    found = compiled_behind("explain", [windows == top, top], (), {})
    assert found is not None
    (kernel,) = found.in_order()
    text = found.texts(kernel)["ll"]
    assert "masked.scatter" not in text and "store i8" not in text and "x i8> %" in text
    assert ((windows == top).numpy() == (windows.numpy() == top.numpy())).all()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [4, 7, 8, 11, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_parts_of_rows_that_lie_apart(columns: int, dtype: str) -> None:
    x = (random.standard_normal((5001, 40)) * 50).astype(dtype)
    part, t = x[:, 3 : 3 + columns], wf.tensor(x)[:, 3 : 3 + columns]
    assert np.allclose(t.sum(axis=1).numpy(), part.astype(np.float64).sum(axis=1), atol=1e-3)
    assert (t.max(axis=1).numpy() == part.max(axis=1)).all()


def test_parts_of_rows_are_read_where_they_are() -> None:
    x = random.standard_normal((5000, 8)).astype(np.float32)
    t = wf.tensor(x)
    assert np.allclose(t[:, 1:].sum(axis=1).numpy(), x[:, 1:].sum(axis=1), atol=1e-5)
    assert np.allclose(t[:, ::2].sum(axis=1).numpy(), x[:, ::2].sum(axis=1), atol=1e-5)
    assert (t[:, ::-1].argmax(axis=1).numpy() == x[:, ::-1].argmax(axis=1)).all()
    assert np.allclose(t[1:-1].sum(axis=1).numpy(), x[1:-1].sum(axis=1), atol=1e-5)
    y = random.standard_normal((5000, 7)).astype(np.float32)  # rows of another length end elsewhere
    assert np.allclose(
        (t[:, :7] * wf.tensor(y)).sum(axis=1).numpy(), (x[:, :7] * y).sum(axis=1), atol=1e-5
    )


@pytest.mark.skipif(host().vector_bits < 256, reason="few shuffles")
@pytest.mark.parametrize(("columns", "shuffles"), [(8, 24), (3, 6), (6, 18)])
def test_columns_share_vectors_and_halves(columns: int, shuffles: int) -> None:
    """Each vector is loaded once; of 8 columns, 3 steps of 8 shuffles halve vectors, of 3, two a
    column pick from three."""
    found = compiled_behind(
        "explain", [wf.tensor(np.zeros((65536, columns), np.float32)).sum(axis=1)], (), {}
    )
    assert found is not None
    (kernel,) = found.in_order()
    main = found.texts(kernel)["opt.ll"].split("phi i64")[1]  # the loop of whole vectors
    main = main[: main.index("br i1")]
    assert main.count("shufflevector") == shuffles and main.count("= load <") == columns
