"""The NumPy interpreter of the Graph against plain NumPy, on every row of the op table."""

from __future__ import annotations

import warnings
import zlib
from itertools import product

import numpy as np
import pytest
from optable import FAMILIES, ROWS, Row, assert_matches, leaves, named_in_errors, values
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import node
from weft.ir.graph.op import JOINT, OF_GRAPHS, REGIONAL, Op
from weft.ir.ops.interp import EVALUATORS, run

SERIAL = iter(range(10**6, 10**7))


@pytest.mark.parametrize("op", FAMILIES)
def test_rows_equal_numpy(op: str) -> None:
    for row, specials in product(FAMILIES[op], (False, True)):
        with named_in_errors(row):
            _compare(row, specials)


def _compare(row: Row, specials: bool) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments, arrays = leaves(row), values(row, rng, specials)
    root = row.build(*arguments)
    graph.verify([root])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (got,) = run([root], dict(zip(arguments, arrays, strict=True)))
    with np.errstate(all="ignore"):
        want = np.asarray(row.reference(*arrays), dtype=root.dtype.numpy)
    assert_matches(got, want, row.ulp, row.magnitude)


def test_every_graph_op_has_an_evaluator() -> None:
    assert set(EVALUATORS) == OF_GRAPHS - {Op.INPUT} - REGIONAL | {Op.FFT}  # which a pass makes


def test_every_graph_op_is_in_the_table() -> None:
    built = set()
    for row in ROWS:
        built |= {n.op for n in graph.toposort([row.build(*leaves(row))])}
    assert built >= OF_GRAPHS - {Op.COPY, Op.HOST} - JOINT


def test_row_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def _on(op: Op, *arrays: np.ndarray, arg: object = None) -> np.ndarray:
    sources = [graph.leaf(next(SERIAL), dt.BY_NAME[a.dtype.name], a.shape) for a in arrays]
    return run([node(op, sources, arg)], dict(zip(sources, arrays, strict=True)))[0]


def test_integer_division_by_zero_is_zero() -> None:
    x, zero = np.array([5, -5], np.int32), np.zeros(2, np.int32)
    assert _on(Op.IDIV, x, zero).tolist() == [0, 0]
    assert _on(Op.MOD, x, zero).tolist() == [0, 0]


def test_least_integer_over_minus_one_wraps() -> None:
    least = np.array([np.iinfo(np.int64).min])
    assert _on(Op.IDIV, least, np.array([-1])).tolist() == least.tolist()
    assert _on(Op.MOD, least, np.array([-1])).tolist() == [0]


def test_shifts_by_the_width_or_more() -> None:
    x = np.array([-1, 1, -8], np.int32)
    by = np.array([32, 40, 63], np.int32)
    assert _on(Op.SHL, x, by).tolist() == [0, 0, 0]
    assert _on(Op.SHR, x, by).tolist() == [-1, 0, -1]


def test_max_propagates_nan_from_either_side() -> None:
    nan, one = np.array([np.nan, 1.0]), np.array([1.0, np.nan])
    assert np.isnan(_on(Op.MAX, nan, one)).all()
    assert np.isnan(_on(Op.REDUCE, nan, arg=("max", (0,))))


def test_cast_saturates() -> None:
    x = np.array([1e30, -1e30, np.nan, 2.9, -2.9], np.float32)
    assert _on(Op.CAST, x, arg=dt.int32).tolist() == [2**31 - 1, -(2**31), 0, 2, -2]
    assert _on(Op.CAST, x, arg=dt.uint8).tolist() == [255, 0, 0, 2, 0]
    assert _on(Op.CAST, x, arg=dt.int64).tolist() == [2**63 - 1, -(2**63), 0, 2, -2]


@pytest.mark.parametrize(("kind", "identity"), [("add", 0.0), ("mul", 1.0), ("max", -np.inf)])
def test_reduction_of_nothing_is_the_identity(kind: str, identity: float) -> None:
    assert _on(Op.REDUCE, np.zeros((2, 0)), arg=(kind, (1,))).tolist() == [identity, identity]


def test_erf_at_the_ends() -> None:
    assert _on(Op.ERF, np.array([np.inf, -np.inf, 0.0, np.nan]))[:3].tolist() == [1.0, -1.0, 0.0]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_index_out_of_range_raises(wrong: int) -> None:
    with pytest.raises(IndexError, match=f"index {wrong} is out of range for axis 1 of extent 3"):
        _on(Op.GATHER, np.zeros((2, 3)), np.array([0, wrong]), arg=(1,))
    with pytest.raises(IndexError):
        _on(Op.SCATTER, np.zeros(2), np.array([0, wrong]), arg=((0,), (3,)))


@pytest.mark.slow
def test_long_chain_runs_and_drops_values() -> None:
    x = graph.leaf(next(SERIAL), dt.float32, (1000,))
    y = x
    for _ in range(20_000):
        y = node(Op.ADD, (y, x))
    (got,) = run([y], {x: np.ones(1000, np.float32)})
    assert got[0] == 20_001
