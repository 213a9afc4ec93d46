"""Generated CUDA C through a compiler: kernels of the tests, and of workloads of real sizes, spill
on no generation of GPUs."""

from __future__ import annotations

import pytest
import weft as wf
from cuda_subjects import DIFFERENTIABLE, SEEDS, TABLE
from cuda_texts import TextDriver, collecting, compile_graph, compile_workloads
from effort import rarely
from fuzz import random_case, seeded
from harness import leaf
from optable import leaves
from weft import errors, options
from weft.codegen.cuda.toolchain import build
from weft.codegen.cuda.toolchain.build import Usage
from weft.ir.gradient.gradient import vjp

ARCHITECTURES = ("sm_75", "sm_80", "sm_90a")
GROUP = 40  # kernels that are compiled as one text
MOST_SPILLED = 512  # bytes that kernels of many sizes load again
SAMPLE = 24  # of the rows, one is compiled in every run of the tests


def _compiler_is_there() -> bool:
    try:
        build.compiler()
    except errors.DeviceError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _compiler_is_there(), reason="no CUDA compiler")


def _usages(driver: TextDriver) -> dict[str, Usage]:
    texts = [text.replace('#include "weft.cuh"', "") for text in driver.texts]
    groups = [texts[i : i + GROUP] for i in range(0, len(texts), GROUP)]
    found: dict[str, Usage] = {}
    for group in groups:
        found |= build.compile_text('#include "weft.cuh"\n' + "\n".join(group), driver.arch).report
    return found


def _spilling(driver: TextDriver) -> dict[str, Usage]:
    return {name: u for name, u in _usages(driver).items() if u.spill_stores or u.spill_loads}


def _compile_rows(driver: TextDriver, step: int) -> None:
    for row in TABLE[::step]:
        compile_graph([row.build(*leaves(row))], driver)
    for row in DIFFERENTIABLE[::step]:
        arguments = leaves(row)
        output = row.build(*arguments)
        seed = leaf(*output.shape, dtype=output.dtype)
        found = vjp([output], [seed], [a for a in arguments if a.dtype.is_float])
        compile_graph([d for d in found if d is not None], driver)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", *rarely("sm_75", "sm_90a")])
def test_some_kernels_of_the_tests_compile_without_spills(arch: str) -> None:
    with collecting(arch) as driver:
        _compile_rows(driver, SAMPLE)
        assert len(driver.texts) > 25 and _spilling(driver) == {}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_kernel_of_the_tests_compiles_without_spills(arch: str) -> None:
    with collecting(arch) as driver:
        _compile_rows(driver, 1)
        for seed in SEEDS:
            case = random_case(seeded(seed), seed % 5 == 0)
            compile_graph(case.outputs, driver, case.env)
        assert len(driver.texts) > 500 and _spilling(driver) == {}


@pytest.mark.slow
@pytest.mark.parametrize("matmul", ["float32", "tf32"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_workloads_of_real_sizes_compile_without_spills(arch: str, matmul: str) -> None:
    with options.override(matmul=matmul, dynamic_shapes=False), collecting(arch) as driver:
        compile_workloads()
        assert len(driver.texts) > 100 and _spilling(driver) == {}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_kernels_of_many_sizes_spill_little(arch: str) -> None:
    """Their indices have 64 bits."""
    with collecting(arch) as driver:
        compile_workloads()
        assert max(u.spill_loads for u in _usages(driver).values()) <= MOST_SPILLED


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", *rarely("sm_75", "sm_90a")])
def test_memory_bound_kernels_move_16_bytes_at_a_time(arch: str) -> None:
    with collecting(arch) as driver:
        x, y = (wf.empty(1 << 20, device="cuda").realize() for _ in range(2))
        rows = wf.empty(512, 4096, device="cuda").realize()
        wf.realize(x * 2 + y.tanh())
        wf.realize(rows.softmax(axis=1))
        texts = list(driver.texts)[-2:]  # behind those that fill memory
    for text in texts:
        code = build.ptx(text, arch)
        assert "ld.global.v4" in code and "st.global.v4" in code
