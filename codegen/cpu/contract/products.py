"""Tasks of the schedules of contractions, and sums of products. In: a Problem. Out: a task,
statements."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....ir.graph.graph import Node, node, scalar_node
from ....ir.graph.index import Index, Var, unravel
from ....ir.graph.op import Op
from ....ir.loops.loop import LANES, For, Param, Stmt
from ....ir.symbolic.questions import is_unknown
from ...kernels.contraction import Problem, groups_at, groups_extent, spread_groups
from ...kernels.loop_axes import cut, extent
from ...kernels.lowered import Lowered
from ...llvm.target import Target
from ..chunks import Chunks, Tuning


class ContractionTask:
    """Some results of a contraction: where they are, and what computes them."""

    def __init__(self, p: Problem, target: Target, tuning: Tuning) -> None:
        self.p, self.target, self.tuning = p, target, tuning
        self.dtype = p.anchor.node.dtype
        self.params: dict[Param, int] = {}  # of the body, with their values

    def share_out(self, shape: tuple[int, ...], work: float) -> list[Index]:
        """A grid of tasks, each so much work: where one of them is."""
        self.shape, self.chunk = shape, Chunks(prod(shape), work, self.tuning.min_chunks)
        return unravel(self.chunk.position, shape)

    def body(self) -> list[Stmt]:
        """All of a task."""
        raise NotImplementedError

    def lowered(self, text: str) -> Lowered:
        p = self.p
        text = f" {groups_extent(p.batch)} x {p.m} x {p.n} x {p.k}: {text}"
        lowered = self.chunk.lowered(p.kernel, p.buffers, self.body(), text, self.params)
        return replace(lowered, work=[p.terms // 4]) if is_unknown(p.terms) else lowered


class LineTask(ContractionTask):
    """A block of the lanes of one line of one batch element: products are added in the order of
    k."""

    def __init__(self, p: Problem, target: Target, tuning: Tuning) -> None:
        super().__init__(p, target, tuning)
        self.lanes, self.outer = extent(p.lanes[-1]), [*p.batch, *p.lanes[:-1]]

    def place(self, block: int, parts: tuple[int, ...], work: float) -> list[Index]:
        """Tasks of `block` lanes, in `parts` of what else there is to share out: which of those one
        has."""
        self.block = block
        shape = (*(extent(g) for g in self.outer), *parts, -(-self.lanes // block))
        at = self.share_out(shape, work)
        self.by, self.first = spread_groups(self.outer, at[: len(self.outer)]), at[-1] * block
        return at[len(self.outer) : -1]

    def at(self, row: Index, lane: Index) -> dict[Var, Index]:
        """The axes of a result."""
        return (
            self.by
            | groups_at(self.p.rows, row)
            | spread_groups(self.p.lanes[-1:], [self.first + lane])
        )

    def factor(self, which: Node, k: list[Index], row: Index, lane: Index) -> Node:
        return self.p.factor(which, self.at(row, lane) | spread_groups(self.p.reduced, k))

    def lane_loop(self, lane: Var, body: list[Stmt], unroll: int = 1) -> For:
        amount = unroll if self.block >= unroll * self.p.width else 1
        return For(lane, self.block, LANES, body, amount, *cut(self.first, self.lanes, self.block))

    def add_products(self, terms: list[tuple[Node, Node]], total: Node) -> Node:
        """total + the sum of the products, in this order; fused where the target can."""
        for a, b in terms:
            if total.dtype.is_float and self.target.has_fma:
                total = scalar_node(Op.FMA, (a, b, total), None, total.dtype)
            else:
                total = node(
                    Op.OR if total.dtype.kind == "b" else Op.ADD, (total, node(Op.MUL, (a, b)))
                )
        return total
