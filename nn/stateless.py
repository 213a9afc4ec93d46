"""A Module as a function of its parameters. In: a Module, Tensors by dotted names, arguments. Out:
what it computes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import errors
from ..frontend import ops
from ..frontend.gradients.gradient import no_grad
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief
from .module import Module
from .parameter import Parameter
from .tree import some


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """module(*args, **kwargs) with these Tensors, by dotted name, in the places of its Parameters
    and Buffers.

    The Tensors may be computed from others, as fast weights are, so that gradients of any order
    flow through them; what is not named is the Module's own. A shared Parameter is replaced
    everywhere. Afterwards the Module is as before; what it set over a replaced Buffer is forgotten.
    args: a tuple, or the only argument. The Module must not run in another thread meanwhile. Raises
    StateError for a name that the Module lacks, DTypeError for anything but Tensors.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> nn.functional_call(layer, {"weight": wf.ones(1, 2)}, wf.ones(3, 2)).tolist()
    [[2.0], [2.0], [2.0]]
    """
    values = _values(module, parameters_and_buffers)
    places = [vars(m) for m in module.modules()]
    changed = [
        (fields, name, old)
        for fields in places
        for name, old in fields.items()
        if _replaced(old, values) is not old
    ]
    try:
        for fields, name, old in changed:
            fields[name] = _replaced(old, values)
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for fields, name, old in changed:
            fields[name] = old


def stack_module_state(
    modules: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(parameters, buffers) of Modules of one kind, each by its dotted name, stacked along a new
    first axis: an ensemble for `wf.vmap` and `functional_call`.

    The stacked parameters are parameters of their own, which may be learned. Raises StateError
    where the Modules differ in their names or shapes, ArgumentError for none.

    >>> parameters, _ = nn.stack_module_state([nn.Linear(2, 1) for _ in range(3)])
    >>> parameters["weight"].shape
    (3, 1, 2)
    """
    if not modules:
        raise errors.ArgumentError("stack_module_state: there are no Modules")
    of_each = [(dict(m.named_parameters()), dict(m.named_buffers())) for m in modules]
    parameters, buffers = (_stacked([state[k] for state in of_each]) for k in (0, 1))
    with no_grad():
        own = {name: Parameter(x) for name, x in parameters.items()}
    return {**own}, buffers


def _stacked(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    first = {name: (x.dtype, x.shape) for name, x in states[0].items()}
    for state in states[1:]:
        if {name: (x.dtype, x.shape) for name, x in state.items()} != first:
            raise errors.StateError(
                "stack_module_state: the Modules differ in the names or shapes of their state"
            )
    return {name: ops.stack([s[name].detach() for s in states]) for name in first}


def _values(module: Module, tensors: Any) -> dict[int, Tensor]:
    """By id of a Parameter or Buffer, what stands for it."""
    if not isinstance(module, Module) or not isinstance(tensors, Mapping):
        raise errors.DTypeError(
            f"functional_call: takes a Module and a dict of Tensors, not {brief(module)},"
            f" {brief(tensors)}"
        )
    own = {
        **dict(module.named_buffers(remove_duplicate=False)),
        **dict(module.named_parameters(remove_duplicate=False)),
    }
    unknown = [name for name in tensors if name not in own]
    if unknown:
        names = some([*map(str, unknown)])
        raise errors.StateError(
            f"functional_call: {type(module).__name__} has no {names}; it has {some([*own])}"
        )
    for name, value in tensors.items():
        if not isinstance(value, Tensor):
            raise errors.DTypeError(f"functional_call: {name} must be a Tensor, not {brief(value)}")
    return {id(own[name]): value for name, value in tensors.items()}


def _replaced(x: Any, values: Mapping[int, Tensor]) -> Any:
    """An attribute with what stands for its Tensors, also in lists, tuples and dicts; the same
    object if there are none."""
    match x:
        case Tensor():
            return values.get(id(x), x)
        case dict():
            replaced = {name: _replaced(value, values) for name, value in x.items()}
            return replaced if any(replaced[name] is not value for name, value in x.items()) else x
        case list() | tuple():
            items = [_replaced(value, values) for value in x]
            same = all(a is b for a, b in zip(items, x, strict=True))
            return x if same else items if isinstance(x, list) else tuple(items)
        case _:
            return x
