"""What wf.explain and wf.dump say of programs of a GPU, and what the assembler tells of their
kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import weft as wf
from cuda_texts import collecting
from cudakit import device, needs_compiler
from weft.codegen.cuda.toolchain.build import Built, Usage

pytestmark = needs_compiler


def test_launches_are_listed() -> None:
    device()
    x = wf.ones(64, 4096, device="cuda").realize()
    (kernel,) = wf.explain(x.softmax(axis=1)).kernels
    (launch,) = kernel.launches
    assert launch.blocks * launch.threads >= 64 * 32
    assert f"launch    {launch.blocks} blocks of {launch.threads} threads" in str(kernel)


def test_registers_and_spills_are_those_that_the_assembler_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Told:
        def function(self, name: str, shared: int) -> str:
            return name

        def usage(self, name: str) -> Usage:
            return Usage(registers=40, shared=256, spill_stores=4, spill_loads=8, local=0)

    with collecting("sm_80") as driver:
        monkeypatch.setattr(driver, "load", lambda image: Told())
        monkeypatch.setattr(driver, "build_many", lambda texts: [Built(b"", {}) for _ in texts])
        (kernel,) = wf.explain(wf.zeros(8, device="cuda").exp()).kernels
    (launch,) = kernel.launches
    assert (launch.registers, launch.spilled) == (40, 12) and "40 registers, 12 B spilled" in str(
        kernel
    )


def test_a_report_of_a_gpu_names_it_its_blocks_and_its_bounds() -> None:
    device()
    x = wf.ones(64, 4096, device="cuda").realize()
    report = wf.explain(x.softmax(axis=1))
    (kernel,), (launch,) = report.kernels, report.kernels[0].launches
    assert report.device == "cuda:0" and kernel.threads == launch.blocks * launch.threads
    assert (
        kernel.predicted is not None
        and kernel.predicted > 0
        and kernel.bound in ("memory", "compute", "launch")
    )
    told = json.loads(json.dumps(report.to_dict()))
    assert told["kernels"][0]["launches"][0]["blocks"] == launch.blocks
    assert f"{launch.blocks} x {launch.threads}" in report._repr_html_() and "on cuda:0" in str(
        report
    )


def test_one_kernel_holds_on_a_gpu() -> None:
    device()
    x = wf.ones(40, 40, device="cuda").realize()
    with wf.one_kernel():
        x.softmax(axis=1).realize()
        y = (x @ x) @ x
        with pytest.raises(wf.errors.FusionError, match="2 kernels"):
            y.realize()
    assert (y.cpu().numpy() == 1600).all()


def test_a_module_on_a_gpu_is_explained() -> None:
    device()
    model = wf.nn.Linear(8, 4).to("cuda")
    assert wf.explain(model, wf.ones(3, 8, device="cuda")).device == "cuda:0"


def test_a_kernel_on_the_cpu_has_no_launches() -> None:
    (kernel,) = wf.explain(wf.zeros(8).exp()).kernels
    assert kernel.launches == ()


@pytest.mark.slow
def test_a_dump_has_loops_and_cuda_c(tmp_path: Path) -> None:
    device()
    folder = wf.dump(wf.ones(64, 300, device="cuda").softmax(axis=1), tmp_path)
    (text,) = (p.read_text() for p in folder.glob("kernels/*.cu"))
    (loops,) = (p.read_text() for p in folder.glob("kernels/*.loops"))
    assert "__global__" in text and "asm" not in text and "threads" in loops


def test_a_moved_value_is_no_kernel() -> None:
    device()
    moved = wf.tensor([1.0, 2.0]).to("cuda")
    (kernel,) = wf.explain(moved * 2).kernels
    assert kernel.nodes == ("mul",)
