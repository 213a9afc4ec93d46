"""Loops inside a program. In: functions that are one iteration. Out: lazy Tensors, computed by a
native loop.

A body is traced once, whatever the number of iterations. It may use any Tensors from outside, which
are the same in each iteration, and assign to them: then their values pass from one iteration to the
next. Carries, slices and results are Tensors, or tuples, lists, dicts and dataclasses of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.graph import Node, const, node, rebuilt_over
from ...ir.graph.op import Op
from ...ir.regions.body import Carry, OpenLoop, without_definitions
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..operands.arguments import as_bool, as_count, as_function, as_int
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap
from .traced import Function, Traced, as_tensor, described, element, shown, tensors


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Loops over the first axis of `xs`: `carry, y = f(carry, x)` for each x in turn, as in JAX.

    `init` is the first carry; `xs` holds Tensors of shape (T, ...), or None, with `length` T.
    Returns (the last carry, the ys stacked along a new first axis): y may be None. With `reverse`
    it runs from the last x to the first, and stacks the ys in the order of the xs. Gradients flow
    to init, xs and all Tensors that f uses.

    Raises ShapeError where the carry would change its shape or dtype, or the xs differ in length.
    """
    first, slices = tensors("scan", "init", init), tensors("scan", "xs", xs)
    count = _length("scan", slices, length)
    trace = BodyTrace("scan", count)
    body = Traced("scan", f, trace, [*first, *(element(x) for x in slices)])

    def arguments(given: list[Tensor]) -> Sequence[Any]:
        carry, x = given[: len(first)], given[len(first) :]
        return tree.like(init, [*carry]), tree.like(xs, [*x])

    body.call(arguments)
    if not isinstance(body.result, tuple) or len(body.result) != 2:
        raise errors.DTypeError(f"scan: the body returns (carry, y), not {described(body.result)}")
    new, ys = body.result
    _require_like("scan", init, new, first, body.nodes[: len(tree.leaves(new))])
    stacked = body.nodes[len(first) :]
    loop = _Loop(body, first, body.nodes[: len(first)])
    loop.slices = [(p, x.node) for p, x in zip(body.params[len(first) :], slices, strict=True)]
    loop.stacked, loop.length = stacked, count
    loop.reverse = as_bool("scan", "reverse", reverse)
    last, made = loop.run()
    return tree.like(init, [*last]), tree.like(ys, [*made])


def map(f: Function, xs: Any) -> Any:
    """f of each element of `xs` along the first axis, one after the other, stacked: `wf.scan`
    without a carry. Whatever f does to all elements at once is faster."""

    one = as_function("map", "f", f)

    def body(carry: None, x: Any) -> tuple[None, Any]:
        return None, one(x)

    return scan(body, None, xs)[1]


def fori_loop(lower: Any, upper: Any, body: Function, init: Any) -> Any:
    """`carry = body(i, carry)` for i from lower to before upper; the last carry. i is an int64
    Tensor.

    With Tensors as bounds the number of iterations is known only when the program runs, and there
    is no gradient by reverse mode. Raises ShapeError where the carry would change its shape or
    dtype.
    """
    first, body = tensors("fori_loop", "init", init), as_function("fori_loop", "the body", body)
    if isinstance(lower, Tensor) or isinstance(upper, Tensor):
        return _between(lower, upper, body, init)
    start, stop = as_int("fori_loop", "lower", lower), as_int("fori_loop", "upper", upper)
    counter = wrap(const(start, dt.int64))
    trace = BodyTrace("fori_loop", max(stop - start, 0))
    traced = Traced("fori_loop", body, trace, [counter, *first])
    traced.call(lambda given: (given[0], tree.like(init, [*given[1:]])))
    _require_like("fori_loop", init, traced.result, first, traced.nodes)
    i = traced.params[0]
    loop = _Loop(traced, [counter, *first], [_next(i), *traced.nodes])
    loop.length = max(stop - start, 0)
    last, _ = loop.run()
    return tree.like(init, [*last[1:]])


def _between(lower: Any, upper: Any, body: Function, init: Any) -> Any:
    start, stop = as_tensor("fori_loop", "lower", lower), as_tensor("fori_loop", "upper", upper)
    for what, t in (("lower", start), ("upper", stop)):
        if t.shape or not t.dtype.is_int:
            raise errors.DTypeError(f"fori_loop: {what} must be one int, not {shown(t.node)}")

    def more(carry: Any) -> Tensor:
        below: Tensor = carry[0] < stop
        return below

    def iteration(carry: Any) -> Any:
        return carry[0] + 1, body(carry[0], carry[1])

    return _while("fori_loop", more, iteration, (start.astype(dt.int64), init), None)[1]


def while_loop(cond: Function, body: Function, init: Any, max_steps: int | None = None) -> Any:
    """`carry = body(carry)` as long as cond(carry), one bool, is true; the last carry.

    The number of iterations is known only when the program runs. With `max_steps` there are at most
    so many, and there is a gradient by reverse mode: it takes the time and memory of max_steps
    iterations. Raises ShapeError where the carry would change its shape or dtype, DTypeError for a
    condition that is not one bool.
    """
    most = None if max_steps is None else as_count("while_loop", "max_steps", max_steps)
    cond = as_function("while_loop", "the condition", cond)
    return _while("while_loop", cond, as_function("while_loop", "the body", body), init, most)


def _while(name: str, cond: Function, body: Function, init: Any, most: int | None) -> Any:
    first = tensors(name, "init", init)
    trace = BodyTrace(name)

    def iteration(*carry: Any) -> Any:
        new = body(*carry)
        return new, _condition(name, cond, new)

    traced = Traced(name, iteration, trace, first)
    traced.call(lambda given: (tree.like(init, [*given]),))
    new, _ = traced.result
    *nodes, again = traced.nodes
    _require_like(name, init, new, first, nodes)
    begins = _condition(name, cond, tree.like(init, [*first]))
    loop = _Loop(traced, [begins, *first], [again, *nodes])
    loop.params.insert(0, trace.like(begins.node))
    loop.is_while, loop.length = True, most
    last, _ = loop.run()
    return tree.like(init, [*last[1:]])


def _condition(name: str, cond: Function, carry: Any) -> Tensor:
    (holds,) = tensors(name, "the condition", cond(carry)) or (None,)
    if holds is None or holds.shape or holds.dtype is not dt.bool_:
        what = "nothing" if holds is None else shown(holds.node)
        raise errors.DTypeError(f"{name}: the condition must be one bool, not {what}")
    return holds


# ---------------------------------------------------------------- what all loops share


class _Loop:
    """A traced body with its carries: `first` before the first iteration, `new` after each."""

    def __init__(self, body: Traced, first: Sequence[Tensor], new: Sequence[Node]) -> None:
        self._body, self._first, self._new = body, first, new
        self.params = body.params[: len(first)]
        self.slices: list[tuple[Node, Node]] = []
        self.stacked: Sequence[Node] = ()
        self.length: int | None = None
        self.is_while = self.reverse = False

    def run(self) -> tuple[list[Tensor], list[Tensor]]:
        """(the last carries, what is stacked); assigns to Tensors from outside as the body did."""
        trace = self._body.trace
        changed = trace.assigned()
        count = len(self._first)
        carries = [*self._new, *(o.node for o in changed)]
        if trace.counter is not None:
            carries.append(_next(trace.counter))
        kept = {o.leaf for o in changed}
        places = {leaf: n for leaf, n in trace.places.items() if leaf not in kept}
        params = [*self.params, *(o.leaf for o in changed)]
        params += [trace.counter] if trace.counter is not None else []
        self.slices += trace.tables()
        own = [*params, *(p for p, _ in self.slices)]
        outputs = without_definitions(own, [*carries, *self.stacked])
        new = rebuilt_over(outputs, places)
        outputs = [new[n] for n in outputs]
        firsts = [*(t.node for t in self._first), *(o.before for o in changed)]
        firsts += [const(0, dt.int64)] if trace.counter is not None else []
        made = OpenLoop(
            [Carry(p, f, n) for p, f, n in zip(params, firsts, outputs, strict=False)],
            self.slices,
            outputs[len(params) :],
            self.length,
            self.is_while,
            self.reverse,
        ).close()
        for o, n in zip(changed, made[count:], strict=False):
            state.assign(o.tensor, n)
        trace.finish()
        tracks = self._body.needs_gradient
        last = [wrap(n, tracks and n.dtype.is_inexact) for n in made[:count]]
        return last, [wrap(n, tracks and n.dtype.is_inexact) for n in made[len(params) :]]


def _next(counter: Node) -> Node:
    return node(Op.ADD, (counter, const(1, dt.int64)))


def _length(name: str, slices: Sequence[Tensor], length: int | None) -> int:
    """How many iterations there are. Raises ShapeError, ArgumentError."""
    for x in slices:
        if not x.shape:
            raise errors.ShapeError(f"{name}: xs of shape () have no axis to loop over")
    extents = {x.shape[0] for x in slices}
    if length is not None:
        extents.add(as_count(name, "length", length))
    if len(extents) > 1:
        found = [list(x.shape) for x in slices]
        also = "" if length is None else f" and length={length}"
        raise errors.ShapeError(f"{name}: xs of shapes {found}{also} differ in length")
    if not extents:
        raise errors.ArgumentError(f"{name}: give xs, or the length of the loop")
    return extents.pop()


def _require_like(
    name: str, init: Any, new: Any, first: Sequence[Tensor], nodes: Sequence[Node]
) -> None:
    """Raises ShapeError where the carry has changed."""
    if not tree.is_like(init, new):
        raise errors.ShapeError(
            f"{name}: the carry has another structure after an iteration: {described(new)}, at"
            f" first it is {described(init)}"
        )
    for i, (a, b) in enumerate(zip(first, nodes, strict=True)):
        if a.dtype is not b.dtype or a.shape != b.shape:
            place = f" {i}" if len(first) > 1 else ""
            raise errors.ShapeError(
                f"{name}: carry{place} is {a.dtype.name}{list(a.shape)} before an iteration and"
                f" {shown(b)} after it"
            )
