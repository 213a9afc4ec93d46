"""The steps of an expression. In: the Node of a result. Out: Steps with values and gradients.

Values are computed by the machine code that the compiler makes, all of them in one program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ... import errors
from ...frontend.lazy import realize
from ...frontend.tensor.tensor import bare
from ...ir.gradient import gradient as grad
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, full, toposort
from ...ir.graph.op import Op
from ...ir.graph.site import cell_of, provenance, site_text
from ..names.labels import owner_name
from .formulas import backward, formula, word

MOST_STEPS = 200
MOST_BYTES = 1 << 28

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Share:
    """What a step's gradient receives from one use of its value.

    Attributes: `use`, the number of the step that used it; `text`, how it is computed, "g4 / v3";
    `rule`, the local derivative; `value`.
    """

    use: int
    text: str
    rule: str
    value: Array


@dataclass(frozen=True)
class DrawnStep:
    """One value of the graph.

    Attributes: `number`, from 1 in the order of computing; `op`, in a word; `text`, what the user
    wrote for it, or the name of an input, or ""; `formula`, the op with its operands, "v1 * v2";
    `dtype`, `shape`, `value`; `gradient`, that of the sum of the result's elements by this value,
    None where there is none; `shares`, what that is the sum of; `sources`, the numbers of its
    operands that are steps; `line`, (file, line) where it was written.
    """

    number: int
    op: str
    text: str
    formula: str
    dtype: str
    shape: tuple[int, ...]
    value: Array
    gradient: Array | None
    shares: tuple[Share, ...]
    sources: tuple[int, ...]
    line: tuple[str, int] | None

    @property
    def where(self) -> str:
        """The file and line, "" for text that was typed neither in a file nor in a cell."""
        if self.line is None or (self.line[0].startswith("<") and cell_of(self.line[0]) is None):
            return ""
        return site_text(self.line)

    def to_dict(self) -> dict[str, Any]:
        """The same in lists, texts and numbers."""
        named = ("number", "op", "text", "formula", "dtype")
        return {
            **{name: getattr(self, name) for name in named},
            "shape": list(self.shape),
            "sources": list(self.sources),
            "value": self.value.tolist(),
            "gradient": None if self.gradient is None else self.gradient.tolist(),
            "shares": [{**vars(share), "value": share.value.tolist()} for share in self.shares],
        }


def steps_of(root: Node, texts: Mapping[Node, str] | None = None) -> list[DrawnStep]:
    """Every step from the inputs to the result; constants are part of the steps that use them,
    random bits are one step.

    texts: what the user calls a Node. Raises ArgumentError for graphs of more than 200 steps or 256
    MB of values.
    """
    order = toposort([root])
    drawn = _random_bits(order)
    nodes = [n for n in _live(order, drawn) if n is root or not _is_constant(n)]
    _require_small(nodes)
    uses = _Uses(root, nodes)
    with realize.lock:
        tensors = {n: bare(n) for n in (*nodes, *uses.gradients.values(), *uses.shares.values())}
        realize.beside(*tensors.values())
        values = {
            n: realize.read(t, lambda stored: stored.peek().copy()) for n, t in tensors.items()
        }
    numbers = {n: k for k, n in enumerate(nodes, 1)}
    steps = [_step(n, numbers, values, uses, texts or {}) for n in nodes]
    return [
        replace(s, op="random", formula="random bits") if n in drawn else s
        for n, s in zip(nodes, steps, strict=True)
    ]


def _is_constant(n: Node) -> bool:
    return n.op is Op.CONST or (n.op is Op.EXPAND and n.src[0].op is Op.CONST)


def _live(order: list[Node], computed: set[Node]) -> list[Node]:
    """The Nodes that the last one needs, where some are given."""
    live = {order[-1]}
    for n in reversed(order):
        if n in live and n not in computed:
            live.update(n.src)
    return [n for n in order if n in live]


def _random_bits(order: list[Node]) -> set[Node]:
    """What Philox makes by mixing the numbers of the elements with the key and the number of the
    draw, which are 0-d inputs."""
    numbered: set[Node] = set()
    keyed: set[Node] = set()
    mixed: set[Node] = set()
    for n in order:
        if n.op is Op.IOTA or not numbered.isdisjoint(n.src):
            numbered.add(n)
        if n.dtype is not dt.uint64:
            continue
        if (n.op is Op.INPUT and not n.shape) or not keyed.isdisjoint(n.src):
            keyed.add(n)
        if not mixed.isdisjoint(n.src) or (n.op is Op.XOR and n in keyed and n in numbered):
            mixed.add(n)
    return mixed


def _require_small(nodes: list[Node]) -> None:
    if len(nodes) > MOST_STEPS:
        limit = f"at most {MOST_STEPS} are shown with their values"
        what = f"the graph has {len(nodes):,} steps, and {limit}"
        raise errors.ArgumentError(
            f"draw: {what}: take a part of it, "
            "or wf.dump(x, folder), which writes graphs of any size"
        )
    if (size := sum(n.nbytes for n in nodes)) > MOST_BYTES:
        limit = f"at most {MOST_BYTES >> 20} MiB are shown"
        what = f"the values of its steps take {size >> 20:,} MiB, and {limit}"
        raise errors.ArgumentError(f"draw: {what}: take smaller inputs")


def _is_unbounded(n: Node) -> bool:
    """Is it of a loop that has no gradient?"""
    return n.op is Op.LOOP and n.arg[0].is_while and n.arg[0].length is None


def _differentiable(nodes: list[Node]) -> list[Node]:
    """Those that derivatives by an input pass."""
    passed: dict[Node, None] = {}
    for n in nodes:
        if n.dtype.is_float and (
            n.op is Op.INPUT or any(n.src[i] in passed for i in grad.differentiable_by(n))
        ):
            passed[n] = None
    return list(passed)


class _Uses:
    """The backward graph. Attributes: `gradients`, by Node; `shares`, by (user, place of the
    operand) what goes back that way."""

    def __init__(self, root: Node, nodes: list[Node]) -> None:
        self.gradients: dict[Node, Node] = {}
        self.shares: dict[tuple[Node, int], Node] = {}
        if not root.dtype.is_float or any(map(_is_unbounded, nodes)):
            return
        asked = _differentiable(nodes)
        with provenance(root.site):
            gradients = grad.vjp([root], [full(1, root.dtype, root.shape)], asked)
            self.gradients = {n: g for n, g in zip(asked, gradients, strict=True) if g is not None}
            for n, g in self.gradients.items():
                for i in grad.differentiable_by(n):
                    if n.src[i] in self.gradients:
                        share = grad.contribution(n, i, g)
                        self.shares |= {} if share is None else {(n, i): share}

    def of(self, n: Node, nodes: Mapping[Node, int]) -> Iterator[tuple[Node, int, Node]]:
        """(user, place, what goes back) for each use of a Node."""
        return (
            (user, i, g)
            for (user, i), g in self.shares.items()
            if user.src[i] is n and user in nodes
        )


def _step(
    n: Node,
    numbers: Mapping[Node, int],
    values: Mapping[Node, Array],
    uses: _Uses,
    texts: Mapping[Node, str],
) -> DrawnStep:
    name = partial(_name, numbers)
    shares = []
    for user, i, share in uses.of(n, numbers):
        rule = backward(user, i, f"g{numbers[user]}", name)
        shares.append(Share(numbers[user], rule.gives, rule.rule, values[share]))
    gradient = uses.gradients.get(n)
    return DrawnStep(
        numbers[n],
        word(n),
        texts.get(n) or owner_name(n) or "",
        formula(n, name),
        n.dtype.name,
        n.shape,
        values[n],
        None if gradient is None else values[gradient],
        tuple(shares),
        tuple(numbers[s] for s in n.src if s in numbers),
        None if n.site is None else n.site[:2],
    )


def _name(numbers: Mapping[Node, int], n: Node) -> str:
    """v and its number, or a constant as it is."""
    return (
        f"v{numbers[n]}"
        if n in numbers
        else formula(n.src[0] if n.op is Op.EXPAND else n, lambda _: "")
    )
