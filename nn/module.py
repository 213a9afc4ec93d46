"""Module: a tree of layers, their parameters and buffers. In: attributes set by a subclass. Out: names, state, modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from .. import errors
from ..frontend import ops, state
from ..frontend.arguments import shown
from ..frontend.tensor import Tensor, destination
from ..frontend.trace import asked_training
from ..ir import dtype as dt
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Module", "Parameter"]


class Module:
    """The base of every layer. Parameters, Buffers, Modules, and lists, tuples or dicts of them, count when set as attributes.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         self.factor = nn.Parameter(wf.ones(1))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> [name for name, p in Scale().named_parameters()]
    ['factor']
    """

    @property
    def training(self) -> bool:
        """True unless train(False) or eval() was called; a jitted function that asks is traced anew when it changes."""
        return asked_training(self, vars(self).get("training", True))

    @training.setter
    def training(self, mode: bool) -> None:
        vars(self)["training"] = mode
        state.changes.count += 1

    def __setattr__(self, name: str, value: Any) -> None:
        """A Tensor set over a Buffer becomes its next value, as far as shape and dtype allow, else another Buffer.

        Raises DTypeError for a Tensor set over a Parameter, which would be learned no more.
        """
        if isinstance(value, Tensor) and not isinstance(value, (Parameter, Buffer)):
            old = vars(self).get(name)
            if isinstance(old, Parameter):
                what = f"{type(self).__name__}.{name} is a Parameter: set another one or None"
                raise errors.DTypeError(f"{what}, or assign the value with {name}.assign(...)")
            if isinstance(old, Buffer):
                fits = old.shape == value.shape and old.dtype is value.dtype
                value = old.assign(value) if fits else Buffer(value, old.persistent)
        object.__setattr__(self, name, value)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """The same as setting an attribute, for names that a program makes; None keeps the place free."""
        if not isinstance(parameter, Parameter | None):
            raise errors.DTypeError(f"register_parameter: {name!r} is a Parameter or None, not {shown(parameter)}")
        self._register("register_parameter", name, parameter)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Sets the attribute to a Buffer of this Tensor or array, or to None."""
        given = tensor is None or isinstance(tensor, Buffer)
        self._register("register_buffer", name, tensor if given else Buffer(tensor, persistent))

    def _register(self, who: str, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise errors.ArgumentError(f"{who}: a name is a text without dots, not {shown(name)}")
        if hasattr(type(self), name):
            raise errors.ArgumentError(f"{who}: {name!r} is an attribute that every {type(self).__name__} has")
        setattr(self, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The Modules directly below this one; those in containers are named `attribute.index`."""
        return ((name, value) for name, value in _members(vars(self)) if isinstance(value, Module))

    def named_modules(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This Module under the prefix, then those below it by dotted names, each once or under each of its names."""
        seen: set[int] = set()
        stack: list[tuple[str, Module, frozenset[int]]] = [(prefix, self, frozenset())]
        while stack:
            name, module, above = stack.pop()
            if id(module) in (seen if remove_duplicate else above):
                continue
            seen.add(id(module))
            yield name, module
            inside = above | {id(module)}
            stack.extend(reversed([(_join(name, child), m, inside) for child, m in module.named_children()]))

    def modules(self) -> Iterator[Module]:
        """This Module and those below it."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every Parameter by its dotted name, which errors will use too; a shared one only under its first name."""
        return self._named(Parameter, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every Parameter, or only this Module's own."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Buffer]]:
        """Every Buffer by its dotted name, persistent or not; a shared one only under its first name."""
        return self._named(Buffer, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Buffer]:
        """Every Buffer, or only this Module's own."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _named(self, kind: Any, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in _members(vars(module)):
                if not isinstance(value, kind) or (remove_duplicate and id(value) in seen):
                    continue
                if id(value) not in seen:
                    seen.add(id(value))
                    value.name = _join(path, name)
                yield _join(path, name), value

    def train(self, mode: bool = True) -> Self:
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        return self.train(False)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Calls fn on every Module of the tree, children first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def to(self, *args: Any, device: Any = None, dtype: Any = None) -> Self:
        """Every Parameter, its gradient, and every Buffer of floats in another float dtype: m.to("cpu", wf.float64).

        Parameters and Buffers stay the same objects. Raises DTypeError for a dtype that is no float, DeviceError.
        """
        target = destination(args, device, dtype)
        if target is not None and not target.is_float:
            raise errors.DTypeError(f"{type(self).__name__}.to: parameters are floats, which {target.name} is not")
        for p in [*self.parameters(), *(b for b in self.buffers() if b.dtype.is_float)]:
            if target is not None and p.dtype is not target:
                state.become(p, p.detach().astype(target).node)
                p.grad = None if p.grad is None else p.grad.astype(target)
        return self

    def float(self) -> Self:
        """As float32."""
        return self.to(dt.float32)

    def double(self) -> Self:
        """As float64."""
        return self.to(dt.float64)

    def half(self) -> Self:
        """As float16."""
        return self.to(dt.float16)

    def bfloat16(self) -> Self:
        """As bfloat16."""
        return self.to(dt.bfloat16)

    def zero_grad(self) -> None:
        for p in self.parameters():
            p.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """The present value of every Parameter and persistent Buffer; later updates do not change it."""
        return {name: t.detach() for name, t in self._state().items()}

    def _state(self) -> dict[str, Tensor]:
        named = self._named((Parameter, Buffer), "", recurse=True, remove_duplicate=True)
        return {name: t for name, t in named if getattr(t, "persistent", True)}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Assigns Tensors or arrays by name. Nothing is assigned unless every shape fits and, if strict, every name does.

        Raises StateError (a KeyError) that lists the names, ShapeError, DTypeError.
        """
        if not isinstance(state, Mapping):
            raise errors.DTypeError(f"load_state_dict: the state is a dict of Tensors or arrays by name, not {shown(state)}")
        own = self._state()
        _check_names(type(self).__name__, list(own), list(state), strict)
        values = {name: _fitting(name, p, state[name]) for name, p in own.items() if name in state}
        for name, value in values.items():
            own[name].assign(value)
        ops.realize(*(own[name] for name in values))

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr of a layer."""
        return ""

    def __repr__(self) -> str:
        rows = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        if not rows:
            return f"{type(self).__name__}({self.extra_repr()})"
        return "\n  ".join([f"{type(self).__name__}({self.extra_repr()}", *rows]) + "\n)"


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _members(container: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) pairs of a dict, list or tuple, those of nested containers in their place."""
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    for name, value in pairs:
        if isinstance(value, (dict, list, tuple)):
            yield from ((f"{name}.{inner}", v) for inner, v in _members(value))
        else:
            yield str(name), value


def _check_names(who: str, own: list[str], given: list[str], strict: bool) -> None:
    missing, unexpected = [n for n in own if n not in given], [n for n in given if n not in own]
    if strict and (missing or unexpected):
        parts = [f"{what} {', '.join(names)}" for what, names in (("missing", missing), ("unexpected", unexpected)) if names]
        raise errors.StateError(f"load_state_dict: the state does not fit {who}: {'; '.join(parts)}")


def _fitting(name: str, parameter: Tensor, value: Any) -> Tensor:
    try:
        tensor = (value.detach() if isinstance(value, Tensor) else ops.tensor(value)).astype(parameter.dtype)
    except errors.WeftError as error:
        raise type(error)(f"load_state_dict: {name}: {str(error).removeprefix('tensor: ')}") from None
    if tensor.shape != parameter.shape:
        raise errors.ShapeError(f"load_state_dict: {name} has shape {parameter.shape}, but the state has {tensor.shape}")
    return tensor
