"""The CUDA C of many programs without a run. In: an architecture, what computes on cuda:0. Out: the
text of each kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import weft as wf
from cuda_emulator.driver import EmulatorDriver
from harness import Env, inputs_of, values_of
from weft import nn, options
from weft.codegen.cuda.settings import CudaSettings
from weft.codegen.cuda.target import CudaTarget
from weft.compiler.backends.cuda import CudaBackend
from weft.compiler.compile import build
from weft.frontend.lazy import program_table
from weft.ir.graph.graph import Node
from weft.nn import functional as F
from weft.runtime.cuda import devices
from weft.runtime.cuda.driver import Built


class _Module:
    def function(self, name: str, shared: int) -> str:
        return name

    def usage(self, name: str) -> None:
        return None


class TextDriver(EmulatorDriver):
    """A device that keeps the texts it is given and runs nothing: memory has what was uploaded, or
    noise."""

    def __init__(self, arch: str) -> None:
        super().__init__(arch=arch, multiprocessors=132, total_memory=1 << 36)
        self.texts: dict[str, None] = {}

    def build_many(self, texts: Sequence[str]) -> list[Built]:
        self.texts.update(dict.fromkeys(texts))
        return [Built(b"", {}) for _ in texts]

    def load(self, image: bytes) -> Any:
        return _Module()

    def launch(self, function: Any, grid: int, block: int, arguments: bytes, shared: int) -> None:
        assert grid >= 1 and 1 <= block <= 1024 and shared <= self.shared_limit


@contextmanager
def collecting(arch: str) -> Iterator[TextDriver]:
    """A TextDriver as cuda:0, for which nothing has been compiled before; nothing is kept."""
    driver, unit, programs = TextDriver(arch), devices._gpus.get(0), program_table._programs
    devices.install(driver)
    program_table._programs = program_table.Programs()
    try:
        with options.override(cache_dir=None):
            yield driver
    finally:
        program_table._programs = programs
        devices.uninstall()
        if unit is not None:
            devices._gpus[0] = unit


def compile_graph(
    outputs: Sequence[Node], driver: TextDriver, env: Env | None = None, matmul: str = "float32"
) -> None:
    """The program of a Graph for the driver."""
    leaves = inputs_of(outputs)
    target = CudaTarget(driver.arch, driver.multiprocessors, driver.shared_limit, matmul)
    build(list(outputs), leaves, values_of(leaves, env), {}, CudaBackend(CudaSettings(target)))


def _like(*shape: int, dtype: Any = wf.float32) -> wf.Tensor:
    return wf.empty(*shape, dtype=dtype, device="cuda").realize().requires_grad_()


def _with_gradients(y: wf.Tensor, *wrt: wf.Tensor) -> None:
    wf.realize(y, *wf.grad(y.float().square().sum(), list(wrt)))


def compile_workloads() -> None:
    """What users run, at their sizes: maps, rows, reductions, products, convolutions, attention,
    optimisers."""
    x, row = _like(1 << 14, 1 << 10), _like(1 << 10)
    wf.realize((x * 1.5 + row).tanh() * x.sigmoid(), F.gelu(x), x.T.exp())
    for columns in (10, 100, 1000, 1024, 4096, 16384, 50000):
        rows = _like(512, columns)
        _with_gradients(rows.softmax(axis=1), rows)
        _with_gradients(F.layer_norm(rows, (columns,)), rows)
        wf.realize(F.cross_entropy(rows, wf.arange(512, device="cuda") % columns))
    for axis in (None, 0, 1):
        wf.realize(x.sum(axis=axis), x.max(axis=axis), x.var(axis=axis))
    for dtype in (wf.float32, wf.bfloat16, wf.float16):
        for m, k, n in (
            (1024, 1024, 1024),
            (64, 784, 128),
            (4096, 64, 4096),
            (8, 4096, 4096),
            (100, 100, 100),
        ):
            a, b = _like(m, k, dtype=dtype), _like(k, n, dtype=dtype)
            _with_gradients(F.relu(a @ b), a, b)
        for heads, length, width in ((12, 1024, 64), (8, 2048, 128), (4, 77, 40)):
            q, k, v = (_like(1, heads, length, width, dtype=dtype) for _ in range(3))
            wf.realize(
                F.scaled_dot_product_attention(q, k, v),
                F.scaled_dot_product_attention(q, k, v, is_causal=True),
            )
    for stride, padding, kernel in ((1, 1, 3), (2, 3, 7), (1, 0, 1)):
        images, weights = _like(16, 64, 56, 56), _like(64, 64, kernel, kernel)
        _with_gradients(F.conv2d(images, weights, stride=stride, padding=padding), images, weights)
    _with_gradients(F.max_pool2d(images, 2), images)
    _with_gradients(F.batch_norm(images, None, None, training=True), images)
    model = nn.Sequential(
        nn.Linear(512, 512), nn.Dropout(0.1), nn.LayerNorm(512), nn.Linear(512, 10)
    ).to("cuda")
    optimizer = nn.optim.AdamW(model.parameters())
    F.cross_entropy(model(_like(64, 512)), wf.arange(64, device="cuda") % 10).backward()
    optimizer.step()
    wf.realize(
        wf.sort(x), x.cumsum(axis=1), x.cumsum(axis=0), x[wf.arange(50, device="cuda") * 7 % 100]
    )
