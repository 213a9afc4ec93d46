"""Weft, a code-generating compiler for fused tensor kernels: `import weft as wf`. In: tensor expressions. Out: their values.

Submodules that are not always needed (`wf.nn`) are imported at first use.
"""

from __future__ import annotations

from functools import partial as _partial
from importlib import import_module
from math import e, inf, nan, pi
from typing import Any

from . import errors
from .compiler.backends.kinds import KINDS as _KINDS
from .frontend import ops as _ops
from .frontend.gradients.backward import backward as _backward
from .frontend.gradients.gradient import check_grad, enable_grad, grad, no_grad
from .frontend.gradients.transforms import hessian_vector_product, jvp, value_and_grad, vjp
from .frontend.jit.jit import compile, jit
from .frontend.lazy.above import Above as _Above
from .frontend.modes.debug_nans import debug_nans
from .frontend.modes.matmul_precision import matmul_precision
from .frontend.ops import *  # noqa: F403
from .frontend.tensor.names_elsewhere import OF_WEFT, of_module
from .inspection.documents.report import report
from .inspection.drawing.draw import draw
from .inspection.dumps.dump import dump
from .inspection.explain.explain import explain
from .inspection.explain.one_kernel import one_kernel
from .inspection.layout.layout import layout
from .inspection.profile.profile import profile
from .inspection.summary.summary import summary
from .ir.graph.dtype import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .runtime.memory.devices import Kinds as _Kinds
from .runtime.memory.devices import available as _available
from .version import __version__

newaxis = None  # x[:, wf.newaxis] has a new axis of extent 1

_FOLDERS = ("array_api", "codegen", "commands", "compiler", "frontend", "inspection", "ir", "nn", "runtime")
_LAZY = {name: f".{name}" for name in (*_FOLDERS, "options")}
_LAZY["cuda"] = ".frontend.modes.gpus"

__all__ = [
    "DType",
    "__version__",
    "bfloat16",
    "bool_",
    "check_grad",
    "compile",
    "debug_nans",
    "devices",
    "draw",
    "dump",
    "e",
    "enable_grad",
    "errors",
    "explain",
    "float16",
    "float32",
    "float64",
    "grad",
    "hessian_vector_product",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "jit",
    "jvp",
    "layout",
    "matmul_precision",
    "nan",
    "newaxis",
    "no_grad",
    "one_kernel",
    "pi",
    "profile",
    "report",
    "summary",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "vjp",
]
__all__ += _ops.__all__


def devices() -> list[str]:
    """The devices on which Tensors can be computed: "cpu", and each GPU that PyCUDA finds, "cuda:0"."""
    return _available()


def _show(program: Any, number: int) -> None:
    import_module(".inspection.dumps.shown", __name__).show(program, number)


_Above.backward = _backward
_Above.array_api = _partial(import_module, ".array_api", __name__)
_Above.numpy_functions = _partial(import_module, ".frontend.numpy_functions", __name__)
_Above.show = _show
_Kinds.by_name = _KINDS
_missing = of_module(__name__, OF_WEFT, _LAZY)


def __getattr__(name: str) -> Any:
    __tracebackhide__ = True
    return import_module(_LAZY[name], __name__) if name in _LAZY else _missing(name)
