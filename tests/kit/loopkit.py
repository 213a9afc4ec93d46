"""Hand-built Loops for tests. In: a few letters of notation. Out: statements, whole kernels, and
three ways to run them."""

import ctypes

import numpy as np
from weft.codegen.llvm.build import compile_text
from weft.codegen.llvm.emit import emit, phase_name
from weft.codegen.llvm.target import named
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import const, node, scalar_node
from weft.ir.graph.index import Gathered, Index, Range, Var, var
from weft.ir.graph.op import Op
from weft.ir.loops.interp import run
from weft.ir.loops.loop import (
    GLOBAL,
    GRID,
    LANES,
    REG,
    SCRATCH,
    SERIAL,
    UNROLL,
    Alloc,
    Buf,
    Check,
    For,
    If,
    Loops,
    Param,
    Prefetch,
    Reduce,
    Store,
)
from weft.ir.loops.verify import verify
from weft.runtime.native import load_object

__all__ = [
    "GLOBAL", "GRID", "LANES", "REG", "SCRATCH", "SERIAL", "UNROLL",
    "Alloc", "Buf", "Check", "For", "Gathered", "If", "Index", "Loops", "Op", "Param", "Prefetch",
    "Range", "Reduce", "Store",
    "Var",
    "argument", "check_kernel", "compiled", "const", "dt", "f32", "gemm_tile", "i64", "interpreted",
    "kernel", "lanes", "load",
    "op", "serial", "unroll", "value_of", "var",
]  # fmt: skip
f32, i64 = dt.float32, dt.int64
CLEAR = (1 << 64) - 1


def argument(name, dtype=f32, size=0):
    return Buf(name, dtype, size, GLOBAL)


def load(buf, index=0, *mask):
    return scalar_node(Op.LOAD, (), (buf, _index(index), tuple(mask)), buf.dtype)


def value_of(index):
    return scalar_node(Op.VAR, (), _index(index), i64)


def op(which, *src, arg=None, dtype=None):
    """A Node of any op; loop-level ops need their dtype."""
    return scalar_node(which, src, arg, dtype) if dtype else node(which, src, arg)


def _index(i):
    return i if isinstance(i, Index) else var(i) if isinstance(i, Var) else Index(const=i)


def _loop(kind, v, *body, **more):
    extent = more.pop("extent", v.extent)
    return For(v, extent, kind, list(body), **more)


def lanes(v, *body, **more):
    return _loop(LANES, v, *body, **more)


def serial(v, *body, **more):
    return _loop(SERIAL, v, *body, **more)


def unroll(v, *body, **more):
    return _loop(UNROLL, v, *body, **more)


def kernel(buffers, *body, chunk=None, params=(), name="k"):
    """One phase; `chunk` is its grid variable."""
    return Loops(name, tuple(buffers), tuple(params), [_loop(GRID, chunk or Var("g", 1), *body)])


def gemm_tile(m, n, k, dtype=f32, k_unroll=1):
    a, b, c = (argument(name, dtype) for name in "abc")
    i, j, p, q = Var("i", m), Var("j", n), Var("p", k // k_unroll), Var("q", k_unroll)
    acc, at = Buf("acc", dtype, m * n, REG), var(p) * k_unroll + var(q)
    product = op(Op.MUL, load(a, var(i) * k + at), load(b, at * n + var(j)))
    return kernel(
        [a, b, c],
        Alloc(acc, 0.0),
        serial(p, unroll(q, unroll(i, lanes(j, Reduce(acc, var(i) * n + var(j), "add", product))))),
        unroll(i, lanes(j, Store(c, var(i) * n + var(j), load(acc, var(i) * n + var(j))))),
        name="tile",
    )


# ---------------------------------------------------------------- running


def interpreted(loops, arrays, params=()):
    """Copies of the arrays after the interpreter ran, and the failed checks."""
    copies = [a.copy() for a in arrays]
    return copies, run(loops, [c.reshape(-1) for c in copies], params)


def compiled(loops, arrays, target, params=(), keep=None, in_place=()):
    """Copies of the arrays after the machine code ran, and the status block. `in_place`: pairs of
    arguments with one memory."""
    target = named(target)
    code = compile_text(emit(loops, target), target, keep)
    names = [phase_name(loops, i) for i in range(len(loops.phases))]
    library = load_object(code, names)
    copies, status = [a.copy() for a in arrays], np.array([CLEAR, 0], np.uint64)
    for o, i in in_place:
        copies[o] = copies[i]
    context = np.array(
        [c.ctypes.data for c in copies] + list(params) + [status.ctypes.data], np.uint64
    )
    for name, phase in zip(names, loops.phases, strict=True):
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
            library[name]
        )
        for chunk in range(
            phase.extent
            if isinstance(phase.extent, int)
            else params[loops.params.index(phase.extent)]
        ):
            call(context.ctypes.data, chunk, 0)
    library.release()
    return copies, status


def check_kernel(loops, arrays, expected, target, params=(), rtol=0.0):
    """Interpreter and machine code both turn the arrays into `expected` (None: do not care)."""
    verify(loops)
    for results in (
        interpreted(loops, arrays, params)[0],
        compiled(loops, arrays, target, params)[0],
    ):
        for got, want in zip(results, expected, strict=True):
            if want is not None:
                _assert_same(got, want, rtol)


def _assert_same(got, want, rtol):
    want = np.asarray(want)
    assert got.dtype == want.dtype
    if got.dtype.kind == "V":  # NumPy does not know that two NaNs of bfloat16 are alike
        got, want = got.astype(np.float32), want.astype(np.float32)
    if rtol:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, want)
        if got.dtype.kind == "f":
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])
