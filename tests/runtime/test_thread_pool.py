"""The thread pool: every chunk runs once, whoever calls it, and nothing hangs after a fork or at
exit."""

import ctypes
import os
import platform
import subprocess
import sys
import threading
import time
import warnings

import llvmlite.binding as llvm
import numpy as np
import pytest
from weft import options
from weft.runtime import native
from weft.runtime.threads import pool

pooled = native.has_pool(sys.platform, platform.machine())
needs_pool = pytest.mark.skipif(not pooled, reason="no thread pool on this system")

# context: address of counts, address of owners, spins, address of weft_parallel_for
KERNELS = """
define void @visit(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %counts = load ptr, ptr %context
  %owners.p = getelementptr i64, ptr %context, i64 1
  %owners = load ptr, ptr %owners.p
  %spins.p = getelementptr i64, ptr %context, i64 2
  %spins = load i64, ptr %spins.p
  br label %spin
spin:
  %i = phi i64 [0, %entry], [%i.next, %spin]
  %old = load volatile i64, ptr %spins.p
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %spins
  br i1 %more, label %spin, label %done
done:
  %count = getelementptr i64, ptr %counts, i64 %chunk
  %before = atomicrmw add ptr %count, i64 1 monotonic
  %owner = getelementptr i64, ptr %owners, i64 %chunk
  store i64 %thread, ptr %owner
  ret void
}

define void @nest(ptr %context, i64 %chunk, i64 %thread) {
  %for.p = getelementptr i64, ptr %context, i64 3
  %for = load ptr, ptr %for.p
  call void %for(ptr @visit, ptr %context, i64 8)
  ret void
}

define void @nothing(ptr %context, i64 %chunk, i64 %thread) {
  ret void
}

define void @dispatch(ptr %for, i64 %times) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i.next, %loop]
  call void %for(ptr @nothing, ptr null, i64 2)
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %times
  br i1 %more, label %loop, label %out
out:
  ret void
}
"""


@pytest.fixture(scope="module")
def kernels():
    return native.load_object(native.compile_portable(KERNELS), ["visit", "nest", "dispatch"])


def parallel_for_address() -> int:
    return ctypes.cast(pool.runtime().parallel_for, ctypes.c_void_p).value


class Visits:
    """Runs `visit` over chunks and remembers who ran each."""

    def __init__(self, chunks: int, spins: int = 1) -> None:
        self.counts, self.owners = np.zeros(chunks, np.int64), np.full(chunks, -1)
        self.context = np.array(
            [self.counts.ctypes.data, self.owners.ctypes.data, spins, parallel_for_address()]
        )

    def run(self, function: int, chunks: int | None = None) -> "Visits":
        pool.runtime().parallel_for(
            function, self.context.ctypes.data, len(self.counts) if chunks is None else chunks
        )
        return self


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 7, 1000])
def test_every_chunk_runs_exactly_once(kernels, threads, chunks):
    with options.override(num_threads=threads):
        assert pool.ensure() == (threads if pooled else 1)
        for _ in range(20):
            visits = Visits(chunks).run(kernels["visit"])
            assert (visits.counts == 1).all()
            assert ((visits.owners >= 0) & (visits.owners < threads)).all()


@needs_pool
def test_several_threads_take_part(kernels):
    with options.override(num_threads=2):
        pool.ensure()
        seen = set()
        for _ in range(50):  # on a busy machine a worker may miss many jobs
            seen |= set(Visits(64, spins=20_000).run(kernels["visit"]).owners.tolist())
            if len(seen) == 2:
                return
    pytest.fail(f"only thread {seen} ran chunks")


def test_idle_workers_sleep_and_wake(kernels):
    with options.override(num_threads=3):
        pool.ensure()
        for _ in range(5):
            time.sleep(0.02)
            assert (Visits(100).run(kernels["visit"]).counts == 1).all()


def test_nested_call_runs_serially(kernels):
    with options.override(num_threads=2):
        pool.ensure()
        visits = Visits(8).run(kernels["nest"], chunks=16)
        assert (visits.counts == 16).all()


def test_python_threads_share_the_pool(kernels):
    results = []

    def hammer():
        results.append(
            all((Visits(9, spins=50).run(kernels["visit"]).counts == 1).all() for _ in range(300))
        )

    with options.override(num_threads=2):
        pool.ensure()
        callers = [threading.Thread(target=hammer) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert results == [True] * 4


def test_pool_restarts_while_other_threads_use_it(kernels):
    stop, wrong = threading.Event(), []

    def hammer():
        while not stop.is_set():
            if (Visits(9, spins=50).run(kernels["visit"]).counts != 1).any():
                wrong.append(1)

    caller = threading.Thread(target=hammer)
    caller.start()
    try:
        for threads in (2, 4, 1, 3, 2) * 4:
            with options.override(num_threads=threads):
                assert pool.ensure() == (threads if pooled else 1)
    finally:
        stop.set()
        caller.join()
    assert not wrong


def counted_beside_native_code(kernel):
    """How far one thread counts while another one is in native code."""
    visits, counted = Visits(1, spins=20_000_000), 0
    caller = threading.Thread(target=visits.run, args=(kernel,))
    caller.start()
    while caller.is_alive():
        counted += 1
        time.sleep(0)
    return counted


def test_native_code_releases_the_python_lock(kernels):
    """On a busy machine the thread that counts may have to wait for a processor: one of some tries
    is enough."""
    assert any(counted_beside_native_code(kernels["visit"]) > 10 for _ in range(10))


def child_status(body) -> int:
    """Exit code of a forked child that runs `body`; -1 if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # fork of a process with threads: the point of these tests
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return -1


@needs_pool
def test_forked_child_runs_serially(kernels):
    with options.override(num_threads=2):
        pool.ensure()
        Visits(100).run(kernels["visit"])

        def body():
            assert pool.ensure() == 1
            visits = Visits(100).run(kernels["visit"])
            return (visits.counts == 1).all() and set(visits.owners.tolist()) == {0}

        assert child_status(body) == 0
        assert (Visits(100).run(kernels["visit"]).counts == 1).all()


@needs_pool
def test_forked_child_may_start_its_own_workers(kernels):
    with options.override(num_threads=2):
        pool.ensure()

        def body():
            options.update(num_threads=3)
            return pool.ensure() == 3 and (Visits(100).run(kernels["visit"]).counts == 1).all()

        assert child_status(body) == 0


@pytest.mark.slow
@needs_pool
def test_fork_while_another_thread_is_in_the_pool(kernels):
    stop = threading.Event()

    def hammer():
        while not stop.is_set():
            Visits(16, spins=2000).run(kernels["visit"])

    def body():
        return (Visits(50).run(kernels["visit"]).counts == 1).all()

    with options.override(num_threads=2):
        pool.ensure()
        caller = threading.Thread(target=hammer)
        caller.start()
        try:
            codes = [child_status(body) for _ in range(5)]
        finally:
            stop.set()
            caller.join()
    assert codes == [0] * 5


EXIT = """
import sys, threading, time
from weft import options
from weft.runtime import native
from weft.runtime.threads import pool
options.update(num_threads=3, cache_dir=None)
assert pool.ensure() == 3
code = native.load_object(native.compile_portable('''
define void @spin(ptr %context, i64 %chunk, i64 %thread) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i.next, %loop]
  %old = load volatile i64, ptr %context
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, 1000000
  br i1 %more, label %loop, label %out
out:
  ret void
}'''), ["spin"])
place = bytearray(8)
import ctypes
address = ctypes.addressof(ctypes.c_char.from_buffer(place))
run = lambda times: [pool.runtime().parallel_for(code["spin"], address, 6) for _ in range(times)]
"""
EXITS = {
    "spinning": "run(1)",
    "asleep": "run(1); time.sleep(0.05)",
    "daemon thread inside": (
        "threading.Thread(target=run, args=(100000,), daemon=True).start(); time.sleep(0.05)"
    ),
}


@pytest.mark.thinned(to=1)
@needs_pool
@pytest.mark.parametrize("state", EXITS)
def test_interpreter_exits_with_live_workers(state, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", EXIT + EXITS[state]],
        cwd=tmp_path,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@needs_pool
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_worker_leaves_the_callers_processor(kernels):
    """All threads are forced onto one processor; the caller may not leave it, so the worker
    must."""
    allowed = os.sched_getaffinity(0)
    with options.override(num_threads=1):
        pool.ensure()
    before = set(os.listdir("/proc/self/task"))
    with options.override(num_threads=2):
        pool.ensure()
        (worker,) = {int(task) for task in set(os.listdir("/proc/self/task")) - before}
        cpu = min(allowed)
        try:
            os.sched_setaffinity(0, {cpu})
            os.sched_setaffinity(worker, {cpu})
            moved = pool.runtime().migrations()
            deadline = time.monotonic() + 10
            while pool.runtime().migrations() == moved and time.monotonic() < deadline:
                Visits(64, spins=5000).run(kernels["visit"])
            assert os.sched_getaffinity(worker) == allowed - {cpu}
        finally:
            os.sched_setaffinity(0, allowed)


@needs_pool
def test_workers_do_not_take_signals():
    with options.override(num_threads=2):
        pool.ensure()
        tasks = [int(t) for t in os.listdir("/proc/self/task")]
        masks = {}
        for task in tasks:
            with open(f"/proc/self/task/{task}/status") as file:
                masks[task] = next(
                    int(line.split()[1], 16) for line in file if line.startswith("SigBlk")
                )
        interrupt = 1 << (2 - 1)
        assert not masks[os.getpid()] & interrupt
        assert any(mask & interrupt for task, mask in masks.items() if task != os.getpid())


@pytest.mark.parametrize("machine", native.PROCESSORS)
def test_text_assembles_for_each_processor(machine):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{machine}-unknown-linux-gnu").create_target_machine()
    module = llvm.parse_assembly(native.native_text("linux", machine))
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    assert "weft_run" in target.emit_assembly(module)


def test_text_without_a_pool_is_whole(kernels):
    text = native.native_text("darwin", "arm64")
    names = ["weft_run", "weft_parallel_for", "weft_pool_start"]
    code = native.load_object(native.compile_portable(text), names)
    parallel_for = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        code["weft_parallel_for"]
    )
    visits = Visits(10)
    parallel_for(kernels["visit"], visits.context.ctypes.data, 10)
    assert (visits.counts == 1).all() and (visits.owners == 0).all()


@needs_pool
def test_dispatch_is_fast(kernels, record_property):
    dispatch = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(kernels["dispatch"])
    with options.override(num_threads=2):
        pool.ensure()
        times = []
        for _ in range(10):
            start = time.perf_counter()
            dispatch(parallel_for_address(), 2000)
            times.append((time.perf_counter() - start) / 2000)
    record_property("dispatch_ns", min(times) * 1e9)
    print(f"dispatch and join, 2 threads: {min(times) * 1e9:.0f} ns")
    assert min(times) < 20e-6  # the machine may be busy; alone it is below 0.5 us
