"""DataLoader, samplers and data sets: which rows come when, what a batch is, threads that end,
draws that repeat."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import weft as wf
from processes import interruptible
from weft.nn import data
from weft.nn.data import prefetch


class Numbers(data.Dataset):
    """Row i is i; making a batch is slow enough for a thread, and tells which thread made it."""

    def __init__(self, n: int, seconds: float = 0.0, fails_at: int = -1) -> None:
        self.n, self.seconds, self.fails_at = n, seconds, fails_at
        self.threads: set[str] = set()
        self.made: list[int] = []

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        time.sleep(self.seconds)
        self.threads.add(threading.current_thread().name)
        if i == self.fails_at:
            raise ValueError(f"row {i} is damaged")
        self.made.append(i)
        return i


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread from the first batch on."""
    monkeypatch.setattr(prefetch, "SLOW_SECONDS", -1.0)


def rows(loader: Any) -> list[list[int]]:
    return [batch.tolist() for batch in loader]


def flat(loader: Any) -> list[int]:
    return [row for batch in rows(loader) for row in batch]


def workers() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "weft-data"]


def assert_no_worker_stays() -> None:
    deadline = time.monotonic() + 5
    while workers() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not workers()


# ---------------------------------------------------------------- which rows, in which order


@pytest.mark.parametrize("prefetch", [0, 1, 2, 9])
def test_rows_come_in_order_with_a_short_last_batch(prefetch: int, threaded: None) -> None:
    loader = data.DataLoader(Numbers(7), 3, prefetch=prefetch)
    assert rows(loader) == rows(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(loader) == 3


def test_drop_last_drops_the_short_batch() -> None:
    loader = data.DataLoader(Numbers(7), 3, drop_last=True)
    assert rows(loader) == [[0, 1, 2], [3, 4, 5]] and len(loader) == 2
    assert rows(data.DataLoader(Numbers(2), 3, drop_last=True)) == []


def test_an_empty_data_set_has_no_batches() -> None:
    assert (
        rows(data.DataLoader(Numbers(0), 3))
        == rows(data.DataLoader(Numbers(0), 3, shuffle=True))
        == []
    )


def test_shuffling_gives_every_row_once_in_another_order_each_pass() -> None:
    loader = data.DataLoader(Numbers(40), 7, shuffle=True)
    first, second = flat(loader), flat(loader)
    assert sorted(first) == sorted(second) == list(range(40)) and first != second != list(range(40))


@pytest.mark.parametrize("prefetch", [0, 3])
def test_the_seed_decides_the_order(prefetch: int, threaded: None) -> None:
    loader = data.DataLoader(Numbers(20), 6, shuffle=True, prefetch=prefetch)
    orders = []
    for seed in (1, 1, 2):
        wf.manual_seed(seed)
        orders.append([rows(loader), rows(loader)])
    assert orders[0] == orders[1] != orders[2]


def test_a_permutation_is_the_same_everywhere() -> None:
    """A checkpoint may be resumed with another NumPy or processor: the order of a draw is a known
    answer."""
    wf.manual_seed(5)
    assert flat(data.DataLoader(Numbers(10), 4, shuffle=True)) == [7, 4, 5, 1, 9, 6, 8, 0, 2, 3]


def test_every_seed_and_draw_number_has_its_order() -> None:
    loader = data.DataLoader(Numbers(30), 30, shuffle=True)
    orders = set()
    for seed in (0, 1, -1, 1 << 63, (1 << 64) - 2):
        for draws in (0, 1, (1 << 63) + 5):
            wf.set_rng_state({"seed": seed & ((1 << 64) - 1), "draws": draws})
            orders.add(tuple(flat(loader)))
    assert len(orders) == 15


def test_permutations_are_fair() -> None:
    wf.manual_seed(0)
    places = np.zeros((4, 4), int)
    for _ in range(2000):
        places[np.arange(4), wf.frontend.tensor.random.permutation(4)] += 1
    assert abs(places - 500).max() < 5 * np.sqrt(2000 * 3 / 16)


def test_lazy_draws_between_batches_do_not_change_the_order() -> None:
    loader = data.DataLoader(Numbers(20), 6, shuffle=True)
    wf.manual_seed(3)
    plain = rows(loader)
    wf.manual_seed(3)
    drawn = []
    for batch in loader:
        drawn.append(batch.tolist())
        wf.rand(3).realize()
    assert plain == drawn


class Noisy(Numbers):
    def __getitem__(self, i: int) -> tuple[int, Any]:
        return super().__getitem__(i), wf.rand(2)


@pytest.mark.parametrize("count", [0, 2])
def test_what_a_data_set_draws_depends_on_its_batch_alone(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the thread that fetches nor what is drawn meanwhile matters."""

    def noise(slow: float, draws: int) -> list[Any]:
        monkeypatch.setattr(prefetch, "SLOW_SECONDS", slow)
        wf.manual_seed(1)
        found = []
        for _, batch in data.DataLoader(Noisy(6), 2, prefetch=count):
            found.append(batch.tolist())
            for _ in range(draws):
                wf.rand(1).realize()
        return found

    first = noise(-1.0, 0)
    assert first == noise(9.0, 2)
    assert len({x for batch in first for row in batch for x in row}) == 12


def test_a_pass_goes_on_from_a_stored_state_of_the_generator() -> None:
    loader = data.DataLoader(Numbers(9), 4, shuffle=True)
    wf.manual_seed(8)
    straight = [rows(loader) for _ in range(4)]
    wf.manual_seed(8)
    again = [rows(loader) for _ in range(2)]
    stored = wf.get_rng_state()
    wf.manual_seed(99)
    rows(loader)
    wf.set_rng_state(stored)
    assert again + [rows(loader) for _ in range(2)] == straight


def test_shuffling_inside_a_jitted_function_is_refused() -> None:
    loader = data.DataLoader(Numbers(3), shuffle=True)
    with pytest.raises(wf.errors.JitError, match="drawing numbers for Python"):
        wf.jit(lambda x: x + next(iter(loader)))(wf.zeros(1))


# ---------------------------------------------------------------- samplers


def test_a_sampler_of_ones_own_decides() -> None:
    assert rows(data.DataLoader(Numbers(9), 2, sampler=[4, 1, 8])) == [[4, 1], [8]]
    assert rows(data.DataLoader(Numbers(9), batch_sampler=[[1, 2, 3], [5]])) == [[1, 2, 3], [5]]


def test_a_sampler_may_define_iter_alone() -> None:
    class Odd(data.Sampler):
        def __iter__(self) -> Iterator[int]:
            return iter([1, 3])

    assert rows(data.DataLoader(Numbers(9), 2, sampler=Odd())) == [[1, 3]]
    with pytest.raises(NotImplementedError, match="Sampler defines neither order"):
        list(data.Sampler())


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (6, 3), (7, 3), (5, 1)])
def test_batches_are_those_of_torch(n: int, size: int, drop_last: bool) -> None:
    torch = pytest.importorskip("torch")
    items = [(i, {"half": np.float32(i / 2)}) for i in range(n)]
    ours = data.DataLoader(items, size, drop_last=drop_last)
    theirs = torch.utils.data.DataLoader(items, size, drop_last=drop_last)
    assert len(ours) == len(theirs)
    for (a, b), (c, d) in zip(ours, theirs, strict=True):
        assert (
            a.tolist() == c.tolist()
            and b["half"].tolist() == d["half"].tolist()
            and a.dtype.name == "int64"
        )


def test_a_data_set_without_length_needs_a_sampler() -> None:
    class Squares:
        def __getitem__(self, i: int) -> int:
            return i * i

    assert rows(data.DataLoader(Squares(), 2, sampler=[3, 5])) == [[9, 25]]
    with pytest.raises(TypeError, match=r"has no __len__\(\)"):
        data.DataLoader(Squares(), 2)


def test_a_sampler_may_be_endless() -> None:
    def forever() -> Iterator[int]:
        while True:
            yield 7

    batches = iter(data.DataLoader(Numbers(9), 2, sampler=forever()))
    assert [next(batches).tolist() for _ in range(5)] == [[7, 7]] * 5


def test_a_random_sampler_with_replacement_repeats_rows() -> None:
    wf.manual_seed(0)
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=300))
    assert len(drawn) == 300 and all(80 < drawn.count(i) < 120 for i in range(3))
    some = list(data.RandomSampler(range(30), num_samples=5))
    assert len(set(some)) == 5 and max(some) < 30


def test_batches_of_a_sampler_are_arrays_and_of_an_iterable_lists() -> None:
    assert [type(b) for b in data.BatchSampler(data.SequentialSampler(range(2)), 2, False)] == [
        np.ndarray
    ]
    assert list(data.BatchSampler(iter("abc"), 2, True)) == [["a", "b"]]


def test_a_sampler_that_fails_does_so_behind_the_batches_before(threaded: None) -> None:
    def broken() -> Iterator[list[int]]:
        yield from ([0], [1], [2])
        raise LookupError("no more")

    found = []
    with pytest.raises(LookupError, match="no more"):
        for batch in data.DataLoader(Numbers(4), batch_sampler=broken()):
            found.append(batch.item())
    assert found == [0, 1, 2]


# ---------------------------------------------------------------- what a batch is


class Pair(NamedTuple):
    x: Any
    y: Any


@pytest.mark.parametrize(
    ("items", "dtype", "values"),
    [
        ([1.5, 2], "float32", [1.5, 2.0]),
        ([1, 2], "int64", [1, 2]),
        ([True, False], "bool", [True, False]),
        ([True, 2], "int64", [1, 2]),
        ([1, np.float32(2.5)], "float32", [1.0, 2.5]),
        ([np.float64(1), np.float64(2)], "float64", [1.0, 2.0]),
        ([np.zeros(2, np.uint8), np.ones(2, np.uint8)], "uint8", [[0, 0], [1, 1]]),
        ([wf.zeros(2), wf.ones(2) * 2], "float32", [[0.0, 0.0], [2.0, 2.0]]),
    ],
    ids=["floats", "ints", "bools", "bools-ints", "ints-floats", "scalars", "arrays", "tensors"],
)
def test_items_are_stacked(items: list[Any], dtype: str, values: list[Any]) -> None:
    batch = data.default_collate(items)
    assert isinstance(batch, wf.Tensor) and batch.dtype.name == dtype and batch.tolist() == values


def test_a_batch_has_the_structure_of_an_item() -> None:
    items = [{"pair": Pair(i, [i, f"{i}"]), "raw": b"x"} for i in range(2)]
    batch = next(iter(data.DataLoader(items, 2)))
    assert type(batch["pair"]) is Pair and batch["pair"].x.tolist() == [0, 1]
    assert (
        batch["pair"].y[0].tolist() == [0, 1]
        and batch["pair"].y[1] == ["0", "1"]
        and batch["raw"] == [b"x", b"x"]
    )


@pytest.mark.parametrize(
    ("items", "error", "says"),
    [
        (
            [np.zeros(2), np.zeros(3)],
            ValueError,
            r"items of one batch have shapes \(2,\) and \(3,\): pass a collate_fn",
        ),
        ([(1, 2), (1,)], ValueError, "1 and 2 fields"),
        ([None, None], TypeError, "items with None do not make a batch: pass a collate_fn"),
        ([{1}, {2}], TypeError, r"items with \{1\} do not make a batch"),
        (
            [(1, 0), ("a", 0)],
            TypeError,
            "the items of one batch, of int and str, are not alike: pass a collate_fn",
        ),
        ([np.zeros(2), 1.0], TypeError, "of float and ndarray, are not alike"),
        ([1, wf.zeros(2)], TypeError, "of Tensor and int, are not alike"),
        ([{"a": 1}, {"b": 1}], TypeError, "of dict, are not alike"),
    ],
    ids=["shapes", "fields", "none", "set", "text", "array", "tensor", "keys"],
)
def test_items_that_make_no_batch_are_named(
    items: list[Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        next(iter(data.DataLoader(items, 2)))


def test_collate_fn_gets_the_items_and_makes_the_batch() -> None:
    loader = data.DataLoader(["a", "bcd"], 2, collate_fn=lambda items: max(map(len, items)))
    assert list(loader) == [3]


def test_a_batch_is_memory_of_its_own() -> None:
    array = np.zeros((4, 2), np.float32)
    batches = [x for (x,) in data.DataLoader(data.TensorDataset(array), 2)]
    array += 1
    assert all((x == 0).all().item() for x in batches)


def test_a_jitted_step_takes_batches_and_gives_what_arrays_give() -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    step = wf.jit(lambda a, b: (a * 2).sum() + b.float().sum())
    found = [
        step(*batch).item() for batch in data.DataLoader(data.TensorDataset(x, np.arange(6)), 3)
    ]
    assert found == [step(x[:3], np.arange(3)).item(), step(x[3:], np.arange(3, 6)).item()]


# ---------------------------------------------------------------- data sets


class Whole(Numbers):
    """Gives batches as a whole, and counts them."""

    calls = 0

    def take_rows(self, rows: Any) -> Any:
        self.calls += 1
        return rows * 10


def test_a_data_set_that_takes_rows_is_asked_for_whole_batches() -> None:
    whole = Whole(5)
    assert rows(data.DataLoader(whole, 2)) == [[0, 10], [20, 30], [40]] and whole.calls == 3
    assert (
        rows(data.DataLoader(whole, 2, collate_fn=np.asarray)) == [[0, 1], [2, 3], [4]]
        and whole.calls == 3
    )


def test_rows_of_arrays_stay_together() -> None:
    pairs = data.TensorDataset(np.arange(10), wf.arange(10) * 2, [[i] for i in range(10)])
    assert len(pairs) == 10 and [np.asarray(a).tolist() for a in pairs[-1]] == [9, 18, [9]]
    for a, b, c in data.DataLoader(pairs, 4, shuffle=True):
        assert (a * 2 == b).all().item() and (a == c[:, 0]).all().item()


def test_a_transform_changes_the_first_field() -> None:
    pairs = data.TensorDataset(np.arange(4), np.arange(4), transform=lambda x: x * 0.5)
    assert pairs[3] == (1.5, 3)
    assert [b.tolist() for b in next(iter(data.DataLoader(pairs, 4)))] == [
        [0, 0.5, 1, 1.5],
        [0, 1, 2, 3],
    ]


def test_subsets_and_joins_give_the_rows_that_they_name() -> None:
    a, b = data.TensorDataset(np.arange(5)), data.TensorDataset(np.arange(10, 13))
    joined = data.Subset(a, [4, 2, -5]) + b + data.TensorDataset(np.arange(20, 21))
    expected = [4, 2, 0, 10, 11, 12, 20]
    assert [int(joined[i][0]) for i in range(7)] == expected and int(joined[-1][0]) == 20
    order = [6, 0, 3, 1, 5, 5]
    (batch,) = next(iter(data.DataLoader(joined, 6, sampler=order)))
    assert batch.tolist() == [expected[i] for i in order]


def test_rows_of_joins_are_counted_from_the_end_or_refused() -> None:
    ten = data.TensorDataset(np.arange(6)) + data.TensorDataset(np.arange(6, 10))
    (batch,) = next(iter(data.DataLoader(ten, 3, sampler=[-1, 0, -10])))
    assert batch.tolist() == [9, 0, 0] and int(data.Subset(ten, [-2])[0][0]) == 8
    with pytest.raises(IndexError, match="ConcatDataset: there is no row 10 in a data set of 10"):
        next(iter(data.DataLoader(ten, 2, sampler=[1, 10])))


def test_joins_keep_texts_and_dicts() -> None:
    joined = data.ConcatDataset([[{"t": "a", "n": 1}], [{"t": "b", "n": 2}, {"t": "c", "n": 3}]])
    batch = next(iter(data.DataLoader(joined, 3, sampler=[2, 0, 1])))
    assert batch["t"] == ["c", "a", "b"] and batch["n"].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [([3, 7], [3, 7]), ([0.5, 0.5], [5, 5]), ([1 / 3] * 3, [4, 3, 3]), ([1.0], [10])],
)
def test_a_random_split_shares_all_rows_out(lengths: list[float], sizes: list[int]) -> None:
    parts = data.random_split(data.TensorDataset(np.arange(10)), lengths)
    assert [len(p) for p in parts] == sizes
    assert sorted(int(x) for p in parts for (x,) in (p[i] for i in range(len(p)))) == list(
        range(10)
    )


# ---------------------------------------------------------------- the thread


def test_slow_batches_are_made_by_a_thread_while_one_is_used() -> None:
    slow = Numbers(12, seconds=0.001)
    for number, _ in enumerate(data.DataLoader(slow, 1)):
        wanted = min(number + 3, 12) if number else 1  # this one and two more
        deadline = time.monotonic() + 5
        while len(slow.made) < wanted and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(slow.made) == wanted
    assert "weft-data" in slow.threads


class Timed(Numbers):
    """Makes row i in so many seconds of a clock of its own."""

    def __init__(self, seconds: list[float]) -> None:
        super().__init__(len(seconds))
        self.each, self.now = seconds, 0.0

    def __getitem__(self, i: int) -> int:
        self.now += self.each[i]
        return super().__getitem__(i)


@pytest.mark.parametrize(
    ("each", "by_thread"),
    [
        ([0.0] * 6, 0),
        ([9.0, 0.0, 0.0, 9.0, 0.0, 0.0], 0),
        ([9.0, 9.0, 0.0, 0.0, 0.0, 0.0], 4),
        ([0.0, *[9.0] * 5], 3),
    ],
)
def test_a_thread_starts_behind_two_slow_batches(
    each: list[float], by_thread: int, monkeypatch: Any
) -> None:
    timed = Timed(each)
    monkeypatch.setattr(prefetch, "perf_counter", lambda: timed.now)
    batches = iter(data.DataLoader(timed, 1))
    here = 0
    while batches._worker is None and next(batches, None) is not None:  # type: ignore[attr-defined]
        here += 1
    assert len(each) - here == by_thread and len([*batches]) == by_thread


@pytest.mark.parametrize("prefetch", [0, 2])
def test_an_error_comes_from_next_behind_the_batches_before(prefetch: int, threaded: None) -> None:
    batches = iter(data.DataLoader(Numbers(5, fails_at=2), prefetch=prefetch))
    assert [next(batches).item(), next(batches).item()] == [0, 1]
    with pytest.raises(ValueError, match="row 2 is damaged") as e:
        next(batches)
    files = [entry.path.name for entry in e.traceback]
    assert files[0] == "test_data_loader.py" and e.traceback[-1].name == "__getitem__"
    assert [b.item() for b in batches] == [3, 4]


def test_stop_iteration_of_a_data_set_does_not_end_the_loop_in_silence(threaded: None) -> None:
    class Ends(Numbers):
        def __getitem__(self, i: int) -> int:
            return next(iter([])) if i else 0

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(data.DataLoader(Ends(3)))


def test_leaving_a_loop_leaves_no_thread(threaded: None) -> None:
    for _ in data.DataLoader(Numbers(100, seconds=0.001), 2):
        if workers():
            break
    assert_no_worker_stays()


def test_the_end_of_a_pass_leaves_no_thread(threaded: None) -> None:
    batches = iter(data.DataLoader(Numbers(6), 2))
    assert len(list(batches)) == 3
    assert_no_worker_stays()
    with pytest.raises(StopIteration):
        next(batches)


def test_a_collected_iterator_leaves_no_thread(threaded: None) -> None:
    cycle: list[Any] = [iter(data.DataLoader(Numbers(9), 2))]
    next(cycle[0])
    cycle.append(cycle)
    assert workers()
    del cycle
    gc.collect()
    assert_no_worker_stays()


def test_several_iterators_at_once(threaded: None) -> None:
    loader = data.DataLoader(Numbers(8), 3)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(loader, loader, strict=True)]
    assert [a for a, _ in pairs] == [b for _, b in pairs] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert_no_worker_stays()


def test_batches_that_are_not_used_are_let_go(threaded: None) -> None:
    import weakref

    class Big:
        pass

    kept: list[weakref.ref[Any]] = []

    def collate(items: list[Any]) -> Big:
        big = Big()
        kept.append(weakref.ref(big))
        return big

    for _ in data.DataLoader(Numbers(10), collate_fn=collate):
        time.sleep(0.002)
        assert (
            sum(ref() is not None for ref in kept) <= 4
        )  # one in use, two made, one in the making


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_goes_on_by_itself(threaded: None) -> None:
    batches = iter(data.DataLoader(Numbers(8), 2))
    next(batches)
    pid = os.fork()
    if not pid:
        signal.alarm(10)
        os._exit([b.tolist() for b in batches] != [[2, 3], [4, 5], [6, 7]])
    assert os.waitpid(pid, 0)[1] == 0
    assert [b.tolist() for b in batches] == [[2, 3], [4, 5], [6, 7]]


def test_ctrl_c_while_waiting_loses_no_batch(threaded: None) -> None:
    batches = iter(data.DataLoader(Numbers(4, seconds=0.2)))
    assert next(batches).item() == 0
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with interruptible(), pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            next(batches)
    timer.join()
    assert [b.item() for b in batches] == [1, 2, 3]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "how",
    ["", "raise SystemExit(0)", "import threading; threading.Timer(0, list, [batches]).start()"],
)
def test_a_process_ends_in_the_middle_of_a_pass(how: str) -> None:
    script = f"""
import time
from weft.nn import data
class Slow(data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): time.sleep(0.001); return i
batches = iter(data.DataLoader(Slow(), 2, sampler=range(30)))
next(batches); next(batches)
{how}
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_process_does_not_wait_long_for_a_data_set_that_hangs() -> None:
    script = """
import time
from weft.nn import data
from weft.nn.data import prefetch
prefetch.EXIT_SECONDS, prefetch.SLOW_SECONDS = 0.1, -1.0
class Hangs(data.Dataset):
    def __len__(self): return 9
    def __getitem__(self, i): return time.sleep(60 * i) or i
batches = iter(data.DataLoader(Hangs()))
next(batches)
"""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "") and time.monotonic() - start < 30


def test_without_more_threads_batches_are_made_in_turn(
    threaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert rows(data.DataLoader(Numbers(5), 2)) == [[0, 1], [2, 3], [4]]


# ---------------------------------------------------------------- wrong arguments


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, not 0"),
        ({"batch_size": 2.5}, TypeError, r"batch_size must be an int, not 2\.5"),
        ({"batch_size": None}, TypeError, "batch_size must be an int, not None"),
        ({"prefetch": -1}, ValueError, "prefetch must be at least 0, not -1"),
        ({"shuffle": True, "sampler": [0]}, ValueError, "shuffle must be False"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "a batch_sampler excludes"),
        ({"collate_fn": 3}, TypeError, "collate_fn must be a function, not 3"),
        ({"sampler": 3}, TypeError, "gives rows when iterated over, which 3 does not"),
        ({"batch_sampler": 3}, TypeError, "a batch_sampler gives lists of rows, which 3 does not"),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, dict) else None,
)
def test_wrong_arguments_of_a_loader(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        data.DataLoader(Numbers(3), **arguments)


@pytest.mark.parametrize("dataset", [3, iter([1]), None], ids=["int", "iterator", "none"])
def test_what_is_no_data_set_is_refused(dataset: Any) -> None:
    with pytest.raises(TypeError, match="a data set has items and a length"):
        data.DataLoader(dataset)


def test_wrong_arguments_of_data_sets() -> None:
    ten = data.TensorDataset(np.arange(10))
    with pytest.raises(ValueError, match=r"arrays of one length, not \[\(2,\), \(3,\)\]"):
        data.TensorDataset(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="arrays of one length"):
        data.TensorDataset(np.zeros(2), 3.0)
    with pytest.raises(ValueError, match="arrays of one length"):
        data.TensorDataset()
    with pytest.raises(IndexError, match="there is no row 10 in a data set of 10"):
        data.Subset(ten, [0, 10])
    with pytest.raises(TypeError, match="indices must be a sequence of integers"):
        data.Subset(ten, [0.5])
    with pytest.raises(IndexError, match="there is no row 10 in a data set of 10"):
        data.ConcatDataset([ten])[10]
    with pytest.raises(TypeError, match=r"the index must be an int, not slice\(1, 2, None\)"):
        data.ConcatDataset([ten])[1:2]
    for wrong in (lambda: ten + 3, lambda: data.Subset(3, [0]), lambda: data.random_split(3, [3])):
        with pytest.raises(
            TypeError, match="a data set has items and a length, but 3 has no __getitem__"
        ):
            wrong()
    with pytest.raises(TypeError, match="transform must be a function, not 3"):
        data.TensorDataset(np.zeros(2), transform=3)
    with pytest.raises(ValueError, match="there are no data sets"):
        data.ConcatDataset([])
    for lengths in ([3, 3], [0.5, 0.6], [-1, 11], []):
        with pytest.raises(ValueError, match="random_split: lengths"):
            data.random_split(ten, lengths)
    with pytest.raises(TypeError, match="data_source has a length, unlike 3"):
        data.RandomSampler(3)
    with pytest.raises(ValueError, match="there are no -1 samples of 3 rows"):
        data.RandomSampler(range(3), num_samples=-1)
    with pytest.raises(ValueError, match="a batch without items"):
        data.default_collate([])
    with pytest.raises(ValueError, match="there are no 4 samples of 3 rows without replacement"):
        data.RandomSampler(range(3), num_samples=4)
    with pytest.raises(ValueError, match="there are no 4 samples of 0 rows with replacement"):
        data.RandomSampler([], replacement=True, num_samples=4)
