"""Contraction kernel -> Loops: the choice of a schedule. In: a contraction Kernel. Out: Loops.

windows   for task: copy what the windows cover; tiles of places x channels, sums in registers;
          epilogue, pools included
outer     few steps of k, straight to the output: u @ v.T
stream    a matrix contiguous along its own axis, read once against few rows; sums in L1: x @ W,
          A.T @ v
dot       lanes over k, sums in registers: x @ W.T, A @ v
packed    for task: pack lanes B[k][j]; for tiles of rows x lanes: accumulate in registers; epilogue
phases    one after the other, where residues of the axes make several problems of a contraction

Either factor may be the matrix that is read once: the roles of rows and lanes do not depend on the
layout of the output. What bounds such contractions is memory, so that the matrix is neither packed
nor read twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from ...ir.graph.graph import Node
from ...ir.graph.index import var
from ...ir.kernels.kernel import Kernel
from ...ir.symbolic.integer import NotSymbolicHere, Symbolic
from ...ir.symbolic.questions import is_below, is_unknown
from ...ir.symbolic.scope import Scope, scope_of
from ...wording import plural
from ..kernels.contraction import Problem, analyse, contiguous, read_once
from ..kernels.loop_axes import extent
from ..kernels.lowered import Lowered
from ..kernels.phases import in_phases
from ..kernels.schedule import Estimate, Refusal, Schedule, always, choose, decide
from ..llvm.lane_plan import STRAIGHT
from ..llvm.target import Target
from .chunks import Tuning
from .contract.dot import lower_dot
from .contract.empty import lower_empty
from .contract.outer import lower_outer
from .contract.packed import lower_packed
from .contract.stream import MOST_ROWS, lower_stream
from .window.window import Ways, ways_to_read_windows

# rows for which transposing the lane factor pays: 0.3 cycles an element, gained back at 0.03 a row
MIN_ROWS = 16
FEW_ROWS = 8  # rows for which it does not even where k is short
SHORT = 8  # vectors of k: dot products spend much of their time on adding up the lanes
# level-2 caches that a matrix fills which does not wait for memory: with 2 to 24 rows and 0.7 MB a
# packed product took 0.45 to 0.9 of the time on AVX2 (Zen 1, two threads), with 4 MB 0.85 to 1.35
NEAR = 2
MOST_DOT_ROWS = 16  # beyond, the matrix is transposed while it is packed
SCATTER = 16  # steps of k that cost as much as a store of one element of a vector
COMBINE = 8  # vectors of k that cost as much as the sum of a vector's lanes
MOST_STEPS = 12  # of k in an outer product
IN_BLOCKS = "in blocks of k"
LEAST_MATRIX = 1 << 12  # elements of the matrix below which nothing is bound by memory


@dataclass(frozen=True)
class Matrix:
    """A matrix, the lane factor of a problem, against few rows. `swapped`: rows and lanes changed
    roles, so that the output is stored transposed."""

    p: Problem
    value: Node
    swapped: bool


@dataclass
class Contraction:
    """A problem whose schedule is to be chosen, and what several schedules look at."""

    p: Problem
    target: Target
    tuning: Tuning

    @cached_property
    def ways(self) -> Ways:
        """Those to read windows directly."""
        return ways_to_read_windows(self.p, self.target, self.tuning)

    @cached_property
    def windows(self) -> Estimate | Refusal:
        """The fastest of them."""
        return self.ways.estimate()

    @cached_property
    def factors(self) -> tuple[Node, Node]:
        """The row factor and the lane factor."""
        return _value(self.p, self.p.row_factor), _value(self.p, self.p.lane_factor)

    @cached_property
    def matrix(self) -> Matrix | Refusal:
        """The larger factor, if it lies in memory and is read once against few rows of the
        other."""
        m, n = self.p.m, self.p.n
        if is_below(MOST_ROWS, m) and is_below(MOST_ROWS, n):
            return Refusal(f"neither {m} rows nor {n} lanes are at most {MOST_ROWS}")
        swapped = m > n
        p = _swapped(self.p) if swapped else self.p
        if p.m > MOST_ROWS:
            return Refusal(f"{p.m} rows, at most {MOST_ROWS}")
        if p.m == p.n:
            return Refusal("as many rows as lanes")
        value = _value(p, p.lane_factor)
        if not read_once(value, p):
            return Refusal("the matrix is computed, masked or repeated")
        if p.n <= MOST_STEPS or p.k <= MOST_STEPS or p.n * p.k < LEAST_MATRIX:
            return Refusal(f"a matrix of {p.k} x {p.n} does not wait for memory")
        return Matrix(p, value, swapped)


def _swapped(p: Problem) -> Problem:
    """The same contraction with the rows as lanes: the output is then stored transposed."""
    return replace(
        p, rows=p.lanes, lanes=p.rows, row_factor=p.lane_factor, lane_factor=p.row_factor
    )


def _value(p: Problem, factor: Node) -> Node:
    return p.factor(factor, {v: var(v) for g in p.batch + p.rows + p.lanes + p.reduced for v in g})


# ---------------------------------------------------------------- estimates

Rule = Callable[[Contraction], Estimate | Refusal]


def without_windows(rule: Rule) -> Rule:
    """The rule where nothing is read through windows, which are better read directly."""

    def estimate(c: Contraction) -> Estimate | Refusal:
        answer = rule(c)
        if isinstance(c.windows, Estimate):
            return Refusal("it would repeat elements of windows", answer.lower)
        return answer

    return estimate


@without_windows
def outer(c: Contraction) -> Estimate | Refusal:
    """Few steps of k."""
    p = c.p
    lower = partial(lower_outer, p, c.target, c.tuning, f"only {plural(p.k, 'step')} of k")
    if p.k > MOST_STEPS:
        return Refusal(f"{p.k} steps of k, at most {MOST_STEPS}")
    if p.n < p.width or p.m * p.n < LEAST_MATRIX:
        return Refusal(f"a result of {p.m} x {p.n} does not wait for memory", lower)
    return Estimate(lower)


@without_windows
def stream(c: Contraction) -> Estimate | Refusal:
    """A matrix that is contiguous along its own axis, against few rows."""
    matrix = c.matrix
    if isinstance(matrix, Refusal):
        return matrix
    p = matrix.p
    if not contiguous(matrix.value, p.lanes[-1][-1]):
        return Refusal("the matrix is not contiguous along its own axis")
    why = f"{p.m} rows, the matrix is contiguous along its own axis"
    lower = partial(lower_stream, p, c.target, c.tuning, why)
    if matrix.swapped and p.m >= p.width and p.k < SCATTER * p.m:
        steps = f"{p.k} steps of k do not make up for storing {p.m} rows transposed"
        return Refusal(steps, lower)
    if not matrix.swapped and p.n * p.k * matrix.value.dtype.itemsize <= NEAR * c.target.l2:
        return Refusal("the matrix is in a near cache", lower)
    return Estimate(lower)


@without_windows
def dot(c: Contraction) -> Estimate | Refusal:
    """A matrix contiguous along k against few rows, or factors that are contiguous along nothing
    else."""
    if isinstance(c.matrix, Matrix) and _reads_along_k(c.matrix):
        p, why = c.matrix.p, f"{c.matrix.p.m} rows, the matrix is contiguous along k"
        return Estimate(partial(lower_dot, p, c.target, c.tuning, why))
    p, (row_value, lane_value) = c.p, c.factors
    last_k = p.reduced[-1][-1]
    k_line, lane_line = extent(p.reduced[-1]), extent(p.lanes[-1])
    if not (contiguous(row_value, last_k) and contiguous(lane_value, last_k)):
        return Refusal("not both factors are contiguous along k")
    along_lanes = contiguous(lane_value, p.lanes[-1][-1])
    few = p.m < (MIN_ROWS if k_line >= SHORT * p.width else FEW_ROWS)
    if not along_lanes and 2 * k_line >= p.width and few:
        why = "both factors are contiguous along k, the lane factor only there"
    elif not along_lanes and k_line >= SHORT * p.width and _lanes_waste(p):
        why = f"both factors are contiguous along k, {plural(p.n, 'lane')} would fill vectors badly"
    elif lane_line < min(k_line, p.width):
        why = f"k is contiguous over {k_line} and the lanes only over {lane_line}"
    else:
        because = f"{p.m} rows make up for transposing the lane factor"
        lower = partial(lower_dot, p, c.target, c.tuning, "both factors are contiguous along k")
        return Refusal("the lanes are contiguous, too" if along_lanes else because, lower)
    return Estimate(partial(lower_dot, p, c.target, c.tuning, why))


def _lanes_waste(p: Problem) -> bool:
    """Does a row of whole vectors of lanes take longer than the sums of the lanes of dot products?
    10 lanes of 512 steps took 2.5 times as long on AVX2 (Zen 1)."""
    steps = p.k / p.width
    return p.n * (steps + COMBINE) < -(-p.n // p.width) * p.width * steps


def _reads_along_k(matrix: Matrix) -> bool:
    """Is it contiguous along k alone, and does reading it so pay against packing? As lanes, rows
    fill vectors from a width on."""
    p = matrix.p
    if contiguous(matrix.value, p.lanes[-1][-1]) or not contiguous(matrix.value, p.reduced[-1][-1]):
        return False
    most = p.width - 1 if matrix.swapped else MOST_DOT_ROWS
    return p.m <= most and (p.k >= COMBINE * p.width or p.m < FEW_ROWS)


@without_windows
def packed(c: Contraction) -> Estimate | Refusal:
    """Any contraction."""
    return Estimate(partial(lower_packed, c.p, c.target, c.tuning))


CONTRACTIONS = (
    Schedule("windows", lambda c: c.windows),
    Schedule("outer", outer),
    Schedule("stream", stream),
    Schedule("dot", dot),
    Schedule("packed", packed),
)
ZEROS = Schedule("zeros", always(lower_empty))


def lower_contraction(
    kernel: Kernel, strides: dict[Node, tuple[int, ...]], target: Target, tuning: Tuning
) -> Lowered:
    """Loops of a contraction kernel: each of its problems in the schedule that suits it."""
    problems = analyse(kernel, strides, target)
    return replace(
        in_phases([_lowered(p, target, tuning) for p in problems]),
        terms=sum(p.terms for p in problems),
    )


def _lowered(p: Problem, target: Target, tuning: Tuning) -> Lowered:
    if not p.reduced:
        return choose([ZEROS], p, tuning)
    scope = scope_of(p.extents)
    if scope is not None and not tuning.forced:
        return _of_many_sizes(p, target, tuning, scope)
    return tuning.choose(CONTRACTIONS, Contraction(p, target, tuning))


def _of_many_sizes(p: Problem, target: Target, tuning: Tuning, scope: Scope) -> Lowered:
    """The schedule that suits the sizes at hand, for all sizes around whose own schedule adds up in
    the same order."""

    if_known = p.if_known()

    def order_here() -> str:
        c = Contraction(if_known(), target, tuning)
        return _order(c, decide(CONTRACTIONS, c).name)

    order = scope.settle(order_here, lambda order: f"{p.kernel.name} adds up products {order}")
    c = Contraction(p, target, tuning)
    with scope.at_hand():
        decision = decide(CONTRACTIONS, c)
        if _order(c, decision.name) != order:
            raise NotSymbolicHere(f"products would be added up {order} if their axes were known")
        if decision.name == "outer" and isinstance(p.k, Symbolic):
            decision = decide([Schedule("packed", packed)], c)
    if decision.name == "dot":
        _require_loop(p, extent(p.reduced[-1]))
    if decision.name == "windows":
        ways = Contraction(p, target, tuning).ways
        return choose([Schedule("windows", ways.estimate)], order)
    return decision.lowered()


def _require_loop(p: Problem, k: int) -> None:
    """Few vectors of k are straight-line code, which adds up each by itself, where their number is
    known (codegen/llvm/lane_plan.py)."""
    if is_unknown(k) and p.width < k <= STRAIGHT * p.width:
        raise NotSymbolicHere(f"{k} products would be added up in a loop")


def _order(c: Contraction, name: str) -> str:
    """In which a schedule adds up. All of k is a block in the outer schedule. So it may be in the
    stream schedule, which is another one all the same: it is there for its speed."""
    if name in ("outer", "packed"):
        return IN_BLOCKS
    if name == "windows":
        return c.ways.order
    swapped = isinstance(c.matrix, Matrix) and _reads_along_k(c.matrix) and c.matrix.swapped
    return f"{name}, rows and lanes swapped" if swapped else name
