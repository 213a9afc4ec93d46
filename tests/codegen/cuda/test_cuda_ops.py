"""Every op as CUDA C on the emulated device, against the oracle: values, special values, gradients,
orders of threads."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from cuda_subjects import DIFFERENTIABLE, TABLE
from cudakit import ORDERS, Programs, compiled, execute, in_order, needs_compiler
from effort import taken
from harness import assert_close, assert_same_bits, leaf
from optable import Row, assert_matches, leaves, shown, values
from weft.ir.gradient.gradient import vjp
from weft.ir.graph.graph import Node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run as oracle

pytestmark = needs_compiler


def _program(row: Row):  # type: ignore[no-untyped-def]
    arguments = leaves(row)
    outputs = [row.build(*arguments)]
    return arguments, outputs, compiled(outputs)


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> Programs[Row]:
    return Programs(taken(request, "row"), _program)


def _shown(row: Row) -> list[object]:
    """Its variant of the op, in one of the kinds of dtypes; each conversion between kinds."""
    (variant,), ((op, kinds),) = shown(row)
    return [variant, *kinds, *([(op, kinds)] if op in ("cast", "bitcast") else [])]


def _is_ordered(output: Node) -> bool:
    """Where a product overflows depends on its order."""
    return not (output.op is Op.REDUCE and output.arg[0] == "mul")


@pytest.mark.thinned(by=_shown, to=60)
@pytest.mark.parametrize("row", TABLE, ids=lambda r: r.name)
def test_row_equals_the_oracle_in_any_order_of_threads(row: Row, programs: Programs[Row]) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, outputs, program = programs[row]
    for specials in (False, True)[: 1 + _is_ordered(outputs[0])]:
        env = dict(zip(arguments, values(row, rng, specials), strict=True))
        (got,), (want,) = execute(program, outputs, env), oracle(outputs, env)
        assert_matches(got, np.asarray(want), row.ulp, row.magnitude)
        for order in (
            list(ORDERS)[1:] if not specials else ()
        ):  # a NaN would hide what depends on the order
            with in_order(order, seed=zlib.crc32(row.name.encode())):
                assert_same_bits(execute(program, outputs, env), [got])


def _gradient(row: Row):  # type: ignore[no-untyped-def]
    arguments = leaves(row)
    output = row.build(*arguments)
    seed = leaf(*output.shape, dtype=output.dtype)
    found = [
        d
        for d in vjp([output], [seed], [a for a in arguments if a.dtype.is_float])
        if d is not None
    ]
    return arguments, output, seed, found, compiled(found)


@pytest.fixture(scope="module")
def gradients(request: pytest.FixtureRequest) -> Programs[Row]:
    return Programs(taken(request, "row"), _gradient)


@pytest.mark.thinned(by=lambda row: row.name.split("-")[:2], to=24)
@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_gradient_of_row_equals_the_oracle(row: Row, gradients: Programs[Row]) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, output, seed, found, program = gradients[row]
    env = dict(zip(arguments, values(row, rng), strict=True)) | {
        seed: rng.standard_normal(output.shape).astype(np.float32)
    }
    with in_order("random", seed=1):
        results = execute(program, found, env)
    for got, want in zip(results, oracle(found, env), strict=True):
        assert_close(got, np.asarray(want), 1e-4)
