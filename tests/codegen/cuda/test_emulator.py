"""The device of the CUDA tests: kernels written by hand are right in any order of threads, and
planted mistakes are found."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_emulator import build, race_cases, races, samples
from cuda_emulator.driver import FORWARD, RANDOM, REVERSE, EmulatorDriver, EmulatorError
from cuda_emulator.launching import gpu, run
from project_root import ROOT
from weft.runtime.cuda.driver import Driver

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")
KIT = ROOT / "tests/kit"
ORDERS = {"forward": FORWARD, "reverse": REVERSE, "random": RANDOM}
RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def driver() -> EmulatorDriver:
    found = EmulatorDriver()
    found.build_many([*samples.ALL, samples.DIVERGENT, *FAULTS.values()])
    return found


@pytest.fixture(params=[*ORDERS, *["gpu"] * (gpu() is not None)])
def device(driver: EmulatorDriver, request: Any) -> Iterator[Driver]:
    """The emulated device in each order of threads, and a GPU where there is one."""
    if request.param == "gpu":
        yield gpu()
        return
    driver.order, driver.seed = ORDERS[request.param], 3
    yield driver
    driver.order, driver.seed = FORWARD, 0


@pytest.fixture(params=ORDERS)
def ordered(driver: EmulatorDriver, request: Any) -> Iterator[EmulatorDriver]:
    driver.order, driver.seed = ORDERS[request.param], 3
    yield driver
    driver.order, driver.seed = FORWARD, 0


# ---------------------------------------------------------------- kernels by hand


def softmax_like(x: np.ndarray) -> np.ndarray:
    shifted = x - x.max(1, keepdims=True)
    parts = np.where(shifted < -1, 0.25, 1 + shifted * 0.5)
    return parts / parts.sum(1, keepdims=True)


def test_reductions_over_a_block(device):
    x = RNG.standard_normal((3, 1500)).astype(np.float32)
    y = run(device, samples.SOFTMAX, 3, 256, [x, np.zeros_like(x), 1500])[1]
    np.testing.assert_allclose(y, softmax_like(x), rtol=2e-6)


def test_tiles_in_shared_memory(device):
    a, b = RNG.standard_normal((2, 48, 48)).astype(np.float32)
    c = run(device, samples.MATMUL, 9, 256, [a, b, np.zeros_like(a), 48], 2048)[2]
    np.testing.assert_allclose(c, a @ b, atol=1e-5)


def pipelined(driver: Driver, text: str, pieces: int = 6) -> np.ndarray:
    x = RNG.standard_normal(512 * pieces).astype(np.float32)
    y = run(driver, text, 1, 128, [x, np.zeros_like(x), pieces], 8192)[1]
    return y - 2 * x.reshape(-1, 512)[:, ::-1].reshape(-1)


@pytest.mark.parametrize("pieces", [1, 2, 6])
def test_asynchronous_copies(device, pieces):
    assert not pipelined(device, samples.PIPELINE, pieces).any()


def narrowed(kind: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel gets of an array, and the values that this stands for."""
    if kind == "f16":
        return x.astype(np.float16), x.astype(np.float16).astype(np.float64)
    if kind == "tf32":
        bits = (x.view(np.uint32) + 0x1000) & 0xFFFFE000
        return x, bits.view(np.float32).astype(np.float64)
    bits = x.view(np.uint32) >> 16
    return bits.astype(np.uint16), (bits << 16).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("kind", ["bf16", "f16", "tf32"])
def test_products_of_matrix_fragments(device, kind):
    (a, va), (b, vb) = (
        narrowed(kind, RNG.standard_normal(shape).astype(np.float32))
        for shape in [(16, 48), (48, 8)]
    )
    c = run(device, samples.tile(kind), 1, 32, [a, b, np.zeros((16, 8), np.float32), 48], 768)[2]
    np.testing.assert_allclose(c, va @ vb, atol=1e-5)


def test_the_lowest_failed_check_is_reported_with_its_value(device):
    index = np.arange(256) % 5
    index[[70, 200, 201]] = -4, 99, 98
    y, status = run(device, samples.CHECKS, 4, 64, [index, np.zeros(256, np.float32), 5])[1:]
    assert status.tolist() == [3 << 40 | 70, -4]
    np.testing.assert_array_equal(y, np.where((index < 0) | (index > 4), 0, index))


def test_a_status_without_failure_stays(device):
    status = run(
        device, samples.CHECKS, 1, 64, [np.zeros(64, np.int64), np.zeros(64, np.float32), 5]
    )[2]
    assert status.tolist() == [-1, 0]


# ---------------------------------------------------------------- planted mistakes

FAULTS = {
    (name, number): samples.with_fault(text, number)
    for name, text, numbers in [
        ("matmul", samples.MATMUL, (1, 2, 3)),
        ("pipeline", samples.PIPELINE, (1, 2)),
    ]
    for number in numbers
}


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_barrier_changes_the_result(ordered, number):
    a, b = RNG.standard_normal((2, 48, 48)).astype(np.float32)
    c = run(ordered, FAULTS["matmul", number], 9, 256, [a, b, np.zeros_like(a), 48], 2048)[2]
    assert not np.allclose(c, a @ b, atol=1e-5)


@pytest.mark.parametrize("number", [1, 2])
def test_a_copy_awaited_too_late_or_not_shown_to_all_changes_the_result(ordered, number):
    assert not np.all(pipelined(ordered, FAULTS["pipeline", number]) == 0)


def test_copies_that_arrive_early_hide_a_wrong_wait():
    early = EmulatorDriver(late_copies=False)
    assert not pipelined(early, FAULTS["pipeline", 1]).any()


def test_an_address_out_of_bounds_names_block_and_thread(driver):
    a = np.zeros((48, 48), np.float32)
    place = (
        "matmul_fault3_p0: block 6: thread 240: illegal .*, 0 bytes behind an allocation of 9216"
    )
    with pytest.raises(EmulatorError, match=place):
        run(driver, FAULTS["matmul", 3], 9, 256, [a, a, a, 48], 2048)
    assert (
        run(driver, samples.MATMUL, 9, 256, [a, a, a + 1, 48], 2048)[2].max() == 0
    )  # the device is still usable


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("divergent", "a barrier is not reached by 24 of 64 threads, which have finished"),
        ("elsewhere", "thread 0 waits for the block at line 9, thread 40 at line 11"),
        ("lanes", "thread 0, line 15: waits for its warp, of which thread 31 has finished"),
        ("misaligned", "is not aligned to 8 bytes"),
        (
            "overrun",
            r"thread 0: illegal memory access at .*, 0 bytes behind the shared memory of 0 bytes",
        ),
    ],
)
def test_what_a_gpu_would_hang_on_or_trap_at_is_an_error(driver, name, message):
    with pytest.raises(EmulatorError, match=message):
        run(driver, samples.DIVERGENT, 1, 64, [np.zeros(64, np.float32)], 0, f"{name}_p0")


def test_shared_memory_is_not_a_number_before_each_block(driver):
    y = run(driver, samples.DIVERGENT, 3, 64, [np.zeros(64, np.float32)], 256, "unset_p0")[0]
    assert np.isnan(y).all()


# ---------------------------------------------------------------- races


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, str]:
    """What ThreadSanitizer says of each kernel of race_cases.py."""
    if races.sanitizer() is None:
        pytest.skip("no ThreadSanitizer")
    line, environment = races.command(
        ["-m", "cuda_emulator.race_cases"], f"{tmp_path_factory.mktemp('log')}/races"
    )
    done = subprocess.run(
        line, env=environment, cwd=KIT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", race_cases.RIGHT)
def test_right_kernels_have_no_races(told, name):
    assert told[name] == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", race_cases.WRONG)
def test_races_are_found_and_name_the_line(told, name):
    assert re.search(
        rf"data race(.|\n)*{build.symbols(race_cases.WRONG[name][0])[0]}.cu:\d+", told[name]
    )
