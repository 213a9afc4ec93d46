"""Expressions: one function per op. In: a loop-level Node and a group of lanes. Out: its value as
an LLVM scalar or vector.

Semantics are those of DESIGN section 3: IEEE floats as in NumPy, wrapping integers, nothing that
traps.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.loops.walk import SLOW, usual_operands
from . import memory
from .access import Function
from .combine import fused, maximum
from .lanes import Scope, both, index_bits, scalar_index, vector_index
from .target import Target
from .values import Val, const_text, elem_type, suffix
from .writer import Writer


class EmitError(ValueError):
    """Loops that this emitter cannot translate: `verify` and math.expand come first."""


# ---------------------------------------------------------------- evaluation


def evaluate(fn: Function, root: Node, group: int) -> Val:
    """The value of a Node in one group of lanes; what is known already is not written again."""
    values: dict[Node, Val] = {}
    # walk.in_order would do; with a call for each operand, emission took 5 % longer
    stack = [] if _is_known(fn, root, group, values) else [root]
    while stack:
        n = stack[-1]
        missing = [
            o for o in usual_operands(n) if o not in values and not _is_known(fn, o, group, values)
        ]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if n not in values:
            values[n] = fn.writer.remember(
                fn.scope.key(n, group), _compute(fn, n, group, values), fn.buffers_of(n)
            )
    return values[root]


def _is_known(fn: Function, n: Node, group: int, values: dict[Node, Val]) -> bool:
    """Whether n has a value at this place; it is then among `values`."""
    value = (
        Val(const_text(n.arg, n.dtype), elem_type(n.dtype))
        if n.op is Op.CONST
        else fn.scope.value(n, group)
    )
    if value is not None:
        values[n] = value
    return value is not None


def _compute(fn: Function, n: Node, group: int, values: dict[Node, Val]) -> Val:
    match n.op:
        case Op.LOAD:
            return memory.load(fn, n, group)
        case Op.VAR:
            return _index_value(fn.scope, n, group)
        case Op.ANY:
            return _any_active(fn.scope, values[n.src[0]], group)
        case Op.WHERE if n.arg == SLOW:
            return _rare_where(fn, n, group, values[n.src[0]], values[n.src[2]])
    if n.op not in OPS:
        raise EmitError(f"{n.op.value} has no instruction: expand it first")
    return OPS[n.op](
        Context(fn.writer, fn.target, n), *fn.writer.same_lanes(*(values[s] for s in n.src))
    )


def _index_value(scope: Scope, n: Node, group: int) -> Val:
    lanes = scope.lanes
    if lanes is None or lanes.stride(n.arg) == 0:
        return scalar_index(scope, n.arg, group)
    narrow = vector_index(scope, n.arg, group, index_bits(n.arg))
    return narrow if narrow.type == "i64" else scope.writer.convert("sext", narrow, "i64")


def _any_active(scope: Scope, cond: Val, group: int) -> Val:
    tail = scope.lanes.tails[group] if scope.lanes else None
    live = both(scope.writer, cond, tail) if cond.w > 1 else cond
    assert live is not None
    return scope.writer.any_lane(live)


def _rare_where(fn: Function, n: Node, group: int, cond: Val, fast: Val) -> Val:
    """select(cond, slow, fast), the slow operand under a branch that some lane must take."""
    w = fn.writer
    wide = w.same_lanes(cond, fast)[0].w
    if fn.scope.lanes and fn.scope.lanes.varying(n.src[1]):
        wide = max(wide, fn.scope.lanes.w)
    cond, fast = w.splat(cond, wide), w.splat(fast, wide)
    taken = _any_active(fn.scope, cond, group)
    if taken.literal:
        return w.select(cond, evaluate(fn, n.src[1], group), fast)
    before = w.fresh("rare")
    w.branch(before)
    w.label(before)
    with w.when(taken, unlikely=True):
        slow = w.splat(evaluate(fn, n.src[1], group), wide)
        mixed = w.now(f"select {cond}, {slow}, {fast}", fast.type, wide)
        inside = w.here.label
    return w.now(
        f"phi {fast.full} [{mixed.text}, %{inside}], [{fast.text}, %{before}]", fast.type, wide
    )


# ---------------------------------------------------------------- ops


class Context:
    """What an op's function needs to know: the writer, the target, the operand and result
    dtypes."""

    def __init__(self, writer: Writer, target: Target, n: Node) -> None:
        self.w, self.target, self.node = writer, target, n
        self.dtype, self.result = n.src[0].dtype, n.dtype

    @property
    def is_float(self) -> bool:
        return self.dtype.is_float

    @property
    def signed(self) -> bool:
        return self.dtype.kind == "i"

    def const(self, value: float | int, like: Val) -> Val:
        """A literal of the operand's dtype."""
        return Val(const_text(value, self.dtype), like.type)

    def zero(self, like: Val) -> Val:
        return self.const(0, like)


def _binary(int_op: str, float_op: str = "") -> Callable[[Context, Val, Val], Val]:
    return lambda c, a, b: c.w.binary(float_op if c.is_float else int_op, a, b)


def _neg(c: Context, a: Val) -> Val:
    return (
        c.w.pure(f"fneg {a}", a.type, a.w, a)
        if c.is_float
        else c.w.binary("sub", c.w.splat(c.zero(a), a.w), a)
    )


def _shift(c: Context, a: Val, by: Val, op: str, beyond: Val) -> Val:
    """A shift whose amounts of the width or more (negative ones too) give `beyond`."""
    bits = c.dtype.bits
    if _is_below(c.node.src[1], bits):
        return c.w.binary(op, a, by)
    inside = c.w.compare("ult", by, c.const(bits, by))
    return c.w.select(inside, c.w.binary(op, a, c.w.select(inside, by, c.zero(by))), beyond)


def _is_below(n: Node, limit: int) -> bool:
    """Whether n is certainly in [0, limit): a constant, or masked by one."""
    if n.op is Op.AND:
        return any(_is_below(s, limit) for s in n.src if s.op is Op.CONST)
    return n.op is Op.CONST and 0 <= n.arg < limit


def _shr(c: Context, a: Val, by: Val) -> Val:
    if c.signed:
        return _shift(c, a, by, "ashr", c.w.binary("ashr", a, c.const(c.dtype.bits - 1, a)))
    return _shift(c, a, by, "lshr", c.zero(a))


def _divisor(c: Context) -> int | None:
    """A constant divisor that needs no guard."""
    d = c.node.src[1]
    return d.arg if d.op is Op.CONST and d.arg not in (0, -1) else None


def _quotient_and_rest(c: Context, x: Val, y: Val) -> tuple[Val, Val]:
    """Truncated (signed) or floored (unsigned) x / y and its remainder; y = 0 and y = -1 are
    replaced by 1."""
    if _divisor(c) is None:
        special = c.w.compare("eq", y, c.zero(y))
        if c.signed:
            special = c.w.binary("or", special, c.w.compare("eq", y, c.const(-1, y)))
        y = c.w.select(special, c.const(1, y), y)
    q = c.w.binary("sdiv" if c.signed else "udiv", x, y)
    return q, c.w.binary("sub", x, c.w.binary("mul", q, y))


def _rounds_down(c: Context, rest: Val, y: Val) -> Val:
    """Whether truncation went above the floor: a remainder with the sign that y has not."""
    opposite = c.w.compare("slt", c.w.binary("xor", rest, y), c.zero(y))
    return c.w.binary("and", c.w.compare("ne", rest, c.zero(y)), opposite)


def _int_divide(c: Context, x: Val, y: Val) -> Val:
    d = _divisor(c)
    if d is not None and d > 0 and d & (d - 1) == 0:
        return c.w.binary("ashr" if c.signed else "lshr", x, c.const(d.bit_length() - 1, x))
    q, rest = _quotient_and_rest(c, x, y)
    if c.signed:
        q = c.w.select(_rounds_down(c, rest, y), c.w.binary("sub", q, c.const(1, q)), q)
    if d is not None:
        return q
    if c.signed:
        q = c.w.select(
            c.w.compare("eq", y, c.const(-1, y)), c.w.binary("sub", c.w.splat(c.zero(x), x.w), x), q
        )
    return c.w.select(c.w.compare("eq", y, c.zero(y)), c.zero(y), q)


def _int_remainder(c: Context, x: Val, y: Val) -> Val:
    d = _divisor(c)
    if d is not None and d > 0 and d & (d - 1) == 0:
        return c.w.binary("and", x, c.const(d - 1, x))
    _, rest = _quotient_and_rest(c, x, y)
    if c.signed:
        rest = c.w.select(_rounds_down(c, rest, y), c.w.binary("add", rest, y), rest)
    # y = -1 was divided as 1, whose remainder is 0 as well
    return rest if d is not None else c.w.select(c.w.compare("eq", y, c.zero(y)), c.zero(y), rest)


def _float_remainder(c: Context, x: Val, y: Val) -> Val:
    """np.remainder: fmod (a scalar libm call per lane), moved to the sign of the divisor."""
    rest, zero = c.w.binary("frem", x, y), c.zero(y)
    differs = c.w.binary("xor", c.w.compare("olt", y, zero), c.w.compare("olt", rest, zero))
    moved = c.w.select(differs, c.w.binary("fadd", rest, y), rest)
    signed_zero = c.w.call("copysign", c.w.splat(zero, y.w), y)
    moved = c.w.select(c.w.compare("oeq", rest, zero), signed_zero, moved)
    return c.w.select(c.w.compare("oeq", y, zero), rest, moved)


def _fma(c: Context, a: Val, b: Val, d: Val) -> Val:
    """Rounded once; without the instruction, f32 goes through f64 and f64 carries the rounding
    errors along."""
    if c.target.has_fma:
        return fused(c.w, c.target, a, b, d)
    if c.dtype is dt.float32:
        wide = [c.w.convert("fpext", v, "double") for v in (a, b, d)]
        return c.w.convert("fptrunc", fused(c.w, c.target, *wide), "float")
    return _fma_of_parts(c.w, a, b, d)


def _fma_of_parts(w: Writer, a: Val, b: Val, c: Val) -> Val:
    """a*b + c with the errors of the product (Dekker 1971) and the sum (Knuth) added; plain where
    that is not finite."""
    product = w.binary("fmul", a, b)
    (ah, al), (bh, bl) = _halves(w, a), _halves(w, b)
    error = w.binary("fsub", w.binary("fmul", ah, bh), product)
    for x, y in ((ah, bl), (al, bh), (al, bl)):
        error = w.binary("fadd", error, w.binary("fmul", x, y))
    total = w.binary("fadd", product, c)
    part = w.binary("fsub", total, product)
    lost = w.binary(
        "fadd", w.binary("fsub", product, w.binary("fsub", total, part)), w.binary("fsub", c, part)
    )
    rest = w.binary("fadd", error, lost)
    usable = w.compare("one", rest, Val(const_text(0.0, dt.float64), "double"))
    return w.select(usable, w.binary("fadd", total, rest), total)


def _halves(w: Writer, x: Val) -> tuple[Val, Val]:
    """Upper and lower 26 bits of a double, as a sum."""
    scaled = w.binary("fmul", x, Val(const_text(134217729.0, dt.float64), "double"))
    high = w.binary("fsub", scaled, w.binary("fsub", scaled, x))
    return high, w.binary("fsub", x, high)


def _ldexp(c: Context, x: Val, n: Val) -> Val:
    """x * 2**n: one instruction on AVX-512, else two multiplications by powers of two."""
    if not c.target.has_avx512 or x.w == 1:
        return _ldexp_in_two_steps(c, x, n)
    if n.type == "i64":
        bound = [Val(str(v), "i64") for v in (-4096, 4096)]
        n = c.w.convert("trunc", c.w.call("smin", c.w.call("smax", n, bound[0]), bound[1]), "i32")
    return c.w.intrinsic(
        f"llvm.ldexp.{suffix(x.type, x.w)}.{suffix(n.type, n.w)}", x.type, x.w, x, n
    )


def _ldexp_in_two_steps(c: Context, x: Val, n: Val) -> Val:
    mantissa, bias = (23, 127) if x.type == "float" else (52, 1023)

    def literal(value: int) -> Val:
        return Val(str(value), n.type)

    n = c.w.call("smin", c.w.call("smax", n, literal(-2 * bias + 2)), literal(2 * bias))
    half = c.w.binary("ashr", n, literal(1))
    for exponent in (half, c.w.binary("sub", n, half)):
        power = c.w.binary("shl", c.w.add(exponent, literal(bias)), literal(mantissa))
        x = c.w.binary("fmul", x, c.w.convert("bitcast", power, x.type))
    return x


def _bitcast(c: Context, a: Val) -> Val:
    to = elem_type(c.result)
    if to == a.type:
        return a
    if c.result is dt.bool_:
        return c.w.compare("ne", a, c.zero(a))
    return c.w.convert("zext" if c.dtype is dt.bool_ else "bitcast", a, to)


def _cast(c: Context, a: Val) -> Val:
    to = elem_type(c.result)
    if c.result is dt.bool_:
        return (
            a if c.dtype is dt.bool_ else c.w.compare("une" if c.is_float else "ne", a, c.zero(a))
        )
    if c.dtype.is_half or c.result.is_half:
        return _cast_float16(c, a)
    if c.is_float and not c.result.is_float:
        return _saturate(c, a, to)
    op = _cast_op(c.dtype, c.result)
    return c.w.convert(op, a, to) if op else a


def _cast_float16(c: Context, a: Val) -> Val:
    """float16 to or from float32 by the target's instruction; codegen/math/half.py expands all
    other casts of 16-bit floats."""
    if {c.dtype, c.result} != {dt.float16, dt.float32} or not c.target.has_float16:
        raise EmitError(f"a cast from {c.dtype.name} to {c.result.name}: expand it first")
    if c.result is dt.float32:
        return c.w.convert("fpext", c.w.convert("bitcast", a, "half"), "float")
    return c.w.convert("bitcast", c.w.convert("fptrunc", a, "half"), "i16")


def _saturate(c: Context, a: Val, to: str) -> Val:
    """Float to integer: truncates, saturates, NaN gives 0."""
    name = "fptosi" if c.result.kind == "i" else "fptoui"
    return c.w.intrinsic(f"llvm.{name}.sat.{suffix(to, a.w)}.{suffix(a.type, a.w)}", to, a.w, a)


def _cast_op(a: DType, to: DType) -> str | None:
    if a.is_float:
        return None if a is to else "fpext" if a.bits < to.bits else "fptrunc"
    if to.is_float:
        return "sitofp" if a.kind == "i" else "uitofp"
    if a.bits == to.bits:
        return None
    return "trunc" if a.bits > to.bits else "sext" if a.kind == "i" else "zext"


OPS: dict[Op, Callable[..., Val]] = {
    Op.NEG: _neg,
    Op.SQRT: lambda c, a: c.w.call("sqrt", a),
    Op.FLOOR: lambda c, a: c.w.call("floor", a),
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
    Op.ADD: _binary("add", "fadd"),
    Op.SUB: _binary("sub", "fsub"),
    Op.MUL: _binary("mul", "fmul"),
    Op.DIV: _binary("", "fdiv"),
    Op.MAX: lambda c, a, b: maximum(c.w, c.dtype, a, b),
    Op.IDIV: _int_divide,
    Op.MOD: lambda c, a, b: (_float_remainder if c.is_float else _int_remainder)(c, a, b),
    Op.LT: lambda c, a, b: c.w.compare("olt" if c.is_float else "slt" if c.signed else "ult", a, b),
    Op.EQ: lambda c, a, b: c.w.compare("oeq" if c.is_float else "eq", a, b),
    Op.AND: _binary("and"),
    Op.OR: _binary("or"),
    Op.XOR: _binary("xor"),
    Op.SHL: lambda c, a, by: _shift(c, a, by, "shl", c.zero(a)),
    Op.SHR: _shr,
    Op.WHERE: lambda c, cond, yes, no: c.w.select(cond, yes, no),
    Op.FMA: _fma,
    Op.LDEXP: _ldexp,
}
