"""PyCUDA itself on a stand-in for libcuda: each test is a Python of its own, which must end well
and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import weft
from cuda_emulator import build as emulator_build
from cuda_fake_driver import build
from project_root import ROOT

pytestmark = pytest.mark.slow

BEFORE = """
import ctypes, gc, os, struct, sys, threading
import numpy as np
from dataclasses import replace
from weft import errors
from weft.ir.program.program import CheckSite
from weft.runtime.cuda import devices
from weft.runtime.cuda.executable import CudaExecutable
from weft.runtime.cuda.image import CudaImage, Launch
from weft.runtime.cuda.driver import bound
from weft.runtime.failures import CheckFailed

def log():
    library = ctypes.CDLL("libcuda.so.1")
    library.standin_log.restype = ctypes.c_char_p
    return library.standin_log().decode().splitlines()

def waiting():
    return ctypes.CDLL("libcuda.so.1").standin_waiting()

def live(what):
    return ctypes.CDLL("libcuda.so.1").standin_live(what.encode())

def to_device(values):
    array = np.asarray(values, np.int64)
    buffer = unit.pool.allocate(max(array.nbytes, 8))
    unit.driver.upload(buffer.address, array.ctypes.data, array.nbytes)
    return buffer

def values(buffer, n=8):
    array = np.zeros(n, np.int64)
    unit.driver.download(array.ctypes.data, buffer.address, array.nbytes)
    return array.tolist()

def kernel(name, shared=0):
    return unit.driver.load(IMAGE).function(name, shared)

def launched(symbol, *buffers, is_check=False):
    return Launch(symbol, 0, 2, 64, 16, buffers, (8,), is_check)

def executable(image):
    unit.kernels.want({launch.symbol: str for launch in image.launches})
    return CudaExecutable(image, unit)

SITE = CheckSite("gather", 0, 4, None)
DOUBLE = launched("double", ("input", 0), ("arena", 0))
ADD = launched("add", ("arena", 0), ("input", 1), ("output", 0))
CHECK = launched("check", ("input", 0), is_check=True)
AFFINE = CudaImage(2, 1, 64, (DOUBLE, ADD, DOUBLE, ADD))
"""
READY = """
from weft.codegen.cuda.toolchain.build import Built
from weft.runtime.cuda.pycuda_driver import PycudaDriver
PycudaDriver.build, PycudaDriver.keeps_images = (lambda self, text: Built(IMAGE, {})), False
unit = devices.gpu()
"""

Run = Callable[..., str]


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs code in a process with PyCUDA and the stand-in. Returns what it printed to stderr; it
    must end with 0.

    `leaves`: what the device has when the process is over; all goes with the context.
    """
    site, library, image = build.pycuda(), build.library(), str(build.kernels()).encode() + bytes(2)

    def run(code: str, leaves: str = "", before: str = BEFORE + READY, **settings: str) -> str:
        report = tmp_path / "report"
        parts = [
            *os.environ.get("PYTHONPATH", "").split(os.pathsep),
            str(Path(weft.__path__[0]).parent),
            str(site),
        ]
        environment = {
            "LD_LIBRARY_PATH": str(library),
            "PYTHONPATH": os.pathsep.join(p for p in parts if p),
        }
        environment |= {"STANDIN_REPORT": str(report), **settings}
        text = f"IMAGE = {image!r}\n{before}\n{textwrap.dedent(code)}"
        command = [sys.executable, "-c", text]
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert report.read_text().strip() == leaves
        return done.stderr

    return run


# ---------------------------------------------------------------- the device


def test_the_device_tells_what_it_is(python: Run) -> None:
    python("""
        driver = unit.driver
        assert (driver.name, driver.arch, driver.multiprocessors) == ("stand-in", "sm_90a", 132)
        assert (driver.shared_limit, driver.total_memory) == (232192, 1 << 30)
        assert devices.available() == (0,)
    """)


def test_only_hopper_has_code_of_its_own(python: Run) -> None:
    python("assert unit.driver.arch == 'sm_80'", STANDIN_MAJOR="8")


def test_a_second_device_is_one(python: Run) -> None:
    python(
        """
        buffer = devices.pool(1).allocate(64)
        assert buffer.device == "cuda:1" and devices.available() == (0, 1)
        """,
        STANDIN_DEVICES="2",
    )


def refused(says: str) -> str:
    """Code in which there is no device, for this reason."""
    return (
        f"try: devices.gpu()\nexcept errors.DeviceError as error: assert {says!r} in"
        " str(error)\nelse: raise AssertionError"
    )


def test_a_number_too_high_is_refused(python: Run) -> None:
    python("""
        try:
            devices.driver(1)
        except errors.DeviceError as error:
            assert "'cuda:1' does not exist: there is one, cuda:0" in str(error)
        else:
            raise AssertionError
    """)


def test_without_a_gpu_cuda_is_said_not_to_start(python: Run) -> None:
    python(
        refused("does not start: cuInit failed: no CUDA-capable device is detected"),
        before=BEFORE,
        STANDIN_DEVICES="0",
    )


def test_without_libcuda_it_is_named(tmp_path: Path) -> None:
    code = "from weft import errors; from weft.runtime.cuda import devices\n" + refused(
        "libcuda.so.1 could not be loaded"
    )
    parts = [str(Path(weft.__path__[0]).parent), str(build.pycuda())]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(parts),
        "LD_LIBRARY_PATH": str(tmp_path),
    }
    if (
        subprocess.run(
            [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], check=False
        ).returncode
        == 0
    ):
        pytest.skip("an NVIDIA driver is installed")
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


# ---------------------------------------------------------------- memory and copies


@pytest.mark.parametrize("count", [1, 8 << 10, (8 << 10) + 1, (4 << 20) + 3])
def test_what_is_copied_there_and_back_is_the_same(python: Run, count: int) -> None:
    python(f"""
        want = np.arange({count})
        assert values(to_device(want), {count}) == want.tolist()
    """)


def test_the_source_of_an_upload_may_change_at_once(python: Run) -> None:
    python("""
        for count in (10, 100_000, 3_000_000):
            array = np.arange(count)
            buffer = unit.pool.allocate(array.nbytes)
            unit.driver.upload(buffer.address, array.ctypes.data, array.nbytes)
            array[:] = -1
            assert values(buffer, count) == list(range(count))
    """)


def test_a_pinned_source_is_read_when_its_turn_comes(python: Run) -> None:
    python("""
        pinned = unit.driver.pinned(64)
        array = np.frombuffer((ctypes.c_char * 64).from_address(pinned.address), np.int64)
        array[:] = 5
        buffer = unit.pool.allocate(64)
        unit.driver.upload(buffer.address, pinned.address, 64)
        assert waiting() and log() == ["upload 64 pinned"]
        pinned.wait()
        array[:] = 7
        assert values(buffer) == [5] * 8
    """)


def test_pinned_memory_is_used_again_when_it_has_been_read(python: Run) -> None:
    python("""
        buffer, addresses = unit.pool.allocate(64), set()
        for _ in range(3):
            pinned = unit.driver.pinned(64)
            addresses.add(pinned.address)
            unit.driver.upload(buffer.address, pinned.address, 64)
            del pinned
        unit.driver.pinned(64)
        assert len(addresses) == 1 and not waiting()
    """)


def test_device_memory_is_copied_and_filled(python: Run) -> None:
    python("""
        a, b = to_device(range(8)), to_device([0] * 8)
        unit.driver.copy(b.address, a.address, 64)
        unit.driver.fill(a.address, 0xFF, 64)
        assert values(b) == list(range(8)) and values(a) == [-1] * 8
    """)


def test_out_of_memory_names_the_sizes_and_the_process_goes_on(python: Run) -> None:
    python(
        """
        held = unit.pool.allocate(6 << 20)
        unit.pool.allocate(2 << 20)
        try:
            unit.pool.allocate(5 << 20)
        except errors.MemoryError as error:
            need = "5.0 MiB of memory are needed on cuda:0, which has 10.0 MiB: 6.0 MiB are in use"
            assert need in str(error), error
            assert "4.0 MiB are left" in str(error), error
        else:
            raise AssertionError
        del held
        assert unit.pool.allocate(5 << 20)
        """,
        STANDIN_MEMORY=str(10 << 20),
    )


def test_memory_is_given_back_from_any_thread(python: Run) -> None:
    assert not python("""
        made = []
        def make(): made.append(to_device(range(8)))
        threads = [threading.Thread(target=make) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert [values(buffer) for buffer in made] == [list(range(8))] * 4
        made.clear()
        trim = threading.Thread(target=unit.pool.trim)
        trim.start()
        trim.join()
        assert live("device memory") == 0
    """)


# ---------------------------------------------------------------- kernels


def test_a_launch_passes_sizes_and_arguments(python: Run) -> None:
    python("""
        x, y = to_device(range(8)), to_device([0] * 8)
        unit.driver.launch(kernel("sizes_p0"), 70_000, 256, struct.pack("2q", x.address, 0), 1000)
        unit.driver.launch(kernel("double_p0"), 1, 32,
            struct.pack("4q", x.address, y.address, 8, 0), 0)
        assert values(y) == [140_000, 512, 2000, 6, 8, 10, 12, 14]
    """)


def test_a_kernel_may_have_all_shared_memory_that_it_asks_for(python: Run) -> None:
    python("""
        x = to_device([0] * 8)
        for size in (48 << 10, 200_000, unit.driver.shared_limit):
            unit.driver.launch(kernel("sizes_p0", size), 1, 32, struct.pack("2q", x.address, 0),
                size)
            assert values(x)[2] == size
    """)


def test_too_much_shared_memory_is_a_device_error(python: Run) -> None:
    python("""
        try:
            kernel("sizes_p0", 300_000)
        except errors.DeviceError as error:
            assert "cuFuncSetAttribute failed: invalid argument" in str(error), error
        else:
            raise AssertionError
        assert values(to_device(range(8))) == list(range(8))
    """)


def test_an_unknown_kernel_is_a_device_error(python: Run) -> None:
    python("""
        try:
            kernel("nothing_p0")
        except errors.DeviceError as error:
            assert "named symbol not found" in str(error), error
        else:
            raise AssertionError
    """)


def test_what_a_loaded_kernel_takes_is_known(python: Run) -> None:
    python("assert unit.driver.load(IMAGE).usage('double_p0').registers == 32")


def test_kernels_are_compiled_beside_each_other(python: Run) -> None:
    python("""
        from weft import options
        met = threading.Barrier(2, timeout=30)
        PycudaDriver.build = lambda self, text: Built(str(met.wait() * 0).encode() + text.encode(),
            {})
        with options.override(num_threads=2):
            built = unit.driver.build_many(["a", "b", "c", "d"])
        assert [b.image for b in built] == [b"0a", b"0b", b"0c", b"0d"]
    """)


def test_a_text_that_does_not_compile_is_an_error_of_all(python: Run) -> None:
    python("""
        def build(self, text):
            raise errors.CompileError(text)
        PycudaDriver.build = build
        try:
            unit.driver.build_many(["a", "b"])
        except errors.CompileError as error:
            assert str(error) == "a"
        else:
            raise AssertionError
    """)


def test_events_measure_time(python: Run) -> None:
    python("""
        x = to_device([0] * 100_000)
        start = unit.driver.record()
        for _ in range(100):
            unit.driver.fill(x.address, 0, 800_000)
        end = unit.driver.record()
        assert 0 < unit.driver.elapsed(start, end) < 10_000
        del start, end
        before = live("events")
        again = unit.driver.record()
        assert live("events") == before
    """)


def test_a_fault_ends_the_use_of_the_device_with_a_clear_error(python: Run) -> None:
    code = """
        unit.driver.launch(kernel("fault_p0"), 1, 32, b"", 0)
        for _ in range(2):
            try:
                unit.driver.synchronize()
            except errors.DeviceError as error:
                assert "must be started again" in str(error), error
                assert "illegal memory access" in str(error), error
            else:
                raise AssertionError
    """
    python(code, leaves="contexts: 1\nmodules: 1\nstreams: 2")


def test_a_graph_that_does_not_start_tells_what_was_wrong_before(python: Run) -> None:
    code = """
        x, k, y = to_device(range(8)), to_device([1]), to_device([0] * 8)
        prepared = executable(AFFINE).prepared()
        prepared.words[:] = x.address, k.address, y.address
        for _ in range(3):
            prepared.execute()
        unit.driver.launch(kernel("fault_p0"), 1, 32, b"", 0)
        with unit.driver.here:
            stream = ctypes.c_void_p(unit.driver.stream)
            assert ctypes.CDLL("libcuda.so.1").cuStreamSynchronize(stream) == 700
        try:
            prepared.execute()
        except errors.DeviceError as error:
            assert "must be started again" in str(error), error
            assert "illegal memory access" in str(error), error
        else:
            raise AssertionError
    """
    python(code, leaves="contexts: 1\ndevice memory: 4\ngraphs: 1\nmodules: 3\nstreams: 2")


# ---------------------------------------------------------------- programs


def test_a_program_runs_without_the_host_waiting(python: Run) -> None:
    python("""
        x, k, y = to_device(range(8)), to_device([100]), to_device([0] * 8)
        unit.driver.synchronize()
        executable(AFFINE).run([x.address, k.address], [y.address])
        assert waiting() == 4
        assert values(y) == [100 + 2 * i for i in range(8)]
    """)


def test_inputs_from_the_host_may_change_at_once(python: Run) -> None:
    python("""
        x, y = to_device(range(8)), [to_device([0] * 8) for _ in range(3)]
        k = np.array([0])
        program = executable(replace(AFFINE, host={1: 8}))
        for value, out in enumerate(y):
            k[0] = value
            program.run([x.address, k.ctypes.data], [out.address])
        assert [values(out)[0] for out in y] == [0, 1, 2]
    """)


def test_memory_freed_after_a_run_is_reused_in_order(python: Run) -> None:
    python("""
        k, program, outs = to_device([1]), executable(AFFINE), []
        for value in range(20):
            x, y = to_device([value] * 8), unit.pool.allocate(64)
            program.run([x.address, k.address], [y.address])
            outs.append(y)
        assert [values(y)[0] for y in outs] == [1 + 2 * value for value in range(20)]
    """)


@pytest.mark.parametrize("how", ["unit.pool.trim()", "unit.pool.take_arena(1 << 20)"])
def test_memory_is_given_back_only_when_the_device_is_done_with_it(python: Run, how: str) -> None:
    python(f"""
        x, k, y = to_device(range(8)), to_device([1]), to_device([0] * 8)
        executable(AFFINE).run([x.address, k.address], [y.address])
        assert waiting()
        del x
        {how}
        assert values(y) == [1 + 2 * i for i in range(8)]
    """)


def test_a_failed_check_stops_a_program(python: Run) -> None:
    python("""
        x, k, y = to_device([0, 1, 9, 0, 0, 0, 0, 0]), to_device([1]), to_device([7] * 8)
        program = executable(replace(AFFINE, launches=(CHECK, *AFFINE.launches), checks=(SITE,)))
        try:
            program.run([x.address, k.address], [y.address])
        except CheckFailed as failed:
            assert (failed.position, failed.value) == (2, 9)
        else:
            raise AssertionError
        assert values(y) == [7] * 8
    """)


def test_what_repeats_is_replayed_as_a_graph(python: Run) -> None:
    python("""
        x, y, k = to_device(range(8)), to_device([0] * 8), np.array([0])
        prepared = executable(replace(AFFINE, host={1: 8})).prepared()
        prepared.words[:] = x.address, k.ctypes.data, y.address
        for value in range(4):
            k[0] = value
            prepared.execute()
            assert values(y) == [value + 2 * i for i in range(8)]
        assert log().count("graph") == 3
    """)


def test_graphs_are_given_back(python: Run) -> None:
    python("""
        k, y = to_device([1]), to_device([0] * 8)
        xs = [to_device([i] * 8) for i in range(12)]
        prepared = executable(AFFINE).prepared()
        for _ in range(3):
            for i, x in enumerate(xs):
                prepared.words[:] = x.address, k.address, y.address
                prepared.execute()
                assert values(y) == [1 + 2 * i] * 8
        assert "graph" in log() and live("graphs") >= 8
        del prepared
        with unit.driver.here:
            empty = unit.driver.capture(unit.driver.synchronize)
        assert live("graphs") == 1
    """)


def test_results_that_are_kept_are_copied_behind_a_graph(python: Run) -> None:
    python("""
        x, k = to_device(range(8)), np.array([0])
        prepared = executable(replace(AFFINE, host={1: 8}, results=(64,))).prepared()
        kept = [to_device([0] * 8) for _ in range(20)]
        for value, y in enumerate(kept):
            k[0] = value
            prepared.words[:] = x.address, k.ctypes.data, y.address
            prepared.execute()
        assert log().count("graph") > 10
        expected = [[value + 2 * i for i in range(8)] for value in range(20)]
        assert [values(y) for y in kept] == expected
    """)


def test_where_nothing_is_captured_kernels_are_launched(python: Run) -> None:
    code = """
        x, k, y = to_device(range(8)), to_device([1]), to_device([0] * 8)
        prepared = executable(AFFINE).prepared()
        prepared.words[:] = x.address, k.address, y.address
        for _ in range(4):
            prepared.execute()
        assert log().count("launch add_p0 2 64 16") == 8
        assert values(y) == [1 + 2 * i for i in range(8)]
    """
    python(code, STANDIN_NO_GRAPHS="1")


def test_a_capture_in_one_thread_takes_no_work_of_another(python: Run) -> None:
    python("""
        x, y, z = to_device([1] * 8), to_device([0] * 8), to_device([0] * 8)
        double = kernel("double_p0")
        def launch(to):
            unit.driver.launch(double, 1, 32, struct.pack("4q", x.address, to.address, 8, 0), 0)
        def work():
            launch(y)
            other = threading.Thread(target=launch, args=(z,))
            other.start()
            other.join()
        with unit.driver.here:
            graph = unit.driver.capture(work)
            assert (values(y), values(z)) == ([0] * 8, [2] * 8)
            assert graph() == 0
        assert values(y) == [2] * 8
    """)


def test_a_kernel_that_cannot_be_captured_leaves_the_device_usable(python: Run) -> None:
    python("""
        def work():
            unit.driver.launch(kernel("double_p0"), 0, 32, b"", 0)
        assert unit.driver.capture(work) is None
        assert values(to_device(range(8))) == list(range(8))
    """)


# ---------------------------------------------------------------- Tensors


EMULATED = """
import numpy as np
import weft as wf
from cuda_emulator import build
from weft.codegen.cuda.toolchain.build import Built
from weft.runtime.cuda.pycuda_driver import PycudaDriver

def built(self, texts):
    path = str(build.library(texts))
    return [Built(b"%s\\0%d\\0" % (path.encode(), number), {}) for number in range(len(texts))]

PycudaDriver.build = lambda self, text: built(self, [text])[0]
PycudaDriver.build_many = built
PycudaDriver.keeps_images = False
"""


@pytest.fixture
def tensors(python: Run) -> Run:
    """Runs code in a process where device="cuda" is PyCUDA on the emulated device."""
    if emulator_build.compiler() is None:
        pytest.skip("no g++ for the CUDA emulator")
    machine = emulator_build.machine()._name
    here = str(ROOT / "tests/kit")
    before = f"import sys; sys.path.insert(0, {here!r})\n{EMULATED}"
    return lambda code, **settings: python(code, before=before, STANDIN_MACHINE=machine, **settings)


def test_values_are_computed_on_the_device(tensors: Run) -> None:
    assert not tensors("""
        x = np.random.default_rng(0).normal(size=(37, 50)).astype(np.float32)
        t = wf.tensor(x, device="cuda")
        assert t.device == "cuda:0"
        got = ((t * 2).exp().sum(1) / t.shape[1]).cpu().numpy()
        assert np.allclose(got, np.exp(2 * x).sum(1) / 50, rtol=1e-5)
        assert np.allclose((t @ t.T).cpu().numpy(), x @ x.T, atol=1e-4)
    """)


TRAINING = """
    def trained(device, jitted):
        wf.manual_seed(0)
        model = wf.nn.Sequential(wf.nn.Embedding(11, 8), wf.nn.Flatten(), wf.nn.Linear(32, 16),
            wf.nn.ReLU(), wf.nn.Linear(16, 5))
        model.to(device)
        optimizer = wf.nn.optim.Adam(model.parameters(), lr=0.01)
        def step(x, y):
            loss = wf.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
        run = wf.jit(step) if jitted else step
        generator = np.random.default_rng(1)
        losses = []
        for _ in range(6):
            x = generator.integers(0, 11, (6, 4))
            x, y = wf.tensor(x, device=device), wf.tensor(x.sum(1) % 5, device=device)
            losses.append(run(x, y).item())
        return losses
"""


@pytest.mark.parametrize("jitted", [False, True])
def test_a_model_learns_on_the_device_as_on_the_cpu(tensors: Run, jitted: bool) -> None:
    assert not tensors(f"""{TRAINING}
    on_cpu, on_gpu = trained("cpu", {jitted}), trained("cuda", {jitted})
    assert len(set(on_cpu)) == 6 and np.allclose(on_cpu, on_gpu, rtol=1e-4), (on_cpu, on_gpu)
    """)


def test_an_index_out_of_range_is_an_index_error(tensors: Run) -> None:
    assert not tensors("""
        table = wf.tensor(np.eye(4), device="cuda")
        index = wf.tensor([0, 7], device="cuda")
        try:
            table[index].realize()
        except IndexError as error:
            assert "index 7 is out of range for axis 0 of extent 4" in str(error)
        else:
            raise AssertionError
        assert table.sum().item() == 4
    """)


# ---------------------------------------------------------------- threads, other users of CUDA, the
# end


def test_threads_that_end_leave_no_context(python: Run) -> None:
    assert not python("""
        k, program, wrong = to_device([1]), executable(AFFINE), []
        def work(value):
            for _ in range(20):
                x, y = to_device([value] * 8), to_device([0] * 8)
                program.run([x.address, k.address], [y.address])
                wrong.extend(v for v in values(y) if v != 1 + 2 * value)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert wrong == []
    """)


def test_a_thread_may_be_the_first_to_ask_for_the_device(python: Run) -> None:
    code = """
        def first():
            global unit
            unit = devices.gpu()
            assert values(to_device(range(8))) == list(range(8))
        thread = threading.Thread(target=first)
        thread.start()
        thread.join()
        assert values(to_device(range(8))) == list(range(8))
    """
    assert not python(code, before=BEFORE)


def test_the_context_of_another_library_stays_current(python: Run) -> None:
    python(
        """
        import pycuda.driver as cuda
        other = cuda.Device(1).retain_primary_context()
        other.push()
        assert values(to_device(range(8))) == list(range(8))
        assert cuda.Context.get_device() == cuda.Device(1)
        other.pop()
        other.push()
        other.detach()
        """,
        STANDIN_DEVICES="2",
    )


def test_work_is_ordered_with_that_of_other_streams(python: Run) -> None:
    python("""
        import pycuda.driver as cuda
        x, y, z = to_device([1] * 8), to_device([0] * 8), to_device([0] * 8)
        double, driver = kernel("double_p0"), unit.driver
        driver.synchronize()
        def words(x, y):
            return struct.pack("4q", x.address, y.address, 8, 0)
        driver.here.__enter__()
        other = cuda.Stream(1)
        double._launch_kernel((1, 1, 1), (32, 1, 1), words(x, y), 0, other)
        driver.wait_for(int(other.handle))
        driver.launch(double, 1, 32, words(y, z), 0)
        driver.let_wait(int(other.handle))
        double._launch_kernel((1, 1, 1), (32, 1, 1), words(z, x), 0, other)
        driver.let_wait(1)
        other.synchronize()
        assert not waiting()
        assert (values(y), values(z), values(x)) == ([2] * 8, [4] * 8, [8] * 8)
        del other
        driver.here.__exit__(None, None, None)
    """)


def test_a_forked_process_is_told_and_ends_well(python: Run) -> None:
    assert not python("""
        buffer, event = to_device(range(8)), unit.driver.record()
        child = os.fork()
        if not child:
            try:
                values(buffer)
            except errors.DeviceError as error:
                assert "'spawn'" in str(error)
                del buffer, event
                gc.collect()
                os.environ["STANDIN_REPORT"] = ""
                sys.exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert values(buffer) == list(range(8))
        del buffer, event
    """)


def test_what_lives_to_the_end_ends_without_a_word(python: Run) -> None:
    assert not python("""
        import builtins
        kept = [to_device(range(8)), executable(AFFINE).prepared()]
        builtins.kept = [*kept, unit.driver.record(), unit.driver.pinned(64)]
    """)
