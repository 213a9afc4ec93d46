"""Statements for tensor cores: what they mean, how they print, what the verifier refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loopkit import argument, dt, interpreted, load
from weft.ir.graph.index import Index, Range, Var, mask_of, var
from weft.ir.loops.loop import (
    GRID,
    LANES,
    SCRATCH,
    THREAD,
    Alloc,
    Buf,
    Commit,
    Copy,
    For,
    Loops,
    Matrix,
    Multiply,
    Stmt,
    Store,
    Wait,
)
from weft.ir.loops.tensor_core_layout import places
from weft.ir.loops.text import show
from weft.ir.loops.verify import LoopError, verify
from weft.ir.program.in_place import Accesses

M, N, K = 16, 16, 16
A, B, OUT = (
    argument("a", dt.float32, M * K),
    argument("b", dt.float32, K * N),
    argument("out", dt.float32, M * N),
)
ROWS, LANES_TILE = Buf("rows", dt.float32, M * K, SCRATCH), Buf("lanes", dt.float32, K * N, SCRATCH)
ACC = Buf("acc", dt.float32, M * N, THREAD)
PRODUCT = Multiply(
    ACC, Matrix(ROWS, Index(), K, 1), Matrix(LANES_TILE, Index(), 1, N), (M, N, K), (16, 16)
)


def copied(source: Buf, to: Buf, rows: int = M) -> Stmt:
    """A tile, of which the rows behind some are zeros."""
    piece = Var("piece", to.size // 4)
    mask = mask_of([Range(var(piece), 0, rows * K // 4)])
    return For(
        piece, piece.extent, LANES, [Copy(to, var(piece) * 4, source, var(piece) * 4, 4, mask)]
    )


def program(*body: Stmt) -> Loops:
    out = Var("o", M * N)
    store = For(out, out.extent, LANES, [Store(OUT, var(out), load(ACC, var(out)))])
    stmts = [Alloc(ROWS), Alloc(LANES_TILE), Alloc(ACC, 1.0), *body, store]
    return Loops("product", (A, B, OUT), (), [For(Var("g", 1), 1, GRID, stmts)], threads=(32,))


def values() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    whole = [rng.integers(-8, 8, n).astype(np.float32) for n in (M * K, K * N)]
    return [*whole, np.zeros(M * N, np.float32)]


def in_fragments(total: np.ndarray) -> np.ndarray:
    row, lane = places((M, N), (16, 16))
    return total[row, lane]


def run(loops: Loops) -> np.ndarray:
    verify(loops)
    return interpreted(loops, values())[0][2]


def test_a_product_of_copies_is_added_to_the_sums() -> None:
    a, b, _ = values()
    loops = program(copied(A, ROWS), copied(B, LANES_TILE), Commit(), Wait(0), PRODUCT)
    np.testing.assert_array_equal(run(loops), in_fragments(a.reshape(M, K) @ b.reshape(K, N) + 1))


def test_copies_are_zero_where_the_mask_does_not_hold() -> None:
    a, b, _ = values()
    a[5 * K :] = 0
    loops = program(copied(A, ROWS, rows=5), copied(B, LANES_TILE), Commit(), Wait(0), PRODUCT)
    np.testing.assert_array_equal(run(loops), in_fragments(a.reshape(M, K) @ b.reshape(K, N) + 1))


def test_what_nobody_waits_for_has_not_arrived() -> None:
    loops = program(copied(A, ROWS), Commit(), copied(B, LANES_TILE), Commit(), Wait(1), PRODUCT)
    assert np.isnan(run(loops)).any()


def test_float32_factors_are_rounded_to_tf32() -> None:
    a, b, out = values()
    a[:] = 1 + 2.0**-12
    loops = program(copied(A, ROWS), copied(B, LANES_TILE), Commit(), Wait(0), PRODUCT)
    got = interpreted(loops, [a, b, out])[0][2]
    np.testing.assert_array_equal(
        got, in_fragments(np.ones((M, K), np.float32) @ b.reshape(K, N) + 1)
    )


def test_the_text_tells_every_part_of_a_statement() -> None:
    text = show(program(copied(A, ROWS, rows=5), Commit(), Wait(0), PRODUCT))
    for line in (
        "copy rows[4*piece], a[4*piece] x4 if 0 <= piece < 20",
        "commit",
        "wait for all but 0",
        "acc += rows[0 + 16i + 1k] @ lanes[0 + 1i + 16k], 16x16x16 by warps of 16x16",
    ):
        assert f"    {line}\n" in text, text


@pytest.mark.parametrize("shape", [(128, 64), (32, 96), (16, 16)])
def test_every_sum_has_one_place(shape: tuple[int, int]) -> None:
    row, lane = places(shape, (16, 16))
    assert sorted(zip(row, lane, strict=True)) == [
        (i, j) for i in range(shape[0]) for j in range(shape[1])
    ]


PIECE = Copy(ROWS, Index(), A, Index(), 4)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(PIECE, index=Index(const=2)),
        replace(PIECE, size=8),
        replace(PIECE, at=Index(const=M * K)),
        replace(PIECE, source=ROWS),
        replace(PRODUCT, shape=(M, N, 12)),
        replace(PRODUCT, part=(16, 8)),
        replace(PRODUCT, rows=Matrix(ROWS, Index(const=4), K, 1)),
        replace(PRODUCT, rows=Matrix(ROWS, Index(), K, 2)),
        For(Var("t", 32), 32, LANES, [PRODUCT]),
        For(Var("t", 32), 32, LANES, [Wait(0)]),
    ],
    ids=lambda s: type(s).__name__,
)
def test_the_verifier_refuses(wrong: Stmt) -> None:
    with pytest.raises(LoopError):
        verify(program(wrong))


def test_what_is_copied_counts_as_read() -> None:
    """An output that takes the memory of the input would overwrite what is still to be copied."""
    o = Var("o", M * N)
    write = For(o, o.extent, LANES, [Store(OUT, var(o), load(A, var(o)))])
    assert Accesses(program(write)).in_place(A, OUT)
    assert not Accesses(program(copied(A, ROWS), write)).in_place(A, OUT)
