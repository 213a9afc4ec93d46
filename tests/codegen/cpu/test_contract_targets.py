"""Contractions on every instruction set that this machine runs: right results, and no spilled
vectors in the inner loops."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import products
import pytest
import weft as wf
from harness import TARGETS
from weft import options

FORCED = {"min_chunks": 3, "serial_threshold": 0}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("forced", [{}, FORCED], ids=["free", "forced"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", products.TOLERANCE)
def test_products_are_right_on(target: str, forced: dict[str, int], dtype: str) -> None:
    with options.override(target=target, cache_dir=None, **forced):
        products.main(dtype)


# ---------------------------------------------------------------- assembly

LABEL, JUMP = re.compile(r"^(\.L\w+):"), re.compile(r"^\tj\w+\t(\.L\w+)")
MULTIPLY = re.compile(r"\t(?:v?mulp[sd]|vfn?madd\w+p[sd])\t")
OTHER = re.compile(r"\tv?(?:cmp\w*p[sd]|maxp|minp|psll|cvt|pcmp|rndscale|roundp)")
STACK = re.compile(
    r"(?<![\w,(])-?\d*\(%r[sb]p\)"
)  # a fixed place: arrays are reached through another register


def innermost_loops(assembly: str) -> list[list[str]]:
    """The instructions of every loop that holds no other loop."""
    lines = [
        line for line in assembly.splitlines() if line.startswith("\t") or line.startswith(".L")
    ]
    at = {m[1]: i for i, line in enumerate(lines) if (m := LABEL.match(line))}
    loops = [
        (at[m[1]], i)
        for i, line in enumerate(lines)
        if (m := JUMP.match(line)) and at.get(m[1], i) < i
    ]
    inner = [
        (a, b)
        for a, b in loops
        if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in loops)
    ]
    return [lines[a : b + 1] for a, b in inner]


def micro_kernels(assembly: str) -> list[list[str]]:
    """The innermost loops that multiply and add in straight code, and do nothing that a function, a
    mask or a maximum needs."""
    hot = []
    for loop in innermost_loops(assembly):
        text = "\n".join(loop)
        if len(MULTIPLY.findall(text)) >= 4 and text.count("\tj") == 1 and not OTHER.search(text):
            hot.append(loop)
    return hot


def spills(assembly: str) -> list[str]:
    """Vectors kept on the stack in micro-kernels."""
    vectors = [
        line for loop in micro_kernels(assembly) for line in loop if re.search(r"%[xyz]mm", line)
    ]
    return [line for line in vectors if STACK.search(line)]


def assemblies(graph: Callable[[], wf.Tensor], folder: Path) -> str:
    wf.dump(graph(), folder)
    return "\n".join(path.read_text() for path in sorted((folder / "kernels").glob("*.s")))


def attention() -> wf.Tensor:
    q, k, v = (wf.tensor(np.ones((2, 3, 150, 40), np.float32)) for _ in range(3))
    return wf.nn.functional.scaled_dot_product_attention(q, k, v)


GRAPHS = {name: graph for name, graph, _, _ in products.graphs("float32")}
NAMES = [name for name in GRAPHS if name not in ("tiny", "rows", "columns")]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*NAMES, "attention"])
def test_no_vector_of_a_micro_kernel_is_spilled(name: str, target: str, tmp_path: Path) -> None:
    with options.override(target=target, cache_dir=None):
        assembly = assemblies(GRAPHS.get(name, attention), tmp_path)
    assert micro_kernels(assembly)
    assert spills(assembly) == []


def test_spills_are_found() -> None:
    loop = ["\tvfmadd231ps\t%zmm1, %zmm2, %zmm3"] * 4 + [
        "\tvmovups\t%zmm3, 64(%rsp)",
        "\tvmovups\t(%rsp,%rdi,4), %zmm3",
    ]
    text = "\n".join([".LBB0_1:", *loop, "\tjl\t.LBB0_1", "\tvmovups\t%zmm3, 128(%rsp)"])
    assert spills(text) == ["\tvmovups\t%zmm3, 64(%rsp)"]
