"""The closed op set of Nodes, and its groups. Loop bodies use the same Node class with the ops of
the last group."""

from __future__ import annotations

from enum import Enum

MIXED = "mixed"  # operands of several dtypes


class Op(Enum):
    """The closed op set. Comments give `arg`; an op without a comment has none.

    An elementwise op names the kinds of dtype that its operands may have, all of them the same
    dtype, and the kind of its value if that differs.
    """

    _value_: str
    kinds: str
    gives: str

    def __new__(cls, name: str, kinds: str = "", gives: str = "") -> Op:
        op = object.__new__(cls)
        op._value_, op.kinds, op.gives = name, kinds, gives
        return op

    INPUT = "input"  # serial number of the leaf
    CONST = "const"  # a Python bool, int or float; shape ()
    IOTA = "iota"  # n: 0, 1 .. n-1 as int64
    COMPLEX = "complex", "f", "c"  # of a real and an imaginary part; ir/passes/complex_pairs.py
    REAL = "real", "c", "f"  # ends these, and all values of complex dtypes: no kernel has one
    IMAG = "imag", "c", "f"
    NEG = "neg", "iufc"
    EXP = "exp", "f"  # base: None for e, or 2
    EXPM1 = "expm1", "f"
    LOG = "log", "f"  # base: None for e, 2 or 10
    LOG1P = "log1p", "f"
    SQRT = "sqrt", "f"
    SIN = "sin", "f"  # quarter turns k in 0..3: sin(x + k pi/2), so 1 is cos
    TAN = "tan", "f"
    ASIN = "asin", "f"
    ACOS = "acos", "f"
    ATAN = "atan", "f"
    SINH = "sinh", "f"
    COSH = "cosh", "f"
    TANH = "tanh", "f"
    ASINH = "asinh", "f"
    ACOSH = "acosh", "f"
    ATANH = "atanh", "f"
    ERF = "erf", "f"
    ERFINV = "erfinv", "f"
    LGAMMA = "lgamma", "f"  # log|Gamma|
    # n: the nth derivative of digamma, 0 being digamma, the derivative of LGAMMA
    POLYGAMMA = (
        "polygamma",
        "f",
    )
    FLOOR = "floor", "f"
    CAST = "cast", MIXED  # target DType; float to int truncates and saturates, NaN gives 0
    BITCAST = "bitcast", MIXED  # target DType of the same width
    ADD = "add", "iufc"
    SUB = "sub", "iufc"
    MUL = "mul", "iufc"  # graph.DEVIATION for the square of a distance from a mean, else nothing
    DIV = "div", "f"
    POW = "pow", "f"
    ATAN2 = "atan2", "f"  # the angle of (x, y) = (src[1], src[0])
    HYPOT = "hypot", "f"
    MAX = "max", "iuf"  # NaN if either is NaN
    IDIV = "idiv", "iu"  # floors; x // 0 is 0
    MOD = "mod", "iuf"  # sign of the divisor; integer x % 0 is 0
    LT = "lt", "biuf", "b"
    EQ = "eq", "biuf", "b"
    AND = "and", "biu"  # bitwise
    OR = "or", "biu"
    XOR = "xor", "biu"
    SHL = "shl", "iu"  # by the width or more: 0
    SHR = "shr", "iu"  # arithmetic for signed; by the width or more: 0 or the sign
    WHERE = "where", MIXED
    REDUCE = "reduce"  # ("add" | "max" | "mul", axes ascending); drops the axes
    SCAN = "scan"  # axis; running sum
    SCANMUL = "scanmul"  # axis; running product
    # (axis, descending): int64 places of the elements in stable order, NaN greatest, -0.0 equal to
    # 0.0
    ARGSORT = "argsort"
    # None, or the name of the function that it is part of: x with a @ x = b, of a: (.., n, n) and
    # b: (.., n, m) over the same leading axes
    SOLVE = "solve"
    # the lower factor l with l @ l.T = a, of the lower triangle of a: (.., n, n)
    CHOLESKY = "cholesky"
    # (axis, forward, turns, shape): Fourier transforms along an axis of pairs, the parts of complex
    # numbers along a last axis (ir/ops/transforms.py), whose results, in row-major order, have that
    # shape; made by ir/passes/transforms.py, for a back end with kernels of it
    FFT = "fft"
    RESHAPE = "reshape"  # new shape
    PERMUTE = "permute"  # axis order
    FLIP = "flip"  # axes ascending
    SLICE = "slice"  # per axis (start, stop, step), step >= 1
    PAD = (
        "pad"  # per axis (lo, hi, interior): zeros before, after and between; the adjoint of SLICE
    )
    EXPAND = "expand"  # ((axis, extent), ...) new axes at these positions of the result
    SKEW = "skew"  # (n, k, d): out[o, k] = x[o + k*d, k]
    UNSKEW = "unskew"  # (n, k, d): out[n, k] = x[n - k*d, k] or 0
    # axes: out[o, rest] = x[.., idx_k[o], ..]; result shape idx.shape + remaining axes
    GATHER = "gather"
    # (axes, shape): the adjoint of GATHER, adds; with a third "max": the greatest integer
    SCATTER = "scatter"
    # axes: src[0], but src[1] at the place on these that 0-d indices, the other sources, choose
    PUT = "put"
    DETACH = "detach"
    # a hint: materialise this value; a second source: not before that is known
    KEEP = "keep"
    # device: the same value in its memory; ends at frontend/lazy/transfers.py, no kernel has one
    COPY = "copy"
    # (region.Loop, number): that result of a loop; sources: captured values, first carries, slices
    LOOP = "loop"
    # (region.Branch, number): that result of the Graph chosen by the first source
    BRANCH = "branch"
    # (routine.Routine, number): that result of a library's routine, which the program calls
    # (ir/ops/routines.py); sources: matrices
    ROUTINE = "routine"
    # (region.CustomVjp, number): that source, which has a gradient of its own; sources: results,
    # inputs, what the gradient uses; ends at ir/passes/custom_gradients.py, no kernel has one
    CUSTOM_VJP = "custom_vjp"
    # (host.HostCall, number): that result of a Python function, which is called between programs
    # (frontend/lazy/host_calls.py): no program has one
    HOST = "host"
    # (place, dtype, shape): what other parts of a Graph make of these, while it is in parts:
    # ir/parts
    ELSEWHERE = "elsewhere"
    # loop level only, never in a Graph
    VAR = "var"  # an Index: its value as int64
    LOAD = "load"  # (Buf, Index, mask): the element, 0 where the mask does not hold
    FMA = "fma"  # a*b + c rounded once
    LDEXP = "ldexp"  # x * 2**n, n an integer of x's width
    ANY = "any"  # bool: does it hold in any lane

    __hash__ = object.__hash__


LEAVES = frozenset({Op.INPUT, Op.CONST, Op.IOTA})
ELEMENTWISE = frozenset(op for op in Op if op.kinds)  # each has a record: ir/ops/table.py
HINTS = frozenset({Op.DETACH, Op.KEEP})
SCANS = {Op.SCAN: "add", Op.SCANMUL: "mul"}  # the reduction that each runs
VIEWS = frozenset(
    {Op.RESHAPE, Op.PERMUTE, Op.FLIP, Op.SLICE, Op.PAD, Op.EXPAND, Op.SKEW, Op.UNSKEW}
)
SYSTEMS = frozenset({Op.SOLVE, Op.CHOLESKY})  # of linear equations, each by itself
INDEXED = frozenset({Op.GATHER, Op.SCATTER, Op.PUT})
# steps of several results: with Graphs inside (region.py), or in a library (routine.py)
REGIONAL = frozenset({Op.LOOP, Op.BRANCH, Op.ROUTINE})
JOINT = REGIONAL | {Op.CUSTOM_VJP}  # one of several results, whose gradient is that of all
LOOP_ONLY = frozenset({Op.VAR, Op.LOAD, Op.FMA, Op.LDEXP, Op.ANY})
COMPLEX_PARTS = frozenset({Op.COMPLEX, Op.REAL, Op.IMAG})
OF_GRAPHS = frozenset(Op) - LOOP_ONLY - {Op.ELSEWHERE, Op.FFT}  # what a program's Graph may have
