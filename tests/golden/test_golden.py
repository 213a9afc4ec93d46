"""Golden text of graphs, units, kernels, programs, loops, LLVM IR for AVX2, CUDA C for sm_80.
`--update-golden` rewrites it.

Assembly differs between versions of LLVM: of it, properties of the inner loops are checked, which
their marks lead to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from cuda_texts import collecting
from cudakit import needs_compiler
from golden_cases import CASES
from weft import options
from weft.codegen.cpu.settings import Settings
from weft.codegen.llvm.target import Target
from weft.compiler.backends import cuda
from weft.compiler.backends.cpu import CpuBackend
from weft.compiler.compile import Compiled, build, program_of
from weft.compiler.structure import Structure
from weft.frontend.jit.jit import step_behind
from weft.frontend.lazy import realize
from weft.inspection.dumps.graph_text import gradient_text, graph_text, rewrites_text, term
from weft.inspection.dumps.program_text import memory_text, program_text
from weft.inspection.explain.build import report
from weft.ir.kernels.units import Units, collect

AVX2 = Target("x86-64-v3", "", 256, has_fma=True, has_avx512=False, registers=16, has_float16=True)
GOLDEN = Path(__file__).parent
# for each case: how many inner loops of the assembly have whole vectors of a hot instruction
INNER = {
    "softmax": ("vmaxps", 1), "layer_norm": ("vaddps", 2), "linear_gelu": ("vfmadd", 1),
    "conv_bias_relu": ("vfmadd", 1),
    "adam": ("vsqrtps", 1), "attention": ("vfmadd", 2), "gradients": ("vmulps", 1),
}  # fmt: skip


def structure_of(case: str, device: str) -> Structure:
    """What a case computes."""
    x = CASES[case](device)
    step = step_behind("test", x, (), {})
    return step.structure if step is not None else realize.structure_of(x)


@cache
def compiled(case: str) -> Compiled:
    """The program of a case, for a CPU that is the same on every machine."""
    return build(*structure_of(case, "cpu").unfolded(), CpuBackend(Settings(AVX2)))


def units_text(units: Units) -> str:
    """Each computed Node with its loops, and what it reads: where, and under which conditions."""
    names = {unit.node: f"u{unit.position}" for unit in units.order}
    out = []
    for unit in units.order:
        loops = ", ".join(" x ".join(f"{v.name} < {v.extent}" for v in axis) for axis in unit.axes)
        out.append(f"{names[unit.node]} = {unit.node.op.value}  loops {loops}")
        for read in unit.reads:
            at = ", ".join(map(str, read.index))
            out.append(
                f"    reads {term(read.base, names)}[{at}]"
                + "".join(f" if {condition}" for condition in read.mask)
            )
    return "\n".join(out) + "\n"


@cache
def texts(case: str) -> dict[str, str]:
    """The golden files of a case by name."""
    c = compiled(case)
    simplified = next(p for p in c.passes if p.name == "simplify")
    with options.override(num_threads=4):
        head, *kernels = str(report(c, predict=False)).splitlines()
        program = f"{program_text(c)}\n{memory_text(c.memory())}"
    kernels = [
        head.partition(",")[0],
        *(line for line in kernels if not line.startswith("    cost ")),
    ]  # estimates
    found = {
        "graph.txt": graph_text(c.graph),
        "grad.txt": gradient_text(c.graph),
        "simplified.txt": f"{graph_text(simplified.roots or ())}\n{rewrites_text(simplified)}",
        "units.txt": units_text(collect(c.fused_graph)),
        "kernels.txt": "\n".join(kernels) + "\n",
        "program.txt": program,
    }
    made = {k.name: c.texts(k) for k in c.in_order()}
    return found | {
        f"{name}.{ending}": made[name][ending] for name in made for ending in ("loops", "ll")
    }


@cache
def cuda_texts(case: str) -> dict[str, str]:
    """The same for the GPU: loops and CUDA C."""
    with collecting("sm_80"), mock.patch.object(cuda, "compiled_texts", return_value={}):
        c = program_of(structure_of(case, "cuda"))
        made = {k.name: c.texts(k) for k in c.in_order()}
    return {f"{name}.{ending}": made[name][ending] for name in made for ending in ("loops", "cu")}


def check(case: str, found: dict[str, str], kind: str, update: bool) -> None:
    """Compares with what is there, file by file, or writes it."""
    folder = GOLDEN / case / kind
    if update:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, text in found.items():
            (folder / name).write_text(text)
    assert sorted(found) == sorted(path.name for path in folder.iterdir())
    for name, text in found.items():
        assert text == (folder / name).read_text(), (
            f"{case}/{kind}/{name}: --update-golden writes it anew"
        )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> Iterator[bool]:
    yield request.config.getoption("--update-golden")


@pytest.mark.parametrize("case", CASES)
def test_text_of_the_cpu_is_golden(case: str, update: bool) -> None:
    check(case, texts(case), "cpu", update)


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_text_of_the_gpu_is_golden(case: str, update: bool) -> None:
    check(case, cuda_texts(case), "gpu", update)


@pytest.mark.parametrize("case", CASES)
def test_the_marks_of_the_assembly_lead_to_loops_of_whole_vectors(case: str) -> None:
    instruction, count = INNER[case]
    loops = [
        body
        for k in compiled(case).in_order()
        for body in inner_loops(compiled(case).texts(k)["s"])
    ]
    hot = [body for body in loops if re.search(rf"{instruction}\w*\s.*%ymm", body)]
    assert len(hot) >= count, (
        f"{len(loops)} inner loops, {len(hot)} of them with {instruction} of whole vectors"
    )


def inner_loops(assembly: str) -> list[str]:
    """What stands between the mark of an inner loop and its jump back."""
    return [part.partition("\tj")[0] for part in assembly.split("\t# inner loop ")[1:]]
