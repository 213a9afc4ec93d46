"""How much memory a program needs: the report before it runs, what is really used, and what stays
behind."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import system
from weft.frontend.lazy import program_table
from weft.ir.program.memory_report import Memory, MemoryBuffer
from weft.runtime.buffer import CHECKED, Allocator, memory, size_class

F = wf.nn.functional


def rand(*shape: int) -> wf.Tensor:
    return wf.rand(*shape).realize()


def residual(steps: int = 4) -> wf.Tensor:
    x, w = rand(64, 128), rand(128, 128)
    for _ in range(steps):
        x = x + (x @ w).softmax(axis=0).exp()
    return x


def mlp_step(width: int = 64, layers: int = 6) -> list[wf.Tensor]:
    """The loss and updated weights, not computed."""
    weights = [rand(width, width).requires_grad_() for _ in range(layers)]
    h = rand(128, width)
    for w in weights:
        h = F.linear(h, w).relu()
    loss = (h * h).mean()
    return [loss, *(w - 0.1 * g for w, g in zip(weights, wf.grad(loss, weights), strict=True))]


# ---------------------------------------------------------------- the report


def test_a_report_names_every_buffer_of_a_program() -> None:
    x, w = rand(61, 128), rand(128, 128)
    report = wf.explain((x @ w).softmax(axis=0))
    product, softmax = (k.name for k in report.kernels)
    first, second, c, y = report.memory.buffers
    assert {first.name, second.name} == {"input 0", "input 1"} and {first.bytes, second.bytes} == {
        61 * 128 * 4,
        128 * 128 * 4,
    }
    assert (c.name, c.dtype, c.shape, c.bytes, c.first, c.last) == (
        f"{product}/reduce",
        "float32",
        (61, 128),
        61 * 128 * 4,
        0,
        1,
    )
    assert (y.name, y.space, y.number, y.first, y.last) == (f"{softmax}/div", "output", 0, 1, 1)
    assert y.line is not None and y.line[0] == __file__


def test_the_peak_is_inputs_outputs_and_what_the_worst_step_needs_of_the_arena() -> None:
    x, w = rand(64, 128), rand(128, 100)
    y = ((x @ w).relu() @ rand(100, 512)).softmax(axis=0).sum(axis=1)
    memory = wf.explain(y).memory
    inputs = 4 * (64 * 128 + 128 * 100 + 100 * 512)
    assert memory.peak_bytes == inputs + 4 * 64 + max(
        needed(memory, t) for t in range(memory.steps)
    )
    assert needed(memory, memory.peak_step) <= memory.arena_bytes
    assert {b.name for b in memory.at_peak} >= {
        b.name for b in memory.buffers if b.space == "arena" and b.bytes > 90_000
    }


def needed(memory: Memory, step: int) -> int:
    """Bytes of the arena: what is written over something counts once."""
    alive = [b for b in memory.alive(step) if b.space == "arena"]
    return sum({b.offset: b.bytes for b in alive}.values())


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("build", [residual, mlp_step], ids=["residual", "mlp_step"])
def test_buffers_of_the_arena_that_are_needed_at_once_lie_apart(build) -> None:  # type: ignore[no-untyped-def]
    memory = wf.explain(build()).memory
    assert memory.arena_bytes > 0
    for step in range(memory.steps):
        alive = [b for b in memory.alive(step) if b.space == "arena"]
        replaced = {b.in_place_of for b in alive if b.first == step}
        spans = sorted((b.offset, b.offset + b.bytes) for b in alive if b.name not in replaced)
        assert all(a[1] <= b[0] for a, b in pairwise(spans)) and all(
            end <= memory.arena_bytes for _, end in spans
        )


def test_names_are_distinct_and_what_is_in_place_names_what_it_overwrites() -> None:
    by_name = {b.name: b for b in wf.explain(residual()).memory.buffers}
    in_place = [b for b in by_name.values() if b.in_place_of]
    assert len(by_name) == len(wf.explain(residual()).memory.buffers) and in_place
    for b in in_place:
        old = by_name[b.in_place_of or ""]
        assert (old.space, old.number, old.offset, old.bytes) == (
            b.space,
            b.number,
            b.offset,
            b.bytes,
        ) and old.last == b.first


def test_a_donated_output_takes_no_memory_of_its_own() -> None:
    p = wf.nn.Parameter(rand(100, 50))
    p.assign(p.detach() * 0.5 + 1.0)
    memory = wf.explain(p).memory
    (out,) = [b for b in memory.buffers if b.space == "donated"]
    assert (out.in_place_of, out.bytes, memory.peak_bytes) == ("input 0", 20_000, 20_000)
    assert np.allclose(p.numpy().shape, (100, 50))


def test_repeated_elements_of_an_input_count_once() -> None:
    x = rand(1000)
    y = x.expand(50, 1000) * rand(50, 1000)
    assert {b.bytes for b in wf.explain(y).memory.buffers if b.space == "input"} == {4000, 200_000}


def test_nothing_to_compute_needs_no_memory() -> None:
    memory = wf.explain(rand(3)).memory
    assert (memory.peak_bytes, memory.arena_bytes, memory.buffers, memory.at_peak) == (0, 0, (), [])


@pytest.mark.slow
def test_the_text_of_a_report_ends_with_the_memory(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Golden text, names of kernels apart."""
    x, w = rand(64, 128), rand(128, 128)
    y = (x @ w).softmax(axis=0)
    text = str(wf.explain(y))
    product, softmax = (k.name for k in wf.explain(y).kernels)
    assert text[text.index("memory:") :] == TEXT.replace("PRODUCT", product).replace(
        "SOFTMAX", softmax
    )
    everything = (wf.dump(y, tmp_path) / "memory.txt").read_text()
    assert TEXT.replace("PRODUCT", product)[:60] in everything and everything.count("float32") > 4


TEXT = """\
memory: 164 kB at the peak, 32.8 kB of it at most in the arena; needed in step 0 of 2, PRODUCT:
    65.5 kB  input 0  float32[128, 128]  input 0, steps 0-0
    32.8 kB  input 1  float32[64, 128]  input 1, steps 0-0
    32.8 kB  PRODUCT/reduce  float32[64, 128]  arena + 0, steps 0-1"""


def test_an_executable_reports_the_memory_of_its_program_fresh_or_from_disk(tmp_path) -> None:  # type: ignore[no-untyped-def]
    x, w = rand(64, 128), rand(128, 128)
    made, reports = [], []
    with wf.options.override(cache_dir=tmp_path):
        for _ in range(2):
            f = wf.jit(lambda x, w: (x @ w).cumsum(axis=0) @ w)
            f(x, w)
            made.append(f.last.program.executable)
            reports += [wf.explain(f).memory, made[-1].memory()]
            program_table._programs.clear()
    assert (
        made[0] is not made[1]
        and reports[0].arena_bytes == made[0].arena_bytes == made[1].arena_bytes > 0
    )
    texts = [
        [str(r), *map(str, r.buffers)] for r in reports
    ]  # lines apart: an equal Node that is alive keeps its own
    assert all(text == texts[0] for text in texts)


def test_memory_is_reported_before_anything_runs() -> None:
    y = residual()
    buffers: tuple[MemoryBuffer, ...] = wf.explain(y).memory.buffers
    assert buffers and "lazy" in repr(y)


# ---------------------------------------------------------------- arenas of many programs


def test_all_programs_share_one_arena() -> None:
    memory.trim()
    sizes = []
    for rows in (40, 300, 100):
        x = rand(rows, 64)
        y = (x @ rand(64, 128)).cumsum(axis=0) @ rand(128, 64)
        sizes.append(wf.explain(y).memory.arena_bytes)
        y.realize()
        del x, y
        assert sizes[-1] > 0 and [b[0] for b in memory._arenas] == [size_class(max(sizes))]
    memory.trim()
    assert memory._arenas == [] and memory.cached_bytes == 0


def test_arenas_that_are_in_use_at_once_are_apart_and_one_is_kept() -> None:
    allocator = Allocator(limit=1 << 20)
    blocks = [allocator.take_arena(n) for n in (1000, 5000, 3000)]
    assert len({b[1] for b in blocks}) == 3
    for b in blocks:
        allocator.give_arena(b)
    assert len(allocator._arenas) == 1 and allocator.allocated_bytes == 0
    assert allocator.cached_bytes == sum(b[0] for b in blocks)


def test_a_larger_arena_takes_the_place_of_the_smaller_one() -> None:
    allocator = Allocator(limit=1 << 20)
    allocator.give_arena(allocator.take_arena(1000))
    large = allocator.take_arena(9000)
    allocator.give_arena(large)
    assert allocator.cached_bytes == large[0] and allocator.take_arena(10) is large


def test_an_arena_beyond_the_limit_is_not_kept() -> None:
    allocator = Allocator(limit=4096)
    allocator.give_arena(allocator.take_arena(100_000))
    assert allocator.cached_bytes == 0 and allocator._mapped == 0


def test_free_memory_is_handed_back_where_the_system_is_short_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allocator = Allocator(limit=1 << 40)
    left = [1 << 50]
    monkeypatch.setattr(system, "left", lambda: left[0])
    block = 1 << 23
    for short in (False, True):
        left[0] = 0 if short else 1 << 50
        allocator.give(allocator.take(1 << 20))
        for _ in range(CHECKED // block):  # the system is asked once in so many bytes
            assert allocator.cached_bytes == 1 << 20
            held = allocator.take(block)
            allocator._count(-held[0])
        assert allocator.cached_bytes == (0 if short else 1 << 20)


# ---------------------------------------------------------------- what stays behind


LOOP = """
import gc, resource, sys
import numpy as np
import weft as wf
F = wf.nn.functional
wf.manual_seed(0)
model = wf.nn.Sequential(wf.nn.Linear(64, 200), wf.nn.ReLU(), wf.nn.Linear(200, 10))
optimizer = wf.nn.optim.Adam(model.parameters(), lr=1e-3)
batches = [(wf.randn(128, 64).realize(), wf.tensor(np.arange(128) % 10)) for _ in range(4)]
def step(x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
kind, steps = sys.argv[1], int(sys.argv[2])
run = wf.jit(step) if kind != "lazy" else step
wrong = wf.tensor(np.arange(128) % 11)
def once(i):
    x, y = batches[i % 4]
    if kind == "failing" and i % 2:
        try:
            run(x, wrong)
            raise SystemExit("a wrong label was accepted")
        except IndexError:
            return
    run(x, y)
for i in range(60):
    once(i)
before, held = resident(), wf.runtime.buffer.memory.allocated_bytes
for i in range(steps):
    once(i)
print(resident() - before, wf.runtime.buffer.memory.allocated_bytes - held)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
@pytest.mark.parametrize("kind", ["failing", *rarely("jitted", "lazy")])
@pytest.mark.parametrize("steps", ["400", *rarely("1000")])
def test_a_training_loop_that_reads_nothing_keeps_its_memory(kind: str, steps: str) -> None:
    """Steps without reading the loss; half of the steps of `failing` raise, for a label that
    is out of range."""
    code = "import weft.runtime.buffer\n" + LOOP
    done = subprocess.run(
        [sys.executable, "-c", code, kind, steps],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    resident, allocated = map(int, done.stdout.split())
    assert resident < 3 << 20 and allocated == 0
