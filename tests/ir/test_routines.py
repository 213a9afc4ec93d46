"""Routines in Graphs: texts that name them, unread results, batches, loops that they leave."""

from __future__ import annotations

import numpy as np
import weft as wf
from harness import leaf
from weft.ir.gradient.matrices import routine
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import print_graph, verify
from weft.ir.graph.op import Op
from weft.ir.graph.region import together
from weft.ir.graph.routine import Routine
from weft.ir.ops import interp
from weft.ir.ops.routines import Part, parts_of, refusal
from weft.ir.passes.loop_arguments import needed_results
from weft.ir.regions.batch import batched


def test_equal_routines_are_equal_in_any_process() -> None:
    one, two = (Routine("svd", (False,), ((dt.float32, (2, 3)),)) for _ in range(2))
    assert one == two and hash(one) == hash(two)
    assert repr(one) == "<svd (False,) -> [('float32', (2, 3))]>"
    x = leaf(3, 3)
    assert routine("inv", (x,), (), (3, 3))[0] is routine("inv", (x,), (), (3, 3))[0]


def test_graphs_show_and_verify_them() -> None:
    _, s, _ = routine("svd", (leaf(2, 3),), (False,), (2, 2), (2,), (2, 3))
    verify([s])
    assert "routine(%0, svd(False), result 1)  float32[2]" in print_graph([s])


def test_results_of_one_routine_stay_together() -> None:
    w, v = routine("eigh", (leaf(4, 4),), (), (4,), (4, 4))
    assert [len(nodes) for nodes in together([w, v]).values()] == [2]
    assert needed_results([v]) == [v]


def test_a_batch_is_one_routine_of_all() -> None:
    a, b = leaf(3, 3), leaf(3, 2)
    stack = leaf(5, 3, 3)
    (x,) = batched([routine("solve", (a, b), (), (3, 2))[0]], {a: stack}, 5)
    assert x.op is Op.ROUTINE and x.shape == (5, 3, 2) and x.arg[0].specs[0][1] == (5, 3, 2)
    rng = np.random.default_rng(0)
    given = {stack: rng.normal(size=(5, 3, 3)), b: rng.normal(size=(3, 2))}
    given = {n: v.astype(np.float32) for n, v in given.items()}
    want = np.linalg.solve(given[stack], np.broadcast_to(given[b], (5, 3, 2)))
    np.testing.assert_allclose(interp.run([x], given)[0], want, rtol=1e-5)


def test_parts_cover_a_batch_once_and_know_their_places() -> None:
    stack = np.arange(2 * 7).reshape(2, 7, 1, 1)
    parts = [Part((2, 7), 3, number) for number in range(3)]
    seen = [int(v) for p in parts for v in p.of(stack).ravel()]
    assert sorted(seen) == list(range(14))
    placed = [p.place(i) for p in parts for i in range(p.of(stack).size)]
    assert placed == seen


def test_few_matrices_are_one_part() -> None:
    def parts(*shape: int) -> int:
        return parts_of(Routine("inv", (), ((dt.float32, shape),)), [shape])

    assert parts(4, 4) == parts(9, 4, 4) == parts(3, 1025, 1025) == 1
    assert parts(1, 20000, 4, 4) > 1 and parts(3, 512, 512) == 3


def test_a_refusal_names_the_place_in_the_batch() -> None:
    assert refusal("inv", (), 0) == "inv: the matrix is singular"
    assert refusal("inv", (5,), 3) == "inv: matrix 3 of the batch is singular"
    assert refusal("inv", (2, 3), 4) == "inv: matrix (1, 1) of the batch is singular"


def test_results_that_nobody_reads_have_memory_all_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4))
    q, r = wf.linalg.qr(x)
    np.testing.assert_array_equal(r.numpy(), np.linalg.qr(x).R)
    np.testing.assert_array_equal((q * 1).numpy(), np.linalg.qr(x).Q)
