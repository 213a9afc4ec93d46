"""Nested state as JSON and Tensors, and back. In: dicts, lists, tuples, numbers, texts, Tensors.
Out: JSON, Tensors by name.

    {"step": 3, "mean": <Tensor>}  ->  {"step": 3, "mean": {"$tensor": "adam.mean"}}  and
    {"adam.mean": <Tensor>}

What JSON lacks is written as a dict with one key that begins with $: tuples, and dicts with other
keys than plain texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import errors
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief


def encoded(name: str, x: Any, tensors: dict[str, Tensor]) -> Any:
    """The JSON of x; its Tensors are added to `tensors` under dotted names. Raises DTypeError for
    anything else."""
    match x:
        case Tensor():
            while name in tensors:
                name += "_"
            tensors[name] = x.detach()
            return {"$tensor": name}
        case None | bool() | int() | float() | str():
            return x
        case np.bool_() | np.integer():
            return x.item()
        case np.floating():
            return float(x)
        case list():
            return [encoded(f"{name}.{i}", value, tensors) for i, value in enumerate(x)]
        case tuple():
            return {"$tuple": encoded(name, list(x), tensors)}
        case Mapping():
            items = [
                (_key(name, key), encoded(f"{name}.{key}", value, tensors))
                for key, value in x.items()
            ]
            plain = all(isinstance(key, str) and not key.startswith("$") for key in x)
            return dict(items) if plain else {"$items": [list(item) for item in items]}
    what = "neither a Tensor nor made of numbers, texts, lists and dicts, and has no state_dict()"
    raise errors.DTypeError(f"save: {name} is {brief(x)}, which is {what}")


def _key(name: str, key: Any) -> Any:
    if not isinstance(key, (str, int)):
        raise errors.DTypeError(
            f"save: {name} is a dict with the key {brief(key)}, which is neither a text nor an int"
        )
    return key


def decoded(x: Any, tensors: Mapping[str, Tensor]) -> Any:
    """What `encoded` was given."""
    match x:
        case {"$tensor": name}:
            return tensors[name]
        case {"$tuple": values}:
            return tuple(decoded(values, tensors))
        case {"$items": items}:
            return {key: decoded(value, tensors) for key, value in items}
        case dict():
            return {key: decoded(value, tensors) for key, value in x.items()}
        case list():
            return [decoded(value, tensors) for value in x]
    return x
