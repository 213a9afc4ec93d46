"""A key of structure in two parts. In: a key. Out: what stays whatever the sizes are, and the
extents, in order.

    (float32, (64, 784), (784, 1)), (REDUCE, ("add", (0,)), 0)
    ->  (float32, (., .), (., .)), (REDUCE, ("add", (0,)), 0)   and   64, 784, 784, 1

Loops, branches and routines are parted as well: the lengths of loops, the Graphs inside, the shapes
of results.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...ir.graph import graph
from ...ir.graph.dtype import DType, int64
from ...ir.graph.graph import Node, toposort
from ...ir.graph.op import JOINT, Op
from ...ir.graph.region import Branch, CustomVjp, Loop, Region, Spec, parameter
from ...ir.graph.routine import Routine
from ..structure import Key

HOLE = "."  # where an extent was
ALL = (Op.RESHAPE, Op.IOTA, Op.SLICE, Op.PAD)  # whose arguments are extents and nothing else


@dataclass(frozen=True)
class Apart:
    """`rest` has a HOLE for each of the `extents`; `sizes` are the places of those that are sizes
    of axes of inputs."""

    rest: Hashable
    extents: tuple[int, ...]
    sizes: tuple[int, ...]


def apart(key: Key) -> Apart:
    """The two parts of a key."""
    entries, outputs, donations, device = key
    made = _Parted()
    rest = [made.entry(entry) for entry in entries]
    roots = tuple(map(made.source, outputs))
    return Apart((tuple(rest), roots, donations, device), tuple(made.extents), tuple(made.sizes))


def together(rest: Any, extents: Sequence[int]) -> Key:
    """The key again, with these extents."""
    filled = _Filled(iter(extents))
    key: Key = filled.whole(rest)
    assert next(filled.left, None) is None
    return key


@dataclass(frozen=True)
class _Body:
    """A Region without extents: entries as those of a key, after the parameters."""

    params: tuple[Any, ...]
    entries: tuple[Any, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class _Again:
    """A loop or branch that was met before."""

    number: int


@dataclass
class _Parted:
    """`specs`: the loops and branches so far, by number."""

    extents: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    specs: dict[Spec, int] = field(default_factory=dict)

    def entry(self, entry: Any) -> Any:
        """Of a value in memory, or of a Node."""
        if isinstance(entry[0], DType):
            dtype, shape, strides, *host = entry
            self.sizes += range(len(self.extents), len(self.extents) + len(shape))
            return dtype, self._holes(shape), self._holes(strides), *host
        op, arg, *sources = entry
        return op, self._argument(op, arg), *map(self.source, sources)

    def source(self, s: Any) -> Any:
        """The number of an entry, a constant and how often it is repeated, or an IOTA."""
        if isinstance(s, int):
            return s
        if s[0] is Op.IOTA:
            return Op.IOTA, self._holes(s[1])
        dtype, repeated, *value = s
        extents = None if repeated is None else self._second(repeated)
        return dtype, extents, *(self._constant(dtype, v) for v in value)

    def _constant(self, dtype: DType, value: Any) -> Any:
        """Integers that counters are compared with follow sizes."""
        return self._holes(value) if dtype is int64 else value

    def _argument(self, op: Op, arg: Any) -> Any:
        if op in ALL:
            return self._holes(arg)
        if op is Op.EXPAND:
            return self._second(arg)
        if op is Op.SCATTER:
            return arg[0], self._holes(arg[1]), *arg[2:]
        return (self._spec(arg[0]), arg[1]) if op in JOINT else arg

    def _second(self, pairs: tuple[tuple[int, int], ...]) -> Any:
        """Pairs of an axis and an extent."""
        self.extents += [extent for _, extent in pairs]
        return tuple([(axis, HOLE) for axis, _ in pairs])

    def _holes(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([self._holes(y) for y in x])
        self.extents.append(x)
        return HOLE

    # ------------------------------------------------------------ loops and branches

    def _spec(self, spec: Any) -> Any:
        """The same with a _Body for each Region."""
        if spec in self.specs:
            return _Again(self.specs[spec])
        self.specs[spec] = len(self.specs)
        match spec:
            case Loop():
                length = None if spec.length is None else self._holes(spec.length)
                return replace(spec, body=self._body(spec.body), length=length)
            case Branch():
                return Branch(tuple(map(self._body, spec.regions)))
            case CustomVjp():
                return replace(spec, pull=self._body(spec.pull))
            case Routine():
                return replace(spec, specs=tuple([(d, self._holes(s)) for d, s in spec.specs]))
        return spec

    def _body(self, region: Region) -> Any:
        params = [(p.dtype, self._holes(p.shape)) for p in region.params]
        numbers = {p: i for i, p in enumerate(region.params)}
        entries = []
        for n in toposort(region.outputs, dict(numbers)):
            entries.append(self._node(n, [numbers[s] for s in n.src]))
            numbers[n] = len(numbers)
        return _Body(tuple(params), tuple(entries), tuple([numbers[n] for n in region.outputs]))

    def _node(self, n: Node, sources: Sequence[int]) -> Any:
        if n.op is not Op.CONST:
            return n.op, self._argument(n.op, n.arg), *sources
        value = struct.pack("d", n.arg) if n.dtype.is_float else self._constant(n.dtype, n.arg)
        return n.op, value, n.dtype


@dataclass
class _Filled:
    """`left`: the extents that have no place yet; `specs`: the loops and branches so far."""

    left: Iterator[int]
    specs: list[Spec] = field(default_factory=list)

    def whole(self, x: Any) -> Any:
        """Any part of a key."""
        if isinstance(x, tuple):
            return tuple([self.whole(y) for y in x])
        if isinstance(x, str):
            return next(self.left) if x is HOLE else x
        if isinstance(x, _Again):
            return self.specs[x.number]
        return self._spec(x) if isinstance(x, Spec) else x

    def _spec(self, spec: Any) -> Spec:
        self.specs.append(spec)
        number = len(self.specs) - 1
        match spec:
            case Loop():
                length = self.whole(spec.length)
                spec = replace(spec, body=self._region(spec.body), length=length)
            case Branch():
                spec = Branch(tuple(map(self._region, spec.regions)))
            case CustomVjp():
                spec = replace(spec, pull=self._region(spec.pull))
            case Routine():
                spec = replace(spec, specs=tuple([(d, self.whole(s)) for d, s in spec.specs]))
        self.specs[number] = spec
        return spec  # type: ignore[no-any-return]

    def _region(self, body: Any) -> Region:
        params = [parameter(i, *self.whole(p)) for i, p in enumerate(body.params)]
        known = list(params)
        for op, arg, *sources in body.entries:
            if op is Op.CONST:
                known.append(self._constant(arg, *sources))
            else:
                known.append(graph.node(op, [known[s] for s in sources], self.whole(arg)))
        return Region(tuple(params), tuple([known[i] for i in body.outputs]))

    def _constant(self, value: Any, dtype: DType) -> Node:
        if isinstance(value, bytes):
            (value,) = struct.unpack("d", value)
        return graph.const(self.whole(value), dtype)
