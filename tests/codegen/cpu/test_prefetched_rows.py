"""Where kernels of rows ask for the next row: while a costly loop leaves the memory idle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft.codegen.llvm.target import host
from weft.inspection.explain.explain import compiled_behind
from weft.ir.loops.loop import LANES, For, Prefetch
from weft.ir.loops.walk import statements

COLUMNS = 1000
ROWS = host().l2 // (4 * COLUMNS) + 1


def hints(x: wf.Tensor) -> list[list[int]]:
    """How many hints each loop over lanes of each kernel has."""
    found = compiled_behind("explain", [x], (), {})
    assert found is not None
    loops = [
        [s for s in statements(k.step.loops.phases) if isinstance(s, For) and s.kind == LANES]
        for k in found.in_order()
    ]
    return [
        [sum(isinstance(s, Prefetch) for s in loop.body) for loop in kernel] for kernel in loops
    ]


def rows(count: int = ROWS, columns: int = COLUMNS) -> wf.Tensor:
    return wf.tensor(np.zeros((count, columns), np.float32))


def test_the_costliest_loop_over_a_row_asks_for_the_next_one() -> None:
    assert hints(rows().softmax(axis=-1)) == [[0, 1, 0]]  # maximum, sum of exponentials, quotients
    assert hints(rows().logsumexp(axis=-1)) == [[0, 1]]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "computed",
    [
        lambda: rows().var(axis=-1),  # cheap loops: the processor reads ahead itself
        lambda: rows().sum(axis=-1),
        lambda: rows(ROWS // 2).softmax(axis=-1),  # in the cache already
        lambda: rows(100 * ROWS, COLUMNS // 100).softmax(axis=-1),  # the next row is near enough
        lambda: rows(2 * host().l3 // host().l2, host().l2 // 4).softmax(
            axis=-1
        ),  # no cache would keep it
    ],
)
def test_others_ask_for_nothing(computed: Callable[[], wf.Tensor]) -> None:
    assert not any(sum(kernel) for kernel in hints(computed()))


def test_hints_change_no_value() -> None:
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    expected = np.log(np.exp(x.astype(np.float64)).sum(axis=1))
    assert np.allclose(wf.tensor(x).logsumexp(axis=-1).numpy(), expected, rtol=1e-6)
