"""How much memory a program needs: the report before it runs, what is really used, and what stays behind."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import weft as wf
from weft.frontend import realize
from weft.ir.memory import Memory, MemoryBuffer

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
    x, w = rand(64, 128), rand(128, 128)
    report = wf.explain((x @ w).softmax(axis=0))
    product, softmax = (k.name for k in report.kernels)
    first, second, c, y = report.memory.buffers
    assert {first.name, second.name} == {"input 0", "input 1"} and {first.bytes, second.bytes} == {64 * 128 * 4, 128 * 128 * 4}
    assert (c.name, c.dtype, c.shape, c.bytes, c.first, c.last) == (f"{product}/reduce", "float32", (64, 128), 64 * 128 * 4, 0, 1)
    assert (y.name, y.space, y.number, y.first, y.last) == (f"{softmax}/div", "output", 0, 1, 1)
    assert y.line is not None and y.line[0] == __file__


def test_the_peak_is_inputs_outputs_and_what_the_worst_step_needs_of_the_arena() -> None:
    x, w = rand(64, 128), rand(128, 100)
    y = ((x @ w).relu() @ rand(100, 512)).softmax(axis=0).sum(axis=1)
    memory = wf.explain(y).memory
    inputs = 4 * (64 * 128 + 128 * 100 + 100 * 512)
    assert memory.peak_bytes == inputs + 4 * 64 + max(needed(memory, t) for t in range(memory.steps))
    assert needed(memory, memory.peak_step) <= memory.arena_bytes
    assert {b.name for b in memory.at_peak} >= {b.name for b in memory.buffers if b.space == "arena" and b.bytes > 90_000}


def needed(memory: Memory, step: int) -> int:
    """Bytes of the arena: what is written over something counts once."""
    alive = [b for b in memory.alive(step) if b.space == "arena"]
    return sum({b.offset: b.bytes for b in alive}.values())


@pytest.mark.parametrize("build", [residual, mlp_step], ids=["residual", "mlp_step"])
def test_buffers_of_the_arena_that_are_needed_at_once_lie_apart(build) -> None:  # type: ignore[no-untyped-def]
    memory = wf.explain(build()).memory
    assert memory.arena_bytes > 0
    for step in range(memory.steps):
        alive = [b for b in memory.alive(step) if b.space == "arena"]
        replaced = {b.in_place_of for b in alive if b.first == step}
        spans = sorted((b.offset, b.offset + b.bytes) for b in alive if b.name not in replaced)
        assert all(a[1] <= b[0] for a, b in pairwise(spans)) and all(end <= memory.arena_bytes for _, end in spans)


def test_names_are_distinct_and_what_is_in_place_names_what_it_overwrites() -> None:
    by_name = {b.name: b for b in wf.explain(residual()).memory.buffers}
    in_place = [b for b in by_name.values() if b.in_place_of]
    assert len(by_name) == len(wf.explain(residual()).memory.buffers) and in_place
    for b in in_place:
        old = by_name[b.in_place_of or ""]
        assert (old.space, old.number, old.offset, old.bytes) == (b.space, b.number, b.offset, b.bytes) and old.last == b.first


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


def test_the_text_of_a_report_ends_with_the_memory(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Golden text, names of kernels apart."""
    x, w = rand(64, 128), rand(128, 128)
    y = (x @ w).softmax(axis=0)
    text = str(wf.explain(y))
    product, softmax = (k.name for k in wf.explain(y).kernels)
    assert text[text.index("memory:") :] == TEXT.replace("PRODUCT", product).replace("SOFTMAX", softmax)
    everything = (wf.dump(y, tmp_path) / "memory.txt").read_text()
    assert everything.startswith(TEXT.replace("PRODUCT", product)[:60]) and everything.count("float32") > 4


TEXT = """\
memory: 164 kB at the peak, 32.8 kB of it at most in the arena; needed in step 0 of 2, PRODUCT:
    65.5 kB  input 0  float32[128, 128]  input 0, steps 0-0
    32.8 kB  input 1  float32[64, 128]  input 1, steps 0-0
    32.8 kB  PRODUCT/reduce  float32[64, 128]  arena + 0, steps 0-1"""


def program_of(y: wf.Tensor) -> realize.Program:
    before = set(realize._programs)
    y.realize()
    (key,) = set(realize._programs) - before
    return realize._programs[key]


def test_an_executable_reports_the_memory_of_its_program_fresh_or_from_disk(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with wf.options.override(cache_dir=tmp_path):
        expected = wf.explain(residual(5)).memory
        fresh = program_of(residual(5))
        assert fresh.executable.memory() == expected and expected.arena_bytes == fresh.executable.arena_bytes
        realize._programs.clear()
        loaded = program_of(residual(5))
        assert loaded.executable is not fresh.executable and loaded.executable.memory() == expected


def test_memory_is_reported_before_anything_runs() -> None:
    y = residual()
    buffers: tuple[MemoryBuffer, ...] = wf.explain(y).memory.buffers
    assert buffers and "lazy" in repr(y)
