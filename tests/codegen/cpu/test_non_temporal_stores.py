"""Outputs that no cache holds are written past the caches: which ones, by which stores, and that
they arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import weft as wf
from loopkit import Index, Store, Var, argument, kernel, lanes, load, serial, var
from weft import options
from weft.codegen.llvm.emit import emit
from weft.codegen.llvm.target import host, named
from weft.compiler.programs import on_disk
from weft.compiler.symbolic.generic import Generic
from weft.frontend.lazy import program_table
from weft.inspection.explain.explain import compiled_behind

LARGE = host().l3 // 4 + 4096  # elements of float32


def streamed(*outputs: wf.Tensor) -> list[int]:
    """How many outputs of each kernel go past the caches."""
    found = compiled_behind("explain", list(outputs), (), {})
    assert found is not None
    return [len(k.step.loops.streamed) for k in found.in_order()]


def test_only_what_exceeds_the_last_cache_passes_it() -> None:
    x, small = wf.tensor(np.ones(LARGE, np.float32)), wf.tensor(np.ones(LARGE // 2, np.float32))
    assert streamed(x + 1) == [1]
    assert streamed(small + 1) == [0]


def test_what_a_kernel_of_many_values_writes_passes_a_cache_that_cannot_hold_them_all() -> None:
    x, y, z = (wf.tensor(np.ones(LARGE // 2, np.float32)) for _ in range(3))
    assert streamed(x * y + z) == [1]


def test_what_another_kernel_reads_does_not_pass_the_caches() -> None:
    x = wf.tensor(np.ones((LARGE // 64, 64), np.float32))
    y = x.exp()
    counts = streamed(y, (y @ wf.tensor(np.ones((64, 64), np.float32))).relu())
    assert sum(counts) == 0 and len(counts) > 1


def test_programs_of_many_sizes_pass_the_caches_where_those_of_one_do() -> None:
    laid_out, past = Generic.laid_out, list[list[int]]()

    def keep(program: Generic, values: Any) -> Any:
        made = laid_out(program, values)
        past.append([len(k.step.loops.streamed) for k in made.in_order()])
        return made

    with (
        mock.patch.object(program_table, "_programs", program_table.Programs()),
        mock.patch.object(on_disk, "load_program", lambda key, structure: None),
        mock.patch.object(Generic, "laid_out", keep),
    ):
        for size in (3000, 2000, LARGE, 2500, LARGE + 7):
            (wf.tensor(np.ones(size, np.float32)) * 2 - 0.25).realize()
    assert past == [[0], [1], [0], [1]]


def test_what_replaces_an_input_does_not_pass_the_caches() -> None:
    x = wf.tensor(np.ones(LARGE, np.float32))
    x.assign(x + 1)
    assert streamed(x) == [0]


@pytest.mark.parametrize(
    ("coefficient", "first", "whole"),
    [(160, 0, True), (160, 32, True), (100, 0, False), (160, 1, False)],
)
def test_only_whole_aligned_vectors_pass_the_caches(
    coefficient: int, first: int, whole: bool
) -> None:
    x, y, r, i = argument("x"), argument("y"), Var("r", 7), Var("i", 96)
    at = Index({r: coefficient, i: 1}, first)
    loops = kernel([x, y], serial(r, lanes(i, Store(y, at, load(x, at)), unroll=2)))
    text = emit(replace(loops, streamed=(y,)), named("avx512"))
    assert ("!nontemporal" in text) == ("fence" in text) == whole
    assert "!nontemporal" not in emit(loops, named("avx512"))


def test_tails_do_not_pass_the_caches() -> None:
    x, y, i = argument("x"), argument("y"), Var("i", 100)
    text = emit(
        replace(kernel([x, y], lanes(i, Store(y, var(i), load(x, i)))), streamed=(y,)),
        named("avx512"),
    )
    assert text.count("!nontemporal") == 1 and "masked.store" in text


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [4096, 4099])
def test_what_passes_the_caches_arrives(columns: int) -> None:
    x = np.random.default_rng(0).standard_normal((LARGE // columns + 3, columns), dtype=np.float32)
    t, expected = wf.tensor(x), x * 2 + x[:1]
    for threads in (1, 3):
        with options.override(num_threads=threads):
            y = t * 2 + t[:1]
            assert (y.numpy() == expected).all()
            assert np.abs(t.softmax(axis=-1).sum(axis=-1).numpy() - 1).max() < 1e-5
