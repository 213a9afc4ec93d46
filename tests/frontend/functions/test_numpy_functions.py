"""NumPy's functions of Tensors: Weft's values, lazily; what Weft has not is refused with what to
write."""

from __future__ import annotations

import io
import operator as op
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft.frontend import numpy_functions, ops

E = wf.errors
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 3)).astype(np.float32), RNG.uniform(0.1, 0.9, (4, 3)).astype(np.float32)
N, B = np.array([[3, 1, 2], [0, 2, 1]]), X > 0
ROUNDING = {"rtol": 1e-5, "atol": 1e-6}


def spd(x: Any) -> Any:
    """A positive definite matrix."""
    return x.T @ x + np.eye(3, dtype=np.float32)


Call = Callable[[Any, Any, Any, Any], Any]  # of X, Y, N, B: arrays, then Tensors
CALLS: dict[str, list[Call]] = {
    "all": [lambda x, y, i, b: np.all(b, axis=1), lambda x, y, i, b: np.all(b, None, None, True)],
    "allclose": [
        lambda x, y, i, b: np.allclose(x, x),
        lambda x, y, i, b: np.allclose(x, y, atol=0.1),
    ],
    "angle": [lambda x, y, i, b: np.angle(x), lambda x, y, i, b: np.angle(x + 1j * y)],
    "any": [lambda x, y, i, b: np.any(b, 0)],
    "argmax": [
        lambda x, y, i, b: np.argmax(x, axis=1),
        lambda x, y, i, b: np.argmax(x, keepdims=True),
    ],
    "argmin": [lambda x, y, i, b: np.argmin(x)],
    "argsort": [
        lambda x, y, i, b: np.argsort(x, kind="stable"),
        lambda x, y, i, b: np.argsort(x, 0),
    ],
    "argwhere": [lambda x, y, i, b: np.argwhere(b)],
    "array_equal": [
        lambda x, y, i, b: np.array_equal(x, x),
        lambda x, y, i, b: np.array_equal(x, y[0]),
        lambda x, y, i, b: np.array_equal(a1=x, a2=x),
    ],
    "astype": [lambda x, y, i, b: np.astype(x, np.float64)],
    "bincount": [
        lambda x, y, i, b: np.bincount(i[0], None, 6),
        lambda x, y, i, b: np.bincount(i[1], weights=y[0]),
    ],
    "broadcast_to": [lambda x, y, i, b: np.broadcast_to(x, (2, 4, 3))],
    "clip": [
        lambda x, y, i, b: np.clip(x, 0, 1),
        lambda x, y, i, b: np.clip(x, -y, y),
        lambda x, y, i, b: np.clip(x, None, 0.5),
    ],
    "column_stack": [
        lambda x, y, i, b: np.column_stack([x[0], y[1]]),
        lambda x, y, i, b: np.column_stack([x, y[:, 0]]),
    ],
    "concat": [lambda x, y, i, b: np.concat([x, y], 1)],
    "concatenate": [
        lambda x, y, i, b: np.concatenate((x, Y)),
        lambda x, y, i, b: np.concatenate([x, y], axis=None),
    ],
    "count_nonzero": [lambda x, y, i, b: np.count_nonzero(b, axis=0)],
    "cov": [lambda x, y, i, b: np.cov(x), lambda x, y, i, b: np.cov(x, ddof=0)],
    "cross": [lambda x, y, i, b: np.cross(x, y)],
    "cumprod": [lambda x, y, i, b: np.cumprod(x)],
    "cumsum": [
        lambda x, y, i, b: np.cumsum(x, 1),
        lambda x, y, i, b: np.cumsum(i, dtype=np.float32),
    ],
    "cumulative_prod": [lambda x, y, i, b: np.cumulative_prod(x, axis=0)],
    "cumulative_sum": [lambda x, y, i, b: np.cumulative_sum(x, axis=0, include_initial=True)],
    "diag": [lambda x, y, i, b: np.diag(x, 1), lambda x, y, i, b: np.diag(x[0])],
    "diagonal": [lambda x, y, i, b: np.diagonal(x, -1)],
    "diff": [lambda x, y, i, b: np.diff(x, 2, 0), lambda x, y, i, b: np.diff(x[0], prepend=0)],
    "dot": [lambda x, y, i, b: np.dot(x, y.T), lambda x, y, i, b: np.dot(X[0], y[0])],
    "einsum": [lambda x, y, i, b: np.einsum("ij,kj->ik", x, y, optimize=True)],
    "empty_like": [lambda x, y, i, b: np.empty_like(x) * 0],
    "expand_dims": [lambda x, y, i, b: np.expand_dims(x, (0, 2))],
    "flatnonzero": [lambda x, y, i, b: np.flatnonzero(b)],
    "flip": [lambda x, y, i, b: np.flip(x), lambda x, y, i, b: np.flip(x, 1)],
    "fliplr": [lambda x, y, i, b: np.fliplr(x)],
    "flipud": [lambda x, y, i, b: np.flipud(x)],
    "full_like": [
        lambda x, y, i, b: np.full_like(x, 7),
        lambda x, y, i, b: np.full_like(x, 7, np.int64),
    ],
    "gradient": [
        lambda x, y, i, b: np.gradient(x, 0.5),
        lambda x, y, i, b: np.gradient(x, axis=0, edge_order=2),
    ],
    "histogram": [
        lambda x, y, i, b: np.histogram(x, 4),
        lambda x, y, i, b: np.histogram(x, 3, (-1, 1), weights=y),
    ],
    "hstack": [lambda x, y, i, b: np.hstack([x, y])],
    "imag": [lambda x, y, i, b: np.imag(x)],
    "inner": [lambda x, y, i, b: np.inner(x, y)],
    "interp": [lambda x, y, i, b: np.interp(x, [-1.0, 0.0, 1.0], y[0], left=7.0)],
    "intersect1d": [lambda x, y, i, b: np.intersect1d(i[0], i[1], assume_unique=True)],
    "isclose": [lambda x, y, i, b: np.isclose(x, y, 0.5)],
    "isin": [lambda x, y, i, b: np.isin(i, [1, 2], invert=True)],
    "kron": [lambda x, y, i, b: np.kron(x, y)],
    "linspace": [lambda x, y, i, b: np.linspace(x[0, 0], y[0, 0], 5, False)],
    "logspace": [lambda x, y, i, b: np.logspace(x[0, 0], y[0, 0], 5, base=2.0)],
    "matrix_transpose": [lambda x, y, i, b: np.matrix_transpose(x)],
    "max": [lambda x, y, i, b: np.max(x, 1), lambda x, y, i, b: np.amax(x)],
    "mean": [
        lambda x, y, i, b: np.mean(x, axis=0, keepdims=True),
        lambda x, y, i, b: np.mean(x, None, np.float64),
    ],
    "median": [lambda x, y, i, b: np.median(x, axis=1)],
    "meshgrid": [lambda x, y, i, b: np.meshgrid(x[0], y[0], indexing="ij")],
    "min": [lambda x, y, i, b: np.min(x, 1), lambda x, y, i, b: np.amin(x)],
    "moveaxis": [lambda x, y, i, b: np.moveaxis(x, 0, 1)],
    "nan_to_num": [lambda x, y, i, b: np.nan_to_num(x / 0, posinf=1.0, neginf=-1.0)],
    "nonzero": [lambda x, y, i, b: np.nonzero(b)],
    "ones_like": [lambda x, y, i, b: np.ones_like(x, dtype=np.int32)],
    "outer": [lambda x, y, i, b: np.outer(x[0], y[1])],
    "pad": [
        lambda x, y, i, b: np.pad(x, 1),
        lambda x, y, i, b: np.pad(x, ((1, 0), (2, 1)), constant_values=(3, 3)),
        lambda x, y, i, b: np.pad(x, 1, mode="reflect"),
    ],
    "percentile": [lambda x, y, i, b: np.percentile(x, [10, 60], axis=0)],
    "permute_dims": [
        lambda x, y, i, b: np.permute_dims(x, (1, 0)),
        lambda x, y, i, b: np.permute_dims(a=x),
    ],
    "prod": [lambda x, y, i, b: np.prod(x, 0)],
    "quantile": [
        lambda x, y, i, b: np.quantile(x, 0.3),
        lambda x, y, i, b: np.quantile(x, 0.5, 1, method="lower"),
    ],
    "ravel": [lambda x, y, i, b: np.ravel(x)],
    "real": [lambda x, y, i, b: np.real(x)],
    "repeat": [
        lambda x, y, i, b: np.repeat(x, 2),
        lambda x, y, i, b: np.repeat(x, [1, 0, 2], axis=1),
    ],
    "reshape": [
        lambda x, y, i, b: np.reshape(x, (-1, 2)),
        lambda x, y, i, b: np.reshape(x, 12, order="C"),
    ],
    "roll": [lambda x, y, i, b: np.roll(x, 2), lambda x, y, i, b: np.roll(x, (1, 2), (0, 1))],
    "rot90": [lambda x, y, i, b: np.rot90(x), lambda x, y, i, b: np.rot90(x, 2, (1, 0))],
    "round": [lambda x, y, i, b: np.round(x, 1), lambda x, y, i, b: np.around(x)],
    "searchsorted": [lambda x, y, i, b: np.searchsorted(np.sort(x[0]), y, side="right")],
    "setdiff1d": [lambda x, y, i, b: np.setdiff1d(i[0], i[1])],
    "setxor1d": [lambda x, y, i, b: np.setxor1d(i[0], i[1])],
    "sort": [
        lambda x, y, i, b: np.sort(x, None),
        lambda x, y, i, b: np.sort(x, axis=0, stable=True),
    ],
    "squeeze": [lambda x, y, i, b: np.squeeze(x[:1], 0)],
    "stack": [
        lambda x, y, i, b: np.stack([x, y], axis=-1),
        lambda x, y, i, b: np.stack([x[0], Y[0]]),
    ],
    "std": [
        lambda x, y, i, b: np.std(x, ddof=1),
        lambda x, y, i, b: np.std(x, axis=0, correction=1),
    ],
    "sum": [
        lambda x, y, i, b: np.sum(x, 0, None, None, True),
        lambda x, y, i, b: np.sum(x, dtype=np.float64),
    ],
    "swapaxes": [lambda x, y, i, b: np.swapaxes(x, 0, 1)],
    "take": [lambda x, y, i, b: np.take(x, i, axis=0), lambda x, y, i, b: np.take(x, i)],
    "take_along_axis": [lambda x, y, i, b: np.take_along_axis(x, i, axis=0)],
    "tensordot": [
        lambda x, y, i, b: np.tensordot(x, y, ([0], [0])),
        lambda x, y, i, b: np.tensordot(x, y),
    ],
    "tile": [lambda x, y, i, b: np.tile(x, (2, 1))],
    "trace": [lambda x, y, i, b: np.trace(x, 1)],
    "transpose": [
        lambda x, y, i, b: np.transpose(x),
        lambda x, y, i, b: np.transpose(x, (1, 0)),
        lambda x, y, i, b: np.transpose(a=x),
    ],
    "trapezoid": [
        lambda x, y, i, b: np.trapezoid(x),
        lambda x, y, i, b: np.trapezoid(x, y[:, 0], axis=0),
    ],
    "tril": [lambda x, y, i, b: np.tril(x, -1)],
    "triu": [lambda x, y, i, b: np.triu(x, k=1)],
    "union1d": [lambda x, y, i, b: np.union1d(i[0], i[1])],
    "unique": [
        lambda x, y, i, b: np.unique(i),
        lambda x, y, i, b: np.unique(i, return_counts=True, return_inverse=True),
    ],
    "unique_all": [lambda x, y, i, b: np.unique_all(i)],
    "unique_counts": [lambda x, y, i, b: np.unique_counts(i)],
    "unique_inverse": [lambda x, y, i, b: np.unique_inverse(i)],
    "unique_values": [lambda x, y, i, b: np.sort(np.unique_values(i))],
    "unstack": [lambda x, y, i, b: np.unstack(x, axis=1)],
    "vander": [
        lambda x, y, i, b: np.vander(x[0], 4),
        lambda x, y, i, b: np.vander(x[0], increasing=True),
    ],
    "var": [lambda x, y, i, b: np.var(x, axis=1, ddof=1, keepdims=True)],
    "vstack": [lambda x, y, i, b: np.vstack([x, y])],
    "where": [
        lambda x, y, i, b: np.where(b, x, 0),
        lambda x, y, i, b: np.where(B, X, y),
        lambda x, y, i, b: np.where(b),
    ],
    "zeros_like": [lambda x, y, i, b: np.zeros_like(x)],
    **{
        f"fft.{name}": [lambda x, y, i, b, name=name: np.abs(getattr(np.fft, name)(x, 3))]
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        f"fft.{name}": [lambda x, y, i, b, name=name: np.abs(getattr(np.fft, name)(x, axes=(0,)))]
        for name in ("fftn", "fftshift", "ifftn", "ifftshift", "irfftn", "rfftn")
    },
    "linalg.cholesky": [lambda x, y, i, b: np.linalg.cholesky(spd(x))],
    "linalg.cond": [lambda x, y, i, b: np.linalg.cond(x), lambda x, y, i, b: np.linalg.cond(x, -2)],
    "linalg.cross": [lambda x, y, i, b: np.linalg.cross(x[:, :3], y[:, :3])],
    "linalg.det": [lambda x, y, i, b: np.linalg.det(spd(x))],
    "linalg.diagonal": [lambda x, y, i, b: np.linalg.diagonal(x, offset=1)],
    "linalg.eig": [lambda x, y, i, b: np.linalg.eig(spd(x)).eigenvalues.real],
    "linalg.eigvals": [lambda x, y, i, b: np.linalg.eigvals(spd(x)).real],
    "linalg.eigh": [lambda x, y, i, b: np.linalg.eigh(spd(x))],
    "linalg.eigvalsh": [lambda x, y, i, b: np.linalg.eigvalsh(spd(x))],
    "linalg.inv": [lambda x, y, i, b: np.linalg.inv(spd(x))],
    "linalg.lstsq": [lambda x, y, i, b: np.linalg.lstsq(x, y, rcond=None)],
    "linalg.matmul": [lambda x, y, i, b: np.linalg.matmul(x, y.T)],
    "linalg.matrix_norm": [lambda x, y, i, b: np.linalg.matrix_norm(x, ord=1)],
    "linalg.matrix_power": [lambda x, y, i, b: np.linalg.matrix_power(spd(x), 3)],
    "linalg.matrix_rank": [lambda x, y, i, b: np.linalg.matrix_rank(x)],
    "linalg.matrix_transpose": [lambda x, y, i, b: np.linalg.matrix_transpose(x)],
    "linalg.multi_dot": [lambda x, y, i, b: np.linalg.multi_dot([x, y.T, x])],
    "linalg.norm": [
        lambda x, y, i, b: np.linalg.norm(x),
        lambda x, y, i, b: np.linalg.norm(x, 2),
        lambda x, y, i, b: np.linalg.norm(x, 1, axis=1, keepdims=True),
    ],
    "linalg.outer": [lambda x, y, i, b: np.linalg.outer(x[0], y[0])],
    "linalg.pinv": [lambda x, y, i, b: np.linalg.pinv(x)],
    "linalg.qr": [
        lambda x, y, i, b: np.linalg.qr(x),
        lambda x, y, i, b: np.linalg.qr(x, "complete"),
    ],
    "linalg.slogdet": [lambda x, y, i, b: np.linalg.slogdet(spd(x))],
    "linalg.solve": [lambda x, y, i, b: np.linalg.solve(spd(x), y.T)],
    "linalg.svd": [
        lambda x, y, i, b: np.linalg.svd(x),
        lambda x, y, i, b: np.linalg.svd(x, full_matrices=False),
    ],
    "linalg.svdvals": [lambda x, y, i, b: np.linalg.svdvals(x)],
    "linalg.tensordot": [lambda x, y, i, b: np.linalg.tensordot(x, y, axes=2)],
    "linalg.trace": [lambda x, y, i, b: np.linalg.trace(x)],
    "linalg.vecdot": [lambda x, y, i, b: np.linalg.vecdot(x, y)],
    "linalg.vector_norm": [lambda x, y, i, b: np.linalg.vector_norm(x, axis=1, ord=3)],
}
OURS = {
    f: name
    for f in vars(np).values()
    if isinstance(f, np.ufunc) and (name := numpy_functions._name_of_ufunc(f))
}


def same(got: Any, want: Any) -> None:
    """Tensors of these values where NumPy gives arrays, Python's own values where it gives such."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            same(a, b)
    elif type(want) is bool:
        assert got is want
    else:
        assert type(got) is wf.Tensor and got.shape == np.shape(want)
        np.testing.assert_allclose(got.numpy(), want, **ROUNDING)  # type: ignore[arg-type]


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_numpy(name: str) -> None:
    tensors = [wf.tensor(a) for a in (X, Y, N, B)]
    for call in CALLS[name]:
        with np.errstate(divide="ignore"):
            want = call(X, Y, N, B)
        same(call(*tensors), want)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("order", [None, "fro", 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 4), None), ((2, 3, 4), (1, 2)), ((2, 3, 4), (2, 0)), ((2, 3, 4), (-1, 1))],
)
def test_norms_of_matrices_are_those_of_numpy(
    order: Any, shape: tuple[int, ...], axis: Any
) -> None:
    for x in (RNG.normal(size=shape), RNG.integers(-9, 9, shape)):
        for keepdims in (False, True):
            same(
                np.linalg.norm(wf.tensor(x), order, axis, keepdims),
                np.linalg.norm(x, order, axis, keepdims),
            )


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("order", [None, 0, 1, 2, 3.5, -1, np.inf])
def test_norms_of_vectors_are_those_of_numpy(order: Any) -> None:
    same(np.linalg.norm(T[0], order), np.linalg.norm(X[0], order))
    for axis in (0, (1,)):
        same(np.linalg.norm(T, order, axis=axis), np.linalg.norm(X, order, axis=axis))


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("called", OURS, ids=str)
def test_ufuncs_are_weft_s(called: Any) -> None:
    spread = Y + np.float32([[0], [0], [1], [1]])
    for arrays in ((spread, 2 * Y), (N, N[::-1]), (B, ~B)):
        given = (arrays[0], arrays[1].T) if called is np.matmul else arrays[: called.nin]
        try:
            want = getattr(ops, OURS[called])(*map(wf.tensor, given))
        except E.WeftError:
            continue
        got = [
            called(*map(wf.tensor, given)),
            *([called(given[0], wf.tensor(given[1]))] if called.nin == 2 else []),
        ]
        for result in got:
            for r, w in zip(result, want, strict=True) if called.nout == 2 else [(result, want)]:
                assert type(r) is wf.Tensor and r.dtype is w.dtype
                np.testing.assert_array_equal(r.numpy(), w.numpy())


def test_each_function_of_the_same_name_is_compared() -> None:
    protocol = {
        name for name in dir(np) if hasattr(getattr(np, name), "_implementation")
    }  # those that ask a Tensor
    left = {*numpy_functions.DESCRIBING, *numpy_functions.CONVERTING, *numpy_functions.DIFFERENT}
    ours = {
        name for name in protocol - left if name in ops.__all__ or name in numpy_functions.ALIKE
    }
    assert {name for name in CALLS if "." not in name} == ours
    for name, ours, theirs in (("linalg", wf.linalg, np.linalg), ("fft", wf.fft, np.fft)):
        compared = {n.removeprefix(f"{name}.") for n in CALLS if n.startswith(f"{name}.")}
        asks = {n for n in theirs.__all__ if hasattr(getattr(theirs, n), "_implementation")}
        assert compared == {*ours.__all__} & asks


def test_nothing_is_computed_before_a_value_is_read_and_gradients_flow() -> None:
    x = wf.tensor(X, requires_grad=True)
    y = np.sum(np.exp(np.where(x > 0, x, 0.0)))
    assert "lazy" in repr(y)
    np.testing.assert_allclose(wf.grad(y, x).numpy(), np.where(X > 0, np.exp(X), 0), rtol=1e-6)
    np.testing.assert_array_equal(wf.jit(np.tanh)(x).numpy(), x.tanh().numpy())


REFLECTED: dict[str, Callable[[Any, Any], Any]] = {
    **{
        "radd": op.add,
        "rsub": op.sub,
        "rmul": op.mul,
        "rtruediv": op.truediv,
        "rfloordiv": op.floordiv,
        "rmod": op.mod,
    },
    **{
        "rpow": op.pow,
        "gt": op.lt,
        "ge": op.le,
        "eq": op.eq,
        "ne": op.ne,
        "lt": op.gt,
        "le": op.ge,
    },
}


ARRAYS = [
    X,
    X.astype(np.float64),
    np.array(2.0),
    np.float64(2),
    np.float32(2),
    np.int64(2),
    np.int8(2),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_operators_of_an_array_and_a_tensor_give_what_those_of_tensor_and_array_give(
    array: Any,
) -> None:
    """The reflected method of the Tensor defines them, as where NumPy leaves the operation to
    it."""
    t = wf.tensor(Y)
    for name, operator in REFLECTED.items():
        got, want = operator(array, t), getattr(t, f"__{name}__")(array)
        assert type(got) is wf.Tensor and got.dtype is want.dtype
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_an_array_of_texts_is_not_equal() -> None:
    assert (np.array(["a"]) == wf.ones(1)) is False and (np.array(["a"]) != wf.ones(1)) is True


def test_an_array_takes_the_result_in_place() -> None:
    a = X.copy()
    a += wf.tensor(Y)
    assert type(a) is np.ndarray
    np.testing.assert_array_equal(a, X + Y)
    np.exp(wf.tensor(X), out=a)
    np.testing.assert_allclose(a, np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(np.add.reduce(wf.tensor(X)).numpy(), X.sum(0), rtol=1e-6)
    np.testing.assert_allclose(np.maximum.reduce(wf.tensor(X), axis=None).numpy(), X.max())
    np.testing.assert_allclose(
        np.add.accumulate(wf.tensor(X), axis=1).numpy(), X.cumsum(1), rtol=1e-6
    )


def test_what_describes_or_writes_gives_what_numpy_gives() -> None:
    t, file = wf.tensor(X) + 0, io.BytesIO()
    assert np.shape(t) == (4, 3) and np.ndim(t) == 2 and np.size(t) == 12 and not np.iscomplexobj(t)
    assert np.result_type(t, np.float64) == np.float64 and "lazy" in repr(t)
    np.save(file, t)
    np.testing.assert_array_equal(np.load(io.BytesIO(file.getvalue())), X)
    assert type(np.atleast_2d(t[0])) is np.ndarray and np.array_repr(t) == np.array_repr(X)


T = wf.tensor(X)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: np.linalg.tensorinv(T),
            r"np\.linalg\.tensorinv is not a function of Weft: write np\.linalg\.tensorinv\(",
        ),
        (lambda: np.fft.fft2(T), r"np\.fft\.fft2 is not a function of Weft"),
        (lambda: np.cbrt(T), r"np\.cbrt is not a function of Weft"),
        (lambda: np.multiply.outer(T, T), r"np\.multiply\.outer is not a function of Weft"),
        (lambda: np.split(T, 2), r"np\.split of a Tensor: write wf\.chunk\(x, n\)"),
        (lambda: np.linalg.norm(T, 3), "norm: ord must be 'fro', 'nuc', 1"),
        (lambda: np.linalg.norm(T[None], 1), "norm: an order needs one axis or two, not 3"),
        (
            lambda: np.linalg.pinv(T, hermitian=True),
            r"np\.linalg\.pinv of a Tensor is wf\.linalg\.pinv, which has no hermitian=",
        ),
        (
            lambda: np.put_along_axis(T, N, 0, 1),
            r"np\.put_along_axis of a Tensor: write x = wf\.put_along_axis",
        ),
        (
            lambda: np.sum(T, where=B),
            r"np\.sum of a Tensor is wf\.sum, which has no where=: write np\.sum\(x\.numpy\(\)",
        ),
        (lambda: np.sort(T, order="F"), "has no order="),
        (lambda: np.mean(T, out=X), "has no out=: give what it returns a name"),
        (lambda: np.add(T, 1, where=B), "np.add of a Tensor is wf.add, which has no where="),
        (lambda: np.add(X, X, out=T), r"np\.add: out= is an array; .* x\.assign"),
        (lambda: np.add(X, T, out=np.zeros(12)), "could not be broadcast|shape"),
    ],
)
def test_what_weft_has_not_is_refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises((E.CallError, ValueError), match=text):
        call()


def test_other_libraries_come_first() -> None:
    class Other:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "other"

        def __array_function__(self, *args: Any, **kwargs: Any) -> str:
            return "other"

    assert np.add(T, Other()) == "other" and np.concatenate([T, Other()]) == "other"


def test_scipy_takes_tensors() -> None:
    from scipy import sparse, special

    t = wf.tensor(X)
    np.testing.assert_allclose(sparse.csr_matrix(X) @ t[:3].T, X @ X[:3].T, rtol=1e-5)
    np.testing.assert_allclose(sparse.csr_matrix(X) @ t[0], X @ X[0], rtol=1e-5)
    assert type(special.expit(t)) is wf.Tensor


@pytest.mark.slow  # to import them
def test_clients_that_take_arrays_take_tensors() -> None:
    from matplotlib.figure import Figure
    from sklearn.preprocessing import StandardScaler

    t, axes = wf.tensor(X), Figure().subplots()
    axes.plot(t[:, 0], t[:, 1])
    axes.hist(t[:, 0], bins=3)
    axes.imshow(t)
    axes.bar(wf.arange(3), t[0])
    axes.quiver(t[:, 0], t[:, 1], t[:, 2], t[:, 2])
    axes.set_ylim(t.min(), t.max())
    np.testing.assert_allclose(axes.get_ylim(), (X.min(), X.max()), rtol=1e-6)
    np.testing.assert_allclose(
        StandardScaler().fit_transform(t), StandardScaler().fit_transform(X), rtol=1e-5
    )
