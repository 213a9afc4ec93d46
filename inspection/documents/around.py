"""Trees and layouts beside the programs of a page. In: Modules, Tensors, variables. Out: dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...frontend.lazy import realize
from ...frontend.tensor.tensor import Tensor
from ...nn.module import Module
from ..layout.layout import layout
from ..summary.summary import Calls, summary_of

MOST_LAYOUTS = 8  # of a report

Json = dict[str, Any]


def trees_of(x: Any, modules: Iterable[Module], calls: Calls) -> list[Json]:
    """Of x, if it is a Module, else of other Modules, with what they returned."""
    return [summary_of(m, calls).to_dict() for m in ([x] if isinstance(x, Module) else modules)]


def layouts_of(values: Iterable[Any]) -> list[Json]:
    """Of the Tensors among some values, and in lists and tuples of them, that are in memory."""
    flat = [t for v in values for t in (v if isinstance(v, list | tuple) else [v])]
    return [layout(t).to_dict() for t in flat if is_in_memory(t)][:MOST_LAYOUTS]


def layouts_by_name(variables: Mapping[str, Any]) -> list[Json]:
    """Of a script's variables that are Tensors in memory; those that share their memory
    together."""
    groups: dict[int, dict[str, Tensor]] = {}
    for name, value in variables.items():
        if is_in_memory(value) and not name.startswith("_"):
            groups.setdefault(id(realize.value(value).buffer), {})[name] = value
    return [layout(*group.values(), names=[*group]).to_dict() for group in groups.values()][
        :MOST_LAYOUTS
    ]


def is_in_memory(value: Any) -> bool:
    """Is it a Tensor for which nothing must be computed."""
    return isinstance(value, Tensor) and not realize.structure_of(value).key[1]
