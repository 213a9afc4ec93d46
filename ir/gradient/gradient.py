"""Reverse-mode differentiation. In: outputs, their cotangents, the Nodes asked for. Out: cotangent Nodes, or None.

RULES has one vector-Jacobian rule per op and source, written in the ops of the Graph, so any order of
derivative is free.

A branch of WHERE that was not taken contributes exactly 0, whatever its local derivatives are:
1. The cotangent of a branch is kept as (value, mask). Elementwise rules are linear in the cotangent, so
   they work on the bare value, and the mask is applied after the product: where(c, g * f'(x), 0). No
   0 * inf is formed, at any order, and nothing is added to graphs without WHERE.
2. The mask is applied before a view, a reduction or a sum with other cotangents. What comes out may hold
   such zeros at places known only at run time ("tainted"), and rules of SINGULAR ops guard against
   0 * inf and 0 / 0 there: where(g == 0 and p is NaN, 0, p) for a product p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import e, log, pi, prod, sqrt
from typing import NamedTuple

from ..graph import dtype as dt
from ..graph.graph import Node, cast, expand, full, node, permute, reduce, reshape, shaped, used, zeros_like
from ..graph.op import BITWISE, COMPARE, ELEMENTWISE, LEAVES, Op
from ..graph.rewrite import constant_of
from ..graph.site import gradient_of, provenance

# a rule takes (node, cotangent of the node) to the cotangent of one source
Rule = Callable[[Node, Node], Node]

NO_GRADIENT = LEAVES | COMPARE | BITWISE | {Op.IDIV, Op.BITCAST, Op.DETACH, Op.ARGSORT}
SINGULAR = frozenset(
    {Op.LOG, Op.LOG1P, Op.SQRT, Op.DIV, Op.POW, Op.MOD, Op.ASIN, Op.ACOS, Op.ACOSH, Op.ATANH, Op.ATAN2, Op.HYPOT}
    | {Op.ERFINV, Op.LGAMMA, Op.POLYGAMMA}
)  # derivatives that are not finite at finite arguments
ZERO_FILLING = frozenset({Op.SLICE, Op.SKEW, Op.GATHER})  # their adjoints write zeros between the cotangents


class Cotangent(NamedTuple):
    """`value` where `mask` holds (None: everywhere), else 0. `tainted`: value may hold zeros left by a mask."""

    value: Node
    mask: Node | None = None
    tainted: bool = False

    @property
    def node(self) -> Node:
        return self.value if self.mask is None else _where(self.mask, self.value, zeros_like(self.value))

    @property
    def has_masked_zeros(self) -> bool:
        return self.tainted or self.mask is not None


def grad(loss: Node, wrt: Sequence[Node]) -> list[Node | None]:
    """d sum(loss) / d w for each w, of w's shape; None where w is not a float or loss does not depend on it."""
    return vjp([loss], [full(1, loss.dtype, loss.shape)], wrt)


def vjp(
    outputs: Sequence[Node],
    cotangents: Sequence[Node],
    wrt: Sequence[Node],
    hooks: Mapping[Node, Callable[[Node], Node]] | None = None,
) -> list[Node | None]:
    """sum over outputs of cotangent * d output / d w, for each w; None where no differentiable path leads to w.

    hooks: by Node, what replaces its cotangent once that is complete, for the Node itself and for everything before it.
    """
    found: dict[Node, Cotangent] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        seed, old = Cotangent(cotangent), found.get(output)
        found[output] = seed if old is None else _sum(old, seed)
    results: dict[Node, Node] = {}
    asked = set(wrt)
    hooks = hooks or {}
    active = _active(outputs, asked)
    with provenance(None) as here:
        for n in reversed(active):
            g = found.pop(n, None)
            if g is None:
                continue
            here.move(gradient_of(n.site))
            if n in hooks:
                g = _hooked(g, hooks[n])
            if n in asked:
                results[n] = (_moved(g, _home(n)) if used else g).node
            for i in DIFFERENTIABLE.get(n.op, ()):
                s = n.src[i]
                if s in active:
                    new = _pull(n, i, g)
                    if used:
                        new = _moved(new, s.device)
                    old = found.get(s)
                    found[s] = new if old is None else _sum(old, new)
    return [_at_home(results.get(w), w.device) if used else results.get(w) for w in wrt]


def _at_home(g: Node | None, device: str | None) -> Node | None:
    """A cotangent that no value went into is where its Node is: read on its own, it would be wherever new data go."""
    return node(Op.COPY, (g,), device) if g is not None and g.device is None and device is not None else g


def _hooked(g: Cotangent, hook: Callable[[Node], Node]) -> Cotangent:
    old = g.node
    new = hook(old)
    return g if new is old else Cotangent(new, None, g.has_masked_zeros)


def _active(outputs: Sequence[Node], wrt: set[Node]) -> dict[Node, None]:
    """The float Nodes between `wrt` and the outputs through which a derivative passes, sources first."""
    active: dict[Node, None] = {}
    seen: set[Node] = set()
    stack: list[Node | None] = [n for n in reversed(outputs) if n.dtype.kind == "f"]
    while stack:
        n = stack.pop()
        if n is None:  # what lies below the next one is known
            n = stack.pop()
            assert n is not None
            src = n.src
            for i in DIFFERENTIABLE[n.op]:
                if src[i] in active:
                    active[n] = None
                    break
            else:
                if n in wrt:
                    active[n] = None
        elif n not in seen:
            seen.add(n)
            places = DIFFERENTIABLE.get(n.op)
            if places is None:
                if n in wrt:
                    active[n] = None
                continue
            stack += (n, None)
            src = n.src
            for i in places[::-1]:
                if src[i] not in seen and src[i].dtype.kind == "f":
                    stack.append(src[i])
    return active


def _sum(a: Cotangent, b: Cotangent) -> Cotangent:
    if a.mask is b.mask:
        return Cotangent(_add(a.value, b.value), a.mask, a.tainted and b.tainted)
    return Cotangent(_add(a.node, b.node), None, a.has_masked_zeros and b.has_masked_zeros)


def _pull(n: Node, i: int, g: Cotangent) -> Cotangent:
    """The cotangent that source i of n receives."""
    op, rule = n.op, RULES[n.op][i]
    assert rule is not None
    if op not in ELEMENTWISE:
        fills = op in ZERO_FILLING or (op is Op.REDUCE and n.arg[0] == "max")
        return Cotangent(rule(n, g.node), None, g.has_masked_zeros or fills)
    value = rule(n, g.value)
    if g.tainted and _is_singular(n):
        value = _guarded(g.value, value)
    if op in MASKS:
        mask = MASKS[op](n, i)
        return Cotangent(value, mask if g.mask is None else node(Op.AND, (mask, g.mask)), g.tainted)
    return Cotangent(value, g.mask, g.tainted)


def contribution(n: Node, i: int, g: Node) -> Node:
    """What source i of n receives of a cotangent g of n: with that of its other uses, its own cotangent."""
    return _pull(n, i, Cotangent(g)).node


def _moved(g: Cotangent, device: str | None) -> Cotangent:
    """The cotangent on a device; one that is on none goes along."""
    places = {g.value.device, None if g.mask is None else g.mask.device}
    if device is None or places <= {None, device}:
        return g
    return Cotangent(node(Op.COPY, (g.node,), device), None, g.has_masked_zeros)


def _home(n: Node) -> str | None:
    """Where the gradient of a Node belongs: on the CPU, for a 0-d value in its memory, which goes along with any device."""
    return "cpu" if n.op is Op.INPUT and not n.shape and n.device is None else n.device


def _is_singular(n: Node) -> bool:
    """May the derivative not be finite at finite arguments?"""
    if n.op not in SINGULAR:
        return False
    known = constant_of(n.src[-1])
    return known is None or (n.op in (Op.DIV, Op.ATAN2, Op.HYPOT) and known == 0) or (n.op is Op.POW and known < 1)


def _guarded(g: Node, product: Node) -> Node:
    """The product, but 0 where it is NaN only because g is 0."""
    is_nan = _not(node(Op.EQ, (product, product)))
    g_is_zero = node(Op.EQ, (g, zeros_like(g)))
    return _where(node(Op.AND, (is_nan, g_is_zero)), zeros_like(g), product)


# ---------------------------------------------------------------- short names for the rules


def _add(a: Node, b: Node) -> Node:
    return shaped(Op.ADD, (a, b), None, a.dtype, a.shape)


def _sub(a: Node, b: Node) -> Node:
    return shaped(Op.SUB, (a, b), None, a.dtype, a.shape)


def _mul(a: Node, b: Node) -> Node:
    return shaped(Op.MUL, (a, b), None, a.dtype, a.shape)


def _div(a: Node, b: Node) -> Node:
    return shaped(Op.DIV, (a, b), None, a.dtype, a.shape)


def _pow(a: Node, b: Node) -> Node:
    return shaped(Op.POW, (a, b), None, a.dtype, a.shape)


def _neg(a: Node) -> Node:
    return shaped(Op.NEG, (a,), None, a.dtype, a.shape)


def _exp(a: Node) -> Node:
    return node(Op.EXP, (a,))


def _sqrt(a: Node) -> Node:
    return node(Op.SQRT, (a,))


def _where(c: Node, a: Node, b: Node) -> Node:
    return shaped(Op.WHERE, (c, a, b), None, a.dtype, a.shape)


def _eq(a: Node, b: Node) -> Node:
    return shaped(Op.EQ, (a, b), None, dt.bool_, a.shape)


def _lt(a: Node, b: Node) -> Node:
    return shaped(Op.LT, (a, b), None, dt.bool_, a.shape)


def _not(c: Node) -> Node:
    return node(Op.XOR, (c, full(True, dt.bool_, c.shape)))


def _like(value: float, x: Node) -> Node:
    return full(value, x.dtype, x.shape)


def _flip(x: Node, axis: int) -> Node:
    return node(Op.FLIP, (x,), (axis,))


def _same(_: Node, g: Node) -> Node:
    return g


# ---------------------------------------------------------------- rules longer than a line


def _pow_base(n: Node, g: Node) -> Node:
    """b * a^(b-1), which is 0 for b = 0 also where a^(b-1) is not finite."""
    a, b = n.src
    match constant_of(b):
        case 0.0:
            return zeros_like(g)
        case 1.0:
            return g
        case 2.0:
            return _mul(g, _add(a, a))
        case 0.5:
            return _div(_mul(g, _like(0.5, g)), n)
    slope = _mul(b, _pow(a, _sub(b, _like(1, b))))
    if constant_of(b) is None:
        slope = _where(_eq(b, zeros_like(b)), zeros_like(b), slope)
    return _mul(g, slope)


def _pow_exponent(n: Node, g: Node) -> Node:
    """a^b * log(a), which is 0 for a = 0 and b >= 0."""
    a, b = n.src
    flat = node(Op.AND, (_eq(a, zeros_like(a)), _not(_lt(b, zeros_like(b)))))
    return _mul(g, _mul(n, node(Op.LOG, (_where(flat, _like(1, a), a),))))


def _scaled(x: Node, factor: float) -> Node:
    return x if factor == 1 else _mul(x, _like(factor, x))


def _one_minus_square(x: Node) -> Node:
    """1 - x^2, accurate near 1."""
    return _mul(_sub(_like(1, x), x), _add(_like(1, x), x))


def _other_leg(x: Node) -> Node:
    """sqrt(1 - x^2)."""
    return _sqrt(_one_minus_square(x))


def _polar(n: Node, i: int) -> Node:
    """Source i over the squared distance from the origin, without overflow."""
    distance = node(Op.HYPOT, n.src)
    return _div(_div(n.src[i], distance), distance)


def _max_share(n: Node, g: Node) -> Node:
    """Equal operands get half each; MASKS keeps the cotangent from the lesser one."""
    return _where(_eq(*n.src), _mul(g, _like(0.5, g)), g)


def _max_mask(n: Node, i: int) -> Node:
    return _not(_lt(n.src[i], n.src[1 - i]))


def _where_mask(n: Node, i: int) -> Node:
    return n.src[0] if i == 1 else _not(n.src[0])


def _unreduce(n: Node, y: Node) -> Node:
    """y, of the shape of the REDUCE n, repeated over the axes that n reduces."""
    return expand(y, tuple((axis, n.src[0].shape[axis]) for axis in n.arg[1]))


def _reduce_rule(n: Node, g: Node) -> Node:
    kind, axes = n.arg
    x = n.src[0]
    match kind:
        case "add":
            return _unreduce(n, g)
        case "mul":
            return _mul(_unreduce(n, g), _product_of_others(x, axes))
    largest = _eq(x, _unreduce(n, n))
    ties = reduce("add", cast(largest, g.dtype), axes)
    return _where(largest, _unreduce(n, _div(g, ties)), zeros_like(x))


def _product_of_others(x: Node, axes: tuple[int, ...]) -> Node:
    """At each element the product of all other elements along `axes`: no division, so zeros are right."""
    order = tuple(a for a in range(x.ndim) if a not in axes) + axes
    moved = permute(x, order)
    kept = moved.shape[: x.ndim - len(axes)]
    flat = reshape(moved, (*kept, x.size // max(1, prod(kept))))
    last = flat.ndim - 1
    others = _mul(_product_before(flat), _flip(_product_before(_flip(flat, last)), last))
    return permute(reshape(others, moved.shape), tuple(order.index(a) for a in range(x.ndim)))


def _product_before(x: Node) -> Node:
    """Along the last axis, the product of the elements before each one, by doubling."""
    out, step = _shifted(x, 1), 1
    while step < x.shape[-1]:
        out, step = _mul(out, _shifted(out, step)), 2 * step
    return out


def _shifted(x: Node, by: int) -> Node:
    """x moved by places towards the end of the last axis; ones come in."""
    *rest, extent = x.shape
    by = min(by, extent)
    whole = [(0, d, 1) for d in rest]
    kept = node(Op.SLICE, (x,), (*whole, (0, extent - by, 1)))
    moved = node(Op.PAD, (kept,), (*((0, 0, 0) for _ in rest), (by, 0, 0)))
    position = expand(node(Op.IOTA, arg=extent), tuple(enumerate(rest)))
    return _where(_lt(position, full(by, dt.int64, x.shape)), _like(1, x), moved)


def _running_product_rule(n: Node, g: Node) -> Node:
    """That of the same product by doubling: no division, so zeros are right."""
    x, axis = n.src[0], n.arg
    order = (*(a for a in range(x.ndim) if a != axis), axis)
    out, step = permute(x, order), 1
    while step < x.shape[axis]:
        out, step = _mul(out, _shifted(out, step)), 2 * step
    (found,) = vjp([out], [permute(g, order)], [x])
    assert found is not None  # out depends on x
    return found


def _slice_rule(n: Node, g: Node) -> Node:
    margins = []
    for d, length, (start, _, step) in zip(n.src[0].shape, g.shape, n.arg, strict=True):
        used = (length - 1) * step + 1 if length else 0
        margins.append((start, d - start - used, step - 1))
    return node(Op.PAD, (g,), tuple(margins))


def _pad_rule(n: Node, g: Node) -> Node:
    cuts = []
    for d, (lo, _, interior) in zip(n.src[0].shape, n.arg, strict=True):
        cuts.append((lo, lo + (d - 1) * (interior + 1) + 1 if d else lo, interior + 1))
    return node(Op.SLICE, (g,), tuple(cuts))


def _permute_rule(n: Node, g: Node) -> Node:
    return permute(g, tuple(n.arg.index(axis) for axis in range(g.ndim)))


# ---------------------------------------------------------------- the table: one rule per source, None where there is no gradient

RULES: dict[Op, tuple[Rule | None, ...]] = {
    Op.NEG: (lambda n, g: _neg(g),),
    Op.EXP: (lambda n, g: _mul(g, _scaled(n, log(n.arg or e))),),
    Op.EXPM1: (lambda n, g: _mul(g, _exp(n.src[0])),),
    Op.LOG: (lambda n, g: _div(g, _scaled(n.src[0], log(n.arg or e))),),
    Op.LOG1P: (lambda n, g: _div(g, _add(_like(1, g), n.src[0])),),
    Op.SQRT: (lambda n, g: _div(_mul(g, _like(0.5, g)), n),),
    Op.SIN: (lambda n, g: _mul(g, node(Op.SIN, n.src, (n.arg + 1) % 4)),),
    Op.TAN: (lambda n, g: _mul(g, _add(_like(1, g), _mul(n, n))),),
    Op.ASIN: (lambda n, g: _div(g, _other_leg(n.src[0])),),
    Op.ACOS: (lambda n, g: _neg(_div(g, _other_leg(n.src[0]))),),
    Op.ATAN: (lambda n, g: _div(g, _add(_like(1, g), _mul(n.src[0], n.src[0]))),),
    Op.SINH: (lambda n, g: _mul(g, node(Op.COSH, n.src)),),
    Op.COSH: (lambda n, g: _mul(g, node(Op.SINH, n.src)),),
    Op.ASINH: (lambda n, g: _div(g, node(Op.HYPOT, (n.src[0], _like(1, g)))),),
    Op.ACOSH: (lambda n, g: _div(g, _mul(*(_sqrt(_add(n.src[0], _like(one, g))) for one in (-1, 1)))),),
    Op.ATANH: (lambda n, g: _div(g, _one_minus_square(n.src[0])),),
    Op.TANH: (lambda n, g: _mul(g, _sub(_like(1, g), _mul(n, n))),),
    Op.ERF: (lambda n, g: _mul(g, _mul(_like(2 / sqrt(pi), g), _exp(_neg(_mul(n.src[0], n.src[0]))))),),
    Op.ERFINV: (lambda n, g: _mul(g, _mul(_like(sqrt(pi) / 2, g), _exp(_mul(n, n)))),),
    Op.LGAMMA: (lambda n, g: _mul(g, node(Op.POLYGAMMA, n.src, 0)),),
    Op.POLYGAMMA: (lambda n, g: _mul(g, node(Op.POLYGAMMA, n.src, n.arg + 1)),),
    Op.FLOOR: (lambda n, g: zeros_like(g),),
    Op.CAST: (lambda n, g: cast(g, n.src[0].dtype),),
    Op.ADD: (_same, _same),
    Op.SUB: (_same, lambda n, g: _neg(g)),
    Op.MUL: (lambda n, g: _mul(g, n.src[1]), lambda n, g: _mul(g, n.src[0])),
    Op.DIV: (lambda n, g: _div(g, n.src[1]), lambda n, g: _neg(_div(_mul(g, n), n.src[1]))),
    Op.POW: (_pow_base, _pow_exponent),
    Op.ATAN2: (lambda n, g: _mul(g, _polar(n, 1)), lambda n, g: _neg(_mul(g, _polar(n, 0)))),
    Op.HYPOT: (lambda n, g: _mul(g, _div(n.src[0], n)), lambda n, g: _mul(g, _div(n.src[1], n))),
    Op.MAX: (_max_share, _max_share),
    Op.MOD: (_same, lambda n, g: _neg(_mul(g, node(Op.FLOOR, (_div(*n.src),))))),
    Op.WHERE: (None, _same, _same),
    Op.REDUCE: (_reduce_rule,),
    Op.SCAN: (lambda n, g: _flip(node(Op.SCAN, (_flip(g, n.arg),), n.arg), n.arg),),
    Op.SCANMUL: (_running_product_rule,),
    Op.RESHAPE: (lambda n, g: reshape(g, n.src[0].shape),),
    Op.PERMUTE: (_permute_rule,),
    Op.FLIP: (lambda n, g: node(Op.FLIP, (g,), n.arg),),
    Op.SLICE: (_slice_rule,),
    Op.PAD: (_pad_rule,),
    Op.EXPAND: (lambda n, g: reduce("add", g, (axis for axis, _ in n.arg)),),
    Op.SKEW: (lambda n, g: node(Op.UNSKEW, (g,), n.arg),),
    Op.UNSKEW: (lambda n, g: node(Op.SKEW, (g,), n.arg),),
    Op.GATHER: (lambda n, g: node(Op.SCATTER, (g, *n.src[1:]), (n.arg, n.src[0].shape)),),
    Op.SCATTER: (lambda n, g: node(Op.GATHER, (g, *n.src[1:]), n.arg[0]),),
    Op.KEEP: (_same,),
    Op.COPY: (_same,),  # `_moved` takes the cotangent back
}
DIFFERENTIABLE = {op: tuple(i for i, rule in enumerate(rules) if rule is not None) for op, rules in RULES.items()}

# where an elementwise op passes its cotangent on to source i
MASKS: dict[Op, Callable[[Node, int], Node]] = {Op.WHERE: _where_mask, Op.MAX: _max_mask}
