"""Functions with a gradient of their own. In: values, what they are computed of, a rule. Out: the
same values, whose gradient is the rule's.

The rule is traced once, when the values are made, with placeholders for cotangents. So the gradient
is a Graph like any other: it fuses, has derivatives itself, and goes into loops and batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from threading import get_ident
from typing import Any

from ... import errors
from ...ir.gradient import gradient as ir_grad
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, full, toposort
from ...ir.graph.op import Op
from ...ir.graph.region import CustomVjp, Region, closed, results_of, unnumbered
from ...ir.regions.body import captured
from ...runtime.memory import storage
from ...signals import within
from ..control.traced import Function, Traced, as_tensor, described, tensors
from ..lazy import state
from ..lazy.body_trace import BodyTrace
from ..operands.arguments import as_function, as_int, as_sequence
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap

# cotangents of the values, in their structure -> those of the inputs, None for 0
Rule = Callable[[Any], Sequence[Tensor | None]]


def with_gradient(name: str, values: Any, inputs: Sequence[Tensor], rule: Rule) -> Any:
    """The values, a structure of Tensors, with this gradient by the inputs. Raises what is wrong
    with what the rule gives: DTypeError, ShapeError, ArgumentError, JitError."""
    leaves = [as_tensor(name, "the result", y) for y in tree.leaves(values)]
    if not any(y.dtype.is_inexact for y in leaves) or not any(x.dtype.is_inexact for x in inputs):
        return tree.like(values, [*leaves])
    traced = Traced(name, rule, _RuleTrace(name), leaves)
    traced.call(lambda given: (tree.like(values, [*given]),))
    cotangents = _checked(name, traced.result, traced.nodes, inputs)
    own = [y.node for y in leaves]
    pull, used = _closed(traced, own, list(cotangents.values()))
    spec = CustomVjp(name, pull, len(leaves), len(inputs), tuple(cotangents))
    src = [*own, *(x.node for x in inputs), *used]
    made = results_of(Op.CUSTOM_VJP, spec, src)
    tracks = state.grad_enabled() and any(x._requires_grad for x in inputs)
    return tree.like(values, [wrap(n, tracks and n.dtype.is_inexact) for n in made])


class _RuleTrace(BodyTrace):
    """Of the rule of a gradient."""

    runs_between_programs = True

    @property
    def place(self) -> str:
        return f"the gradient of {self.name}"


def _closed(
    traced: Traced, values: Sequence[Node], outputs: Sequence[Node]
) -> tuple[Region, list[Node]]:
    """(the rule as a Region of the cotangents, the values, and what else it uses; this)."""
    trace = traced.trace
    if changed := trace.assigned():
        raise errors.JitError(
            f"{trace.place} assigns to {state.described(changed[0].tensor)}, which would happen at"
            " each derivative: return what it computes"
        )
    again = [unnumbered(y.dtype, y.shape) for y in values]
    own = dict(zip(values, again, strict=True))
    places = {leaf: own[before] for leaf, before in trace.places.items() if before in own}
    bodies = traced.outside(outputs, places)
    params = [*traced.params, *again]
    used = captured(params, bodies)
    return closed([*params, *used], bodies), used


def _checked(
    name: str, result: Any, nodes: Sequence[Node], inputs: Sequence[Tensor]
) -> dict[int, Node]:
    """The cotangent of each input that has one, by number. Raises for those that do not fit."""
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(parts) != len(inputs) or any(map(tree.is_container, filter(_is_given, parts))):
        raise errors.ArgumentError(
            f"{name}: the gradient gives {described(result)}, not a Tensor, or None, for each of"
            f" {len(inputs)} inputs"
        )
    rest, out = iter(nodes), dict[int, Node]()
    for i, (part, x) in enumerate(zip(parts, inputs, strict=True)):
        if part is None:
            continue
        g = next(rest)
        if not x.dtype.is_inexact:
            raise errors.DTypeError(
                f"{name}: the gradient gives a cotangent for input {i}, which is"
                f" {x.dtype.name}{list(x.shape)}: return None"
            )
        if g.shape != x.shape:
            raise errors.ShapeError(
                f"{name}: the gradient gives shape {g.shape} for input {i} of shape {x.shape}"
            )
        if g.dtype is not x.dtype:
            raise errors.DTypeError(
                f"{name}: the gradient gives {g.dtype.name} for input {i}, which is {x.dtype.name}"
            )
        out[i] = g
    return out


def _is_given(part: Any) -> bool:
    return part is not None


# ---------------------------------------------------------------- as in JAX


class _Custom:
    """A function whose derivative a rule gives; `nondiff_argnums`: arguments that are no Tensors,
    which the rules get first."""

    name: str

    def __init__(self, f: Function, nondiff_argnums: Sequence[int] = ()) -> None:
        self._f = as_function(self.name, "f", f)
        chosen = as_sequence(self.name, "nondiff_argnums", nondiff_argnums)
        self._static = {as_int(self.name, "nondiff_argnums", i) for i in chosen}
        self._inside = set[int]()  # threads in which a rule of it runs
        update_wrapper(self, f, updated=())

    def __call__(self, *args: Any) -> Any:
        """The result. Where a rule calls its own function, that is the plain one."""
        thread = get_ident()
        if thread in self._inside:
            return self._f(*args)
        return within(
            partial(self._inside.add, thread),
            partial(self._inside.discard, thread),
            partial(self._made, args),
        )

    def _made(self, args: Sequence[Any]) -> Any:
        raise NotImplementedError

    @property
    def _called(self) -> str:
        return str(getattr(self._f, "__name__", self.name))

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(the arguments that are no Tensors, the others)."""
        static = [a for i, a in enumerate(args) if i in self._static]
        return static, [a for i, a in enumerate(args) if i not in self._static]

    def _with(self, args: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
        """The arguments with others in the places of those that are differentiated by."""
        rest = iter(moving)
        return [a if i in self._static else next(rest) for i, a in enumerate(args)]

    def _given(self, moving: Sequence[Any]) -> tuple[list[Any], list[Tensor]]:
        """(these arguments as Tensors, all their leaves)."""
        leaves = tensors(self._called, "arguments", tuple(moving))
        return [*tree.like(tuple(moving), [*leaves])], leaves


class custom_vjp(_Custom):
    """A function whose gradient is given by two others, as in JAX.

        @wf.custom_vjp
        def clipped(x): return x
        clipped.defvjp(lambda x: (x, None), lambda _, g: (g.clip(-1, 1),))

    `defvjp(forward, backward)`: forward(*args) gives (what the function returns, residuals);
    backward(residuals, cotangent) a tuple of the cotangents of all arguments, each in the structure
    of its argument, or None for 0. Arguments named in `nondiff_argnums` need not be Tensors;
    backward gets them first, and gives no cotangents for them. Where one of the two calls the
    function itself, that is the plain one. Errors are raised at the call.
    """

    name = "custom_vjp"
    _forward: Function | None = None
    _backward: Function

    def defvjp(self, forward: Function, backward: Function) -> None:
        """Says how the gradient is computed."""
        self._forward = as_function("defvjp", "forward", forward)
        self._backward = as_function("defvjp", "backward", backward)

    def _made(self, args: Sequence[Any]) -> Any:
        if self._forward is None:
            raise errors.ArgumentError(f"{self._called}: its gradient is not given: call defvjp")
        static, moving = self._split(args)
        given, leaves = self._given(moving)
        made = self._forward(*self._with(args, given))
        if not isinstance(made, tuple) or len(made) != 2:
            raise errors.ArgumentError(
                f"{self._called}: forward returns (result, residuals), not {brief(made)}"
            )
        values, residuals = made

        def rule(cotangents: Any) -> list[Any]:
            parts = self._backward(*static, residuals, cotangents)
            if not isinstance(parts, (tuple, list)) or len(parts) != len(given):
                raise errors.ArgumentError(
                    f"{self._called}: backward gives {described(parts)}, not a tuple of"
                    f" {len(given)} cotangents"
                )
            return [
                leaf for part, x in zip(parts, given, strict=True) for leaf in self._parts(part, x)
            ]

        return with_gradient(self._called, values, leaves, rule)

    def _parts(self, part: Any, x: Any) -> list[Any]:
        if part is None:
            return [None for _ in tree.leaves(x)]
        if not tree.is_like(part, x):
            raise errors.ShapeError(
                f"{self._called}: backward gives {described(part)} for an argument {described(x)}"
            )
        return tree.leaves(part)


class custom_jvp(_Custom):
    """A function whose derivative along tangents is given by another one, as in JAX.

        @wf.custom_jvp
        def f(x): return x.sin()
        f.defjvp(lambda primals, tangents: (f(*primals), primals[0].cos() * tangents[0]))

    `defjvp(rule)`: rule(primals, tangents) gives (what the function returns, its derivative along
    the tangents), which is linear in these; both arguments are tuples. Arguments named in
    `nondiff_argnums` need not be Tensors; the rule gets them first. Where it calls the function
    itself, that is the plain one. Reverse mode transposes the rule. Errors are raised at the call,
    also for a rule that is not linear.
    """

    name = "custom_jvp"
    _rule: Function | None = None

    def defjvp(self, rule: Function) -> None:
        """Says how the derivative is computed."""
        self._rule = as_function("defjvp", "rule", rule)

    def _made(self, args: Sequence[Any]) -> Any:
        if self._rule is None:
            raise errors.ArgumentError(f"{self._called}: its derivative is not given: call defjvp")
        static, moving = self._split(args)
        given, leaves = self._given(moving)
        values = self._f(*self._with(args, given))
        floats = [x for x in leaves if x.dtype.is_inexact]
        rule = self._rule

        def transposed(cotangents: Any) -> list[Tensor | None]:
            along = [_tangent(x) for x in leaves]
            made = rule(*static, tuple(given), tree.like(tuple(given), [*along]))
            if not isinstance(made, tuple) or len(made) != 2 or not tree.is_like(made[1], values):
                raise errors.ArgumentError(
                    f"{self._called}: the rule returns (result, tangent like it), not"
                    f" {described(made)}"
                )
            pairs = [
                (as_tensor(self._called, "a tangent", t).node, g.node)
                for t, g in zip(tree.leaves(made[1]), tree.leaves(cotangents), strict=True)
                if g.dtype.is_inexact
            ]
            wrt = [t.node for t in along if t.dtype.is_inexact]
            found = ir_grad.vjp([t for t, _ in pairs], [g for _, g in pairs], wrt)
            if not set(wrt).isdisjoint(toposort(g for g in found if g is not None)):
                raise errors.GradientError(
                    f"{self._called}: the rule's tangent is not linear in the tangents"
                )
            rest = iter(found)
            pulled = [next(rest) if x.dtype.is_inexact else None for x in leaves]
            return [None if g is None else wrap(g) for g in pulled]

        return with_gradient(self._called, values, leaves, transposed) if floats else values


def _tangent(x: Tensor) -> Tensor:
    """A variable in the place of a tangent: of what is linear in it nothing is left."""
    zero = full(0, x.dtype, x.shape)
    return wrap(storage.defined_leaf(zero, device_free=True)) if x.dtype.is_inexact else wrap(zero)
