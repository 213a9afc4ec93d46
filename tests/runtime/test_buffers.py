"""The caching allocator and the Buffers on it."""

import gc
import mmap
import threading
import time

import numpy as np
import pytest
from weft import options
from weft.errors import DeviceError, OptionError, WeftError
from weft.runtime.buffer import ALIGNMENT, LARGE_PAGE, Allocator, Buffer, memory, size_class
from weft.runtime.memory import devices


def test_size_classes_waste_at_most_an_eighth():
    for n in [*range(1, 5000), *(2**k + d for k in range(12, 40) for d in (-1, 0, 1, 12345))]:
        size = size_class(n)
        assert n <= size <= max(n * 1.125, n + ALIGNMENT)
        assert size % ALIGNMENT == 0 and size_class(size) == size
    assert size_class(0) == ALIGNMENT


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 4096, 1 << 20, 5_000_001])
def test_buffers_are_aligned_and_writable(nbytes):
    buffer = Buffer.allocate(nbytes)
    assert buffer.address % ALIGNMENT == 0 and buffer.nbytes == nbytes
    array = buffer.as_numpy(np.uint8, (nbytes,), (1,), writeable=True)
    array[...] = 7
    assert (array == 7).all()


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages")
@pytest.mark.parametrize("nbytes", [LARGE_PAGE, LARGE_PAGE + 1, 5_000_001])
def test_large_buffers_begin_at_a_large_page(nbytes):
    address = Buffer.allocate(nbytes).address
    assert address % LARGE_PAGE == 0
    assert Buffer.allocate(LARGE_PAGE // 2).address % ALIGNMENT == 0


def test_freed_memory_is_reused_last_freed_first():
    first, second = Buffer.allocate(100_000), Buffer.allocate(100_000)
    addresses = first.address, second.address
    del first
    del second
    again = [Buffer.allocate(99_000) for _ in range(2)]
    assert [b.address for b in again] == [addresses[1], addresses[0]]


def test_statistics_follow_allocation():
    allocator = Allocator(limit=1 << 20)
    blocks = [allocator.take(1000) for _ in range(3)]
    assert (allocator.allocated_bytes, allocator.cached_bytes) == (3 * 1024, 0)
    allocator.give(blocks.pop())
    assert (allocator.allocated_bytes, allocator.cached_bytes) == (2 * 1024, 1024)
    allocator.take(1000)
    assert (allocator.allocated_bytes, allocator.cached_bytes) == (3 * 1024, 0)


def test_cache_is_bounded_and_keeps_what_was_freed_last():
    allocator = Allocator(limit=10_000)
    blocks = [allocator.take(1024) for _ in range(30)]
    for block in blocks:
        allocator.give(block)
        assert allocator.cached_bytes <= 10_000
    assert allocator.take(1024) is blocks[-1]


def test_sizes_no_longer_used_die_out():
    allocator = Allocator(limit=100_000)
    for block in [allocator.take(4096) for _ in range(20)]:
        allocator.give(block)
    for _ in range(10):
        for block in [allocator.take(8192) for _ in range(13)]:
            allocator.give(block)
    assert not allocator._free[4096] and allocator._free[8192]


def test_trim_hands_everything_back():
    allocator = Allocator(limit=1 << 20)
    for block in [allocator.take(n) for n in (70_000, 5000, 100)]:
        allocator.give(block)
    allocator.trim(keep=6000)
    assert allocator.cached_bytes <= 6000
    allocator.trim()
    assert allocator.cached_bytes == 0 and allocator.allocated_bytes == 0


def test_memory_error_trims_and_leaves_the_statistics_right():
    allocator = Allocator()
    allocator.give(allocator.take(1 << 20))
    with pytest.raises(MemoryError):
        allocator.take(1 << 60)
    assert allocator.cached_bytes == 0 and allocator.allocated_bytes == 0


def test_threads_never_get_the_same_memory():
    clashes = []

    def work(number):
        for i in range(300):
            buffer = Buffer.allocate(64 + 8 * (i % 5))
            array = buffer.as_numpy(np.int64, (8,), (1,), writeable=True)
            array[...] = number
            time.sleep(0)
            if (array != number).any():
                clashes.append(number)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not clashes


def test_buffer_freed_while_the_allocator_is_locked():
    """As by garbage collection in the middle of a call: it must not wait for the lock that its own
    thread holds."""
    buffer = Buffer.allocate(3_000_000)
    before = memory.allocated_bytes
    with memory._lock:
        del buffer
    assert memory.allocated_bytes == before - size_class(3_000_000)


@pytest.mark.usefixtures("young_objects")
def test_as_numpy_keeps_the_buffer_alive():
    buffer = Buffer.allocate(80)
    assert not buffer.exported
    array = buffer.as_numpy(np.float64, (10,), (1,), writeable=True)
    array[...] = np.arange(10)
    address = buffer.address
    assert buffer.exported
    view = array[2:]
    del buffer, array
    gc.collect()
    other = Buffer.allocate(80)
    assert other.address != address
    np.testing.assert_array_equal(view, np.arange(2, 10))


def test_as_numpy_strides_and_offset_count_elements():
    buffer = Buffer.allocate(6 * 4)
    buffer.as_numpy(np.int32, (6,), (1,), writeable=True)[...] = range(6)
    np.testing.assert_array_equal(
        buffer.as_numpy(np.int32, (3, 2), (1, 3)), np.arange(6, dtype=np.int32).reshape(2, 3).T
    )
    np.testing.assert_array_equal(buffer.as_numpy(np.int32, (3,), (-2,), offset=5), [5, 3, 1])
    np.testing.assert_array_equal(buffer.as_numpy(np.int32, (4,), (0,), offset=2), [2] * 4)
    assert buffer.as_numpy(np.int32, (), (), offset=4) == 4
    assert buffer.as_numpy(np.bool_, (0, 3), (3, 1)).shape == (0, 3)


def test_as_numpy_is_read_only_unless_asked():
    array = Buffer.allocate(8).as_numpy(np.float32, (2,), (1,))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_from_numpy_aliases():
    array = np.arange(4.0)
    buffer = Buffer.from_numpy(array)
    assert buffer.foreign and buffer.address == array.ctypes.data and buffer.nbytes == 32
    assert not Buffer.allocate(1).foreign
    array[1] = 10
    view = buffer.as_numpy(np.float64, (4,), (1,))
    del array, buffer
    np.testing.assert_array_equal(view, [0, 10, 2, 3])


def test_repr_tells_what_may_not_be_donated():
    buffer = Buffer.allocate(16)
    buffer.as_numpy(np.uint8, (1,), (1,))
    assert repr(buffer) == f"Buffer(16 bytes at {buffer.address:#x}, exported)"


def test_devices():
    assert devices.get("cpu") is devices.CPU and devices.available()[0] == "cpu"
    with pytest.raises(DeviceError, match="device 'cuda"):
        devices.get("cuda:99")
    with pytest.raises(DeviceError, match="unknown device 'tpu': there is cpu"):
        devices.get("tpu")


def test_errors_are_the_builtins_too():
    from weft import errors

    for name, builtin in {
        "ShapeError": ValueError,
        "DTypeError": TypeError,
        "IndexError": IndexError,
        "DeviceError": RuntimeError,
        "GradientError": RuntimeError,
        "StaleError": RuntimeError,
        "OptionError": ValueError,
        "CompileError": RuntimeError,
    }.items():
        assert issubclass(getattr(errors, name), (WeftError,)) and issubclass(
            getattr(errors, name), builtin
        )


@pytest.fixture
def environment(monkeypatch):
    """Options as a new process would read them."""
    monkeypatch.setattr(options._Holder, "options", None)
    return monkeypatch.setenv


def test_options_come_from_the_environment(environment):
    for name, value in {
        "NUM_THREADS": "3",
        "DEBUG": "yes",
        "CACHE_DIR": "none",
        "DUMP": "/x/y",
        "SERIAL_THRESHOLD": "0",
    }.items():
        environment(f"WEFT_{name}", value)
    now = options.current()
    assert (now.num_threads, now.debug, now.cache_dir, str(now.dump), now.serial_threshold) == (
        3,
        True,
        None,
        "/x/y",
        0,
    )
    environment("WEFT_NUM_THREADS", "2")
    assert options.current().num_threads == 3  # read once


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("NUM_THREADS", "0", "an integer from 1 to 256"),
        ("NUM_THREADS", "\u0663", "an integer from 1 to 256"),
        ("NUM_THREADS", "many", "an integer from 1 to 256"),
        ("MIN_CHUNKS", "-1", "an integer, 1 or more"),
        ("VERIFY", "maybe", "one of 1, true, yes, on, 0, false, no, off"),
        ("TARGET", "a b", "one of host, avx512"),
    ],
)
def test_bad_option_names_variable_value_and_what_is_allowed(environment, name, value, allowed):
    environment(f"WEFT_{name}", value)
    with pytest.raises(OptionError, match=f"WEFT_{name}='{value}': allowed is {allowed}"):
        options.current()


def test_override_is_undone():
    before = options.current()
    with options.override(num_threads=2, min_chunks=3) as inside:
        assert inside is options.current() and (inside.num_threads, inside.min_chunks) == (2, 3)
    assert options.current() is before
    with pytest.raises(OptionError, match="unknown option 'thread'"):
        options.update(thread=1)
    with pytest.raises(OptionError, match="num_threads=0"):
        options.update(num_threads=0)
