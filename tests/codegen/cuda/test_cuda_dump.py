"""wf.dump of programs of a GPU: CUDA C with the numbers of loops, PTX and assembly, or else what is
missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import weft as wf
from cuda_texts import collecting
from cudakit import device, needs_compiler
from weft import errors
from weft.codegen.cuda.toolchain import build, toolkit

pytestmark = needs_compiler
ENDINGS = {"loops", "cu", "ptx", "sass"}


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise errors.DeviceError(build.MISSING)

    monkeypatch.setattr(build, "compiler", none)


def softmax_on_gpu(tmp_path: Path) -> Path:
    with collecting("sm_80"):
        return wf.dump(wf.empty(64, 1000, device="cuda").realize().softmax(axis=1), tmp_path)


def texts_of(folder: Path) -> dict[str, str]:
    return {p.suffix[1:]: p.read_text() for p in folder.glob("kernels/*")}


@pytest.mark.slow
def test_loops_and_cuda_c_need_no_tools(tmp_path: Path, no_compiler: None) -> None:
    texts = texts_of(softmax_on_gpu(tmp_path))
    assert set(texts) == {"loops", "cu"}
    assert (
        texts["cu"].startswith("// weft dump: k0_rows_max_exp_sum_div: CUDA C\n")
        and "__global__" in texts["cu"]
    )


def test_the_index_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path, no_compiler: None
) -> None:
    index = (softmax_on_gpu(tmp_path) / "README.txt").read_text()
    assert re.search(r"^Without kernels/\*\.ptx, PTX: .*pip install nvidia-cuda-nvrtc", index, re.M)
    assert re.search(r"^Without kernels/\*\.sass, .*pip install nvidia-cuda-nvdisasm", index, re.M)


def test_loops_of_cuda_c_are_numbered_as_in_the_listing(tmp_path: Path, no_compiler: None) -> None:
    texts = texts_of(softmax_on_gpu(tmp_path))
    found = [
        re.findall(rf"{comment} (loop \d)", texts[ending])
        for ending, comment in (("loops", "#"), ("cu", "//"))
    ]
    assert found == [["loop 1", "loop 2", "loop 3"]] * 2
    assert "// loop 2: sum1 += exp(kept0 - max0); exp_row0 = exp(kept0 - max0)\n" in texts["cu"]


@pytest.mark.slow
def test_ptx_and_assembly_are_there_where_tools_are(tmp_path: Path) -> None:
    try:
        build.compiler()
    except errors.DeviceError:
        pytest.skip("no CUDA compiler")
    texts = texts_of(softmax_on_gpu(tmp_path))
    assert ".visible .entry k0_rows_max_exp_sum_div_p0" in texts["ptx"]
    assert set(texts) == ENDINGS - build.missing_tools().keys()


def test_what_the_compiler_refuses_stands_in_the_place_of_its_ptx(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(text: str, arch: str) -> str:
        raise errors.CompileError("NVRTC 13.0 made no code for sm_999\nwhich it does not know")

    monkeypatch.setattr(build, "ptx", refuses)
    assert build.compiled_texts("", "sm_999") == {
        "ptx": "// NVRTC 13.0 made no code for sm_999\n// which it does not know\n"
    }


def test_only_the_disassembler_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compiler", lambda: None)
    monkeypatch.setattr(toolkit, "tool", lambda name: None)
    assert set(build.missing_tools()) == {"sass"}
    monkeypatch.setattr(toolkit, "tool", lambda name: f"/bin/{name}")
    assert build.missing_tools() == {}


def test_calls_say_how_many_blocks_they_are(tmp_path: Path, no_compiler: None) -> None:
    device()
    text = (
        wf.dump(wf.ones(64, 300, device="cuda").softmax(axis=1), tmp_path) / "program.txt"
    ).read_text()
    assert re.search(r"^    phase 0: \d+ blocks of \d+ threads$", text, re.M)
