"""Recomputation. In: a function. Out: one whose gradient computes it again, so that nothing of what
it computes on the way is kept in memory.

    forward     y = f(x)
    backward    x' = x, not before dy is known; dx = the vector-Jacobian product of f at x' for dy

T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training deep nets with sublinear memory cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ...ir.gradient.gradient import vjp
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, expand_to, node, rebuilt_over, reshape
from ...ir.graph.op import Op
from ...ir.graph.region import CustomVjp, closed, results_of, unnumbered
from ...ir.regions.body import captured, without_definitions
from ..control.traced import Function, Traced
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..operands.arguments import as_function
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap

NAME = "checkpoint"


def checkpoint(f: Function) -> Callable[..., Any]:
    """f, whose gradient computes again what it needs of f: of a call in a training step only the
    arguments and results are kept. Values are the same, bit for bit, and so are gradients, unless a
    sum is added in another order because kernels fuse differently.

    f takes Tensors, structures of them and anything else, and returns Tensors or structures of
    them. It may use Tensors from outside, as the parameters of a Module, which get gradients, and
    assign to them. A Module works, too: `wf.checkpoint(layer)(x)`. Worth it where f computes
    much on the way from a little, as a layer of a network does.

    >>> x = wf.ones(3)
    >>> wf.grad(wf.checkpoint(lambda x: (x * 2).exp())(x).sum(), x).shape
    (3,)
    """
    as_function(NAME, "f", f)

    @wraps(f, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        given = (args, kwargs)
        leaves = tree.leaves(given)
        tensors = [x for x in leaves if isinstance(x, Tensor)]

        def call(given_leaves: list[Tensor]) -> Sequence[Any]:
            rest = iter(given_leaves)
            args, kwargs = tree.like(
                given, [next(rest) if isinstance(x, Tensor) else x for x in leaves]
            )
            return args, kwargs

        body = Traced(NAME, lambda args, kwargs: f(*args, **kwargs), BodyTrace(NAME), tensors)
        body.call(call)
        return _Call(body, tensors).result()

    return function


class _Call:
    """One call. `_leaves` stand for its inputs in f: arguments and Tensors from outside."""

    def __init__(self, body: Traced, tensors: Sequence[Tensor]) -> None:
        self._body, trace = body, body.trace
        self._places = dict(zip(body.params, [t.node for t in tensors], strict=True))
        self._places |= trace.places
        if trace.counter is not None:
            self._places[trace.counter] = const(0, dt.int64)
        self._changed = trace.assigned()
        outputs = [*body.nodes, *(o.node for o in self._changed)]
        self._outputs = without_definitions([*self._places], outputs)
        self._leaves = [p for p in self._places if p is not trace.counter]

    def result(self) -> Any:
        """What f returned, and what it assigned."""
        new = rebuilt_over(self._outputs, self._places)
        values = [new[n] for n in self._outputs]
        if any(y.dtype.is_inexact for y in values):
            values = self._with_gradient(values)
        count = len(self._body.nodes)
        for o, n in zip(self._changed, values[count:], strict=True):
            state.assign(o.tensor, n)
        self._body.trace.finish()
        tracks = self._body.needs_gradient
        made = [wrap(n, tracks and n.dtype.is_inexact) for n in values[:count]]
        return tree.like(self._body.result, made)

    def _with_gradient(self, values: Sequence[Node]) -> list[Node]:
        inputs = [self._places[p] for p in self._leaves]
        cotangents = [unnumbered(y.dtype, y.shape) for y in values]
        again = [unnumbered(y.dtype, y.shape) for y in values]  # the results, not used
        pulled = self._pulled(cotangents)
        params = [*cotangents, *again]
        used = captured(params, list(pulled.values()))
        pull = closed([*params, *used], list(pulled.values()))
        spec = CustomVjp(NAME, pull, len(values), len(inputs), tuple(pulled))
        return results_of(Op.CUSTOM_VJP, spec, [*values, *inputs, *used])

    def _pulled(self, cotangents: Sequence[Node]) -> dict[int, Node]:
        """The cotangent of each input that has one, by number, over f computed again."""
        floats = [i for i, p in enumerate(self._leaves) if p.dtype.is_inexact]
        pairs = [
            (y, g) for y, g in zip(self._outputs, cotangents, strict=True) if y.dtype.is_inexact
        ]
        found = vjp([y for y, _ in pairs], [g for _, g in pairs], [self._leaves[i] for i in floats])
        gradients = {i: g for i, g in zip(floats, found, strict=True) if g is not None}
        _, first = pairs[0]
        known = node(Op.KEEP, (first,))  # else one element of it would be computed alone, and early
        token, arguments = _element(known), set(self._body.params)
        places = {p: _after(n, token) if p in arguments else n for p, n in self._places.items()}
        places[first] = known
        new = rebuilt_over(list(gradients.values()), places)
        return {i: new[g] for i, g in gradients.items()}


def _element(n: Node) -> Node:
    """The first one, of shape ()."""
    one = node(Op.SLICE, (n,), tuple([(0, 1, 1) for _ in n.shape])) if n.shape else n
    return reshape(one, ())


def _after(n: Node, token: Node) -> Node:
    """The value, which differs from itself, and is not there before the token."""
    return node(Op.KEEP, (n, expand_to(token, n.shape)))
