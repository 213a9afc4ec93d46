"""The closed op set of Nodes, and its parts. Loop bodies use the same Node class with the ops of the last group."""

from __future__ import annotations

from enum import Enum


class Op(Enum):
    """The closed op set. Comments give `arg`; an op without a comment has none."""

    INPUT = "input"  # serial number of the leaf
    CONST = "const"  # a Python bool, int or float; shape ()
    IOTA = "iota"  # n: 0, 1 .. n-1 as int64
    NEG = "neg"
    EXP = "exp"  # base: None for e, or 2
    EXPM1 = "expm1"
    LOG = "log"  # base: None for e, 2 or 10
    LOG1P = "log1p"
    SQRT = "sqrt"
    SIN = "sin"  # quarter turns k in 0..3: sin(x + k pi/2), so 1 is cos
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    ERF = "erf"
    ERFINV = "erfinv"
    LGAMMA = "lgamma"  # log|Gamma|
    POLYGAMMA = "polygamma"  # n: the nth derivative of digamma, 0 being digamma, the derivative of LGAMMA
    FLOOR = "floor"
    CAST = "cast"  # target DType; float to int truncates and saturates, NaN gives 0
    BITCAST = "bitcast"  # target DType of the same width
    ADD = "add"
    SUB = "sub"
    MUL = "mul"  # graph.DEVIATION for the square of a distance from a mean, else nothing
    DIV = "div"  # floats only
    POW = "pow"  # floats only
    ATAN2 = "atan2"  # floats only: the angle of (x, y) = (src[1], src[0])
    HYPOT = "hypot"  # floats only
    MAX = "max"  # NaN if either is NaN
    IDIV = "idiv"  # integers, floors; x // 0 is 0
    MOD = "mod"  # integers and floats, sign of the divisor; integer x % 0 is 0
    LT = "lt"
    EQ = "eq"
    AND = "and"  # bool and integers, bitwise
    OR = "or"
    XOR = "xor"
    SHL = "shl"  # by the width or more: 0
    SHR = "shr"  # arithmetic for signed; by the width or more: 0 or the sign
    WHERE = "where"
    REDUCE = "reduce"  # ("add" | "max" | "mul", axes ascending); drops the axes
    SCAN = "scan"  # axis; running sum
    SCANMUL = "scanmul"  # axis; running product
    ARGSORT = "argsort"  # (axis, descending): int64 places of the elements in stable order, NaN greatest, -0.0 equal to 0.0
    RESHAPE = "reshape"  # new shape
    PERMUTE = "permute"  # axis order
    FLIP = "flip"  # axes ascending
    SLICE = "slice"  # per axis (start, stop, step), step >= 1
    PAD = "pad"  # per axis (lo, hi, interior): zeros before, after and between; the adjoint of SLICE
    EXPAND = "expand"  # ((axis, extent), ...) new axes at these positions of the result
    SKEW = "skew"  # (n, k, d): out[o, k] = x[o + k*d, k]
    UNSKEW = "unskew"  # (n, k, d): out[n, k] = x[n - k*d, k] or 0
    GATHER = "gather"  # axes: out[o, rest] = x[.., idx_k[o], ..]; result shape idx.shape + remaining axes
    SCATTER = "scatter"  # (axes, shape): the adjoint of GATHER, adds; with a third "max": the greatest integer
    DETACH = "detach"
    KEEP = "keep"  # a hint: materialise this value
    COPY = "copy"  # device: the same value in its memory; ends at frontend/lazy/transfers.py, no kernel has one
    # loop level only, never in a Graph
    VAR = "var"  # an Index: its value as int64
    LOAD = "load"  # (Buf, Index, mask): the element, 0 where the mask does not hold
    FMA = "fma"  # a*b + c rounded once
    LDEXP = "ldexp"  # x * 2**n, n an integer of x's width
    ANY = "any"  # bool: does it hold in any lane

    __hash__ = object.__hash__


LEAVES = frozenset({Op.INPUT, Op.CONST, Op.IOTA})
TRANSCENDENTAL_UNARY = frozenset(
    {Op.EXP, Op.EXPM1, Op.LOG, Op.LOG1P, Op.SIN, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.ERF, Op.ERFINV}
    | {Op.SINH, Op.COSH, Op.TANH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.LGAMMA, Op.POLYGAMMA}
)
TRANSCENDENTAL_BINARY = frozenset({Op.POW, Op.ATAN2, Op.HYPOT})
TRANSCENDENTAL = TRANSCENDENTAL_UNARY | TRANSCENDENTAL_BINARY  # expanded by codegen/math/expand.py
UNARY = TRANSCENDENTAL_UNARY | {Op.NEG, Op.SQRT, Op.FLOOR, Op.CAST, Op.BITCAST}
ARITHMETIC = TRANSCENDENTAL_BINARY | {Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MAX, Op.IDIV, Op.MOD}
BITWISE = frozenset({Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR})
COMPARE = frozenset({Op.LT, Op.EQ})
BINARY = ARITHMETIC | BITWISE | COMPARE
ELEMENTWISE = UNARY | BINARY | {Op.WHERE}
HINTS = frozenset({Op.DETACH, Op.KEEP})
SCANS = {Op.SCAN: "add", Op.SCANMUL: "mul"}  # the reduction that each runs
VIEWS = frozenset({Op.RESHAPE, Op.PERMUTE, Op.FLIP, Op.SLICE, Op.PAD, Op.EXPAND, Op.SKEW, Op.UNSKEW})
INDEXED = frozenset({Op.GATHER, Op.SCATTER})
LOOP_ONLY = frozenset({Op.VAR, Op.LOAD, Op.FMA, Op.LDEXP, Op.ANY})
