"""When values are computed, what is kept, how programs are found again, and how assigns join them
(DESIGN 4)."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft.frontend.lazy import program_table, state
from weft.frontend.lazy.program_table import statistics
from weft.frontend.lazy.realize import graph_of
from weft.ir.graph import graph
from weft.ir.graph.op import Op
from weft.runtime.memory import storage


@pytest.fixture(autouse=True)
def nothing_pending() -> Iterator[None]:
    wf.realize()
    yield
    state.thread.pending.clear()


class Counted:
    """Runs and built programs inside a `with` block."""

    def __enter__(self) -> Counted:
        self._before = dict(statistics)
        return self

    def __exit__(self, *exception: object) -> None:
        for name in ("runs", "built", "found", "donated", "generalised"):
            setattr(self, name, statistics[name] - self._before.get(name, 0))


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process, whatever ran before."""
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())


def parameter(*values: float) -> wf.Tensor:
    return wf.tensor(list(values), requires_grad=True)


# ---------------------------------------------------------------- when


def test_building_and_repr_compute_nothing() -> None:
    with Counted() as c:
        x = wf.tensor([1.0, 2.0], requires_grad=True)
        y = (x.exp() @ wf.rand(2)).sum()
        y.backward()
        assert repr(y) == "<Tensor float32[] cpu lazy>" and "lazy" in repr(x.grad) and len(x) == 2
        x += 0 if False else wf.zeros(2) if not x.requires_grad else _nothing(x)
    assert c.runs == 0


def _nothing(x: wf.Tensor) -> wf.Tensor:
    x.requires_grad_(False)
    return wf.zeros(2)


def test_what_computes() -> None:
    for read in (
        lambda t: t.numpy(),
        lambda t: t.tolist(),
        str,
        wf.realize,
        lambda t: t.realize(),
        np.asarray,
    ):
        with Counted() as c:
            read(wf.tensor([1.0, 2.0]) * 3)
        assert c.runs == 1
    for read in (float, int, bool, lambda t: t.item(), lambda t: f"{t:.1f}"):
        with Counted() as c:
            read(wf.tensor(1.5) * 2)
        assert c.runs == 1


def test_values_are_computed_once() -> None:
    y = wf.tensor([1.0, 2.0]) * 3
    y.realize()
    with Counted() as c:
        assert y.tolist() == [3.0, 6.0] and repr(y) == "tensor([3., 6.], dtype=float32)"
        assert wf.realize(y) is y
    assert c.runs == 0


def test_realising_several_makes_one_program() -> None:
    x = wf.tensor([1.0, 2.0])
    with Counted() as c:
        a, b = x + 1, [x * 2, x - 1]
        wf.realize(a, b)
        assert a.tolist() == [2, 3] and b[0].tolist() == [2, 4] and b[1].tolist() == [0, 1]
    assert c.runs == 1


def test_realising_returns_what_it_computed() -> None:
    x = wf.tensor([1.0, 2.0])
    x = wf.realize(x * 2)
    a, (b, c) = wf.realize(x + 1, [x - 1, {"c": x * 2}])
    assert (a.tolist(), b.tolist(), c["c"].tolist()) == ([3, 5], [1, 3], [4, 8])
    assert wf.realize() is None
    assert wf.jit(lambda x: wf.realize(x + 1))(x).tolist() == [3, 5]


def test_compilation_cuts_at_values_in_memory() -> None:
    x = wf.tensor([1.0, 2.0])
    h = x.exp()
    y, z = h * 2, h * 3
    h.realize()
    outputs, leaves, _, _ = graph_of(y, z)
    assert Op.EXP not in {n.op for n in graph.toposort(outputs)} and len(leaves) == 1
    np.testing.assert_allclose(y.numpy(), np.exp([1, 2]) * 2, rtol=1e-6)


def test_held_scalars_inside_a_program_are_computed_along() -> None:
    x = wf.tensor([3.0, 4.0])
    norm = (x * x).sum().sqrt()
    y = x / norm
    y.realize()
    with Counted() as c:
        assert norm.item() == 5.0
    assert c.runs == 0


def test_results_live_only_as_long_as_a_tensor() -> None:
    x = parameter(1.0, 2.0)
    h = x.exp()
    loss = (h * h).sum()
    h.realize()
    memory = weakref.ref(h._storage)
    del h
    assert memory() is None
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2, 4]), rtol=1e-5)


def test_a_leaf_lives_as_long_as_its_readers() -> None:
    y = wf.tensor([1.0, 2.0]) * 2
    gc.collect()
    assert y.tolist() == [2.0, 4.0]


def test_history_of_plain_values_is_dropped() -> None:
    x = wf.tensor([1.0])
    node = weakref.ref(x.node)
    for _ in range(3):
        x = x * 2
        x.realize()
    assert node() is None and x.item() == 8.0


def test_a_tensor_kept_alive_by_a_reader_keeps_its_identity() -> None:
    x = wf.tensor([1.0, 2.0])
    h = x * 2
    y = (h * h).sum()
    h.realize()
    assert wf.grad(y, h).tolist() == [4.0, 8.0]


# ---------------------------------------------------------------- finding programs again


def test_equal_graphs_are_one_program_whatever_the_addresses() -> None:
    built = []
    for k in range(4):
        with Counted() as c:
            x = wf.tensor(np.full(5, k, "float32"))
            (x.exp() + x).realize()
        built.append(c.built)
    assert sum(built[1:]) == 0


def test_slices_reshapes_and_permutes_of_memory_are_inputs() -> None:
    data = wf.tensor(np.arange(400, dtype="float32").reshape(10, 40))
    with Counted() as c:
        for i in range(5):
            for view in (
                data[i * 2 : i * 2 + 2],
                data.T[:, i : i + 1],
                data.reshape(20, 20)[i : i + 3],
                data[i].reshape(8, 5),
            ):
                expected = view.numpy() * 2 + 1
                np.testing.assert_array_equal((view * 2 + 1).numpy(), expected)
    assert c.built <= 4


@pytest.mark.usefixtures("no_programs")
def test_changing_constants_compile_twice() -> None:
    x = wf.tensor([1.0, 2.0])
    with Counted() as c:
        for k in range(6):
            y = (x * (0.1 * k) + 1.0).tanh() * 2.0
            np.testing.assert_allclose(
                y.numpy(), np.tanh(np.array([1, 2]) * (0.1 * k) + 1) * 2, rtol=1e-5
            )
    assert c.built == 2 and c.generalised == 1


@pytest.mark.usefixtures("no_programs")
def test_constants_that_meet_do_not_change_the_program() -> None:
    x = wf.tensor([1.0, 2.0])
    with Counted() as c:
        for k in (0.5, 1.0, 2.0, 3.0):  # 2.0 is also another constant of the graph
            ((x + k) * 2.0 - k).realize()
    assert c.built == 2


def test_signed_zeros_and_nans_are_constants_like_others() -> None:
    x = wf.tensor([1.0])
    results = [(x * k).item() for k in (0.0, -0.0, float("nan"), 0.0, float("nan"))]
    assert (
        [np.signbit(r) for r in results[:2]] == [False, True]
        and np.isnan(results[2])
        and results[3] == 0
        and np.isnan(results[4])
    )


def test_a_schedule_over_sliced_minibatches_compiles_twice() -> None:
    rng = np.random.default_rng(0)
    data, target = wf.tensor(rng.standard_normal((32, 3))), wf.tensor(rng.standard_normal(32))
    w = wf.tensor(np.zeros(3), requires_grad=True)
    reference = np.zeros(3)
    with Counted() as c:
        for i in range(8):
            rate = 0.1 / (1 + i)
            x, y = data[i * 4 : i * 4 + 4], target[i * 4 : i * 4 + 4]
            loss = ((x @ w - y) ** 2).mean()
            loss.backward()
            with wf.no_grad():
                w.assign(w - w.grad * rate)
            w.grad = None
            wf.realize()
            xn, yn = x.numpy(), y.numpy()
            reference = reference - rate * 2 * xn.T @ (xn @ reference - yn) / 4
    np.testing.assert_allclose(w.numpy(), reference, rtol=1e-10)
    assert c.built <= 2


# ---------------------------------------------------------------- assign


def test_assign_joins_the_next_program() -> None:
    x, y = wf.tensor([1.0]), wf.tensor([2.0])
    with Counted() as c:
        x.assign(x + 1)
        assert x.node.arg.storage is None
        (y * 5).realize()
        assert x.node.arg.storage is not None and x.tolist() == [2.0]
    assert c.runs == 1


def test_assign_twice_before_a_program() -> None:
    x = wf.tensor([1.0])
    x.assign(x + 1)
    x.assign(x * 10)
    assert x.tolist() == [20.0]
    x.assign(3.0)
    x.assign(np.array([4]))
    assert x.tolist() == [4.0] and x.dtype is wf.float32


def test_expressions_made_before_an_assign_keep_the_old_value() -> None:
    p = parameter(1.0, 2.0)
    kept, logits = p * 2, (p + 1).sum()
    with wf.no_grad():
        p.assign(p - 1)
    wf.realize()
    assert p.tolist() == [0.0, 1.0] and kept.tolist() == [2.0, 4.0] and logits.item() == 5.0


def test_an_update_is_written_in_place_unless_somebody_can_see_it() -> None:
    p = wf.tensor(np.zeros(1000, "float32"))

    def update() -> tuple[bool, Counted]:
        before = p._stored().address
        with Counted() as c:
            p.assign(p + 1)
            wf.realize()
        return p._stored().address == before, c

    in_place, c = update()
    assert in_place and c.donated == 1
    reader = p * 2
    assert not update()[0] and reader.numpy()[0] == 2.0
    del reader
    update()
    array = p.numpy()
    before = array[0]
    assert not update()[0] and array[0] == before
    del array
    view = p[1:3].realize()
    value = view.numpy()[0]
    assert not update()[0] and view.numpy()[0] == value
    assert update()[0]
    assert p.numpy()[0] == 6.0


def test_foreign_memory_is_never_written() -> None:
    x = np.zeros(4, "float32")
    t = wf.from_numpy(x)
    t.assign(t + 1)
    assert t.tolist() == [1.0] * 4 and x.tolist() == [0.0] * 4


@pytest.mark.usefixtures("no_programs")
def test_initial_values_are_computed_apart_from_the_first_step() -> None:
    p = wf.rand(3).requires_grad_()
    with Counted() as c:
        for _ in range(3):
            (p * p).sum().backward()
            with wf.no_grad():
                p.assign(p - p.grad * 0.1)
            p.grad = None
            wf.realize()
    assert c.built == 2 and c.runs == 4


# ---------------------------------------------------------------- training


def train_step(p: wf.Tensor, x: wf.Tensor) -> wf.Tensor:
    loss = ((p * x).tanh() - 1).square().sum()
    p.grad = None
    loss.backward()
    with wf.no_grad():
        p.assign(p - p.grad * 0.1)
    wf.realize()
    return loss


def test_a_step_computes_the_loss_and_the_gradients_that_are_held() -> None:
    p, x = parameter(0.5, 0.2), wf.tensor([1.0, 2.0])
    loss = train_step(p, x)
    with Counted() as c:
        assert loss.item() > 0 and p.grad.numpy().shape == (2,)
    assert c.runs == 0


def test_print_the_loss_then_backward() -> None:
    p = parameter(1.0, 2.0)
    loss = (p * p).sum()
    assert loss.item() == 5.0
    loss.backward()
    assert p.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("steps", [200, *rarely(1000)])
def test_many_steps_without_reading_keep_memory_flat_and_use_one_program(steps: int) -> None:
    p, x = (
        wf.tensor(np.full(50_000, 0.1, "float32"), requires_grad=True),
        wf.tensor(np.ones(50_000, "float32")),
    )
    from weft.runtime.buffer import memory

    train_step(p, x)
    train_step(p, x)
    with Counted() as c:
        for i in range(steps):
            loss = train_step(p, x)
            if i == 10:
                gc.collect()
                start, nodes = memory.allocated_bytes, len(graph.interned)
    gc.collect()
    assert memory.allocated_bytes <= start + 4096 and len(graph.interned) <= nodes + 10
    assert c.built == 0 and c.runs == steps and 0 < loss.item() < 1000


def test_a_running_sum_that_is_never_read_stays_small() -> None:
    p, x = parameter(0.5, 0.2), wf.tensor([1.0, 2.0])
    total = wf.tensor(0.0)
    for _ in range(5):
        total += train_step(p, x).detach()
    for _ in range(3):
        with Counted() as c:
            total += train_step(p, x).detach()
    assert c.built == 0
    assert len(graph.toposort([total.node])) < 10 and 0 < total.item() < 20


def test_values_computed_from_old_parameters_do_not_pile_up_history() -> None:
    p, x = parameter(0.5, 0.2), wf.tensor([1.0, 2.0])
    kept, versions = [], []
    for _ in range(4):
        out = p * x
        versions.append(weakref.ref(p.node))
        train_step(p, x)
        kept.append(out.realize())
        del out
    wf.realize(p)
    assert [v() is None for v in versions] == [True] * 4
    with pytest.raises(wf.errors.StaleError):
        kept[0].sum().backward() if kept[0]._note is None else kept[0].backward(wf.ones(2))


def test_backward_through_a_replaced_parameter_raises_and_names_it() -> None:
    p, x = parameter(0.5, 0.2), wf.tensor([1.0, 2.0])
    p.name = "layer.weight"
    loss, outputs = (p * x).sum(), p * x
    train_step(p, x)
    with pytest.raises(wf.errors.StaleError, match=r"layer\.weight"):
        loss.backward()
    computed = (p * x).sum()
    computed.realize()
    train_step(p, x)
    with pytest.raises(wf.errors.StaleError, match=r"layer\.weight"):
        computed.backward()
    with pytest.raises(wf.errors.StaleError, match=r"layer\.weight"):
        wf.grad(outputs.sum(), p)


def test_a_wrong_label_leaves_everything_as_it_was() -> None:
    table = wf.tensor(np.arange(12, dtype="float32").reshape(4, 3), requires_grad=True)
    momentum = wf.zeros(4, 3).realize()

    def step(labels: list[int]) -> None:
        table.grad = None
        loss = wf.gather(table, wf.tensor(labels)).square().sum()
        loss.backward()
        with wf.no_grad():
            momentum.assign(momentum * 0.9 + table.grad)
            table.assign(table - momentum * 0.01)
        wf.realize(table, momentum)

    step([0, 1])
    step([1, 2])
    before, state_before = table.numpy(copy=True), momentum.numpy(copy=True)
    for labels in ([1, 4], [-1, 0]):
        with pytest.raises(wf.errors.IndexError, match=r"axis 0 of extent 4"):
            step(labels)
        np.testing.assert_array_equal(table.numpy(), before)
        np.testing.assert_array_equal(momentum.numpy(), state_before)
        assert table.requires_grad and table.is_leaf
    with Counted() as c:
        step([3, 3])
    assert c.built == 0
    assert not np.array_equal(table.numpy()[3], before[3])


def test_a_failed_run_leaves_pending_values_pending() -> None:
    x = wf.tensor([1.0, 2.0])
    a, b = x * 3, x[wf.tensor([5])]
    with pytest.raises(wf.errors.IndexError):
        wf.realize(a, b)
    assert a.tolist() == [3.0, 6.0]
    with pytest.raises(wf.errors.IndexError):
        b.numpy()


# ---------------------------------------------------------------- size


@pytest.mark.slow
@pytest.mark.parametrize("turns", [2500, *rarely(10_000)])
def test_a_chain_of_thousands_of_nodes(turns: int) -> None:
    p = parameter(*([1.0] * 8))
    y = p
    for _ in range(turns):
        y = y * 1.0001 + 1e-6
    loss = y.sum()
    loss.backward()
    assert p.grad.numpy()[0] == pytest.approx(1.0001**turns, rel=1e-2) and loss.item() > 8


@pytest.mark.slow
def test_a_wide_graph() -> None:
    x = wf.tensor([1.0, 2.0])
    total = x
    for k in range(3000):
        total = total + x * float(k % 7)
    assert total.numpy()[0] == pytest.approx(1 + sum(k % 7 for k in range(3000)))


def test_a_long_chain_of_views_is_captured_in_linear_time() -> None:
    v = wf.tensor(np.arange(6.0))
    for _ in range(3000):
        v = v.reshape(2, 3).T.reshape(6).flip(0)
    outputs, leaves, _, _ = graph_of(v)
    assert len(graph.toposort(outputs)) == 12_001 and len(leaves) == 1


def test_storages_forget_dead_nodes() -> None:
    p = parameter(1.0)
    for _ in range(5):
        (p * 2).realize()
    gc.collect()
    assert all(ref() is not None for ref in storage.cached.values())


def test_values_that_decide_shapes_keep_the_version_they_were_read_from() -> None:
    for read in (lambda x: x[x > 2] * 1, lambda x: wf.bincount(x, minlength=6)):
        x = (wf.arange(6) + 0).realize()
        expected, lazy = read(x).tolist(), read(x)
        x.assign(x + 100)
        x.realize()
        assert lazy.tolist() == expected


def test_tensors_of_one_pending_value_share_its_memory() -> None:
    """A parameter that is updated in place later leaves its copy alone."""
    p, one = wf.tensor([1.0, 2.0]), wf.ones(2).realize()
    with wf.no_grad():
        p.assign(p * 2)
    kept = copy.deepcopy(p)
    wf.realize(p, kept)
    assert p._storage is kept._storage
    add = wf.jit(lambda x: p.assign(p + x))
    for _ in range(3):
        add(one)
    late = p.clone()
    with wf.no_grad():
        p.assign(p * 10)
    assert (
        kept.tolist() == [2.0, 4.0] and late.tolist() == [5.0, 7.0] and p.tolist() == [50.0, 70.0]
    )


def test_a_value_that_is_asked_for_twice_is_computed_once() -> None:
    x = wf.tensor([1.0, 2.0])
    a, b = x + 1, x + 1
    wf.realize(a, b)
    assert a._storage is b._storage
    a += 1
    assert a.tolist() == [3.0, 4.0] and b.tolist() == [2.0, 3.0]


def test_a_constant_in_memory_is_an_input_whoever_else_names_it() -> None:
    named = wf.zeros(3, 7)
    read = wf.zeros(3, 7)
    read.realize()
    kernels = [str(wf.explain(x * 1.5 + 1.0)) for x in (named, read)]
    assert "input 0" not in kernels[0] and "input 0" in kernels[1]
