"""Contractions, convolutions and reductions of real networks, and every way to run each. In: a
Target. Out: kernels, what is recorded of them.

benchmarks/schedules.py times the ways; tests/codegen/test_recorded_schedules.py holds the choice of
the compiler beside the record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import weft as wf
from weft.codegen.cpu.candidates import Candidate, candidates
from weft.codegen.cpu.settings import Settings
from weft.codegen.kernels.lower_program import Strides
from weft.codegen.llvm.target import Target
from weft.compiler.backends.cpu import CpuBackend
from weft.compiler.compile import build
from weft.frontend.lazy import realize
from weft.ir.kernels.kernel import Kernel, work
from weft.ir.loops.loop import Loops
from weft.ir.program.program import Program
from weft.nn import functional as F

RECORDS = Path(__file__).parents[1] / "codegen" / "recorded"

Build = Callable[[], wf.Tensor]


def _leaf(*shape: int) -> wf.Tensor:
    return wf.zeros(*shape).realize()


def _product(m: int, k: int, n: int, form: str = "nn") -> Build:
    """A product; a letter is t where the factor lies transposed."""

    def build() -> wf.Tensor:
        a = _leaf(k, m).T if form[0] == "t" else _leaf(m, k)
        b = _leaf(n, k).T if form[1] == "t" else _leaf(k, n)
        return a @ b

    return build


def _batched(batch: int, m: int, k: int, n: int, form: str = "nn") -> Build:
    def build() -> wf.Tensor:
        b = _leaf(batch, n, k).transpose(1, 2) if form[1] == "t" else _leaf(batch, k, n)
        return _leaf(batch, m, k) @ b

    return build


def _conv(
    x: tuple[int, ...], out: int, size: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> dict[str, Build]:
    """A convolution, and its gradients by the images and by the weights."""

    def build(which: int | None = None) -> wf.Tensor:
        images = _leaf(*x).requires_grad_(which == 0)
        weight = _leaf(out, x[1] // groups, *[size] * (len(x) - 2)).requires_grad_(which == 1)
        f = F.conv2d if len(x) == 4 else F.conv1d
        y = f(images, weight, stride=stride, padding=pad, groups=groups)
        if which is None:
            return y
        return wf.grad((y * _leaf(*y.shape)).sum(), [(images, weight)[which]])[0]

    return {"": build, " dx": lambda: build(0), " dw": lambda: build(1)}


CASES: dict[str, Build] = {
    "gpt qkv": _product(768, 384, 1152, "nt"),
    "gpt mlp up": _product(768, 384, 1536, "nt"),
    "gpt mlp down": _product(768, 1536, 384, "nt"),
    "gpt mlp up dw": _product(1536, 768, 384, "tn"),
    "gpt mlp down dx": _product(768, 384, 1536),
    "gpt head": _product(768, 384, 65, "nt"),
    "gpt head dw": _product(65, 768, 384, "tn"),
    "gpt one token": _product(1, 384, 1536, "nt"),
    "gpt four tokens": _product(4, 1536, 384, "nt"),
    "vit qkv": _product(394, 192, 576, "nt"),
    "vit mlp dw": _product(192, 394, 768, "tn"),
    "vit scores": _batched(6, 197, 64, 197, "nt"),
    "vit values": _batched(6, 197, 197, 64),
    "lstm gates": _product(20, 650, 2600, "nt"),
    "lstm gates dx": _product(20, 2600, 650),
    "lstm gates dw": _product(2600, 20, 650, "tn"),
    "lenet fc1": _product(64, 256, 120, "nt"),
    "lenet fc1 dw": _product(120, 64, 256, "tn"),
    "lenet fc3": _product(64, 84, 10, "nt"),
    "resnet classes": _product(64, 512, 10, "nt"),
    "bert pooled": _product(8, 768, 768, "nt"),
    "outer product": _product(512, 8, 512),
    "matrix by vector": _product(2048, 1024, 1),
    "vector by matrix": _product(1, 1024, 2048),
    **{
        name + kind: build
        for name, case in {
            "resnet18 32": _conv((4, 64, 32, 32), 64, 3, pad=1),
            "resnet18 32 to 16": _conv((4, 64, 32, 32), 128, 3, 2, 1),
            "resnet18 4": _conv((4, 512, 4, 4), 512, 3, pad=1),
            "resnet50 1x1": _conv((2, 256, 14, 14), 1024, 1),
            "unet 64": _conv((1, 64, 64, 64), 32, 3, pad=1),
            "dcgan down": _conv((4, 64, 32, 32), 128, 4, 2, 1),
            "depthwise": _conv((2, 96, 28, 28), 96, 3, pad=1, groups=96),
            "lenet conv2": _conv((16, 6, 14, 14), 16, 5),
            "text cnn": _conv((16, 100, 60), 100, 3, pad=1),
        }.items()
        for kind, build in case.items()
    },
    "softmax of scores": lambda: _leaf(768, 256).softmax(axis=1),
    "layer norm": lambda: F.layer_norm(_leaf(768, 384), (384,)),
    "bias gradient": lambda: _leaf(768, 1536).sum(axis=0),
    "batch norm sums": lambda: _leaf(16, 64, 32, 32).sum(axis=(0, 2, 3)),
    "mean of places": lambda: _leaf(64, 512, 4, 4).mean(axis=(2, 3)),
    "max pool": lambda: F.max_pool2d(_leaf(16, 32, 32, 32), 2),
    "largest of classes": lambda: _leaf(768, 65).max(axis=1),
    "sum of few rows": lambda: _leaf(8, 10000).sum(axis=0),
    "sums of short rows": lambda: _leaf(20000, 9).sum(axis=1),
}


class Uncompiled(CpuBackend):
    """A CPU for which kernels are lowered and no code is made."""

    def builder(self) -> Any:
        return NoCode()

    def link(self, program: Program, keys: Sequence[str], code: Any) -> Any:
        return None


class NoCode(nullcontext[None]):
    """The code of no kernel."""

    def begin(self, loops: Loops, same: Loops | None) -> None:
        pass

    def key_of(self, loops: Loops) -> str:
        return ""


def heaviest(name: str, target: Target) -> tuple[Kernel, Strides]:
    """The kernel of a case that does most, and how its leaves lie."""
    c = build(*realize.structure_of(CASES[name]()).unfolded(), Uncompiled(Settings(target)))
    kernels = [k.kernel for k in c.lowered.kernels if k.kernel is not None]
    return max(kernels, key=lambda k: work(u.node for u in k.units)), c.strides


def ways(name: str, target: Target) -> list[Candidate]:
    """Every way to run a case, the chosen one first."""
    kernel, strides = heaviest(name, target)
    return candidates(kernel, strides, Settings(target))


def key(c: Candidate) -> str:
    """What tells a way from the others of its kernel, whatever else is said of it."""
    how = r"lanes over \d+ \w+|tiles \d+x\d+, blocks of \d+ lanes [a-z ]+"
    told = re.search(how, c.lowered.schedule)
    return f"{c.schedule}: {told[0].strip()}" if told else c.schedule
