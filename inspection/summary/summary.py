"""`wf.summary`. In: a Module, and example inputs. Out: its tree of layers with shapes and
counts.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ... import errors
from ...frontend.gradients.gradient import no_grad
from ...frontend.lazy.watchers import watching_calls
from ...frontend.tensor import random
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from .tree import Held, Layer, Summary

if TYPE_CHECKING:
    from ...nn.module import Module


def summary(model: Module, *inputs: Any) -> Summary:
    """The layers of a Module: kinds, parameters and buffers with shapes and counts, and given
    example inputs what each returns.

    The inputs are those of a call, `wf.summary(model, wf.zeros(1, 1, 28, 28))`; the call builds a
    graph, which is not computed, and neither buffers nor random numbers change. A shared parameter
    is counted once. Raises DTypeError for anything but a Module, and what the call raises.

    >>> print(wf.summary(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), wf.zeros(2, 4)))
    layer         kind                                              shape   parameters
    ──────────────────────────────────────────────────────────────────────────────────
    Sequential                                                      (2, 3)          15
    ├─ 0          Linear(in_features=4, out_features=3, bias=True)  (2, 3)          15
    │  ├─ weight  float32                                           (3, 4)          12
    │  └─ bias    float32                                           (3,)             3
    └─ 1          ReLU                                              (2, 3)
    ──────────────────────────────────────────────────────────────────────────────────
    15 parameters, 60 bytes
    """
    from ...nn.module import Module

    if not isinstance(model, Module):
        raise errors.DTypeError(f"summary: expected a Module, not {brief(model)}")
    return summary_of(model, _outputs(model, inputs) if inputs else Calls())


def summary_of(model: Module, calls: Calls) -> Summary:
    """The layers of a Module, and what each returned in these calls."""
    return Summary(_Walk(calls).layer(type(model).__name__, "", model))


# ---------------------------------------------------------------- the tree


class _Walk:
    """Makes Layers, and knows what was met before. In: what Modules returned."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.met: dict[
            int, str
        ] = {}  # by id of a Module, Parameter or Buffer, its first dotted name

    def layer(self, name: str, path: str, module: Module) -> Layer:
        called = self.calls.of(module)
        facts = (name, type(module).__name__, module.extra_repr(), module.num_parameters())
        first = self.met.setdefault(id(module), path or name)
        if first != (path or name):
            return Layer(*facts, (), (), *called, first)
        held = tuple(self.held(n, t, path) for n, t in _own(module))
        children = tuple(
            self.layer(n, f"{path}.{n}".strip("."), child) for n, child in module.named_children()
        )
        return Layer(*facts, held, children, *called)

    def held(self, name: str, t: Tensor, path: str) -> Held:
        from ...nn.parameter import Parameter

        kind = "parameter" if isinstance(t, Parameter) else "buffer"
        whole = f"{path}.{name}".strip(".")
        first = self.met.setdefault(id(t), whole)
        shared = "" if first == whole else first
        return Held(
            name,
            kind,
            t.shape,
            t.dtype.name,
            t.size,
            t.size * t.dtype.itemsize,
            t.requires_grad,
            shared,
        )


def _own(module: Module) -> Iterator[tuple[str, Tensor]]:
    """A Module's own Parameters, then its Buffers."""
    yield from module.named_parameters(recurse=False, remove_duplicate=False)
    yield from module.named_buffers(recurse=False, remove_duplicate=False)


# ---------------------------------------------------------------- what a call returns


class Calls:
    """What Modules returned, for `observe.watching_calls`; it keeps none alive."""

    def __init__(self) -> None:
        self._first: dict[
            int, tuple[weakref.ref[Module], str, int]
        ] = {}  # by id: shapes that it returned first, calls

    def __call__(self, module: Module, result: object) -> None:
        text, calls = self.of(module)
        self._first[id(module)] = (
            weakref.ref(module),
            text if calls else shapes(result),
            calls + 1,
        )

    def of(self, module: Module) -> tuple[str, int]:
        """(text of the shapes that a Module returned in its first call, how often it was
        called)."""
        ref, text, calls = self._first.get(id(module), (None, "", 0))
        return (text, calls) if ref is not None and ref() is module else ("", 0)


def _outputs(model: Module, inputs: tuple[Any, ...]) -> Calls:
    """What the Modules of a tree return in one call, which leaves no trace."""
    from ...nn.stateless import functional_call

    calls = Calls()
    buffers = {name: b.detach() for name, b in model.named_buffers()}
    before = random.get_rng_state()
    try:
        with no_grad(), watching_calls(calls):
            functional_call(model, buffers, inputs)
    finally:
        random.set_rng_state(before)
    return calls


def shapes(result: object) -> str:
    """The shapes of Tensors in tuples, lists and dicts; of anything else its type."""
    match result:
        case Tensor():
            return str(result.shape)
        case list() | tuple():
            return ", ".join(map(shapes, result))
        case dict():
            return ", ".join(f"{name}: {shapes(value)}" for name, value in result.items())
    return "None" if result is None else type(result).__name__
