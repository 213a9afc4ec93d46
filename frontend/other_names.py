"""What other libraries call otherwise. In: a name of PyTorch that Weft has not. Out: an error that says what to write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import errors

CHANGES = "x += y, x[key] = y or x.assign(y): these give x another value"
OF_TENSORS = {
    "add": "x + y",
    "bmm": "x @ y",
    "clamp": "x.clip(min, max)",
    "data": "x.assign(y) to give x another value, x.detach() to read it without gradients",
    "dim": "x.ndim",
    "div": "x / y",
    "eq": "x == y",
    "expand_as": "x.expand(y.shape)",
    "gather": "wf.take_along_axis(x, indices, axis)",
    "ge": "x >= y",
    "gt": "x > y",
    "index_select": "x.take(indices, axis)",
    "le": "x <= y",
    "lt": "x < y",
    "mm": "x @ y",
    "mul": "x * y",
    "mv": "x @ y",
    "ne": "x != y",
    "nelement": "x.size",
    "new_ones": "wf.ones(shape, dtype=x.dtype)",
    "new_zeros": "wf.zeros(shape, dtype=x.dtype)",
    "numel": "x.size",
    "scatter": "wf.put_along_axis(x, indices, y, axis)",
    "scatter_add": "wf.scatter_add(x, indices, y, axis)",
    "stride": "x.strides",
    "sub": "x - y",
    "t": "x.T",
    "tril": "wf.tril(x)",
    "triu": "wf.triu(x)",
    "type": "x.to(dtype)",
    "type_as": "x.to(y.dtype)",
    "unbind": "x.unstack(axis)",
    "view_as": "x.view(y.shape)",
}
OF_WEFT = {
    "amp": "wf.nn.amp",
    "as_tensor": "wf.asarray(x)",
    "autocast": "wf.nn.autocast(dtype)",
    "autograd": "wf.grad(loss, x), wf.vjp, wf.jvp or wf.hessian_vector_product",
    "bernoulli": "wf.rand(*x.shape) < x",
    "bmm": "wf.matmul(x, y)",
    "bool": "wf.bool_",
    "cat": "wf.concat([x, y], axis)",
    "clamp": "wf.clip(x, min, max)",
    "device": "a text, one of wf.devices()",
    "double": "wf.float64",
    "float": "wf.float32",
    "half": "wf.float16",
    "index_select": "wf.take(x, indices, axis)",
    "inference_mode": "wf.no_grad()",
    "int": "wf.int32",
    "load": "wf.nn.load(path)",
    "long": "wf.int64",
    "mm": "wf.matmul(x, y)",
    "mv": "wf.matmul(x, y)",
    "numel": "x.size",
    "optim": "wf.nn.optim",
    "rand_like": "wf.rand(*x.shape)",
    "randn_like": "wf.randn(*x.shape)",
    "randperm": "wf.rand(n).argsort()",
    "save": "wf.nn.save(path, model=model)",
    "set_grad_enabled": "wf.no_grad() or wf.enable_grad()",
    "unbind": "wf.unstack(x, axis=axis)",
    "utils": "wf.nn.data or wf.nn.utils",
}

OF_PARAMETERS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}


def note_names(error: TypeError, given: Iterable[str]) -> None:
    """Lets the error of a call say how the parameters that it was given are called here."""
    for name in OF_PARAMETERS.keys() & given:
        error.add_note(f"{name}= is called {OF_PARAMETERS[name]}= here, as in NumPy")


def no_attribute(of: Any, what: str, name: str, known: dict[str, str]) -> errors.AttributeError:
    """The error for a name that `of` has not."""
    in_place = known is OF_TENSORS and name.endswith("_") and not name.startswith("_")
    here = CHANGES if in_place else known.get(name)
    advice = "" if here is None else f"; write {here}"
    return errors.AttributeError(f"{what} has no attribute {name!r}{advice}", name=name, obj=of)
