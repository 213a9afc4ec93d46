"""Training in two processes: gradients are those of the joined batch, and parameters stay equal to
the last bit."""

from __future__ import annotations

import gc
import textwrap
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from processes import launched
from weft import nn
from weft.frontend.lazy import state
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F
from weft.nn import parallel
from weft.nn.parallel import flat

E = wf.errors
Saved = list[dict[str, np.ndarray]]  # of each rank

COMMON = """
    import sys
    import numpy as np
    import weft as wf
    from weft import nn
    from weft.nn import functional as F
    from weft.nn import parallel
    from weft.nn.parallel import DistributedDataParallel as DDP

    rank, out = parallel.rank(), {}

    def mlp(seed=0):
        wf.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).double()

    def batches(rows=8, seed=1):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((5, rows, 6)), rng.integers(0, 3, (5, rows))
        return [*zip(x, y)]

    def loss_of(model, x, y):
        return F.cross_entropy(model(wf.tensor(x)), wf.tensor(y))

    def keep(name, tensors):
        for i, t in enumerate(tensors):
            out[f"{name} {i}"] = np.array(np.nan) if t is None else t.numpy().copy()
"""


SCRIPT = (
    COMMON
    + """
    from weft.frontend.lazy.program_table import statistics

    half = slice(rank * 4, rank * 4 + 4)  # of a batch of 8

    # the gradients of one batch, from parameters that differ at first
    model = DDP(mlp(seed=rank))
    x, y = batches()[0]
    before = statistics["runs"]
    loss = loss_of(model, x[half], y[half])
    loss.backward()
    out["runs"] = np.array([statistics["runs"] - before, loss.item(), statistics["runs"] - before])
    keep("gradient", [p.grad for p in model.parameters()])

    # steps, with and without jit, with buckets of any size
    def trained(make):
        model = DDP(mlp(), bucket_cap_mb=100 / 2**20 if make == "small buckets" else 25)
        optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
        loss = lambda x, y: loss_of(model, x, y)
        step = parallel.jit_step(model, optimizer, loss) if make == "jitted" else None
        for x, y in batches():
            if step is not None:
                step(x[half], y[half])
                continue
            optimizer.zero_grad()
            loss_of(model, x[half], y[half]).backward()
            optimizer.step()
        keep(make, model.parameters())

    for make in ("lazy", "jitted", "small buckets"):
        trained(make)

    # gradients that are collected before they are averaged
    model = DDP(mlp())
    (x, y), (x2, y2) = batches()[:2]
    with model.no_sync():
        loss_of(model, x[half], y[half]).backward()
    loss_of(model, x2[half], y2[half]).backward()
    keep("collected", [p.grad for p in model.parameters()])

    # batches of different sizes: the mean of the means
    model.zero_grad()
    part = slice(0, 5) if rank == 0 else slice(5, 8)
    loss_of(model, x[part], y[part]).backward()
    keep("uneven", [p.grad for p in model.parameters()])

    # a parameter that only one process uses, one that none does, and 16-bit floats
    class Choosing(nn.Module):
        def __init__(self):
            self.a, self.b, self.c = (nn.Parameter(wf.tensor([2.0, 4.0])) for _ in range(3))
            self.seen = nn.Buffer(wf.zeros(2))
        def forward(self, x):
            self.seen = self.seen + x.detach()
            return (x * self.a).sum() if rank == 0 else (x * self.b).sum()

    for follows in (True, False):
        model = DDP(Choosing(), broadcast_buffers=follows)
        model(wf.tensor([1.0, 3.0]) * (rank + 1)).backward()
        keep(f"choosing {follows}", [p.grad for p in model.parameters()] + [*model.buffers()])
    model = DDP(mlp().half())
    loss_of(model, x[half].astype(np.float16), y[half]).backward()
    keep("half", [p.grad for p in model.parameters()])

    # what is refused
    def error(what):
        try:
            what()
        except wf.errors.WeftError as e:
            return f"{type(e).__name__}: {e}"
    out["differs"] = error(lambda: DDP(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 4 + rank))))
    out["longer"] = error(lambda: DDP(nn.Sequential(*[nn.Linear(3, 3)] * 1,
        *[nn.Linear(3, 3) for _ in range(rank)])))
    model = DDP(mlp())
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    @wf.jit
    def step(x, y):
        loss_of(model, x, y).backward()
        optimizer.step()
    out["jit"] = error(lambda: step(x, y))
    out["jit all_reduce"] = error(lambda: wf.jit(lambda: model.all_reduce())())

    np.savez(f"{sys.argv[1]}/{rank}.npz", **out)
"""
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("training")
    done = launched(folder, SCRIPT, str(folder))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]


def values(rank: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    return [rank[key] for key in rank if key.rsplit(" ", 1)[0] == name]


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """The names that the scripts share, in this one process."""
    names: dict[str, Any] = {}
    exec(textwrap.dedent(COMMON), names)
    return names


def gradients(alone: dict[str, Any], *batches: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """Of the sum of the losses of these batches, in this process."""
    model = alone["mlp"]()
    for x, y in batches:
        alone["loss_of"](model, x, y).backward()
    return [p.grad.numpy() for p in model.parameters()]


def assert_equal_bits(saved: Saved, name: str) -> None:
    first, second = (values(rank, name) for rank in saved)
    assert len(first) > 0
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_close(saved: Saved, name: str, expected: list[np.ndarray], rtol: float = 1e-6) -> None:
    for rank in saved:
        for got, e in zip(values(rank, name), expected, strict=True):
            np.testing.assert_allclose(got, e, rtol=rtol, atol=rtol * np.abs(e).max())


def test_gradients_are_those_of_the_joined_batch(saved: Saved, alone: dict[str, Any]) -> None:
    assert_equal_bits(saved, "gradient")
    assert_close(saved, "gradient", gradients(alone, alone["batches"]()[0]))


def test_backward_is_one_program_with_the_loss(saved: Saved) -> None:
    for rank in saved:
        before, loss, after = rank["runs"]
        assert before == after == 1 and 0.5 < loss < 3


def test_after_five_steps_parameters_are_equal_to_the_last_bit(
    saved: Saved, alone: dict[str, Any]
) -> None:
    model = alone["mlp"]()
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
    for x, y in alone["batches"]():
        optimizer.zero_grad()
        alone["loss_of"](model, x, y).backward()
        optimizer.step()
    assert_equal_bits(saved, "lazy")
    assert_close(saved, "lazy", [p.numpy() for p in model.parameters()])


@pytest.mark.parametrize("made", ["jitted", "small buckets"])
def test_parameters_do_not_depend_on_how_a_step_is_made(made: str, saved: Saved) -> None:
    for rank in saved:
        for got, expected in zip(values(rank, made), values(rank, "lazy"), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_no_sync_collects_gradients_that_the_next_backward_averages(
    saved: Saved, alone: dict[str, Any]
) -> None:
    assert_equal_bits(saved, "collected")
    assert_close(saved, "collected", gradients(alone, *alone["batches"]()[:2]))


@pytest.mark.slow
def test_uneven_batches_give_the_mean_of_the_means(saved: Saved, alone: dict[str, Any]) -> None:
    x, y = alone["batches"]()[0]
    parts = [gradients(alone, (x[part], y[part])) for part in (slice(0, 5), slice(5, 8))]
    assert_equal_bits(saved, "uneven")
    assert_close(saved, "uneven", [(a + b) / 2 for a, b in zip(*parts, strict=True)])


def test_a_parameter_that_a_process_does_not_use_counts_as_zero_there(saved: Saved) -> None:
    for rank in saved:
        a, b, c, _ = values(rank, "choosing True")
        assert a.tolist() == [0.5, 1.5] and b.tolist() == [1.0, 3.0] and np.isnan(c)


def test_buffers_are_those_of_rank_0_unless_each_keeps_its_own(saved: Saved) -> None:
    for number, rank in enumerate(saved):
        assert values(rank, "choosing True")[-1].tolist() == [1.0, 3.0]
        assert values(rank, "choosing False")[-1].tolist() == [1.0 + number, 3.0 + 3 * number]


def test_gradients_of_16_bit_floats(saved: Saved, alone: dict[str, Any]) -> None:
    assert_equal_bits(saved, "half")
    assert_close(saved, "half", gradients(alone, alone["batches"]()[0]), rtol=2e-2)


def test_modules_that_differ_are_refused_in_every_process(saved: Saved) -> None:
    for rank in saved:
        text = (
            "the processes have different Modules: rank 0 has 1.weight float32[4, 3], rank 1 has"
            " 1.weight float32[5, 3]"
        )
        assert str(rank["differs"]) == f"StateError: DistributedDataParallel: {text}"
        assert str(rank["longer"]).endswith(
            "rank 0 has nothing more, rank 1 has 1.weight float32[3, 3]"
        )


def test_a_whole_jitted_step_is_refused_with_the_way_out(saved: Saved) -> None:
    for rank in saved:
        assert "JitError" in str(rank["jit"]) and "use nn.parallel.jit_step" in str(rank["jit"])
        assert "JitError: all_reduce of a DistributedDataParallel in the jitted function" in str(
            rank["jit all_reduce"]
        )


# ---------------------------------------------------------------- one process


def test_alone_a_wrapped_module_trains_as_it_would_without() -> None:
    x, y = wf.randn(4, 3), wf.tensor([0, 1, 0, 1])
    results = []
    for wrap in (lambda m: m, parallel.DistributedDataParallel):
        wf.manual_seed(0)
        model = wrap(nn.Linear(3, 2))
        optimizer = nn.optim.SGD(model.parameters(), lr=0.1)

        @wf.jit
        def step(
            x: wf.Tensor, y: wf.Tensor, model: Any = model, optimizer: Any = optimizer
        ) -> wf.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        results.append([step(x, y).item() for _ in range(3)])
    assert results[0] == results[1] and results[0][2] < results[0][0]


def test_alone_a_compiled_step_is_one_program() -> None:
    wf.manual_seed(0)
    model = parallel.DistributedDataParallel(nn.Linear(3, 2))
    optimizer = nn.optim.Adam(model.parameters(), lr=0.01)
    step = parallel.jit_step(model, optimizer, lambda x, y: (F.cross_entropy(model(x), y), x.sum()))
    x, y = wf.ones(4, 3).realize(), wf.tensor([0, 1, 0, 0])
    first, total = step(x, y)
    before = statistics["runs"]
    second, _ = step(x, y)
    assert statistics["runs"] == before + 1 and second.item() < first.item() and total.item() == 12
    assert [p.grad for p in model.parameters()] == [None, None]


def test_a_compiled_step_may_clip_what_is_averaged() -> None:
    model = parallel.DistributedDataParallel(nn.Linear(3, 1, bias=False))
    optimizer, before = nn.optim.SGD(model.parameters(), lr=1.0), model.module.weight.numpy().copy()
    clip = partial(nn.utils.clip_grad_norm_, [*model.parameters()], 0.5)
    parallel.jit_step(model, optimizer, lambda x: model(x).sum(), clip)(wf.ones(1, 3) * 100)
    np.testing.assert_allclose(
        before - model.module.weight.numpy(), np.full((1, 3), 0.5 / 3**0.5), rtol=1e-4
    )


def test_names_are_those_of_the_module() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model = parallel.DistributedDataParallel(module)
    assert [*model.state_dict()] == [*module.state_dict()]
    assert [name for name, _ in model.named_buffers()] == [
        name for name, _ in module.named_buffers()
    ]
    model.load_state_dict(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict())
    assert not model.eval().module[0].training and model.num_parameters() == 12
    assert next(nn.Sequential(model).named_parameters())[0] == "0.module.0.weight"


def test_a_wrapper_that_is_gone_is_not_told() -> None:
    module = nn.Linear(3, 2)
    parallel.DistributedDataParallel(module).after_backward = pytest.fail
    gc.collect()
    module(wf.ones(1, 3)).sum().backward()
    assert module.weight.grad is not None


def test_a_watcher_is_told_once_when_all_gradients_are_there() -> None:
    told: list[Any] = []

    class Watcher:
        def after_backward(self) -> None:
            told.append([p.grad.tolist() for p in (a, b)])

    a, b, watcher = nn.Parameter(wf.ones(1)), nn.Parameter(wf.ones(1)), Watcher()
    for p in (a, b):
        state.watch(p, watcher)
    (2 * a + 3 * b).sum().backward()
    nn.Parameter(wf.ones(1)).sum().backward()
    assert told == [[[2.0], [3.0]]]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(
        E.DTypeError, match="DistributedDataParallel: the module must be a Module, not 3"
    ):
        parallel.DistributedDataParallel(3)
    with pytest.raises(E.ArgumentError, match="ReLU has no Parameter that requires a gradient"):
        parallel.DistributedDataParallel(nn.ReLU())
    with pytest.raises(E.ArgumentError, match="bucket_cap_mb must be greater than 0, not 0"):
        parallel.DistributedDataParallel(nn.Linear(2, 2), bucket_cap_mb=0)
    with pytest.raises(
        E.DTypeError, match="jit_step: the model must be a DistributedDataParallel, not Linear"
    ):
        parallel.jit_step(nn.Linear(2, 2), None, print)


def test_buckets_hold_neighbours_of_one_dtype() -> None:
    layouts = [
        (wf.float32, (2, 2)),
        (wf.float32, (4,)),
        (wf.float16, (1,)),
        (wf.float16, (100,)),
        (wf.float16, ()),
    ]
    assert [*flat.buckets(layouts, 32)] == [[0, 1], [2], [3], [4]]
    assert [*flat.buckets(layouts, 31)] == [[0], [1], [2], [3], [4]] and [
        *flat.buckets([], 1)
    ] == []


# ---------------------------------------------------------------- which rows a process gets


def dealt(rows: int, processes: int, **options: Any) -> list[list[int]]:
    return [
        list(parallel.DistributedSampler(rows, processes, rank, **options))
        for rank in range(processes)
    ]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("rows", "processes"), [(12, 3), (13, 3), (2, 5), (1, 1), (0, 2)])
def test_every_row_is_dealt_and_each_process_gets_as_many(
    rows: int, processes: int, shuffle: bool
) -> None:
    parts = dealt(rows, processes, shuffle=shuffle)
    assert {row for part in parts for row in part} == set(range(rows))
    assert {len(part) for part in parts} == {-(-rows // processes)}


@pytest.mark.parametrize(("rows", "processes"), [(12, 3), (14, 3), (2, 5)])
def test_drop_last_deals_no_row_twice(rows: int, processes: int) -> None:
    every = [row for part in dealt(rows, processes, drop_last=True) for row in part]
    assert len(every) == len(set(every)) == rows // processes * processes


def test_an_epoch_and_a_seed_decide_the_order() -> None:
    sampler = parallel.DistributedSampler(range(100), 2, 0)
    orders = []
    for epoch in (0, 1, 1):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert (
        orders[0]
        != orders[1]
        == orders[2]
        != list(parallel.DistributedSampler(range(100), 2, 0, seed=1))
    )


def test_a_loader_takes_its_rows_from_the_sampler() -> None:
    data = nn.data.TensorDataset(wf.arange(10))
    sampler = parallel.DistributedSampler(data, 2, 1, shuffle=False)
    assert [x.tolist() for (x,) in nn.data.DataLoader(data, 2, sampler=sampler)] == [
        [1, 3],
        [5, 7],
        [9],
    ]


def test_a_sampler_refuses_what_it_cannot_deal() -> None:
    with pytest.raises(E.ArgumentError, match="rank 2 is not one of 2 processes"):
        parallel.DistributedSampler(3, 2, 2)
    with pytest.raises(
        E.DTypeError, match=r"the dataset must have a length, or be one, unlike 2\.5"
    ):
        parallel.DistributedSampler(2.5)
    with pytest.raises(E.ArgumentError, match="the length must be at least 0, not -1"):
        parallel.DistributedSampler(-1)
    with pytest.raises(E.ArgumentError, match="epoch must be at least 0, not -1"):
        parallel.DistributedSampler(3).set_epoch(-1)
    with pytest.raises(E.ArgumentError, match="seed must be at least 0, not -1"):
        parallel.DistributedSampler(3, seed=-1)
