"""Times of a program's phases: taken where they were asked for, and nowhere else."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from threading import Thread
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft import options
from weft.compiler import compile
from weft.compiler.programs import on_disk
from weft.frontend.lazy import program_table, realize
from weft.runtime import native
from weft.runtime.code import known
from weft.runtime.commands import HEADER
from weft.runtime.executable import Executable
from weft.runtime.threads import pool
from weft.runtime.ticks import counter, seconds_of_runs
from weft.runtime.timed import HostTimings, Timings, timing

ROWS = np.random.default_rng(0).standard_normal((512, 300)).astype(np.float32)
SQUARE = np.random.default_rng(1).standard_normal((300, 300)).astype(np.float32)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is known."""
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())


@pytest.fixture(params=[1, 2, 3], ids=lambda n: f"{n} threads")
def threads(request: Any) -> Iterator[int]:
    with options.override(num_threads=request.param, serial_threshold=0, min_chunks=3):
        yield request.param


def network(device: str = "cpu") -> wf.Tensor:
    """Some kernels, one of which has several phases."""
    x, w = wf.tensor(ROWS, device=device), wf.tensor(SQUARE, device=device)
    return ((x @ w).relu() @ w).softmax(axis=1).sum(axis=0)


def last() -> Any:
    """The executable of the program that was made last."""
    return [*program_table._programs.values()][-1].executable


def timings_of(compute: Callable[[], Any]) -> Timings:
    with timing():
        compute()
    found: Timings = last().timings
    return found


def test_a_program_made_outside_runs_as_ever() -> None:
    with timing():
        pass
    network().realize()
    assert last().timings is None and last()._run is pool.runtime().run


def test_timing_changes_no_machine_code() -> None:
    """Neither that of the driver, nor that of kernels: both programs run the very same."""
    run = ctypes.cast(pool.runtime().run, ctypes.c_void_p).value  # type: ignore[arg-type]
    before = ctypes.string_at(run, 256)
    network().realize()
    plain = last()
    structure = realize.structure_of(network())
    with timing():
        timed = on_disk.executable(structure)
    assert (
        ctypes.cast(pool.runtime().run, ctypes.c_void_p).value == run
        and ctypes.string_at(run, 256) == before
    )  # type: ignore[arg-type]
    assert timed.timings is not None and [*timed._table] == [*plain._table]
    assert all(a is b for a, b in zip(timed._codes, plain._codes, strict=True))


def test_a_program_made_inside_keeps_its_bits(threads: int) -> None:
    expected = network().numpy()
    program_table._programs.clear()
    found = []
    timings = timings_of(lambda: found.append(network().numpy()))
    np.testing.assert_array_equal(found[0], expected)
    assert timings.runs == 1


def test_there_is_a_time_for_each_phase() -> None:
    timings = timings_of(lambda: network().realize())
    compiled = compile.program_of(realize.structure_of(network()))
    phases = sum(len(call.loops.phases) for call in compiled.program.calls)
    assert phases > len(compiled.program.calls)  # else this says little
    assert (
        len(timings.seconds) == len(timings.first) == len(timings.last) == timings.phases == phases
    )
    assert all(s >= 0 for s in timings.seconds) and sum(timings.seconds) > 0
    assert timings.total == pytest.approx(sum(timings.last))


def test_the_phases_of_a_kernel_add_up_to_its_time() -> None:
    timings = timings_of(lambda: network().realize())
    program = compile.program_of(realize.structure_of(network())).program
    phases = iter(timings.seconds)
    expected = [sum(next(phases) for _ in call.loops.phases) for call in program.calls]
    assert timings.by_call(program) == pytest.approx(expected)
    assert timings.by_call(program, [1.0] * timings.phases) == [
        len(call.loops.phases) for call in program.calls
    ]


def test_a_run_takes_no_longer_than_the_call_around_it() -> None:
    """The counter and the clock agree."""
    with timing():
        executable = on_disk.executable(realize.structure_of(network()))
    prepared = executable.prepared()
    memory = [np.zeros(1 << 20, np.float32) for _ in prepared.words]
    prepared.words[: len(memory) - 1] = [a.ctypes.data for a in memory[:-1]]
    for _ in range(5):
        start = time.perf_counter()
        prepared.execute()
        wall = time.perf_counter() - start
        assert 0 < sum(executable.timings.last) < 1.05 * wall


def test_a_counter_runs_like_the_clock() -> None:
    assert 1e-12 < counter().tick <= 1e-7
    assert 0 <= counter().own * counter().tick < 1e-5


def test_every_chunk_that_threads_share_is_noted_once(threads: int) -> None:
    timings = timings_of(lambda: network().realize())
    starts = np.cumsum([0, *timings.last]).tolist()
    executable = last()
    table = [*executable._table]
    shared: dict[int, int] = {}  # chunks by phase
    place = HEADER
    for phase in range(table[0]):
        if table[place + 2] & 1:
            shared[phase] = table[place + 1]
        place += 4 + 2 * table[place + 3]
    chunks = timings.chunks
    if threads == 1:
        assert shared and not chunks
        return
    assert shared and sorted((c.phase, c.chunk) for c in chunks) == [
        (p, c) for p, n in shared.items() for c in range(n)
    ]
    assert {c.thread for c in chunks} <= {*range(threads)}
    margin = 1e-6 + 1e-6 * timings.phases  # what noting takes is left out of the phases' times
    for c in chunks:
        assert starts[c.phase] - margin <= c.begin <= c.end <= starts[c.phase + 1] + margin


def test_chunks_of_one_thread_do_not_overlap(threads: int) -> None:
    timings = timings_of(lambda: network().realize())
    for thread in range(threads):
        own = sorted((c.begin, c.end) for c in timings.chunks if c.thread == thread)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(own))


def test_runs_are_counted_and_the_first_is_kept() -> None:
    step = wf.jit(lambda x: (x @ x).softmax(axis=1))
    x = wf.tensor(SQUARE)
    with timing():
        step(x)
    timings: Timings = step.last.program.executable.timings
    first = timings.first
    for _ in range(20):
        step(x)
    assert timings.runs == 21 and timings.first == first


@pytest.mark.parametrize("size", [8, 4096], ids=["brief", "shared"])
def test_calls_of_a_jitted_function_are_timed(size: int) -> None:
    """By all ways to the program: the first call, later ones, those of a tiny program, which is one
    native call otherwise."""
    step = wf.jit(lambda x: wf.exp(x) * 2 + 1)
    x = np.random.default_rng(2).random(size).astype(np.float32)
    expected = wf.jit(lambda x: wf.exp(x) * 2 + 1)(x).numpy()
    program_table._programs.clear()
    with timing():
        for _ in range(3):
            np.testing.assert_array_equal(step(wf.tensor(x)).numpy(), expected)
    executable: Executable = step.last.program.executable
    assert executable.timings is not None and executable.timings.runs == 3
    assert executable.prepared().native is None


def test_a_program_from_the_disk_is_timed(tmp_path: Any) -> None:
    with options.override(cache_dir=tmp_path, verify=False):
        known.clear()
        network().realize()
        program_table._programs.clear()
        known.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compile, "build", lambda *_: pytest.fail("it was built again"))
            timings = timings_of(lambda: network().realize())
    assert timings.runs == 1 and sum(timings.seconds) > 0


def test_a_run_that_a_check_ends_does_not_count() -> None:
    table, places = wf.tensor(ROWS), wf.tensor(np.array([1, 2, 3]))
    step = wf.jit(lambda table, places: table[places] * 2)
    with timing():
        step(table, places)
    timings: Timings = step.last.program.executable.timings
    with pytest.raises(IndexError, match="512"):
        step(table, wf.tensor(np.array([1, 512, 3])))
    assert timings.runs == 1
    np.testing.assert_array_equal(step(table, places).numpy(), ROWS[[1, 2, 3]] * 2)
    assert timings.runs == 2


@pytest.mark.parametrize("jitted", [False, True])
def test_a_signal_before_a_timed_run_finds_that_nothing_has_run(
    jitted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = wf.tensor([1.0, 2.0])
    x.realize()

    def step() -> None:
        x.assign(x * 2.0)
        x.realize()

    update = wf.jit(lambda: x.assign(x * 2.0)) if jitted else step
    with timing():
        update()
        update()
    before = x.numpy()

    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HostTimings, "_record", interrupted)
        with pytest.raises(KeyboardInterrupt):
            update()
    np.testing.assert_array_equal(x.numpy(), before)
    update()
    np.testing.assert_array_equal(x.numpy(), before * 2)


def test_several_python_threads_run_a_timed_program() -> None:
    with timing():
        executable = on_disk.executable(realize.structure_of(wf.tensor(ROWS) * 3 + 1))
    wrong: list[int] = []

    def work(number: int) -> None:
        x = ROWS + number
        for _ in range(50):
            y = np.zeros_like(x)
            executable.run([x.ctypes.data], [y.ctypes.data])
            if (y != x * np.float32(3) + np.float32(1)).any():
                wrong.append(number)

    workers = [Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and executable.timings.runs == 200


def test_a_program_without_kernels_has_no_times() -> None:
    assert Timings(0).seconds == Timings(0).last == [] and Timings(0).total == 0


# ---------------------------------------------------------------- without instruments


def bound(executable: Executable, y: Any) -> tuple[int, int, object]:
    return executable.bound([ROWS.ctypes.data], [y.ctypes.data], 0)


def test_runs_are_timed_without_instruments() -> None:
    executable = on_disk.executable(realize.structure_of(wf.tensor(ROWS) * 3 + 1))
    y = np.zeros_like(ROWS)
    table, args, _frame = bound(executable, y)
    run = ctypes.cast(pool.runtime().run, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
    start = time.perf_counter()
    seconds = seconds_of_runs(run, table, args, 10)
    wall = time.perf_counter() - start
    assert 0 < seconds < 1.05 * wall
    np.testing.assert_array_equal(y, ROWS * np.float32(3) + np.float32(1))


@pytest.mark.slow
def test_measured_runs_are_not_left_in_a_loop_for_python_to_look_for_signals() -> None:
    """They would go on from there after other runs have moved their cursors."""
    x = wf.fori_loop(0, 1000, lambda _, x: x * 0.5 + 1, wf.tensor(ROWS[0]))
    executable = on_disk.executable(realize.structure_of(x))
    y = np.zeros_like(ROWS[0])
    table, args, _frame = executable.bound([ROWS.ctypes.data], [y.ctypes.data], 0)
    stop, codes = time.time() + 2.1, set()
    while time.time() < stop:
        codes.add(pool.runtime().run(table, args))
    assert codes == {0}
    np.testing.assert_allclose(y, 2)


def test_timed_runs_in_a_row_are_noted_each() -> None:
    with timing():
        executable = on_disk.executable(realize.structure_of(wf.tensor(ROWS) * 3 + 1))
    y, timings = np.zeros_like(ROWS), executable.timings
    table, args, _frame = bound(executable, y)
    start = time.perf_counter()
    timings.run_often(table, args, 7)
    wall = time.perf_counter() - start
    assert timings.runs == 7 and 0 < sum(map(sum, timings.history)) < 1.05 * wall
    assert len({c.chunk for c in timings.chunks}) == len(timings.chunks)
    np.testing.assert_array_equal(y, ROWS * np.float32(3) + np.float32(1))


# ---------------------------------------------------------------- the text


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    "flags", [set(), {"constant_tsc", "nonstop_tsc"}], ids=["clock", "counter"]
)
def test_the_text_assembles_for_each_processor(machine: str, flags: set[str]) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{machine}-unknown-linux-gnu").create_target_machine()
    module = llvm.parse_assembly(native.timed_text("linux", machine, flags))
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    assert "cntvct_el0" not in str(module) or "mrs" in target.emit_assembly(module).lower()
    assert all(f"{name}:" in target.emit_assembly(module) for name in native.TIMED_NAMES)


def test_a_processor_whose_counter_changes_its_rate_is_not_asked() -> None:
    assert "readcyclecounter" in native.timed_text(
        "linux", "x86_64", {"constant_tsc", "nonstop_tsc"}
    )
    assert "clock_gettime" in native.timed_text("linux", "x86_64", {"constant_tsc"})


def test_the_clock_counts_nanoseconds() -> None:
    code = native.load_object(
        native.compile_portable(native.timed_text("linux", "other", set())), ["weft_ticks"]
    )
    ticks = ctypes.CFUNCTYPE(ctypes.c_int64)(code["weft_ticks"])
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert before <= ticks() <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)


# ---------------------------------------------------------------- a GPU


@pytest.mark.slow
@needs_compiler
def test_launches_are_timed() -> None:
    device()
    expected = network("cuda").cpu().numpy()
    program_table._programs.clear()
    found = []
    with timing():
        y = network("cuda").realize()
        timings, launches = last().timings, len(last().image.launches)
        found.append(y.cpu().numpy())
    np.testing.assert_array_equal(found[0], expected)
    assert (
        timings.runs == 1
        and len(timings.seconds) == launches
        and min(timings.seconds) > 0
        and timings.chunks == []
    )


@needs_compiler
def test_a_timed_program_makes_no_cuda_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = device()
    monkeypatch.setattr(driver, "capture", lambda run: pytest.fail("a graph was made"))
    step = wf.jit(lambda x: ((x @ x).relu() @ x).softmax(axis=1).sum(axis=0))
    x = wf.tensor(SQUARE[:40, :40].copy(), device="cuda")
    with timing():
        for _ in range(4):
            step(x)
    assert step.last.program.executable.timings.runs == 4


@needs_compiler
def test_early_checks_of_a_gpu_are_timed_too() -> None:
    device()
    step = wf.jit(lambda table, places: table[places] * 2)
    table = wf.tensor(ROWS, device="cuda")
    with timing():
        step(table, wf.tensor(np.array([1, 2, 3]), device="cuda"))
    executable = step.last.program.executable
    assert executable.image.early and len(executable.timings.seconds) == len(
        executable.image.launches
    )
    with pytest.raises(IndexError):
        step(table, wf.tensor(np.array([1, 512, 3]), device="cuda"))
    assert executable.timings.runs == 1


@pytest.mark.slow
@needs_compiler
def test_a_gpu_program_made_outside_has_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = device()
    monkeypatch.setattr(driver, "record", lambda: pytest.fail("an event was recorded"))
    network("cuda").realize()
    assert last().timings is None
