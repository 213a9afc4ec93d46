"""Tiny kernels: one lane and fast compilation change no value, and only small work gets them."""

from __future__ import annotations

import re
import zlib

import graphs as g
import numpy as np
import pytest
from effort import rarely
from fuzz import Hits, Unsuitable, compare_case, random_case, seeded
from harness import TARGETS, compiled, execute, inputs_of, leaf, schedules
from optable import ROWS, Row, assert_matches, leaves, values
from weft.codegen.kernels.loop_axes import TINY_WORK
from weft.ir.graph.graph import expand, node, reduce, toposort
from weft.ir.graph.op import Op
from weft.ir.loops.loop import GRID, SERIAL, For
from weft.ir.loops.walk import statements

DEFAULTS = {
    "serial_threshold": None,
    "min_chunks": 1,
}  # what users run; the harness forces threads and chunks, so never tiny


def is_map(row: Row) -> bool:
    outputs = [row.build(*leaves(row))]
    return not any(n.op in (Op.REDUCE, Op.SCAN, Op.SCATTER) for n in toposort(outputs))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("row", [r for r in ROWS if is_map(r)], ids=lambda r: r.name)
def test_one_lane_gives_the_bits_of_many(row: Row) -> None:
    for target in TARGETS:
        _compare_lanes(row, target)


def _compare_lanes(row: Row, target: str) -> None:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments = leaves(row)
    outputs = [row.build(*arguments)]
    programs = [compiled(outputs, target=target, **options) for options in ({}, DEFAULTS)]
    for specials in (False, True):
        env = dict(zip(arguments, values(row, rng, specials), strict=True))
        wide, narrow = (execute(program, outputs, env) for program in programs)
        assert_matches(narrow[0], wide[0])


@pytest.mark.parametrize("first", [0, *rarely(*range(10, 120, 10))])
def test_random_graphs_agree(first: int) -> None:
    hits = Hits()
    for seed in range(first, first + 10):
        try:
            compare_case(
                random_case(seeded(seed), exact=seed % 5 == 0),
                hits,
                exact=seed % 5 == 0,
                **DEFAULTS,
            )
        except Unsuitable:
            continue
    assert hits.counts["schedule tiny"]


def test_only_small_work_is_tiny() -> None:
    for extents, kind in (
        ((TINY_WORK - 1,), "tiny"),
        ((TINY_WORK,), "flat"),
        ((8, TINY_WORK // 8 - 1), "tiny"),
    ):
        x = leaf(*extents)
        assert schedules(compiled([g.add(x, x)], **DEFAULTS)) == [kind]
    assert schedules(compiled([g.add(leaf(4), leaf(4))])) == ["flat"]  # where threads are forced


def test_sums_in_blocks_are_not_tiny() -> None:
    """Lanes of 128 bits add up 1,500 terms in blocks: scalar code would add them in another
    order."""
    for target, kind in (("sse2", "rows"), ("avx2", "tiny")):
        assert schedules(
            compiled([reduce("add", leaf(1500), (0,))], target=target, **DEFAULTS)
        ) == [kind]


def test_tiny_kernels_have_no_lanes() -> None:
    x, index = leaf(4, 5), leaf(6, dtype=g.dt.int64)
    outputs = [
        g.softmax(x),
        g.node(Op.ARGSORT, (x,), (1, False)),
        g.node(Op.GATHER, (x, index), (0,)),
        g.node(Op.SCAN, (x,), 1),
    ]
    outputs.append(g.node(Op.SCATTER, (leaf(6, 5), index), ((0,), (4, 5))))
    program = compiled(outputs, **DEFAULTS)
    assert inputs_of(outputs) and all(call.loops.tiny for call in program.program.calls)
    loops = [
        s
        for call in program.program.calls
        for s in statements(call.loops.phases)
        if isinstance(s, For)
    ]
    assert {s.kind for s in loops} == {GRID, SERIAL}


def test_a_select_reads_no_more_than_one_element() -> None:
    """LLVM's fast instruction selection makes `vblendvps` of a comparison, a load and a select: 16
    bytes for 4."""
    x, y, z = leaf(7, 2), leaf(7, 2), expand(leaf(7), ((1, 2),))
    program = compiled(
        [node(Op.WHERE, (node(Op.EQ, (x, y)), node(Op.FLIP, (y,), (1,)), z))],
        target="avx2",
        **DEFAULTS,
    )
    (kernel,) = program.in_order()
    text = program.texts(kernel)["s"]
    assert (
        kernel.step.loops.tiny and "vcmpeqss" in text and not re.search(r"vblendv\w+\s.*\(", text)
    )
