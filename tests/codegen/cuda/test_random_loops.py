"""Random programs of maps, sums, single stores, loops, branches and warps: the emulated device does
what the interpreter does."""

import random

import numpy as np
import pytest
from cuda_loops import check, emitted, prepared
from cudakit import ORDERS, device, in_order, needs_compiler
from effort import rarely, taken
from loopkit import (
    REG,
    SCRATCH,
    Alloc,
    Buf,
    If,
    Index,
    Op,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    const,
    dt,
    kernel,
    lanes,
    load,
    op,
    serial,
    var,
)
from weft.ir.loops.loop import THREAD, WARPS, For

pytestmark = needs_compiler
PROGRAMS = range(48)
QUICK = PROGRAMS[:16]
BLOCKS = 2
NOW = Index()


class Program:
    """Statements over rows of n elements: of each block in x and y, shared, or of its threads; and
    two sums."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n = self.random.choice([1, 5, 32, 63, 64, 128, 200, 260])
        self.size = self.random.choice([1, 2, 4])
        self.g = Var("g", BLOCKS)
        self.x, self.y = argument("x", dt.int32), argument("y", dt.int32)
        self.rows = [Buf(name, dt.int32, self.n, SCRATCH) for name in "ab"]
        self.own = Buf("own", dt.int32, self.n, THREAD)
        self.sums = [Buf(name, dt.int32, 1, REG) for name in ("s", "t")]
        body = [
            *(Alloc(b, self.number()) for b in [*self.rows, self.own]),
            *(Alloc(s, 0) for s in self.sums),
        ]
        body += self.steps(self.random.randint(4, 9), 2)
        body += [self.look(s) for s in self.sums]
        made = kernel([self.x, self.y], *body, chunk=self.g, name=f"random{seed}")
        self.loops = prepared(made, self.random.choice([32, 64, 96]))

    def arrays(self):
        return [
            np.random.default_rng(i).integers(-9, 9, BLOCKS * self.n, np.int32) for i in range(2)
        ]

    # ------------------------------------------------------------ places and values

    def number(self):
        return self.random.randint(-9, 9)

    def at(self, buf, index):
        return index if buf in self.rows else index + var(self.g) * self.n

    def anywhere(self, lane):
        """Where a lane looks: at its own place, at others, at one for all."""
        turned = (var(lane) + self.random.randrange(self.n)) % self.n
        return self.random.choice(
            [var(lane), var(lane), var(lane) * -1 + (self.n - 1), turned, Index(const=self.n - 1)]
        )

    def value(self, lane, target):
        """Of what other lanes see, only what this loop does not change."""
        source = self.random.choice([self.x, self.y, *self.rows])
        place = var(lane) if source is target else self.anywhere(lane)
        found = load(source, self.at(source, place))
        match self.random.randrange(4):
            case 0:
                return op(Op.ADD, found, load(self.random.choice(self.sums)))
            case 1:
                return op(Op.ADD, found, load(self.own, lane))
            case 2:
                low = Range(place, 1, self.n - 1)
                return op(
                    Op.MUL,
                    load(source, self.at(source, place), low),
                    const(self.number(), dt.int32),
                )
        return found

    # ------------------------------------------------------------ statements

    def steps(self, count, depth):
        kinds = [self.map, self.map, self.sum, self.keep, self.first, self.every]
        kinds += [self.turns, self.branch, self.warps] if depth else []
        return [self.random.choice(kinds)(depth - 1) for _ in range(count)]

    def lane_loop(self, make):
        lane = Var("c", self.n)
        return lanes(lane, *make(lane), unroll=self.size)

    def map(self, _):
        target = self.random.choice([self.y, *self.rows])
        return self.lane_loop(
            lambda c: [Store(target, self.at(target, var(c)), self.value(c, target))]
        )

    def sum(self, _):
        """A loop that adds to one accumulator, and may read the other."""
        into = self.random.choice(self.sums)
        others = [s for s in self.sums if s is not into]
        source = self.random.choice([self.x, self.y, *self.rows])

        def body(c):
            found = load(source, self.at(source, self.anywhere(c)))
            return [
                Reduce(
                    into,
                    NOW,
                    "add",
                    op(Op.ADD, found, load(others[0])) if self.random.random() < 0.3 else found,
                )
            ]

        return self.lane_loop(body)

    def keep(self, _):
        return self.lane_loop(lambda c: [Reduce(self.own, var(c), "add", self.value(c, self.own))])

    def first(self, _):
        target = self.random.choice([self.y, *self.rows])
        value = op(Op.ADD, load(self.rows[0], self.n // 2), load(self.random.choice(self.sums)))
        return Store(target, self.at(target, Index(const=self.random.randrange(self.n))), value)

    def every(self, _):
        return Reduce(
            self.random.choice(self.sums),
            NOW,
            "add",
            load(self.rows[1], self.random.randrange(self.n)),
        )

    def look(self, s):
        return Reduce(
            self.y, self.at(self.y, Index(const=self.random.randrange(self.n))), "add", load(s)
        )

    def turns(self, depth):
        return serial(
            Var("k", self.random.randint(2, 3)), *self.steps(self.random.randint(1, 4), depth)
        )

    def branch(self, depth):
        return If(
            (Range(var(self.g), self.random.randrange(2), 2),),
            self.steps(self.random.randint(1, 3), depth),
        )

    def warps(self, _):
        """Each takes a quarter of a row: it turns it around in memory of its own, and adds it to a
        sum of all."""
        width = -(-self.n // 4)
        v, c, d = Var("v", 4), Var("c", width), Var("d", width)
        row, into, target = (
            Buf("row", dt.int32, width, SCRATCH),
            self.random.choice(self.sums),
            self.random.choice(self.rows),
        )
        at = [var(v) * width + var(i) for i in (c, d)]
        inside = [(Range(i, 0, self.n),) for i in at]
        fill = lanes(c, Store(row, var(c), load(self.x, self.at(self.x, at[0]), *inside[0])))
        turned = load(row, var(d) * -1 + (width - 1))
        use = lanes(d, Store(target, at[1], turned, inside[1]), Reduce(into, NOW, "add", turned))
        return For(v, 4, WARPS, [Alloc(row), fill, use])


@pytest.fixture(scope="module")
def programs(request):
    """By seed; all are compiled in one go."""
    made = {seed: Program(seed) for seed in taken(request, "seed")}
    device().build_many([emitted(p.loops) for p in made.values()])
    return made


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", [*QUICK, *rarely(*PROGRAMS[len(QUICK) :])])
def test_random_programs_do_what_the_interpreter_does(seed, order, programs):
    program = programs[seed]
    with in_order(order, seed):
        check(device(), program.loops, program.arrays())
