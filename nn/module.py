"""Module: a tree of layers and their parameters. In: attributes set by a subclass. Out: names, state, train and eval mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from .. import errors
from ..frontend import ops, state
from ..frontend.arguments import shown
from ..frontend.tensor import Tensor, destination
from ..frontend.trace import asked_training
from ..ir import dtype as dt


class Parameter(Tensor):
    """A Tensor that a Module learns, made from a Tensor or any array; it requires a gradient and is a leaf."""

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        value = data if isinstance(data, Tensor) else ops.tensor(data)
        super().__init__(value.node, requires_grad=True)  # a leaf of its own, even over an expression
        self.requires_grad_(requires_grad)


class Module:
    """The base of every layer. Parameters, Modules, and lists, tuples or dicts of them, count when set as attributes."""

    @property
    def training(self) -> bool:
        """True unless train(False) or eval() was called; a jitted function that asks is traced anew when it changes."""
        return asked_training(self, vars(self).get("training", True))

    @training.setter
    def training(self, mode: bool) -> None:
        vars(self)["training"] = mode
        state.changes.count += 1

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The Modules directly below this one; those in containers are named `attribute.index`."""
        return ((name, value) for name, value in _members(vars(self)) if isinstance(value, Module))

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This Module as "", then those below it by dotted names, each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            stack.extend(reversed([(_join(name, child), m) for child, m in module.named_children()]))

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Every Parameter by its dotted name, which errors will use too; a shared one only under its first name."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, value in _members(vars(module)):
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    value.name = _join(prefix, name)
                    yield value.name, value

    def parameters(self) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters())

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
        """Every Parameter, and its gradient, in another float dtype: m.to(wf.float16), m.to("cpu", wf.float64).

        The Parameters stay the same objects. Raises DTypeError for a dtype that is no float, DeviceError.
        """
        target = destination(args, device, dtype)
        if target is not None and not target.is_float:
            raise errors.DTypeError(f"{type(self).__name__}.to: parameters are floats, which {target.name} is not")
        for p in list(self.parameters()):
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
        """The present value of every Parameter; later updates do not change it."""
        return {name: p.detach() for name, p in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Assigns Tensors or arrays by name. Nothing is assigned unless every shape fits and, if strict, every name does.

        Raises StateError (a KeyError) that lists the names, ShapeError, DTypeError.
        """
        if not isinstance(state, Mapping):
            raise errors.DTypeError(f"load_state_dict: the state is a dict of Tensors or arrays by name, not {shown(state)}")
        own = dict(self.named_parameters())
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


def _fitting(name: str, parameter: Parameter, value: Any) -> Tensor:
    try:
        tensor = (value.detach() if isinstance(value, Tensor) else ops.tensor(value)).astype(parameter.dtype)
    except errors.WeftError as error:
        raise type(error)(f"load_state_dict: {name}: {str(error).removeprefix('tensor: ')}") from None
    if tensor.shape != parameter.shape:
        raise errors.ShapeError(f"load_state_dict: {name} has shape {parameter.shape}, but the state has {tensor.shape}")
    return tensor
