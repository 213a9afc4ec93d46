"""What benchmarks/gpu.py compares. In: NumPy arrays, functions of a namespace of operations. Out:
their results, seconds a call.

Each System runs the same functions: `ops` holds what they call. Times are between two events on the
device where a system has events, else from one wait for the device to the next; a call that is
shorter on the device than in Python takes Python's time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import weft as wf

Array = np.ndarray
Run = Callable[[], Any]


class System:
    """One way to compute. `precision` of float32 products is "float32" or "tf32"."""

    name = ""
    ops: Any

    def put(self, x: Array, dtype: str = "") -> Any:
        """An array on the device, floats in this dtype."""

    def get(self, x: Any) -> Array:
        """A result as a float64 array."""

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return f

    def precision(self, name: str) -> None:
        pass

    def seconds(self, run: Run, count: int) -> float:
        """Of so many calls."""


def clocked(run: Run, count: int, wait: Callable[[Any], Any]) -> float:
    wait(run())
    start = time.perf_counter()
    for _ in range(count):
        last = run()
    wait(last)
    return time.perf_counter() - start


class Weft(System):
    name = "weft"

    def __init__(self, device: str) -> None:
        F = wf.nn.functional
        self.device = device
        self.ops = SimpleNamespace(
            tanh=wf.tanh,
            sigmoid=wf.sigmoid,
            relu=wf.relu,
            abs=wf.abs,
            sum=lambda x, axis: x.sum(axis=axis),
            mean_var=lambda x: wf.stack([x.mean(axis=-1), x.var(axis=-1)]),
            softmax=lambda x: x.softmax(axis=-1),
            layer_norm=lambda x, w, b: F.layer_norm(x, x.shape[-1], w, b),
            matmul=wf.matmul,
            linear_gelu=lambda x, w, b: F.gelu(F.linear(x, w, b)),
            attention=lambda q, k, v, causal: F.scaled_dot_product_attention(
                q, k, v, is_causal=causal
            ),
        )

    def put(self, x: Array, dtype: str = "") -> Any:
        t = wf.tensor(x, dtype=dtype or None, device=self.device)
        wf.realize(t)
        return t

    def get(self, x: Any) -> Array:
        return np.asarray(x.float().cpu().numpy(), dtype=np.float64)

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return wf.jit(f)  # type: ignore[no-any-return]

    def precision(self, name: str) -> None:
        if self.device != "cpu":
            wf.options.update(matmul=name)

    def seconds(self, run: Run, count: int) -> float:
        if self.device == "cpu":
            return clocked(run, count, lambda _: None)  # what a jitted function returns is computed
        start, end = wf.cuda.Event(), wf.cuda.Event()
        start.record()
        for _ in range(count):
            run()
        end.record()
        return 1e-3 * start.elapsed_time(end)


class Torch(System):
    name = "torch"

    def __init__(self, device: str) -> None:
        self.torch = torch = import_module("torch")
        F = torch.nn.functional
        self.device = device
        torch.backends.cudnn.allow_tf32 = False
        self.ops = SimpleNamespace(
            tanh=torch.tanh,
            sigmoid=torch.sigmoid,
            relu=torch.relu,
            abs=torch.abs,
            sum=lambda x, axis: x.sum() if axis is None else x.sum(axis),
            mean_var=lambda x: torch.stack([x.mean(-1), x.var(-1, correction=0)]),
            softmax=lambda x: x.softmax(-1),
            layer_norm=lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
            matmul=torch.matmul,
            linear_gelu=lambda x, w, b: F.gelu(F.linear(x, w, b)),
            attention=lambda q, k, v, causal: F.scaled_dot_product_attention(
                q, k, v, is_causal=causal
            ),
        )

    def put(self, x: Array, dtype: str = "") -> Any:
        t = self.torch.from_numpy(x).to(self.device)
        return t.to(getattr(self.torch, dtype)) if dtype else t

    def get(self, x: Any) -> Array:
        return np.asarray(x.detach().float().cpu().numpy(), dtype=np.float64)

    def precision(self, name: str) -> None:
        self.torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")

    def seconds(self, run: Run, count: int) -> float:
        if self.device == "cpu":
            return clocked(run, count, lambda _: None)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return 1e-3 * float(start.elapsed_time(end))


class Compiled(Torch):
    name = "torch.compile"

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        self.torch._dynamo.reset()
        return self.torch.compile(f, dynamic=False)  # type: ignore[no-any-return]


class Jax(System):
    name = "jax"

    def __init__(self, device: str) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        self.jax = jax = import_module("jax")
        jnp = import_module("jax.numpy")
        self.device = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        self.precision("float32")
        self.ops = SimpleNamespace(
            tanh=jnp.tanh,
            sigmoid=jax.nn.sigmoid,
            relu=jax.nn.relu,
            abs=jnp.abs,
            sum=lambda x, axis: x.sum(axis),
            mean_var=lambda x: jnp.stack([x.mean(-1), x.var(-1)]),
            softmax=jax.nn.softmax,
            layer_norm=lambda x, w, b: (
                (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * w
                + b
            ),
            matmul=jnp.matmul,
            linear_gelu=lambda x, w, b: jax.nn.gelu(x @ w.T + b, approximate=False),
            attention=self._attention,
        )

    def _attention(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        heads_last = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
        return self.jax.nn.dot_product_attention(*heads_last, is_causal=causal).transpose(
            0, 2, 1, 3
        )

    def put(self, x: Array, dtype: str = "") -> Any:
        t = self.jax.device_put(x, self.device)
        return t.astype(dtype) if dtype else t

    def get(self, x: Any) -> Array:
        return np.asarray(x, dtype=np.float64)

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return self.jax.jit(f)  # type: ignore[no-any-return]

    def precision(self, name: str) -> None:
        self.jax.config.update(
            "jax_default_matmul_precision", {"tf32": "tensorfloat32"}.get(name, name)
        )

    def seconds(self, run: Run, count: int) -> float:
        return clocked(run, count, self.jax.block_until_ready)


class Cupy(System):
    name = "cupy"

    def __init__(self, device: str) -> None:
        if device != "cuda":
            raise ImportError("cupy computes on GPUs alone")
        self.cp = cp = import_module("cupy")
        self.ops = SimpleNamespace(
            tanh=cp.tanh,
            sigmoid=lambda x: 1.0 / (1.0 + cp.exp(-x)),
            relu=lambda x: cp.maximum(x, 0.0),
            abs=cp.abs,
            sum=lambda x, axis: x.sum(axis),
            mean_var=lambda x: cp.stack([x.mean(-1), x.var(-1)]),
            matmul=cp.matmul,
        )

    def put(self, x: Array, dtype: str = "") -> Any:
        return self.cp.asarray(x)

    def get(self, x: Any) -> Array:
        return np.asarray(self.cp.asnumpy(x), dtype=np.float64)

    def precision(self, name: str) -> None:
        os.environ["CUPY_TF32"] = str(int(name == "tf32"))

    def seconds(self, run: Run, count: int) -> float:
        start, end = self.cp.cuda.Event(), self.cp.cuda.Event()
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return 1e-3 * float(self.cp.cuda.get_elapsed_time(start, end))


PEERS: dict[str, type[System]] = {kind.name: kind for kind in (Torch, Compiled, Jax, Cupy)}  # type: ignore[type-abstract]
