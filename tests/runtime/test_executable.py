"""Executables over hand-written kernels: arguments arrive, checks stop the program, threads change
nothing."""

import gc
import time
from threading import Thread

import numpy as np
import pytest
from weft import options
from weft.ir.graph import dtype as dt
from weft.ir.graph.index import Var
from weft.ir.loops.loop import GRID, Buf, For, Loops, Param
from weft.ir.passes.bounds_checks import CheckSite
from weft.ir.program.program import Call, Program, ValueLayout
from weft.ir.program.ref import Ref
from weft.runtime import native
from weft.runtime.buffer import memory
from weft.runtime.code import Code
from weft.runtime.executable import Executable
from weft.runtime.failures import CheckFailed
from weft.runtime.image import chunk_count
from weft.runtime.table import image_of

CHUNK = 16  # elements a chunk of every kernel here

# scale: context x, y, factor, status; y[i] = x[i] * factor, for int64. partial: context x, sums,
# out, status; sums[chunk] = sum of the chunk. finish: the last one adds up CHUNKS sums into out[0].
# check: context x, extent, status; every element must be in [0, extent). fail: writes the status
# for position 7. await: context x, y, status; y[0] = x[0] as soon as that is not 0, or after some
# seconds.
KERNELS = """
define void @scale(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %x = load ptr, ptr %context
  %y.p = getelementptr i64, ptr %context, i64 1
  %y = load ptr, ptr %y.p
  %factor.p = getelementptr i64, ptr %context, i64 2
  %factor = load i64, ptr %factor.p
  %first = mul i64 %chunk, 16
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k.next, %loop]
  %i = add i64 %first, %k
  %from = getelementptr i64, ptr %x, i64 %i
  %to = getelementptr i64, ptr %y, i64 %i
  %value = load i64, ptr %from
  %scaled = mul i64 %value, %factor
  store i64 %scaled, ptr %to
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, 16
  br i1 %more, label %loop, label %out
out:
  ret void
}

define void @partial(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %x = load ptr, ptr %context
  %sums.p = getelementptr i64, ptr %context, i64 1
  %sums = load ptr, ptr %sums.p
  %sum.p = getelementptr i64, ptr %sums, i64 %chunk
  %first = mul i64 %chunk, 16
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k.next, %loop]
  %sum = phi i64 [0, %entry], [%sum.next, %loop]
  %i = add i64 %first, %k
  %from = getelementptr i64, ptr %x, i64 %i
  %value = load i64, ptr %from
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, 16
  br i1 %more, label %loop, label %out
out:
  store i64 %sum.next, ptr %sum.p
  ret void
}

define void @finish(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %sums.p = getelementptr i64, ptr %context, i64 1
  %sums = load ptr, ptr %sums.p
  %out.p = getelementptr i64, ptr %context, i64 2
  %out = load ptr, ptr %out.p
  %count.p = getelementptr i64, ptr %context, i64 3
  %count = load i64, ptr %count.p
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k.next, %loop]
  %sum = phi i64 [0, %entry], [%sum.next, %loop]
  %from = getelementptr i64, ptr %sums, i64 %k
  %value = load i64, ptr %from
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  store i64 %sum.next, ptr %out
  ret void
}

define void @check(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %x = load ptr, ptr %context
  %extent.p = getelementptr i64, ptr %context, i64 1
  %extent = load i64, ptr %extent.p
  %status.p = getelementptr i64, ptr %context, i64 2
  %status = load ptr, ptr %status.p
  %status.value = getelementptr i64, ptr %status, i64 1
  %first = mul i64 %chunk, 16
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k.next, %next]
  %i = add i64 %first, %k
  %from = getelementptr i64, ptr %x, i64 %i
  %value = load i64, ptr %from
  %bad = icmp uge i64 %value, %extent
  br i1 %bad, label %fail, label %next
fail:
  %site = shl i64 1, 40
  %key = or i64 %site, %i
  %old = atomicrmw umin ptr %status, i64 %key monotonic
  %lower = icmp ult i64 %key, %old
  br i1 %lower, label %note, label %next
note:
  store i64 %value, ptr %status.value
  br label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, 16
  br i1 %more, label %loop, label %out
out:
  ret void
}

define void @await(ptr %context, i64 %chunk, i64 %thread) {
entry:
  %x = load ptr, ptr %context
  %y.p = getelementptr i64, ptr %context, i64 1
  %y = load ptr, ptr %y.p
  br label %look
look:
  %turn = phi i64 [0, %entry], [%turn.next, %again]
  %value = load volatile i64, ptr %x
  %here = icmp ne i64 %value, 0
  br i1 %here, label %out, label %again
again:
  %turn.next = add i64 %turn, 1
  %patient = icmp ult i64 %turn.next, 20000000000
  br i1 %patient, label %look, label %out
out:
  store i64 %value, ptr %y
  ret void
}

define void @nothing(ptr %context, i64 %chunk, i64 %thread) {
  ret void
}
"""
NAMES = ["scale", "partial", "finish", "check", "await", "nothing"]
SITES = (CheckSite("unused", 0, 1, None), CheckSite("gather", 2, 10, None))


@pytest.fixture(scope="module")
def kernels():
    return native.load_object(native.compile_portable(KERNELS), NAMES)


@pytest.fixture(params=[1, 2, 3], ids=lambda n: f"{n} threads")
def threads(request):
    with options.override(num_threads=request.param):
        yield request.param


def call(name, refs, params=(), extents=(1,), parallel=True, is_check=False):
    """A call of a kernel with one phase for each extent."""
    buffers = tuple(Buf(f"b{i}", dt.int64, 1, "global") for i in range(len(refs)))
    names = tuple(Param(f"p{i}") for i in range(len(params)))
    phases = [For(Var("g", 1), extent, GRID, []) for extent in extents]
    return Call(
        Loops(name, buffers, names, phases),
        tuple(refs),
        tuple(params),
        (parallel,) * len(phases),
        is_check,
    )


def program(calls, inputs, outputs, arena_bytes=0):
    value = ValueLayout(dt.int64, (1,), (1,))
    return Program(list(calls), (value,) * inputs, (value,) * outputs, arena_bytes, {}, SITES)


def executable(made, phases):
    """`phases[c][p]`: the address of phase p of call c."""
    return Executable(image_of(made), [Code(call, 0, lambda: None) for call in phases])


def addresses(*arrays):
    return [a.ctypes.data for a in arrays]


def scale(kernels, chunks, parallel=True, steps=1):
    """y = x * 3 ** steps through `steps` buffers of the arena."""
    size = chunks * CHUNK * 8
    places = [
        Ref("input", 0),
        *(Ref("arena", i * size) for i in range(steps - 1)),
        Ref("output", 0),
    ]
    calls = [call("scale", places[i : i + 2], (3,), (chunks,), parallel) for i in range(steps)]
    return executable(program(calls, 1, 1, size * (steps - 1)), [[kernels["scale"]]] * steps)


@pytest.mark.thinned(to=12)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("chunks", [1, 2, 5, 64])
def test_chunks_cover_the_output(kernels, threads, chunks, parallel):
    x = np.arange(chunks * CHUNK)
    y = np.zeros_like(x)
    runnable = scale(kernels, chunks, parallel)
    for _ in range(10):
        y[...] = 0
        runnable.run(addresses(x), addresses(y))
        np.testing.assert_array_equal(y, 3 * x)


def test_zero_chunks_run_nothing(kernels, threads):
    y = np.full(CHUNK, 5)
    scale(kernels, 0).run(addresses(y), addresses(y))
    assert (y == 5).all()


def test_calls_pass_values_through_the_arena(kernels, threads):
    x = np.arange(8 * CHUNK)
    y = np.zeros_like(x)
    before = memory.allocated_bytes
    scale(kernels, 8, steps=5).run(addresses(x), addresses(y))
    np.testing.assert_array_equal(y, 3**5 * x)
    assert memory.allocated_bytes == before


def test_phases_of_a_kernel_run_in_order(kernels, threads):
    """Partial sums in parallel, then one phase that adds them up; the number of chunks is a
    param."""
    chunks = 32
    x = np.arange(chunks * CHUNK)
    out = np.zeros(1, np.int64)
    refs = [Ref("input", 0), Ref("arena", 128), Ref("output", 0)]
    both = call("sum", refs, (chunks,), (Param("p0"), 1))
    runnable = executable(
        program([both], 1, 1, 128 + 8 * chunks), [[kernels["partial"], kernels["finish"]]]
    )
    for _ in range(20):
        runnable.run(addresses(x), addresses(out))
        assert out[0] == x.sum()


def test_chunk_count_is_the_value_of_the_param():
    one = call("k", [], (7, 9), (Param("p1"), 4))
    assert [chunk_count(one, phase) for phase in one.loops.phases] == [9, 4]


def guarded(kernels, chunks, is_check):
    """Checks the labels, then updates the weights in place."""
    check = call("check", [Ref("input", 0)], (10,), (chunks,), is_check=is_check)
    update = call("scale", [Ref("input", 1), Ref("output", 0)], (2,), (chunks,))
    return executable(program([check, update], 2, 1), [[kernels["check"]], [kernels["scale"]]])


def test_check_phase_stops_the_program_before_it_writes(kernels, threads):
    labels, weights = np.arange(4 * CHUNK) % 10, np.ones(4 * CHUNK, np.int64)
    runnable = guarded(kernels, 4, is_check=True)
    runnable.run(addresses(labels, weights), addresses(weights))
    assert (weights == 2).all()
    labels[37] = -4
    for _ in range(5):
        with pytest.raises(CheckFailed) as caught:
            runnable.run(addresses(labels, weights), addresses(weights))
        assert (caught.value.site, caught.value.position, caught.value.value) == (SITES[1], 37, -4)
    assert (weights == 2).all()
    labels[37] = 0
    runnable.run(addresses(labels, weights), addresses(weights))
    assert (weights == 4).all()


def test_other_checks_let_the_program_finish(kernels, threads):
    labels, weights = np.full(4 * CHUNK, 3), np.ones(4 * CHUNK, np.int64)
    labels[[20, 50]] = 10, 11
    with pytest.raises(
        CheckFailed, match=r"gather: value .* at position 20 is outside of axis 2 with extent 10"
    ):
        guarded(kernels, 4, is_check=False).run(addresses(labels, weights), addresses(weights))
    assert (weights == 2).all()


def test_arena_is_given_back_when_a_check_fails(kernels):
    check = call("check", [Ref("arena", 0)], (0,), (1,), is_check=True)
    fill = call("scale", [Ref("input", 0), Ref("arena", 0)], (1,), (1,))
    runnable = executable(
        program([fill, check], 1, 0, 4096), [[kernels["scale"]], [kernels["check"]]]
    )
    before = memory.allocated_bytes
    with pytest.raises(CheckFailed):
        runnable.run(addresses(np.ones(CHUNK, np.int64)), [])
    assert memory.allocated_bytes == before


def test_python_threads_run_the_same_executable(kernels):
    runnable = scale(kernels, 8, steps=4)
    wrong = []

    def work(number):
        x = np.arange(8 * CHUNK) + number
        for _ in range(200):
            y = np.zeros_like(x)
            runnable.run(addresses(x), addresses(y))
            if (y != 81 * x).any():
                wrong.append(number)

    with options.override(num_threads=2):
        workers = [Thread(target=work, args=(n,)) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong


def test_empty_program_runs():
    executable(program([], 0, 0), []).run([], [])


def test_released_code_is_unloaded(kernels):
    library = native.load_object(native.compile_portable(KERNELS), NAMES)
    assert len(set(library.values()) | set(kernels.values())) == 2 * len(NAMES)
    library.release()
    again = native.load_object(native.compile_portable(KERNELS), ["scale"])
    again.release()


def best(f, times, rounds=7):
    """Seconds a call, of the best round."""
    result = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            f()
        result.append((time.perf_counter() - start) / times)
    return min(result)


def test_overheads_are_small(kernels, record_property):
    """Printed; the bounds are generous, for busy machines."""
    phases = 1000
    calls = [
        call("nothing", [Ref("input", i % 5) for i in range(4)], (1,), (1,), parallel=False)
    ] * phases
    empty = executable(program(calls[:1], 5, 1), [[kernels["nothing"]]])
    with_arena = executable(program(calls[:1], 5, 1, 1 << 16), [[kernels["nothing"]]])
    long = executable(program(calls, 5, 1), [[kernels["nothing"]]] * phases)
    inputs, outputs = addresses(*[np.zeros(1)] * 5), addresses(np.zeros(1))
    run_us = best(lambda: empty.run(inputs, outputs), 500) * 1e6
    arena_us = best(lambda: with_arena.run(inputs, outputs), 500) * 1e6
    phase_ns = best(lambda: long.run(inputs, outputs), 20) / phases * 1e9
    print(
        f"run: {run_us:.2f} us, with an arena {arena_us:.2f} us; a phase of 6 slots:"
        f" {phase_ns:.1f} ns"
    )
    for name, value in {"run_us": run_us, "arena_us": arena_us, "phase_ns": phase_ns}.items():
        record_property(name, value)
    assert run_us < 30 and arena_us < 40 and phase_ns < 200


# ---------------------------------------------------------------- prepared programs


def tiny(made):
    for one in made.calls:
        one.loops.tiny = True
    return made


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_prepared_program_keeps_the_addresses_that_it_is_not_given(
    kernels, threads, parallel, steps
):
    prepared = scale(kernels, 4, parallel, steps).prepared()
    x, other, y = np.arange(4 * CHUNK), np.arange(4 * CHUNK) + 7, np.zeros(4 * CHUNK, np.int64)
    prepared.words[0], prepared.words[1] = addresses(x, y)
    prepared.execute()
    np.testing.assert_array_equal(y, 3**steps * x)
    read = prepared.call([0])
    for source in (other, x, other):
        assert read(source.ctypes.data) == 0
        np.testing.assert_array_equal(y, 3**steps * source)
    result = np.zeros_like(y)
    assert prepared.call([1, 0])(*addresses(result, x)) == 0 and prepared.call([])() == 0
    np.testing.assert_array_equal(result, 3**steps * x)


@pytest.mark.parametrize("brief", [False, True])
def test_a_prepared_program_says_that_a_check_has_failed(kernels, brief):
    labels, weights = np.full(CHUNK, 3), np.ones(CHUNK, np.int64)
    check = call("check", [Ref("input", 0)], (10,), parallel=False, is_check=True)
    update = call("scale", [Ref("input", 1), Ref("output", 0)], (2,), parallel=False)
    made = program([check, update], 2, 1)
    image = image_of(tiny(made) if brief else made)
    assert image.brief is brief
    prepared = executable(made, [[kernels["check"]], [kernels["scale"]]]).prepared()
    run = prepared.call([0, 1, 2])
    assert run(*addresses(labels, weights, weights)) == 0 and (weights == 2).all()
    labels[5] = 10
    assert run(*addresses(labels, weights, weights)) == 1 and (weights == 2).all()
    with pytest.raises(CheckFailed) as caught:
        prepared.fail()
    assert (caught.value.position, caught.value.value) == (5, 10)


def test_other_threads_run_beside_a_prepared_program_that_is_not_brief(kernels):
    made = program([call("await", [Ref("input", 0), Ref("output", 0)], parallel=False)], 1, 1)
    run = executable(made, [[kernels["await"]]]).prepared().call([0, 1])
    x, y = np.zeros(1, np.int64), np.zeros(1, np.int64)

    def later():
        time.sleep(0.05)
        x[0] = 9

    other = Thread(target=later)
    other.start()
    assert run(*addresses(x, y)) == 0 and y[0] == 9
    other.join()


def test_a_prepared_call_keeps_all_that_it_needs(kernels):
    x, y = np.arange(CHUNK), np.zeros(CHUNK, np.int64)
    run = scale(kernels, 1, parallel=False).prepared().call([0, 1])
    gc.collect()
    taken = [bytearray(n) for n in range(16, 512, 8)]  # where freed memory was
    assert run(*addresses(x, y)) == 0 and taken
    np.testing.assert_array_equal(y, 3 * x)
