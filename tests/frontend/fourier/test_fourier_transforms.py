"""Fourier transforms. In: arrays, lengths, axes. Out: NumPy's values; gradients that equal central
differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
E = wf.errors
RNG = np.random.default_rng(8)
NORMS = ("backward", "ortho", "forward")
OF_REAL = {"rfft", "ihfft", "rfftn"}
ALONG = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")


def drawn(name: str, shape: tuple[int, ...], dtype: str = "float64") -> Array:
    x = RNG.normal(size=shape).astype(dtype)
    return x if name in OF_REAL else x + x.dtype.type(1) * 1j * x[::-1]


def close(got: wf.Tensor, want: Array, dtype: str) -> None:
    assert got.shape == want.shape and got.dtype.part.name == dtype
    assert got.dtype.is_complex is (want.dtype.kind == "c")
    rtol = 1e-5 if dtype == "float32" else 1e-12
    scale = np.abs(want).max(initial=1)
    np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=rtol * scale)


@examples(60, quick=6)
@given(st.data())
def test_transforms_along_an_axis_are_numpys(data: st.DataObject) -> None:
    name, norm = data.draw(st.sampled_from(ALONG)), data.draw(st.sampled_from(NORMS))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    shape = tuple(data.draw(st.lists(st.integers(2, 33), min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    n = data.draw(st.none() | st.integers(1, 40))
    x = drawn(name, shape, dtype)
    t = wf.tensor(x)
    if data.draw(st.booleans()):
        t = t.realize().mT.mT if t.ndim > 1 else t.realize()
    got = getattr(wf.fft, name)(t, n=n, axis=axis, norm=norm)
    close(got, getattr(np.fft, name)(x, n=n, axis=axis, norm=norm), dtype)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    ("s", "axes"), [(None, None), ((4, 5), (0, 2)), (None, (1,)), ((2, 8), (1, 0)), (None, (-1, 0))]
)
def test_transforms_along_several_axes_are_numpys(name: str, s: Any, axes: Any) -> None:
    x = drawn(name, (3, 6, 5))
    for norm in NORMS:
        got = getattr(wf.fft, name)(wf.tensor(x), s=s, axes=axes, norm=norm)
        close(got, getattr(np.fft, name)(x, s=s, axes=axes, norm=norm), "float64")


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 1021, 1024, 3**6])
def test_every_length_there_and_back(n: int) -> None:
    x = drawn("fft", (5, n))
    t = wf.tensor(x)
    np.testing.assert_allclose(wf.fft.ifft(wf.fft.fft(t)).numpy(), x, atol=1e-12)
    np.testing.assert_allclose(wf.fft.irfft(wf.fft.rfft(t.real), n=n).numpy(), x.real, atol=1e-12)


def test_batches_without_lines() -> None:
    x = wf.zeros(0, 50, 7)
    assert wf.fft.rfft(x, axis=1).numpy().shape == (0, 26, 7)
    assert wf.fft.irfft(wf.fft.rfft(x)).numpy().shape == (0, 50, 6)
    assert wf.fft.fftn(x[:, :, :5], axes=(1, 2)).numpy().shape == (0, 50, 5)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("fft", {}), ("fft", {"n": 3, "axis": 0}), ("ifft", {"n": 7, "norm": "ortho"}), ("rfft", {}),
    ("rfft", {"n": 8}), ("irfft", {}), ("irfft", {"n": 7}), ("hfft", {}), ("ihfft", {"n": 4}),
    ("fftn", {}), ("ifftn", {"axes": (0,)}), ("rfftn", {}), ("irfftn", {}),
    ("irfftn", {"s": (4, 7)}),
]  # fmt: skip


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_derivatives_are_central_differences(name: str, options: dict[str, Any]) -> None:
    x, step = drawn(name, (4, 5)), 1e-6
    direction = drawn(name, x.shape)

    def loss(t: wf.Tensor) -> wf.Tensor:
        y = getattr(wf.fft, name)(t, **options)
        y = (y * (1 + 2j)).real if y.dtype.is_complex else y
        return ((y * wf.tensor(np.linspace(1, 2, y.size).reshape(y.shape))) ** 3).sum()

    at, along = wf.tensor(x), wf.tensor(direction)
    ahead, behind = (loss(wf.tensor(x + s * step * direction)).item() for s in (1, -1))
    got = (wf.grad(loss(at), at).conj() * along).real.sum().item()
    assert got == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)
    _, pushed = wf.jvp(loss, (at,), (along,))
    assert pushed.item() == pytest.approx(got, rel=1e-9)
    slopes = wf.jvp(lambda t: wf.grad(loss(t), t), (at,), (along,))[1]
    first, last = (wf.grad(loss(t := wf.tensor(x + s * step * direction)), t) for s in (-1, 1))
    second = (last - first).numpy() / (2 * step)
    np.testing.assert_allclose(slopes.numpy(), second, rtol=1e-4, atol=1e-5 * np.abs(second).max())


def test_programs_loops_and_batches_hold_transforms() -> None:
    x = wf.tensor(RNG.normal(size=(6, 40)))
    want = (np.abs(np.fft.rfft(x.numpy() * 2)) ** 2).mean(0)

    def power(x: wf.Tensor) -> wf.Tensor:
        return (wf.fft.rfft(x * 2).abs() ** 2).mean(0)

    np.testing.assert_allclose(power(x).numpy(), want, rtol=1e-12)
    np.testing.assert_array_equal(wf.jit(power)(x).numpy(), power(x).numpy())
    rows = wf.vmap(lambda r: wf.fft.rfft(r).abs())(x)
    np.testing.assert_allclose(rows.numpy(), np.abs(np.fft.rfft(x.numpy())), rtol=1e-10)
    _, each = wf.scan(lambda c, r: (c, wf.fft.fft(r)), wf.tensor(0.0), x)
    np.testing.assert_allclose(each.numpy(), np.fft.fft(x.numpy()), rtol=1e-9, atol=1e-12)
    kernels = wf.explain(power(x)).kernels
    assert [k.kind for k in kernels].count("fft") == 1 and len(kernels) == 5
    assert "routine" in [k.kind for k in wf.explain(power(x[:, :22])).kernels]


@pytest.mark.parametrize("n", [96, *rarely(1000, 1024, 3 * 2**12)])
def test_errors_are_those_of_a_few_roundings(n: int) -> None:
    x = drawn("fft", (8, n))
    exact, norm = np.fft.fft(x.astype(np.clongdouble)), np.linalg.norm
    error = norm(wf.fft.fft(wf.tensor(x)).numpy() - exact)
    assert error < 2 * norm(np.fft.fft(x) - exact)
    narrow = x.astype("complex64")
    exact = np.fft.fft(narrow.astype("complex128"))
    assert norm(wf.fft.fft(wf.tensor(narrow)).numpy() - exact) < 2e-7 * norm(exact)
    assert norm(wf.fft.rfft(wf.tensor(x.real)).numpy() - np.fft.rfft(x.real)) < 1e-15 * norm(exact)


def test_the_square_of_an_absolute_value_has_no_root() -> None:
    z = np.array([3 + 4j, 0, 1e-30j, 1e19 + 1j], "complex64")
    for square in (lambda t: abs(t) ** 2, lambda t: t.abs().square()):
        t = wf.tensor(z, requires_grad=True)
        size = square(t)
        want = z.real.astype("float32") ** 2 + z.imag.astype("float32") ** 2
        np.testing.assert_array_equal(size.numpy(), want)
        size.sum().backward()
        np.testing.assert_array_equal(t.grad.numpy(), 2 * z)


def test_frequencies_and_shifts_are_numpys() -> None:
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            got = getattr(wf.fft, name)(n, d=0.1, dtype=wf.float64)
            np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(n, 0.1), rtol=1e-15)
    x = RNG.normal(size=(3, 4, 5))
    for axes in (None, 1, (0, 2)):
        for name in ("fftshift", "ifftshift"):
            got = getattr(wf.fft, name)(wf.tensor(x), axes=axes).numpy()
            np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes))


ERRORS: list[tuple[Callable[[wf.Tensor], Any], type[Exception], str]] = [
    (wf.fft.rfft, E.DTypeError, "rfft: of real numbers, not complex64"),
    (lambda z: wf.fft.fft(z, n=0), E.ArgumentError, "fft: n must be at least 1, not 0"),
    (lambda z: wf.fft.fft(z, axis=2), E.AxisError, "fft: axis 2 is out of range"),
    (lambda z: wf.fft.fft(z, norm="no"), E.ArgumentError, "fft: norm must be"),
    (lambda z: wf.fft.fftn(z, s=(2,), axes=(0, 1)), E.ShapeError, "1 extents for 2 axes"),
    (lambda z: wf.fft.fftn(z, axes=2), E.AxisError, "fftn: axis 2 is out of range"),
    (lambda z: wf.fft.ifftn(z, axes="0"), E.DTypeError, "ifftn: axes must be an int, not '0'"),
    (lambda z: wf.fft.fft(z[:, :0]), E.ShapeError, "has no elements"),
    (lambda z: wf.fft.fftfreq(0), E.ArgumentError, "fftfreq: n must be at least 1"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors_name_the_function(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(wf.tensor([[1j, 2, 3]]))
