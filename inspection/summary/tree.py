"""A Summary: a tree of layers. In: what Modules hold and return. Out: a table of text, HTML, a
dict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...wording import amount
from ..tables import Column, Table
from ..terminal import Marks, marks, width


@dataclass(frozen=True)
class Held:
    """A Parameter or a Buffer of a layer. `shared`: the name under which it was met before, and
    counted; else "".
    """

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

    Attributes: `name`, that of the attribute; `kind`, its class; `detail`, what its repr has
    between brackets; `count`, numbers in all parameters inside; `held`, its own parameters and
    buffers; `children`, a Layer each; `output`, the shape of what it returned as text, "" where it
    was not called; `calls`, how often it was; `shared`, the name of the same Module further up, "".
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
        own = [vars(held) | {"shape": list(held.shape)} for held in self.held]
        return {
            **{name: x for name, x in vars(self).items() if name not in ("held", "children")},
            "parameters": [held for held in own if held["kind"] == "parameter"],
            "buffers": [held for held in own if held["kind"] == "buffer"],
            "children": [child.to_dict() for child in self.children],
        }


@dataclass(frozen=True)
class Summary:
    """A tree of layers; print it for a table. Attributes: `tree`, the outermost Layer, and totals,
    what is shared counted once: `parameters`, `trainable` and `buffers` are counts of numbers,
    `bytes` what all of them take."""

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
        m = marks()
        lines = _table(self, m).lines(m.horizontal, width(), m.more)
        return "\n".join([*lines, lines[1], _totals(self)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        style = "white-space:pre;font-family:monospace;"
        return f"{_table(self, marks(ascii_only=False)).html(style)}<p>{_totals(self)}</p>"

    def to_dict(self) -> dict[str, Any]:
        """The tree and the totals in dicts, lists, texts and numbers."""
        totals = {
            name: getattr(self, name) for name in ("parameters", "trainable", "buffers", "bytes")
        }
        return {**self.tree.to_dict(), "totals": totals}


# ---------------------------------------------------------------- text

Row = tuple[str, str, str, str]


def _table(summary: Summary, m: Marks) -> Table:
    """A row for each layer, parameter and buffer. Only what a layer was made with may be cut."""
    uncut = max([len("kind"), *(len(_kind(held)) for held in summary.tree.all_held())])
    kind = Column("kind", cut=uncut)
    columns = Column("layer"), kind, Column("shape"), Column("parameters", True)
    return Table(columns, [*_rows(summary.tree, _Lines(m))])


class _Lines:
    """The lines of a tree: text before a row, and before the rows below it, by whether it is the
    last."""

    def __init__(self, m: Marks) -> None:
        tee, corner = m.corner("up", "down", "right"), m.corner("up", "right")
        self.before = {False: f"{tee}{m.horizontal} ", True: f"{corner}{m.horizontal} "}
        self.below = {False: f"{m.vertical}  ", True: "   "}


def _rows(layer: Layer, lines: _Lines, before: str = "", below: str = "") -> Iterator[Row]:
    detail = f"{layer.kind}({layer.detail})" if layer.detail else layer.kind
    kind = f"the same as {layer.shared}" if layer.shared else detail if detail != layer.name else ""
    times = f" in {layer.calls} calls" if layer.calls > 1 else ""
    yield before + layer.name, kind, layer.output + times, f"{layer.count:,}" if layer.count else ""
    inside: list[Held | Layer] = [*layer.held, *layer.children]
    for k, part in enumerate(inside):
        last = k == len(inside) - 1
        if isinstance(part, Held):
            yield below + lines.before[last] + part.name, _kind(part), str(part.shape), _count(part)
        else:
            yield from _rows(part, lines, below + lines.before[last], below + lines.below[last])


def _kind(held: Held) -> str:
    """What is unusual, and the dtype."""
    if held.shared:
        return f"the same as {held.shared}"
    note = "buffer, " if held.kind == "buffer" else "" if held.trainable else "not trained, "
    return note + held.dtype


def _count(held: Held) -> str:
    return f"{held.count:,}" if held.kind == "parameter" and not held.shared else ""


def _totals(summary: Summary) -> str:
    """How many parameters, how many learn, what buffers hold, and bytes in all."""
    parts = [f"{summary.parameters:,} parameter{'s' * (summary.parameters != 1)}"]
    if summary.trainable != summary.parameters:
        parts.append(f"{summary.trainable:,} of them trained")
    if summary.buffers:
        parts.append(f"{summary.buffers:,} number{'s' * (summary.buffers != 1)} in buffers")
    size = f"{summary.bytes} bytes" if summary.bytes < 1000 else f"{amount(summary.bytes)}B"
    return ", ".join([*parts, size])
