"""The boundary between users and Nodes. In: a function of Nodes. Out: the public function or
method, of Tensors.

The annotations of the function's parameters say what is passed to it:

    Node            a Node, of a Tensor or anything that makes one: an array, a number, nested lists
                    of numbers
    Operand         the same, but a Python number stays one, since its dtype is weak
    Sequence[Node]  a list of Nodes
    Nested          as given, with Nodes for all Tensors and arrays, also inside lists
    Label           the name of the first Tensor, for errors; no parameter of the public function
    anything else   as given: the function checks it (arguments.py)

Each may be `| None`. Leading tensors are positional. A result of Nodes becomes one of Tensors; it
requires a gradient if one of the given Tensors does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

import numpy as np

from ... import errors
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, const
from ...ir.graph.op import Op
from ...ir.graph.site import provenance, user_site
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU
from ..elementwise import all as ew
from ..lazy import state
from ..lazy.new_tensor import wrap
from ..operands.arguments import as_sequence
from ..operands.broadcast import WEAK, Operand, as_dtype
from .from_data import of_data
from .parameters_elsewhere import note_names
from .tracked import Tracked

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
# (function, parameter, argument, [does one require a gradient])
Convert = Callable[[str, str, object, list[bool]], object]


# ---------------------------------------------------------------- what is passed


def as_operand(x: object) -> Any:
    """A Node or a Python number from anything that an operator accepts; NotImplemented
    otherwise."""
    if isinstance(x, Tracked):
        return x.node
    if type(x) in WEAK:
        return x
    if isinstance(x, np.generic):
        return const(x.item(), as_dtype(x.dtype))
    if isinstance(x, np.ndarray):
        return storage.operand(storage.from_array(x, as_dtype(x.dtype), copy=True))
    if isinstance(x, (int, float)):  # an enumeration's member, say
        return int(x) if isinstance(x, int) else float(x)
    if isinstance(x, complex):
        return complex(x)
    return NotImplemented


def _made(name: str, what: str, x: object, tracks: list[bool]) -> Node:
    """The Node of a Tensor or of anything that makes one."""
    if isinstance(x, Tracked):
        tracks[0] |= x._requires_grad
        return x.node
    try:
        return _going_along(of_data(x).node)
    except errors.DTypeError as error:
        why = str(error).removeprefix("tensor").removesuffix(f": {brief(x)} is no number")
        raise errors.DTypeError(
            f"{name}: {what} must be a Tensor, an array or a number, not {brief(x)}{why}"
        ) from None
    except errors.WeftError as error:
        raise type(error)(f"{name}: {what}: {str(error).removeprefix('tensor: ')}") from None


def _going_along(n: Node) -> Node:
    """Numbers in the CPU's memory that were no Tensor: they are wherever the other operands are."""
    if n.op is not Op.INPUT or n.arg.storage is None or n.device != CPU:
        return n
    return storage.operand(n.arg.storage)


def _operand(name: str, what: str, x: object, tracks: list[bool]) -> Operand:
    """As an operator takes it, if it does, else as _made."""
    if not isinstance(x, (int, float, complex, np.ndarray, np.generic)):
        return _made(name, what, x, tracks)
    try:
        return as_operand(x)  # type: ignore[no-any-return]
    except errors.DTypeError:
        return _made(name, what, x, tracks)  # which names the argument


def _several(name: str, what: str, x: object, tracks: list[bool]) -> list[Node]:
    """A Node of each part."""
    return [
        _made(name, f"{what}[{i}]", part, tracks)
        for i, part in enumerate(as_sequence(name, what, x))
    ]


def unwrapped(name: str, what: str, x: object, tracks: list[bool]) -> Any:
    """Nodes for Tensors and arrays, also inside lists and tuples; the rest as it is."""
    if isinstance(x, Tracked):
        tracks[0] |= x._requires_grad
        return x.node
    if isinstance(x, (list, tuple)) and any(
        isinstance(i, (Tracked, np.ndarray, list, tuple)) for i in x
    ):
        parts = [unwrapped(name, what, i, tracks) for i in x]
        return parts if isinstance(x, list) else tuple(parts)
    if not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        return x
    try:
        return as_operand(x)
    except errors.DTypeError as error:
        raise errors.DTypeError(f"{name}: {what}: {error}") from None


_CONVERT: dict[str, Convert] = {
    "Node": _made,
    "Operand": _operand,
    "Sequence[Node]": _several,
    "Nested": unwrapped,
}


def _converter(p: Parameter) -> Convert | None:
    required = str(p.annotation).removesuffix(" | None")
    convert = _CONVERT.get(required)
    if convert is None or required == p.annotation:
        return convert
    return lambda name, what, x, tracks: None if x is None else convert(name, what, x, tracks)


# ---------------------------------------------------------------- binders


def function(inner: Any, name: str = "", first: str | None = None) -> Function:
    """The public function of this name (that of the function of Nodes, unless given); first: a name
    for its first parameter."""
    name = name or inner.__name__
    given = signature(inner)
    parameters = list(given.parameters.values())
    kinds = [
        "" if _converter(p) is None and p.annotation != "Label" else p.annotation
        for p in parameters
    ]
    if (
        kinds[0] == "Node"
        and not any(kinds[1:])
        and parameters[0].kind is not Parameter.VAR_POSITIONAL
    ):
        call, leading = _of_one(inner, name, parameters[0].name), 1
    elif kinds == ["Operand", "Operand"]:
        call, leading = _of_two(inner, name, parameters), 2
    else:
        call, leading = _of_any(inner, name, parameters), 0
    call = wraps(inner)(call)
    call.__name__ = call.__qualname__ = name
    call.__signature__ = _public(given, leading, first)  # type: ignore[attr-defined]
    return call


method = partial(function, first="self")


def _public(given: Signature, leading: int, first: str | None) -> Signature:
    """What users see: Tensors for Nodes, the leading parameters positional, no labels."""
    shown_as = [
        p.replace(annotation=_annotation(p.annotation))
        for p in given.parameters.values()
        if p.annotation != "Label"
    ]
    shown_as[:leading] = [p.replace(kind=Parameter.POSITIONAL_ONLY) for p in shown_as[:leading]]
    if first is not None:
        shown_as[0] = shown_as[0].replace(name=first)
    return Signature(shown_as, return_annotation=_annotation(given.return_annotation))


def _annotation(text: str) -> str:
    text = text.replace("Node", "Tensor").replace("Operand", "Tensor | float")
    return text.replace("Scalar", "float").replace("Nested", "ArrayLike")


def _results(out: Any, requires_grad: bool) -> object:
    """Tensors for a Node, or for a list or (named) tuple of Nodes."""
    if isinstance(out, Node):
        return wrap(out, requires_grad)
    made = [wrap(n, requires_grad) for n in out]
    return out._make(made) if hasattr(out, "_make") else type(out)(made)


def _of_one(inner: Function, name: str, what: str) -> Function:
    """Only the first argument is a tensor."""

    def call(x: object, /, *args: object, **kwargs: object) -> object:
        try:
            if isinstance(x, Tracked):
                return _results(inner(x.node, *args, **kwargs), x._requires_grad)
            return _results(inner(_made(name, what, x, [False]), *args, **kwargs), False)
        except TypeError as error:
            note_names(error, inner, kwargs)
            raise

    return call


def _of_two(inner: Function, name: str, parameters: list[Parameter]) -> Function:
    """Two operands and nothing else."""
    first, second = (p.name for p in parameters)

    def call(a: object, b: object, /) -> object:
        if isinstance(a, Tracked) and isinstance(b, Tracked):
            return _results(inner(a.node, b.node), a._requires_grad or b._requires_grad)
        tracks = [False]
        return _results(
            inner(_operand(name, first, a, tracks), _operand(name, second, b, tracks)), tracks[0]
        )

    return call


def _of_any(inner: Function, name: str, parameters: list[Parameter]) -> Function:
    """Tensors anywhere."""
    label = next((p.name for p in parameters if p.annotation == "Label"), None)
    by_name = {p.name: convert for p in parameters if (convert := _converter(p)) is not None}
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    order = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def converted(what: str, x: object, tracks: list[bool]) -> object:
        convert = by_name.get(what)
        return x if convert is None else convert(name, what, x, tracks)

    def call(*args: object, **kwargs: object) -> object:
        tracks = [False]
        plain = [converted(what, x, tracks) for what, x in zip(order, args, strict=False)]
        plain += [converted(rest, x, tracks) for x in args[len(order) :]]
        named = {what: converted(what, x, tracks) for what, x in kwargs.items()}
        if label in named:
            raise TypeError(f"{name}() got an unexpected keyword argument {label!r}")
        if label is not None and args and isinstance(args[0], Tracked):
            named[label] = args[0].name
        try:
            return _results(inner(*plain, **named), tracks[0])
        except TypeError as error:
            note_names(error, inner, kwargs)
            raise

    return call


def as_tensor(name: str, what: str, x: object) -> Any:
    """A Tensor, or one of anything that makes one. Raises DTypeError, OverflowError and ShapeError
    that begin with both names."""
    return x if isinstance(x, Tracked) else wrap(_made(name, what, x, [False]))


def of_tensors(inner: F) -> F:
    """A function of Tensors: what is passed for its parameters that are Tensors may be anything
    that makes one.

    Errors call it by its name; a method, such as the forward() of a layer, by that of its class.
    """
    parameters = signature(inner).parameters.values()
    optional = {
        p.name: p.annotation == "Tensor | None"
        for p in parameters
        if str(p.annotation).startswith("Tensor")
    }
    order = [p.name for p in parameters]
    is_method = order[0] == "self"

    @wraps(inner)
    def call(*args: object, **kwargs: object) -> object:
        def tensor_of(what: str, x: object) -> object:
            if isinstance(x, Tracked) or what not in optional or (x is None and optional[what]):
                return x
            return as_tensor(type(args[0]).__name__ if is_method else inner.__name__, what, x)

        with provenance(user_site()):  # one look for the user's line, not one per Node
            given = [tensor_of(what, x) for what, x in zip(order, args, strict=False)]
            try:
                return inner(
                    *given,
                    *args[len(order) :],
                    **{what: tensor_of(what, x) for what, x in kwargs.items()},
                )
            except TypeError as error:
                note_names(error, inner, kwargs)
                raise

    return call  # type: ignore[return-value]


# ---------------------------------------------------------------- operators

Operator = Callable[[Tracked, object], object]  # of a Tensor and another operand
KINDS = "buifc"  # each takes the values of those before it in place


def _as(inner: Callable[..., Node], call: Operator) -> Operator:
    """The operator with the function's name and text, but parameters of its own: (self, other,
    /)."""
    call.__name__, call.__doc__ = inner.__name__, inner.__doc__
    return call


def operator(inner: Callable[..., Node]) -> Operator:
    """An operator from a function of two operands."""

    def call(self: Tracked, other: object, /) -> object:
        if isinstance(other, Tracked):
            return wrap(inner(self.node, other.node), self._requires_grad or other._requires_grad)
        operand = other if type(other) in WEAK else as_operand(other)
        if operand is NotImplemented:
            return NotImplemented
        return wrap(inner(self.node, operand), self._requires_grad)

    return _as(inner, call)


def reflected(inner: Callable[..., Node]) -> Operator:
    """The operator with its operands the other way round."""
    return operator(wraps(inner)(lambda a, b: inner(b, a)))


def equality(inner: Callable[..., Node]) -> Operator:
    """== or !=, which leaves what has no dtype here to Python: such a thing is not equal."""
    compare = operator(inner)

    def call(self: Tracked, other: object, /) -> object:
        if isinstance(other, (np.ndarray, np.generic)) and dt.from_numpy(other.dtype) is None:
            return NotImplemented
        return compare(self, other)

    return _as(inner, call)


def rebind(t: Any, n: Node, requires_grad: bool) -> None:
    """Gives a Tensor the value of n in its own dtype and shape, as an in-place operator does."""
    if n.shape != t.shape:
        raise errors.ShapeError(
            f"an in-place operation gives shape {n.shape}, which does not fit shape {t.shape}"
        )
    n = ew.cast(n, t.dtype)
    is_waiting = t.node.op is Op.INPUT and t.node.arg.definition is not None
    if t.is_leaf and (t._requires_grad or t._is_assigned_in_place or is_waiting):
        if t._requires_grad and state.grad_enabled():
            raise errors.GradientError(
                "a leaf that requires a gradient is changed in place: do it inside wf.no_grad()"
            )
        t.assign(wrap(n))
        return
    value = wrap(n, requires_grad or t._requires_grad)
    state.move(t, value.node, value._requires_grad)


def in_place(inner: Callable[..., Node]) -> Operator:
    """An operator that gives this Tensor a new value; expressions made from the old one keep it.

    Raises DTypeError for a result that is of another kind (NumPy's "same kind" rule), ShapeError
    for one of another shape.
    """

    def call(self: Tracked, other: object, /) -> object:
        operand = as_operand(other)
        if operand is NotImplemented:
            return NotImplemented
        n = inner(self.node, operand)
        if KINDS.index(n.dtype.kind) > KINDS.index(self.dtype.kind):
            raise errors.DTypeError(
                f"an in-place operation gives {n.dtype.name}: cannot cast that to {self.dtype.name}"
                " in place"
            )
        rebind(self, n, isinstance(other, Tracked) and other._requires_grad)
        return self

    return _as(inner, call)
