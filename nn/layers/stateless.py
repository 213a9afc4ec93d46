"""Layers without parameters. In: a function and its settings. Out: a Module that holds the
settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import get_annotations, getdoc
from typing import Any, ClassVar, dataclass_transform

from ...frontend.tensor.tensor import Tensor
from ..module import Module


@dataclass_transform(eq_default=False)
class Stateless(Module):
    """A Module that shows every setting it was made with.

    Its class says which function of nn.functional it is, and annotates the settings:

        class LeakyReLU(Unary, function=F.leaky_relu):
            negative_slope: float = 0.01

    They are parameters of the constructor, attributes of a layer, and arguments of the function.
    The docstring is that of the function. A class without these keywords is an ordinary one.
    """

    _function: ClassVar[Callable[..., Any]]
    _settings: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, kw_only: bool | None = None
    ) -> None:
        super().__init_subclass__()
        if get_annotations(cls) and (function is not None or kw_only is not None):
            dataclass(eq=False, repr=False, match_args=False, kw_only=bool(kw_only))(cls)
            cls._settings = tuple(f.name for f in fields(cls))  # type: ignore[arg-type]
            for name in vars(cls).keys() & cls._settings:  # defaults: an attribute is a layer's own
                delattr(cls, name)
        if function is not None:
            cls._function = staticmethod(function)
            cls.__doc__ = f"F.{function.__name__}: {getdoc(function)}"

    def extra_repr(self) -> str:
        shown = {name: x for name, x in vars(self).items() if x is not None and name[0] != "_"}
        return ", ".join(f"{name}={x!r}" for name, x in shown.items() if name != "training")


class Unary(Stateless):
    """A function of one Tensor as a layer."""

    def forward(self, x: Tensor) -> Tensor:
        return called(self, x)  # type: ignore[no-any-return]


def called(layer: Stateless, *tensors: Tensor) -> Any:
    """What the function of a layer gives with its settings."""
    kind = type(layer)  # whose attributes a jitted function does not watch
    return kind._function(*tensors, **{name: getattr(layer, name) for name in kind._settings})
