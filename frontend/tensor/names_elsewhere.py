"""Names of other libraries. In: a name that a Tensor, a Module or a module lacks. Out: an error
that says what to write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from inspect import ismodule
from typing import NoReturn

from ... import errors

CHANGES = "x += y, x[key] = y or x.assign(y): these give x another value"
OF_TENSORS = {
    "add": "x + y",
    "allclose": "wf.allclose(x, y)",
    "at": "x[key] = y",
    "block_until_ready": "x.realize()",
    "bmm": "x @ y",
    "byte": "x.to(wf.uint8)",
    "char": "x.to(wf.int8)",
    "clamp_max": "x.minimum(y)",
    "clamp_min": "x.maximum(y)",
    "copy": "x.clone()",
    "data": "x.assign(y) to give x another value, x.detach() to read it without gradients",
    "data_ptr": "x.numpy().ctypes.data",
    "dim": "x.ndim",
    "div": "x / y",
    "element_size": "x.dtype.itemsize",
    "eq": "x == y",
    "equal": "(x == y).all()",
    "expand_as": "x.expand(y.shape)",
    "gather": "wf.take_along_axis(x, indices, axis)",
    "ge": "x >= y",
    "gt": "x > y",
    "index_add": "wf.scatter_add(x, indices, y)",
    "index_put": "x[key] = y",
    "index_select": "x.take(indices, axis)",
    "is_floating_point": "x.dtype.is_float",
    "itemsize": "x.dtype.itemsize",
    "le": "x <= y",
    "lt": "x < y",
    "masked_select": "x[mask]",
    "mm": "x @ y",
    "movedim": "x.moveaxis(source, destination)",
    "mul": "x * y",
    "mv": "x @ y",
    "narrow": "x[start : start + length]",
    "nbytes": "x.size * x.dtype.itemsize",
    "ne": "x != y",
    "nelement": "x.size",
    "new_full": "wf.full(shape, value, dtype=x.dtype)",
    "new_ones": "wf.ones(shape, dtype=x.dtype)",
    "new_tensor": "wf.tensor(data, dtype=x.dtype)",
    "new_zeros": "wf.zeros(shape, dtype=x.dtype)",
    "numel": "x.size",
    "ptp": "x.max() - x.min()",
    "scatter": "wf.put_along_axis(x, indices, y, axis)",
    "scatter_add": (
        "wf.scatter_add(x, (rows, columns), values, axis=(0, 1)), of slices wf.scatter_add(x,"
        " indices, values)"
    ),
    "searchsorted": "wf.searchsorted(x, y)",
    "short": "x.to(wf.int16)",
    "stride": "x.strides",
    "sub": "x - y",
    "t": "x.T",
    "tril": "wf.tril(x)",
    "triu": "wf.triu(x)",
    "type": "x.to(dtype)",
    "type_as": "x.to(y.dtype)",
    "unbind": "x.unstack(axis)",
    "unfold": "wf.window(x, axis, size, stride)",
    "view_as": "x.view(y.shape)",
}
OF_WEFT = {
    "lax": "wf.scan, wf.fori_loop, wf.while_loop, wf.cond, wf.switch and wf.map",
    "addmm": "x @ y + b",
    "amax": "wf.max(x, axis)",
    "amin": "wf.min(x, axis)",
    "amp": "wf.nn.amp",
    "arccos": "wf.acos(x)",
    "arcsin": "wf.asin(x)",
    "arctan": "wf.atan(x)",
    "arctan2": "wf.atan2(y, x)",
    "array": "wf.tensor(data)",
    "as_tensor": "wf.asarray(x)",
    "autocast": "wf.nn.autocast(dtype)",
    "autograd": "wf.grad(loss, x), wf.vjp, wf.jvp, wf.jacrev, wf.hessian or wf.Function",
    "bernoulli": "wf.rand(*x.shape) < x",
    "bitwise_not": "wf.bitwise_invert(x)",
    "bmm": "wf.matmul(x, y)",
    "bool": "wf.bool_",
    "cat": "wf.concat([x, y], axis)",
    "device": "a text, one of wf.devices()",
    "device_put": "x.to(device)",
    "double": "wf.float64",
    "float": "wf.float32",
    "gradient_check": "wf.check_grad(f, x)",
    "half": "wf.float16",
    "index_select": "wf.take(x, indices, axis)",
    "inference_mode": "wf.no_grad()",
    "int": "wf.int32",
    "invert": "wf.bitwise_invert(x)",
    "jacobian": "wf.jacrev(f)(x) or wf.jacfwd(f)(x)",
    "is_tensor": "isinstance(x, wf.Tensor)",
    "load": "wf.nn.load(path)",
    "long": "wf.int64",
    "mm": "wf.matmul(x, y)",
    "mod": "wf.remainder(x, y)",
    "movedim": "wf.moveaxis(x, source, destination)",
    "mul": "wf.multiply(x, y)",
    "mv": "wf.matmul(x, y)",
    "ndarray": "wf.Tensor",
    "numel": "x.size",
    "optim": "wf.nn.optim",
    "power": "wf.pow(x, y)",
    "random": "wf.rand(*shape), wf.randn, wf.randint or wf.choice",
    "save": "wf.nn.save(path, model=model)",
    "seed": "wf.manual_seed(n)",
    "set_grad_enabled": "wf.no_grad() or wf.enable_grad()",
    "set_num_threads": "WEFT_NUM_THREADS=n in the environment",
    "sub": "wf.subtract(x, y)",
    "true_divide": "wf.divide(x, y)",
    "unbind": "wf.unstack(x, axis=axis)",
    "utils": "wf.nn.data or wf.nn.utils",
}

OF_MODULES = {
    "compile": "wf.jit(module)",
    "device": "next(module.parameters()).device",
    "dtype": "next(module.parameters()).dtype",
    "get_extra_state": "module.state_dict()",
    "load": "module.load_state_dict(wf.nn.load(path))",
    "predict": "module(x)",
    "save": "wf.nn.save(path, model=module)",
    "type": "module.to(dtype)",
}

_LINALG = (
    "inv",
    "pinv",
    "solve",
    "lstsq",
    "det",
    "slogdet",
    "svd",
    "qr",
    "eigh",
    "eigvalsh",
    "eig",
    "eigvals",
)
ABSENT = {
    **{name: f"it is wf.linalg.{name}" for name in (*_LINALG, "cholesky")},
    "inverse": "it is wf.linalg.inv",
    **{name: f"it is wf.fft.{name}" for name in ("rfft", "ifft", "fftn", "irfft")},
}


def public(namespace: Mapping[str, object]) -> list[str]:
    """The names of a module that are for users: not those of modules, nor what begins with an
    underscore.

    A module that lists its names by this lists them as globals()["__all__"], so that type checkers
    look for themselves.
    """
    return sorted(
        name
        for name, x in namespace.items()
        if name[0] != "_" and name != "annotations" and not ismodule(x)
    )


def no_attribute(
    what: str, name: str, there: Callable[[], Iterable[str]], known: Mapping[str, str]
) -> errors.AttributeError:
    """The error for a name that a module or an object lacks. there: the names that it has; known:
    what to write for others."""
    text = f"{what} has no attribute {name!r}"
    if known is OF_TENSORS and name.endswith("_"):
        return errors.AttributeError(f"{text}; write {CHANGES}", name)
    if name in known:
        return errors.AttributeError(f"{text}; write {known[name]}", name)
    if name in ABSENT:
        return errors.AttributeError(f"{text}: {ABSENT[name]}", name)
    return errors.AttributeError(text, name, there)


def of_module(
    module: str, known: Mapping[str, str] | None = None, more: Iterable[str] = ()
) -> Callable[[str], NoReturn]:
    """The __getattr__ of a module: raises the error for each name. more: names that it has beside
    those in its __all__."""

    def missing(name: str) -> NoReturn:
        __tracebackhide__ = True
        if name.startswith("_"):  # what others ask every module for
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise no_attribute(
            f"module {module!r}", name, lambda: [*sys.modules[module].__all__, *more], known or {}
        )

    return missing
