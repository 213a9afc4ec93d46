"""Complex values as pairs of real ones. In: a Graph, its leaves. Out: the same without complex
dtypes.

before    mul(a, b) of complex64[n]
after     join(ar * br - ai * bi, ar * bi + ai * br)    over leaves of float32[n, 2]

A complex value lies in memory as its parts in turn, along a last axis of extent 2. What only moves
or adds values keeps that axis; all else computes the parts apart, and they meet again in memory. A
product of matrices is one of real matrices of twice the extents:

    [.. ar ai ..] @ [[br, bi], [-bi, br]]

The second factor is stored in that form, so that what is a row of the real matrix is one in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..graph.graph import Node, expand, leaf, node, rebuild, toposort
from ..graph.index import Var, var
from ..graph.op import COMPLEX_PARTS, REGIONAL, VIEWS, Op
from ..graph.region import Branch, Loop, Region, closed
from ..graph.rewrite import constant_of
from ..graph.routine import Routine
from ..graph.shapes import Shape
from ..graph.site import provenance
from ..graph.views import resolve
from ..ops.join import join
from ..ops.nodes import add, mul, neg, sub
from ..ops.pairs import PARTS, parts_of, side_by_side


def has_complex(roots: Sequence[Node]) -> bool:
    """Is some value complex?"""
    return any(n.dtype.is_complex or n.op in COMPLEX_PARTS for n in toposort(roots))


def in_pairs(roots: Sequence[Node], leaves: Sequence[Node]) -> list[Node]:
    """The roots over leaves of real dtypes, which lie in the same memory: `paired` of each."""
    return _Walk({n: paired(n) for n in leaves}).of(roots)


def paired(n: Node) -> Node:
    """A leaf of the parts of a complex one; a real one itself."""
    return leaf(n.arg, n.dtype.part, (*n.shape, PARTS)) if n.dtype.is_complex else n


class Value:
    """A complex value: its parts apart, or together along a last axis."""

    def __init__(self, parts: tuple[Node, Node] | None = None, whole: Node | None = None) -> None:
        self._parts, self._whole = parts, whole

    @property
    def is_whole(self) -> bool:
        """Does it stand together anyway?"""
        return self._whole is not None

    @cached_property
    def whole(self) -> Node:
        """Together."""
        if self._whole is not None:
            return self._whole
        assert self._parts is not None
        return side_by_side(*self._parts)

    @cached_property
    def parts(self) -> tuple[Node, Node]:
        """Apart."""
        if self._parts is not None:
            return self._parts
        assert self._whole is not None
        return parts_of(self._whole)

    @property
    def is_real(self) -> bool:
        """Is its imaginary part known to be 0?"""
        return self._parts is not None and constant_of(_base(self._parts[1])) == 0


class _Walk:
    """A Graph over leaves of real dtypes: what its real Nodes have become, and its complex ones."""

    def __init__(self, leaves: Mapping[Node, Node]) -> None:
        self._real = {n: new for n, new in leaves.items() if not n.dtype.is_complex}
        self._complex = {n: Value(None, new) for n, new in leaves.items() if n.dtype.is_complex}
        self._specs: dict[Any, Any] = {}

    def of(self, roots: Sequence[Node]) -> list[Node]:
        """What the roots become: complex ones together."""
        with provenance(None) as here:
            for n in toposort(roots, [*self._real, *self._complex]):
                here.move(n.site)
                made = self._made(n)
                if isinstance(made, Value):
                    self._complex[n] = made
                else:
                    self._real[n] = made
        return [self._in_memory(r) for r in roots]

    def _in_memory(self, n: Node) -> Node:
        return self._complex[n].whole if n.dtype.is_complex else self._real[n]

    def _made(self, n: Node) -> Value | Node:
        if n.op in REGIONAL:
            return self._result(n)
        if n.op is Op.COMPLEX:
            return Value((self._real[n.src[0]], self._real[n.src[1]]))
        if n.op in COMPLEX_PARTS:
            return self._complex[n.src[0]].parts[n.op is Op.IMAG]
        if not n.dtype.is_complex:
            return rebuild(n, tuple([self._in_memory(s) for s in n.src]))
        src = [self._complex[s] for s in n.src if s.dtype.is_complex]
        if n.op is Op.MUL:
            return _product(*src)
        if n.op is Op.REDUCE and n.src[0].op is Op.MUL:
            return self._sum_of_products(n)
        others = [self._real[s] for s in n.src if not s.dtype.is_complex]
        return _moved(n, src, others)

    def _result(self, n: Node) -> Value | Node:
        spec, k = n.arg
        key = spec, tuple([s.dtype.is_complex for s in n.src])
        if key not in self._specs:
            self._specs[key] = _real_spec(*key)
        made = node(n.op, [self._in_memory(s) for s in n.src], (self._specs[key], k))
        return Value(None, made) if n.dtype.is_complex else made

    def _sum_of_products(self, n: Node) -> Value:
        """A contraction as one of real matrices, another sum by its parts."""
        product = n.src[0]
        a, b = product.src
        x, y = self._complex[a], self._complex[b]
        axes = n.arg[1]
        if x.is_real or y.is_real:
            factor, other = (x, y) if x.is_real else (y, x)
            repeated = expand(factor.parts[0], ((product.ndim, PARTS),))
            return Value(None, node(Op.REDUCE, (mul(repeated, other.whole),), n.arg))
        if not (_misses(a, axes) and _misses(b, axes)):
            return _moved(n, [_product(x, y)], [])
        b, a = sorted((b, a), key=lambda s: (_ends_in(s, axes), _base(s).size))
        left = expand(self._stored(a, _whole), ((product.ndim + 1, PARTS),))
        right = self._stored(b, _rows_matrix if _ends_in(b, axes) else _lanes_matrix)
        pairs = mul(left, right)
        return Value(None, node(Op.REDUCE, (pairs,), (n.arg[0], (*axes, product.ndim))))

    def _stored(self, n: Node, form: Callable[[Value], Node]) -> Node:
        """A factor in some form, made before it is repeated."""
        base = _base(n)
        made = form(self._complex[base])
        chain = [n]
        while chain[-1] is not base:
            chain.append(chain[-1].src[0])
        for view in reversed(chain[:-1]):
            made = node(view.op, (made,), _with_axes(view, made.shape[view.src[0].ndim :]))
        return made


def _base(n: Node) -> Node:
    """What a view is one of."""
    while n.op in VIEWS:
        n = n.src[0]
    return n


def _misses(n: Node, summed: tuple[int, ...]) -> bool:
    """Is it the same along some axis that is not summed?"""
    return n.op is Op.EXPAND and any(d > 1 and a not in summed for a, d in n.arg)


def _ends_in(n: Node, summed: tuple[int, ...]) -> bool:
    """Is the last axis of what a view is one of summed?"""
    axes = [Var(f"i{a}", d) for a, d in enumerate(n.shape)]
    _, at, _ = resolve(n, [var(v) for v in axes], _base(n))
    return bool(at) and not at[-1].vars().isdisjoint(axes[a] for a in summed)


def _whole(x: Value) -> Node:
    return _in_memory(x.whole)


def _lanes_matrix(x: Value) -> Node:
    """[[re, im], [-im, re]] along two last axes, whose rows lie apart: [.., 2, n, 2] in memory."""
    re, im = x.parts
    made = _in_memory(_rows_apart(x.whole, side_by_side(neg(im), re)))
    return _with_axis_moved(made, -3, -2)


def _rows_matrix(x: Value) -> Node:
    """The same, whose columns lie apart."""
    re, im = x.parts
    made = _in_memory(_rows_apart(side_by_side(re, neg(im)), side_by_side(im, re)))
    return _with_axis_moved(made, -3, -1)


def _in_memory(n: Node) -> Node:
    return n if n.op is Op.INPUT else node(Op.KEEP, (n,))


def _rows_apart(*values: Node) -> Node:
    """Values [.., n, 2] as [.., 2, n, 2]."""
    axis = values[0].ndim - 2
    return join([(k, expand(v, ((axis, 1),))) for k, v in enumerate(values)], axis, len(values))


def _with_axis_moved(n: Node, source: int, to: int) -> Node:
    """An axis at another place; both are counted from the end."""
    order = list(range(n.ndim))
    axis = order.pop(source)
    order.insert(n.ndim + to, axis)
    return node(Op.PERMUTE, (n,), tuple(order))


def _product(x: Value, y: Value) -> Value:
    if x.is_real or y.is_real:
        (factor, _), other = (x.parts, y) if x.is_real else (y.parts, x)
        if other.is_whole:
            return Value(None, mul(expand(factor, ((factor.ndim, PARTS),)), other.whole))
        return Value((mul(other.parts[0], factor), mul(other.parts[1], factor)))
    (a, b), (c, d) = x.parts, y.parts
    return Value((sub(mul(a, c), mul(b, d)), add(mul(a, d), mul(b, c))))


def _moved(n: Node, src: Sequence[Value], others: Sequence[Node]) -> Value:
    """An op that does the same to both parts. `others`: its real sources."""
    if all(x.is_whole for x in src):
        arg = _with_axes(n, (PARTS,))
        if n.op is Op.WHERE:
            others = [expand(c, ((n.ndim, PARTS),)) for c in others]
        return Value(None, node(n.op, _sources(n, [x.whole for x in src], others), arg))
    re, im = ([x.parts[k] for x in src] for k in range(PARTS))
    return Value(
        (
            node(n.op, _sources(n, re, others), n.arg),
            node(n.op, _sources(n, im, others), n.arg),
        )
    )


def _sources(n: Node, own: Sequence[Node], others: Sequence[Node]) -> list[Node]:
    """Both kinds in the order of the sources."""
    each, rest = iter(own), iter(others)
    return [next(each if s.dtype.is_complex else rest) for s in n.src]


def _with_axes(n: Node, last: Shape) -> Any:
    """The argument of an op over values with more axes behind."""
    arg = n.arg
    match n.op:
        case Op.RESHAPE:
            return (*arg, *last)
        case Op.PERMUTE:
            return (*arg, *range(len(arg), len(arg) + len(last)))
        case Op.SLICE:
            return (*arg, *((0, d, 1) for d in last))
        case Op.PAD:
            return (*arg, *((0, 0, 0) for _ in last))
        case Op.SCATTER:
            return (arg[0], (*arg[1], *last), *arg[2:])
    return arg


def _real_spec(spec: Loop | Branch | Routine, sources: Sequence[bool]) -> Loop | Branch | Routine:
    """The same over real values. `sources`: which are complex."""
    if isinstance(spec, Routine):
        return _real_routine(spec, sources)
    regions = [_real_region(r) for r in spec.regions]
    return replace(spec, body=regions[0]) if isinstance(spec, Loop) else Branch(tuple(regions))


def _real_routine(spec: Routine, sources: Sequence[bool]) -> Routine:
    pairs = *sources, *(d.is_complex for d, _ in spec.specs)
    if not any(pairs):
        return spec
    specs = [(d.part, (*s, PARTS) if d.is_complex else s) for d, s in spec.specs]
    return replace(spec, specs=tuple(specs), pairs=pairs)


def _real_region(region: Region) -> Region:
    if not any(n.dtype.is_complex for n in (*region.params, *region.outputs)):
        return region
    params = [paired(p) for p in region.params]
    walk = _Walk(dict(zip(region.params, params, strict=True)))
    return closed(params, walk.of(region.outputs))
