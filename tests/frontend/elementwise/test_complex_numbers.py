"""Complex numbers. In: functions of complex Tensors. Out: NumPy's values, and gradients that equal
central differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from weft.inspection.explain.explain import compiled_behind

Array = np.ndarray[Any, Any]
Function = Callable[[Any], Any]
E = wf.errors
RNG = np.random.default_rng(5)
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.5, np.inf, -np.inf, np.nan]
SPECIAL = np.array([complex(a, b) for a in VALUES for b in VALUES])
NUMPYS = {f"a{f}": f"arc{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
PLAIN = ("exp", "log", "log2", "log10", "sqrt", "sin", "cos", "sinh", "cosh", *NUMPYS)
OF_SPECIALS = (*PLAIN, "abs", "angle", "conj", "isnan", "isinf", "isfinite", "square")
SMOOTH: dict[str, Function] = {
    **{name: getattr(wf, name) for name in (*PLAIN, "tan", "tanh", "expm1", "log1p", "reciprocal")},
    **{name: getattr(wf, name) for name in ("abs", "sign", "angle", "conj", "real", "imag")},
    "divide": lambda z: z / (2 * z + 1j),
    "divide by real": lambda z: z / (1.5 + z.real**2),
    "cube": lambda z: z**3,
    "inverse cube": lambda z: z**-3,
    "power": lambda z: z ** (0.3 + 1j),
    "power of itself": lambda z: z**z,
    "sum": lambda z: z.sum(),
    "mean": lambda z: z.mean(),
    "var": lambda z: z.var(),
    "norm": lambda z: z.norm(),
    "prod": lambda z: z.prod(),
    "cumsum": lambda z: z.cumsum(0),
    "cumprod": lambda z: z.cumprod(0),
    "matmul": lambda z: z.reshape(2, 3) @ z.reshape(3, 2).conj(),
    "outer": lambda z: wf.outer(z, z.conj()),
    "index": lambda z: z[wf.tensor([1, 1, 2])],
    "join": lambda z: wf.concat([z, z * z])[::2],
    "scan": lambda z: wf.scan(lambda c, x: (c * x + 1, c), z[0] * 0 + 1j, z)[0],
}

# compositions like those of others
ALIKE = (
    "acos", "asinh", "acosh", "atanh", "log2", "log10", "cos", "cosh", "sinh", "tan",
    "inverse cube", "divide by real",
)  # fmt: skip


def same(a: Array, b: Array, rtol: float) -> Array:
    """Equal, NaN to NaN and zeros with their signs, or near."""
    near = np.abs(a - b) <= rtol * np.maximum(np.abs(a), np.abs(b))
    both_nan = np.isnan(a) & np.isnan(b)
    signs = (a != 0) | (np.signbit(a) == np.signbit(b))
    return both_nan | (((a == b) | near) & signs)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OF_SPECIALS)
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    z = SPECIAL.astype(dtype)
    rtol = 1e-5 if dtype == "complex64" else 1e-13
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = np.asarray(getattr(np, NUMPYS.get(name, name))(z))
        got = getattr(wf, name)(wf.tensor(z)).numpy()
        assert got.dtype == want.dtype
        if want.dtype.kind != "c":
            assert same(got.astype(float), want.astype(float), rtol).all()
            return
        # C leaves the signs of zeros beside a NaN open, and those at no angle at all
        open_signs = np.isnan(want.real) | np.isnan(want.imag) | ~np.isfinite(z.imag)
        for part in (np.real, np.imag):
            a, b = (np.where(open_signs, np.abs(part(x)), part(x)) for x in (got, want))
            assert same(a, b, rtol).all(), z[~same(a, b, rtol)]


def test_signs_of_zeros_are_the_standards_where_numpy_has_others() -> None:
    inf, nan = np.inf, np.nan
    z = [complex(inf, 2), complex(inf, -2), complex(-inf, 1), complex(inf, inf), complex(inf, nan)]
    want = [1 + 0j, complex(1, -0.0), complex(-1, 0.0), 1 + 0j, 1 + 0j]
    assert [*map(repr, wf.tanh(wf.tensor(z)).tolist())] == [*map(repr, want)]
    assert repr(wf.expm1(wf.tensor(complex(-0.0, 0.0))).item()) == repr(0j)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", ["tan", "tanh", "expm1", "log1p", "sign", "reciprocal", "round"])
def test_values_are_numpys(name: str) -> None:
    z = RNG.normal(size=200) * 3 + 3j * RNG.normal(size=200)
    want = getattr(np, name, lambda x: 1 / x)(z)
    np.testing.assert_allclose(getattr(wf, name)(wf.tensor(z)).numpy(), want, rtol=1e-12)


def _differences(loss: Function, z: Array) -> Array:
    """dL/dx + i dL/dy."""
    out, step = np.zeros_like(z), 1e-6
    for i in range(z.size):
        for direction in (1, 1j):
            ahead, behind = z.copy(), z.copy()
            ahead[i] += step * direction
            behind[i] -= step * direction
            out[i] += direction * (loss(ahead) - loss(behind)) / (2 * step)
    return out


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("name", [*(n for n in SMOOTH if n not in ALIKE), *rarely(*ALIKE)])
def test_gradients_are_central_differences(name: str) -> None:
    z, (u, v) = 0.7 * (RNG.normal(size=6) + 1j * RNG.normal(size=6)), RNG.normal(size=2)

    def loss(z: wf.Tensor) -> wf.Tensor:
        y = SMOOTH[name](z)
        return (y * complex(u, v)).real.sum() if y.dtype.is_complex else y.sum()

    at = wf.tensor(z)
    want = _differences(lambda a: loss(wf.tensor(a)).item(), z)
    got = wf.grad(loss(at), at)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-7 * np.abs(want).max())
    # forward along t: the real part of the gradient's inner product with it
    tangent = wf.tensor(RNG.normal(size=6) + 1j * RNG.normal(size=6))
    _, pushed = wf.jvp(loss, (at,), (tangent,))
    assert pushed.item() == pytest.approx((got.conj() * tangent).real.sum().item(), rel=1e-9)


@pytest.mark.slow
def test_second_derivatives_of_a_complex_function() -> None:
    z = RNG.normal(size=5) + 1j * RNG.normal(size=5)

    def slope(z: wf.Tensor) -> wf.Tensor:
        return wf.grad((wf.exp(z) * z.conj()).real.sum(), z).abs().sum()

    at = wf.tensor(z)
    want = _differences(lambda a: slope(wf.tensor(a)).item(), z)
    np.testing.assert_allclose(wf.grad(slope(at), at).numpy(), want, rtol=1e-6)


@examples(25)
@given(st.data())
def test_products_of_matrices_are_numpys(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(0, 40)) for _ in range(3))
    batch = data.draw(st.sampled_from([(), (3,), (2, 1)]))
    dtype = data.draw(st.sampled_from(["complex64", "complex128"]))
    conj, turned = data.draw(st.booleans()), data.draw(st.booleans())
    a = (RNG.normal(size=(*batch, m, k)) + 1j * RNG.normal(size=(*batch, m, k))).astype(dtype)
    b = (RNG.normal(size=(n, k) if turned else (k, n)) + 1j).astype(dtype)
    x, y = wf.tensor(a), wf.tensor(b)
    got = (x.conj() if conj else x) @ (y.mT if turned else y)
    want = (a.conj() if conj else a) @ (b.T if turned else b)
    assert got.dtype.name == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=20 * eps * (k + 1) ** 0.5 + eps)


@pytest.mark.parametrize("n", [5001, 1 << 14])
def test_a_carry_of_complex_values_is_overwritten(n: int) -> None:
    z, c = (0.5 * np.exp(1j * RNG.normal(size=n)) for _ in range(2))
    offset = wf.tensor(c)
    found = wf.fori_loop(0, 4, lambda i, x: x * x.conj() - x * offset, wf.tensor(z))
    assert "in place  1 of 1" in str(wf.explain(found))
    for _ in range(4):
        z = z * z.conj() - z * c
    np.testing.assert_allclose(found.numpy(), z, rtol=1e-12, atol=1e-12)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("shapes", [((48, 64), (64, 80)), ((8, 64), (64, 80)), ((96, 64), (64, 9))])
@pytest.mark.parametrize("turned", [(), (0,), (1,), (0, 1)], ids=str)
def test_one_kernel_makes_the_matrix_of_a_product(
    shapes: tuple[tuple[int, ...], ...], turned: tuple[int, ...]
) -> None:
    a, b = (RNG.normal(size=s) + 1j * RNG.normal(size=s) for s in shapes)
    x, y = (
        wf.tensor(np.ascontiguousarray(m.T)).T if k in turned else wf.tensor(m)
        for k, m in enumerate((a, b))
    )
    found = compiled_behind("explain", [x @ y], (), {})
    assert found is not None
    making, _ = found.in_order()
    text = found.texts(making)["ll"]
    assert "masked.scatter" not in text and "masked.gather" not in text
    np.testing.assert_allclose((x @ y).numpy(), a @ b, rtol=1e-11)


def test_a_product_with_a_real_matrix_computes_no_zeros() -> None:
    z, r = wf.tensor(RNG.normal(size=(64, 64)) * (1 + 2j)), wf.tensor(RNG.normal(size=(64, 64)))
    report = wf.explain(z @ r)
    assert sum(k.flops for k in report.kernels) < 5 * 64**3
    np.testing.assert_allclose((z @ r).numpy(), z.numpy() @ r.numpy(), rtol=1e-12)


ONE_KERNEL: dict[str, Function] = {
    "product": lambda z: z * z[::-1],
    "sums and products": lambda z: (z + 1) * z - z,
    "quotient": lambda z: z / (z + 2),
    "conjugate": lambda z: z.conj(),
    "magnitude": abs,
    "scaled": lambda z: z * (2 - 1j),
    "rows": lambda z: z * z[..., :1],
    "turned": lambda z: z.T * (1j + z.T),
    "sums of products": lambda z: (z * z).sum(-1),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(64, 48), (131, 37), (3, 1001), (2,)], ids=str)
@pytest.mark.parametrize("name", ONE_KERNEL)
def test_a_map_of_complex_values_is_one_kernel(
    name: str, shape: tuple[int, ...], dtype: str
) -> None:
    a = (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    call, z = ONE_KERNEL[name], wf.tensor(a)
    assert len(wf.explain(call(z)).kernels) == 1
    np.testing.assert_allclose(call(z).numpy(), call(a), rtol=2e3 * np.finfo(dtype).eps)


def test_parts_of_complex_values_move_as_whole_vectors() -> None:
    z = wf.tensor(RNG.normal(size=1 << 14) * (1 + 2j))
    found = compiled_behind("explain", [z * z], (), {})
    assert found is not None
    (kernel,) = found.in_order()
    text = found.texts(kernel)["ll"]
    assert "masked" not in text and text.count("  store <") == 2 == text.count(" = load <")


def test_arithmetic_meets_numpys_dtypes_and_values() -> None:
    z = wf.tensor([1 + 2j, 3 - 1j])
    assert z.dtype is wf.complex64 and wf.tensor([1j], dtype=wf.complex128).dtype is wf.complex128
    x = wf.tensor([2.0, 0.5], dtype=wf.float64)
    assert (z + 1).dtype is (z * 2.5).dtype is (2j / z).dtype is wf.complex64
    assert (z + x).dtype is (x * 1j).dtype is wf.complex128
    assert (wf.tensor([1, 2]) * 1j).dtype is wf.complex64
    assert z.real.dtype is z.imag.dtype is abs(z).dtype is z.angle().dtype is wf.float32
    assert (z == z).tolist() == [True, True] and (z != 1 + 2j).tolist() == [False, True]
    assert (z * z - 1).tolist() == [-4 + 4j, 7 - 6j] and z[0].item() == 1 + 2j
    assert complex(z[0]) == 1 + 2j and wf.complex(x, x).dtype is wf.complex128
    assert wf.unique(wf.tensor([1j, 1, 1j])).tolist() == [1j, 1]
    assert z.sum().tolist() == 4 + 1j and bool(z.any()) and bool(z.all())
    assert wf.full((2,), 1j).tolist() == [1j, 1j] and wf.where(x > 1, z, 0).tolist() == [1 + 2j, 0]


def test_memory_is_shared_with_numpy_and_saved(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.complex64).reshape(2, 3) * 1j
    x = wf.from_numpy(array)
    assert np.shares_memory(x.numpy(), array)
    assert np.shares_memory(np.from_dlpack(x.realize()), array)
    assert wf.from_dlpack(array).dtype is wf.complex64
    module = wf.nn.Module()
    module.x = wf.nn.Buffer(x)
    wf.nn.save(tmp_path / "x.safetensors", module=module)
    (saved,) = load_file(tmp_path / "x.safetensors").values()
    np.testing.assert_array_equal(saved, array)
    assert repr(x[0, 1:].realize()) == "tensor([0.+1.j, 0.+2.j], dtype=complex64)"


def test_jit_vmap_and_loops_take_complex_values() -> None:
    z = wf.tensor(RNG.normal(size=(4, 5)) + 1j * RNG.normal(size=(4, 5)))
    n = z.numpy()
    f = wf.jit(lambda z, s: wf.exp(z * s).sum())
    for s in (2.0, 3.0):
        assert f(z, s).item() == pytest.approx(np.exp(n * s).sum(), rel=1e-12)
    rows = wf.vmap(lambda a: (a * a).sum())(z)
    np.testing.assert_allclose(rows.numpy(), (n * n).sum(1), rtol=1e-12)
    last = wf.while_loop(lambda c: abs(c) < 100, lambda c: c * (1 + 1j), wf.tensor(1j))
    assert last.item() == pytest.approx(1j * (1 + 1j) ** 14)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda z: z < z, "less: not defined for complex64: complex numbers have no order"),
        (lambda z: z.max(), "max: not defined for complex64"),
        (lambda z: z.float(), "complex64 cannot be cast to float32"),
        (lambda z: z.floor(), "floor: not defined for complex64"),
        (lambda z: z % 2, "remainder: not defined for complex64"),
        (lambda z: z.erf(), "erf: not defined for complex64"),
        (lambda z: z & z, "bitwise_and: defined for bool and integers"),
        (lambda z: wf.multinomial(z, 1), "multinomial: probs must be real, not complex64"),
        (lambda z: wf.full((2,), 1j, dtype=wf.float32), "1j is complex, float32 is not"),
        (float, r"float: \(1\+2j\) is complex: take x.real, x.imag or abs"),
        (int, r"int: \(1\+2j\) is complex"),
    ],
)
def test_what_has_no_complex_values_says_so(call: Function, text: str) -> None:
    with pytest.raises(E.DTypeError, match=text):
        call(wf.tensor([1 + 2j]))


def test_a_complex_loss_has_no_gradient() -> None:
    z = wf.tensor([1 + 2j], requires_grad=True)
    with pytest.raises(E.GradientError, match="complex value has no gradient of its own"):
        (z * z).sum().backward()
    (z * z).sum().real.backward()
    assert z.grad is not None and z.grad.tolist() == [2 - 4j]
