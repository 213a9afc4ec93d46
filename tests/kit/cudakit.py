"""Graphs as CUDA programs on the emulated device, or on a GPU. In: roots of a Graph, arrays for its
INPUTs. Out: the results.

Kernels of many programs are built in one go, since a C++ compiler needs longer to start than for a
kernel: `Programs` compiles a whole table of cases, in groups, when the first of a group is asked
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
import weft as wf
from cuda_emulator import build as emulator_build
from cuda_emulator.driver import FORWARD, RANDOM, REVERSE, EmulatorDriver
from harness import Env, inputs_of, values_of
from weft import options
from weft.codegen.cuda.settings import CudaSettings
from weft.codegen.cuda.target import CudaTarget
from weft.compiler.backends.cuda import CudaBackend
from weft.compiler.compile import Compiled, build
from weft.frontend.tensor.tensor import wrap
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.dtype import DType
from weft.ir.graph.graph import Node
from weft.runtime.cuda import devices
from weft.runtime.cuda.driver import Driver
from weft.runtime.memory.storage import Leaf

Array = np.ndarray[Any, Any]
Case = TypeVar("Case")
ORDERS = {"forward": FORWARD, "reverse": REVERSE, "random": RANDOM}
needs_compiler = pytest.mark.skipif(
    emulator_build.compiler() is None and not devices.available(),
    reason="no g++ for the CUDA emulator",
)


@cache
def _emulator() -> EmulatorDriver:
    return EmulatorDriver()


def device() -> Driver:
    """The GPU of this machine, if PyCUDA finds one; else the emulated device, which is cuda:0 till
    the end of the file."""
    if not devices.available():
        devices.install(_emulator())
    return devices.driver()


def leaf_tensors(*shapes: tuple[int, ...], dtype: DType = dt.float32) -> list[wf.Tensor]:
    """Tensors that are inputs of Graphs; floats require a gradient. One that outlives its test is
    not computed."""
    return [wrap(graph.leaf(Leaf(None), dtype, shape), dtype.is_float) for shape in shapes]


@contextmanager
def in_order(order: str, seed: int = 0) -> Iterator[None]:
    """Threads run in another order; those of a GPU in its own."""
    driver = device()
    if not isinstance(driver, EmulatorDriver):
        yield
        return
    before = driver.order, driver.seed
    driver.order, driver.seed = ORDERS[order], seed
    try:
        yield
    finally:
        driver.order, driver.seed = before


def settings(arch: str = "sm_90a", matmul: str = "float32") -> CudaSettings:
    """Those of the emulated device, or of another one for which code is made but not run."""
    return CudaSettings(CudaTarget(arch, device().multiprocessors, device().shared_limit, matmul))


def compiled(
    outputs: Sequence[Node],
    env: Env | None = None,
    donations: Mapping[int, int] | None = None,
    matmul: str = "float32",
    target: CudaTarget | None = None,
) -> Compiled:
    """The CUDA program of distinct outputs for the device, or another one; its inputs are laid out
    as in `env`, else dense."""
    leaves = inputs_of(outputs)
    with options.override(verify=True, cache_dir=None):
        given = settings(matmul=matmul)  # installs the device
        backend = CudaBackend(CudaSettings(target) if target else given)
        return build(list(outputs), leaves, values_of(leaves, env), donations or {}, backend)


@contextmanager
def together() -> Iterator[None]:
    """Programs that are compiled inside share one run of the C++ compiler at the end."""
    device()
    kernels, wanted = devices.gpu().kernels, dict[str, Callable[[], str]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "want", wanted.update)
        yield
    kernels.want(wanted)


class Programs(Generic[Case]):
    """The programs of a table of cases, built in groups of neighbours, of which one is kept: a
    process has Nodes enough."""

    def __init__(self, cases: Sequence[Case], make: Callable[[Case], Any], group: int = 64) -> None:
        self._cases, self._make, self._group = cases, make, group
        self._places = {id(case): i for i, case in enumerate(cases)}
        self._made: dict[int, Any] = {}

    def __getitem__(self, case: Case) -> Any:
        """What `make` gave for the case."""
        place = self._places[id(case)]
        if place not in self._made:
            first = place // self._group * self._group
            self._made.clear()
            with together():
                for i in range(first, min(first + self._group, len(self._cases))):
                    self._made[i] = self._make(self._cases[i])
        return self._made[place]


class DeviceMemory:
    """Copies of arrays in the memory of the emulated device, laid out alike, ending where its guard
    page begins."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._driver = device()
        spans = [_span(a) for a in arrays]
        self._sizes = [max(1, last - first) for first, last in spans]
        self._starts = [self._driver.allocate(size) for size in self._sizes]
        self.addresses = [
            start - first for start, (first, _) in zip(self._starts, spans, strict=True)
        ]
        for array, start, (first, last) in zip(arrays, self._starts, spans, strict=True):
            if array.size:
                self._driver.upload(start, array.ctypes.data + first, last - first)

    def read(self, i: int, like: Array) -> Array:
        """What is there now, as an array of a dense one's dtype and shape."""
        out = np.empty_like(like)
        if out.size:
            self._driver.download(out.ctypes.data, self.addresses[i], out.nbytes)
        return out

    def bytes(self, i: int) -> bytes:
        """All bytes of one piece."""
        out = np.empty(self._sizes[i], np.uint8)
        self._driver.download(out.ctypes.data, self._starts[i], out.nbytes)
        return out.tobytes()

    def free(self) -> None:
        for start in self._starts:
            self._driver.free(start)


def _span(a: Array) -> tuple[int, int]:
    """The first byte and the byte behind the last, from element 0 on."""
    if not a.size:
        return 0, 0
    ends = [(d - 1) * s for d, s in zip(a.shape, a.strides, strict=True)]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0) + a.itemsize


def execute(program: Compiled, outputs: Sequence[Node], env: Env) -> list[Array]:
    """The results of a program. Outputs are poisoned first; donated inputs are copied, others must
    stay as they are."""
    arrays = [env[n] for n in inputs_of(outputs)]
    results = [np.full(n.shape, 7, n.dtype.numpy) for n in outputs]
    given, made = DeviceMemory(arrays), DeviceMemory(results)
    try:
        places = list(made.addresses)
        for o, i in program.donations.items():
            places[o] = given.addresses[i]
        kept = [i for i in range(len(arrays)) if i not in program.donations.values()]
        before = [given.bytes(i) for i in kept]
        program.run(given.addresses, places)
        assert [given.bytes(i) for i in kept] == before, "an input was written"
        donated = program.donations
        return [
            given.read(donated[o], r) if o in donated else made.read(o, r)
            for o, r in enumerate(results)
        ]
    finally:
        given.free()
        made.free()
