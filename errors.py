"""Errors that Weft raises on purpose, each a WeftError and also the builtin that a NumPy user would
catch; and its warnings.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError as _LinAlgError

from .mistakes import hide_frames, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class WeftError(Exception):
    """Base of all errors of this package."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        hide_frames()


class ShapeError(WeftError, ValueError):
    """Shapes, axes or sizes that do not fit together."""


class ArgumentError(WeftError, ValueError):
    """An argument whose value is not allowed, where none of the other errors says it better."""


class CallError(WeftError, TypeError):
    """A call in a form that does not exist: arguments with other names, a function of NumPy's
    without a counterpart."""


class DTypeError(WeftError, TypeError):
    """An element type that the operation does not take."""


class IndexError(WeftError, builtins.IndexError):
    """An index outside of its axis, found while building an expression or while running it."""


class AxisError(ShapeError, IndexError):
    """An axis that the shape does not have."""


class OverflowError(WeftError, builtins.OverflowError):
    """A Python number that the element type cannot hold."""


class LinAlgError(WeftError, _LinAlgError):
    """A matrix that a function of `wf.linalg` refuses: singular, not positive definite, or one for
    which an iteration does not converge. Also numpy.linalg.LinAlgError, a ValueError."""


class FloatingPointError(WeftError, builtins.FloatingPointError):
    """An operation that gave a NaN or an infinity though its operands were finite, found inside of
    `wf.debug_nans()`.

    Attributes: `op`, the operation; `file` and `line` of the user's code, None where they are
    unknown; `gradient`, whether it is part of the gradient of that line; `shape` and `dtype` of the
    result; `index`, where in it, None in a part of a sum that was computed in parts; `value`, what
    stands there; `operands`, what it was computed of, empty for sums; `kernel`, its name. All but
    `kernel` are None where memory does not suffice to look for the operation.
    """

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        vars(self).update(fields)


class MemoryError(WeftError, builtins.MemoryError):
    """A value that does not fit into the memory that is left."""


class BufferError(WeftError, builtins.BufferError):
    """Memory that cannot be shared with another library in the way it was asked for."""


class DeviceError(WeftError, RuntimeError):
    """A device that does not exist, or one that lacks a driver, a package or a compiler."""


class MissingPackageError(WeftError, ImportError):
    """An optional package that is needed here; the message says how to install it."""


class GradientError(WeftError, RuntimeError):
    """A derivative that cannot be formed."""


class StaleError(GradientError):
    """Backward through a value of a parameter that has been replaced since."""


class StateError(WeftError, builtins.KeyError, RuntimeError):
    """A state_dict that does not fit a Module: names that are missing or unexpected. A RuntimeError
    too, as in PyTorch."""

    __str__ = Exception.__str__  # KeyError shows the repr of its text


class AttributeError(WeftError, builtins.AttributeError):
    """A Tensor, a Module or Weft itself that has nothing of that name; its text ends with the
    nearest of the names `there`."""

    def __init__(
        self, message: str, name: str = "", there: Callable[[], Iterable[str]] = tuple
    ) -> None:
        # With a name, but no object, Python 3.13 adds no suggestion of its own. No frames are
        # hidden: hasattr must cost little.
        builtins.AttributeError.__init__(self, message, name=name)
        self._there = there

    def __str__(
        self,
    ) -> str:  # looked for when it is shown: hasattr(x, name) makes such an error, too
        near = nearest(self.name or "", self._there())
        return str(self.args[0]) if near is None else f"{self.args[0]}; did you mean {near!r}?"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class JitError(WeftError, RuntimeError):
    """A function that cannot be traced: it reads a value that differs from call to call, or keeps
    one for later."""


class FusionError(WeftError, AssertionError):
    """More kernels than `wf.one_kernel` allows."""


class OptionError(WeftError, ValueError):
    """An environment variable or option with a value that is not allowed."""


class CompileError(WeftError, RuntimeError):
    """Machine code could not be made or loaded: a fault of Weft or of its installation, never of
    the expression."""


class GrowthWarning(RuntimeWarning):
    """A graph that grows with every iteration and is never computed."""


class CacheWarning(RuntimeWarning):
    """A folder for compiled code that others can write to, which is therefore not used."""


class AliasWarning(RuntimeWarning):
    """An assignment to a part of a Tensor, which leaves the Tensor as it is, unlike a view of
    NumPy's."""


class GradientWarning(RuntimeWarning):
    """A jitted function whose gradients are used by nothing."""
