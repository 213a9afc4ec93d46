"""Loops to LLVM IR. In: a verified Loops whose transcendentals are expanded, a Target. Out: module
text, one function per phase.

    define void @<name>_p<i>(ptr %ctx, i64 %chunk, i64 %tid)

%ctx points at i64 slots: the buffers' addresses, the params' values, the address of the status
block {key, value}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ...ir.graph.graph import Node
from ...ir.graph.index import Index, Var
from ...ir.graph.site import NOWHERE, provenance
from ...ir.loops.loop import (
    Alloc,
    Buf,
    Check,
    For,
    If,
    Loops,
    Param,
    Prefetch,
    Stmt,
    Store,
)
from ...ir.loops.text import Names, names_of
from ...ir.loops.walk import Substitution, index_values, reads, statements, writes
from ...ir.symbolic.questions import is_same
from . import memory
from .access import Function, first_lanes, zero
from .expr import evaluate
from .lane_plan import partial_groups, plan_phase, straight_groups
from .lanes import Lanes, Scope, mask_value, scalar_index
from .short_rows import rows_in_pieces, store_rows, stores_of_rows
from .simple import Simple
from .target import Target
from .transpose import square, transposed
from .values import Val, integer, iota, prefix
from .writer import Writer

_METADATA = '!0 = !{!"branch_weights", i32 1, i32 4000}\n!1 = !{i32 1}\n'  # unlikely; nontemporal


def phase_name(loops: Loops, phase: int) -> str:
    return f"{loops.name}_p{phase}"


def emit(loops: Loops, target: Target) -> str:
    """The module's text: the same for the same `show(loops)` and target."""
    declared: set[str] = set()
    names = names_of(loops)
    with provenance(NOWHERE):  # Nodes made by unrolling
        phases = [_phase(loops, i, target, declared, names) for i in range(len(loops.phases))]
    return "\n\n".join(["\n".join(sorted(declared)), *phases, _attributes(target), _METADATA])


def freezes(loops: Loops) -> bool:
    """Is it compiled fast? LLVM then makes one vblendvps of a comparison, a load and a select of
    floats.

    That reads 16 bytes where 4 are meant, perhaps beyond the end of memory. It does not if the
    condition is frozen.
    """
    return loops.tiny


def _attributes(target: Target) -> str:
    pairs = {"target-cpu": target.cpu, "no-trapping-math": "true", "frame-pointer": "none"}
    if target.features:
        pairs["target-features"] = target.features
    if target.vector_bits == 512:
        pairs["prefer-vector-width"] = "512"
    return "attributes #0 = { nounwind " + " ".join(f'"{k}"="{v}"' for k, v in pairs.items()) + " }"


class Emitter(Simple):
    """One phase: walks its statements."""

    def __init__(self, fn: Function) -> None:
        super().__init__(fn)
        self.noted: set[str] = set()  # notes of loops without a block
        self.lanes: dict[object, Lanes] = {}
        self.varies: dict[object, dict[Node, bool]] = {}

    # ------------------------------------------------------------ statements

    def body(self, body: list[Stmt]) -> None:
        for s in body:
            self.combine_before(s)
            self.statement(s)

    def combine_before(self, s: Stmt) -> None:
        """Partial sums are added up before the first statement that LOADs or overwrites them."""
        if not self.fn.uncombined:
            return
        if memory.hands_over(self.fn, s):
            return
        wanted = reads([s]) | {t.buf for t in statements([s]) if isinstance(t, Store)}
        for buf in [b for b in self.fn.uncombined if b in wanted]:
            memory.combine_partials(self.fn, buf)

    def statement(self, s: Stmt) -> None:
        match s:
            case If():
                self.branch(s)
            case For():
                {"serial": self.serial, "unroll": self.unroll, "lanes": self.lanes_loop}[s.kind](s)
            case _:
                self.simple(s)

    def branch(self, s: If) -> None:
        self.evaluate_all(index_values(s.cond), 0)
        with self.maybe(mask_value(self.scope, s.cond, 0)):
            self.body(s.body)

    @contextmanager
    def maybe(self, cond: Val | None) -> Iterator[None]:
        """A branch after which partial sums count as uncombined if they did before."""
        before = dict(self.fn.uncombined)
        with self.w.when(cond):
            yield
        self.fn.uncombined = {**before, **self.fn.uncombined}

    # ------------------------------------------------------------ loops

    def trips(self, s: For) -> Val:
        """How often the loop runs: its extent, cut at `total`; may be negative."""
        if s.total is None:
            return self.extent(s.extent)
        self.evaluate_all(s.base.values(), 0)
        left = self.w.subtract(self.extent(s.total), scalar_index(self.scope, s.base, 0))
        return self.w.minimum(self.extent(s.extent), left)

    def unless_empty(self, n: Val) -> Val | None:
        return None if n.literal else self.w.compare("sgt", n, integer(0))

    def substituted(self, s: For, value: int) -> list[Stmt]:
        return Substitution({s.var: Index(const=value)}).body(s.body)

    def serial(self, s: For) -> None:
        n = self.trips(s)
        if n.literal and int(n.text) <= 1:
            if int(n.text) == 1:
                self.body(self.substituted(s, 0))
            return
        with self.maybe(self.unless_empty(n)), self.loop(s, integer(0), n, 1) as i:
            self.scope.vars[s.var] = i
            self.body(s.body)

    @contextmanager
    def loop(self, s: For, start: Val, stop: Val, step: int) -> Iterator[Val]:
        """A rotated loop around statements: what they write is unknown from one turn to the
        next."""
        written = writes(s.body)
        for buf in written:
            self.w.forget(buf)
        before = dict(self.fn.uncombined)
        self.fn.uncombined.update(dict.fromkeys(b for b in self.fn.partials if b in written))
        with self.w.counted(start, stop, step, written, self.fn.names.name(s.var), s.note) as i:
            yield i
        self.fn.uncombined = {**before, **self.fn.uncombined}

    def unroll(self, s: For) -> None:
        assert isinstance(s.extent, int)
        if self.transposing(s):
            return
        rows: dict[int, list[tuple[Store, list[Val]]]] = {k: [] for k in self.rows_stored(s)}
        for i in range(s.extent):
            with self.maybe(self.before_total(s, i)):
                self.tell(s, f"{self.fn.names.name(s.var)} = {i}")
                for k, t in enumerate(self.substituted(s, i)):
                    self.combine_before(t)
                    if k in rows and isinstance(t, Store):
                        rows[k].append((t, self.stored(t)))
                    else:
                        self.statement(t)
        for columns in rows.values():
            self.store_row(columns)

    def rows_stored(self, s: For) -> list[int]:
        """Which statements of an unrolled loop store rows at once, not column by column."""
        lanes = self.scope.lanes
        return stores_of_rows(s, lanes.var, lanes.w) if lanes and self.has_known_tails() else []

    def has_known_tails(self) -> bool:
        """Is it known of every vector of lanes how many there are?"""
        lanes = self.scope.lanes
        return lanes is not None and all(first_lanes(t, lanes.w) is not None for t in lanes.tails)

    def store_row(self, columns: list[tuple[Store, list[Val]]]) -> None:
        """Rows of the lanes from their columns: each a Store, and its values for every group."""
        for group in self.groups:
            store_rows(self.fn, columns[0][0], [values[group] for _, values in columns], group)

    def lane_body(self, body: list[Stmt], lane: Var) -> None:
        """The statements of a LANES loop; those that store a row column by column, at once."""
        if not self.has_known_tails():
            self.body(body)
            return
        for run in rows_in_pieces(body, lane):
            if len(run) == 1:
                self.body(run)
                continue
            columns = []
            for t in run:
                self.combine_before(t)
                assert isinstance(t, Store)
                columns.append((t, self.stored(t)))
            self.store_row(columns)

    def tell(self, s: For, what: str) -> None:
        """A comment, where loops have notes."""
        if s.note:
            self.w.line(f"; {s.note.partition(':')[0].removeprefix('inner ')}, {what}")

    def transposing(self, s: For) -> bool:
        """Stores squares of elements that lie across the lanes, if that is what the loop does."""
        lanes = next((t for t in s.body if isinstance(t, For)), None)
        w = self.fn.plan.widths.get(lanes.var, 1) if lanes else 1
        block = square(s, w)
        if block is None or self.scope.lanes is not None:
            return False
        loop, stores = block
        n = self.trips(loop)
        tails = [self.tail(w, n, 0)]
        assert isinstance(s.extent, int)
        squares: list[list[Val]] = [[] for _ in stores]
        for i in range(s.extent):
            self.scope.vars[loop.var] = integer(0)
            self.scope.lanes = Lanes(loop.var, w, integer(0), tails, self.w.depth, set())
            row = Substitution({s.var: Index(const=i)})
            for store, rows in zip(stores, squares, strict=True):
                rows.append(self.w.splat(evaluate(self.fn, row.node(store.value), 0), w))
            self.scope.lanes = None
        for store, rows in zip(stores, squares, strict=True):
            full = rows + [zero(rows[0])] * (w - s.extent)
            self.store_columns(s, store, loop.var, transposed(self.w, full), n)
        return True

    def store_columns(self, s: For, store: Store, lane: Var, columns: list[Val], n: Val) -> None:
        """The first n columns of a square."""
        with ExitStack() as branches:
            for k, column in enumerate(columns[: int(n.text)] if n.literal else columns):
                if not n.literal:
                    branches.enter_context(self.maybe(self.w.compare("slt", integer(k), n)))
                at = store.index.substitute({s.var: Index(), lane: Index(const=k)})
                assert isinstance(s.extent, int)
                memory.store_line(self.fn, store.buf, at, column, s.extent)

    def before_total(self, s: For, i: int) -> Val | None:
        """base + i < total, None where that is certain."""
        if s.total is None:
            return None
        self.evaluate_all(s.base.values(), 0)
        position = scalar_index(self.scope, s.base + i, 0)
        if position.literal and isinstance(s.total, int):
            return None if int(position.text) < s.total else Val("false", "i1")
        return self.w.compare("slt", position, self.extent(s.total))

    # ------------------------------------------------------------ lanes

    def lanes_loop(self, s: For) -> None:
        n, w = self.trips(s), self.fn.plan.widths[s.var]
        # partial sums are added up in the same order, however many terms there are
        if not s.apart and not isinstance(s.extent, Param) and is_same(s.extent, 1):
            with self.maybe(self.unless_empty(n)):
                self.body(self.substituted(s, 0) if n.text != "0" else [])
        elif straight_groups(s, w) is not None:
            self.straight(s, w, integer(0), n, -(-int(str(s.extent)) // w))
        elif n.literal:
            self.fixed_lanes(s, w, int(n.text))
        else:
            self.counted_lanes(s, w, n)

    def fixed_lanes(self, s: For, w: int, n: int) -> None:
        """A main loop of full vectors and, as straight-line code, the rest."""
        groups = self.together(s, w)
        # so that no partial sum leaves its register
        times = 2 if partial_groups(s, w) == 2 * groups else 1
        step = w * groups * times
        main = n // step * step
        if main == step:
            self.straight(s, w, integer(0), integer(step), groups * times)
        elif main:
            with self.loop(s, integer(0), integer(main), step) as i:
                for k in range(times):
                    first = k * w * groups
                    self.vectors(
                        s,
                        w,
                        self.w.add(i, integer(first)),
                        [None] * groups,
                        first if times > 1 else None,
                    )
        if n > main:
            self.straight(s, w, integer(main), integer(n - main), -(-(n - main) // w))

    def counted_lanes(self, s: For, w: int, n: Val) -> None:
        """Full vectors, several a step; those that are left, one by one; then a masked vector."""
        groups = self.together(s, w)
        main, full = self.multiple(n, w * groups), self.multiple(n, w)
        self.full_vectors(s, w, integer(0), main, groups)
        if 1 < groups == partial_groups(s, w):
            self.few_vectors(s, w, main, full, groups - 1)
        elif groups > 1:
            self.full_vectors(s, w, main, full, 1)
        with self.maybe(self.w.compare("slt", full, n)):
            self.vectors(s, w, full, [self.tail(w, self.w.binary("sub", n, full), 0)])

    def multiple(self, n: Val, of: int) -> Val:
        """The greatest one that is at most n."""
        return self.w.binary("sub", n, self.w.binary("srem", n, integer(of)))

    def full_vectors(self, s: For, w: int, start: Val, stop: Val, groups: int) -> None:
        """A loop of so many vectors a step."""
        some = self.w.compare("slt", start, stop)
        with self.maybe(some), self.loop(s, start, stop, w * groups) as i:
            self.vectors(s, w, i, [None] * groups)

    def few_vectors(self, s: For, w: int, start: Val, stop: Val, most: int) -> None:
        """A branch for each vector inside of that for the one before: which partial sum it adds to
        is known."""
        with ExitStack() as branches:
            for k in range(most):
                at = self.w.add(start, integer(k * w))
                branches.enter_context(self.maybe(self.w.compare("slt", at, stop)))
                self.vectors(s, w, at, [None], k * w)

    def straight(self, s: For, w: int, base: Val, n: Val, groups: int) -> None:
        if base.text != "0":
            self.tell(s, "its rest")
        elif s.note not in self.noted:
            self.noted.add(s.note)
            self.tell(s, "straight")
        self.vectors(s, w, base, [self.tail(w, n, group * w) for group in range(groups)])

    def tail(self, w: int, n: Val, first: int) -> Val | None:
        """Which lanes of the vector that starts at `first` are below n."""
        if n.literal:
            left = int(n.text) - first
            return None if left >= w else prefix(left, w)
        short = self.w.convert("trunc", self.w.minimum(n, integer(1 << 30)), "i32")
        return self.w.compare("slt", iota(w, 32, first), short)

    def vectors(
        self, s: For, w: int, base: Val, tails: list[Val | None], first: Val | int | None = None
    ) -> None:
        """The body once for a step of vectors, statement by statement for all of them.

        `first`: the number of the partial sum that the first lane adds to.
        """
        private = {t.buf for t in statements(s.body) if isinstance(t, Alloc)}
        if first is None:
            first = self.first_partial(s, w, base, len(tails))
        key = (
            s.var,
            w,
            base.text,
            self.w.depth,
            tuple(t and t.text for t in tails),
            frozenset(private),
            str(first),
        )
        if key not in self.lanes:
            varies = self.varies.setdefault((s.var, frozenset(private)), {})
            self.lanes[key] = Lanes(s.var, w, base, tails, self.w.depth, private, varies, first)
        self.scope.vars[s.var], self.scope.lanes = base, self.lanes[key]
        self.lane_body(s.body, s.var)
        self.scope.lanes = None

    def together(self, s: For, w: int) -> int:
        """Vectors of a step."""
        return min(s.unroll, partial_groups(s, w) or s.unroll)

    def first_partial(self, s: For, w: int, base: Val, groups: int) -> Val | int:
        """The number of the partial sum that the first lane of a step adds to."""
        size = w * partial_groups(s, w)
        if size == 0 or (not base.literal and size == w * groups):
            return 0
        return (
            int(base.text) % size if base.literal else self.w.binary("and", base, integer(size - 1))
        )


# ---------------------------------------------------------------- a phase


def _phase(loops: Loops, number: int, target: Target, declared: set[str], names: Names) -> str:
    phase = loops.phases[number]
    notes = any(isinstance(s, For) and s.note for s in statements(phase.body))
    writer = Writer(declared, for_readers=notes, freezes=freezes(loops))
    constant = frozenset(reads(phase.body) - writes(phase.body))
    plan, streamed = plan_phase(phase, target), frozenset(loops.streamed)
    fn = Function(writer, target, Scope(writer), plan, constant, streamed=streamed, names=names)
    emitter = Emitter(fn)
    _bind_arguments(emitter, loops, phase)
    writer.mark_entry()
    chunk: Var = phase.var
    fn.scope.vars[chunk] = Val("%chunk", "i64")
    with emitter.maybe(_chunk_in_range(emitter, phase)):
        emitter.body(phase.body)
    return writer.function(phase_name(loops, number), "ptr %ctx, i64 %chunk, i64 %tid")


def _chunk_in_range(emitter: Emitter, phase: For) -> Val | None:
    if phase.total is None:
        return None
    position = scalar_index(emitter.scope, phase.base + Index({phase.var: 1}), 0)
    return emitter.w.compare("slt", position, emitter.extent(phase.total))


def _bind_arguments(emitter: Emitter, loops: Loops, phase: For) -> None:
    """Loads what the phase uses from the context."""
    used, names = _used_buffers(phase), emitter.fn.names
    for slot, buf in enumerate(loops.buffers):
        if buf in used:
            emitter.fn.base[buf] = emitter.w.argument("ptr", slot, names.name(buf))
    inside = list(statements([phase]))
    extents = [e for s in inside if isinstance(s, For) for e in (s.extent, s.total)]
    extents += [s.site for s in inside if isinstance(s, Check)]
    for slot, param in enumerate(loops.params, len(loops.buffers)):
        if param in extents or param.atom is not None:
            emitter.params[param] = emitter.w.argument("i64", slot, names.name(param))
        if param.atom is not None:
            emitter.w.arguments[param.atom] = emitter.params[param]
    if any(isinstance(s, Check) for s in inside):
        emitter.status = emitter.w.argument("ptr", len(loops.buffers) + len(loops.params), "status")


def _used_buffers(phase: For) -> set[Buf]:
    return (
        reads(phase.body)
        | writes(phase.body)
        | {s.buf for s in statements(phase.body) if isinstance(s, Prefetch)}
    )
