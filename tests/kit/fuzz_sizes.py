"""Random expressions over axes of several sizes: whatever program serves a size, the bits are those
of a program of that size alone.

`python tests/kit/fuzz_sizes.py COUNT [FIRST_SEED] [--networks] [--device cuda]` makes COUNT
expressions, or networks, and computes each at five sizes, or six; prints those that differ, and how
many programs were compiled. Without a GPU, `cuda` is the emulator.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import weft as wf
from random_networks import Network
from sized_calls import Call
from weft import options
from weft.compiler.programs import on_disk
from weft.compiler.symbolic.generic import Generic
from weft.errors import ShapeError
from weft.frontend.lazy import program_table
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F

Array = np.ndarray[Any, Any]
FIVE = 5
SIZES = (2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 48, 64, 65, 100, 129, 257, 300)
FIXED = (1, 2, 3, 5, 8, 10, 33)
MOST = 40_000  # elements of a value at the sizes that there are

_laid_out = Generic.laid_out


class Expression:
    """One random expression: the same moves at any sizes of its symbols, of which there are up to
    three."""

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self.seed, self.device = seed, device
        self.symbols = 1 + Random(seed).randrange(3)

    def sizes(self) -> list[tuple[int, ...]]:
        """The first two are those from which a program is generalised; 0 and 1 are among the
        others."""
        random = Random(self.seed + 1)
        drawn = [tuple(random.choice(SIZES) for _ in range(self.symbols)) for _ in range(FIVE - 1)]
        last = tuple(random.choice((0, 1, 1, 4)) for _ in range(self.symbols))
        return [*drawn, last]

    def at(self, sizes: tuple[int, ...]) -> list[wf.Tensor]:
        """Its results for these sizes."""
        return _Grown(Random(self.seed), sizes, self.device).results()


class _Grown:
    def __init__(self, random: Random, sizes: tuple[int, ...], device: str) -> None:
        self.random, self.symbols, self.device = random, sizes, device
        random.randrange(3)
        self.rng = np.random.default_rng(random.randrange(1 << 16))
        # values, each with its axes: numbers of symbols, or extents as (extent,)
        self.values: list[tuple[wf.Tensor, tuple[Any, ...]]] = []

    def results(self) -> list[wf.Tensor]:
        """The last two values; at times the slopes of their squares, too."""
        for _ in range(2):
            self.values.append(self.leaf(self.axes()))
        first, _ = self.values[0]
        first.requires_grad_(self.random.random() < 0.3)
        for _ in range(2 + self.random.randrange(7)):
            move = self.random.choice(MOVES)
            made = move(self, *self.random.choice(self.values))
            if made is not None and made[0].size <= MOST:
                self.values.append(made)
        last = [v for v, _ in self.values[-2:]]
        totals = [(v * v).sum() for v in last if v.requires_grad]
        slopes = wf.grad(sum(totals), [first], allow_unused=True) if totals else ()
        return [*(v.detach() for v in last), *(s for s in slopes if s is not None)]

    def extent(self, axis: Any) -> int:
        return axis[0] if isinstance(axis, tuple) else self.symbols[axis]

    def axis(self) -> Any:
        if self.random.random() < 0.6:
            return self.random.randrange(len(self.symbols))
        return (self.random.choice(FIXED),)

    def axes(self) -> tuple[Any, ...]:
        return tuple(self.axis() for _ in range(1 + self.random.randrange(3)))

    def leaf(self, axes: tuple[Any, ...]) -> tuple[wf.Tensor, tuple[Any, ...]]:
        shape = [self.extent(a) for a in axes]
        array = self.rng.normal(size=shape).astype(np.float32)
        return self.placed(array), axes

    def placed(self, array: Array) -> wf.Tensor:
        return wf.tensor(array).to(self.device).realize()


Axes = tuple[Any, ...]
Made = tuple[wf.Tensor, Axes] | None


def maps(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    f = g.random.choice((wf.exp, wf.relu, wf.tanh, wf.abs, lambda x: x * 1.5 - 0.25))
    return f(x.clip(-3, 3)), axes


def meets(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """With a value of some of its axes."""
    kept = [g.random.random() < 0.7 for _ in axes]
    other, _ = g.leaf(tuple(a for a, k in zip(axes, kept, strict=True) if k))
    for i, k in enumerate(kept):
        other = other if k else other.unsqueeze(i)
    return g.random.choice((wf.add, wf.multiply, wf.maximum, wf.subtract))(x, other), axes


def reduces(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    i = g.random.randrange(len(axes)) if axes else 0
    if not axes or not x.shape[i]:
        return None
    f = g.random.choice((wf.sum, wf.max, wf.mean, _product))
    return f(x, i), axes[:i] + axes[i + 1 :]


def _product(x: wf.Tensor, axis: int) -> wf.Tensor:
    return (x.clip(-3, 3) * 0.1 + 1).prod(axis)


def sums_all(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    return x.sum(), ()


def softmaxes(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    i = g.random.randrange(len(axes)) if axes else 0
    return (x.softmax(i), axes) if axes and x.shape[i] else None


def deviates(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """From its mean along an axis."""
    i = g.random.randrange(len(axes)) if axes else 0
    if not axes or not x.shape[i]:
        return None
    if g.random.random() < 0.5:
        return g.random.choice((wf.var, wf.std))(x, i), axes[:i] + axes[i + 1 :]
    return F.layer_norm(x.swapaxes(i, -1), (x.shape[i],)).swapaxes(i, -1), axes


def multiplies(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    if not axes:
        return None
    by, (_, columns) = g.leaf((axes[-1], g.axis()))
    return x @ by, (*axes[:-1], columns)


def multiplies_turned(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """As in the gradient of a weight."""
    if len(axes) != 2:
        return None
    by, (_, columns) = g.leaf((axes[0], g.axis()))
    return x.mT @ by, (axes[1], columns)


def attends(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Each of its last axis but one to a value of other places; its gradient, too, at times."""
    if len(axes) < 2:
        return None
    *batch, rows, terms = axes
    keys, width = g.axis(), g.random.choice((terms, (16,)))
    key, value = g.leaf((*batch, keys, terms))[0], g.leaf((*batch, keys, width))[0]
    how: dict[str, Any] = g.random.choice(
        ({}, {"is_causal": True}, {"attn_mask": g.leaf((rows, keys))[0] > -1})
    )
    if g.random.random() < 0.7:
        return F.scaled_dot_product_attention(x, key, value, **how), (*batch, rows, width)
    leaf = key.requires_grad_()
    (F.scaled_dot_product_attention(x, leaf, value, **how) * 0.5).sum().backward()
    return None if leaf.grad is None else (leaf.grad, (*batch, keys, terms))


def turns(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    order = list(range(len(axes)))
    g.random.shuffle(order)
    return x.permute(order), tuple(axes[i] for i in order)


def joins(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    if not axes:
        return None
    other, _ = g.leaf((g.axis(), *axes[1:]))
    total = (x.shape[0] + other.shape[0],)
    g.random.random()
    return wf.concat([x, other])[: x.shape[0]], (axes[0], *axes[1:]) if total else ()


def cuts(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    i = g.random.randrange(len(axes)) if axes else 0
    if not axes or not isinstance(axes[i], tuple) or axes[i][0] < 3:
        return None
    at = tuple(slice(1, None) if k == i else slice(None) for k in range(len(axes)))
    return x[at], (*axes[:i], (axes[i][0] - 1,), *axes[i + 1 :])


def shifts(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Pads one end and cuts the other."""
    if not axes:
        return None
    return wf.pad(x, ((1, 0), *(((0, 0),) * (len(axes) - 1))))[:-1], axes


def flattens(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """A map over all elements as one axis, and back."""
    return (x.reshape(-1) * 0.5).reshape(x.shape), axes


def gathers(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    if not axes or not x.shape[0]:
        return None
    rows = g.axis()
    places = g.rng.integers(0, x.shape[0], g.extent(rows))
    return x[g.placed(places)], (rows, *axes[1:])


def counts(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    return (x * (wf.arange(x.shape[-1]) % 3 + 1), axes) if axes else None


def chooses(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    return wf.where(x > 0.1, x, g.leaf(axes)[0]), axes


def scans(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    return (x.cumsum(g.random.randrange(len(axes))), axes) if axes else None


def sorts(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Values in order, or how far each is moved."""
    if not axes:
        return None
    i = g.random.randrange(len(axes))
    return (wf.sort(x, i) if g.random.random() < 0.5 else x + wf.argsort(x, i)), axes


def finds(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Where the greatest elements are."""
    i = g.random.randrange(len(axes)) if axes else 0
    if not axes or not x.shape[i]:
        return None
    return wf.argmax(x, i) * 0.5, axes[:i] + axes[i + 1 :]


def pools(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """The greatest mean of neighbours along the last axis."""
    if len(axes) != 2 or x.shape[-1] < 2 or not x.size:
        return None
    return F.avg_pool1d(x, 2, stride=g.random.choice((1, 2))).max(-1), axes[:-1]


def transforms(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Of the last axis, where its extent is known."""
    if not axes or not isinstance(axes[-1], tuple) or not x.size:
        return None
    return wf.fft.fft(x).abs(), axes


def systems(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Of equations, one for each row or with as many unknowns."""
    if len(axes) < 2 or not x.size:
        return None
    matrix = g.leaf((axes[-2], axes[-2]))[0].tanh() + (x.shape[-2] + 1) * wf.eye(x.shape[-2])
    return wf.linalg.solve(matrix, x), axes


def convolves(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Along the last axis."""
    if len(axes) < 2 or not isinstance(axes[-2], tuple):
        return None
    reach, out = g.random.choice((2, 3, 5)), g.random.choice((1, 4, 9))
    kernel, _ = g.leaf(((out,), axes[-2], (reach,)))
    front = x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    made = F.conv1d(front, kernel, padding=reach - 1)[..., : x.shape[-1]]
    return made.reshape(*x.shape[:-2], out, x.shape[-1]), (*axes[:-2], (out,), axes[-1])


def strides(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Every second or third element along an axis."""
    i, step = g.random.randrange(max(1, len(axes))), g.random.choice((2, 3))
    if not axes or not x.size:
        return None
    made = x[tuple(slice(None, None, step if k == i else None) for k in range(len(axes)))]
    return made, (*axes[:i], (made.shape[i],), *axes[i + 1 :])


def images(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """The last two axes are places of one channel: a convolution, or a pool, in steps; at times the
    gradient of what it is of."""
    reach, step, out = (
        g.random.choice((1, 2, 3)),
        g.random.choice((1, 2, 2, 3)),
        g.random.choice((1, 5)),
    )
    form, is_slope = g.random.randrange(3), g.random.random() < 0.4
    kernel = g.leaf(((out,), (1,), (reach,), (reach,)))[0]
    if len(axes) < 2 or min(x.shape[-2:]) < reach or not x.size:
        return None
    front = x.detach().reshape(math.prod(x.shape[:-2]), 1, *x.shape[-2:]).requires_grad_()
    if form == 0:
        made = F.conv2d(front, kernel, stride=step, padding=reach // 2).tanh()
    else:
        made = (F.max_pool2d if form == 1 else F.avg_pool2d)(front, reach, step) * 1.5
    if is_slope:
        (found,) = wf.grad((made * made).sum(), [front])
        return found.detach().reshape(x.shape), axes
    places = tuple((d,) for d in made.shape[1:])
    return made.detach().reshape(*x.shape[:-2], *made.shape[1:]), (*axes[:-2], *places)


def kernel_gradients(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """Of a convolution along the last axis."""
    if len(axes) != 3 or not isinstance(axes[1], tuple) or x.requires_grad:
        return None
    reach, out = g.random.choice((2, 3)), g.random.choice((3, 8))
    kernel = g.leaf(((out,), axes[1], (reach,)))[0].requires_grad_()
    made = F.conv1d(x, kernel, padding=reach - 1)
    (found,) = wf.grad((made * made).sum(), [kernel])
    return found.detach(), ((out,), axes[1], (reach,))


def steps(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """A loop along the first axis, forwards or backwards: the carry and what is stacked, or the
    gradient of what is read in each iteration."""
    if len(axes) < 2:
        return None
    row = axes[1:]
    first, weight = g.leaf(row)[0], g.leaf((row[-1], row[-1]))[0].tanh() * 0.1
    form, reverse = g.random.randrange(5), g.random.random() < 0.4

    def step(carry: wf.Tensor, now: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        if form == 0:
            return carry * 0.5 + now, carry.sum(-1, keepdims=True) + now
        if form == 1:
            carry = wf.cond(now.sum() > 0, lambda: carry + now, lambda: carry * 0.5 - first)
            return carry, carry.cumsum(-1)
        if form == 2:
            _, inner = wf.scan(lambda c, v: (c + v, c * v), carry.sum(0), now, reverse=not reverse)
            return (carry + inner).tanh(), inner
        carry = (carry @ weight + now).tanh()
        return carry, carry.softmax(-1)

    if form < 4:
        last, stacked = wf.scan(step, first, x, reverse=reverse)
        return (last, row) if g.random.random() < 0.3 else (stacked, axes)
    leaf = weight.requires_grad_()
    last, stacked = wf.scan(step, first, x.detach(), reverse=reverse)
    loss = (stacked * stacked).sum() + last.sum()
    (found,) = wf.grad(loss, [leaf], allow_unused=True)
    return found.detach(), (row[-1], row[-1])


def repeats(g: _Grown, x: wf.Tensor, axes: Axes) -> Made:
    """As often as an axis is long, or while a condition holds."""
    often, start = g.extent(g.axis()), x.detach()
    if g.random.random() < 0.5:
        return wf.fori_loop(0, often, lambda i, c: c * 0.5 + i, x), axes

    def more(carry: tuple[wf.Tensor, wf.Tensor]) -> wf.Tensor:
        return (carry[0] < often) & (carry[1].abs().sum() < 1e6)

    end = wf.while_loop(more, lambda c: (c[0] + 1, c[1] * 1.5 + start), (wf.tensor(0), start))
    return end[1], axes


MOVES: tuple[Callable[[_Grown, wf.Tensor, Axes], Made], ...] = (
    maps, maps, meets, meets, reduces, reduces, softmaxes, deviates, multiplies, multiplies_turned,
    turns, joins, cuts, shifts, flattens, gathers, counts, chooses, scans, sums_all, convolves,
    convolves, strides, images, images, kernel_gradients, attends, attends, steps, steps, repeats,
    sorts, finds, pools, transforms, systems,
)  # fmt: skip


Made_up = Expression | Network | Call


def computed(expression: Made_up, sizes: tuple[int, ...]) -> list[Array]:
    """Its results in memory, all by one program."""
    made = expression.at(sizes)
    wf.realize(*made)
    return [v.cpu().numpy() for v in made]


def alone(expression: Made_up, sizes: tuple[int, ...]) -> list[Array]:
    """The same by a program of these sizes alone."""
    with (
        options.override(dynamic_shapes=False),
        mock.patch.object(program_table, "_programs", program_table.Programs()),
    ):
        return computed(expression, sizes)


def differing(expression: Made_up) -> list[tuple[int, ...]]:
    """The sizes at which the bits of an expression differ from those of a program of its own."""
    with (
        mock.patch.object(program_table, "_programs", program_table.Programs()),
        # nor is what several sizes share, kept there, taken for a program of one
        mock.patch.object(on_disk, "load_program", lambda key, structure: None),
    ):
        served = {}
        for sizes in expression.sizes():
            with mock.patch.object(Generic, "laid_out", autospec=True) as laid_out:
                laid_out.side_effect = _laid_out
                values = computed(expression, sizes)
            if laid_out.called:  # else the program is of these sizes alone
                served[sizes] = values
        return [
            sizes
            for sizes, values in served.items()
            if [v.tobytes() for v in values] != [v.tobytes() for v in alone(expression, sizes)]
        ]


def failing(
    seeds: Iterable[int], kind: type[Made_up] = Expression, device: str = "cpu"
) -> dict[int, list[tuple[int, ...]]]:
    """Those that differ, and where."""
    made = ((seed, kind(seed, device)) for seed in seeds)
    found = {seed: differing(expression) for seed, expression in made if _fits(expression)}
    return {seed: where for seed, where in found.items() if where}


def _fits(expression: Made_up) -> bool:
    """Are its images large enough for its layers?"""
    with suppress(ShapeError):
        return isinstance(expression, Expression) or all(map(expression.at, expression.sizes()))
    return False


def main(count: int, first: int, device: str, kind: type[Made_up] = Expression) -> int:
    """How many expressions differ."""
    if device == "cuda":
        import cudakit

        cudakit.device()
    failed = 0
    for seed in range(first, first + count):
        try:
            where: Any = failing([seed], kind, device).get(seed)
        except Exception as error:
            where = f"{type(error).__name__}: {error}"
        if where:
            failed += 1
            print(f"seed {seed}: {where}", flush=True)
        if not (seed + 1) % 100:
            print(f"{seed + 1 - first} expressions, {failed} failed", flush=True)
    print(f"{count} expressions, {failed} failed; {dict(statistics)}")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    given = parser.parse_args()
    kind = Network if given.networks else Expression
    sys.exit(bool(main(given.count, given.first, given.device, kind)))
