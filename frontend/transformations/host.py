"""Functions of NumPy arrays as parts of a graph. In: a function, what it returns, Tensors. Out:
lazy Tensors; Python runs when their values are needed."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.host import HostCall
from ...ir.graph.op import Op
from ...ir.graph.region import results_of
from ..control.traced import Function, tensors
from ..lazy import host_calls, state
from ..operands.arguments import as_function
from ..tensor import tree
from ..tensor.tensor import Tensor, wrap
from .custom import with_gradient

NAME = "host_call"


def host_call(f: Function, result: Any, *args: Any, gradient: Function | None = None) -> Any:
    """f of the values of these Tensors, as NumPy arrays: what f returns, as lazy Tensors.

    `result` says what that will be: a Tensor or array of its shape and dtype, or a structure of
    these, whose values do not count. f is called once for each call of `host_call`, when a result
    is needed, after what it depends on and in the order of the graph; a call whose results nobody
    needs is not made. What f raises comes out where the value was asked for. With `gradient`,
    `gradient(*args, *cotangents)`, a function of arrays as well, gives a cotangent for each
    argument that is a Tensor of floats, as a tuple or alone. wf.vmap calls f for one example after
    the other.

    Python runs between programs, so wf.jit and loops cannot hold such a call, and wf.explain makes
    the calls that come first. Raises JitError there, DTypeError for arguments that are no Tensors
    or arrays, ShapeError where f returns something else than `result`, GradientError where a
    derivative meets a call without gradient.

    >>> x = wf.tensor([3.0, 1.0, 2.0])
    >>> wf.host_call(np.sort, x, x).tolist()
    [1.0, 2.0, 3.0]
    """
    as_function(NAME, "f", f)
    _require_python()
    given, likes = tensors(NAME, "arguments", args), tensors(NAME, "the result", result)
    specs = tuple([(t.dtype, t.shape) for t in likes])
    name = getattr(f, "__name__", type(f).__name__)

    def function(*arrays: Any) -> list[Any]:
        return _parts(name, result, f(*arrays))

    host_calls.Made.any = True
    made = results_of(Op.HOST, HostCall(name, function, specs), [t.node for t in given])
    values = tree.like(result, [wrap(n) for n in made])
    if gradient is None:
        return values
    pull = as_function(NAME, "gradient", gradient)
    floats = [i for i, x in enumerate(given) if x.dtype.is_inexact]

    def rule(cotangents: Any) -> list[Tensor | None]:
        wanted = tuple([given[i] for i in floats])

        def pulled(*arrays: Any) -> Any:
            found = pull(*arrays)
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)

        found = host_call(pulled, wanted, *given, *tree.leaves(cotangents))
        out: list[Tensor | None] = [None] * len(given)
        for i, g in zip(floats, found, strict=True):
            out[i] = g
        return out

    return with_gradient(name, values, given, rule)


def _require_python() -> None:
    """Raises JitError in a function that becomes a program."""
    trace = state.trace() if state.traces else None
    while trace is not None:
        if not getattr(trace, "runs_between_programs", False):
            trace.refuse("host_call: a call of Python")
        trace = getattr(trace, "_around", None)


def _parts(name: str, result: Any, made: Any) -> list[Any]:
    """The arrays that f returned, in the structure that was said."""
    if not tree.is_container(result):
        return [made]
    if not tree.is_like(result, made):
        raise errors.ShapeError(
            f"host_call: {name} returned {brief(made)}, which does not have the structure of the"
            f" result, {brief(result)}"
        )
    return tree.leaves(made)
