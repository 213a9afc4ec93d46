"""The runtime above a CUDA device, on one that records: devices, memory, programs, checks, replay."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from recording_driver import RecordingDriver
from weft import errors
from weft.runtime.buffer import Buffer
from weft.runtime.cuda import devices
from weft.runtime.cuda.memory import Pool

# ---------------------------------------------------------------- devices


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_units", {})
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


def test_without_pycuda_the_error_says_how_to_install_it(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pycuda", ModuleNotFoundError("No module named 'pycuda'", name="pycuda"))
    with pytest.raises(errors.DeviceError, match="pip install pycuda"):
        devices.driver()


def test_without_the_driver_library_the_error_names_it(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pycuda.driver", ImportError("libcuda.so.1: cannot open shared object file: No such file or directory"))
    with pytest.raises(errors.DeviceError, match=r"NVIDIA driver.*libcuda.so.1"):
        devices.driver()


def test_an_extension_built_for_something_else_is_named(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pycuda.driver", ImportError("libcurand.so.9: cannot open shared object file"))
    with pytest.raises(errors.DeviceError, match=r"could not be imported: libcurand.so.9"):
        devices.driver()


def test_a_driver_that_does_not_start_is_quoted(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with_pycuda(monkeypatch, StandInPycuda(None))
    with pytest.raises(errors.DeviceError, match=r"does not start: cuInit failed: no CUDA-capable device.*nvidia-smi"):
        devices.driver()


def test_no_gpu_is_said(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with_pycuda(monkeypatch, StandInPycuda(0))
    with pytest.raises(errors.DeviceError, match=r"no CUDA device.*CUDA_VISIBLE_DEVICES"):
        devices.driver()
    assert devices.available() == ()


def test_a_number_too_high_names_those_there_are(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with_pycuda(monkeypatch, StandInPycuda(2))
    with pytest.raises(errors.DeviceError, match="'cuda:7' does not exist: there are 2, cuda:0 to cuda:1"):
        devices.driver(7)
    assert devices.available() == (0, 1)


def test_what_is_missing_is_looked_for_once(nothing_known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pycuda", ModuleNotFoundError("No module named 'pycuda'", name="pycuda"))
    first = devices.why_not()
    with_pycuda(monkeypatch, StandInPycuda(1))
    assert devices.why_not() == first and first is not None


def test_importing_weft_looks_for_nothing() -> None:
    code = "import sys, weft; assert not [m for m in sys.modules if 'cuda' in m], sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_to_ask_whether_there_may_be_devices_imports_nothing() -> None:
    code = "import sys; from weft.runtime.cuda import devices; devices.possible(); assert 'pycuda' not in sys.modules"
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
    assert (buffer.device, buffer.nbytes, buffer.foreign, buffer.exported) == ("cuda:3", 8, False, False)
    assert Buffer.allocate(8).device == "cpu"


def test_device_memory_is_no_array() -> None:
    with pytest.raises(errors.DeviceError, match="cuda:0"):
        Pool(RecordingDriver()).allocate(8).as_numpy("f4", (2,), (1,))


def test_the_pool_counts_what_is_used_and_what_is_kept() -> None:
    pool = Pool(RecordingDriver())
    kept, freed = pool.allocate(4096), pool.allocate(8192)
    del freed
    assert (pool.allocated_bytes, pool.cached_bytes) == (4096, 8192)
    del kept


def test_trim_gives_free_memory_back_after_the_device_is_done() -> None:
    pool = Pool(driver := RecordingDriver())
    kept = pool.allocate(4096)
    pool.allocate(8192)
    pool.trim()
    assert driver.log[-2:] == [("synchronize",), ("free", 8192)]
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
    wanted = "5.0 MiB of memory are needed on cuda:0, which has 10.0 MiB: 6.0 MiB are in use, 2.0 MiB were cached"
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
