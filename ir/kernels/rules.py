"""The rules of fusion, as two lists. In: two Groups. Out: the Form of both as one kernel, or the
Reason why not.

JOINS are the ways of being one kernel, and what rules out any; the first that applies answers. Most
pairs run over the outer axes that they share, at the identity on every edge between them; LIMITS
are what such a kernel keeps to besides. A rule is explained in reason.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..graph.op import ELEMENTWISE, Op
from ..symbolic.decisions import decided
from ..symbolic.integer import Symbolic
from ..symbolic.questions import is_below, text, value_of
from .align import Form, Outer, identity_axes, one_level, reads_own_place, shared_axes
from .chain import with_epilogue
from .column_sums import near_column_sums, refuse_columns, turned
from .groups import Fusion, Group
from .kernel import MIN_PARALLEL, Unit, cost, domain
from .pooled_epilogue import refuse_epilogue
from .reason import Reason, Rule
from .recompute import copies, refuse_recompute
from .sum_order import refuse_orders

TINY = 1 << 14  # elements below which parallelism does not matter
MAX_BUFFERS = 60  # arguments of one kernel
PROLOGUE_COST = 12  # operations an element that packing may repeat
SHORT_ROW = 4  # elements along axes that maps need not share: the parts of complex values
MOST_CHOICES = 8  # choices by position that each element of a kernel with reductions may evaluate


def legal(f: Fusion, a: Group, b: Group) -> Form | Reason:
    """The merged group, or why not. Data flows from a to b, or both share inputs."""
    answers = (join(f, a, b) for join in JOINS)
    return next(answer for answer in answers if answer is not None)


# ---------------------------------------------------------------- joins


def _one_contraction(f: Fusion, a: Group, b: Group) -> Reason | None:
    if a.form.anchor is not None and b.form.anchor is not None:
        parted = f.parted.get(a.form.anchor)
        if parted is not None and parted is f.parted.get(b.form.anchor):
            return parted
        return Reason(
            Rule.ONE_CONTRACTION, f"{a.form.anchor} and {b.form.anchor} would share a kernel"
        )
    return None


def _before_transform(f: Fusion, a: Group, b: Group) -> Form | None:
    """Maps that nothing else needs, of which a Fourier transform loads each element once, and none
    on a condition: lanes then load vectors."""
    maps = all(u.node.op in ELEMENTWISE for u in a.units) and a.form.anchor is None
    if b.units[-1].node.op is not Op.FFT or not maps:
        return None
    form = Form({**dict.fromkeys(a.units), **b.form.outer})
    reads = [r for u in form.units for r in u.reads]
    if any(r.mask for r in reads) or any(f.escapes(u, form) for u in a.units):
        return None
    times = copies(form, f.users)
    return form if all(times[u] == 1 for u in a.units) else None


def _own_loops(f: Fusion, a: Group, b: Group) -> Reason | None:
    if not (a.is_alone or b.is_alone):
        return None
    if any(u.node.op is Op.ROUTINE for u in (*a.units, *b.units)):
        return Reason(Rule.OWN_LOOPS, "a library computes the routine")
    return Reason(Rule.OWN_LOOPS, "a scan, scatter or sort keeps its own kernel")


def _prologue(f: Fusion, a: Group, b: Group) -> Form | Reason | None:
    """What feeds the product of a contraction is evaluated while operands are loaded."""
    if b.form.anchor is None or all(b.form.outer[c] is not None for _, c, _ in f.edges(a, b)):
        return None
    inside = {*a.units, *(u for u in b.units if b.form.outer[u] is None)}
    for u in a.units:
        if u.node.op not in ELEMENTWISE:
            return Reason(Rule.PROLOGUE, f"{u} is not elementwise")
        if f.is_output(u) or any(c not in inside for c, _ in f.users.get(u.node, [])):
            return Reason(Rule.PROLOGUE, f"{u} is needed elsewhere too")
    form = Form({**dict.fromkeys(a.units), **b.form.outer}, b.form.anchor)
    times = copies(form, f.users)
    total = sum(cost(u.node) * times[u] for u in a.units)
    if total > PROLOGUE_COST:
        return Reason(
            Rule.COSTLY_PROLOGUE, f"{total} operations an element would be repeated while packing"
        )
    return form


def _after_chain(f: Fusion, a: Group, b: Group) -> Form | Reason | None:
    """Maps of one result of a chain."""
    if a.chain is None:
        return None
    if any(u.node.op is Op.REDUCE for u in b.units):
        return Reason(Rule.EPILOGUE, f"{b.units[0]} would reduce within a chain of contractions")
    form = with_epilogue(a.chain, a.form, b.form, f.edges(a, b))
    detail = f"{b.units[0]} does not read one result of a chain of contractions element by element"
    return form or Reason(Rule.MISALIGNED, detail)


def _before_chain(f: Fusion, a: Group, b: Group) -> Reason | None:
    if b.chain is not None:
        return Reason(Rule.CHAIN, "what a chain of contractions reads once is not computed with it")
    return None


def _after_columns(f: Fusion, a: Group, b: Group) -> Form | Reason | None:
    """Maps of the column sums of a, element by element."""
    edges = f.edges(a, b) if a.form.columns else []
    if not any(p in a.form.columns for p, _, _ in edges):
        return None
    if b.form.anchor is not None or any(
        u.node.op not in ELEMENTWISE or u.kept_vars() != b.form.outer[u] for u in b.units
    ):
        return Reason(Rule.COLUMN_SUMS, f"{b.units[0]} needs them whole")
    for p, c, r in edges:
        if not reads_own_place(p, a.form.columns.get(p, ()), c, r):
            return Reason(Rule.MISALIGNED, f"{c} does not read column sums of its own shape alone")
    columns = {u: axes or () for u, axes in b.form.outer.items()}
    form = Form(a.form.outer | dict.fromkeys(b.units), None, a.form.columns | columns)
    return _budget(f, a, b, form) or form


def _over_shared_axes(f: Fusion, a: Group, b: Group) -> Form | Reason:
    """Both over the same outer axes; or else one as column sums in the kernel of the other."""
    answer = _side_by_side(f, a, b, a.form, b.form)
    if (
        isinstance(answer, Form)
        or a.form.anchor is not None
        or b.form.anchor is not None
        or not f.policy.column_sums
    ):
        return answer
    for of_a, of_b in ((a.form, turned(b.form)), (turned(a.form), b.form)):
        if of_a is not None and of_b is not None and isinstance(answer, Reason):
            answer = _side_by_side(f, a, b, of_a, of_b)
    return answer


JOINS: tuple[Callable[[Fusion, Group, Group], Form | Reason | None], ...] = (
    _one_contraction,
    _before_transform,
    _own_loops,
    _prologue,
    _after_chain,
    _before_chain,
    _after_columns,
    _over_shared_axes,
)


# ---------------------------------------------------------------- shared axes


def _side_by_side(f: Fusion, a: Group, b: Group, of_a: Form, of_b: Form) -> Form | Reason:
    """Both groups over shared outer axes, each seen in a way of its own."""
    pairs = _edge_pairs(f, a, b, of_a, of_b)
    form = _aligned(of_a, of_b, shared_axes(of_a, of_b) if pairs is None else pairs)
    refusals = (limit(f, a, b, form) for limit in LIMITS)
    return next((refusal for refusal in refusals if refusal is not None), form)


def _edge_pairs(
    f: Fusion, a: Group, b: Group, of_a: Form, of_b: Form
) -> set[tuple[int, int]] | None:
    """Pairs of outer axes that are the same axis on every edge; None if there is no edge."""
    pairs: set[tuple[int, int]] | None = None
    for p, c, r in f.edges(a, b):
        p_outer, c_outer = of_a.outer[p], of_b.outer[c]
        if p_outer is None or c_outer is None:
            return set()
        same = identity_axes(p, p_outer, c_outer, r)
        pairs = same if pairs is None else pairs & same
    return pairs


def _aligned(a: Form, b: Form, pairs: set[tuple[int, int]]) -> Form:
    """Both over the outer axes of these pairs, each axis in one pair."""
    chosen: dict[int, int] = {}
    for i, k in sorted(pairs):
        if i not in chosen and k not in chosen.values():
            chosen[i] = k
    outer: dict[Unit, Outer | None] = {}
    for form, kept in ((a, chosen.keys()), (b, chosen.values())):
        for u in form.units:
            own = form.outer[u]
            outer[u] = None if own is None else tuple(own[i] for i in kept)
    return Form(outer, a.anchor or b.anchor, a.columns | b.columns)


def _whole_rows(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    """Reductions keep the shared outer axes and no other."""
    width = len(form.extents)
    for u in form.running:
        if (
            u.node.op is Op.REDUCE
            and u is not form.anchor
            and u not in form.columns
            and len(u.kept_vars()) != width
        ):
            return Reason(Rule.MISALIGNED, f"{u} does not run over the shared outer axes alone")
    return None


def _column_sums(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    if form.columns and form.anchor is not None:
        return Reason(Rule.EPILOGUE, "column sums stay out of a contraction's kernel")
    return refuse_columns(form) if form.columns else None


def _epilogue(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    anchor = form.anchor
    if anchor is None:
        return None
    if not f.policy.pooled_epilogues and any(
        u.node.op is Op.REDUCE and u is not anchor for u in form.running
    ):
        return Reason(
            Rule.EPILOGUE, "a reduction behind a contraction keeps its own kernel on this target"
        )
    return refuse_epilogue(
        form, anchor, f.units.of[anchor.node.src[0]], lambda u: f.escapes(u, form)
    )


def _like_maps(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    """Maps alone share all of their axes; those of one group may have short ones besides, whose
    steps stand in a row, unless that might decide which kernel column sums join: a length that is
    not known is not short."""
    old, new = (a.form.extents, b.form.extents), len(form.extents)
    uneven = sum(len(extents) != new for extents in old)
    if not uneven or any(u.node.op is Op.REDUCE for u in form.running):
        return None
    is_short = uneven == 1 and all(is_below(_row(u, form), SHORT_ROW + 1) for u in form.running)
    if is_short and not near_column_sums(a, b):
        return None
    return Reason(
        Rule.MISALIGNED,
        f"maps over {list(old[0])} and {list(old[1])} do not index each other alike",
    )


def _row(u: Unit, form: Form) -> int:
    """Elements of a unit for each place on the outer axes."""
    return prod(v.extent for v in u.inner_vars(form.outer[u] or ()))


def _parallelism(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    parallel, matters = prod(form.extents), bool(form.columns)  # to the order of sums over rows
    if isinstance(parallel, Symbolic) and not matters:  # there may be any number
        return None
    before = [prod(g.form.extents) for g in (a, b)]
    sizes = [prod(domain(u.node)) for u in form.running]
    if not matters:
        before, sizes = ([*map(value_of, numbers)] for numbers in (before, sizes))

    def is_little() -> bool:
        if parallel >= MIN_PARALLEL or max(sizes) <= TINY:
            return False
        return parallel < min(before) or not one_level(form.running)

    how = f"{text(parallel)} rows are too few for their sums to join a kernel"
    if not decided(is_little, (parallel, *before, *sizes), how):
        return None
    whole = min(map(value_of, before))
    return Reason(Rule.PARALLELISM, f"{text(parallel)} outer iterations would be left of {whole}")


def _one_order(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    return refuse_orders(form) if form.anchor is None else None


def _recompute(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    return refuse_recompute(form, [e for g in (a, b) for e in f.edges_into(g)], f.users)


def _joined_values(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    """A map of joined values takes each line from the part that has it; beside a reduction, every
    element looks at all parts."""
    choices = [u for u in form.outer if u.node.op is Op.WHERE and u.node.src[0] in f.units.inline]
    if len(choices) < MOST_CHOICES or not any(u.node.op is Op.REDUCE for u in form.outer):
        return None
    return Reason(Rule.JOINED, f"{len(choices) + 1} values are joined beside a reduction")


def _budget(f: Fusion, a: Group, b: Group, form: Form) -> Reason | None:
    bases = {r.base for u in form.outer for r in u.reads}
    count = sum(n not in f.units.inline and f.units.of.get(n) not in form.outer for n in bases)
    return Reason(Rule.BUDGET, f"{count} input buffers") if count > MAX_BUFFERS else None


LIMITS: tuple[Callable[[Fusion, Group, Group, Form], Reason | None], ...] = (
    _whole_rows,
    _column_sums,
    _epilogue,
    _like_maps,
    _parallelism,
    _recompute,
    _joined_values,
    _one_order,
    _budget,
)
