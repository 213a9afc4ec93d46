"""Ops as formulas. In: a Node, names for its sources. Out: text of its value and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.graph.graph import Node
from ...ir.graph.op import Op

Name = Callable[[Node], str]  # what a Node's value is called


class Backward(NamedTuple):
    """`rule`: the local derivative, in words of a and b, the op's sources. `gives`: what goes back,
    of g and the values."""

    rule: str
    gives: str


def formula(n: Node, name: Name) -> str:
    """What a Node computes: `v1 * v2`, `v3.sum(axis=0)`."""
    template = FORMULAS[n.op]
    text = template if isinstance(template, str) else template(n)
    return text.format(**_named(n, name))


def word(n: Node) -> str:
    """What a Node does, in one word."""
    match n.op:
        case Op.REDUCE:
            return _REDUCED[n.arg[0]]
        case Op.SIN:
            return _WAVES[n.arg].partition("(")[0]
        case Op.EXP | Op.LOG:
            return (_EXPS if n.op is Op.EXP else _LOGS)[n.arg]
        case Op.POLYGAMMA:
            return _polygamma(n.arg, "").partition("(")[0]
    return _WORDS.get(n.op, n.op.value)


_WORDS = {Op.EXPAND: "repeat", Op.SKEW: "windows", Op.KEEP: "contiguous", Op.MAX: "maximum"}
_WORDS |= {Op.SCAN: "cumsum", Op.SCANMUL: "cumprod"}


def backward(n: Node, i: int, g: str, name: Name) -> Backward:
    """The local derivative of a Node by its source i, and what of its gradient, called g, that
    source receives."""
    rules = BACKWARD[n.op]
    row = (rules(n) if callable(rules) else rules)[i]
    assert row is not None  # there is a derivative by this source
    rule, gives = row
    return Backward(rule, gives.format(g=g, y=name(n), **_named(n, name)))


def _named(n: Node, name: Name) -> dict[str, str]:
    return dict(zip("abcdefgh", map(name, n.src), strict=False))


# ---------------------------------------------------------------- arguments as text


def _tuple(items: Any) -> str:
    return ", ".join(map(str, items))


def _axes(axes: Any) -> str:
    axes = tuple(axes)
    return f"axis={axes[0]}" if len(axes) == 1 else f"axis={axes}"


def _slices(n: Node) -> str:
    cuts = zip(n.arg, n.src[0].shape, strict=True)
    parts = (
        f"{a or ''}:{'' if b >= d else b}" + (f":{c}" if c != 1 else "") for (a, b, c), d in cuts
    )
    return "{a}[" + ", ".join(parts) + "]"


_WAVES = ("sin({})", "cos({})", "-sin({})", "-cos({})")
_LOGS = {None: "log", 2: "log2", 10: "log10"}
_EXPS = {None: "exp", 2: "exp2"}
_REDUCED = {"add": "sum", "max": "max", "mul": "prod"}

Text = str | Callable[[Node], str]


def _polygamma(n: int, x: str) -> str:
    return f"polygamma({n}, {x})" if n else f"digamma({x})"


UNARY = (
    "sqrt tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfinv lgamma floor expm1 log1p"
)

FORMULAS: dict[Op, Text] = {
    **{Op(word): word + "({a})" for word in UNARY.split()},
    Op.INPUT: "given",
    Op.CONST: lambda n: f"{n.arg:g}" if n.dtype.is_float else str(n.arg),
    Op.IOTA: lambda n: f"arange({n.arg})",
    Op.NEG: "-{a}",
    Op.EXP: lambda n: _EXPS[n.arg] + "({a})",
    Op.LOG: lambda n: _LOGS[n.arg] + "({a})",
    Op.SIN: lambda n: _WAVES[n.arg].format("{a}"),
    Op.POLYGAMMA: lambda n: _polygamma(n.arg, "{a}"),
    Op.CAST: lambda n: "{a}.to(" + n.arg.name + ")",
    Op.BITCAST: lambda n: "bits of {a} as " + n.arg.name,
    Op.ADD: "{a} + {b}",
    Op.SUB: "{a} - {b}",
    Op.MUL: "{a} * {b}",
    Op.DIV: "{a} / {b}",
    Op.POW: "{a} ** {b}",
    Op.ATAN2: "atan2({a}, {b})",
    Op.HYPOT: "hypot({a}, {b})",
    Op.MAX: "maximum({a}, {b})",
    Op.IDIV: "{a} // {b}",
    Op.MOD: "{a} % {b}",
    Op.LT: "{a} < {b}",
    Op.EQ: "{a} == {b}",
    Op.AND: "{a} & {b}",
    Op.OR: "{a} | {b}",
    Op.XOR: "{a} ^ {b}",
    Op.SHL: "{a} << {b}",
    Op.SHR: "{a} >> {b}",
    Op.WHERE: "where({a}, {b}, {c})",
    Op.REDUCE: lambda n: "{a}." + f"{_REDUCED[n.arg[0]]}({_axes(n.arg[1])})",
    Op.SCAN: lambda n: "{a}." + f"cumsum(axis={n.arg})",
    Op.SCANMUL: lambda n: "{a}." + f"cumprod(axis={n.arg})",
    Op.ARGSORT: lambda n: "{a}." + f"argsort(axis={n.arg[0]})",
    Op.RESHAPE: lambda n: "{a}." + f"reshape({_tuple(n.arg)})",
    Op.PERMUTE: lambda n: "{a}." + f"permute({_tuple(n.arg)})",
    Op.FLIP: lambda n: "{a}." + f"flip({_tuple(n.arg)})",
    Op.SLICE: _slices,
    Op.PAD: lambda n: "{a} among zeros",
    Op.EXPAND: lambda n: "{a} repeated, " + _axes(axis for axis, _ in n.arg),
    Op.SKEW: lambda n: "windows of {a}",
    Op.UNSKEW: lambda n: "{a}, each window at its place",
    Op.GATHER: lambda n: "{a}.take({b}, " + _axes(n.arg) + ")",
    Op.SCATTER: lambda n: "{a} added at {b}, " + _axes(n.arg[0]),
    Op.DETACH: "{a}.detach()",
    Op.KEEP: "{a}.contiguous()",
    Op.COPY: lambda n: "{a}." + f"to({n.arg!r})",
}

# -------------------------------------------- derivatives: a row per op, an entry per source

Rows = tuple[tuple[str, str] | None, ...]


def _derivative(function: str, by: str, gives: str) -> Rows:
    """That of a function of a."""
    return ((f"d {function}/da = {by}", gives),)


def _based(
    n: Node, words: dict[int | None, str], plain: tuple[str, str], scaled: tuple[str, str]
) -> Rows:
    rule, gives = plain if n.arg is None else (text.replace("BASE", str(n.arg)) for text in scaled)
    return _derivative(f"{words[n.arg]}(a)", rule, gives)


def _wave(n: Node) -> Rows:
    slope = _WAVES[(n.arg + 1) % 4]
    return _derivative(_WAVES[n.arg].format("a"), slope.format("a"), "{g} * " + slope.format("{a}"))


def _reduced(n: Node) -> Rows:
    axes = _axes(n.arg[1])
    return {
        "add": (("a sum passes it to all", "{g} repeated, " + axes),),
        "max": (("the greatest gets it", "{g} where {a} is {y}"),),
        "mul": (("the product of the others", "{g} * the others of {a}"),),
    }[n.arg[0]]


def _polygammas(n: Node) -> Rows:
    return _derivative(
        _polygamma(n.arg, "a"), _polygamma(n.arg + 1, "a"), "{g} * " + _polygamma(n.arg + 1, "{a}")
    )


def _moved(back: str) -> Rows:
    return (("moved back", back),)


_SAME = "passed on"

BACKWARD: dict[Op, Rows | Callable[[Node], Rows]] = {
    Op.NEG: _derivative("(-a)", "-1", "-{g}"),
    Op.EXP: lambda n: _based(
        n, _EXPS, ("exp(a)", "{g} * {y}"), ("exp2(a) * log(BASE)", "{g} * {y} * log(BASE)")
    ),
    Op.EXPM1: _derivative("expm1(a)", "exp(a)", "{g} * exp({a})"),
    Op.LOG: lambda n: _based(
        n, _LOGS, ("1 / a", "{g} / {a}"), ("1 / (a * log(BASE))", "{g} / ({a} * log(BASE))")
    ),
    Op.LOG1P: _derivative("log1p(a)", "1 / (1 + a)", "{g} / (1 + {a})"),
    Op.SQRT: _derivative("sqrt(a)", "1 / (2 * sqrt(a))", "{g} / (2 * {y})"),
    Op.SIN: _wave,
    Op.TAN: _derivative("tan(a)", "1 + tan(a)**2", "{g} * (1 + {y}**2)"),
    Op.ASIN: _derivative("asin(a)", "1 / sqrt(1 - a**2)", "{g} / sqrt(1 - {a}**2)"),
    Op.ACOS: _derivative("acos(a)", "-1 / sqrt(1 - a**2)", "-{g} / sqrt(1 - {a}**2)"),
    Op.ATAN: _derivative("atan(a)", "1 / (1 + a**2)", "{g} / (1 + {a}**2)"),
    Op.SINH: _derivative("sinh(a)", "cosh(a)", "{g} * cosh({a})"),
    Op.COSH: _derivative("cosh(a)", "sinh(a)", "{g} * sinh({a})"),
    Op.ASINH: _derivative("asinh(a)", "1 / sqrt(a**2 + 1)", "{g} / sqrt({a}**2 + 1)"),
    Op.ACOSH: _derivative("acosh(a)", "1 / sqrt(a**2 - 1)", "{g} / sqrt({a}**2 - 1)"),
    Op.ATANH: _derivative("atanh(a)", "1 / (1 - a**2)", "{g} / (1 - {a}**2)"),
    Op.TANH: _derivative("tanh(a)", "1 - tanh(a)**2", "{g} * (1 - {y}**2)"),
    Op.ERF: _derivative("erf(a)", "2 / sqrt(pi) * exp(-a**2)", "{g} * 2 / sqrt(pi) * exp(-{a}**2)"),
    Op.ERFINV: _derivative(
        "erfinv(a)", "sqrt(pi) / 2 * exp(erfinv(a)**2)", "{g} * sqrt(pi) / 2 * exp({y}**2)"
    ),
    Op.LGAMMA: _derivative("lgamma(a)", "digamma(a)", "{g} * digamma({a})"),
    Op.POLYGAMMA: _polygammas,
    Op.FLOOR: _derivative("floor(a)", "0", "0"),
    Op.CAST: ((_SAME, "{g} in the dtype of {a}"),),
    Op.ADD: (("d(a + b)/da = 1", "{g}"), ("d(a + b)/db = 1", "{g}")),
    Op.SUB: (("d(a - b)/da = 1", "{g}"), ("d(a - b)/db = -1", "-{g}")),
    Op.MUL: (("d(a * b)/da = b", "{g} * {b}"), ("d(a * b)/db = a", "{g} * {a}")),
    Op.DIV: (("d(a / b)/da = 1 / b", "{g} / {b}"), ("d(a / b)/db = -a / b**2", "-{g} * {y} / {b}")),
    Op.POW: (
        ("d a**b/da = b * a**(b - 1)", "{g} * {b} * {a}**({b} - 1)"),
        ("d a**b/db = a**b * log(a)", "{g} * {y} * log({a})"),
    ),
    Op.ATAN2: (
        ("d atan2(a, b)/da = b / (a**2 + b**2)", "{g} * {b} / ({a}**2 + {b}**2)"),
        ("d atan2(a, b)/db = -a / (a**2 + b**2)", "-{g} * {a} / ({a}**2 + {b}**2)"),
    ),
    Op.HYPOT: (
        ("d hypot(a, b)/da = a / hypot(a, b)", "{g} * {a} / {y}"),
        ("d hypot(a, b)/db = b / hypot(a, b)", "{g} * {b} / {y}"),
    ),
    Op.MAX: (
        ("the greater gets it", "{g} where {a} >= {b}"),
        ("the greater gets it", "{g} where {b} >= {a}"),
    ),
    Op.MOD: (
        ("d(a % b)/da = 1", "{g}"),
        ("d(a % b)/db = -floor(a / b)", "-{g} * floor({a} / {b})"),
    ),
    Op.WHERE: (
        None,
        ("where the condition holds", "{g} where {a}"),
        ("where it does not hold", "{g} where not {a}"),
    ),
    Op.REDUCE: _reduced,
    Op.SCAN: lambda n: (("in all later sums", "{g}.cumsum from the end, " + f"axis={n.arg}"),),
    Op.SCANMUL: (("in all later products", "{g} * the others of {a}, summed"),),
    Op.RESHAPE: lambda n: _moved("{g}." + f"reshape({_tuple(n.src[0].shape)})"),
    Op.PERMUTE: lambda n: _moved(
        "{g}." + f"permute({_tuple(n.arg.index(axis) for axis in range(n.ndim))})"
    ),
    Op.FLIP: lambda n: _moved("{g}." + f"flip({_tuple(n.arg)})"),
    Op.SLICE: _moved("{g} among zeros"),
    Op.PAD: _moved("{g} without the border"),
    Op.EXPAND: lambda n: (
        ("used many times: summed", "{g}.sum(" + _axes(axis for axis, _ in n.arg) + ")"),
    ),
    Op.SKEW: _moved("{g}, each window at its place"),
    Op.UNSKEW: _moved("windows of {g}"),
    Op.GATHER: (("back to what was read", "{g} added at {b}"),),
    Op.SCATTER: (("back to what was added", "{g}.take({b})"),),
    Op.KEEP: ((_SAME, "{g}"),),
    Op.COPY: ((_SAME, "{g} where {a} is"),),
}
