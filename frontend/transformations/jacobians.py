"""Jacobians and Hessians, whole. In: functions of Tensors, or of structures of them. Out: functions
that give all derivatives.

Each is a vmap of directional derivatives over unit vectors: one Graph, of as many examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from ... import errors
from ...ir.graph.graph import Node, rebuilt_over, toposort
from ...ir.graph.op import Op
from ...ir.graph.region import unnumbered
from ...ir.regions.body import reach_up
from ..gradients.derivatives import Differentiated, matching, pushed
from ..lazy.realize import realize
from ..lazy.trace import tracing
from ..operands.arguments import as_function, as_int, as_sequence
from ..tensor import creation, ranges, tree
from ..tensor.tensor import Tensor, wrap
from .vmap import vmap

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def jacfwd(f: Function, argnums: Argnums = 0) -> Function:
    """A function that gives the Jacobian of f by args[argnums], by forward mode: a derivative for
    each element of the inputs, so it is the one to take where these are few.

    For an output of shape (m...) and an input of shape (n...) the Jacobian has shape (m..., n...).
    Outputs may be structures of Tensors; each leaf has the structure of the argument, or a tuple of
    these for several argnums. Raises DTypeError for arguments not of floats.
    """

    def columns(g: Function, inputs: tuple[Any, ...]) -> Any:
        along = vmap(lambda tangents: pushed("jacfwd", g, inputs, tangents)[1])
        return along(_units(inputs))

    def jacobian(g: Function, inputs: tuple[Any, ...], like: Any) -> Any:
        shapes = [x.shape for x in tree.leaves(inputs)]
        return tree.mapped(
            lambda d: tree.like(like, _split(d.moveaxis(0, -1), d.shape[1:], shapes)),
            columns(g, inputs),
        )

    return _by_arguments("jacfwd", f, argnums, jacobian)


def jacrev(f: Function, argnums: Argnums = 0) -> Function:
    """As jacfwd, by reverse mode: a derivative for each element of the outputs, so it is the one to
    take where these are few, as for the gradient of each of several losses."""

    def jacobian(g: Function, inputs: tuple[Any, ...], like: Any) -> Any:
        traced = Differentiated("jacrev", g, inputs, range(len(inputs)))
        output = traced.result()
        rows = vmap(traced.gradients)(_units(output))
        shapes = [y.shape for y in tree.leaves(output)]
        by_input = [
            _split_rows(d, shapes, x.shape)
            for d, x in zip(tree.leaves(rows), tree.leaves(inputs), strict=True)
        ]
        per_output = [tree.like(like, list(parts)) for parts in zip(*by_input, strict=True)]
        return tree.like(output, per_output)

    return _by_arguments("jacrev", f, argnums, jacobian)


def hessian(f: Function, argnums: Argnums = 0) -> Function:
    """A function that gives the second derivatives of f, which returns Tensors, by args[argnums]:
    for an input of shape (n...) and a single element they have shape (n..., n...). By forward mode
    over reverse mode."""
    return jacfwd(jacrev(f, argnums), argnums)


def linearize(f: Function, *inputs: Any) -> tuple[Any, Function]:
    """(f(*inputs), a function from tangents of the inputs to the tangent of the output).

    What the tangents need of f is computed once, at the first call of the function, and kept with
    it. Raises DTypeError for inputs not of floats, ShapeError for tangents that do not fit.
    """
    traced = Differentiated("linearize", f, inputs, range(len(inputs)))
    leaves = [unnumbered(x.dtype, x.shape) for x in traced.wrt]
    output, pushed = traced.push(leaves)
    tangents = [t.node for t in tree.leaves(pushed)]
    kept = _Kept(leaves, tangents)

    def linear(*along: Any) -> Any:
        given = matching("linearize", "tangent", along, inputs, "input")
        places = dict(zip(leaves, [t.node for t in given], strict=True)) | kept.places()
        new = rebuilt_over(tangents, places)
        return tree.like(output, [wrap(new[n], traced.tracks) for n in tangents])

    return output, linear


class _Kept:
    """What a linear function needs that does not depend on its arguments, as Tensors."""

    def __init__(self, leaves: Sequence[Node], outputs: Sequence[Node]) -> None:
        linear = set(reach_up(leaves, outputs))
        order = [n for n in toposort(outputs) if n in linear]
        used = dict.fromkeys(s for n in order for s in n.src if s not in linear)
        self._tensors = {n: wrap(n) for n in used if n.op not in (Op.CONST, Op.IOTA)}

    def places(self) -> dict[Node, Node]:
        """Where each value is."""
        if not tracing().is_traced:
            realize([*self._tensors.values()])
        return {n: t.node for n, t in self._tensors.items()}


# ---------------------------------------------------------------- arguments and unit vectors


def _by_arguments(
    name: str,
    f: Function,
    argnums: Argnums,
    jacobian: Callable[[Function, tuple[Any, ...], Any], Any],
) -> Function:
    """The Jacobian as a function of all arguments. `jacobian` takes a function of the chosen ones,
    these, and the structure that a derivative has."""
    as_function(name, "f", f)
    single = isinstance(argnums, int)
    named = [argnums] if single else as_sequence(name, "argnums", argnums)
    chosen = [as_int(name, "argnums", i) for i in named]

    def function(*args: Any, **kwargs: Any) -> Any:
        wrong = [i for i in chosen if not -len(args) <= i < len(args)]
        if wrong:
            raise errors.ArgumentError(f"{name}: argnums names argument {wrong[0]} of {len(args)}")
        places = [i % len(args) for i in chosen]
        inputs = tuple([tree.mapped(_as_tensor, args[i]) for i in places])

        def g(*xs: Any) -> Any:
            given = [*args]
            for i, x in zip(places, xs, strict=True):
                given[i] = x
            return f(*given, **kwargs)

        return jacobian(g, inputs, inputs[0] if single else inputs)

    return function


def _as_tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else creation.tensor(x)


def _units(structure: Any) -> Any:
    """All unit vectors of the space of a structure's leaves, stacked: of a leaf of shape (n...) a
    Tensor of shape (dimension, n...)."""
    leaves = tree.leaves(structure)
    sizes = [x.size for x in leaves]
    ends, total = [*accumulate(sizes)], sum(sizes)
    parts = []
    for x, end in zip(leaves, ends, strict=True):
        eye = ranges.eye(total, x.size, k=x.size - end, dtype=x.dtype, device=x.device)
        parts.append(eye.reshape(total, *x.shape))
    return tree.like(structure, parts)


def _split(d: Tensor, front: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Parts of the last axis, each of a shape."""
    out, at = [], 0
    for shape in shapes:
        size = prod(shape)
        out.append(d[..., at : at + size].reshape(*front, *shape))
        at += size
    return out


def _split_rows(d: Tensor, shapes: Sequence[tuple[int, ...]], back: tuple[int, ...]) -> list[Any]:
    """Parts of the first axis, each of a shape."""
    out, at = [], 0
    for shape in shapes:
        size = prod(shape)
        out.append(d[at : at + size].reshape(*shape, *back))
        at += size
    return out
