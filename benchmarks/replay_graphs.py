"""Random programs for replay.py. In: a seed. Out: what wf.dump takes, and arguments of a call.

A seed makes the same program in every revision: choices depend on shapes and dtypes alone, and of
Weft only public names are asked for. Nothing is computed, so shapes may be large.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import weft as wf
from replay_moves import MOVES

EXTENTS = ((1, 2, 3, 5, 7, 8), (4, 16, 17, 33, 64), (64, 100, 128, 256, 300), (1, 3, 16, 100, 1000))
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8", "uint32")
MOST, MOST_AXES = 1 << 22, 5  # elements and axes of a value
RECENT = 6  # values that a move chooses from: graphs are rather deep than wide

Shape = tuple[int, ...]


def in_memory(shape: Shape, dtype: str, order: str) -> wf.Tensor:
    """The numbers are not read. In order "F" the first axis lies together."""
    if dtype == "bfloat16":  # NumPy has none
        return wf.empty(*shape, dtype=dtype).realize().requires_grad_()
    values = wf.from_numpy(np.empty(shape, dtype, order=order))
    return values.requires_grad_() if dtype in FLOATS else values


@dataclass
class Builder:
    """What has been built so far. `given` are the leaves of an earlier run of the seed."""

    choose: random.Random
    given: Iterator[wf.Tensor]
    extents: Sequence[int] = ()
    leaves: list[wf.Tensor] = field(default_factory=list)
    values: list[wf.Tensor] = field(default_factory=list)

    def one_of(self, options: Sequence[Any]) -> Any:
        return self.choose.choice(options)

    def leaf(self, shape: Shape, dtype: str) -> wf.Tensor:
        """A value in memory; one of floats requires a gradient."""
        order, found = self.one_of("CCCCCF"), next(self.given, None)
        self.leaves.append(in_memory(shape, dtype, order) if found is None else found)
        return self.leaves[-1]

    def shape(self, axes: int) -> Shape:
        shape = [self.one_of(self.extents) for _ in range(axes)]
        while prod(shape) > MOST:
            shape[shape.index(max(shape))] = 3
        return tuple(shape)

    def new(self, dtypes: Sequence[str], least_axes: int) -> wf.Tensor:
        axes = self.choose.randint(max(1, least_axes), max(3, least_axes))
        return self.leaf(self.shape(axes), self.one_of(dtypes))

    def pick(self, wanted: Callable[[wf.Tensor], bool], make: Callable[[], wf.Tensor]) -> wf.Tensor:
        """A recent value, or else another one."""
        found = [v for v in self.values[-RECENT:] if wanted(v)]
        return self.one_of(found) if found else make()

    def some(self, least_axes: int = 1) -> wf.Tensor:
        return self.pick(
            lambda v: v.ndim >= least_axes, lambda: self.new(FLOATS + INTS, least_axes)
        )

    def floats(self, least_axes: int = 0) -> wf.Tensor:
        return self.pick(
            lambda v: v.dtype.is_float and v.ndim >= least_axes,
            lambda: self.new(FLOATS, least_axes),
        )

    def ints(self) -> wf.Tensor:
        return self.pick(lambda v: v.dtype.is_int, lambda: self.new(INTS, 1))

    def mask(self, x: wf.Tensor) -> wf.Tensor:
        """Booleans of the shape of x."""
        return self.pick(lambda v: v.dtype.name == "bool" and v.shape == x.shape, lambda: x > 0)

    def partner(self, x: wf.Tensor) -> wf.Tensor:
        """What x meets: a number, a value repeated along some axes, or another of its shape."""
        kind, dtype = self.choose.randrange(4), x.dtype.name
        if kind == 0:
            return wf.full((), self.one_of((2, 3)), dtype=dtype)
        if kind == 1:
            return self.leaf(tuple(self.one_of((1, d)) for d in x.shape), dtype)
        return self.pick(
            lambda v: v.shape == x.shape and v.dtype.name == dtype and v is not x,
            lambda: self.leaf(x.shape, dtype),
        )

    def axis(self, x: wf.Tensor) -> int:
        return self.choose.randrange(x.ndim)

    def axes(self, x: wf.Tensor) -> Shape:
        return tuple(sorted(self.choose.sample(range(x.ndim), self.choose.randint(1, x.ndim))))

    def grow(self, moves: int) -> None:
        for _ in range(moves):
            made = self.one_of(MOVES)(self)
            if made is not None and 0 < prod(made.shape) <= MOST and made.ndim <= MOST_AXES:
                self.values.append(made)


def built(seed: int, given: Iterable[wf.Tensor] = ()) -> tuple[Builder, tuple[wf.Tensor, ...]]:
    """A builder and the outputs; in one graph of three with gradients by all leaves of floats."""
    b = Builder(random.Random(seed), iter(given))
    b.extents = b.one_of(EXTENTS)
    b.grow(b.choose.randint(1, 9))
    outputs = b.values[-3:] or [b.floats() * 2]
    leaves = [v for v in b.leaves if v.dtype.is_float]
    if leaves and b.choose.randrange(3) == 0:
        loss = leaves[0].float().sum()
        for v in (v for v in outputs if v.dtype.is_float):
            loss = loss + v.float().square().mean()
        outputs = [*outputs, *wf.grad(loss, leaves, allow_unused=True)]
    return b, tuple(outputs)


def program(seed: int) -> tuple[Any, tuple[wf.Tensor, ...]]:
    """Lazy values, or in one of three a traced function and its arguments."""
    b, outputs = built(seed)
    if b.choose.randrange(3):
        return outputs, ()
    return wf.jit(lambda *given: built(seed, given)[1]), tuple(b.leaves)
