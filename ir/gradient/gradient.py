"""Reverse-mode differentiation. In: outputs, their cotangents, the Nodes asked for. Out: cotangent
Nodes, or None.

The vector-Jacobian rules of elementwise ops stand in their records (ir/ops/), those of the others
in ir/gradient/rules.py. They are written in the ops of the Graph, so any order of derivative is
free.

A branch of WHERE that was not taken contributes exactly 0, whatever its local derivatives are:
1. The cotangent of a branch is kept as (value, mask). Elementwise rules are linear in the
   cotangent, so they work on the bare value, and the mask is applied after the product: where(c, g
   * f'(x), 0). No 0 * inf is formed, at any order, and nothing is added to graphs without WHERE.
2. The mask is applied before a view, a reduction or a sum with other cotangents. What comes out may
   hold such zeros at places known only at run time ("tainted"), and rules of singular ops guard
   against 0 * inf and 0 / 0 there: where(g == 0 and p is NaN, 0, p) for a product p.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

from ... import errors
from ..graph.graph import Node, at_home, full, node, used, zeros_like
from ..graph.op import JOINT, Op
from ..graph.region import Place, shared, together
from ..graph.rewrite import constant_of
from ..graph.site import gradient_of, provenance
from ..ops.nodes import add, negated, where
from ..ops.table import RECORDS
from .regions import pulled
from .rules import OF_FIRST, running_product
from .slices import is_part, joined

# their adjoints write zeros between the cotangents
ZERO_FILLING = frozenset({Op.SLICE, Op.SKEW, Op.GATHER, Op.PUT})


class Cotangent(NamedTuple):
    """`value` where `mask` holds (None: everywhere), else 0. `tainted`: value may hold zeros left
    by a mask."""

    value: Node
    mask: Node | None = None
    tainted: bool = False

    @property
    def node(self) -> Node:
        return (
            self.value
            if self.mask is None
            else where(self.mask, self.value, zeros_like(self.value))
        )

    @property
    def has_masked_zeros(self) -> bool:
        return self.tainted or self.mask is not None


def grad(loss: Node, wrt: Sequence[Node]) -> list[Node | None]:
    """d sum(loss) / d w for each w, of w's shape; None where w is not a float or loss does not
    depend on it."""
    return vjp([loss], [full(1, loss.dtype, loss.shape)], wrt)


def vjp(
    outputs: Sequence[Node],
    cotangents: Sequence[Node],
    wrt: Sequence[Node],
    hooks: Mapping[Node, Callable[[Node], Node]] | None = None,
    tainted: bool = False,
) -> list[Node | None]:
    """sum over outputs of cotangent * d output / d w, for each w; None where no differentiable path
    leads to w.

    hooks: by Node, what replaces its cotangent once that is complete, for the Node itself and for
    everything before it. tainted: the cotangents may hold zeros left by a mask.
    """
    cotangent_of: dict[Node, Cotangent] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        seed, old = Cotangent(cotangent, None, tainted), cotangent_of.get(output)
        cotangent_of[output] = seed if old is None else _sum(old, seed)
    parts_of: dict[Node, list[Node]] = {}  # cotangents of slices
    results: dict[Node, Node] = {}
    asked = set(wrt)
    hooks = hooks or {}
    active = _active(outputs, asked)
    of_regions = {k: (results[0], _Results()) for k, results in together(active, JOINT).items()}

    def receive(s: Node, new: Cotangent) -> None:
        if used:
            new = _moved(new, s.device)
        old = cotangent_of.get(s)
        cotangent_of[s] = new if old is None else _sum(old, new)

    with provenance(None) as here:
        for n in reversed(active):
            first, region = of_regions[shared(n)] if n.op in JOINT else (None, None)
            if n not in cotangent_of and n not in parts_of:
                if region is not None and n is first:
                    here.move(gradient_of(n.site))
                    region.pull(n, active, receive)
                continue
            here.move(gradient_of(n.site))
            wholes = [Cotangent(whole, None, True) for whole in joined(parts_of.pop(n, ()))]
            g = reduce(_sum, [cotangent_of.pop(n), *wholes] if n in cotangent_of else wholes)
            if n in hooks:
                g = _hooked(g, hooks[n])
            if n.op is Op.HOST and not active.keys().isdisjoint(n.src):
                raise errors.GradientError(
                    f"the host_call of {n.arg[0].name} has no gradient: pass one, or detach its"
                    " arguments"
                )
            if n in asked:
                results[n] = (_moved(g, _home(n)) if used else g).node
            if region is not None:
                region.add(n, g)
                if n is first:
                    region.pull(n, active, receive)
                continue
            for i in DIFFERENTIABLE.get(n.op, ()):
                s = n.src[i]
                if s in active:
                    new = _pull(n, i, g)
                    if n.op is Op.SLICE and is_part(new.value):
                        value = _moved(new, s.device).value if used else new.value
                        parts_of.setdefault(s, []).append(value)
                        continue
                    receive(s, new)
    found = [results.get(w) for w in wrt]
    return [g and at_home(g, w.device) for g, w in zip(found, wrt, strict=True)] if used else found


class _Results:
    """The cotangents of the results of one loop or branch."""

    def __init__(self) -> None:
        self._of: dict[int, Node] = {}

    def add(self, n: Node, g: Cotangent) -> None:
        """That of one result."""
        self._of[n.arg[1]] = g.node

    def pull(
        self, n: Node, active: Collection[Node], receive: Callable[[Node, Cotangent], None]
    ) -> None:
        """Gives the sources of the results, of which n is one, their cotangents."""
        if not self._of:
            return
        # an iteration may lead to none of the results that count, whose cotangents are 0 then
        found = pulled(n, self._of, partial(vjp, tainted=True))
        for s, g in zip(n.src, found, strict=True):
            if g is not None and s in active:
                receive(s, Cotangent(g, None, True))


def _hooked(g: Cotangent, hook: Callable[[Node], Node]) -> Cotangent:
    old = g.node
    new = hook(old)
    return g if new is old else Cotangent(new, None, g.has_masked_zeros)


def _active(outputs: Sequence[Node], wrt: set[Node]) -> dict[Node, None]:
    """The float Nodes between `wrt` and the outputs through which a derivative passes, sources
    first."""
    active: dict[Node, None] = {}
    seen: set[Node] = set()
    stack: list[Node | None] = [n for n in reversed(outputs) if n.dtype.kind in "fc"]
    while stack:
        n = stack.pop()
        if n is None:  # what lies below the next one is known
            n = stack.pop()
            assert n is not None
            src = n.src
            for i in differentiable_by(n):
                if src[i] in active:
                    active[n] = None
                    break
            else:
                if n in wrt:
                    active[n] = None
        elif n not in seen:
            seen.add(n)
            places = differentiable_by(n)
            if not places:
                if n in wrt:
                    active[n] = None
                continue
            stack += (n, None)
            src = n.src
            for i in places[::-1]:
                if src[i] not in seen and src[i].dtype.kind in "fc":
                    stack.append(src[i])
    return active


def differentiable_by(n: Node) -> Sequence[int]:
    """The sources by which a Node can be differentiated."""
    if n.op in JOINT:
        first = n.arg[0].results if n.op is Op.CUSTOM_VJP else 0
        last = n.arg[0].captured if n.op is Op.CUSTOM_VJP else len(n.src)
        return [i for i in range(first, last) if n.src[i].dtype.is_inexact]
    if n.op is Op.HOST:  # where a derivative meets it, that is an error
        return [i for i, s in enumerate(n.src) if s.dtype.is_inexact]
    return DIFFERENTIABLE.get(n.op, ())


def _sum(a: Cotangent, b: Cotangent) -> Cotangent:
    if a.mask is b.mask:
        return Cotangent(add(a.value, b.value), a.mask, a.tainted and b.tainted)
    return Cotangent(add(a.node, b.node), None, a.has_masked_zeros and b.has_masked_zeros)


def _pull(n: Node, i: int, g: Cotangent) -> Cotangent:
    """The cotangent that source i of n receives."""
    if n.op not in RECORDS:
        fills = n.op in ZERO_FILLING or (n.op is Op.REDUCE and n.arg[0] == "max")
        pulled = _of_what_was_put(n, g.node) if i else RULES[n.op](n, g.node)
        return Cotangent(pulled, None, g.has_masked_zeros or fills)
    derivative = RECORDS[n.op].derivatives[i]
    assert derivative is not None
    value = derivative.rule(n, g.value)
    if g.tainted and _is_singular(n):
        value = _guarded(g.value, value)
    if derivative.mask is None:
        return Cotangent(value, g.mask, g.tainted)
    mask = derivative.mask(n)
    return Cotangent(value, mask if g.mask is None else node(Op.AND, (mask, g.mask)), g.tainted)


def contribution(n: Node, i: int, g: Node) -> Node | None:
    """What source i of n receives of a cotangent g of n: with that of its other uses, its own
    cotangent. None for a source that a loop or branch passes nothing to."""
    if n.op in JOINT:
        return pulled(n, {n.arg[1]: g}, partial(vjp, tainted=True))[i]
    return _pull(n, i, Cotangent(g)).node


def _moved(g: Cotangent, device: str | None) -> Cotangent:
    """The cotangent on a device; one that is on none goes along."""
    places = {g.value.device, None if g.mask is None else g.mask.device}
    if device is None or places <= {None, device}:
        return g
    return Cotangent(node(Op.COPY, (g.node,), device), None, g.has_masked_zeros)


def _home(n: Node) -> str | None:
    """Where the gradient of a Node belongs: on the CPU, for a 0-d value in its memory, which goes
    along with any device."""
    in_memory = n.op is Op.INPUT and not isinstance(n.arg, Place)
    return "cpu" if in_memory and not n.shape and n.device is None else n.device


def _is_singular(n: Node) -> bool:
    """May the derivative not be finite at finite arguments?"""
    record, known = RECORDS[n.op], constant_of(n.src[-1])
    return record.singular and (known is None or record.singular_at(known))


def _guarded(g: Node, product: Node) -> Node:
    """The product, but 0 where it is NaN only because g is 0."""
    is_nan = negated(node(Op.EQ, (product, product)))
    g_is_zero = node(Op.EQ, (g, zeros_like(g)))
    return where(node(Op.AND, (is_nan, g_is_zero)), zeros_like(g), product)


def _running_product(n: Node, g: Node) -> Node:
    """The rule of SCANMUL: that of the same product by doubling: no division, so zeros are
    right."""
    x = n.src[0]
    (gradient,) = vjp([running_product(x, n.arg)], [g], [x])
    assert gradient is not None  # out depends on x
    return gradient


def _of_what_was_put(n: Node, g: Node) -> Node:
    """The rule of the second source of PUT."""
    return node(Op.GATHER, (g, *n.src[2:]), n.arg)


RULES = OF_FIRST | {Op.SCANMUL: _running_product}
DIFFERENTIABLE = (
    dict.fromkeys(RULES, (0,))
    | {Op.PUT: (0, 1)}
    | {  # by which sources
        op: tuple(i for i, by in enumerate(r.derivatives) if by)
        for op, r in RECORDS.items()
        if r.derivatives
    }
)
