"""Graph construction: hash-consing, inference, provenance, printing, and graphs too deep for
recursion."""

from __future__ import annotations

import gc
import weakref

import graphs as g
import numpy as np
import pytest
from effort import rarely
from optable import ROWS, leaves
from weft import options
from weft.compiler.pass_log import Passes
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import Index
from weft.ir.graph.op import Op
from weft.ir.graph.rewrite import rewrite
from weft.ir.graph.shapes import GraphError
from weft.ir.graph.site import provenance

X = graph.leaf(901, dt.float32, (2, 3))
I64 = graph.leaf(902, dt.int64, (2, 3))
FLAG = graph.leaf(903, dt.bool_, (2, 3))


def test_building_twice_gives_the_same_node() -> None:
    for row in ROWS:
        arguments = leaves(row)
        first = row.build(*arguments)
        assert row.build(*arguments) is first, row.name
        graph.verify([first])


def test_constants_are_told_apart_by_bits_and_dtype() -> None:
    assert graph.const(0.0, dt.float32) is not graph.const(-0.0, dt.float32)
    assert graph.const(float("nan"), dt.float32) is graph.const(float("nan"), dt.float32)
    assert graph.const(1, dt.int32) is not graph.const(1, dt.int64)
    assert graph.const(True, dt.bool_) is not graph.const(1, dt.uint8)
    assert graph.const(0.1, dt.float32).arg == float(np.float32(0.1))


@pytest.mark.parametrize(
    ("value", "to", "want"),
    [(300, dt.uint8, 44), (-1, dt.uint32, 2**32 - 1), (2**31, dt.int32, -(2**31))],
)
def test_integer_constants_wrap(value: int, to: dt.DType, want: int) -> None:
    assert graph.const(value, to).arg == want


def test_a_dead_node_is_forgotten_and_built_again() -> None:
    y = node(Op.EXP, (X,))
    dead = weakref.ref(y)
    del y
    gc.collect()
    assert dead() is None
    assert node(Op.EXP, (X,)).shape == (2, 3)


@pytest.mark.usefixtures("young_objects")
@pytest.mark.parametrize("length", [20_000, *rarely(100_000)])
def test_dead_chain_of_many_thousands_of_nodes_is_freed_without_recursion(length: int) -> None:
    y = graph.leaf(904, dt.float32, (2,))
    y = node(Op.NEG, (y,))
    first = weakref.ref(y)
    for i in range(length):
        y = node(Op.ADD, (y, y)) if i % 2 else node(Op.NEG, (node(Op.EXP, (y,)),))
    assert first() is not None
    del y
    gc.collect()
    assert first() is None


@pytest.mark.parametrize("steps", [5_000, *rarely(50_000)])
def test_walks_of_many_thousands_of_nodes_are_loops(steps: int) -> None:
    y = X
    for _ in range(steps):
        y = node(Op.TANH, (g.add(y, X),))
    order = graph.toposort([y])
    assert len(order) == 2 * steps + 1 and order[0] is X and order[-1] is y
    graph.verify([y])
    assert rewrite([y], lambda _: None) == [y]


def test_toposort_puts_sources_first_and_each_node_once() -> None:
    y = g.softmax(X)
    order = graph.toposort([y, X])
    place = {n: i for i, n in enumerate(order)}
    assert len(place) == len(order)
    assert all(place[s] < place[n] for n in order for s in n.src)


@pytest.mark.parametrize(
    ("op", "src", "arg"),
    [
        (Op.ADD, (X, I64), None),
        (Op.ADD, (X, graph.permute(X, (1, 0))), None),
        (Op.ADD, (FLAG, FLAG), None),
        (Op.EXP, (I64,), None),
        (Op.IDIV, (X, X), None),
        (Op.DIV, (I64, I64), None),
        (Op.AND, (X, X), None),
        (Op.SHL, (FLAG, FLAG), None),
        (Op.WHERE, (X, X, X), None),
        (Op.WHERE, (FLAG, X, I64), None),
        (Op.BITCAST, (X,), dt.int64),
        (Op.REDUCE, (X,), ("add", (2,))),
        (Op.REDUCE, (X,), ("add", (1, 0))),
        (Op.REDUCE, (X,), ("min", (0,))),
        (Op.SCAN, (X,), 2),
        (Op.ARGSORT, (X,), (2, False)),
        (Op.SOLVE, (X, X), None),
        (Op.SOLVE, (I64, I64), None),
        (Op.CHOLESKY, (X,), None),
        (Op.RESHAPE, (X,), (5,)),
        (Op.PERMUTE, (X,), (0, 0)),
        (Op.FLIP, (X,), (2,)),
        (Op.SLICE, (X,), ((0, 3, 1), (0, 3, 1))),
        (Op.SLICE, (X,), ((0, 2, 0), (0, 3, 1))),
        (Op.PAD, (X,), ((0, 0, 0),)),
        (Op.PAD, (X,), ((-1, 0, 0), (0, 0, 0))),
        (Op.EXPAND, (X,), ((4, 2),)),
        (Op.SKEW, (X,), (0, 1, 2)),
        (Op.SKEW, (X,), (0, 0, 1)),
        (Op.GATHER, (X, X), (0,)),
        (Op.GATHER, (X, I64), (0, 1)),
        (Op.SCATTER, (X, I64), ((0,), (4, 3))),
        (Op.LDEXP, (X, X), None),
    ],
    ids=lambda v: v.value if isinstance(v, Op) else None,
)
def test_broken_nodes_are_refused(op: Op, src: tuple[Node, ...], arg: object) -> None:
    with pytest.raises(GraphError, match=op.value):
        node(op, src, arg)


def test_a_pass_that_breaks_a_graph_is_named() -> None:
    y = node(Op.NEG, (graph.leaf(904, dt.float32, (4,)),))

    def shrink(roots: list[Node]) -> list[Node]:
        roots[0].shape = (5,)
        return roots

    with (
        options.override(verify=True),
        pytest.raises(GraphError, match=r"after the pass 'shrink': .*stored weft.float32 \(5,\)"),
    ):
        Passes([y]).graph("shrink", shrink, [y])


def test_verify_finds_a_wrong_shape_and_a_loop_level_op() -> None:
    y = node(Op.NEG, (graph.leaf(905, dt.float32, (4,)),))
    y.shape = (5,)
    with pytest.raises(GraphError, match="inferred"):
        graph.verify([y])
    inner = graph.scalar_node(Op.FMA, (graph.const(1, dt.float32),) * 3, None, dt.float32)
    with pytest.raises(GraphError, match="loop-level"):
        graph.verify([inner])


def test_site_is_the_users_line_and_rebuilding_keeps_it() -> None:
    with provenance(("model.py", 12)):
        y = node(Op.SQRT, (X,))
    other = graph.leaf(906, dt.float32, (2, 3))
    assert graph.rebuild(y, (other,)).site == ("model.py", 12)
    assert graph.rebuild(y, (X,)) is y
    here = node(Op.SQRT, (graph.leaf(907, dt.float32, (1,)),)).site
    assert here is not None and here[0].endswith("test_graph.py")


def test_print_graph_golden() -> None:
    with provenance(("/home/user/model.py", 3)):
        x = graph.leaf(908, dt.float32, (1103, 8))
        labels = graph.leaf(909, dt.int64, (1103,))
        y = g.where(
            node(Op.LT, (g.like(0.375, x), x)),
            node(Op.SIN, (x,), 1),
            graph.cast(graph.cast(x, dt.int32), dt.float32),
        )
        out = g.pick(graph.reduce("add", graph.expand(y, ((1, 2),)), (1,)), labels)
    assert graph.print_graph([out, y], "forward") == (
        "forward\n"
        "  %0 = const(0.375)  float32[]  # model.py:3\n"
        "  %1 = expand(%0, ((0, 1103), (1, 8)))  float32[1103,8]  # model.py:3\n"
        "  %2 = input(908)  float32[1103,8]  # model.py:3\n"
        "  %3 = lt(%1, %2)  bool[1103,8]  # model.py:3\n"
        "  %4 = sin(%2, 1)  float32[1103,8]  # model.py:3\n"
        "  %5 = cast(%2, int32)  int32[1103,8]  # model.py:3\n"
        "  %6 = cast(%5, float32)  float32[1103,8]  # model.py:3\n"
        "  %7 = where(%3, %4, %6)  float32[1103,8]  # model.py:3\n"
        "  %8 = expand(%7, ((1, 2),))  float32[1103,2,8]  # model.py:3\n"
        "  %9 = reduce(%8, ('add', (1,)))  float32[1103,8]  # model.py:3\n"
        "  %10 = iota(1103)  int64[1103]  # model.py:3\n"
        "  %11 = input(909)  int64[1103]  # model.py:3\n"
        "  %12 = gather(%9, %10, %11, (0, 1))  float32[1103]  # model.py:3\n"
        "  return %12, %7\n"
    )


def test_dtypes_round_trip() -> None:
    for d in dt.ALL:
        assert dt.from_numpy(d.numpy) is d
        assert d.itemsize == d.numpy.itemsize
    assert dt.from_numpy(np.complex64) is dt.complex64
    assert dt.from_numpy(np.clongdouble) is None


def test_a_loop_node_dies_without_python_code() -> None:
    class Counted(Index):
        hashed = 0

        def __hash__(self) -> int:
            Counted.hashed += 1
            return 0

    n = graph.scalar_node(Op.VAR, (), Counted({}, 3), dt.int64)
    entry, hashed = graph.interned[(Op.VAR, n.arg, dt.int64, ())], Counted.hashed
    del n
    assert entry() is None and Counted.hashed == hashed
    graph.forget_dead()
    assert entry not in graph.interned.values()
