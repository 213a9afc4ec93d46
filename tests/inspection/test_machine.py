"""The limits of a device: measured once, kept, and what they predict."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cudakit import device, needs_compiler
from machinekit import machine_of, place
from weft import errors, options
from weft.inspection.explain.kernel import KernelReport
from weft.inspection.explain.report import Report
from weft.inspection.machine import limits, streams
from weft.inspection.machine import machine as machines
from weft.inspection.machine.cpu_rounds import Timed
from weft.inspection.machine.judged import judged, predicted
from weft.inspection.machine.machine import machine
from weft.inspection.machine.roofline import Demand, Figure, Machine
from weft.ir.program.memory_report import Memory
from weft.runtime import cache, processor, threads

ROUND = machine_of(
    "round",
    2,
    1e9,
    1e10,
    1 << 20,
    {"float32": 1e11, "float64": 5e10},
    1e-6,
    ((1 << 10, 1e11), (1 << 15, 2e10)),
)


@pytest.fixture
def unmeasured(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As in a process that knows no machine, with an empty cache."""
    monkeypatch.setattr(machines, "_known", {})
    with options.override(cache_dir=tmp_path):
        yield tmp_path


def all_of(nbytes: int, flops: int = 0, **more: Any) -> Demand:
    """Of a kernel that reads them."""
    return Demand(nbytes, 0, flops, **more)


@pytest.mark.parametrize(
    ("nbytes", "flops", "dtype", "expected"),
    [
        (10**6, 10**6, "float32", (1e-3, "memory")),
        (10**6, 10**9, "float32", (1e-2, "compute")),
        (10**6, 10**9, "float64", (2e-2, "compute")),
        (10, 10, "float32", (1e-6, "launch")),
        (0, 0, "float32", (1e-6, "launch")),
    ],
)
def test_a_prediction_is_the_largest_of_the_times(
    nbytes: int, flops: int, dtype: str, expected: tuple[float, str]
) -> None:
    seconds, bound = ROUND.seconds(all_of(nbytes, flops, dtype=dtype), resident=False)
    assert (seconds, bound) == (pytest.approx(expected[0]), expected[1])


@pytest.mark.parametrize(
    ("nbytes", "rate"), [(1 << 10, 1e11), (1 << 15, 2e10), (1 << 20, 1e10), (1 << 21, 1e9)]
)
def test_what_is_resident_comes_from_the_nearest_cache_that_holds_it(
    nbytes: int, rate: float
) -> None:
    assert ROUND.seconds(all_of(nbytes), resident=True)[0] == pytest.approx(
        max(nbytes / rate, 1e-6)
    )
    assert ROUND.seconds(all_of(nbytes), resident=False)[0] == pytest.approx(
        max(nbytes / 1e9, 1e-6)
    )


def test_one_worker_has_its_own_core_alone_and_the_rest_with_nobody() -> None:
    """Half of the near caches and of the arithmetic, all of the last cache and of memory."""
    alone = all_of(1 << 10, 10**6, workers=1)
    assert ROUND.times(alone, resident=True) == pytest.approx(
        {"memory": 2 * (1 << 10) / 2e10, "compute": 2e-5, "launch": 1e-6}
    )
    for nbytes, rate in ((1 << 20, 1e10), (1 << 21, 1e9)):
        assert ROUND.times(all_of(nbytes, workers=1), resident=True)["memory"] == pytest.approx(
            nbytes / rate
        )


def test_reads_and_writes_side_by_side_have_a_rate_of_their_own() -> None:
    memory = replace(ROUND.memory, read=Figure(4.0), write=Figure(2.0), both=Figure(8.0))
    assert memory.seconds(12, 0) == 3 and memory.seconds(0, 12) == 6 and memory.seconds(8, 8) == 2
    assert memory.seconds(12, 8) == 3 and memory.seconds(8, 12) == 4 and memory.bandwidth == 8


# ---------------------------------------------------------------- rounds


def test_the_best_round_counts_and_others_confirm_it() -> None:
    merged = Figure(10.0).merged(Figure(6.0)).merged(Figure(9.9))
    assert merged == Figure(10.0, near=2, rounds=3) and merged.is_sure
    assert Figure(10.0, 5, 5).merged(Figure(20.0)) == Figure(20.0, near=1, rounds=6), (
        "what was sure is so no more"
    )


def test_unsure_limits_are_named() -> None:
    assert ROUND.unsure == []
    raised = (*ROUND.places[:-1], place(0, 2e9).at_least([3e9] * 3))
    doubtful = replace(ROUND, flops=ROUND.flops | {"float64": Figure(5e10)}, places=raised)
    assert doubtful.unsure == ["memory", "float64"]


# ---------------------------------------------------------------- what a workload shows


def test_a_kernel_that_is_faster_than_memory_raises_it() -> None:
    """539 % of the roofline: at most what the last cache holds can have come from there."""
    nbytes, seconds = 1 << 26, 0.012
    found = ROUND.moved_in(all_of(nbytes), seconds)
    assert (
        found.memory.read.rate == pytest.approx((nbytes - (1 << 20)) / seconds)
        and found.memory.read.near == 0
    )
    assert found.cache == ROUND.cache and found.unsure == ["memory"]
    assert found.moved_in(all_of(nbytes), seconds) == found, "no kernel raises a limit twice"


def test_a_kernel_in_a_cache_raises_that_and_the_nearer_ones_to_it() -> None:
    found = ROUND.moved_in(all_of(1 << 20), (1 << 20) / 3e10)
    assert [p.read.rate for p in found.places] == pytest.approx([1e11, 3e10, 3e10, 1e9])
    alone = ROUND.moved_in(all_of(1 << 9, workers=1), (1 << 9) / 1e11)
    assert alone.places[0].read.rate == pytest.approx(2e11), (
        "two cores would have read twice as much"
    )


def test_a_kernel_within_the_limits_or_the_noise_raises_nothing() -> None:
    for seconds in (1.0, 0.99 * (1 << 20) / 1e10):
        assert ROUND.moved_in(all_of(1 << 20), seconds) is ROUND
    assert ROUND.moved_in(all_of(3 << 20), 2.1 * (1 << 20) / 1e9) is ROUND, (
        "a third of it may have been in the cache"
    )
    assert ROUND.computed_in(all_of(0, 10**9), 0.01) is ROUND


def test_faster_arithmetic_raises_its_own_peak() -> None:
    found = ROUND.computed_in(all_of(0, 10**9, dtype="float64"), 0.01)
    assert found.flops == {
        "float32": ROUND.flops["float32"],
        "float64": Figure(pytest.approx(1e11), 0, 2),
    }


def report_of(*kernels: KernelReport) -> Report:
    return Report([*kernels], memory=Memory(peak_bytes=1 << 22))


def kernel(**fields: Any) -> KernelReport:
    return KernelReport(
        "k",
        "map",
        ("add",),
        (1,),
        (),
        1 << 22,
        100,
        "",
        True,
        2,
        **{"sure_bytes": 1 << 22, **fields},
    )


@pytest.fixture
def of_round_numbers(unmeasured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is measured in no time: the same in each round."""
    one = replace(ROUND, places=tuple(replace(p, read=Figure(p.read.rate)) for p in ROUND.places))
    monkeypatch.setitem(
        machines.MEASURING, "cpu", lambda _: ("round", lambda: nullcontext(lambda: one))
    )


def test_a_raised_limit_is_kept_and_holds_for_all(
    of_round_numbers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = predicted(report_of(kernel(measured=1e-3)), machine())
    assert told.kernels[0].predicted == pytest.approx((1 << 22) / 1e9), (
        "four times as long as it took"
    )
    found, limits_now = judged(told)
    assert limits_now.memory.read.rate == pytest.approx(3 * (1 << 20) / 1e-3)
    assert found.kernels[0].predicted == 1e-3 and limits_now == machine()
    monkeypatch.setattr(machines, "_known", {})
    assert machine() == limits_now, "a later process knows it, too"
    assert predicted(told, machine()).kernels[0].predicted == pytest.approx(
        (1 << 22) / limits_now.memory.read.rate
    )


def test_no_kernel_is_said_to_be_faster_than_its_roofline(of_round_numbers: None) -> None:
    """As one which reads at indices that are alike, or was in a cache while the program is not:
    neither raises anything."""
    small = replace(kernel(measured=1e-5, sure_bytes=1 << 16), bytes=1 << 16)
    found, limits_now = judged(report_of(kernel(measured=1e-9, sure_bytes=0), small))
    assert [k.predicted for k in found.kernels] == [1e-9, pytest.approx((1 << 16) / 1e10)]
    assert limits_now.memory.bandwidth == 1e9 and limits_now.cache.bandwidth == 1e10


def test_kernels_are_as_fast_as_the_run_that_they_are(of_round_numbers: None) -> None:
    """Instruments, or others, made them slower than they were in a run of its own."""
    _, limits_now = judged(report_of(kernel(measured=8e-3)), whole=1e-3)
    assert limits_now.memory.read.rate == pytest.approx(3 * (1 << 20) / 1e-3)


# ---------------------------------------------------------------- measuring


def test_the_figures_of_this_machine_are_possible(unmeasured: Any) -> None:
    found = machine()
    assert found.threads == options.current().num_threads and found.name
    assert all(
        1e8 < f.rate < 1e14 and f.rounds >= machines.FEWEST for p in found.places for f in p.figures
    )
    assert found.flops["float32"].rate > 1e8 and found.flops["float64"].rate > 1e8
    assert 0 < found.launch < 1e-2 and found.cache.size == processor.host().l3
    near = [p.size for p in found.places if p.private]
    assert near == [processor.host().l1 * found.threads, processor.host().l2 * found.threads]


def test_it_is_measured_once_a_process(of_round_numbers: None) -> None:
    assert machine() is machine()


def test_a_later_process_finds_it_on_disk(
    of_round_numbers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = machine()
    monkeypatch.setattr(machines, "_known", {})
    monkeypatch.setattr(machines, "_confirmed", lambda *args: pytest.fail("measured again"))
    assert machine() == first
    assert cache.default().summary().kinds["machine"][0] == 1


def test_another_number_of_threads_is_another_machine(unmeasured: Any) -> None:
    keys = set()
    for count in (1, 2):
        with options.override(num_threads=count):
            keys.add(machines._key("cpu")[0])
    assert len(keys) == 2


def test_rounds_are_added_until_they_confirm_each_other(
    unmeasured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([1e9, 2e9, 3e9, 3.01e9, 9e9])

    def measured() -> Machine:
        return replace(
            ROUND, places=(*ROUND.places[:-1], replace(ROUND.memory, read=Figure(next(rates))))
        )

    monkeypatch.setitem(
        machines.MEASURING, "cpu", lambda _: ("busy", lambda: nullcontext(measured))
    )
    assert machine().memory.read == Figure(3.01e9, near=2, rounds=4)


def test_another_round_refines_what_is_known_and_again_forgets_it(
    unmeasured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = 1e9

    def measured() -> Machine:
        return replace(ROUND, starts=Figure(rate))

    monkeypatch.setitem(
        machines.MEASURING, "cpu", lambda _: ("refined", lambda: nullcontext(measured))
    )
    assert machine().starts == Figure(1e9, 3, 3)
    rate = 2e9
    with machines.refining() as refined:
        assert refined().starts == Figure(2e9, 1, 4) and refined() == machine()
    rate = 5e8
    assert machine().starts == Figure(2e9, 2, 5)
    assert machine(again=True).starts == Figure(5e8, 3, 3)


def test_a_device_that_is_not_there_raises() -> None:
    with pytest.raises(errors.DeviceError):
        machine("cuda:77")


@pytest.mark.parametrize("how", [{}, {"non_temporal": True}, {"in_place": True}])
@pytest.mark.parametrize(
    "nbytes",
    [(1 << 14, 0), (0, 1 << 14), (1 << 14, 1 << 14), (1 << 13, 1 << 14), (1 << 14, 1 << 13)],
)
def test_streams_do_their_work(nbytes: tuple[int, int], how: dict[str, bool]) -> None:
    """What is read comes from its place, what is written is there afterwards, and nothing beside
    it."""
    (read, written), both = nbytes, min(nbytes)
    apart = both if not how.get("in_place") else 0
    memory = np.arange((read + written + 64 + 4096) // 4, dtype=np.int32)
    first = -memory.ctypes.data % 64 // 4
    before, target = memory.copy(), processor.host()
    with options.override(num_threads=2):
        stream = streams.Stream(
            target, read, written, threads.pool.ensure(), memory.view(np.uint8), rounds=2, **how
        )
        assert 0 < stream.seconds(2) < 1
    copied, ends = slice(first, first + both // 4), first + (max(read, both) + apart) // 4
    np.testing.assert_array_equal(
        memory[first : first + read // 4], before[first : first + read // 4]
    )
    if apart:
        np.testing.assert_array_equal(memory[first + read // 4 : ends], before[copied])
    np.testing.assert_array_equal(memory[ends : ends + (written - both) // 4], 1)
    np.testing.assert_array_equal(
        memory[ends + (written - both) // 4 :], before[ends + (written - both) // 4 :]
    )


def test_the_loops_that_are_timed_are_no_faster_than_any_machine() -> None:
    """As they were if the optimiser had removed them."""
    target = processor.host()
    with options.override(num_threads=1):
        stream, peak = (
            streams.Stream(target, 1 << 14, 0, 1, rounds=64),
            limits.Peak(target, "float32"),
        )
        assert (
            Timed(stream.seconds, 1 << 20).rate() < 4e12
            and Timed(peak.seconds, peak.flops).rate() < 1e13
        )


def test_importing_measures_nothing() -> None:
    code = (
        "import sys, weft.inspection.machine.machine as m; assert not m._known and '{}.limits' not"
        " in sys.modules"
    )
    code = code.format("weft.inspection.machine")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@needs_compiler
def test_a_gpu_is_measured_by_kernels_of_its_own(unmeasured: Any) -> None:
    driver = device()
    found = machine("cuda")
    assert (found.name, found.threads) == (driver.name, driver.multiprocessors)
    assert len(found.places) == 2 and all(f.rate > 0 for p in found.places for f in p.figures)
    assert all(f.rate > 0 for f in found.flops.values()) and found.launch > 0
