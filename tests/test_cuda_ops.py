"""Every op as CUDA C on the emulated device, against the oracle: values, special values, gradients, orders of threads."""

from __future__ import annotations

import re
import zlib

import numpy as np
import pytest
from cudakit import ORDERS, Programs, compiled, execute, in_order, needs_compiler
from harness import assert_close, assert_same_bits, leaf
from optable import ROWS, Row, assert_matches, leaves, values
from weft.ir.gradient.gradient import vjp
from weft.ir.graph.graph import Node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run as oracle

pytestmark = needs_compiler

WHOLE = ("float32", "float64", "int32", "bfloat16")  # dtypes whose every row runs; of the others, each op once
SMOKE = 7  # of the rows of other dtypes, every seventh


def _is_whole(row: Row) -> bool:
    return any(re.search(rf"(^|-){d}(-|$)", row.name) for d in WHOLE)


_OTHERS = [r for r in ROWS if not _is_whole(r)]
TABLE = [r for r in ROWS if _is_whole(r)] + _OTHERS[::SMOKE]


def _program(row: Row):  # type: ignore[no-untyped-def]
    arguments = leaves(row)
    outputs = [row.build(*arguments)]
    return arguments, outputs, compiled(outputs)


_programs = Programs(TABLE, _program)


def _is_ordered(output: Node) -> bool:
    """Where a product overflows depends on its order."""
    return not (output.op is Op.REDUCE and output.arg[0] == "mul")


@pytest.mark.parametrize("row", TABLE, ids=lambda r: r.name)
def test_row_equals_the_oracle_in_any_order_of_threads(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, outputs, program = _programs[row]
    for specials in (False, True)[: 1 + _is_ordered(outputs[0])]:
        env = dict(zip(arguments, values(row, rng, specials), strict=True))
        (got,), (want,) = execute(program, outputs, env), oracle(outputs, env)
        assert_matches(got, np.asarray(want), row.ulp, row.magnitude)
        for order in list(ORDERS)[1:]:
            with in_order(order, seed=zlib.crc32(row.name.encode())):
                assert_same_bits(execute(program, outputs, env), [got])


DIFFERENTIABLE = [r for r in ROWS if r.differentiable and r.name.endswith("float32")]


def _gradient(row: Row):  # type: ignore[no-untyped-def]
    arguments = leaves(row)
    output = row.build(*arguments)
    seed = leaf(*output.shape, dtype=output.dtype)
    found = [d for d in vjp([output], [seed], [a for a in arguments if a.dtype.is_float]) if d is not None]
    return arguments, output, seed, found, compiled(found)


_gradients = Programs(DIFFERENTIABLE, _gradient)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_gradient_of_row_equals_the_oracle(row: Row) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, output, seed, found, program = _gradients[row]
    env = dict(zip(arguments, values(row, rng), strict=True)) | {seed: rng.standard_normal(output.shape).astype(np.float32)}
    with in_order("random", seed=1):
        results = execute(program, found, env)
    for got, want in zip(results, oracle(found, env), strict=True):
        assert_close(got, np.asarray(want), 1e-4)
