"""Ops as formulas. In: a Node, names for its sources. Out: text of its value and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.graph.graph import Node
from ...ir.graph.op import REGIONAL, Op
from ...ir.ops.record import Text, said
from ...ir.ops.table import RECORDS
from ..names.labels import called, sliced

Name = Callable[[Node], str]  # what a Node's value is called


class Backward(NamedTuple):
    """`rule`: the local derivative, in words of a and b, the op's sources. `gives`: what goes back,
    of g and the values."""

    rule: str
    gives: str


def formula(n: Node, name: Name) -> str:
    """What a Node computes: `v1 * v2`, `v3.sum(axis=0)`."""
    return said(FORMULAS[n.op], n).format(**_named(n, name))


def word(n: Node) -> str:
    """What a Node does, in one word."""
    if n.op is Op.REDUCE:
        return _REDUCED[n.arg[0]]
    return called(n) if n.op in RECORDS else _WORDS.get(n.op, n.op.value)


_WORDS = {Op.EXPAND: "repeat", Op.SKEW: "windows", Op.KEEP: "contiguous"}
_WORDS |= {Op.SCAN: "cumsum", Op.SCANMUL: "cumprod"}


def backward(n: Node, i: int, g: str, name: Name) -> Backward:
    """The local derivative of a Node by its source i, and what of its gradient, called g, that
    source receives."""
    if n.op is Op.CUSTOM_VJP:
        return Backward(f"the {n.arg[0]}", f"what it makes of {g}")
    if n.op is Op.ROUTINE:
        return Backward(f"the rule of {n.arg[0].name}", f"what it makes of {g}")
    if n.op in REGIONAL:
        return Backward("through each iteration or branch", f"{g} back through {name(n)}")
    row = BACKWARD[n.op][i]
    assert row is not None  # there is a derivative by this source
    rule, gives = (said(text, n) for text in row)
    return Backward(rule, gives.format(g=g, y=name(n), **_named(n, name)))


def _named(n: Node, name: Name) -> dict[str, str]:
    return dict(zip("abcdefgh", map(name, n.src), strict=False))


# ---------------------------------------------------------------- arguments as text


def _tuple(items: Any) -> str:
    return ", ".join(map(str, items))


def _axes(axes: Any) -> str:
    axes = tuple(axes)
    return f"axis={axes[0]}" if len(axes) == 1 else f"axis={axes}"


_REDUCED = {"add": "sum", "max": "max", "mul": "prod"}

FORMULAS: dict[Op, Text] = {
    **{r.op: r.text for r in RECORDS.values()},
    Op.INPUT: "given",
    Op.CONST: lambda n: f"{n.arg:g}" if n.dtype.is_float else str(n.arg),
    Op.IOTA: lambda n: f"arange({n.arg})",
    Op.REDUCE: lambda n: "{a}." + f"{_REDUCED[n.arg[0]]}({_axes(n.arg[1])})",
    Op.SCAN: lambda n: "{a}." + f"cumsum(axis={n.arg})",
    Op.SCANMUL: lambda n: "{a}." + f"cumprod(axis={n.arg})",
    Op.ARGSORT: lambda n: "{a}." + f"argsort(axis={n.arg[0]})",
    Op.SOLVE: "solve({a}, {b})",
    Op.CHOLESKY: "cholesky({a})",
    Op.RESHAPE: lambda n: "{a}." + f"reshape({_tuple(n.arg)})",
    Op.PERMUTE: lambda n: "{a}." + f"permute({_tuple(n.arg)})",
    Op.FLIP: lambda n: "{a}." + f"flip({_tuple(n.arg)})",
    Op.SLICE: lambda n: "{a}" + sliced(n),
    Op.PAD: lambda n: "{a} among zeros",
    Op.EXPAND: lambda n: "{a} repeated, " + _axes(axis for axis, _ in n.arg),
    Op.SKEW: lambda n: "windows of {a}",
    Op.UNSKEW: lambda n: "{a}, each window at its place",
    Op.GATHER: lambda n: "{a}.take({b}, " + _axes(n.arg) + ")",
    Op.SCATTER: lambda n: "{a} added at {b}, " + _axes(n.arg[0]),
    Op.PUT: lambda n: "{a} with {b} at {c}, " + _axes(n.arg),
    Op.DETACH: "{a}.detach()",
    Op.KEEP: "{a}.contiguous()",
    Op.COPY: lambda n: "{a}." + f"to({n.arg!r})",
    Op.LOOP: lambda n: f"result {n.arg[1]} of a loop, {n.arg[0]}",
    Op.ROUTINE: lambda n: f"result {n.arg[1]} of {n.arg[0]} of {{a}}",
    Op.HOST: lambda n: f"result {n.arg[1]} of a {n.arg[0]}",
    Op.CUSTOM_VJP: lambda n: f"value {n.arg[1]}, with the {n.arg[0]}",
    Op.BRANCH: lambda n: f"result {n.arg[1]} of {n.arg[0]}, as {{a}} says",
}

# -------------------------------------------- derivatives: a row per op, an entry per source

Row = tuple[tuple[Text, Text] | None, ...]
_REDUCTIONS = {  # words, and what goes back
    "add": ("a sum passes it to all", "{g} repeated, AXES"),
    "max": ("the greatest gets it", "{g} where {a} is {y}"),
    "mul": ("the product of the others", "{g} * the others of {a}"),
}


def _reduced(n: Node) -> str:
    return _REDUCTIONS[n.arg[0]][1].replace("AXES", _axes(n.arg[1]))


def _moved(back: Text) -> Row:
    return (("moved back", back),)


BACKWARD: dict[Op, Row] = {
    **{
        r.op: tuple(d and (d.words, d.gives) for d in r.derivatives)
        for r in RECORDS.values()
        if r.derivatives
    },
    Op.REDUCE: ((lambda n: _REDUCTIONS[n.arg[0]][0], _reduced),),
    Op.SCAN: (("in all later sums", lambda n: "{g}.cumsum from the end, " + f"axis={n.arg}"),),
    Op.SCANMUL: (("in all later products", "{g} * the others of {a}, summed"),),
    Op.RESHAPE: _moved(lambda n: "{g}." + f"reshape({_tuple(n.src[0].shape)})"),
    Op.PERMUTE: _moved(
        lambda n: "{g}." + f"permute({_tuple(n.arg.index(axis) for axis in range(n.ndim))})"
    ),
    Op.FLIP: _moved(lambda n: "{g}." + f"flip({_tuple(n.arg)})"),
    Op.SLICE: _moved("{g} among zeros"),
    Op.PAD: _moved("{g} without the border"),
    Op.EXPAND: (
        ("used many times: summed", lambda n: "{g}.sum(" + _axes(axis for axis, _ in n.arg) + ")"),
    ),
    Op.SKEW: _moved("{g}, each window at its place"),
    Op.UNSKEW: _moved("windows of {g}"),
    Op.GATHER: (("back to what was read", "{g} added at {b}"),),
    Op.SCATTER: (("back to what was added", "{g}.take({b})"),),
    Op.PUT: (("all else", "{g} without what was put"), ("what was put", "{g}.take({c})")),
    Op.KEEP: (("passed on", "{g}"),),
    Op.COPY: (("passed on", "{g} where {a} is"),),
}
