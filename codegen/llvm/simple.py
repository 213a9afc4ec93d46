"""Statements that contain no others. In: the state of a phase's emission, a statement. Out: its
instructions."""

from __future__ import annotations

from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.loops.loop import GLOBAL, Alloc, Check, Extent, Param, Prefetch, Reduce, Stmt, Store
from . import memory
from .access import Function
from .combine import combined, fused
from .expr import evaluate
from .lanes import both, needed, scalar_index, vector_index
from .values import Val, integer

SITE_SHIFT = 40  # a Check's key is site << 40 | position


class Simple:
    """Emits statements with a Function as state."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.w = fn.writer
        self.scope = fn.scope
        self.params: dict[Param, Val] = {}
        self.status: Val | None = None

    def simple(self, s: Stmt) -> None:
        match s:
            case Alloc():
                memory.allocate(self.fn, s)
            case Store():
                self.store(s)
            case Reduce():
                self.reduce(s)
            case Check():
                self.check(s)
            case Prefetch():
                memory.prefetch(self.fn, s, self.groups)

    @property
    def groups(self) -> range:
        return range(len(self.scope.lanes.tails) if self.scope.lanes else 1)

    def evaluate_all(self, nodes: list[Node], group: int) -> list[Val]:
        return [evaluate(self.fn, n, group) for n in nodes]

    def store(self, s: Store) -> None:
        for group, value in enumerate(self.stored(s)):
            memory.store(self.fn, s, value, group)

    def stored(self, s: Store) -> list[Val]:
        """The values for each group."""
        values = []
        for group in self.groups:
            self.evaluate_all(needed(s.index, s.mask), group)
            values.append(evaluate(self.fn, s.value, group))
        return values

    def reduce(self, s: Reduce) -> None:
        if memory.hands_over(self.fn, s):
            memory.hand_over(self.fn, s)
            return
        fuse = s.fuses and not self.combines_lanes(s)
        values = []
        for group in self.groups:
            self.evaluate_all(needed(s.index, s.mask), group)
            values.append(self.evaluate_all(list(s.value.src) if fuse else [s.value], group))
        for group, parts in enumerate(values):
            self.reduce_group(s, parts, group)

    def reduce_group(self, s: Reduce, parts: list[Val], group: int) -> None:
        def update(old: Val, lane: int | None = None) -> Val:
            own = parts if lane is None else [memory.of_lane(self.fn, p, lane) for p in parts]
            if len(own) == 2:
                return fused(self.w, self.fn.target, own[0], own[1], old)
            return combined(self.w, s.op, s.buf.dtype, *self.w.same_lanes(old, own[0]))

        memory.reduce(
            self.fn,
            s,
            parts[0],
            update,
            group,
            harmless=len(parts) == 2 and self.zero_behind_end(s),
        )

    def zero_behind_end(self, s: Reduce) -> bool:
        """Whether both factors are masked vector loads: lanes past the loop's end then add 0 * 0,
        no select needed."""
        lanes = self.scope.lanes
        return lanes is not None and all(
            n.op is Op.LOAD and n.arg[0].space == GLOBAL and lanes.stride(n.arg[1]) != 0
            for n in s.value.src
        )

    def combines_lanes(self, s: Reduce) -> bool:
        """Whether lanes are combined with each other before they reach the buffer."""
        lanes = self.scope.lanes
        if lanes is None or s.buf in lanes.lanewise:
            return False
        return lanes.stride(s.index) == 0 and s.buf.space != "reg"

    def extent(self, e: Extent) -> Val:
        return self.params[e] if isinstance(e, Param) else self.w.number(e)

    def check(self, s: Check) -> None:
        for group in self.groups:
            index = evaluate(self.fn, s.index, group)
            self.evaluate_all(s.position.values(), group)
            bad = self.w.compare("uge", index, self.w.number(s.extent))
            if self.scope.lanes and index.w == 1:
                bad = self.w.splat(bad, self.scope.lanes.w)
            bad_lanes = both(
                self.w, bad, self.scope.lanes.tails[group] if self.scope.lanes else None
            )
            assert bad_lanes is not None
            with self.w.when(self.w.any_lane(bad_lanes), unlikely=True):
                self.report(s, index, bad_lanes, group)

    def report(self, s: Check, index: Val, bad: Val, group: int) -> None:
        """Status becomes this failure unless it holds one of a lower position."""
        assert self.status is not None
        w = self.w
        if bad.w == 1:
            value, position = index, scalar_index(self.scope, s.position, group)
        else:
            lane = self.first_lane(bad)
            value = w.extract(w.splat(index, bad.w), lane)
            position = w.extract(vector_index(self.scope, s.position, group, 64), lane)
        key = w.binary("or", position, self.site(s.site))
        old = w.now(f"atomicrmw umin {self.status}, {key} monotonic", "i64")
        with w.when(w.compare("ult", key, old)):
            w.store(value, w.offset(self.status, "i64", integer(1)), 8)

    def site(self, site: Extent) -> Val:
        """Above the bits of a position."""
        if isinstance(site, int):
            return integer(site << SITE_SHIFT)
        return self.w.binary("shl", self.params[site], integer(SITE_SHIFT))

    def first_lane(self, bad: Val) -> Val:
        bits = f"i{bad.w}"
        packed = self.w.pure(f"bitcast {bad} to {bits}", bits, 1, bad)
        lane = self.w.intrinsic(f"llvm.cttz.{bits}", bits, 1, packed, Val("true", "i1"))
        return lane if bits == "i64" else self.w.convert("zext", lane, "i64")
