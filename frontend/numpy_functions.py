"""NumPy's functions of Tensors. In: a call such as np.exp(x) or np.sort(x). Out: what Weft's
function gives, or an error.

NumPy hands over such calls by two protocols: __array_ufunc__ (NEP 13) and __array_function__ (NEP
18). A function is known by its name; its arguments go by the names of NumPy's parameters, since
places may differ. Functions that describe values, write them or give them back as arrays are left
to NumPy, as np.asarray(x) is: nothing is computed there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from types import ModuleType
from typing import Any

import numpy as np

from .. import errors
from ..ir.graph import dtype as dt
from . import fft, linalg, ops
from .tensor.tensor import Tensor

Function = Callable[..., Any]
KNOWN = (Tensor, np.ndarray, np.generic, int, float, list, tuple)
RENAMED = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    **{
        "power": "pow",
        "invert": "bitwise_invert",
        "left_shift": "bitwise_left_shift",
        "right_shift": "bitwise_right_shift",
    },
    **{
        "conjugate": "conj",
        "rint": "round",
        "around": "round",
        "amax": "max",
        "amin": "min",
        "array": "tensor",
    },
    **{"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma"},  # of SciPy
}
SPACES = {"numpy": ops, "numpy.linalg": linalg, "numpy.fft": fft}  # by NumPy's modules
HOMES = {ops: "wf", linalg: "wf.linalg", fft: "wf.fft"}  # what users call them
METHODS = {
    **{
        "add.reduce": "sum",
        "multiply.reduce": "prod",
        "maximum.reduce": "max",
        "minimum.reduce": "min",
    },
    **{
        "logical_and.reduce": "all",
        "logical_or.reduce": "any",
        "add.accumulate": "cumsum",
        "multiply.accumulate": "cumprod",
    },
}
PARAMETERS = {"a_min": "min", "a_max": "max", "ddof": "correction", "constant_values": "value"}
# they change no value
HINTS = {
    "assume_unique",
    "copy",
    "kind",
    "optimize",
    "overwrite_input",
    "subok",
}
DIFFERENT = {
    "split": "wf.chunk(x, n) for n parts, wf.split(x, sizes) for parts of these sizes",
    "put_along_axis": (
        "x = wf.put_along_axis(x, indices, values, axis), which leaves the old value as it is"
    ),
}
DESCRIBING = {"can_cast", "iscomplexobj", "isrealobj", "ndim", "result_type", "shape", "size"}
CONVERTING = {
    *(
        "array2string",
        "array_repr",
        "array_str",
        "copyto",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
    ),
    *(
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_arrays",
        "may_share_memory",
        "shares_memory",
    ),
}

# ---------------------------------------------------------------- ufuncs


def ufunc(
    called: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """What __array_ufunc__ gives. Raises CallError for a ufunc, or an option of one, that Weft
    lacks."""
    for x in inputs:
        if not isinstance(x, KNOWN):
            return NotImplemented  # another library may know
    if method != "__call__":
        return _of_method(called, method, inputs, options)
    name = _name_of_ufunc(called)
    if name is None:
        raise _not_there(f"np.{called.__name__}")
    if called in (np.equal, np.not_equal) and _has_no_dtype(inputs):
        return called is np.not_equal
    return (
        _with_output(f"np.{called.__name__}", name, inputs, options)
        if options
        else getattr(ops, name)(*inputs)
    )


def _of_method(
    called: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """np.add.reduce(x), and so on."""
    label = f"{called.__name__}.{method}"
    if label not in METHODS:
        raise _not_there(f"np.{label}")
    return _with_output(f"np.{label}", METHODS[label], inputs, {"axis": 0, **options})


def _with_output(label: str, name: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """The result, written to the array that `out` gives, if it does."""
    result = _call(label, name, inputs, {k: value for k, value in options.items() if k != "out"})
    if "out" not in options:
        return result
    out = options["out"][0]
    if not isinstance(out, np.ndarray):
        raise errors.CallError(
            f"{label}: out= is an array; a Tensor is given a value by x.assign(...) or x[...] = ..."
        )
    np.copyto(out, result.numpy(), casting="same_kind")
    return out


def _has_no_dtype(inputs: tuple[Any, ...]) -> bool:
    """Is there an array of what has no dtype here, such as texts?"""
    return any(
        dt.from_numpy(x.dtype) is None for x in inputs if isinstance(x, (np.ndarray, np.generic))
    )


@cache
def _name_of_ufunc(called: np.ufunc) -> str | None:
    """Weft's name for a ufunc of NumPy or SciPy; None for others, whatever they are called."""
    homes = (np, sys.modules.get("scipy.special"))
    if all(getattr(home, called.__name__, None) is not called for home in homes):
        return None
    name = RENAMED.get(called.__name__, called.__name__)
    return name if name in vars(ops)["__all__"] else None


# ---------------------------------------------------------------- other functions


def function(
    called: Function, types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """What __array_function__ gives. Raises CallError for a function, or an argument of one, that
    Weft lacks."""
    if not all(issubclass(t, (Tensor, np.ndarray)) for t in types):
        return NotImplemented
    name, label = (
        called.__name__,
        f"{called.__module__.replace('numpy', 'np', 1)}.{called.__name__}",
    )
    if name in DESCRIBING or name in CONVERTING:
        plain = _stand_in if name in DESCRIBING else Tensor.numpy
        return called(
            *(_mapped(plain, x) for x in args), **{k: _mapped(plain, x) for k, x in kwargs.items()}
        )
    alike = ALIKE.get(label.removeprefix("np."))
    if alike is not None:
        return alike(*args, **kwargs)
    if name in DIFFERENT:
        raise errors.CallError(f"{label} of a Tensor: write {DIFFERENT[name]}")
    name = RENAMED.get(name, name)
    space = SPACES.get(called.__module__)
    if space is None or name not in vars(space)["__all__"]:
        raise _not_there(label)
    places, names = _bound(called, args, kwargs)
    return _call(label, name, places, names, space)


def _not_there(label: str) -> errors.CallError:
    return errors.CallError(
        f"{label} is not a function of Weft: write {label}(x.numpy()) to compute it in NumPy,"
        " outside of the graph"
    )


def _mapped(function: Function, x: Any) -> Any:
    """The function of each Tensor, also inside lists."""
    if isinstance(x, (list, tuple)):
        return [_mapped(function, i) for i in x]
    return function(x) if isinstance(x, Tensor) else x


def _stand_in(x: Tensor) -> np.ndarray[Any, Any]:
    """An array of the Tensor's shape and dtype, for which nothing is computed."""
    return np.broadcast_to(np.empty((), x.dtype.numpy), x.shape)


_parameters = cache(signature)


def _bound(
    called: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """(what NumPy requires, in order, by its names the rest that is not the default)."""
    try:
        found = _parameters(called)
    except ValueError:  # some functions written in C have no signature
        return list(args), dict(kwargs)
    places: list[Any] = []
    names: dict[str, Any] = {}
    for name, value in found.bind(*args, **kwargs).arguments.items():
        p = found.parameters[name]
        if p.kind is Parameter.VAR_POSITIONAL:
            places += value
        elif p.kind is Parameter.VAR_KEYWORD:
            names |= value
        elif p.default is Parameter.empty:
            places.append(value)
        elif value is not p.default:
            names[name] = value
    return places, names


def _call(
    label: str, name: str, places: Any, names: Mapping[str, Any], space: ModuleType = ops
) -> Any:
    """Weft's function of this name in a module, with NumPy's arguments."""
    called = getattr(space, name)
    there = _parameters(called).parameters
    given = {
        PARAMETERS.get(k, k): value for k, value in names.items() if k in there or k not in HINTS
    }
    unknown = [k for k in given if k not in there]
    if unknown:
        how = (
            "give what it returns a name"
            if unknown == ["out"]
            else f"write {label}(x.numpy(), ...)"
        )
        raise errors.CallError(
            f"{label} of a Tensor is {HOMES[space]}.{name}, which has no {unknown[0]}=: {how}"
        )
    return called(*places, **given)


# ---------------------------------------------------------------- functions that Weft has in
# another form


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    return ops.nonzero(condition) if x is None and y is None else ops.where(condition, x, y)


def _transpose(a: Any, axes: Any = None) -> Tensor:
    return ops.transpose(a) if axes is None else ops.permute(a, axes)  # type: ignore[no-any-return]


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a, b = ops.asarray(a1), ops.asarray(a2)
    same = (a == b) | (a.isnan() & b.isnan()) if equal_nan and a.shape == b.shape else None
    return a.shape == b.shape and bool((a == b if same is None else same).all())


def _column_stack(tup: Any) -> Tensor:
    columns = [ops.asarray(x) for x in tup]
    return ops.concat([x if x.ndim > 1 else x.reshape(-1, 1) for x in columns], axis=1)  # type: ignore[no-any-return]


def _pad(
    array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0, **others: Any
) -> Tensor:
    """NumPy takes a value for each side; Weft takes one for all."""
    values = {*np.ravel(constant_values).tolist()}
    value = values.pop() if len(values) == 1 else constant_values
    return _call("np.pad", "pad", (array, pad_width), {"mode": mode, "value": value, **others})  # type: ignore[no-any-return]


ALIKE: dict[str, Function] = {
    "where": _where,
    "transpose": _transpose,
    "permute_dims": _transpose,
    "array_equal": _array_equal,
    "column_stack": _column_stack,
    "pad": _pad,
}
