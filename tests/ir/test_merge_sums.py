"""Slices of sums of products: what is cut off is not computed, whether one slice is read or
several; the values stay right."""

from __future__ import annotations

import harness
import numpy as np
import pytest
from weft.ir.graph.graph import Node, expand, node, reduce
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run
from weft.ir.passes.merge_sums import merge_sums

Slices = tuple[tuple[int, int, int], ...]
SUM = (48, 56)


def matmul() -> Node:
    """a[48, 40] @ b[40, 56]."""
    a, b = harness.leaf(48, 40), harness.leaf(40, 56)
    return reduce("add", node(Op.MUL, (expand(a, ((2, 56),)), expand(b, ((0, 48),)))), (1,))


def slices_after(*cuts: Slices, others: bool = False) -> list[tuple[int, ...]]:
    """The shapes of the sums that remain of a product whose slices are computed; `others`: and the
    whole of it."""
    total = matmul()
    roots = [node(Op.SLICE, (total,), cut) for cut in cuts] + [total] * others
    after = merge_sums(roots)
    env = harness.normal_inputs(roots)
    for a, b in zip(run(roots, env), run(after, env), strict=True):
        assert np.allclose(a, b, atol=1e-5)
    return sorted({n.shape for root in after for n in (root, *root.src) if n.op is Op.REDUCE})


@pytest.mark.parametrize(
    "cuts, shape",
    [
        ([((1, 47, 1), (0, 56, 1))], (46, 56)),
        (
            [((1, 47, 1), (2, 54, 1)), ((5, 6, 1), (2, 3, 1))],
            (46, 52),
        ),  # as a norm reads its first value
        ([((1, 9, 1), (0, 56, 1)), ((20, 24, 1), (8, 16, 1))], (23, 56)),
        ([((1, 9, 2), (0, 56, 7)), ((3, 10, 3), (1, 2, 1))], (9, 56)),
    ],
)
def test_the_block_that_slices_lie_in_is_what_is_computed(
    cuts: list[Slices], shape: tuple[int, int]
) -> None:
    assert slices_after(*cuts) == [shape]


def test_what_is_read_as_a_whole_or_by_slices_that_cover_it_is_computed_as_a_whole() -> None:
    assert slices_after(((1, 47, 1), (0, 56, 1)), others=True) == [SUM]
    assert slices_after(((0, 24, 1), (0, 56, 1)), ((24, 48, 1), (0, 56, 1))) == [SUM]
