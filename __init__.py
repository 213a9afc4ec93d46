"""Weft, a code-generating compiler for fused tensor kernels: `import weft as wf`. In: tensor
expressions. Out: their values.

Every name in this file is one that users call, unless it begins with an underscore.
Submodules that are not always needed (`wf.nn`) are imported at first use.
"""

from __future__ import annotations

import math as _math
from functools import partial as _partial
from importlib import import_module as _import_module
from typing import Any as _Any

from . import errors as errors
from .compiler.backends.kinds import KINDS as _KINDS
from .frontend.control import branches as _branches
from .frontend.control import loops as _loops
from .frontend.gradients import derivatives as _derivatives
from .frontend.gradients import gradient as _gradient
from .frontend.gradients.backward import backward as _backward
from .frontend.jit.jit import compile as compile
from .frontend.jit.jit import jit as jit
from .frontend.lazy.any_tensor import Above as _Above
from .frontend.modes.debug_nans import debug_nans as debug_nans
from .frontend.modes.matmul_precision import matmul_precision as matmul_precision
from .frontend.ops import *  # noqa: F403
from .frontend.tensor.names_elsewhere import OF_WEFT as _OF_WEFT
from .frontend.tensor.names_elsewhere import of_module as _of_module
from .frontend.tensor.names_elsewhere import public as _public
from .frontend.transformations import custom as _custom
from .frontend.transformations import jacobians as _jacobians
from .frontend.transformations.checkpoint import checkpoint as checkpoint
from .frontend.transformations.function import Function as Function
from .frontend.transformations.host import host_call as host_call
from .frontend.transformations.vmap import vmap as vmap
from .inspection.audit.audit import audit as audit
from .inspection.documents.report import report as report
from .inspection.drawing.draw import draw as draw
from .inspection.dumps.dump import dump as dump
from .inspection.explain.explain import explain as explain
from .inspection.explain.explain import one_kernel as one_kernel
from .inspection.layout.layout import layout as layout
from .inspection.profile.profile import profile as profile
from .inspection.summary.summary import summary as summary
from .ir.graph import dtype as _dt
from .ir.graph.dtype import DType as DType
from .runtime.memory.devices import Kinds as _Kinds
from .runtime.memory.devices import available as _available
from .version import __version__ as __version__

check_grad, enable_grad, grad, no_grad = (
    _gradient.check_grad,
    _gradient.enable_grad,
    _gradient.grad,
    _gradient.no_grad,
)
jvp, value_and_grad, vjp = _derivatives.jvp, _derivatives.value_and_grad, _derivatives.vjp
custom_jvp, custom_vjp = _custom.custom_jvp, _custom.custom_vjp
hessian, jacfwd, jacrev, linearize = (
    _jacobians.hessian,
    _jacobians.jacfwd,
    _jacobians.jacrev,
    _jacobians.linearize,
)
hessian_vector_product = _derivatives.hessian_vector_product
scan, fori_loop, while_loop, map = (
    _loops.scan,
    _loops.fori_loop,
    _loops.while_loop,
    _loops.map,
)
cond, switch = _branches.cond, _branches.switch
bool_, bfloat16, float16, float32, float64 = (
    _dt.bool_,
    _dt.bfloat16,
    _dt.float16,
    _dt.float32,
    _dt.float64,
)
complex64, complex128 = _dt.complex64, _dt.complex128
int8, int16, int32, int64 = _dt.int8, _dt.int16, _dt.int32, _dt.int64
uint8, uint16, uint32, uint64 = _dt.uint8, _dt.uint16, _dt.uint32, _dt.uint64
e, inf, nan, pi = _math.e, _math.inf, _math.nan, _math.pi
newaxis = None  # x[:, wf.newaxis] has a new axis of extent 1

_FOLDERS = (
    "array_api",
    "codegen",
    "commands",
    "compiler",
    "frontend",
    "inspection",
    "ir",
    "fft",
    "linalg",
    "nn",
    "runtime",
)
_LAZY = {name: f".{name}" for name in (*_FOLDERS, "options")}
_LAZY["cuda"] = ".frontend.modes.gpus"


def devices() -> list[str]:
    """The devices on which Tensors can be computed: "cpu", and each GPU that PyCUDA finds,
    "cuda:0"."""
    return _available()


def _show(program: _Any, number: int) -> None:
    _import_module(".inspection.dumps.shown", __name__).show(program, number)


_Above.backward = _backward
_Above.array_api = _partial(_import_module, ".array_api", __name__)
_Above.numpy_functions = _partial(_import_module, ".frontend.numpy_functions", __name__)
_Above.show = _show
_Kinds.by_name = _KINDS
globals()["__all__"] = ["__version__", "errors", *_public(globals())]
_missing = _of_module(__name__, _OF_WEFT, _LAZY)


def __getattr__(name: str) -> _Any:
    __tracebackhide__ = True
    return _import_module(_LAZY[name], __name__) if name in _LAZY else _missing(name)
