"""The record of an elementwise op: all that the package knows about it but its expansion and its
public name.

In: what a theme (ir/ops/hyperbolic.py and its like) says of an op. Out: a Record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph.graph import Node
from ..graph.op import Op
from .values import Evaluator, rounded

Rule = Callable[[Node, Node], Node]  # (Node, its cotangent) -> the cotangent of one of its sources
Text = str | Callable[[Node], str]  # the same for every Node of an op, or by its `arg`


class Derivative(NamedTuple):
    """The derivative of an op by one of its sources, linear in the cotangent."""

    rule: Rule
    words: Text  # the derivative, in words of a and b, the sources
    gives: Text  # what the source receives, of {g}, the cotangent, {y}, the value, and {a} and {b}
    mask: Callable[[Node], Node] | None = None  # where the source receives it, if not everywhere


def nowhere(_: float) -> bool:
    return False


class Record(NamedTuple):
    """An elementwise op. What a line leaves out has the value given here."""

    op: Op
    value: Evaluator  # what it is, in NumPy
    derivatives: tuple[Derivative | None, ...]  # by each source; none at all: no derivative passes
    text: Text  # its value as a formula of {a}, {b} and {c}, the sources
    sources: int = 1
    cost: int = 1  # operations per element, relative to an addition
    infix: tuple[str, int] | None = None  # its sign between operands, and how tightly that binds
    expanded: bool = False  # into basic ops, by codegen/math/expand.py
    keeps_finite: bool = False  # finite operands give finite results
    passes_on: int = 0  # where one of the first so many operands is not finite, the result is not
    singular: bool = False  # the derivative may not be finite at finite operands
    singular_at: Callable[[float], bool] = (
        nowhere  # may it where the last operand is this constant?
    )
    domain: str = "small"  # operands that tests draw: a domain of tests/kit/opspec.py


def said(text: Text, n: Node) -> str:
    """A text of a Node."""
    return text if isinstance(text, str) else text(n)


def unary(
    op: Op, value: Evaluator, rule: Rule, slope: Text, gives: Text, text: Text = "", **facts: Any
) -> Record:
    """A function of one operand, whose derivative is `slope` in words."""
    text = text or op.value + "({a})"

    def words(n: Node) -> str:
        return f"d {said(text, n).format(a='a')}/da = {said(slope, n)}"

    return Record(op, value, (Derivative(rule, words, gives),), text, **facts)


def function(
    op: Op, numpy: Callable[..., Any], rule: Rule, slope: Text, gives: Text, **facts: Any
) -> Record:
    """One that is expanded; its reference computes in float64 and rounds once."""
    return unary(op, rounded(numpy), rule, slope, gives, expanded=True, **facts)


def infix(
    op: Op, sign: str, level: int, value: Evaluator, *derivatives: Derivative, **facts: Any
) -> Record:
    """An op that stands between its two operands."""
    return Record(op, value, derivatives, f"{{a}} {sign} {{b}}", 2, infix=(sign, level), **facts)


def same(_: Node, g: Node) -> Node:
    """The rule of what passes its cotangent on."""
    return g
