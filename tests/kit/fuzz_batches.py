"""Random graphs in batches. In: seeds. Out: comparisons of a batched graph with its rows, one by
one.

Some inputs of a random graph have other values in each row, the others are the same in all. Once in
two the batch is batched again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz import (
    Array,
    Case,
    Choose,
    Hits,
    Unsuitable,
    compare_case,
    evaluate,
    random_case,
    tolerances,
)
from harness import inputs_of, leaf
from optable import assert_matches
from weft.ir.graph.graph import Node
from weft.ir.regions.batch import batched

Env = dict[Node, Array]
Values = Callable[[Env], list[Array]]  # of the outputs


def compare_batch(
    choose: Choose,
    exact: bool = False,
    moves: int = 12,
    threads: tuple[int, ...] = (),
    **opts: Any,
) -> None:
    """Rows == the batch in the oracle == the batch compiled. Raises Unsuitable."""
    case = random_case(choose, exact, moves)
    roots, env = case.outputs, dict(case.env)
    outputs, values = roots, _evaluated(roots)
    for _ in range(1 + choose(2)):
        outputs, env, values = _batched(choose, outputs, env, values)
    flags = dict.fromkeys(outputs, True)
    for n, is_exact in zip(outputs, case.exact, strict=True):
        flags[n] &= is_exact
    batch = Case([*flags], {n: env[n] for n in inputs_of([*flags])}, [*flags.values()])
    found = evaluate(batch.outputs, batch.env)
    allowed = [0.0] * len(found) if exact else tolerances(batch, found)
    rows = dict(zip(outputs, values(env), strict=True))
    for i, n in enumerate(batch.outputs):
        if batch.exact[i] or not n.dtype.is_float:
            assert_matches(found[i], rows[n])
        else:
            off = np.abs(found[i].astype(np.float64) - rows[n].astype(np.float64)).max(initial=0)
            assert off <= allowed[i], f"output {i} is off by {off:.3g}, allowed {allowed[i]:.3g}"
    batch.target = case.target
    compare_case(batch, Hits(), exact, threads, **opts)


def _evaluated(outputs: list[Node]) -> Values:
    return lambda env: evaluate(outputs, env)


def _batched(
    choose: Choose, outputs: list[Node], env: Env, values: Values
) -> tuple[list[Node], Env, Values]:
    """(the outputs for several rows, these, the values of row after row)."""
    leaves = inputs_of(outputs)
    chosen = [n for n in leaves if choose(2)] or leaves[:1]
    if not chosen:
        raise Unsuitable
    extent, random = 1 + choose(3), np.random.default_rng(choose(1 << 30))
    stacks = {n: leaf(extent, *n.shape, dtype=n.dtype) for n in chosen}
    given = {n: env[n] for n in leaves if n not in stacks}
    for n, stack in stacks.items():
        # the same values, so that they suit, at other places
        rows = [random.permutation(env[n].ravel()).reshape(n.shape) for _ in range(extent)]
        given[stack] = np.stack(rows)

    def of_rows(env: Env) -> list[Array]:
        env = given | env  # without what the outputs do not depend on
        each = [
            values(env | {n: env[stack][row] for n, stack in stacks.items()})
            for row in range(extent)
        ]
        return [np.stack([np.asarray(a) for a in column]) for column in zip(*each, strict=True)]

    return batched(outputs, stacks, extent), given, of_rows
