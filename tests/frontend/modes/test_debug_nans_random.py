"""Random graphs with infinities, NaNs and zeros planted in their inputs: checks and search name
what the interpreter finds."""

from __future__ import annotations

import numpy as np
import pytest
from effort import rarely
from fuzz import seeded
from fuzz_graphs import EXACT, MOVES, Array, Builder, arithmetic
from fuzz_regions import REGIONS
from harness import FORCED, execute, inputs_of, values_of
from weft import options
from weft.compiler.backends.kinds import current_backend
from weft.compiler.compile import build
from weft.compiler.programs.nan_culprit import Located, Search
from weft.ir.graph.graph import Node, toposort
from weft.ir.graph.op import ELEMENTWISE, HINTS, VIEWS, Op
from weft.ir.ops.interp import EVALUATORS
from weft.runtime.failures import CheckFailed

Values = dict[Node, Array]
SHOWING = VIEWS | HINTS | {Op.GATHER}
PLAIN = [move for move in MOVES if move not in REGIONS]  # `needed` looks into no loop
GIVES = frozenset({Op.BITCAST, Op.WHERE})  # what they give was there before


def computed(roots: list[Node], env: Values) -> Values:
    """The value of every Node."""
    values: Values = {}
    with np.errstate(all="ignore"):
        for n in toposort(roots):
            values[n] = (
                env[n]
                if n.op is Op.INPUT
                else np.asarray(EVALUATORS[n.op](n, *(values[s] for s in n.src)))
            )
    return values


def needed(roots: list[Node], values: Values) -> Values:
    """Which elements of every Node some root is made of. Views tell by what they do to the numbers
    of elements."""
    found: Values = {n: np.zeros(n.shape, bool) for n in toposort(roots)}
    for root in roots:
        found[root] |= True
    for n in reversed(list(found)):
        here = found[n]
        if n.op in SHOWING:
            x = n.src[0]
            numbers = np.arange(1, x.size + 1).reshape(x.shape)
            shown = np.asarray(EVALUATORS[n.op](n, numbers, *(values[s] for s in n.src[1:])))[here]
            found[x] |= np.isin(numbers, shown)
        elif n.op is Op.WHERE:
            chosen = values[n.src[0]]
            for s, part in zip(n.src, (here, here & chosen, here & ~chosen), strict=True):
                found[s] |= part
        elif n.op is Op.REDUCE:
            found[n.src[0]] |= np.broadcast_to(np.expand_dims(here, n.arg[1]), n.src[0].shape)
        for s in (
            n.src[1:]
            if n.op is Op.GATHER
            else ()
            if n.op in {*SHOWING, Op.WHERE, Op.REDUCE}
            else n.src
        ):
            found[s] |= here if n.op in ELEMENTWISE else True
    return found


def wrong(n: Node, values: Values) -> Array:
    """Where an elementwise result is not finite though its operands are; products that are added
    are no results."""
    added = any(n in m.src for m in values if m.op is Op.REDUCE and m.arg[0] == "add")
    if n.op not in ELEMENTWISE - GIVES or not n.dtype.is_float or (n.op is Op.MUL and added):
        return np.zeros(n.shape, bool)
    fine = [np.isfinite(values[s]) for s in n.src if s.dtype.is_float]
    return ~np.isfinite(values[n]) & np.logical_and.reduce([np.ones(n.shape, bool), *fine])


def searched(outputs: list[Node], env: Values, threads: int) -> tuple[Search, Located | None]:
    """What the mode finds in a graph."""
    leaves = inputs_of(outputs)
    values = values_of(leaves, env)
    with options.override(**FORCED):
        search = Search((outputs, leaves, values, {}), current_backend(), True)
        program = build(outputs, leaves, values, {}, current_backend(nans="inf"))
        try:
            execute(program, outputs, env, threads)
        except CheckFailed as failure:
            assert failure.site.kernel is not None
            return search, search.find(failure.site.kernel, [env[n].ctypes.data for n in leaves])
    return search, None


def case(seed: int, exact: bool) -> tuple[list[Node], Values]:
    choose = seeded(seed)
    b = Builder(choose, EXACT if exact else PLAIN, specials=True)
    b.grow(2 + choose(20))
    b.finish(arithmetic(b))
    made = [v.node for v in b.values if v.node not in b.env and v.node.dtype.is_float]
    outputs = list(dict.fromkeys([made[-1], *(made[choose(len(made))] for _ in range(choose(3)))]))
    return outputs, {n: b.env[n] for n in inputs_of(outputs)}


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, *rarely(10, 20, 30, 40)])
def test_the_mode_finds_something_where_there_is_something_and_it_is_the_first(first: int) -> None:
    hits = 0
    for seed in range(first, first + 10):
        outputs, env = case(seed, exact=True)
        values = computed(outputs, env)
        expected = needed(outputs, values)
        is_wrong = any((wrong(n, values) & expected[n]).any() for n in values)
        search, found = searched(outputs, env, 1 + seed % 3)
        assert (found is not None) == is_wrong, seed
        if found is not None:
            hits += 1
            check_found(search, found, env)
    assert hits


@pytest.mark.parametrize("first", [0, *rarely(*range(4, 60, 4))])
def test_the_same_among_sums_products_and_functions(first: int) -> None:
    for seed in range(first, first + 4):
        outputs, env = case(seed, exact=False)
        values = computed(outputs, env)
        expected = needed(outputs, values)
        is_wrong = any((wrong(n, values) & expected[n]).any() for n in values)
        search, found = searched(outputs, env, 1 + seed % 3)
        assert found is not None or not is_wrong, seed
        if found is not None and found.node.op in ELEMENTWISE - {Op.MUL}:
            check_found(search, found, env)


def check_found(search: Search, found: Located, env: Values) -> None:
    """It went wrong there, and nothing that it is made of did before."""
    values = computed(search.roots, env)
    expected = needed(search.roots, values)
    assert (wrong(found.node, values) & expected[found.node])[found.index]
    np.testing.assert_array_equal(found.value, values[found.node][found.index].astype(np.float64))
    for n in toposort(found.node.src):
        assert not (wrong(n, values) & expected[n]).any(), n
