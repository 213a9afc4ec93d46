"""Routines of LAPACK as steps of programs: the bits of each way to run them, errors, programs on
disk, threads, signals, reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.ir.ops import routines
from weft.runtime import blas_threads

la = wf.linalg
Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 4, 4)) + 3 * np.eye(4)
S = X @ X.swapaxes(-1, -2)


def pipeline(x: wf.Tensor) -> wf.Tensor:
    """Kernels before, between and after routines."""
    low = la.cholesky(x @ x.mT * 0.5 + wf.eye(4, dtype=x.dtype))
    return la.solve(low + 1, x.sin()).cos() + la.eigh(x + x.mT).eigenvalues[..., None]


def test_ways_to_run_give_the_same_bits() -> None:
    lazy = pipeline(wf.tensor(X)).numpy()
    jitted = wf.jit(pipeline)
    for _ in range(3):
        assert (jitted(wf.tensor(X)).numpy() == lazy).all()
    stacked = wf.vmap(pipeline)(wf.tensor(X))
    np.testing.assert_allclose(stacked.numpy(), lazy, atol=1e-12)
    each = wf.stack([pipeline(wf.tensor(x)) for x in X])
    np.testing.assert_allclose(each.numpy(), lazy, atol=1e-12)
    for threads in (1, 2, 3):
        with options.override(num_threads=threads, serial_threshold=0):
            assert (pipeline(wf.tensor(X)).numpy() == lazy).all()


def test_sources_with_any_strides() -> None:
    x = wf.tensor(X).realize()
    for view in (lambda a: a[::2, ::-1, :3][:, :3], lambda a: a.swapaxes(-1, -2), lambda a: a[1]):
        want = np.linalg.svd(view(X), compute_uv=False)
        np.testing.assert_allclose(la.svdvals(view(x)).numpy(), want, rtol=1e-13)


def test_a_scan_solves_in_each_iteration() -> None:
    def step(c: wf.Tensor, a: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        c = la.solve(a, c)
        return c, la.det(a) * c

    want, each = np.eye(4), []
    for a in X:
        want = np.linalg.solve(a, want)
        each.append(np.linalg.det(a) * want)
    run = wf.jit(lambda c, a: wf.scan(step, c, a))
    c, stacked = run(wf.eye(4, dtype=wf.float64), wf.tensor(X))
    np.testing.assert_allclose(c.numpy(), want, atol=1e-14)
    np.testing.assert_allclose(stacked.numpy(), np.stack(each), atol=1e-12)
    wf.check_grad(lambda a: wf.scan(step, wf.eye(4, dtype=wf.float64), a)[1], X, max_elements=6)


def test_a_branch_computes_its_own_routine_alone() -> None:
    def inverse_or_not(x: wf.Tensor) -> wf.Tensor:
        return wf.cond((x != 0).any(), la.inv, lambda x: x, x)

    assert not inverse_or_not(wf.zeros(2, 2)).numpy().any()
    assert inverse_or_not(wf.eye(2) * 2).tolist() == [[0.5, 0], [0, 0.5]]


def test_a_while_loop_with_a_solve() -> None:
    """Newton's method for x**2 = 2, as a matrix."""

    def better(x: wf.Tensor) -> wf.Tensor:
        return (x + la.solve(x, 2 * wf.eye(1, dtype=wf.float64))) / 2

    x = wf.while_loop(lambda x: abs(x * x - 2).sum() > 1e-12, better, wf.ones(1, 1).double())
    assert abs(x.item() - 2**0.5) < 1e-12


def test_values_come_from_what_the_interpreter_calls() -> None:
    lazy = pipeline(wf.tensor(X)).numpy()
    with options.override(interpret=True):
        np.testing.assert_allclose(pipeline(wf.tensor(X)).numpy(), lazy, atol=1e-12)
    with options.override(strict=True, verify=True):  # compares each bit
        la.inv(wf.tensor(X) * 2).numpy()
        with pytest.raises(wf.errors.LinAlgError):
            la.inv(wf.zeros(2, 2)).numpy()


# ---------------------------------------------------------------- errors


def wrong(*places: tuple[int, ...]) -> Array:
    x = np.broadcast_to(np.eye(3), (2, 4, 3, 3)).copy()
    for place in places:
        x[place] = -1
    return x


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (la.cholesky, r"cholesky: matrix \(0, 3\) of the batch is not positive definite"),
        (la.inv, r"inv: matrix \(0, 3\) of the batch is singular"),
        (lambda x: la.inv(x[0]), r"inv: matrix 3 of the batch is singular"),
        (lambda x: la.solve(x[0, 3], wf.ones(3).double()), r"solve: the matrix is singular"),
        (lambda x: la.matrix_power(x, -1), r"inv: matrix \(0, 3\)"),
        (lambda x: la.svd(x / 0).S, r"svd: matrix \(0, 0\) of the batch is not finite"),
    ],
)
@pytest.mark.parametrize("jitted", [False, True])
def test_a_refused_matrix_is_named_with_the_users_line(f: Any, text: str, jitted: bool) -> None:
    x = wf.tensor(wrong((0, 3), (1, 0)))
    with pytest.raises(wf.errors.LinAlgError, match=rf"{text}.*{Path(__file__).name}:\d+$"):
        (wf.jit(f) if jitted else f)(x).numpy()
    with pytest.raises(np.linalg.LinAlgError):
        np.asarray(f(x))


def test_an_iteration_is_named() -> None:
    with pytest.raises(wf.errors.LinAlgError, match="inv: the matrix is singular, in iteration 2"):
        wf.map(la.inv, wf.tensor(wrong((0, 2))[0])).numpy()


def test_nothing_has_changed_after_an_error() -> None:
    w, x = wf.ones(3).realize(), wf.tensor(wrong((0, 1)))
    step = wf.jit(lambda: w.assign(w + la.inv(x).sum()))
    with pytest.raises(wf.errors.LinAlgError):
        step()
    assert w.tolist() == [1, 1, 1]
    inverse = la.inv(x)
    for _ in range(2):  # the graph is still there
        with pytest.raises(wf.errors.LinAlgError):
            inverse.numpy()


def test_numbers_that_are_not_finite_stay_where_numpy_has_them_so() -> None:
    x = np.array([[np.nan, 1.0], [1.0, 2.0]])
    for name in ("inv", "det", "slogdet"):
        with np.errstate(all="ignore"):
            got, want = (getattr(space, name)(x) for space in (la, np.linalg))
        np.testing.assert_array_equal(np.array(got), np.array(want))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("f", [la.svd, la.svdvals, la.pinv])
def test_singular_values_need_finite_numbers(f: Any, bad: float) -> None:
    """OpenBLAS would not return from this matrix."""
    x = wf.tensor([[bad, 2, 0, 1000], [1, 1000, 0, 2], [1000, 100, -1, -1], [1, 100, 100, 100]])
    with pytest.raises(wf.errors.LinAlgError, match="matrix 1 of the batch is not finite"):
        wf.realize(f(wf.stack([wf.eye(4), x])))


def test_other_exceptions_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(a: Array) -> tuple[Array, ...]:
        raise MemoryError("too large")

    record = routines.Record(fails, "", lambda m, n, k: 0)
    monkeypatch.setitem(routines.RECORDS, "inv", record)
    with pytest.raises(MemoryError, match="too large"):
        la.inv(wf.tensor(X) + 1).numpy()
    monkeypatch.undo()
    np.testing.assert_allclose(la.inv(wf.tensor(X) + 1).numpy(), np.linalg.inv(X + 1))


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="needs the main thread"
)
def test_a_signal_inside_a_routine_waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def kills(a: Array) -> tuple[Array, ...]:
        os.kill(os.getpid(), signal.SIGINT)
        return (np.linalg.inv(a),)

    monkeypatch.setitem(routines.RECORDS, "inv", routines.Record(kills, "", lambda m, n, k: 0))
    out = la.inv(wf.tensor(X) + 2) * 2
    with pytest.raises(KeyboardInterrupt):
        out.numpy()
    np.testing.assert_allclose(out.numpy(), np.linalg.inv(X + 2) * 2)


def test_debug_nans_looks_at_the_kernels_around() -> None:
    with wf.debug_nans():
        np.testing.assert_allclose(la.inv(wf.tensor(X) * 3).numpy(), np.linalg.inv(X * 3))
        with pytest.raises(wf.errors.FloatingPointError, match="log"):
            (la.inv(wf.tensor(X)) * 0 - 1).log().numpy()


# ---------------------------------------------------------------- threads and processes


def test_matrices_side_by_side_have_one_thread_of_lapack_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    functions = blas_threads.functions()
    if functions is None:
        pytest.skip("NumPy's LAPACK is not OpenBLAS")
    count = functions[0]
    had = count()
    inside: list[int] = []
    lapack = routines._lapack

    def spy(name: str, *arrays: Array) -> Array:
        inside.append(count())
        return lapack(name, *arrays)

    monkeypatch.setattr(routines, "_lapack", spy)
    x = RNG.normal(size=(3, 150, 150)) + 20 * np.eye(150)
    np.testing.assert_allclose(la.inv(wf.tensor(x)).numpy(), np.linalg.inv(x), atol=1e-12)
    assert inside == [1] * 3 and count() == had
    x[1] = 0
    with pytest.raises(wf.errors.LinAlgError, match="matrix 1 of the batch"):
        la.inv(wf.tensor(x)).numpy()
    assert count() == had, "after a failure, too"


def test_several_threads_of_python() -> None:
    f = wf.jit(pipeline)
    want = pipeline(wf.tensor(X)).numpy()

    def one(i: int) -> bool:
        return bool((f(wf.tensor(X)).numpy() == want).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(one, range(40)))


LARGE = RNG.normal(size=(2, 1500, 17, 17)) + 4 * np.eye(17)


@pytest.mark.slow
def test_parts_of_a_batch_change_no_bits() -> None:
    want = np.linalg.inv(LARGE)
    for threads in (1, 2, 3):
        with options.override(num_threads=threads):
            assert (la.inv(wf.tensor(LARGE)).numpy() == want).all()
            turned = la.inv(wf.tensor(LARGE).realize().swapaxes(0, 1)).numpy()
            assert (turned == want.swapaxes(0, 1)).all()
    report = wf.explain(la.inv(wf.tensor(LARGE)))
    assert report.kernels[0].parallel and report.kernels[0].threads == options.current().num_threads
    assert {c.phase for c in wf.profile(la.inv(wf.tensor(LARGE)), repeat=2).chunks} == {0}


def test_the_first_refused_matrix_counts_whoever_finds_it() -> None:
    x = LARGE.copy()
    x[1, 1400] = x[1, 17] = x[1, 900] = 0
    for _ in range(3):
        with pytest.raises(wf.errors.LinAlgError, match=r"inv: matrix \(1, 17\) of the batch"):
            la.inv(wf.tensor(x)).numpy()


SCRIPT = """
import json, numpy as np, weft as wf
from weft.compiler import compile
builds = []
build = compile.build
compile.build = lambda *args, **more: (builds.append(1), build(*args, **more))[1]
x = wf.tensor(np.arange(9.0).reshape(3, 3) + 5 * np.eye(3))
def f(x):
    q, r = wf.linalg.qr(x[::-1] * 2)
    _, s, _ = wf.linalg.svd(x, full_matrices=False)
    return q @ r + wf.linalg.pinv(x) + wf.grad(wf.linalg.slogdet(x)[1], x) + s
try:
    wf.linalg.cholesky(wf.stack([wf.eye(3), -wf.eye(3)])).numpy()
except wf.errors.LinAlgError as error:
    text = str(error)
print(json.dumps([len(builds), f(x).tolist(), text]))
"""


@pytest.mark.slow
def test_a_second_process_finds_the_program_on_disk(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)

    def run() -> Any:
        path = os.pathsep.join(p for p in sys.path if p)
        env = {**os.environ, "PYTHONPATH": path, "WEFT_CACHE_DIR": str(tmp_path / "cache")}
        line = [sys.executable, str(tmp_path / "script.py")]
        return json.loads(subprocess.run(line, env=env, capture_output=True, check=True).stdout)

    (first, values, text), (second, again, text_again) = run(), run()
    assert first > 0 and second == 0
    assert values == again
    assert text == text_again and "matrix 1 of the batch is not positive definite" in text


# ---------------------------------------------------------------- reports


def test_reports_name_the_routine() -> None:
    x = wf.tensor(X).realize()
    report = wf.explain(la.cholesky(x @ x.mT) + 1)
    (step,) = [k for k in report.kernels if k.kind == "routine"]
    assert step.nodes == ("cholesky",) and step.name.endswith("_cholesky")
    assert step.schedule == "cholesky of LAPACK, by NumPy"
    assert step.flops == int(5 * 4**3 / 3) and step.bytes == 2 * X.nbytes
    assert "cholesky" in str(wf.profile(la.cholesky(x @ x.mT) + 1, repeat=2))
    assert str(wf.audit(la.cholesky(x @ x.mT) + 1, repeat=2))
    assert wf.report(la.cholesky(x @ x.mT) + 1)


@pytest.mark.slow
def test_dumps_and_drawings(tmp_path: Path) -> None:
    x = wf.tensor(X)
    wf.dump(la.inv(x @ x.mT).sum(), tmp_path)
    text = (tmp_path / "program.txt").read_text()
    assert "of a library: nothing runs after it if it refuses a matrix" in text
    assert "reads" in text and "writes" in text
    drawn = str(wf.draw(wf.grad(la.inv(x).sum(), x)))
    assert "inv" in drawn
