"""Products of matrices of any shape, form, view and dtype against float64: errors, schedules, the
same bits on any threads."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from weft import options
from weft.codegen.llvm.target import host, named
from weft.inspection.explain import build
from weft.inspection.explain.explain import compiled_behind
from weft.runtime import processor

Array = np.ndarray[Any, Any]
FORMS = ("nn", "nt", "tn", "tt")
FLOATS = {
    "float32": 1e-7,
    "float64": 2e-16,
    "float16": 6e-4,
    "bfloat16": 5e-3,
}  # relative error of a sum of one product
INTS = ("int32", "int64", "uint8", "bool")
FORCED: dict[str, Any] = {"serial_threshold": 0, "min_chunks": 3}  # every kernel meets the pool
extents = st.integers(1, 70)


def drawn(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    if dtype in FLOATS:
        return rng.standard_normal(shape).astype("float32" if dtype == "bfloat16" else dtype)
    return rng.integers(0, 2 if dtype == "bool" else 200, shape).astype(dtype)


def as_tensor(values: Array, dtype: str) -> tuple[wf.Tensor, Array]:
    """The Tensor of a dtype, and the values that it holds."""
    t = wf.tensor(values)
    if dtype != "bfloat16":
        return t, values
    t = t.astype("bfloat16")
    return t, t.astype("float32").numpy()


def wide(values: Array) -> Array:
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def same_on_threads(build: Any, **opts: Any) -> Array:
    """The result of a graph, whose bits must not depend on the number of threads."""
    results = []
    for threads in (1, 2, 3):
        with options.override(num_threads=threads, **opts):
            got = build()
            results.append(
                got.astype("float32").numpy() if got.dtype.name == "bfloat16" else got.numpy()
            )
    for other in results[1:]:
        assert other.tobytes() == results[0].tobytes()
    return results[0]


def assert_product(got: Array, want: Array, size: float, k: int, dtype: str) -> None:
    """Frobenius error against the norm of the result, or `size`, its expected norm where terms
    cancel."""
    assert got.shape == want.shape
    if dtype not in FLOATS:
        np.testing.assert_array_equal(got, want)
        return
    error = np.linalg.norm((got.astype(np.float64) - want).ravel())
    assert error <= FLOATS[dtype] * np.sqrt(k) * max(np.linalg.norm(want.ravel()), size), (
        error,
        size,
    )


def expected_size(a: Array, b: Array) -> float:
    """The norm of a product whose terms have random signs."""
    if a.dtype.kind != "f":
        return 0.0
    return float(np.linalg.norm((np.abs(a) @ np.abs(b)).ravel()) / np.sqrt(a.shape[-1]))


# ---------------------------------------------------------------- forms


def operand(
    rows: int,
    columns: int,
    batch: tuple[int, ...],
    form: str,
    view: str,
    dtype: str,
    rng: np.random.Generator,
) -> Any:
    """A (batch, rows, columns) operand as a view of memory, and what it holds."""
    shape = (*batch, columns, rows) if form == "t" else (*batch, rows, columns)
    if view == "step":
        shape = (*shape[:-1], 2 * shape[-1] + 1)
    elif view == "part":
        shape = (*shape[:-2], shape[-2] + 3, shape[-1] + 2)
    elif view == "expand":
        shape = (*shape[:-2], 1, shape[-1])
    t, values = as_tensor(drawn(shape, dtype, rng), dtype)
    if view == "step":
        t, values = t[..., 1::2], values[..., 1::2]
    elif view == "part":
        t, values = t[..., 2:-1, 1:-1], values[..., 2:-1, 1:-1]
    elif view == "flip":
        t, values = t[..., ::-1, :], values[..., ::-1, :]
    elif view == "expand":
        full = (*shape[:-2], rows if form == "n" else columns, shape[-1])
        t, values = wf.broadcast_to(t, full), np.broadcast_to(values, full)
    return (t.mT, values.swapaxes(-1, -2)) if form == "t" else (t, values)


VIEWS = st.sampled_from(("plain", "plain", "step", "part", "flip", "expand"))
BATCHES = st.sampled_from(
    (((), ()), ((), ()), ((3,), (3,)), ((2,), ()), ((), (2,)), ((2, 1), (3,)), ((1,), (4,)))
)


@examples(80, quick=6)
@given(st.data())
def test_products_of_any_shape_and_view(data: DataObject) -> None:
    m, n, k = (data.draw(extents, label=name) for name in "mnk")
    form, dtype = (
        data.draw(st.sampled_from(FORMS)),
        data.draw(st.sampled_from((*FLOATS, "float32", "float32", *INTS))),
    )
    batches, views = data.draw(BATCHES), (data.draw(VIEWS), data.draw(VIEWS))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    a, left = operand(m, k, batches[0], form[0], views[0], dtype, rng)
    b, right = operand(k, n, batches[1], form[1], views[1], dtype, rng)
    forced = FORCED if data.draw(st.booleans()) else {}
    got = same_on_threads(lambda: a @ b, **forced)
    left, right = wide(left), wide(right)
    assert_product(got, left @ right, expected_size(left, right), k, dtype)


@examples(40, quick=4)
@given(st.data())
def test_products_with_maps_before_and_after(data: DataObject) -> None:
    m, n, k = (data.draw(extents, label=name) for name in "mnk")
    form, dtype = (
        data.draw(st.sampled_from(FORMS)),
        data.draw(st.sampled_from(("float32", "float64"))),
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    a, left = operand(m, k, (), form[0], "plain", dtype, rng)
    b, right = operand(k, n, (), form[1], "plain", dtype, rng)
    bias, added = as_tensor(drawn((n,), dtype, rng), dtype)
    rest, residual = as_tensor(drawn((m, n), dtype, rng), dtype)
    before, after = (
        data.draw(st.booleans()),
        data.draw(st.sampled_from(("bias", "relu", "residual", "two outputs"))),
    )

    def build() -> wf.Tensor:
        y = (a.relu() if before else a) @ (b * 2 if before else b)
        if after == "two outputs":
            return wf.concat([y + bias, y.relu()])
        return {"bias": y + bias, "relu": (y + bias).relu(), "residual": rest - y}[after]

    left, right = wide(left), wide(right)
    if before:
        left, right = np.maximum(left, 0), right * 2
    y = left @ right
    ends = {
        "bias": lambda: y + added,
        "relu": lambda: np.maximum(y + added, 0),
        "residual": lambda: residual - y,
    }
    want = (
        np.concatenate([y + added, np.maximum(y, 0)]) if after == "two outputs" else ends[after]()
    )
    got = same_on_threads(build, **(FORCED if data.draw(st.booleans()) else {}))
    assert_product(
        got, want, expected_size(left, right) + float(np.linalg.norm(added)), k + 1, dtype
    )


EINSUMS = (
    "ij,jk->ik",
    "ij,kj->ki",
    "ji,jk->ik",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "bij,jk->bik",
    "ij,bjk->bki",
    "bij,bjk->ikb",
    "ijk,jkl->il",
    "ijk,kjl->li",
    "ijk,ilk->jl",
    "bhqd,bhkd->bhqk",
    "bqhd,bkhd->bhqk",
    "ij,ik->jk",
    "ijl,ikl->jk",
    "abi,abj->aij",
)


@pytest.mark.slow
@examples(60, quick=6)
@given(st.data())
def test_einsums(data: DataObject) -> None:
    how, dtype = (
        data.draw(st.sampled_from(EINSUMS)),
        data.draw(st.sampled_from(("float32", "float64", "int32"))),
    )
    inputs, output = how.split("->")
    sizes = {c: data.draw(st.integers(1, 24), label=c) for c in sorted(set(how) - set(",->"))}
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    arrays = [drawn(tuple(sizes[c] for c in s), dtype, rng) for s in inputs.split(",")]
    got = same_on_threads(lambda: wf.einsum(how, *map(wf.tensor, arrays)))
    want = np.einsum(how, *map(wide, arrays))
    k = int(np.prod([sizes[c] for c in sizes if c not in output]))
    size = np.linalg.norm(np.einsum(how, *(np.abs(wide(a)) for a in arrays)).ravel()) / np.sqrt(k)
    assert_product(got, want, float(size), k, dtype)


# ---------------------------------------------------------------- deterministic cases

LONG: list[Any] = [
    (1, 7, 5000),
    (2, 3, 5000),
    (5, 40, 5000),
    (40, 5, 5000),
    (13, 200, 5000),
    (64, 64, 5000),
]
LONG += [*rarely((33, 130, 20000)), (6, 50, 9001)]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", LONG, ids=str)
def test_error_of_long_sums(shape: tuple[int, int, int], form: str) -> None:
    m, n, k = shape
    rng = np.random.default_rng(m)
    a, left = operand(m, k, (), form[0], "plain", "float32", rng)
    b, right = operand(k, n, (), form[1], "plain", "float32", rng)
    got = same_on_threads(lambda: a @ b)
    want = wide(left) @ wide(right)
    assert np.linalg.norm(got - want) <= np.sqrt(k) * 1e-7 * np.linalg.norm(want)


SCHEDULES = {
    "packed": [("nn", 70, 90, 60), ("nt", 100, 100, 100), ("tn", 64, 64, 64), ("tt", 65, 130, 70)],
    "stream": [
        ("nn", 5, 2000, 600),
        ("nn", 13, 5000, 240),
        ("nn", 40, 2400, 500),
        ("tt", 300, 4, 70),
        ("tn", 800, 9, 200),
    ],
    "dot": [
        ("nt", 4, 100, 300),
        ("nt", 13, 130, 257),
        ("nn", 500, 5, 150),
        ("tt", 7, 90, 200),
        ("nt", 8, 60, 3000),
    ],
    "outer": [("nn", 70, 120, 3), ("nt", 101, 67, 5), ("tt", 64, 1000, 2), ("tn", 90, 90, 12)],
}
CASES = [(name, *case) for name, cases in SCHEDULES.items() for case in cases]


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(("schedule", "form", "m", "n", "k"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32"])
def test_every_schedule(schedule: str, form: str, m: int, n: int, k: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    a, left = operand(m, k, (), form[0], "plain", dtype, rng)
    b, right = operand(k, n, (), form[1], "plain", dtype, rng)
    if dtype == "float32" and options.current().target == "host":
        (kernel,) = wf.explain(a @ b).kernels
        assert kernel.schedule.split()[0] == schedule
    for before in (False, True):  # a value that must be computed is packed
        got = same_on_threads(lambda before=before: (-a if before else a) @ b)
        want = (-wide(left) if before else wide(left)) @ wide(right)
        assert_product(got, want, expected_size(wide(left), wide(right)), k, dtype)


@pytest.mark.slow
@pytest.mark.thinned
@pytest.mark.parametrize(("form", "n"), [("nn", 100), ("nt", 64)])
@pytest.mark.parametrize("ways", [8, 12])
def test_rows_a_page_apart_leave_room_in_their_cache_set(
    ways: int, form: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, twelve of them push each other out of a set of eight lines."""
    rng = np.random.default_rng(n)
    a, left = operand(60, 1024, (), "n", "plain", "float32", rng)
    b, right = operand(1024, n, (), form[1], "plain", "float32", rng)
    with options.override(target="host"):
        monkeypatch.setattr(processor, "host", lambda: replace(host(), l1=ways << 12))
        (kernel,) = wf.explain(a @ b).kernels
        found = re.search(r"tiles (\d+)x.*rows read in place", kernel.schedule)
        assert found and int(found[1]) <= (6 if ways == 8 else 12)
        got = same_on_threads(lambda: a @ b)
    assert_product(got, wide(left) @ wide(right), 0.0, 1024, "float32")


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("form", "m", "n", "k", "how"),
    [
        ("tn", 384, 1536, 3072, "packed"), ("tn", 384, 1408, 3072, "read in place"),
        ("nn", 3072, 1536, 384, "read in place"),
        ("nn", 384, 2560, 600, "packed"), ("nn", 64, 1536, 3072, "read in place"),
        ("tn", 384, 4608, 512, "packed"),
    ],
)  # fmt: skip
def test_a_panel_in_place_fits_the_cache_sets_that_its_pitch_reaches(
    form: str, m: int, n: int, k: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 KB of every 6 KB can be in half of the level-2 cache: 512 lines of k fill that, 384 do not;
    few rows pay for no copy."""
    a, b = wf.realize(wf.zeros((k, m)).T if form[0] == "t" else wf.zeros((m, k)), wf.zeros((k, n)))
    monkeypatch.setattr(
        build, "_figures", lambda _: None
    )  # the host may have no AVX-512: nothing runs from here on
    with options.override(target="host"):
        monkeypatch.setattr(
            processor, "host", lambda: replace(named("avx512"), l1=1 << 15, l2=1 << 20)
        )
        (kernel,) = wf.explain(a @ b).kernels
    assert re.search(rf"blocks of \d+ lanes {how} \(", kernel.schedule), kernel.schedule


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("form", "m", "n", "k"), [("tn", 100, 1536, 1030), ("nn", 130, 512, 700)])
def test_lanes_copied_for_their_pitch(form: str, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    a, left = operand(m, k, (), form[0], "plain", "float32", rng)
    b, right = operand(k, n, (), form[1], "plain", "float32", rng)
    assert_product(same_on_threads(lambda: a @ b), wide(left) @ wide(right), 0.0, k, "float32")


@pytest.mark.slow
@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("form", "m", "n", "k"),
    [
        ("nn", 5, 1030, 90), ("nn", 40, 530, 83), ("tt", 700, 4, 91), ("nt", 8, 101, 3001),
        ("nt", 13, 67, 260),
        ("nn", 99, 3, 90), ("nn", 100, 130, 60), ("nt", 77, 90, 61), ("tn", 70, 65, 1030),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_matrices_beyond_the_caches(
    form: str, m: int, n: int, k: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are asked for ahead of their use."""
    rng = np.random.default_rng(k)
    a, left = operand(m, k, (), form[0], "plain", dtype, rng)
    b, right = operand(k, n, (), form[1], "plain", dtype, rng)
    with options.override(target="host"):
        monkeypatch.setattr(processor, "host", lambda: replace(host(), l2=1 << 10, l3=1 << 10))
        if dtype == "float32":
            (kernel,) = wf.explain(a @ b).kernels
            assert "asked for ahead" in kernel.schedule
        got = same_on_threads(lambda: a @ b)
    want = wide(left) @ wide(right)
    assert_product(got, want, expected_size(wide(left), wide(right)), k, dtype)


@pytest.mark.slow
def test_panels_are_prefetched_where_no_cache_holds_the_factor() -> None:
    def prefetched(n: int) -> int:
        x, y = wf.zeros(n, n).realize(), wf.zeros(n, n).realize()
        found = compiled_behind("explain", [x.T @ y], (), {})
        assert found is not None
        return found.texts(found.in_order()[-1])["loops"].count("into level 2")

    assert prefetched(2048) >= 2 and prefetched(128) == 0
