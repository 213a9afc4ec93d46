"""Functions of the standard. In: a signature, or only a name. Out: that function, documented where it is implemented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..frontend import ops
from ..frontend.tensor.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def documented(function: F) -> F:
    """Takes over the docstring of the function of the same name in frontend/ops."""
    function.__doc__ = getattr(ops, function.__name__).__doc__
    return function


def named(function: F, name: str) -> F:
    """Gives a function a name and the docstring that goes with it."""
    function.__name__ = function.__qualname__ = name
    return documented(function)


def unary(name: str) -> Callable[[Any], Tensor]:
    """The elementwise function of one array."""
    implementation = getattr(ops, name)

    def function(x: Any, /) -> Tensor:
        return implementation(x)  # type: ignore[no-any-return]

    return named(function, name)


def binary(name: str) -> Callable[[Any, Any], Tensor]:
    """The elementwise function of two arrays, of which one may be a Python number."""
    implementation = getattr(ops, name)

    def function(x1: Any, x2: Any, /) -> Tensor:
        return implementation(x1, x2)  # type: ignore[no-any-return]

    return named(function, name)
