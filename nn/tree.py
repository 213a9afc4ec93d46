"""The tree that Modules make. In: attributes set by a subclass. Out: Modules, Parameters and
Buffers by their dotted names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import errors
from ..frontend.lazy.attributes import MISSING, Attributes, changed
from ..frontend.lazy.live_number import LiveNumber
from ..frontend.tensor.names_elsewhere import OF_MODULES, no_attribute
from ..frontend.tensor.parameters_elsewhere import Naming
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief
from .derived import recipe_of
from .parameter import Buffer, Parameter

MOST_NAMES = 12  # that an error lists


class Tree(Attributes, Naming):
    """What a Module holds: set as attributes, or in lists, tuples and dicts of them."""

    def __init__(self) -> None:
        """Nothing, and no other class's: one beside a Module is set up by its own __init__, as in
        PyTorch."""

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(self, name: str) -> Any:
            """What is computed from other attributes, like a parametrised weight; for what there is
            not: says what it may be."""
            __tracebackhide__ = True
            recipe = recipe_of(self, name)
            if recipe is not None:
                return recipe(self)
            if hasattr(type(self), name):  # a property has failed, and says why
                return object.__getattribute__(self, name)
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise no_attribute(
                f"{type(self).__name__!r} object", name, partial(dir, self), OF_MODULES
            )

    def __setattr__(self, name: str, value: Any) -> None:
        """A Tensor set over a Buffer becomes its next value, as far as shape and dtype allow, else
        another Buffer.

        Raises DTypeError for a Tensor set over a Parameter, which would be learned no more.
        """
        old = vars(self).get(name, MISSING)
        if type(value) is LiveNumber:  # computed in a jitted function, which is traced
            value = value.value
        if old is MISSING and recipe_of(self, name) is not None:
            what = f"{type(self).__name__}.{name} is computed from other parts of the layer"
            raise errors.ArgumentError(
                f"{what}: change those, or remove its parametrizations or pruning first"
            )
        if isinstance(value, Tensor) and not isinstance(value, (Parameter, Buffer)):
            if isinstance(old, Parameter):
                what = f"{type(self).__name__}.{name} is a Parameter: set another one or None"
                raise errors.DTypeError(f"{what}, or assign the value with {name}.assign(...)")
            if isinstance(old, Buffer):
                fits = old.shape == value.shape and old.dtype is value.dtype
                value = old.assign(value) if fits else Buffer(value, old.persistent)
        object.__setattr__(self, name, value)
        if value is not old:
            # jitted functions that read it look again
            changed(self, name, old, value, _is_part(value) or _is_part(old))

    def __delattr__(self, name: str) -> None:
        old = vars(self).get(name)
        object.__delattr__(self, name)
        changed(self, name, old, MISSING, _is_part(old))

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """The same as setting an attribute, for names that a program makes; None keeps the place
        free."""
        if not isinstance(parameter, Parameter | None):
            raise errors.DTypeError(
                f"register_parameter: {name!r} must be a Parameter or None, not {brief(parameter)}"
            )
        self._register("register_parameter", name, parameter)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Sets the attribute to a Buffer of this Tensor or array, or to None."""
        is_buffer = tensor is None or isinstance(tensor, Buffer)
        self._register("register_buffer", name, tensor if is_buffer else Buffer(tensor, persistent))

    def add_module(self, name: str, module: Any) -> None:
        """Sets the attribute to a Module, or to None."""
        if not isinstance(module, Tree | None):
            raise errors.DTypeError(
                f"add_module: {name!r} must be a Module or None, not {brief(module)}"
            )
        self._register("add_module", name, module)

    register_module = add_module

    def _register(self, who: str, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise errors.ArgumentError(
                f"{who}: a name must be a string without dots, not {brief(name)}"
            )
        if hasattr(type(self), name):
            raise errors.ArgumentError(
                f"{who}: {name!r} is an attribute that every {type(self).__name__} has"
            )
        setattr(self, name, value)

    # ------------------------------------------------------------ by name

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The Modules directly below this one; those in lists are named `attribute.index`."""
        return ((name, value) for name, value in members(vars(self)) if isinstance(value, Tree))  # type: ignore[misc]

    def children(self) -> Iterator[Any]:
        """The Modules directly below this one."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This Module under the prefix, then those below it by dotted names, each once or under
        each of its names."""
        seen: set[int] = set()
        stack: list[tuple[str, Any, frozenset[int]]] = [(prefix, self, frozenset())]
        while stack:
            name, module, above = stack.pop()
            if id(module) in (seen if remove_duplicate else above):
                continue
            seen.add(id(module))
            yield name, module
            inside = above | {id(module)}
            stack.extend(
                reversed([(_join(name, child), m, inside) for child, m in module.named_children()])
            )

    def modules(self) -> Iterator[Any]:
        """This Module and those below it."""
        return (module for _, module in self.named_modules())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every Parameter by its dotted name, which errors will use too; a shared one only under
        its first name."""
        for name, p in self._named(Parameter, prefix, recurse, remove_duplicate):
            p.name = name
            yield name, p

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every Parameter, or only this Module's own."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Buffer]]:
        """Every Buffer by its dotted name, persistent or not; a shared one only under its first
        name."""
        return self._named(Buffer, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Buffer]:
        """Every Buffer, or only this Module's own."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """The Module of this dotted name, "" being this one. Raises AttributeError."""
        return self._get("layer", target, self.named_modules(remove_duplicate=False))  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Parameter:
        """The Parameter of this dotted name. Raises AttributeError."""
        return self._get("parameter", target, self._named(Parameter, remove_duplicate=False))  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Buffer:
        """The Buffer of this dotted name. Raises AttributeError."""
        return self._get("buffer", target, self._named(Buffer, remove_duplicate=False))  # type: ignore[no-any-return]

    def _get(self, what: str, target: str, named: Iterator[tuple[str, Any]]) -> Any:
        modules = dict(named)
        if not isinstance(target, str) or target not in modules:
            there = some([name for name in modules if name])
            raise errors.AttributeError(
                f"{type(self).__name__} has no {what} {brief(target)}; it has {there}"
            )
        return modules[target]

    def _named(
        self, kind: Any, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in (
            self.named_modules(prefix, remove_duplicate) if recurse else [(prefix, self)]
        ):
            for name, value in members(vars(module)):
                if isinstance(value, kind) and not (remove_duplicate and id(value) in seen):
                    seen.add(id(value))
                    yield _join(path, name), value


def _is_part(value: Any) -> bool:
    return isinstance(value, (Parameter, Buffer, Tree))


def some(names: Sequence[str]) -> str:
    """The first of these names, for an error; "none" where there are none."""
    return ", ".join(names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES) or "none"


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def members(container: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) pairs of a dict, list or tuple, those of nested containers in their
    place."""
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    for name, value in pairs:
        if isinstance(value, (dict, list, tuple)):
            yield from ((f"{name}.{inner}", v) for inner, v in members(value))
        else:
            yield str(name), value
