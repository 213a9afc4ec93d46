"""The limits of a device: measured once, kept, and what they predict."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from cudakit import device, needs_compiler
from weft import errors, options
from weft.inspection.measured import limits
from weft.inspection.measured import machine as machines
from weft.inspection.measured.machine import Machine, machine
from weft.runtime import cache, processor

ROUND = Machine("round", 2, 1e9, 1e10, 1 << 20, {"float32": 1e11, "float64": 5e10}, 1e-6, ((1 << 10, 1e11), (1 << 15, 2e10)))


@pytest.fixture
def unmeasured(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As in a process that knows no machine, with an empty cache."""
    monkeypatch.setattr(machines, "_known", {})
    with options.override(cache_dir=tmp_path):
        yield tmp_path


@pytest.mark.parametrize(
    ("nbytes", "flops", "dtype", "expected"),
    [
        (10**6, 1e6, "float32", (1e-3, "memory")),
        (10**6, 1e9, "float32", (1e-2, "compute")),
        (10**6, 1e9, "float64", (2e-2, "compute")),
        (10**6, 1e9, "int8", (1e-2, "compute")),
        (10, 10, "float32", (1e-6, "launch")),
        (0, 0, "float32", (1e-6, "launch")),
    ],
)
def test_a_prediction_is_the_largest_of_the_times(nbytes: int, flops: float, dtype: str, expected: tuple[float, str]) -> None:
    seconds, bound = ROUND.seconds(nbytes, flops, dtype)
    assert (seconds, bound) == (pytest.approx(expected[0]), expected[1])


@pytest.mark.parametrize(("nbytes", "rate"), [(1 << 10, 1e11), (1 << 15, 2e10), (1 << 20, 1e10), (1 << 21, 1e9)])
def test_what_is_resident_comes_from_the_nearest_cache_that_holds_it(nbytes: int, rate: float) -> None:
    assert ROUND.seconds(nbytes, 0, "float32", resident=True)[0] == pytest.approx(max(nbytes / rate, 1e-6))


def test_what_is_not_resident_comes_from_memory() -> None:
    assert ROUND.seconds(1 << 10, 0, "float32")[0] == pytest.approx((1 << 10) / 1e9)


def test_the_figures_of_this_machine_are_possible(unmeasured: Any) -> None:
    found = machine()
    assert found.threads == options.current().num_threads and found.name
    assert 1e8 < found.bandwidth < 1e13 and 1e8 < found.cache_bandwidth < 1e14
    assert found.flops["float32"] > 1e8 and found.flops["float64"] > 1e8
    assert 0 < found.launch < 1e-2 and found.cache_bytes == processor.host().l3
    assert [size for size, _ in found.inner] == [processor.host().l1 * found.threads, processor.host().l2 * found.threads]


def test_it_is_measured_once_a_process(unmeasured: Any) -> None:
    assert machine() is machine()


def test_a_later_process_finds_it_on_disk(unmeasured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine()
    monkeypatch.setattr(machines, "_known", {})
    monkeypatch.setattr(machines, "_measured", lambda name, turns: pytest.fail("measured again"))
    assert machine() == first
    assert cache.default().summary().kinds["machine"][0] == 1


def test_another_number_of_threads_is_another_machine(unmeasured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "_measured", lambda name, turns: replace(ROUND, threads=options.current().num_threads))
    with options.override(num_threads=1):
        assert machine().threads == 1
    with options.override(num_threads=2):
        assert machine().threads == 2


def test_it_is_measured_anew_when_asked_for(unmeasured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = iter((1e-6, 2e-6))
    monkeypatch.setattr(machines, "_measured", lambda name, turns: replace(ROUND, launch=next(figures)))
    assert machine().launch == 1e-6
    assert machine(again=True).launch == 2e-6
    monkeypatch.setattr(machines, "_known", {})
    assert machine().launch == 2e-6


def test_a_device_that_is_not_there_raises() -> None:
    with pytest.raises(errors.DeviceError):
        machine("cuda:77")


def test_the_loops_that_are_timed_do_their_work() -> None:
    """A loop that the optimiser had removed would move bytes faster than any machine."""
    target = processor.host()
    stream, peak = limits.Stream(target, 1 << 16, 0, 1), limits.Peak(target, "float32")
    with options.override(num_threads=1):
        reading, computing = machines.best(stream.seconds, peak.seconds)
        rate, flops = (1 << 16) / reading, peak.flops / computing
    assert rate < 4e12 and flops < 1e13


def test_importing_measures_nothing() -> None:
    code = "import sys, weft.inspection.measured.machine as m; assert not m._known and '{}.limits' not in sys.modules"
    code = code.format("weft.inspection.measured")
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_compiler
def test_a_gpu_is_measured_by_kernels_of_its_own(unmeasured: Any) -> None:
    driver = device()
    found = machine("cuda")
    assert (found.name, found.threads) == (driver.name, driver.multiprocessors)
    assert min(found.bandwidth, found.cache_bandwidth, *found.flops.values(), found.launch) > 0
