"""The emulated device as a driver: memory with guards, limits, launches that are refused, captured
launches."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from cuda_emulator import build
from cuda_emulator.driver import REVERSE, EmulatorDriver, EmulatorError
from cuda_emulator.samples import elementwise
from weft.runtime.cuda.driver import Driver, OutOfMemory

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")
DOUBLE = elementwise("double", "a + a", "float32", "float32")
NEXT = DOUBLE.replace("double_p0", "next_p0").replace("y[i] =", "y[i + 1] =")
WRONG = DOUBLE.replace("double_p0", "wrong_p0").replace("a + a", "a + nothing")


@pytest.fixture
def driver() -> Iterator[EmulatorDriver]:
    found = EmulatorDriver()
    yield found
    for address in list(found.sizes):
        found.free(address)


def launch(driver: EmulatorDriver, text: str, *words: int) -> None:
    function = driver.load(driver.build(text).image).function(build.symbols(text)[0], 0)
    driver.launch(function, 1, 128, struct.pack(f"{len(words)}q", *words), 0)


def floats(driver: EmulatorDriver, values: list[float]) -> int:
    array = np.array(values, np.float32)
    address = driver.allocate(array.nbytes)
    driver.upload(address, array.ctypes.data, array.nbytes)
    return address


def values(driver: EmulatorDriver, address: int, count: int) -> list[float]:
    out = np.empty(count, np.float32)
    driver.download(out.ctypes.data, address, out.nbytes)
    return out.tolist()


def test_it_has_what_the_runtime_asks_of_a_driver(driver):
    asked = [name for name in (*vars(Driver), *Driver.__annotations__) if not name.startswith("_")]
    assert len(asked) > 15
    assert [name for name in asked if not hasattr(driver, name)] == []


# ---------------------------------------------------------------- memory


def test_allocations_are_aligned_and_not_a_number(driver):
    addresses = [driver.allocate(n) for n in (4, 300, 4096, 70000)]
    assert [a % 256 for a in addresses] == [0] * 4
    assert np.isnan(values(driver, addresses[1], 75)).all()


def test_memory_is_copied_and_filled(driver):
    a, b = floats(driver, [1, 2, 3]), driver.allocate(12)
    driver.copy(b, a, 12)
    driver.fill(b + 4, 0, 4)
    assert values(driver, b, 3) == [1, 0, 3]


def test_more_than_there_is_does_not_fit(driver):
    driver.total_memory = 1000
    first = driver.allocate(600)
    with pytest.raises(OutOfMemory) as caught:
        driver.allocate(401)
    assert (caught.value.nbytes, caught.value.left) == (401, 400)
    driver.free(first)
    driver.allocate(1000)


@pytest.mark.parametrize("use", ["upload", "download", "copy", "fill", "behind", "free"])
def test_addresses_of_the_host_are_refused(driver, use):
    host, device = np.zeros(8, np.float32), driver.allocate(32)
    at = host.ctypes.data
    wrong = {
        "upload": lambda: driver.upload(at, at, 32),
        "download": lambda: driver.download(device, device, 32),
        "copy": lambda: driver.copy(device, at, 32),
        "fill": lambda: driver.fill(at, 0, 32),
        "behind": lambda: driver.fill(device, 0, 33),
        "free": lambda: driver.free(device + 256),
    }
    with pytest.raises(EmulatorError, match="0x"):
        wrong[use]()


def test_freed_memory_is_gone(driver):
    address = floats(driver, [1, 2])
    driver.free(address)
    with pytest.raises(EmulatorError, match="not device memory"):
        values(driver, address, 2)
    y = driver.allocate(8)
    with pytest.raises(EmulatorError, match=r"illegal memory access at .*, which was freed"):
        launch(driver, DOUBLE, address, y, 2, 0)


def test_a_write_behind_an_allocation_is_seen_between_it_and_its_guard(driver):
    x, y = floats(driver, [1, 2]), driver.allocate(8)
    with pytest.raises(EmulatorError, match=r"behind an allocation of 8 bytes \(argument 1\)"):
        launch(driver, NEXT, x, y, 2, 0)
    driver.fill(y, 0, 8)
    with pytest.raises(EmulatorError, match="wrote behind the allocation"):
        driver.free(y)


# ---------------------------------------------------------------- launches


def test_a_text_is_compiled_once(driver, monkeypatch):
    built = driver.build(DOUBLE)
    monkeypatch.setattr(build.subprocess, "run", None)
    assert driver.build(DOUBLE) == built
    assert EmulatorDriver().build(DOUBLE) == built
    assert list(built.report) == ["double_p0"]


def test_texts_with_equal_symbols_are_compiled_together(driver):
    triple = DOUBLE.replace("a + a", "a + a + a")
    driver.build_many([DOUBLE, triple])
    x, y = floats(driver, [1, 2]), driver.allocate(8)
    for text, wanted in ((triple, [3, 6]), (DOUBLE, [2, 4])):
        launch(driver, text, x, y, 2, 0)
        assert values(driver, y, 2) == wanted


def test_what_the_compiler_refuses_is_an_error(driver):
    with pytest.raises(build.BuildError, match=r"wrong_p0.cu:\d+:.*nothing.* not declared"):
        driver.build(WRONG)


def test_launches_that_a_gpu_refuses_are_refused(driver):
    module = driver.load(driver.build(DOUBLE).image)
    function = module.function("double_p0", 64)
    for arguments, grid, block, shared in [
        (bytes(24), 1, 1, 0),
        (bytes(32), 0, 1, 0),
        (bytes(32), 1, 1025, 0),
        (bytes(32), 1, 1, 65),
    ]:
        with pytest.raises(ValueError, match="double_p0"):
            driver.launch(function, grid, block, arguments, shared)
    with pytest.raises(ValueError, match="shared memory"):
        module.function("double_p0", driver.shared_limit + 1)
    with pytest.raises(KeyError):
        module.function("double_p1", 0)


def test_captured_work_is_done_at_each_replay_and_not_before(driver):
    x, y = floats(driver, [1, 2]), floats(driver, [0, 0])

    def work() -> None:
        launch(driver, DOUBLE, x, y, 2, 0)
        driver.copy(x, y, 8)

    replay = driver.capture(work)
    assert values(driver, y, 2) == [0, 0]
    assert [replay(), replay()] == [0, 0]
    assert values(driver, y, 2) == [4, 8]


def test_two_devices_of_one_process_take_turns():
    driver, other = EmulatorDriver(), EmulatorDriver(order=REVERSE)
    wrong = []

    def work(device: EmulatorDriver) -> None:
        x, y = floats(device, list(range(3000))), device.allocate(12000)
        for _ in range(50):
            launch(device, DOUBLE, x, y, 3000, 0)
            wrong.extend(v for v in values(device, y, 3000)[:5] if v not in (0, 2, 4, 6, 8))
            device.fill(y, 255, 12000)
        device.free(x)
        device.free(y)

    threads = [threading.Thread(target=work, args=(d,)) for d in (driver, other)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_events_measure_milliseconds(driver):
    start = driver.record()
    assert 0 <= driver.elapsed(start, driver.record()) < 1000
