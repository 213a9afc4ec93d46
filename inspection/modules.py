"""`wf.summary`. In: a Module, and what it may be called with. Out: its tree of layers with shapes, parameters and counts."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import errors
from ..frontend.gradients.gradient import no_grad
from ..frontend.lazy.watchers import watching_calls
from ..frontend.operands.arguments import shown
from ..frontend.tensor import random
from ..frontend.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ..nn.module import Module


@dataclass(frozen=True)
class Held:
    """A Parameter or a Buffer of a layer. `shared`: the name under which it was met before, and counted; else ""."""

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    count: int
    bytes: int
    trainable: bool
    shared: str = ""


@dataclass(frozen=True)
class Layer:
    """A Module and what is below it.

    Attributes: `name`, that of the attribute; `kind`, its class; `detail`, what its repr has between brackets; `count`, numbers
    in all parameters inside; `held`, its own parameters and buffers; `children`, a Layer each; `output`, the shape of what it
    returned as text, "" where it was not called; `calls`, how often it was; `shared`, the name of the same Module further up, "".
    """

    name: str
    kind: str
    detail: str
    count: int
    held: tuple[Held, ...]
    children: tuple[Layer, ...]
    output: str = ""
    calls: int = 0
    shared: str = ""

    def all_held(self) -> Iterator[Held]:
        """What it and the layers below hold."""
        yield from self.held
        for child in self.children:
            yield from child.all_held()

    def to_dict(self) -> dict[str, Any]:
        """The tree in dicts, lists, texts and numbers."""
        own = [_held_dict(held) for held in self.held]
        return {
            **{name: getattr(self, name) for name in ("name", "kind", "detail", "count", "output", "calls", "shared")},
            "parameters": [held for held in own if held["kind"] == "parameter"],
            "buffers": [held for held in own if held["kind"] == "buffer"],
            "children": [child.to_dict() for child in self.children],
        }


@dataclass(frozen=True)
class Summary:
    """A tree of layers; print it for a table. Attributes: `tree`, the outermost Layer, and totals, what is shared counted once:
    `parameters`, `trainable` and `buffers` are counts of numbers, `bytes` what all of them take."""

    tree: Layer

    @property
    def parameters(self) -> int:
        return sum(held.count for held in self._each("parameter"))

    @property
    def trainable(self) -> int:
        return sum(held.count for held in self._each("parameter") if held.trainable)

    @property
    def buffers(self) -> int:
        return sum(held.count for held in self._each("buffer"))

    @property
    def bytes(self) -> int:
        return sum(held.bytes for held in self.tree.all_held() if not held.shared)

    def _each(self, kind: str) -> Iterator[Held]:
        return (held for held in self.tree.all_held() if held.kind == kind and not held.shared)

    def __str__(self) -> str:
        from .modules_text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .modules_text import html

        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """The tree and the totals in dicts, lists, texts and numbers."""
        totals = {name: getattr(self, name) for name in ("parameters", "trainable", "buffers", "bytes")}
        return {**self.tree.to_dict(), "totals": totals}


def summary(model: Module, *inputs: Any) -> Summary:
    """The layers of a Module: kinds, parameters and buffers with shapes and counts, and given example inputs what each returns.

    The inputs are those of a call, `wf.summary(model, wf.zeros(1, 1, 28, 28))`; the call builds a graph, which is not computed,
    and neither buffers nor random numbers change. A shared parameter is counted once. Raises DTypeError for what is no Module,
    and what the call raises.

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
    from ..nn.module import Module

    if not isinstance(model, Module):
        raise errors.DTypeError(f"summary: of a Module, not {shown(model)}")
    return summary_of(model, _outputs(model, inputs) if inputs else Calls())


def summary_of(model: Module, calls: Calls) -> Summary:
    """The layers of a Module, and what each returned in these calls."""
    return Summary(_Walk(calls).layer(type(model).__name__, "", model))


# ---------------------------------------------------------------- the tree


class _Walk:
    """Makes Layers, and knows what was met before. In: what Modules returned."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.met: dict[int, str] = {}  # by id of a Module, Parameter or Buffer, its first dotted name

    def layer(self, name: str, path: str, module: Module) -> Layer:
        called = self.calls.of(module)
        facts = (name, type(module).__name__, module.extra_repr(), module.num_parameters())
        first = self.met.setdefault(id(module), path or name)
        if first != (path or name):
            return Layer(*facts, (), (), *called, first)
        held = tuple(self.held(n, t, path) for n, t in _own(module))
        children = tuple(self.layer(n, f"{path}.{n}".strip("."), child) for n, child in module.named_children())
        return Layer(*facts, held, children, *called)

    def held(self, name: str, t: Tensor, path: str) -> Held:
        from ..nn.parameter import Parameter

        kind = "parameter" if isinstance(t, Parameter) else "buffer"
        whole = f"{path}.{name}".strip(".")
        first = self.met.setdefault(id(t), whole)
        shared = "" if first == whole else first
        return Held(name, kind, t.shape, t.dtype.name, t.size, t.size * t.dtype.itemsize, t.requires_grad, shared)


def _own(module: Module) -> Iterator[tuple[str, Tensor]]:
    """A Module's own Parameters, then its Buffers."""
    yield from module.named_parameters(recurse=False, remove_duplicate=False)
    yield from module.named_buffers(recurse=False, remove_duplicate=False)


def _held_dict(held: Held) -> dict[str, Any]:
    found = vars(held) | {"shape": list(held.shape)}
    return {name: found[name] for name in ("name", "kind", "shape", "dtype", "count", "bytes", "trainable", "shared")}


# ---------------------------------------------------------------- what a call returns


class Calls:
    """What Modules returned, for `observe.watching_calls`; it keeps none alive."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[weakref.ref[Module], str, int]] = {}  # by id: shapes that it returned first, calls

    def __call__(self, module: Module, result: Any) -> None:
        text, calls = self.of(module)
        self._first[id(module)] = (weakref.ref(module), text if calls else shapes(result), calls + 1)

    def of(self, module: Module) -> tuple[str, int]:
        """(text of the shapes that a Module returned in its first call, how often it was called)."""
        ref, text, calls = self._first.get(id(module), (None, "", 0))
        return (text, calls) if ref is not None and ref() is module else ("", 0)


def _outputs(model: Module, inputs: tuple[Any, ...]) -> Calls:
    """What the Modules of a tree return in one call, which leaves no trace."""
    from ..nn.stateless import functional_call

    calls = Calls()
    buffers = {name: b.detach() for name, b in model.named_buffers()}
    before = random.get_rng_state()
    try:
        with no_grad(), watching_calls(calls):
            functional_call(model, buffers, inputs)
    finally:
        random.set_rng_state(before)
    return calls


def shapes(result: Any) -> str:
    """The shapes of Tensors in tuples, lists and dicts; of anything else its type."""
    match result:
        case Tensor():
            return str(result.shape)
        case list() | tuple():
            return ", ".join(map(shapes, result))
        case dict():
            return ", ".join(f"{name}: {shapes(value)}" for name, value in result.items())
    return "None" if result is None else type(result).__name__
