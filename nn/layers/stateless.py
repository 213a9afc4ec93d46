"""Layers without parameters. In: a function and its settings. Out: a Module that holds the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import get_annotations, getdoc
from typing import Any, ClassVar, TypeVar, dataclass_transform

from ...frontend.tensor.tensor import Tensor
from ..module import Module

Layer = TypeVar("Layer", bound="Stateless")


class Stateless(Module):
    """A Module that shows every setting it was made with."""

    _function: ClassVar[Callable[..., Any]]
    _settings: ClassVar[tuple[str, ...]] = ()

    def extra_repr(self) -> str:
        shown = {name: x for name, x in vars(self).items() if x is not None and name[0] != "_"}
        return ", ".join(f"{name}={x!r}" for name, x in shown.items() if name != "training")


class Unary(Stateless):
    """A function of one Tensor as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        return called(self, x)  # type: ignore[no-any-return]


def called(layer: Stateless, *tensors: Any) -> Any:
    """What the function of a layer gives with its settings."""
    kind = type(layer)  # whose attributes a jitted function does not watch
    settings = {}
    for name in kind._settings:
        settings[name] = getattr(layer, name)
    return kind._function(*tensors, **settings)


@dataclass_transform(eq_default=False)
def layer(
    function: Callable[..., Any] | None = None, kw_only: bool = False
) -> Callable[[type[Layer]], type[Layer]]:
    """A class of layers from a function of nn.functional and the settings that the class annotates:

        @layer(F.leaky_relu)
        class LeakyReLU(Unary):
            negative_slope: float = 0.01

    They are parameters of the constructor, attributes of a layer, and arguments of the function.
    The docstring is that of the function.
    """

    def completed(cls: type[Layer]) -> type[Layer]:
        if get_annotations(cls):
            cls = dataclass(eq=False, repr=False, match_args=False, kw_only=kw_only)(cls)
            cls._settings = tuple(f.name for f in fields(cls))  # type: ignore[arg-type]
            for name in vars(cls).keys() & cls._settings:  # defaults: an attribute is a layer's own
                delattr(cls, name)
        if function is not None:
            cls._function = staticmethod(function)
            cls.__doc__ = f"F.{function.__name__}: {getdoc(function)}"
        return cls

    return completed
