"""Timed candidates of a contraction: the same bits, measured once, remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.compiler.backends import tune
from weft.frontend.lazy import program_table
from weft.runtime import cache

Product = Callable[[], wf.Tensor]


def product(m: int, n: int, k: int, form: str = "nn", dtype: str = "float32") -> Product:
    rng = np.random.default_rng(m + n + k)
    a = wf.tensor(rng.standard_normal((m, k) if form[0] == "n" else (k, m)).astype(dtype))
    b = wf.tensor(rng.standard_normal((k, n) if form[1] == "n" else (n, k)).astype(dtype))
    return lambda: (a if form[0] == "n" else a.T) @ (b if form[1] == "n" else b.T)


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Product], np.ndarray]:
    """Runs a product with tuning, as a process would that has seen nothing but the cache."""
    monkeypatch.setattr(tune, "SECONDS", 1e-4)

    def run(build: Product) -> np.ndarray:
        program_table._programs.clear()
        tune._winners.clear()
        with options.override(tune=True, cache_dir=tmp_path):
            return build().numpy().copy()

    return run


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("form", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("shape", [(70, 90, 50), (128, 64, 1100), (33, 200, 64)], ids=str)
def test_every_winner_gives_the_same_bits(
    shape, form, tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = product(*shape, form)
    want = build().numpy().copy()
    for place in (0, -1):
        monkeypatch.setattr(
            tune, "_measure", lambda candidates, target, place=place: range(len(candidates))[place]
        )
        monkeypatch.setattr(cache.default(), "get", lambda key: None)
        np.testing.assert_array_equal(tuned(build), want)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_candidates_are_timed_once(dtype: str, tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    build, measured = product(64, 96, 80, dtype=dtype), []
    measure = tune._measure
    monkeypatch.setattr(tune, "_measure", lambda *a: measured.append(a) or measure(*a))
    first = tuned(build)
    np.testing.assert_array_equal(tuned(build), first)
    assert len(measured) == 1 and len(measured[0][0]) > 1


@pytest.mark.slow
def test_backward_and_strided_views_are_timed_in_their_own_memory(tuned) -> None:
    rng = np.random.default_rng(0)
    a, b = wf.tensor(rng.standard_normal((90, 140))), wf.tensor(rng.standard_normal((70, 140)))
    build = lambda: a[::-1, 1::2] @ b[:, ::-2].T  # noqa: E731
    want = a.numpy()[::-1, 1::2] @ b.numpy()[:, ::-2].T
    np.testing.assert_allclose(tuned(build), want, rtol=1e-12, atol=1e-12)


def test_what_stands_in_the_cache_wrongly_is_measured_again(tuned, tmp_path: Path) -> None:
    build = product(60, 60, 60)
    want = tuned(build)
    with options.override(tune=True, cache_dir=tmp_path):
        key = next(iter(tune._winners))
        cache.default().put(key, b"\xff")
    np.testing.assert_array_equal(tuned(build), want)


def test_the_report_says_what_was_timed() -> None:
    build = product(64, 96, 80)
    with options.override(tune=True):
        (kernel,) = wf.explain(build()).kernels
    assert "that were timed" in kernel.schedule
    assert "that were timed" not in wf.explain(build()).kernels[0].schedule
