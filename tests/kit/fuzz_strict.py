"""Strict mode: compiled code has the bits of the interpreter. In: graphs, among them random ones.
Out: comparisons.

`python tests/kit/fuzz_strict.py 20000` (optionally a first seed) compares so many random graphs and
prints those that differ.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import graphs as g
import numpy as np
from fuzz import Case, grown, seeded
from fuzz_graphs import MOVES, Array, Builder, Built, Choose, axes, composite
from harness import assert_same_bits, compiled, execute, schedules
from opspec import assert_matches
from weft.compiler.compile import Compiled
from weft.compiler.programs.interpreted import strictly
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run

TINY = {
    "serial_threshold": None,
    "min_chunks": 1,
}  # what users run; else the harness forces threads and chunks


def compare_strictly(
    outputs: Sequence[Node],
    env: Mapping[Node, Array],
    donations: Mapping[int, int] | None = None,
    threads: Sequence[int] = (2,),
    **opts: Any,
) -> Compiled:
    """Interpreter == compiled on one thread == compiled on more, bit for bit; only NaNs are all
    alike."""
    outputs = list(outputs)
    program = compiled(outputs, env, donations, strict=True, **opts)
    got = execute(program, outputs, env)
    for i, (a, b) in enumerate(zip(got, run(outputs, env, strictly()), strict=True)):
        try:
            assert_matches(a, np.asarray(b))
        except AssertionError as error:
            raise AssertionError(
                f"output {i}, {outputs[i]!r}, by {schedules(program)}: {error}"
            ) from None
    for count in threads:
        assert_same_bits(execute(program, outputs, env, count), got)
    return program


# ---------------------------------------------------------------- random graphs


def total_of_totals(b: Builder) -> Built:
    x = b.float(2)
    inner = b.apply(Op.REDUCE, x, arg=("add", (x.node.ndim - 1,)))
    return b.apply(Op.REDUCE, inner, arg=("add", axes(b, inner)))


def total_of_equal(b: Builder) -> Built:
    x = b.float(1)
    return b.apply(Op.REDUCE, b.constant(b.one_of((0.1, -0.0, 3.7)), x), arg=("add", axes(b, x)))


def long_total(b: Builder) -> Built:
    """Many terms, few or many results, contiguous or not."""
    shape = b.one_of(((3, 6000), (6000, 3), (50, 400), (400, 50), (20_000,), (30, 40, 17)))
    x = b.leaf(shape, b.one_of((dt.float32, dt.float64)))
    if b.choose(2):
        x = b.apply(Op.PERMUTE, x, arg=tuple(reversed(range(x.node.ndim))))
    return b.apply(Op.REDUCE, x, arg=(b.one_of(("add", "max")), axes(b, x)))


def power(b: Builder) -> Built:
    x = b.float()
    return b.apply(Op.POW, b.positive(x), b.constant(b.one_of((0.5, 2, 3, -1, -0.5)), x))


def attention(b: Builder) -> Built:
    shape = (2, b.one_of((5, 33)), 9)
    q, k, v = (b.leaf(shape, dt.float32) for _ in range(3))
    scores = composite(g.matmul, q, b.apply(Op.PERMUTE, k, arg=(0, 2, 1)), b=b)
    return composite(g.matmul, composite(g.softmax, scores, b=b), v, b=b)


STRICT_MOVES = [
    *MOVES,
    total_of_totals,
    total_of_totals,
    total_of_equal,
    long_total,
    power,
    attention,
]


def strict_case(choose: Choose) -> Case:
    """A graph with what strict mode keeps from being rewritten; one of four has infinities, NaNs
    and -0.0."""
    return grown(choose, Builder(choose, STRICT_MOVES, specials=choose(4) == 0), gradients=True)


def compare_seed(seed: int) -> None:
    case = strict_case(seeded(seed))
    opts = TINY if seed % 2 else {}
    compare_strictly(
        case.outputs, case.env, case.donations, threads=(1 + seed % 3,), target=case.target, **opts
    )


def main(count: int, first: int = 0) -> int:
    failures = 0
    for seed in range(first, first + count):
        try:
            compare_seed(seed)
        except Exception as e:
            failures += 1
            print(f"seed {seed}: {type(e).__name__}: {' '.join(str(e).split())[:300]}", flush=True)
    print(f"{count} graphs, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
