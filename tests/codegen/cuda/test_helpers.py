"""What the helpers of CUDA kernels compute of one value or two: casts, integers, floats, as
codegen/cuda/weft.cuh says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from cuda_emulator import build
from cuda_emulator.driver import EmulatorDriver
from cuda_emulator.launching import gpu, run
from cuda_emulator.samples import C_TYPES
from cuda_helpers import (
    BINARY,
    BITCASTS,
    CASTS,
    EXACT,
    FLOATS,
    FMA,
    HALVES,
    INTS,
    LDEXP,
    NEGATIONS,
    OTHERS,
    PACK,
    SAME_WIDTH,
    TEXTS,
)
from weft.ir.graph import bfloat16
from weft.ir.graph import dtype as dt
from weft.ir.graph.op import Op
from weft.ir.loops.interp import OPS
from weft.ir.ops.values import convert
from weft.runtime.cuda.driver import Driver

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")


@cache
def emulated() -> Driver:
    found = EmulatorDriver()
    found.build_many(TEXTS)
    return found


DEVICES: dict[str, Callable[[], Driver | None]] = {"emulated": emulated} | (
    {"gpu": gpu} if gpu() else {}
)
_device: list[Driver | None] = []


@pytest.fixture(autouse=True, params=DEVICES)
def device(request: pytest.FixtureRequest) -> None:
    """Where `apply` runs."""
    _device[:] = [DEVICES[request.param]()]


def apply(text: str, result: Any, *operands: np.ndarray) -> np.ndarray:
    """y = f(a, b) on the device."""
    out = np.empty(operands[0].shape, result)
    return run(_device[0], text, 1, 128, [*operands, out, out.size])[-2]


def carrier(name: str) -> np.dtype[Any]:
    return np.dtype(np.uint16) if name in ("float16", "bfloat16") else np.dtype(name)


def scalar(name: str, bits: Any) -> Any:
    """The value that an element stands for."""
    if name == "bfloat16":
        return bfloat16.values(bits)
    return bits.view(np.float16) if name == "float16" else bits


# ---------------------------------------------------------------- 16-bit floats

EDGES = np.array(
    [0.0, 1.0, 65504.0, 65519.9, 65520.0, 2**-24, 2**-25, 2**-25 * 1.0001, 2**-14, 6e-5, 1 + 2**-11,
        1 + 3 * 2**-11, np.inf,
     3.3895e38, 3.39e38, 3.4e38, 2**-133, 2**-134, 1e-40, 1 + 2**-8, 1 + 3 * 2**-8, np.nan]
)  # fmt: skip


def float32_samples() -> np.ndarray:
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        edges = np.concatenate([EDGES, -EDGES]).astype(np.float32)
    halves = np.arange(65536, dtype=np.uint32)
    near_bf16 = (
        (halves[:, None] << 16 | np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32))
        .ravel()
        .view(np.float32)
    )
    return np.concatenate(
        [edges, near_bf16, rng.integers(0, 2**32, 50_000, np.uint32).view(np.float32)]
    )


def float64_samples() -> np.ndarray:
    """Values between, at and just beside the midpoints of 16-bit floats, where a rounding to
    float32 first goes wrong."""
    bits = np.arange(0, 65536, 7, dtype=np.uint32)
    with np.errstate(all="ignore"):
        middles = np.concatenate(
            [(bits << 16 | 0x8000).view(np.float32).astype(np.float64), float16_middles()]
        )
        return np.concatenate(
            [
                middles,
                middles * (1 + 2**-40),
                middles * (1 - 2**-40),
                EDGES,
                -EDGES,
                [1e300, -1e300, 1e-300],
            ]
        )


def float16_middles() -> np.ndarray:
    halves = np.arange(0, 0x7BFF, dtype=np.uint16)
    low, high = (
        halves.view(np.float16).astype(np.float64),
        (halves + np.uint16(1)).view(np.float16).astype(np.float64),
    )
    return (low + high) / 2


def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bits; or both not a number."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    usual = ~np.isnan(wanted)
    np.testing.assert_array_equal(found[usual], wanted[usual])
    np.testing.assert_array_equal(np.signbit(found[usual]), np.signbit(wanted[usual]))


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("to", FLOATS)
def test_every_16_bit_float_becomes_a_wider_one(name, to):
    bits = np.arange(65536).astype(np.uint16)
    with np.errstate(invalid="ignore"):
        assert_same(apply(CASTS[name, to], to, bits), scalar(name, bits).astype(to))


@pytest.mark.parametrize("samples", [float32_samples, float64_samples])
def test_floats_round_once_to_float16(samples):
    x = samples()
    with np.errstate(all="ignore"):
        assert_same(
            apply(CASTS[x.dtype.name, "float16"], np.uint16, x).view(np.float16),
            x.astype(np.float16),
        )


@pytest.mark.parametrize("samples", [float32_samples, float64_samples])
def test_floats_round_once_to_bfloat16(samples):
    x = samples()
    found = apply(CASTS[x.dtype.name, "bfloat16"], np.uint16, x)
    assert_same(bfloat16.values(found), bfloat16.rounded(x))


def test_rounding_to_bfloat16_is_that_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = float32_samples()
    with np.errstate(all="ignore"):
        wanted = x.astype(ml_dtypes.bfloat16).view(np.uint16)
    found = apply(CASTS["float32", "bfloat16"], np.uint16, x)
    assert_same(bfloat16.values(found), bfloat16.values(wanted))


# ---------------------------------------------------------------- casts


def numbers(name: str) -> np.ndarray:
    """Elements of a dtype: its limits, and what lies at the limits of others."""
    rng = np.random.default_rng(2)
    if name == "bool":
        return np.array([False, True])
    if name in ("float16", "bfloat16"):
        return np.arange(0, 65536, 13).astype(np.uint16)
    powers = np.array([2.0**k for k in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 100)])
    if name in FLOATS:
        x = np.concatenate(
            [powers, powers - 1, powers + 1, powers * (1 - 2**-20), [0.0, 0.5, 1.5, np.inf, np.nan]]
        )
        return np.concatenate([x, -x]).astype(name)
    low, high = dt.limits(dt.BY_NAME[name])
    edges = [
        v
        for k in (0, 1, 7, 8, 15, 16, 24, 31, 32, 53, 54, 62, 63)
        for v in (2**k - 1, 2**k, 2**k + 1, 3 * 2**k // 2)
    ]
    inside = [v for v in (low, high, *edges, *(-v for v in edges)) if low <= v <= high]
    return np.concatenate([np.array(inside, name), rng.integers(low, high, 200, name)])


@pytest.mark.thinned(to=30)
@pytest.mark.parametrize("to", C_TYPES)
@pytest.mark.parametrize("name", C_TYPES)
def test_a_cast_is_that_of_the_interpreters(name, to):
    x = numbers(name)
    with np.errstate(all="ignore"):
        wanted = convert(scalar(name, x), dt.BY_NAME[to])
    found = scalar(to, apply(CASTS[name, to], carrier(to), x))
    with np.errstate(all="ignore"):
        assert_same(found.astype(np.float64), np.array(wanted).astype(np.float64))
    if to in INTS:
        np.testing.assert_array_equal(found, np.array(wanted))


# ---------------------------------------------------------------- operations


def operands(name: str) -> tuple[np.ndarray, np.ndarray]:
    x = numbers(name)
    if name in INTS:
        width = 8 * x.itemsize
        small = [
            v
            for v in (-width - 1, -2, -1, 0, 1, 2, 3, 7, width - 1, width, width + 1)
            if v >= 0 or name[0] == "i"
        ]
        return tuple(
            a.ravel() for a in np.meshgrid(x, np.concatenate([np.array(small, name), x[:9]]))
        )  # type: ignore[return-value]
    return tuple(
        a.ravel()
        for a in np.meshgrid(x, np.concatenate([x[::3], x[-5:], -x[:5] if name != "bool" else x]))
    )  # type: ignore[return-value]


def wrapped(values: list[int], name: str) -> np.ndarray:
    return np.array([v & (2**64 - 1) for v in values], np.uint64).astype(name)


def shift_left(a: int, b: int, width: int) -> int:
    return a << b if 0 <= b < width else 0


def shift_right(a: int, b: int, width: int) -> int:
    return a >> (b if 0 <= b < width else 64)


INTEGER = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "shl": shift_left,
    "shr": shift_right,
    "floordiv": lambda a, b, w: a // b if b else 0,
    "mod": lambda a, b, w: a % b if b else 0,
    "max": lambda a, b, w: max(a, b),
}


@pytest.mark.thinned(to=32)
@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("op", INTEGER)
def test_operations_of_integers_wrap_and_never_trap(op, name):
    a, b = operands(name)
    wanted = [
        INTEGER[op](p, q, 8 * a.itemsize) for p, q in zip(a.tolist(), b.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(apply(BINARY[f"{op}_{name}"], name, a, b), wrapped(wanted, name))


@pytest.mark.parametrize("name", INTS)
def test_negation_wraps(name):
    a = numbers(name)
    np.testing.assert_array_equal(
        apply(NEGATIONS[f"neg_{name}"], name, a), wrapped([-v for v in a.tolist()], name)
    )


@pytest.mark.parametrize("name", FLOATS)
def test_the_remainder_of_floats_is_that_of_numpy(name):
    a, b = operands(name)
    with np.errstate(all="ignore"):
        assert_same(apply(BINARY[f"mod_{name}"], name, a, b), np.remainder(a, b))


@pytest.mark.parametrize("name", FLOATS)
def test_the_maximum_of_floats_keeps_not_a_number_and_the_first_of_equals(name):
    a, b = operands(name)
    assert_same(apply(BINARY[f"max_{name}"], name, a, b), np.where((a >= b) | (a != a), a, b))


@pytest.mark.parametrize("name", FLOATS)
def test_ldexp_rounds_once_down_to_subnormal_numbers(name):
    mantissas = np.array([1.0, -1.5, 1.999, np.pi, 0.0, -0.0, np.inf, np.nan], name)
    exponents = np.concatenate(
        [np.arange(-1200, 1200, 7), [-(2**31), 2**31 - 1, -149, -150, -1074, -1075, 127, 128]]
    )
    a, b = (
        v.ravel()
        for v in np.meshgrid(mantissas, exponents.astype("int32" if name == "float32" else "int64"))
    )
    with np.errstate(all="ignore"):
        assert_same(apply(LDEXP[name], name, a, b), np.ldexp(a, b))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("op", "reference"), [("floor", np.floor), ("sqrt", np.sqrt)])
def test_functions_that_are_rounded_once(op, reference, name):
    a = numbers(name)
    with np.errstate(all="ignore"):
        assert_same(apply(EXACT[op, name], name, a), reference(a))


@pytest.mark.parametrize("name", FLOATS)
def test_fused_products_round_once(name):
    a, b = (v[:1500] for v in operands(name))
    with np.errstate(all="ignore"):
        c = np.where(np.arange(a.size) % 3 > 0, -(a * b), np.resize(numbers(name), a.size)).astype(
            name
        )
        c[~np.isfinite(c)] = 1
        wanted = np.array([OPS[Op.FMA](*v) for v in zip(a, b, c, strict=True)], name)
    assert_same(apply(FMA[name], name, a, b, c), wanted)


@pytest.mark.parametrize("name", HALVES)
def test_two_halves_in_a_word(name):
    a, b = (
        np.array([1.5, -2.25, 1e5, 0.0], np.float32),
        np.array([-0.0, 3.0, 1e-3, 7.0], np.float32),
    )
    halves = [apply(CASTS["float32", name], np.uint16, v).astype(np.uint32) for v in (a, b)]
    np.testing.assert_array_equal(apply(PACK[name], np.uint32, a, b), halves[0] | halves[1] << 16)


@pytest.mark.parametrize("pair", SAME_WIDTH, ids="-".join)
def test_a_bitcast_keeps_the_bits(pair):
    source, to = pair
    x = numbers(source)
    wanted = x != 0 if to == "bool" else x.view(carrier(to))
    found = apply(BITCASTS[pair], carrier(to), x)
    np.testing.assert_array_equal(
        found.view(f"u{found.itemsize}"), wanted.view(f"u{found.itemsize}")
    )


def test_tf32_rounds_ties_away_and_keeps_not_a_number():
    x = np.array(
        [1.0, 1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11, 1 + 2**-12, np.inf, -np.inf, np.nan],
        np.float32,
    )
    wanted = np.array(
        [1.0, 1 + 2**-10, 1 + 2**-9, -1 - 2**-10, 1.0, np.inf, -np.inf, np.nan], np.float32
    )
    assert_same(apply(OTHERS["tf32"], np.uint32, x).view(np.float32), wanted)


def test_an_index_out_of_range_is_0():
    np.testing.assert_array_equal(
        apply(OTHERS["clamped"], np.int64, np.array([-1, 0, 6, 7, 2**62])), [0, 0, 6, 0, 0]
    )


def test_reductions_of_bools_are_or_and_and():
    a, b = np.array([[False, False], [False, True], [True, False], [True, True]]).T
    np.testing.assert_array_equal(apply(OTHERS["combine"], np.bool_, a, b), a | b)
