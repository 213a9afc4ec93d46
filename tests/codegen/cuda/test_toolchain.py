"""CUDA C to machine code by NVRTC and nvcc: reports, exact arithmetic, errors, the disk cache."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from weft import errors, options
from weft.codegen.cuda.toolchain import build, nvcc, nvrtc, toolkit
from weft.codegen.cuda.toolchain.build import Built, Usage, report
from weft.codegen.cuda.toolchain.toolkit import Compiler
from weft.runtime import cache
from weft.runtime.cuda import images

MULTIPLY_ADD = """
extern "C" __global__ void axpy_p0(const float* __restrict__ a, float* b, long long n) {
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n) b[i] = a[i] * 2.5f + b[i] / 3.0f;
}
"""

SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spill_p0(const float* a, float* b) {
    float v[96];
    #pragma unroll
    for (int i = 0; i < 96; i++) v[i] = a[threadIdx.x + i * 1024];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 96; i++) b[threadIdx.x + i * 1024] = v[i] * v[95 - i] + v[(i * 7) % 96];
}
"""

SHARED = """
extern "C" __global__ void turn_p1(const float* a, float* b) {
    __shared__ float tile[100];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = tile[99 - threadIdx.x];
}
"""

NVCC_LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k_p1' for 'sm_90a'
ptxas info    : Function properties for k_p1
    704 bytes stack frame, 692 bytes spill stores, 716 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 704 bytes cumulative stack size, 400 bytes smem, 388 bytes cmem[0]
ptxas info    : Compile time = 32.856 ms
ptxas info    : Compiling entry function 'k_p0' for 'sm_90a'
ptxas info    : Function properties for k_p0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers
"""

CALLING_LOG = """ptxas info    : Compiling entry function 'k_p0' for 'sm_80'
ptxas info    : Function properties for k_p0
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for helper
ptxas         .     8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 24 bytes cumulative stack size
"""


@pytest.fixture(params=[nvrtc, nvcc], ids=["nvrtc", "nvcc"])
def compiler(request: pytest.FixtureRequest) -> Compiler:
    found = request.param.find()
    if found is None:
        pytest.skip("no CUDA compiler")
    return found


@pytest.fixture
def some_compiler() -> None:
    if nvrtc.find() is None and nvcc.find() is None:
        pytest.skip("no CUDA compiler")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder of the disk cache."""
    cache._in_folder.cache_clear()
    with options.override(cache_dir=tmp_path):
        yield tmp_path
        cache.default().close()
    cache._in_folder.cache_clear()


# ------------------------------------------------------------ what is made


def test_image_is_machine_code_with_a_report_of_every_kernel(compiler: Compiler) -> None:
    built = build.compile_text(MULTIPLY_ADD + SPILLING + SHARED, "sm_80", compiler)
    assert built.image.startswith(b"\x7fELF")
    assert sorted(built.report) == ["axpy_p0", "spill_p0", "turn_p1"]
    assert all(usage.registers > 0 for usage in built.report.values())


@pytest.mark.slow
@pytest.mark.thinned
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a"])
def test_every_architecture_gets_code_of_its_own(compiler: Compiler, arch: str) -> None:
    assert f".target {arch}\n" in build.ptx(MULTIPLY_ADD, arch, compiler)
    assert build.compile_text(MULTIPLY_ADD, arch, compiler).report["axpy_p0"].registers > 0


@pytest.mark.thinned(to=1)
def test_spills_are_reported(compiler: Compiler) -> None:
    found = build.compile_text(SPILLING, "sm_90a", compiler).report["spill_p0"]
    assert (
        found.spill_stores > 0
        and found.spill_loads > 0
        and found.local > 0
        and found.registers <= 32
    )


@pytest.mark.slow
def test_static_shared_memory_is_reported(compiler: Compiler) -> None:
    found = build.compile_text(SHARED, "sm_80", compiler).report["turn_p1"]
    assert (found.shared, found.spill_stores, found.local) == (400, 0, 0)


@pytest.mark.thinned(to=1)
def test_a_product_and_a_sum_are_rounded_apart(compiler: Compiler) -> None:
    made = build.ptx(MULTIPLY_ADD, "sm_80", compiler)
    assert "mul.rn.f32" in made and "add.rn.f32" in made and "fma" not in made


@pytest.mark.thinned(to=1)
def test_quotients_are_rounded_exactly_and_nothing_is_flushed_to_zero(compiler: Compiler) -> None:
    made = build.ptx(MULTIPLY_ADD, "sm_80", compiler)
    assert "div.rn.f32" in made and ".ftz" not in made


@pytest.mark.thinned(to=1)
def test_kernels_include_the_headers_that_the_builder_has(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = "#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n"
    monkeypatch.setattr(build, "headers", lambda: {"twice.cuh": header})
    text = '#include "twice.cuh"\nextern "C" __global__ void {}(float* x) {{ *x = twice(*x); }}\n'
    built = build.compile_text(
        text.replace("{}", "a").format() + text.replace("{}", "b").format(), "sm_80", compiler
    )
    assert sorted(built.report) == ["a", "b"]


@pytest.mark.slow
def test_assembly_shows_the_instructions(some_compiler: None) -> None:
    shown = build.disassemble(build.compile_text(MULTIPLY_ADD, "sm_90a").image)
    if shown is None:
        pytest.skip("no nvdisasm")
    assert "axpy_p0" in shown and re.search(r"\bFMUL\b", shown) and "LDG.E" in shown


def test_what_is_no_image_has_no_assembly() -> None:
    assert build.disassemble(b"no image") is None


# ------------------------------------------------------------ the report of ptxas


def test_log_gives_the_figures_of_each_kernel() -> None:
    assert report(NVCC_LOG) == {
        "k_p1": Usage(32, 400, 692, 716, 704),
        "k_p0": Usage(10, 0, 0, 0, 0),
    }


def test_functions_that_a_kernel_calls_count_as_its_own() -> None:
    assert report(CALLING_LOG) == {"k_p0": Usage(255, 0, 5, 10, 24)}


def test_a_log_without_kernels_is_an_empty_report() -> None:
    assert report("") == report("ptxas info    : 0 bytes gmem\n") == {}


# ------------------------------------------------------------ errors


@pytest.mark.thinned(to=1)
def test_error_names_the_line_of_the_text_and_what_the_compiler_says(compiler: Compiler) -> None:
    text = MULTIPLY_ADD.replace("b[i] / 3.0f", "nothing[i]")
    with pytest.raises(errors.CompileError) as caught:
        build.compile_text(text, "sm_80", compiler)
    message = str(caught.value)
    assert message.startswith(
        f"{compiler.name} {compiler.version} made no code for sm_80. Line 4 of the text:\n    if (i"
        " < n)"
    )
    assert 'identifier "nothing" is undefined' in message


def test_a_missing_header_names_the_line(compiler: Compiler) -> None:
    with pytest.raises(
        errors.CompileError, match=r'Line 3 of the text:\n    #include "missing.h"\n'
    ):
        build.compile_text('\n\n#include "missing.h"\n', "sm_80", compiler)


def test_an_architecture_that_the_compiler_does_not_know_needs_a_newer_one(
    compiler: Compiler,
) -> None:
    with pytest.raises(
        errors.CompileError,
        match=r"made no code for sm_12345, which it does not know: `pip install",
    ):
        build.compile_text(MULTIPLY_ADD, "sm_12345", compiler)


@pytest.mark.slow
def test_text_that_ends_too_early_is_a_compile_error(compiler: Compiler) -> None:
    with pytest.raises(errors.CompileError, match="error: expected"):
        build.compile_text(MULTIPLY_ADD.rstrip("\n}"), "sm_80", compiler)


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (nvrtc, nvcc):
        monkeypatch.setattr(module, "find", lambda: None)
    build.compiler.cache_clear()
    with pytest.raises(
        errors.DeviceError, match=r"neither NVRTC .* nor nvcc: .*`pip install nvidia-cuda-nvrtc==13"
    ):
        build.compile_text(MULTIPLY_ADD, "sm_80")


def test_nvcc_is_taken_where_there_is_no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = Compiler("nvcc", "0", lambda *_: (b"image", NVCC_LOG))
    monkeypatch.setattr(nvrtc, "find", lambda: None)
    monkeypatch.setattr(nvcc, "find", lambda: stand_in)
    build.compiler.cache_clear()
    assert build.compile_text("", "sm_80").image == b"image"
    build.compiler.cache_clear()


# ------------------------------------------------------------ where compilers are


def test_libraries_of_a_toolkit_are_found_by_cuda_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libnvrtc.so.13").touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert str(tmp_path / "lib64/libnvrtc.so.13") in toolkit.libraries("libnvrtc.so.13")


def test_programs_of_a_toolkit_are_found_by_cuda_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/some-tool").touch(mode=0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert toolkit.tool("some-tool") == str(tmp_path / "bin/some-tool")


def test_a_library_that_cannot_be_loaded_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libnvrtc.so.1").write_text("no library")
    monkeypatch.setattr(toolkit, "libraries", lambda pattern: [str(tmp_path / "libnvrtc.so.1")])
    monkeypatch.setattr(nvrtc, "MAJORS", (1,))
    assert nvrtc._load() is None


# ------------------------------------------------------------ the disk


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compiler", lambda: Compiler("stub", "1", lambda *_: (b"", "")))


BUILT = Built(b"image of text", report(NVCC_LOG))


def test_what_was_kept_is_found(folder: Path, stub: None) -> None:
    assert images.find("name", "sm_80") is None
    images.keep("name", "sm_80", BUILT)
    assert images.find("name", "sm_80") == BUILT


def test_an_image_belongs_to_a_name_an_architecture_a_compiler_and_headers(
    folder: Path, stub: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    images.keep("name", "sm_80", BUILT)
    assert images.find("other", "sm_80") is None
    assert images.find("name", "sm_90a") is None
    with monkeypatch.context() as patch:
        patch.setattr(build, "headers", lambda: {"weft.cuh": "changed"})
        assert images.find("name", "sm_80") is None
    monkeypatch.setattr(build, "compiler", lambda: Compiler("stub", "2", lambda *_: (b"", "")))
    assert images.find("name", "sm_80") is None


def test_a_damaged_entry_is_not_there(folder: Path, stub: None) -> None:
    images.keep("name", "sm_80", BUILT)
    cache.default().close()
    pack = next(folder.iterdir())
    pack.write_bytes(pack.read_bytes().replace(b"image of", b"imAge of"))
    assert images.find("name", "sm_80") is None


def test_without_a_folder_nothing_is_kept(stub: None) -> None:
    with options.override(cache_dir=None):
        images.keep("name", "sm_80", BUILT)
        assert images.find("name", "sm_80") is None
