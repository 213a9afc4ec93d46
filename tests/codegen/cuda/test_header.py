"""codegen/cuda/weft.cuh for a GPU: compilers of CUDA C take every helper, without spills, and
vectors are whole accesses."""

from __future__ import annotations

import re

import cuda_helpers
import numpy as np
import pytest
from cuda_emulator import build, samples
from cuda_emulator.driver import EmulatorDriver
from cuda_emulator.launching import run
from effort import rarely
from weft.codegen.cuda.target import OWN_SHARED
from weft.codegen.cuda.toolchain import nvcc, nvrtc
from weft.codegen.cuda.toolchain.build import compile_text, ptx
from weft.ir.graph import dtype as dt

ARCHES = ("sm_80", *rarely("sm_75", "sm_90a"))
compiled = pytest.mark.skipif(
    nvrtc.find() is None and nvcc.find() is None, reason="no CUDA compiler"
)
emulated = pytest.mark.skipif(build.compiler() is None, reason="no g++ for the CUDA emulator")


def vectors(dtype: dt.DType) -> str:
    """A kernel that reads and writes 16 bytes a thread, in both ways."""
    c, n = samples.C_TYPES[dtype.name], 16 // dtype.itemsize
    return f"""
#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(64) vectors_{dtype.name}_p0(
    const {c}* a, const {c}* b, {c}* x, {c}* y, weft_status* status) {{
    long long i = {n} * (blockIdx.x * 64 + threadIdx.x);
    weft_vec<{c}, {n}> left = weft_load<{n}>(a + i), right = weft_load_streaming<{n}>(b + i);
    for (int j = 0; j < {n} / 2; j++) {{
        {c} swapped = left[j];
        left[j] = right[{n} - 1 - j];
        right[{n} - 1 - j] = swapped;
    }}
    weft_store(x + i, left);
    weft_store_streaming(y + i, right);
}}
"""


REAL = [d for d in dt.ALL if not d.is_complex]  # those of kernels
VECTORS = {d.name: vectors(d) for d in REAL}


@pytest.mark.thinned(to=4)
@emulated
@pytest.mark.parametrize("dtype", REAL, ids=lambda d: d.name)
def test_vectors_hold_their_elements_in_order(dtype):
    n = 16 // dtype.itemsize
    a = np.arange(2 * 64 * n).reshape(-1, n).astype(dtype.carrier)
    b = a[::-1].copy()
    x, y = run(
        EmulatorDriver(), VECTORS[dtype.name], 2, 64, [a, b, np.zeros_like(a), np.zeros_like(a)]
    )[2:4]
    np.testing.assert_array_equal(x, np.concatenate([b[:, ::-1][:, : n // 2], a[:, n // 2 :]], 1))
    np.testing.assert_array_equal(
        y, np.concatenate([b[:, : n - n // 2], a[:, : n // 2][:, ::-1]], 1)
    )


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("arch", ARCHES)
def test_vectors_of_16_bytes_are_one_access(arch):
    kernels = re.split(r"\.visible \.entry ", ptx("\n".join(VECTORS.values()), arch))[1:]
    assert len(kernels) == len(VECTORS)
    for kernel in kernels:
        accesses = re.findall(r"\b(ld|st)\.(?:global|local)([.\w]*)", kernel)
        assert sorted(kind for kind, _ in accesses) == ["ld", "ld", "st", "st"]
        assert all(re.search(r"\.v4\.[bfu]32|\.v2\.[bfu]64", how) for _, how in accesses)


REDUCTIONS = """
#include "weft.cuh"
extern "C" __global__ void reductions_p0(float* a, double* b, long long* c, weft_status* status) {
    a[threadIdx.x] = weft_block_reduce<weft_sum, 256>(a[threadIdx.x]);
    b[threadIdx.x] = weft_block_reduce<weft_largest, 256>(b[threadIdx.x]);
    c[threadIdx.x] = weft_block_reduce<weft_sum, 256>(c[threadIdx.x]);
}
"""


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("arch", ARCHES)
def test_reductions_of_all_types_share_what_a_kernel_has_besides_its_dynamic_memory(arch):
    (usage,) = compile_text(REDUCTIONS, arch).report.values()
    assert usage.shared == OWN_SHARED


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("arch", ARCHES)
def test_kernels_by_hand_compile_without_spills(arch):
    texts = [t for t in samples.ALL if arch != "sm_75" or "weft_mma" not in t]
    report = compile_text("\n".join(texts), arch).report
    assert len(report) == len(texts)
    assert all(usage.spill_stores == usage.spill_loads == 0 for usage in report.values())


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("arch", ARCHES)
def test_every_helper_of_values_compiles(arch):
    texts = [t for t in cuda_helpers.TEXTS if arch != "sm_75" or "weft_tf32" not in t]
    assert len(compile_text("\n".join(texts), arch).report) == len(texts)
