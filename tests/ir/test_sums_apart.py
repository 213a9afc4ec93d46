"""Sums of added products: which are taken apart, that the values stay right, and what the gradient
of a shared weight becomes."""

from __future__ import annotations

import harness
import numpy as np
import pytest
import weft as wf
from weft.inspection.explain.explain import compiled_behind
from weft.ir.graph.graph import Node, expand, node, permute, reduce, reshape
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run
from weft.ir.passes.sums_apart import sums_apart


def product(m: int = 48, k: int = 40, n: int = 56) -> Node:
    """a[m, k] * b[k, n] before it is summed."""
    a, b = harness.leaf(m, k), harness.leaf(k, n)
    return node(Op.MUL, (expand(a, ((2, n),)), expand(b, ((0, m),))))


def added(*terms: Node) -> Node:
    total = terms[0]
    for term in terms[1:]:
        total = node(Op.ADD, (total, term))
    return total


def sums(root: Node) -> list[Node]:
    """The sums whose results are added up to the root."""
    return [root] if root.op is not Op.ADD else [s for x in root.src for s in sums(x)]


def test_each_product_is_summed_by_itself_and_all_else_together() -> None:
    x, y = harness.leaf(48, 40, 56), harness.leaf(48, 40, 56)
    before = reduce("add", added(product(), x, product(), y), (1,))
    (after,) = sums_apart([before])
    assert [n.src[0].op for n in sums(after)] == [Op.MUL, Op.MUL, Op.ADD]
    env = harness.normal_inputs([before])
    assert np.allclose(*(run([n], env)[0] for n in (before, after)), atol=1e-4)


def test_views_between_the_additions_are_taken_of_each_product() -> None:
    inner = reshape(permute(added(product(), product()), (2, 1, 0)), (56, 40 * 48))
    before = reduce("add", reshape(inner, (56, 40, 48)), (1,))
    (after,) = sums_apart([before])
    assert len(sums(after)) == 2
    env = harness.normal_inputs([before])
    assert np.allclose(*(run([n], env)[0] for n in (before, after)), atol=1e-4)


def test_a_sum_that_gains_nothing_stays_as_it_is() -> None:
    shared = added(product(), product())
    x, y = harness.leaf(48, 40, 56), harness.leaf(48, 40, 56)
    elementwise = reduce("add", added(node(Op.MUL, (x, y)), x), (1,))
    for roots in (
        [reduce("add", shared, (1,)), shared],
        [elementwise],
        [reduce("max", shared, (1,))],
    ):
        assert sums_apart(roots) == roots


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [wf.float32, wf.bfloat16])
def test_the_gradient_of_a_weight_used_three_times_is_three_contractions(dtype: wf.DType) -> None:
    rng = np.random.default_rng(0)
    w = wf.tensor(rng.standard_normal((96, 96)) / 10, dtype=dtype, requires_grad=True)
    xs = [wf.tensor(rng.standard_normal((64, 96)), dtype=dtype) for _ in range(3)]
    gradient = wf.grad(sum(((x @ w).tanh().sum() for x in xs[1:]), (xs[0] @ w).tanh().sum()), [w])[
        0
    ]
    program = compiled_behind("explain", [gradient], (), {})
    assert program is not None
    assert [k.lowered.schedule.split()[0] for k in program.in_order() if k.kernel] == ["packed"] * 6
    exact = [np.asarray(t.numpy(), np.float64) for t in (*xs, w)]
    expected = sum(x.T @ (1 - np.tanh(x @ exact[3]) ** 2) for x in exact[:3])
    error = (
        np.abs(np.asarray(gradient.numpy(), np.float64) - expected).max() / np.abs(expected).max()
    )
    assert error < (1e-6 if dtype is wf.float32 else 2e-2)
