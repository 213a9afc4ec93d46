"""A Graph as a key. In: what a Capture numbered. Out: the Graph again, over fresh leaves; and text
that names it on disk.

A key is (entries, outputs, donations, device). An entry is a value in memory, (dtype, shape,
strides), with a True after it where that is the CPU's memory and the program a GPU's, or a Node,
(op, argument, *sources). A source or an output is the number of an entry, or a constant: (dtype,
None or the extents it is repeated to, and its value unless that is a float), or (IOTA, its length)
at each use, so that sizes which happen to be equal make no other key. Float constants stand
apart from the key, one per use, so that a graph which recurs with other constants is recognised. An
INPUT among the Nodes is the value it is defined by. Floats in the bodies of loops and branches are
sources of these, too (ir/regions/floats.py).
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from ..ir.graph import graph
from ..ir.graph.dtype import DType
from ..ir.graph.graph import Node, toposort
from ..ir.graph.op import INDEXED, REGIONAL, Op
from ..ir.graph.region import nested
from ..ir.graph.site import NOWHERE, Site, keeping_sites, provenance
from ..ir.program.program import ValueLayout
from ..ir.regions.floats import WITH_BODIES, inside
from ..runtime.memory.devices import CPU

Key = tuple[Any, ...]
# the Tensor whose value it is, and the user's line
Origin = tuple["weakref.ref[Any] | None", Site | None]


@dataclass(frozen=True)
class Structure:
    """A Graph that refers to no Node: it keeps nothing alive. `varying` are the uses of constants
    that are inputs, too."""

    key: Key
    constants: bytes  # eight bytes per use, so that NaNs and signed zeros differ by their bits
    varying: tuple[int, ...]
    sites: list[Site | None]  # of each entry
    origins: Sequence[Origin] = ()  # of each input that is in memory, when the program was new
    note: str = ""  # that `explain` shows

    @property
    def device(self) -> str:
        """Where the program runs."""
        return self.key[3]  # type: ignore[no-any-return]

    @property
    def checked(self) -> list[int]:
        """The entries whose indices are checked."""
        ops = INDEXED | REGIONAL  # in which there may be such
        return [i for i, entry in enumerate(self.key[0]) if entry[0] in ops]

    def at(self, sites: list[Site | None], origins: Sequence[Origin]) -> Structure:
        """The same, built by other lines on other values."""
        return replace(self, sites=sites, origins=origins)

    @property
    def regional(self) -> list[Any]:
        """Its loops and branches, then those in their bodies."""
        own = [entry[1][0] for entry in self.key[0] if entry[0] in REGIONAL]
        return [*dict.fromkeys([*own, *(n.arg[0] for n in self.inside if n.op in REGIONAL)])]

    @property
    def inside(self) -> list[Node]:
        """What is in the bodies of loops and branches, in order."""
        specs = dict.fromkeys(entry[1][0] for entry in self.key[0] if entry[0] in REGIONAL)
        bodies = [r.outputs for spec in specs for r in spec.regions]
        bodies += [r.outputs for outputs in bodies for r in nested(outputs)]
        return [n for outputs in bodies for n in toposort(outputs)]

    @cached_property
    def _lines(self) -> list[Site | None]:
        """The lines of all entries, then those in the bodies of loops."""
        return [*self.sites, *(n.site for n in self.inside)]

    def place_of(self, site: Site | None) -> int | None:
        """An entry, or an operation in a loop, of this line."""
        return self._lines.index(site) if site in self._lines else None

    def site_at(self, place: int | None) -> Site | None:
        """The line of one."""
        return None if place is None else self._lines[place]

    def values(self) -> list[ValueLayout]:
        """The layout of each input: those in memory, then the varying constants."""
        stored = [ValueLayout(*entry) for entry in self.key[0] if isinstance(entry[0], DType)]
        return stored + [ValueLayout(d, (), (), self.device != CPU) for d in self._varying_dtypes()]

    def text(self) -> str:
        """Equal for equal programs, in any process: constants that vary are left out."""
        constants = bytearray(self.constants)
        for use in self.varying:
            constants[8 * use : 8 * use + 8] = bytes(8)
        return repr((_plain(self.key), constants.hex(), self.varying))

    @keeping_sites()
    def graph(self, copies: bool = False) -> tuple[list[Node], list[Node]]:
        """(outputs, leaves): the Graph over leaves of its own: the inputs, then the varying
        constants. A program has no COPYs: they only say where it runs."""
        entries, outputs = self.key[:2]
        leaves = self._leaves()
        varying = dict(zip(self.varying, leaves[len(leaves) - len(self.varying) :], strict=True))
        constants = (
            varying.get(use, value)
            for use, (value,) in enumerate(struct.iter_unpack("d", self.constants))
        )
        stored = iter(leaves)
        known: list[Node] = []
        whole = cache(inside)

        def source(named: Any) -> Node:
            return known[named] if isinstance(named, int) else _constant(named, constants)

        for entry, site in zip(entries, self.sites, strict=True):
            if isinstance(entry[0], DType):
                known.append(next(stored))
                continue
            op, arg, *sources = entry
            with provenance(site):
                src = tuple(source(s) for s in sources)
                is_source = op is Op.INPUT or (op is Op.COPY and not copies)
                if op in WITH_BODIES:
                    spec, src = whole(arg[0], src)
                    arg = spec, arg[1]
                known.append(src[0] if is_source else graph.node(op, src, arg))
        return [source(out) for out in outputs], leaves

    def _leaves(self) -> list[Node]:
        lines = dict(enumerate(site for _, site in self.origins))
        with provenance(None) as here:
            leaves = []
            for i, v in enumerate(self.values()):
                here.move(lines.get(i) or NOWHERE)
                leaves.append(graph.leaf(_Place(i), v.dtype, v.shape))
        return leaves

    def unfolded(self) -> tuple[list[Node], list[Node], list[ValueLayout], dict[int, int]]:
        """(outputs, leaves, layouts of the leaves, wishes for donations): what compile.build
        takes."""
        outputs, leaves = self.graph()
        return outputs, leaves, self.values(), dict(self.key[2])

    def _varying_dtypes(self) -> list[DType]:
        if not self.varying:
            return []
        entries, outputs = self.key[:2]
        named = [s for entry in entries if not isinstance(entry[0], DType) for s in entry[2:]]
        constants = [c[0] for c in [*named, *outputs] if isinstance(c, tuple)]
        floats = [d for d in constants if d is not Op.IOTA and d.is_float]
        return [floats[use] for use in self.varying]


class _Place:
    """An input of one Graph. Were it equal to that of another one, Nodes of both would have the
    lines of the first."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"{-1 - self.number}"


def _constant(named: tuple[Any, ...], constants: Iterator[float | Node]) -> Node:
    if named[0] is Op.IOTA:
        return graph.node(Op.IOTA, (), named[1])
    dtype, extents, *value = named
    constant = value[0] if value else next(constants)
    n = constant if isinstance(constant, Node) else graph.const(constant, dtype)
    return n if extents is None else graph.node(Op.EXPAND, (n,), extents)


def _plain(x: Any) -> Any:
    """Ops and dtypes by name."""
    kind = type(x)
    if kind is tuple:
        return tuple([_plain(y) for y in x])
    return x.name if kind is DType else x._value_ if kind is Op else x
