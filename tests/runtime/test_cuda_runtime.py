"""The runtime above a CUDA device, on one that records: devices, memory, programs, checks,
replay."""

from __future__ import annotations

import ctypes
import gc
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from processes import interruptible
from recording_driver import RecordedModule, RecordingDriver
from weft import errors
from weft.codegen.cuda.toolchain.build import Built, Usage
from weft.ir.graph import dtype as dt
from weft.ir.graph.index import Var
from weft.ir.loops.loop import GRID, Buf, For, Loops, Param
from weft.ir.passes.bounds_checks import CheckSite
from weft.ir.program.program import Call, Program, ValueLayout
from weft.ir.program.ref import Ref
from weft.runtime.buffer import Buffer
from weft.runtime.cuda import devices
from weft.runtime.cuda.devices import Gpu
from weft.runtime.cuda.executable import CudaExecutable
from weft.runtime.cuda.frame import Progress
from weft.runtime.cuda.image import CudaImage, Launch, image_of, pack, unpack
from weft.runtime.cuda.kernels import Kernels
from weft.runtime.cuda.memory import Pool
from weft.runtime.cuda.replay import KEPT
from weft.runtime.failures import CheckFailed, Interrupted

# ---------------------------------------------------------------- devices


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setattr(devices, "_pycuda", [])


@pytest.fixture
def installed(nothing_known: None) -> Iterator[RecordingDriver]:
    driver = RecordingDriver()
    devices.install(driver)
    yield driver
    devices.uninstall()


class StandInPycuda:
    """As much of pycuda.driver as tells which devices there are."""

    class Error(Exception):
        pass

    def __init__(self, devices: int | None) -> None:
        self.devices = devices
        self.Device = type("Device", (), {"count": staticmethod(lambda: devices)})

    def init(self) -> None:
        if self.devices is None:
            raise self.Error("cuInit failed: no CUDA-capable device is detected")


def with_pycuda(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    package = type(sys)("pycuda")
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", found)
    package.driver = found  # type: ignore[attr-defined]


def without(monkeypatch: pytest.MonkeyPatch, name: str, error: ImportError) -> None:
    """Lets the import of `name` fail so; what stands above it is an empty package."""

    class Finder:
        def find_spec(self, wanted: str, *_: Any) -> None:
            if wanted == name:
                raise error

    package = type(sys)("pycuda")
    package.__path__ = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])


def test_an_installed_driver_is_the_device(installed: RecordingDriver) -> None:
    assert devices.driver(0) is installed
    assert devices.pool(0).driver is installed
    assert 0 in devices.available()


def test_without_pycuda_the_error_says_how_to_install_it(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "pycuda", ModuleNotFoundError("No module named 'pycuda'", name="pycuda"))
    with pytest.raises(errors.DeviceError, match="pip install pycuda"):
        devices.driver()


def test_without_the_driver_library_the_error_names_it(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(
        monkeypatch,
        "pycuda.driver",
        ImportError("libcuda.so.1: cannot open shared object file: No such file or directory"),
    )
    with pytest.raises(errors.DeviceError, match=r"NVIDIA driver.*libcuda.so.1"):
        devices.driver()


def test_an_extension_built_for_something_else_is_named(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(
        monkeypatch, "pycuda.driver", ImportError("libcurand.so.9: cannot open shared object file")
    )
    with pytest.raises(errors.DeviceError, match=r"could not be imported: libcurand.so.9"):
        devices.driver()


def test_a_driver_that_does_not_start_is_quoted(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pycuda(monkeypatch, StandInPycuda(None))
    with pytest.raises(
        errors.DeviceError,
        match=r"does not start: cuInit failed: no CUDA-capable device.*nvidia-smi",
    ):
        devices.driver()


def test_no_gpu_is_said(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with_pycuda(monkeypatch, StandInPycuda(0))
    with pytest.raises(errors.DeviceError, match=r"no CUDA device.*CUDA_VISIBLE_DEVICES"):
        devices.driver()
    assert devices.available() == ()


def test_a_number_too_high_names_those_there_are(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pycuda(monkeypatch, StandInPycuda(2))
    with pytest.raises(
        errors.DeviceError, match="'cuda:7' does not exist: there are 2, cuda:0 to cuda:1"
    ):
        devices.driver(7)
    assert devices.available() == (0, 1)


def test_what_is_missing_is_looked_for_once(
    nothing_known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "pycuda", ModuleNotFoundError("No module named 'pycuda'", name="pycuda"))
    for _ in range(2):
        with pytest.raises(errors.DeviceError, match="needs PyCUDA"):
            devices.gpu()
        with_pycuda(monkeypatch, StandInPycuda(1))


@pytest.mark.slow
def test_importing_weft_looks_for_nothing() -> None:
    code = "import sys, weft; assert not [m for m in sys.modules if 'cuda' in m], sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_to_ask_whether_there_may_be_devices_imports_nothing() -> None:
    code = (
        "import sys; from weft.runtime.cuda import devices; devices.possible(); assert 'pycuda' not"
        " in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------- memory


def test_freed_memory_is_given_out_again() -> None:
    pool = Pool(driver := RecordingDriver())
    first = pool.allocate(1000)
    address = first.address
    del first
    assert pool.allocate(1000).address == address
    assert len(driver.said("allocate")) == 1


def test_a_buffer_knows_its_device() -> None:
    buffer = Pool(RecordingDriver(), number=3).allocate(8)
    assert (buffer.device, buffer.nbytes, buffer.foreign, buffer.exported) == (
        "cuda:3",
        8,
        False,
        False,
    )
    assert Buffer.allocate(8).device == "cpu"


def test_memory_that_dies_in_a_cycle_is_given_out_again() -> None:
    driver = RecordingDriver()
    pool = Pool(driver)
    cycle: list[Any] = [pool.allocate(1000)]
    address = cycle[0].address
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert pool.allocate(1000).address == address and address in driver.memory


def test_device_memory_is_no_array() -> None:
    with pytest.raises(errors.DeviceError, match="cuda:0"):
        Pool(RecordingDriver()).allocate(8).as_numpy("f4", (2,), (1,))


def test_the_pool_counts_what_is_used_and_what_is_kept() -> None:
    pool = Pool(RecordingDriver())
    kept, freed = pool.allocate(4096), pool.allocate(8192)
    del freed
    assert (pool.allocated_bytes, pool.cached_bytes) == (4096, 8192)
    del kept


def test_trim_gives_free_memory_back() -> None:
    pool = Pool(driver := RecordingDriver())
    kept = pool.allocate(4096)
    pool.allocate(8192)
    pool.trim()
    assert driver.said("free") == [("free", 8192)]
    assert driver.in_use == 4096 and kept.nbytes == 4096


def test_what_is_kept_makes_room() -> None:
    pool = Pool(RecordingDriver(total=1 << 20))
    pool.allocate(900 << 10)  # freed at once
    assert pool.allocate(700 << 10).nbytes == 700 << 10


def test_out_of_memory_names_the_sizes_and_leaves_the_pool_usable() -> None:
    pool = Pool(RecordingDriver(total=10 << 20))
    held = pool.allocate(6 << 20)
    pool.allocate(2 << 20)
    with pytest.raises(errors.MemoryError) as caught:
        pool.allocate(5 << 20)
    wanted = (
        "5.0 MiB of memory are needed on cuda:0, which has 10.0 MiB: 6.0 MiB are in use, 2.0 MiB"
        " were cached"
    )
    assert str(caught.value).startswith(wanted)
    del held
    assert pool.allocate(5 << 20).nbytes == 5 << 20


def test_an_arena_grows_to_the_largest_program() -> None:
    pool = Pool(driver := RecordingDriver())
    for nbytes in (1000, 5000, 3000):
        pool.give_arena(pool.take_arena(nbytes))
    assert driver.in_use == pool.cached_bytes < 8192


def test_no_memory_is_lost() -> None:
    pool = Pool(driver := RecordingDriver())
    buffers = [pool.allocate(n) for n in (1, 100, 10_000)]
    pool.give_arena(pool.take_arena(500))
    del buffers
    pool.trim()
    gc.collect()
    assert driver.memory == {} and pool.cached_bytes == pool.allocated_bytes == 0


def test_threads_never_share_a_piece() -> None:
    pool = Pool(RecordingDriver())
    clashes: list[int] = []

    def work(mark: int) -> None:
        for _ in range(200):
            buffer = pool.allocate(64)
            ctypes.memset(buffer.address, mark, 64)
            clashes.extend(b for b in ctypes.string_at(buffer.address, 64) if b != mark)

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert clashes == []


# ---------------------------------------------------------------- programs


SITE = CheckSite("gather", 0, 4, ("model.py", 3))


def double(x: int, y: int, n: int, _: int) -> None:
    i64(y, n)[:] = 2 * i64(x, n)


def add(x: int, k: int, y: int, n: int, _: int) -> None:
    """y = x + k[0]."""
    i64(y, n)[:] = i64(x, n) + i64(k, 1)[0]


def check(x: int, n: int, status: int) -> None:
    """0 <= x < 4; site 0."""
    key = i64(status, 2)
    for position, value in enumerate(i64(x, n)):
        if not 0 <= value < 4 and (key[0] == -1 or position < key[0]):
            key[:] = position, value


KERNELS = {"double_p0": double, "add_p0": add, "check_p0": check}
N = 8


def i64(address: int, n: int) -> Any:
    return np.frombuffer((ctypes.c_int64 * n).from_address(address), np.int64)


def launched(symbol: str, *buffers: tuple[str, int], is_check: bool = False) -> Launch:
    return Launch(symbol, 0, 2, 64, 16, buffers, (N,), is_check)


DOUBLE = launched("double", ("input", 0), ("arena", 0))
ADD = launched("add", ("arena", 0), ("input", 1), ("output", 0))  # y = 2 x + k
ADD_BACK = launched("add", ("arena", 0), ("input", 1), ("input", 0))  # x = 2 x + k
CHECK = launched("check", ("input", 0), is_check=True)
LATE = launched("check", ("arena", 0), is_check=True)
AFFINE = CudaImage(2, 1, 8 * N, (DOUBLE, ADD))
LONG = CudaImage(2, 1, 8 * N, (DOUBLE, ADD, DOUBLE, ADD))  # worth a graph


class Bench:
    """A device with the kernels above, and arrays on it."""

    def __init__(self, replays: bool = False, kernels: dict[str, Any] | None = None) -> None:
        self.driver = RecordingDriver(replays=replays, kernels=kernels or KERNELS)
        self.gpu = Gpu(self.driver, Pool(self.driver), Kernels(self.driver))

    def executable(self, image: CudaImage) -> CudaExecutable:
        self.gpu.kernels.want({launch.symbol: str for launch in image.launches})
        return CudaExecutable(image, self.gpu)

    def array(self, values: Any) -> Array:
        return Array(self.gpu.pool, np.asarray(values, np.int64))


class Array:
    def __init__(self, pool: Pool, values: Any) -> None:
        self.buffer = pool.allocate(max(values.nbytes, 8))
        self.address, self.size = self.buffer.address, values.size
        i64(self.address, self.size)[:] = values

    def values(self) -> list[int]:
        return i64(self.address, self.size).tolist()  # type: ignore[no-any-return]


def test_a_run_passes_addresses_and_params() -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), bench.array([100]), bench.array([0] * N)
    bench.executable(AFFINE).run([x.address, k.address], [y.address])
    assert y.values() == [100 + 2 * i for i in range(N)]
    assert bench.driver.said("launch") == [
        ("launch", "double_p0", 2, 64, 16),
        ("launch", "add_p0", 2, 64, 16),
    ]


def test_a_run_without_checks_waits_for_nothing() -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    bench.executable(replace(AFFINE, host={1: 8})).run(
        [x.address, i64_on_host(3).address], [y.address]
    )
    assert not bench.driver.said("synchronize") and not bench.driver.said("download")
    assert k.values() == [1]


def i64_on_host(*values: int) -> Any:
    array = np.array(values, np.int64)
    return SimpleNamespace(array=array, address=int(array.ctypes.data))


def test_inputs_from_the_host_are_uploaded_anew_in_each_run() -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), i64_on_host(5), bench.array([0] * N)
    executable = bench.executable(replace(AFFINE, host={1: 8}))
    for value in (5, 6):
        k.array[0] = value
        executable.run([x.address, k.address], [y.address])
        assert y.values() == [value + 2 * i for i in range(N)]
    assert len(bench.driver.said("upload")) == 2


def test_small_inputs_from_the_host_come_in_one_upload() -> None:
    bench = Bench()
    x, k, y = i64_on_host(*range(N)), i64_on_host(5), bench.array([0] * N)
    bench.executable(replace(AFFINE, host={0: 8 * N, 1: 8})).run(
        [x.address, k.address], [y.address]
    )
    assert y.values() == [5 + 2 * i for i in range(N)]
    assert bench.driver.said("upload") == [("upload", 8 * N + 16)]


def test_a_large_input_from_the_host_is_uploaded_by_itself() -> None:
    bench = Bench()
    x, k, y = i64_on_host(*range(1000)), i64_on_host(5), bench.array([0] * N)
    bench.executable(replace(AFFINE, host={0: 8000, 1: 8})).run([x.address, k.address], [y.address])
    assert y.values() == [5 + 2 * i for i in range(N)]
    assert bench.driver.said("upload") == [("upload", 16), ("upload", 8000)]


CHECKED = CudaImage(2, 1, 8 * N, (CHECK, DOUBLE, ADD), checks=(SITE,))


def test_an_early_check_fails_before_anything_else_runs() -> None:
    bench = Bench()
    x, k, y = bench.array([0, 1, 9, 3, -1, 0, 0, 0]), bench.array([1]), bench.array([7] * N)
    with pytest.raises(CheckFailed) as caught:
        bench.executable(CHECKED).run([x.address, k.address], [y.address])
    assert (caught.value.site, caught.value.position, caught.value.value) == (SITE, 2, 9)
    assert [entry[1] for entry in bench.driver.said("launch")] == ["check_p0"]
    assert y.values() == [7] * N


def test_after_a_failed_check_the_next_run_starts_afresh() -> None:
    bench = Bench()
    executable = bench.executable(CHECKED)
    bad, good, k, y = (
        bench.array([9] * N),
        bench.array([3] * N),
        bench.array([1]),
        bench.array([0] * N),
    )
    with pytest.raises(CheckFailed):
        executable.run([bad.address, k.address], [y.address])
    executable.run([good.address, k.address], [y.address])
    assert y.values() == [7] * N


def test_a_late_check_is_looked_at_when_all_has_run() -> None:
    bench = Bench()
    image = replace(AFFINE, launches=(DOUBLE, LATE, ADD), checks=(SITE,))
    x, k, y = bench.array([0, 0, 0, 2, 0, 0, 0, 0]), bench.array([1]), bench.array([0] * N)
    with pytest.raises(CheckFailed) as caught:
        bench.executable(image).run([x.address, k.address], [y.address])
    assert (caught.value.position, caught.value.value) == (3, 4)
    assert [entry[0] for entry in bench.driver.log if entry[0] in ("launch", "download")] == [
        "launch"
    ] * 3 + ["download"]


def test_checks_that_hold_change_nothing() -> None:
    bench = Bench()
    image = replace(AFFINE, launches=(CHECK, DOUBLE, LATE, ADD), checks=(SITE,))
    x, k, y = bench.array([0, 1, 0, 1, 0, 1, 0, 1]), bench.array([1]), bench.array([0] * N)
    bench.executable(image).run([x.address, k.address], [y.address])
    assert y.values() == [1, 3] * 4


def test_programs_share_the_memory_of_their_intermediates() -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    held = bench.driver.in_use
    for _ in range(3):
        bench.executable(AFFINE).run([x.address, k.address], [y.address])
    assert bench.driver.in_use == held + 8 * N


def test_threads_run_one_executable_at_once() -> None:
    bench = Bench()
    executable = bench.executable(replace(AFFINE, host={1: 8}))
    wrong: list[Any] = []

    def work(value: int) -> None:
        x, k, y = bench.array(range(N)), i64_on_host(value), bench.array([0] * N)
        for _ in range(50):
            executable.run([x.address, k.address], [y.address])
            wrong.extend(v for v in [y.values()] if v != [value + 2 * i for i in range(N)])

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_an_executable_of_an_image_names_no_memory() -> None:
    with pytest.raises(errors.WeftError, match="made of an image"):
        Bench().executable(AFFINE).memory()


def interrupting(kernels: dict[str, Any], at: str) -> dict[str, Any]:
    """These kernels, of which one, when it has run, is where a signal handler raises."""

    def kernel(*words: int) -> None:
        kernels[at](*words)
        raise KeyboardInterrupt

    return {**kernels, at: kernel}


def test_an_interrupt_before_all_is_launched_is_raised_as_it_is() -> None:
    bench = Bench(kernels=interrupting(KERNELS, "double_p0"))
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    with pytest.raises(KeyboardInterrupt):
        bench.executable(AFFINE).run([x.address, k.address], [y.address])


def test_no_signal_comes_between_two_launches() -> None:
    """The handler of a signal that C code gets runs when the last launch is done."""
    progress, launched, interrupt = Progress(), [], ctypes.CDLL(None)["raise"]
    with interruptible(), pytest.raises(KeyboardInterrupt):
        progress.issue([partial(interrupt, signal.SIGINT), partial(launched.append, 1)])
    assert launched == [1] and progress.complete


def test_what_the_device_refuses_to_start_is_an_error() -> None:
    with pytest.raises(errors.DeviceError, match="CUDA error 700"):
        Progress().issue([lambda: None, lambda: 700])


def test_an_interrupt_when_all_is_launched_keeps_the_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)

    def interrupted(block: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench.gpu.pool, "give_arena", interrupted)
    with pytest.raises(Interrupted) as caught:
        bench.executable(AFFINE).run([x.address, k.address], [y.address])
    assert isinstance(caught.value.reason, KeyboardInterrupt)
    assert y.values() == [1 + 2 * i for i in range(N)]


# ---------------------------------------------------------------- replay


def run_prepared(prepared: Any, *addresses: int) -> None:
    prepared.words[:] = addresses
    prepared.execute()


def test_a_run_on_known_memory_is_replayed_from_the_second_time_on() -> None:
    bench = Bench(replays=True)
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    for _ in range(4):
        i64(y.address, N)[:] = 0
        run_prepared(prepared, x.address, k.address, y.address)
        assert y.values() == [1 + 2 * i for i in range(N)]
    assert [e[0] for e in bench.driver.log if e[0] != "allocate"] == ["launch"] * 4 + [
        "capture"
    ] + ["replay"] * 3


def test_other_memory_is_never_replayed() -> None:
    bench = Bench(replays=True)
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    for _ in range(3):
        run_prepared(prepared, x.address, k.address, y.address)
    other = bench.array([5] * N)
    run_prepared(prepared, other.address, k.address, y.address)
    assert y.values() == [11] * N


def test_a_moved_arena_is_never_replayed() -> None:
    bench = Bench(replays=True)
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    for _ in range(3):
        run_prepared(prepared, x.address, k.address, y.address)
    bench.gpu.pool.give_arena(bench.gpu.pool.take_arena(1 << 20))
    before = len(bench.driver.said("replay"))
    run_prepared(prepared, x.address, k.address, y.address)
    assert len(bench.driver.said("replay")) == before
    assert y.values() == [1 + 2 * i for i in range(N)]


def test_inputs_from_the_host_reach_a_replay() -> None:
    bench = Bench(replays=True)
    x, k, y = bench.array(range(N)), i64_on_host(0), bench.array([0] * N)
    prepared = bench.executable(replace(LONG, host={1: 8})).prepared()
    for value in range(5):
        k.array[0] = value
        run_prepared(prepared, x.address, k.address, y.address)
        assert y.values() == [value + 2 * i for i in range(N)]
    assert len(bench.driver.said("replay")) == 4


def test_an_early_check_guards_a_replay() -> None:
    bench = Bench(replays=True)
    image = replace(LONG, launches=(CHECK, *LONG.launches), checks=(SITE,))
    x, k, y = bench.array([1] * N), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(image).prepared()
    for _ in range(3):
        run_prepared(prepared, x.address, k.address, y.address)
    i64(x.address, N)[3], i64(y.address, N)[:] = 4, 7
    for raising in (prepared.execute, prepared.fail):
        with pytest.raises(CheckFailed, match="value 4 at position 3"):
            raising()
    assert y.values() == [7] * N


def test_a_late_check_is_looked_at_behind_a_replay() -> None:
    bench = Bench(replays=True)
    image = replace(LONG, launches=(*LONG.launches, LATE), checks=(SITE,))
    x, k, y = bench.array([1] * N), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(image).prepared()
    for _ in range(3):
        run_prepared(prepared, x.address, k.address, y.address)
    i64(x.address, N)[5] = 2
    with pytest.raises(CheckFailed, match="value 4 at position 5"):
        prepared.execute()


def test_few_graphs_are_kept() -> None:
    bench = Bench(replays=True)
    k, y = bench.array([1]), bench.array([0] * N)
    xs = [bench.array([i] * N) for i in range(10)]
    prepared = bench.executable(LONG).prepared()
    for _ in range(3):
        for i, x in enumerate(xs):
            run_prepared(prepared, x.address, k.address, y.address)
            assert y.values() == [1 + 2 * i] * N
    assert len(prepared.owner._graphs) == KEPT


def test_small_results_that_are_kept_do_not_prevent_replays() -> None:
    bench = Bench(replays=True)
    x, k = bench.array(range(N)), i64_on_host(0)
    prepared = bench.executable(replace(LONG, host={1: 8}, results=(8 * N,))).prepared()
    kept = [bench.array([-1] * N) for _ in range(20)]
    for value, y in enumerate(kept):
        k.array[0] = value
        run_prepared(prepared, x.address, k.address, y.address)
    assert [y.values() for y in kept] == [[value + 2 * i for i in range(N)] for value in range(20)]
    assert len(bench.driver.said("replay")) > 10


def test_large_results_are_written_where_they_are_wanted() -> None:
    bench = Bench(replays=True)
    x, k = bench.array(range(N)), bench.array([1])
    prepared = bench.executable(replace(LONG, results=(5000,))).prepared()
    kept = [bench.array([-1] * N) for _ in range(20)]
    for y in kept:
        run_prepared(prepared, x.address, k.address, y.address)
    assert [y.values() for y in kept] == [[1 + 2 * i for i in range(N)]] * 20
    assert not bench.driver.said("copy")


def test_graphs_pay_again_when_memory_has_settled() -> None:
    bench = Bench(replays=True)
    k, y = bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    for x in [bench.array([i] * N) for i in range(30)]:
        for _ in range(2):
            run_prepared(prepared, x.address, k.address, y.address)
    before = len(bench.driver.said("replay"))
    for _ in range(100):
        run_prepared(prepared, x.address, k.address, y.address)
    assert len(bench.driver.said("replay")) > before + 60


def test_graphs_that_never_pay_are_made_no_more() -> None:
    bench = Bench(replays=True)
    k, y = bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    xs = [bench.array([i] * N) for i in range(30)]
    for x in xs:
        for _ in range(2):
            run_prepared(prepared, x.address, k.address, y.address)
    assert 0 < len(bench.driver.said("capture")) < len(xs) / 2


def test_a_device_that_captures_nothing_launches() -> None:
    bench = Bench(replays=False)
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(LONG).prepared()
    for _ in range(4):
        run_prepared(prepared, x.address, k.address, y.address)
    assert len(bench.driver.said("launch")) == 16
    assert y.values() == [1 + 2 * i for i in range(N)]


def test_a_short_program_is_launched() -> None:
    bench = Bench(replays=True)
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(AFFINE).prepared()
    for _ in range(4):
        run_prepared(prepared, x.address, k.address, y.address)
    assert not bench.driver.said("capture")


def test_the_call_of_a_prepared_program_takes_addresses() -> None:
    bench = Bench()
    x, k, y = bench.array(range(N)), bench.array([1]), bench.array([0] * N)
    prepared = bench.executable(AFFINE).prepared()
    prepared.words[1] = k.address
    assert prepared.call([0, 2])(x.address, y.address) == 0
    assert y.values() == [1 + 2 * i for i in range(N)]


def test_a_kernel_s_usage_is_what_its_compiler_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    said, told = Usage(40, 0, 8, 12, 16), Usage(40, 0, 0, 0, 16)
    monkeypatch.setattr(bench.driver, "build", lambda text: Built(b"", {"double_p0": said}))
    bench.executable(AFFINE)
    assert bench.gpu.kernels.usage("double", 0) is None
    monkeypatch.setattr(RecordedModule, "usage", lambda self, name: told)
    assert [bench.gpu.kernels.usage(symbol, 0) for symbol in ("double", "add")] == [said, told]


# ---------------------------------------------------------------- images


def test_an_image_survives_its_bytes() -> None:
    image = replace(CHECKED, host={1: 8}, donations={0: 0}, results=(64,))
    sites = [SITE.site]
    data = pack(image, sites.index)
    assert unpack(data, sites.__getitem__) == image


def test_phases_without_chunks_are_not_launched() -> None:
    n = Param("n")
    x = Buf("x", dt.float32, 8, "global")
    phases = [For(Var("c", 8), extent, GRID, []) for extent in (n, 3)]
    loops = Loops("k", (x,), (n,), phases, threads=(64, 128))
    value = ValueLayout(dt.float32, (8,), (1,))
    program = Program([Call(loops, (Ref("input", 0),), (0,), (True, True))], (value,), (), 0)
    image = image_of(program, ["kernel"], lambda loops, i: 100 + i)
    assert image.launches == (Launch("kernel", 1, 3, 128, 101, (("input", 0),), (0,)),)
