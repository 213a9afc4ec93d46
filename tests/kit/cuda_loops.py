"""Hand-built Loops as CUDA kernels on the emulator. In: Loops, arrays, params. Out: arrays, as the
interpreter leaves them."""

import struct
from dataclasses import replace

import numpy as np
from cuda_emulator.launching import down, up
from harness import inputs_of
from loopkit import _assert_same, interpreted
from weft.codegen.cuda.emit.emit import emit, phase_name, shared_bytes
from weft.codegen.cuda.target import CudaTarget
from weft.codegen.math.expand import expand_loops
from weft.ir.loops.verify import verify

TARGET = CudaTarget("sm_80")


def prepared(loops, threads=64):
    """Verified loops as the emitter takes them, in blocks of so many threads where they do not say
    how many."""
    loops = replace(loops, threads=loops.threads or (threads,) * len(loops.phases))
    verify(loops)
    return expand_loops(loops, has_float16=True)


def emitted(loops):
    return emit(loops, TARGET)


def launched(driver, loops, arrays, params=(), in_place=(), shift=0):
    """Copies of the arrays after all phases ran, and the status.

    `in_place`: pairs of arguments with one memory. `shift`: elements before the first one, so that
    vectors are not aligned.
    """
    module = driver.load(driver.build(emitted(loops)).image)
    arrays = [*arrays, np.array([-1, 0])]
    held = [up(driver, np.concatenate([a[:1].repeat(shift), a])) for a in arrays]
    at = {i: address + shift * arrays[i].itemsize for i, address in enumerate(held)}
    at |= {o: at[i] for o, i in in_place}
    words = [at[i] for i in range(len(arrays) - 1)] + [*params, at[len(arrays) - 1]]
    try:
        for i, phase in enumerate(loops.phases):
            shared = shared_bytes(loops, i)
            grid = (
                phase.extent
                if isinstance(phase.extent, int)
                else params[loops.params.index(phase.extent)]
            )
            function = module.function(phase_name(loops, i), shared)
            driver.launch(
                function, grid, loops.threads[i], struct.pack(f"{len(words)}q", *words), shared
            )
        found = [down(driver, at[i], a) for i, a in enumerate(arrays)]
    finally:
        for address in held:
            driver.free(address)
    return found[:-1], list(found[-1])


def check(driver, loops, arrays, params=(), rtol=0.0, shift=0):
    """The emulated device turns the arrays into what the interpreter does, and reports the same
    failure of a Check."""
    wanted, failures = interpreted(loops, arrays, params)
    found, status = launched(driver, loops, arrays, params, shift=shift)
    for got, want in zip(found, wanted, strict=True):
        _assert_same(got, want, rtol)
    if failures:
        site, position, value = failures[0]
        assert status == [site << 40 | position, value]
    else:
        assert status[0] == -1


def on_device(device, program, outputs, env):
    """The results of a program, kernel by kernel."""
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    arena = np.zeros(program.program.arena_bytes, np.uint8)
    spaces = {
        "input": [env[n].reshape(-1) for n in inputs_of(outputs)],
        "output": [r.reshape(-1) for r in results],
    }
    for call in program.program.calls:
        buffers = [
            arena[r.number :][: b.size * b.dtype.itemsize].view(b.dtype.numpy)
            if r.space == "arena"
            else spaces[r.space][r.number]
            for r, b in zip(call.refs, call.loops.buffers, strict=True)
        ]
        found, _ = launched(device, call.loops, buffers, call.params)
        for buf, after in zip(buffers, found, strict=True):
            buf[...] = after
    return results
