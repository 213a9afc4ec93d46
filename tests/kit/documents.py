"""Documents for pages, by their schema. In: a number of layers. Out: plain values, as of a step
that trains so many layers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FILE = "/home/someone/train.py"
SOURCE = """import weft as wf


def layer(x, w, b):
    y = x @ w
    return (y + b).relu()


@wf.jit
def step(x, weights, biases):
    for w, b in zip(weights, biases):
        x = layer(x, w, b)
    loss = (x * x).mean()
    for p, g in wf.grad(loss, weights):
        p -= 0.1 * g
    return loss
"""
PRODUCT, BIAS, LOSS, UPDATE = 5, 6, 13, 15  # lines of SOURCE
LOOPS = """kernel {name}(in0: float32, in1: float32, out0: float32, chunks)
phase 0
  for g < chunks (at most 256) grid
    for row < 16 serial
      alloc add0: float32 reg[1] = 0.0
      for c < 64 lanes x2
        t0 = load in0[1024*g + 64*row + c] float32
        t1 = load in1[c] float32
        add0[0] add= mul t0, t1 float32
      out0[16*g + row] = load add0[0] float32
"""
IR = """; train.py:5
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)

define void @{name}_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {{
start:
  %in0 = load ptr, ptr %ctx, align 8
  %row = mul i64 %chunk, 16
  br label %loop
loop:
  %c = phi i64 [ 0, %start ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %start ], [ %fma, %loop ]
  %at = getelementptr float, ptr %in0, i64 %c
  %t0 = load <16 x float>, ptr %at, align 4
  %fma = call <16 x float> @llvm.fma.v16f32(<16 x float> %t0, <16 x float> splat (float 0x3FE0000000000000), <16 x float> %sum)
  %next = add nuw nsw i64 %c, 16
  %more = icmp ult i64 %next, 64
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
ASSEMBLY = """\t.text
\t.globl\t{name}_p0
\t.type\t{name}_p0,@function
{name}_p0:
\tmovq\t24(%rdi), %rcx
\tvxorps\t%xmm0, %xmm0, %xmm0
\tmovl\t$64, %eax
.LBB0_1:
\t# inner loop 1: add0 += in0 * in1
\tvmovups\t(%rcx,%rax,4), %zmm1
\tvfmadd231ps\t%zmm1, %zmm2, %zmm0
\taddq\t$-16, %rax
\tjne\t.LBB0_1
\tvzeroupper
\tretq
"""
CUDA = """#include "weft.cuh"
extern "C" __global__ void __launch_bounds__(256) {name}_p0(const float* in0, float* out0, int rows) {{
    // one row a block
    for (int c = threadIdx.x; c < 64; c += blockDim.x) {{
        out0[blockIdx.x * 64 + c] = in0[blockIdx.x * 64 + c] * 0.5f;
    }}
}}
"""


def document_in(path: Path) -> Json:
    """What a page shows."""
    (data,) = re.findall(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S
    )
    found: Json = json.loads(data)
    return found


class Builder:
    """Collects the nodes and kernels of one program."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.kernels: list[dict[str, Any]] = []
        self.boundaries: list[dict[str, Any]] = []

    def node(
        self,
        op: str,
        *src: int,
        kernel: int | None = None,
        line: int = PRODUCT,
        arg: str = "",
        **more: Any,
    ) -> int:
        number = len(self.nodes)
        label = f"{op} {arg}" if arg else op
        shape = more.pop("shape", [16, 64])
        self.nodes.append({
            "id": number, "op": op, "arg": arg or None, "dtype": "float32", "shape": shape,
            "src": list(src),
            "line": [FILE, line], "gradient": False, "kernel": kernel, "label": label, **more,
        })  # fmt: skip
        return number

    def kernel(self, name: str, kind: str, line: int, measured: float | None, **more: Any) -> int:
        """Opens a kernel; nodes name it by the index that this returns."""
        index = len(self.kernels)
        name = f"k{index}_{name}"
        nbytes, flops = more.pop("bytes", 12_288), more.pop("flops", 131_072)
        self.kernels.append({
            "index": index, "name": name, "kind": kind, "nodes": [], "node_ids": [],
            "outer": [16, 64], "bytes": nbytes,
            "outputs": ["float32[16, 64]"], "flops": flops, "intensity": flops / nbytes,
            "predicted": nbytes / 20e9,
            "bound": "memory", "schedule": f"{kind}: lanes over the last of the inner axes, 1 chunk of 16",
            "parallel": index % 2 == 0, "threads": 2 if index % 2 == 0 else 1,
            "lines": [[FILE, line]], "gradient": False,
            "same_code_as": None, "layer": [0, str(index)] if index < 2 else None,
            "choices": [{"schedule": kind, "others": {"flat": "there are reductions"}}],
            "boundaries": [], "launches": [], "measured": measured,
            "texts": {ending: text.format(name=name) for ending, text in TEXTS.items()}, **more,
        })  # fmt: skip
        return index

    def apart(self, producer: int, consumer: int, rule: str, detail: str) -> None:
        self.boundaries.append(
            {"producer": producer, "consumer": consumer, "rule": rule, "detail": detail}
        )
        self.kernels[consumer]["boundaries"].append(
            {"other": self.kernels[producer]["name"], "rule": rule, "detail": detail}
        )

    def finish(self, **program: Any) -> dict[str, Any]:
        for node in self.nodes:
            if node["kernel"] is not None:
                self.kernels[node["kernel"]]["nodes"].append(node["op"])
                self.kernels[node["kernel"]]["node_ids"].append(node["id"])
        seconds = [k["measured"] for k in self.kernels]
        for k in self.kernels:
            source = {"file": FILE, "line": k["lines"][0][1], "gradient": k["gradient"], "text": ""}
            k["sources"] = [source]
        whole = None if None in seconds else sum(seconds)
        return {
            "name": "step", "device": "cpu", "runs": 8, "seconds": whole, "kernel_seconds": whole,
            "cold": 0.08,
            "detailed": True, "passes": passes(len(self.nodes)),
            "nodes": self.nodes, "outputs": [len(self.nodes) - 1],
            "inputs": [{"id": n["id"], "name": None} for n in self.nodes if n["op"] == "input"],
            "kernels": self.kernels, "boundaries": self.boundaries, "memory": memory(self.kernels),
            "report": f"{len(self.kernels)} kernels\n",
            "graph": "graph\n  %0 = input(0)  float32[16,64]\n",
            "gradient": "gradient\n", "program": "program: 2 inputs, 1 outputs\n", **program,
        }  # fmt: skip


TEXTS = {"loops": LOOPS, "ll": IR, "opt.ll": IR, "s": ASSEMBLY, "cu": CUDA}


def program(layers: int, measured: bool = True, **more: Any) -> dict[str, Any]:
    """A step that trains so many linear layers with relu: 26 nodes and 3 kernels each, and a
    loss."""
    b = Builder()
    at = b.node("input", arg="x")
    forward = []
    for i in range(layers):
        product = b.kernel(
            "matmul_relu",
            "contraction",
            PRODUCT,
            40e-6 + i * 1e-6 if measured else None,
            flops=131_072 * (i + 1),
        )
        if forward:
            b.apart(
                product - 1,
                product,
                "second contraction",
                f"reduce[16, 64]@{at} is a contraction of its own",
            )
        w, bias = (
            b.node("input", arg=f"w{i}", shape=[64, 64]),
            b.node("input", arg=f"b{i}", shape=[64]),
        )
        x3, w3 = (
            b.node("expand", at, arg="(1, 64)", shape=[16, 64, 64]),
            b.node("expand", w, shape=[16, 64, 64]),
        )
        products = b.node("mul", x3, w3, kernel=product, shape=[16, 64, 64])
        sums = b.node("reduce", products, kernel=product, arg="add (2,)")
        biased = b.node("add", sums, b.node("expand", bias, line=BIAS), kernel=product, line=BIAS)
        zero = b.node("const", arg="0.0", shape=[], line=BIAS)
        is_more = b.node("lt", zero, biased, kernel=product, line=BIAS)
        out = b.node("where", is_more, biased, zero, kernel=product, line=BIAS)
        forward.append((at, w, is_more, w3))
        at = out
    loss = b.kernel(
        "rows_mul_addreduce", "rows", LOSS, 4e-6 if measured else None, flops=2048, bytes=4100
    )
    b.apart(loss - 1, loss, "epilogue", "reduced behind the contraction, and needed elsewhere too")
    squares = b.node("mul", at, at, kernel=loss, line=LOSS)
    total = b.node("reduce", squares, kernel=loss, line=LOSS, arg="add (0, 1)", shape=[])
    cotangent = b.node(
        "mul",
        at,
        b.node("const", arg="2.0", shape=[], line=LOSS),
        kernel=loss,
        line=LOSS,
        gradient=True,
    )
    for x, w, is_more, w3 in reversed(forward):
        back = b.kernel(
            "matmul_where", "contraction", PRODUCT, 45e-6 if measured else None, gradient=True
        )
        update = b.kernel(
            "matmul_sub", "map", UPDATE, 30e-6 if measured else None, gradient=True, flops=0
        )
        b.apart(back - 1, back, "alignment", "reads columns where the other writes rows")
        masked = b.node("where", is_more, cotangent, kernel=back, line=BIAS, gradient=True)
        spread = b.node("expand", masked, gradient=True, shape=[16, 64, 64])
        cotangent = b.node(
            "reduce",
            b.node("mul", spread, w3, kernel=back, gradient=True),
            kernel=back,
            gradient=True,
        )
        slope = b.node(
            "mul", spread, b.node("permute", x, gradient=True), kernel=update, gradient=True
        )
        slope = b.node(
            "reduce", slope, kernel=update, gradient=True, arg="add (0,)", shape=[64, 64]
        )
        rate = b.node("const", arg="0.1", shape=[], line=UPDATE)
        b.node(
            "sub",
            w,
            b.node("mul", slope, rate, kernel=update, line=UPDATE),
            kernel=update,
            line=UPDATE,
            shape=[64, 64],
        )
    return b.finish(**{"outputs": [total, len(b.nodes) - 1], **more})


def listed(name: str) -> dict[str, Any]:
    """A program of which no more is known than that it ran."""
    lists = {key: [] for key in ("passes", "nodes", "outputs", "inputs", "kernels", "boundaries")}
    texts = dict.fromkeys(("report", "graph", "gradient", "program"), "")
    known = {
        "name": name,
        "device": "cpu",
        "runs": 1,
        "seconds": 0.5,
        "kernel_seconds": None,
        "cold": None,
    }
    return {**known, "detailed": False, **lists, **texts, "memory": None}


def passes(nodes: int) -> list[dict[str, Any]]:
    rewrite = {
        "rule": "x + 0 = x",
        "before": "%7 = add(%5, %6)",
        "after": "%5",
        "line": [FILE, BIAS],
    }
    return [
        {"name": "graph", "seconds": 0.0, "nodes": nodes + 4, "added": [], "removed": [],
            "rewrites": []},
        {"name": "widen", "seconds": 0.0002, "nodes": nodes + 4, "added": [], "removed": [],
            "rewrites": []},
        {"name": "simplify", "seconds": 0.0041, "nodes": nodes,
            "added": ["%5 = relu(%4)  float32[16,64]"],
         "removed": ["%5 = where(%3, %4, %1)  float32[16,64]", "%6 = const(0.0)  float32[]"],
         "rewrites": [rewrite, rewrite]},
        {"name": "fuse", "seconds": 0.0032, "nodes": None, "added": [], "removed": [],
            "rewrites": []},
        {"name": "link", "seconds": 0.0613, "nodes": None, "added": [], "removed": [],
            "rewrites": []},
    ]  # fmt: skip


def memory(kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """What each kernel writes lives until two steps later, in turn at three places of the arena."""
    last = len(kernels) - 1
    size = 16_384
    buffers = [
        {
            "name": "input 0",
            "space": "input",
            "number": 0,
            "offset": 0,
            "first": 0,
            "last": last,
            "in_place_of": None,
        }
    ]
    for i, k in enumerate(kernels):
        place = {
            "space": "arena",
            "number": None,
            "offset": i % 3 * size,
            "first": i,
            "last": min(i + 2, last),
        }
        buffers.append({"name": f"{k['name']}/out", "in_place_of": None, **place})
    for b in buffers:
        b.update(dtype="float32", shape=[64, 64], bytes=size, line=[FILE, PRODUCT])
    peak = min(2, last)
    return {
        "arena_bytes": 3 * size, "peak_bytes": 4 * size, "peak_step": peak,
        "peak_kernel": kernels[peak]["name"],
        "steps": len(kernels), "buffers": buffers,
        "alive_at_peak": [b["name"] for b in buffers[: peak + 2]],
    }  # fmt: skip


def modules() -> list[dict[str, Any]]:
    def linear(name: str, wide: int, out: int) -> dict[str, Any]:
        weight = {
            "name": "weight",
            "shape": [out, wide],
            "dtype": "float32",
            "count": out * wide,
            "trainable": True,
        }
        bias = {
            "name": "bias",
            "shape": [out],
            "dtype": "float32",
            "count": out,
            "trainable": False,
        }
        detail, count = f"in={wide}, out={out}", out * wide + out
        held = {
            "parameters": [weight, bias],
            "children": [],
            "count": count,
            "output": f"(16, {out})",
        }
        return {"name": name, "kind": "Linear", "detail": detail, **held}

    layers = [linear("0", 64, 64), linear("1", 64, 10)]
    count = sum(each["count"] for each in layers)
    whole = {
        "detail": "",
        "parameters": [],
        "children": layers,
        "count": count,
        "output": "(16, 10)",
    }
    return [{"name": "model", "kind": "Sequential", **whole}]


def tensors() -> list[dict[str, Any]]:
    storage = [float(i) for i in range(6)]
    base = {"offset": 0, "storage": storage, "shares": True}
    grid = [[[i, j], 3 * i + j] for i in range(2) for j in range(3)]
    turned = [[[j, i], 3 * i + j] for j in range(3) for i in range(2)]
    steps = [
        {
            **base,
            "expression": "x",
            "note": "its own",
            "shape": [2, 3],
            "strides": [3, 1],
            "contiguous": True,
            "cells": grid,
        },
        {
            **base,
            "expression": "x.permute(1, 0)",
            "shape": [3, 2],
            "strides": [1, 3],
            "contiguous": False,
            "cells": turned,
        },
    ]
    steps[1]["note"] = "that of x, seen otherwise"
    return [{"title": "A transpose moves nothing", "steps": steps}]


def document(*programs: dict[str, Any], **more: Any) -> dict[str, Any]:
    flops = {"float32": 2e11, "float64": 1e11}
    return {
        "weft": "0.1.0", "title": "train.py", "command": "python -m weft report train.py",
        "device": "cpu",
        "machine": {"name": "A processor of 2 cores", "threads": 2, "bandwidth": 2e10,
            "cache_bytes": 1 << 20, "flops": flops},
        "sources": {FILE: {"name": "train.py", "lines": SOURCE.splitlines()}},
        "programs": list(programs),
        "modules": modules(), "tensors": tensors(), **more,
    }  # fmt: skip
