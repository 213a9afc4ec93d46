"""How many kernels a Graph takes, and the reason at every boundary. The counts are budgets: fewer
is better."""

from __future__ import annotations

from typing import Any

import graphs as g
import pytest
from effort import examples
from harness import fused, leaf
from hypothesis import given
from hypothesis import strategies as st
from weft.ir.gradient.gradient import grad, vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.index import mask_of
from weft.ir.graph.op import Op
from weft.ir.graph.order import Order
from weft.ir.graph.views import resolve
from weft.ir.kernels.align import Form
from weft.ir.kernels.fuse import Fused
from weft.ir.kernels.kernel import Kernel, Unit
from weft.ir.kernels.places import Read
from weft.ir.kernels.reason import Reason
from weft.ir.kernels.recompute import copies
from weft.ir.ops.join import join

ROWS = [10, 1_000, 50_000]


def kernels(*outputs: Node) -> int:
    """How many kernels; every edge between two of them must have a reason."""
    f = fused(*outputs)
    assert_explained(f)
    return len(f.kernels)


def assert_explained(f: Fused) -> None:
    writer = {n: k.name for k in f.kernels for n in k.outputs}
    edges = {(writer[n], k.name) for k in f.kernels for n in k.inputs if n in writer}
    assert edges == {(b.producer, b.consumer) for b in f.boundaries}
    for b in f.boundaries:
        assert isinstance(b.reason, Reason) and b.reason.detail


def cotangents(output: Node, wrt: list[Node]) -> list[Node]:
    return list(vjp([output], [leaf(*output.shape)], wrt))


# ---------------------------------------------------------------- the table


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("length", [1, 30, 1000])
def test_an_elementwise_chain_of_any_length_is_one_kernel(length):
    x = leaf(64, 96)
    y = x
    for i in range(length):
        y = g.add(g.scale(y, 0.5 + i / 7), x)
    assert kernels(y) == 1


@pytest.mark.parametrize("columns", ROWS)
def test_softmax_is_one_kernel_at_any_row_length(columns):
    assert kernels(g.softmax(leaf(128, columns))) == 1


@pytest.mark.parametrize("columns", ROWS)
def test_softmax_backward_is_one_kernel_at_any_row_length(columns):
    x = leaf(128, columns)
    y = g.softmax(x)
    assert kernels(*cotangents(y, [x])) == 1
    assert kernels(y, *cotangents(y, [x])) == 1


def layer_norm() -> tuple[Node, list[Node]]:
    wrt = [leaf(512, 768), leaf(768), leaf(768)]
    return g.layer_norm(*wrt), wrt


def test_layer_norm_is_one_kernel():
    assert kernels(layer_norm()[0]) == 1


def test_layer_norm_forward_and_backward_are_one_kernel():
    y, wrt = layer_norm()
    assert kernels(y, *cotangents(y, wrt)) == 1


def linear(x: Node, out: int) -> Node:
    return g.add_row(g.matmul(x, leaf(x.shape[-1], out)), leaf(out))


def test_linear_bias_gelu_residual_is_one_kernel():
    x = leaf(256, 96)
    assert kernels(g.gelu(linear(x, 128))) == 1
    assert kernels(g.add(g.gelu(linear(x, 128)), leaf(256, 128))) == 1


def test_relu_linear_is_one_kernel():
    assert kernels(linear(g.relu(leaf(256, 96)), 128)) == 1


def conv_bias_relu(x: Node, out: int, *how: int) -> Node:
    y = g.conv2d(x, leaf(out, x.shape[1], 3, 3), *how)
    bias = graph.expand(leaf(out), ((0, y.shape[0]), (2, y.shape[2]), (3, y.shape[3])))
    return g.relu(g.add(y, bias))


@pytest.mark.parametrize("how", [(1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1)])
def test_convolution_bias_relu_is_one_kernel(how):
    assert kernels(conv_bias_relu(leaf(4, 8, 16, 16), 16, *how)) == 1


@pytest.mark.parametrize("how", [(1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1)])
def test_each_gradient_of_a_convolution_is_at_most_one_kernel(how):
    """But for the weights, whose gradients are sums of those of images."""
    for images in (1, 4):
        x, w = leaf(images, 8, 16, 16), leaf(16, 8, 3, 3)
        y = g.conv2d(x, w, *how)
        assert kernels(y, *cotangents(y, [x, w])) <= (3 if images == 1 else 4)


def adam() -> list[Node]:
    p, gradient, m, v = (leaf(256, 256) for _ in range(4))
    rate = graph.expand_to(leaf(), p.shape)
    m = g.add(g.scale(m, 0.9), g.scale(gradient, 0.1))
    v = g.add(g.scale(v, 0.999), g.scale(g.mul(gradient, gradient), 0.001))
    step = g.div(g.mul(m, rate), g.add(node(Op.SQRT, (v,)), g.like(1e-8, v)))
    return [g.sub(p, step), m, v]


def test_an_adam_step_of_one_parameter_is_one_kernel_with_three_outputs():
    assert kernels(*adam()) == 1


def attention() -> Node:
    q, k, v = (leaf(2, 4, 128, 64) for _ in range(3))
    return g.matmul(g.softmax(g.scale(g.matmul(q, graph.permute(k, (0, 1, 3, 2))), 0.125)), v)


def test_attention_is_one_kernel():
    assert kernels(attention()) == 1


def test_cross_entropy_and_its_gradient_take_at_most_three():
    x = leaf(64, 1000)
    loss = g.cross_entropy(x, leaf(64, dtype=dt.int64))
    assert kernels(loss, *grad(loss, [x])) <= 3


def test_two_layer_mlp_loss_gradients_and_update_take_at_most_ten():
    w1, b1, w2, b2 = parameters = [leaf(784, 256), leaf(256), leaf(256, 10), leaf(10)]
    hidden = g.relu(g.add_row(g.matmul(leaf(128, 784), w1), b1))
    loss = g.cross_entropy(g.add_row(g.matmul(hidden, w2), b2), leaf(128, dtype=dt.int64))
    updates = [
        g.sub(p, g.scale(d, 0.1)) for p, d in zip(parameters, grad(loss, parameters), strict=True)
    ]
    assert kernels(loss, *updates) <= 10


# ---------------------------------------------------------------- alignment


def test_split_and_merged_axes_align():
    merged, split = leaf(32 * 128, 96), leaf(32, 128, 96)
    assert kernels(g.add(graph.reshape(g.exp(merged), (32, 128, 96)), split)) == 1
    assert (
        kernels(
            graph.reshape(g.softmax(graph.reshape(g.exp(split), (32 * 128, 96))), (32, 128, 96))
        )
        == 1
    )


def test_axes_split_in_two_ways_align():
    x = leaf(6 * 32, 96)
    assert (
        kernels(g.exp(graph.reshape(g.log(graph.reshape(g.exp(x), (6, 32, 96))), (12, 16, 96))))
        == 1
    )


def test_permuted_maps_align():
    x = leaf(96, 128)
    assert kernels(g.add(graph.permute(g.exp(x), (1, 0)), leaf(128, 96))) == 1


def test_size_one_axes_do_not_block_alignment():
    x = leaf(256, 1, 96)
    total = graph.reshape(graph.reduce("add", g.exp(x), (2,)), (256, 1, 1))
    assert kernels(graph.reshape(g.log(total), (256,))) == 1
    pooled = graph.reduce("max", g.exp(x), (1, 2))
    assert kernels(g.exp(pooled)) == 1


@pytest.mark.parametrize("make", [g.exp, g.softmax])
def test_a_product_with_its_own_transpose_keeps_both_axes(make):
    y = make(leaf(96, 64))
    f = fused(g.matmul(y, graph.permute(y, (1, 0))))
    assert_explained(f)
    product = f.kernels[-1]
    assert product.kind == "contraction" and product.extents == (96, 96)
    assert (
        len(f.kernels) <= 2
    )  # y is read as rows and as columns: repeated as a prologue, or in memory


def test_row_softmax_and_column_softmax_are_two_kernels():
    x = leaf(512, 256)
    columns = graph.permute(g.softmax(graph.permute(x, (1, 0))), (1, 0))
    f = fused(g.add(g.softmax(x), columns))
    assert_explained(f)
    assert len(f.kernels) == 2


def test_column_sums_of_the_same_value_share_a_kernel_through_their_input():
    x = leaf(512, 768)
    assert kernels(graph.reduce("add", x, (0,)), graph.reduce("max", x, (0,))) == 1


def test_row_sum_and_column_sum_share_a_kernel_along_the_rows():
    x = leaf(512, 768)
    assert kernels(graph.reduce("add", x, (0,)), graph.reduce("add", x, (1,))) == 1


def test_non_overlapping_pooling_aligns_with_relu():
    x = leaf(4, 8, 16, 16)
    assert kernels(g.max_pool(g.relu(x), 2, 2)) == 1


def test_a_group_does_not_close_over_a_kernel_between():
    x = leaf(256, 96)
    y = g.exp(x)
    product = g.matmul(y, leaf(96, 96))
    again = g.matmul(g.add(product, y), leaf(96, 96))
    f = fused(y, again)
    assert_explained(f)
    assert len(f.kernels) <= 3


def test_a_value_read_at_many_places_of_a_row_is_stored():
    """Ten shifted sums over each other in one kernel would evaluate the first 1024 times."""
    y = leaf(100, 200)
    for step in range(10):
        shifted = g.pad(
            node(Op.SLICE, (y,), ((0, 100, 1), (0, 199 - step, 1))), {1: (1 + step, 0, 0)}
        )
        y = g.add(y, shifted)
    f = fused(g.softmax(y))
    assert_explained(f)
    assert all(n <= 8 for k in f.kernels for n in copies(Form(dict(k.outer)), readers(k)).values())


def test_a_value_read_by_two_that_are_read_at_different_places_is_stored():
    """Each step evaluates what is before it twice, though it is read at one place alone: the
    derivative of a running product."""
    y = leaf(20, 900)
    for step in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        first, second = g.mul(y, leaf(20, 900)), g.mul(y, leaf(20, 900))
        later = node(Op.SLICE, (second,), ((0, 20, 1), (step, 900, 1)))
        y = g.add(first, g.pad(later, {1: (0, step, 0)}))
    f = fused(g.softmax(y))
    assert_explained(f)
    assert max(evaluated(k, u) for k in f.kernels for u in k.units) < 100


def evaluated(k: Kernel, u: Unit) -> int:
    """How many values of its kernel an element of a unit is made of, as they are evaluated."""
    inside = {v.node for v in k.units if v.node.op is not Op.REDUCE}
    seen: set[Any] = set()
    waiting: list[Any] = [(s, u.coordinates(), ()) for s in u.node.src]
    while waiting:
        n, at, guard = waiting.pop()
        base, index, ranges = resolve(n, at)
        key = base, tuple(index), mask_of([*guard, *ranges])
        if base in inside and key not in seen:
            seen.add(key)
            waiting += [(s, index, key[2]) for s in base.src]
    return len(seen)


def readers(k: Kernel) -> dict[Node, list[tuple[Unit, Read]]]:
    found: dict[Node, list[tuple[Unit, Read]]] = {}
    for u in k.units:
        for r in u.reads:
            found.setdefault(r.base, []).append((u, r))
    return found


@examples(200)
@given(st.data())
def test_the_kept_order_finds_every_cycle(data):
    """Random merges of a random graph: `between` says what a full search says, and the order stays
    topological."""
    count = data.draw(st.integers(2, 9))
    earlier = [st.sets(st.integers(0, x - 1), max_size=3) for x in range(1, count)]
    needs: dict[int, set[int]] = {x: data.draw(s) for x, s in enumerate([st.just(set()), *earlier])}
    order = Order(range(count), lambda x: needs[x])
    for _ in range(6):
        a, b = data.draw(st.sampled_from(list(needs))), data.draw(st.sampled_from(list(needs)))
        if a == b:
            continue
        between = order.between(a, b)
        assert (between is None) == returns(needs, a, b)
        if between is None:
            continue
        order.merge(a, b, between)
        needs[a] = (needs[a] | needs.pop(b)) - {a, b}
        needs = {x: {a if y == b else y for y in needed} - {x} for x, needed in needs.items()}
        assert all(order.place[y] < order.place[x] for x in needs for y in needs[x])
        assert order.items == sorted(needs, key=order.place.__getitem__)


def returns(needs: dict[int, set[int]], a: int, b: int) -> bool:
    """Does a path leave a or b through another item and come back?"""
    seen: set[int] = set()
    stack = [x for x in needs[a] | needs[b] if x not in (a, b)]
    while stack:
        x = stack.pop()
        if x in (a, b):
            return True
        if x not in seen:
            seen.add(x)
            stack.extend(needs[x])
    return False


# ---------------------------------------------------------------- reasons


def reason(*outputs: Node) -> set[str]:
    f = fused(*outputs)
    assert_explained(f)
    return {str(b.reason.rule) for b in f.boundaries}


def test_reason_one_contraction():
    assert reason(g.matmul(g.matmul(leaf(64, 64), leaf(64, 64)), leaf(64, 64))) == {
        "one contraction"
    }


def test_reason_own_loops():
    x = leaf(64, 96)
    assert reason(g.exp(node(Op.SCAN, (g.exp(x),), 1))) == {"own loops"}
    scatter = node(Op.SCATTER, (g.exp(leaf(50, 8)), leaf(50, dtype=dt.int64)), ((0,), (64, 8)))
    assert reason(g.exp(scatter)) == {"own loops"}


def test_reason_costly_prologue():
    assert reason(g.matmul(g.gelu(leaf(64, 64)), leaf(64, 64))) == {"costly prologue"}


def test_reason_prologue():
    y = g.relu(leaf(64, 64))
    assert "prologue" in reason(g.matmul(y, leaf(64, 64)), y)
    assert "prologue" in reason(g.matmul(g.softmax(leaf(64, 64)), leaf(64, 64)))


def test_reason_misaligned():
    y = graph.reduce("add", leaf(512, 256), (1,))
    assert "misaligned" in reason(g.sub(y, g.like(1, y)), graph.reduce("add", g.exp(y), (0,)))


def test_reason_order():
    x, y = leaf(8, 40, 30), leaf(8, 30, 40)
    along, across = graph.reduce("add", x, (2,)), graph.reduce("add", y, (1,))
    total = node(Op.ADD, (along, across))
    assert reason(total) == {"order"}
    assert reason(node(Op.ADD, (along, graph.reduce("max", y, (1,))))) == set()


def test_reason_recompute():
    assert reason(graph.reduce("max", g.window(g.exp(leaf(128, 1000)), 1, 3, 1), (1, 2))) == {
        "recompute"
    }


def test_reason_parallelism():
    assert reason(g.softmax(leaf(20, 1000))) == {"parallelism"}


def test_reason_joined():
    def total(parts: int) -> tuple[Node, Node]:
        y = join([(i, leaf(1, 20, 80)) for i in range(parts)], 0, parts)
        return y, graph.reduce("add", y, (0, 1))

    assert reason(*total(12)) == {"joined"}
    assert kernels(*total(12)) == 2 and kernels(*total(4)) == 1


def test_reason_budget():
    terms = [leaf(8, 8) for _ in range(130)]
    total = terms[0]
    for t in terms[1:]:
        total = g.add(total, t)
    assert reason(total) == {"budget"}
    assert kernels(total) == 3


def test_reason_cycle():
    x = leaf(8, 50_000)
    assert "cycle" in reason(g.softmax(g.exp(g.sub(x, g.over_last("max", x)))))


def test_reason_chain():
    scores = g.matmul(leaf(64, 32), leaf(32, 64))
    assert reason(g.add(g.softmax(leaf(64, 32)), g.matmul(g.softmax(scores), leaf(64, 32)))) == {
        "chain"
    }


def kinds_of(output: Node) -> list[str]:
    return [k.kind for k in fused(output).kernels]


def mlp(rows: int, terms: int, hidden: int, width: int) -> Node:
    """Two linear layers, their weights stored as those of a Linear are."""
    inner = g.matmul(leaf(rows, terms), node(Op.PERMUTE, (leaf(hidden, terms),), (1, 0)))
    return g.matmul(g.relu(inner), node(Op.PERMUTE, (leaf(width, hidden),), (1, 0)))


def test_reason_chain_cost():
    for shape in ((1576, 192, 768, 192), (1024, 64, 1024, 64), (8192, 128, 2048, 128)):
        assert reason(mlp(*shape)) == {"chain cost"}, shape


def test_products_are_a_chain_where_storing_what_is_between_costs_more():
    assert kinds_of(mlp(65536, 64, 256, 64)) == ["chain"], "its space is larger than caches"
    scores = g.matmul(leaf(256, 64), leaf(64, 256))
    assert kinds_of(g.matmul(g.relu(scores), leaf(256, 64))) == ["chain"], (
        "values lie along the lanes: nothing is packed"
    )
    assert kinds_of(g.matmul(g.softmax(scores), leaf(256, 64))) == ["chain"]
    short = g.matmul(leaf(1024, 8), leaf(8, 1024))
    assert kinds_of(g.matmul(g.relu(short), leaf(1024, 8))) == ["contraction", "contraction"], (
        "sums of 8 terms"
    )


def test_fusion_is_deterministic():
    def names() -> list[str]:
        return [k.name + repr(k.extents) for k in fused(*adam(), attention()).kernels]

    assert names() == names()


def test_column_sums_of_a_matrix_product_leave_the_product_whole():
    y = g.matmul(leaf(64, 96), leaf(96, 80))
    stored = [n for k in fused(y, graph.reduce("add", y, (0,))).kernels for n in k.outputs]
    assert max(n.size for n in stored) == y.size
