"""Vectors past the end of a loop read nothing: what all their lanes share would lie behind the
buffer."""

from __future__ import annotations

import os

import graphs as g
import guarded
import numpy as np
import pytest
from harness import compiled, leaf
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph


@pytest.mark.skipif(os.name != "posix", reason="no page protection on this system")
def test_an_element_that_a_vector_repeats_is_read_only_for_a_live_lane() -> None:
    """Four chunks of 6 elements of 20: lanes 4 and 5 of the last one are of a sixth row."""
    row, matrix = leaf(5, dtype=dt.float64), leaf(5, 4, dtype=dt.float64)
    total = g.add(graph.expand(row, ((1, 4),)), matrix)
    program = compiled([total], target="sse2")
    (kernel,) = program.lowered.kernels
    assert "chunks of 6" in kernel.lowered.schedule
    repeated = [line for line in program.texts(kernel)["ll"].split("\n") if "select" in line]
    assert any("ptr %in0" in line for line in repeated)
    env = {row: np.arange(5.0), matrix: np.ones((5, 4))}
    (result,) = guarded.execute(program, [total], env)
    np.testing.assert_array_equal(result, np.arange(5.0)[:, None] + np.ones((5, 4)))
