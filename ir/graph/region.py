"""Regions: Graphs inside a Node, and the Loops and Branches made of them. In: parameters, outputs.
Out: closed Graphs that equality compares.

A Region refers to nothing outside: what its body uses of the Graph around it is a parameter, and
the Node's sources are its arguments. Parameters are numbered leaves, so bodies that compute the
same are the same Nodes.

A Node of Op.LOOP or Op.BRANCH is one result: its argument is (Loop or Branch, number of the
result). Results of one loop have the same sources, and one kernel computes them together.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from . import dtype as dt
from .dtype import DType
from .graph import Node, const_key, leaf, node, rebuilt_over, toposort, type_of
from .host import HostCall
from .op import REGIONAL, Op
from .routine import Routine
from .shapes import Shape, addressable, require


class Place:
    """The serial number of a parameter. One without a number is equal to no other."""

    __slots__ = ("number",)

    def __init__(self, number: int | None = None) -> None:
        self.number = number

    def __repr__(self) -> str:
        return "?" if self.number is None else str(self.number)


@functools.cache
def _place(number: int) -> Place:
    return Place(number)


def parameter(number: int, dtype: DType, shape: Shape) -> Node:
    """The parameter of this number: the same Node in every Region."""
    return leaf(_place(number), dtype, shape)


def unnumbered(dtype: DType, shape: Shape) -> Node:
    """A parameter of a body in the making."""
    return leaf(Place(), dtype, shape)


@dataclass(frozen=True)
class Region:
    """A closed Graph: `outputs` of `params`, which are numbered in order."""

    params: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def over(self, arguments: Sequence[Node]) -> list[Node]:
        """The outputs where arguments stand for the parameters."""
        new = rebuilt_over(self.outputs, dict(zip(self.params, arguments, strict=True)))
        return [new[n] for n in self.outputs]

    def __repr__(self) -> str:
        """Equal for equal Regions, in any process."""
        numbers = {n: i for i, n in enumerate(self.params)}
        lines = [type_of(n) for n in self.params]
        for n in toposort(self.outputs, numbers):
            numbers[n] = len(numbers)
            arg = const_key(n.arg, n.dtype) if n.op is Op.CONST else n.arg
            lines.append(f"{n.op.value} {arg!r} {n.dtype.name} {[numbers[s] for s in n.src]}")
        return f"<{'; '.join(lines)} -> {[numbers[n] for n in self.outputs]}>"


def closed(params: Iterable[Node], outputs: Iterable[Node]) -> Region:
    """A Region over these leaves, numbered in order."""
    params, outputs = list(params), list(outputs)
    numbered = [parameter(i, p.dtype, p.shape) for i, p in enumerate(params)]
    new = rebuilt_over(outputs, dict(zip(params, numbered, strict=True)))
    return Region(tuple(numbered), tuple([new[n] for n in outputs]))


@dataclass(frozen=True)
class Loop:
    """A counted loop, or one that goes on while a condition holds.

    The body takes captured values, the same in each iteration, then `carries`, then `slices`:
    element t of as many sources along their first axis. It gives the next carries, then values that
    are stacked along a new first axis.

    Attributes: `length`, iterations, or the most there may be, or None; `is_while`: it goes on as
    long as the first carry, a bool, is true; `reverse`: slices are taken, and results stacked, from
    the last to the first.
    """

    body: Region
    carries: int
    slices: int = 0
    length: int | None = None
    is_while: bool = False
    reverse: bool = False

    @property
    def captured(self) -> int:
        """How many values it captures."""
        return len(self.body.params) - self.carries - self.slices

    @property
    def results(self) -> int:
        """How many it has."""
        return len(self.body.outputs)

    @property
    def stacked(self) -> int:
        """How many of them are stacked."""
        return self.results - self.carries

    @property
    def regions(self) -> tuple[Region, ...]:
        """Its body."""
        return (self.body,)

    def result(self, k: int, src: tuple[Node, ...]) -> tuple[DType, Shape]:
        """Dtype and shape of result k: the last carries, then what is stacked."""
        first, last = self.captured, self.captured + self.carries
        params, outputs = self.body.params, self.body.outputs
        require(len(src) == len(params), Op.LOOP, f"{len(src)} sources for {len(params)}")
        is_counted = self.length is not None
        require(is_counted or not (self.slices or self.stacked), Op.LOOP, "no length")
        has_condition = params[first].dtype is dt.bool_ and not params[first].shape
        require(not self.is_while or has_condition, Op.LOOP, "no condition")
        for i, (p, s) in enumerate(zip(params, src, strict=True)):
            shape = (self.length, *p.shape) if i >= last else p.shape
            fits = p.dtype is s.dtype and s.shape == shape
            require(fits, Op.LOOP, f"source {i}: {type_of(s)} for {type_of(p)}")
        for p, n in zip(params[first:last], outputs, strict=False):
            same = p.dtype is n.dtype and p.shape == n.shape
            require(same, Op.LOOP, f"{type_of(p)} becomes {type_of(n)}")
        shape = outputs[k].shape
        if k >= self.carries:
            shape = addressable("loop", (self.length or 0, *shape))
        return outputs[k].dtype, shape

    def __str__(self) -> str:
        words = [
            "while the first carry holds" if self.is_while else "",
            "" if self.length is None else f"{'at most ' * self.is_while}{self.length} iterations",
            "backwards" * self.reverse,
        ]
        return ", ".join(w for w in words if w)


@dataclass(frozen=True)
class Branch:
    """A choice: the first source, an int64, says which of the Regions takes the other sources. An
    index out of range chooses the nearest."""

    regions: tuple[Region, ...]

    @property
    def results(self) -> int:
        """How many it has."""
        return len(self.regions[0].outputs)

    def result(self, k: int, src: tuple[Node, ...]) -> tuple[DType, Shape]:
        """Dtype and shape of result k."""
        has_index = bool(src) and src[0].dtype is dt.int64 and not src[0].shape
        require(has_index, Op.BRANCH, "the index is no int64")
        given = [(s.dtype, s.shape) for s in src[1:]]
        for r in self.regions:
            fits = [(p.dtype, p.shape) for p in r.params] == given
            require(fits, Op.BRANCH, f"sources {given} for {[type_of(p) for p in r.params]}")
        kinds = {(r.outputs[k].dtype, r.outputs[k].shape) for r in self.regions}
        texts = [type_of(r.outputs[k]) for r in self.regions]
        require(len(kinds) == 1, Op.BRANCH, f"branches give {texts}")
        return kinds.pop()

    def __str__(self) -> str:
        return f"one of {len(self.regions)}"


@dataclass(frozen=True)
class CustomVjp:
    """A gradient of one's own: the first `results` sources are values, the next `inputs` what they
    are computed of.

    `pull` takes the cotangents of all results, these results, then what else it uses, the last
    sources. It gives cotangents of the inputs that are named in `given`, by number. `name`: the
    function's, for printed graphs.
    """

    name: str
    pull: Region
    results: int
    inputs: int
    given: tuple[int, ...]

    @property
    def regions(self) -> tuple[Region, ...]:
        """Its gradient."""
        return (self.pull,)

    @property
    def captured(self) -> int:
        """The first of the sources that only the gradient uses."""
        return self.results + self.inputs

    def result(self, k: int, src: tuple[Node, ...]) -> tuple[DType, Shape]:
        """Dtype and shape of result k."""
        own = [*src[: self.results], *src[: self.results], *src[self.captured :]]
        fits = [(p.dtype, p.shape) for p in self.pull.params] == [(s.dtype, s.shape) for s in own]
        require(fits, Op.CUSTOM_VJP, f"sources {[*map(type_of, src)]} for {self.pull}")
        for i, g in zip(self.given, self.pull.outputs, strict=True):
            x = src[self.results + i]
            same = g.dtype is x.dtype and g.shape == x.shape
            require(same, Op.CUSTOM_VJP, f"cotangent {type_of(g)} of {type_of(x)}")
        return src[k].dtype, src[k].shape

    def __str__(self) -> str:
        return f"gradient of {self.name}"


Spec = Loop | Branch | CustomVjp | HostCall | Routine


def results_of(op: Op, spec: Spec, src: Iterable[Node]) -> list[Node]:
    """A Node for each result."""
    src = tuple(src)
    return [node(op, src, (spec, k)) for k in range(spec.results)]


Shared = tuple[Any, tuple[Node, ...]]  # a Loop, Branch, Routine or CustomVjp, its sources


def shared(n: Node) -> Shared:
    """What the results of one loop or branch have in common."""
    return n.arg[0], n.src


def together(nodes: Iterable[Node], ops: Collection[Op] = REGIONAL) -> dict[Shared, list[Node]]:
    """The results of loops and branches among these Nodes, those of each together."""
    found: dict[Shared, list[Node]] = {}
    for n in nodes:
        if n.op in ops:
            found.setdefault(shared(n), []).append(n)
    return found


def nested(roots: Iterable[Node]) -> Iterator[Region]:
    """The Regions inside a Graph, each before those inside it."""
    for spec, _ in together(toposort(roots)):
        for region in spec.regions:
            yield region
            yield from nested(region.outputs)
