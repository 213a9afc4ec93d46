"""Forward-mode differentiation. In: outputs, tangents of the Nodes that they are computed from.
Out: the outputs, and their tangents.

    n = f(a, b)    dn = f'a . da + f'b . db

A rule is the transpose of the vector-Jacobian product of the op: that is linear in the cotangent,
and its derivative by the cotangent, along da, is the first summand (J. Townsend, "A new trick for
calculating Jacobian vector products", 2017). Loops carry tangents beside their values, so nothing
is stacked, and the number of iterations need not be known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from ..graph.graph import Node, rebuild, rebuilt_over, toposort, zeros_like
from ..graph.op import Op
from ..graph.region import Branch, Loop, shared, unnumbered
from ..graph.site import gradient_of, provenance
from ..ops.nodes import add
from ..regions.body import Carry, OpenBranch, OpenLoop
from .gradient import contribution, differentiable_by, vjp


class Dual(NamedTuple):
    """A value and its tangent, None for 0."""

    value: Node
    tangent: Node | None = None


def pushforward(
    outputs: Sequence[Node], tangents: Mapping[Node, Node]
) -> tuple[list[Node], list[Node | None]]:
    """(the outputs, the derivative of each along these tangents): None where it depends on none of
    their Nodes. Outputs of loops are those that carry tangents as well."""
    duals = _pushed(outputs, {n: Dual(n, t) for n, t in tangents.items()})
    return [d.value for d in duals], [d.tangent for d in duals]


def _pushed(outputs: Sequence[Node], known: Mapping[Node, Dual]) -> list[Dual]:
    done = dict(known)
    results: dict[object, list[Dual]] = {}
    with provenance(None) as here:
        for n in toposort(outputs, dict.fromkeys(done)):
            src = [done[s] for s in n.src]
            here.move(n.site)
            if all(s.tangent is None for s in src):
                done[n] = Dual(rebuild(n, tuple([s.value for s in src])))
            elif n.op in (Op.LOOP, Op.BRANCH):
                if shared(n) not in results:
                    spec = n.arg[0]
                    results[shared(n)] = (
                        _loop(spec, src) if isinstance(spec, Loop) else _branch(spec, src)
                    )
                done[n] = results[shared(n)][n.arg[1]]
            else:
                value = rebuild(n, tuple([s.value for s in src]))
                here.move(gradient_of(n.site))
                done[n] = Dual(value, _tangent(value, src))
    return [done[n] for n in outputs]


def _tangent(n: Node, src: Sequence[Dual]) -> Node | None:
    """Of a Node whose sources have these tangents."""
    g = unnumbered(n.dtype, n.shape)
    found = []
    for i in differentiable_by(n):
        tangent = src[i].tangent
        part = None if tangent is None else contribution(n, i, g)
        if part is not None and tangent is not None:
            (pushed,) = vjp([part], [tangent], [g])
            if pushed is not None and n.op is Op.CUSTOM_VJP:  # its rule may wait for the cotangent
                pushed = rebuilt_over([pushed], {g: zeros_like(n)})[pushed]
            found += [] if pushed is None else [pushed]
    return reduce(add, found) if found else None


def _leaf(p: Node, has_tangent: bool) -> Dual:
    """Parameters for a value and its tangent."""
    return Dual(unnumbered(p.dtype, p.shape), unnumbered(p.dtype, p.shape) if has_tangent else None)


def _pairs(leaves: Sequence[Dual], given: Sequence[Dual]) -> list[tuple[Node, Node]]:
    """(parameter, what it stands for), for values and tangents."""
    out = []
    for p, s in zip(leaves, given, strict=True):
        out.append((p.value, s.value))
        if p.tangent is not None and s.tangent is not None:
            out.append((p.tangent, s.tangent))
    return out


def _or_zeros(d: Dual) -> Node:
    return zeros_like(d.value) if d.tangent is None else d.tangent


def _loop(spec: Loop, src: Sequence[Dual]) -> list[Dual]:
    """A loop that carries tangents beside values."""
    first, last = spec.captured, spec.captured + spec.carries
    params = spec.body.params
    moving = {k for k in range(spec.carries) if src[first + k].tangent is not None}
    while True:
        leaves = [_leaf(p, k in moving) for k, p in enumerate(params[first:last])]
        slices = [
            _leaf(p, s.tangent is not None) for p, s in zip(params[last:], src[last:], strict=True)
        ]
        known = dict(zip(params, [*src[:first], *leaves, *slices], strict=True))
        new = _pushed(spec.body.outputs, known)
        found = {k for k in range(spec.carries) if new[k].tangent is not None} | moving
        if found == moving:
            break
        moving = found
    carries = [
        Carry(p.value, s.value, n.value)
        for p, s, n in zip(leaves, src[first:last], new, strict=False)
    ]
    order = sorted(moving)
    for k in order:
        tangent = leaves[k].tangent
        assert tangent is not None
        carries.append(Carry(tangent, _or_zeros(src[first + k]), _or_zeros(new[k])))
    stacked = new[spec.carries :]
    made = OpenLoop(
        carries,
        _pairs(slices, src[last:]),
        [part for d in stacked for part in d if part is not None],
        spec.length,
        spec.is_while,
        spec.reverse,
    ).close()
    tangents = dict(zip(order, made[spec.carries :], strict=False))
    out = [Dual(made[k], tangents.get(k)) for k in range(spec.carries)]
    rest = iter(made[len(carries) :])
    return out + [Dual(next(rest), next(rest) if d.tangent is not None else None) for d in stacked]


def _branch(spec: Branch, src: Sequence[Dual]) -> list[Dual]:
    """A choice among values and their tangents."""
    index, *given = src
    leaves = [_leaf(p.value, p.tangent is not None) for p in given]
    known_by = [dict(zip(r.params, leaves, strict=True)) for r in spec.regions]
    ways = [_pushed(r.outputs, known) for r, known in zip(spec.regions, known_by, strict=True)]
    count = spec.results
    moving = [k for k in range(count) if any(way[k].tangent is not None for way in ways)]
    made = OpenBranch(
        index.value,
        _pairs(leaves, given),
        [[*(d.value for d in way), *(_or_zeros(way[k]) for k in moving)] for way in ways],
    ).close()
    tangents = dict(zip(moving, made[count:], strict=True))
    return [Dual(made[k], tangents.get(k)) for k in range(count)]
