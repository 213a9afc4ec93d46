"""Graphs as text. In: roots, passes. Out: a line per value beside the user's lines; rewrites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...compiler.compile import Compiled
from ...compiler.pass_log import Pass
from ...ir.graph.graph import Node, show_arg, toposort, type_of
from ...ir.graph.op import LEAVES, Op
from ...ir.graph.site import NOWHERE, Site, is_gradient
from ...ir.loops.margin import beside
from ...wording import amount, plural
from ..names.labels import contraction

DEPTH = 2  # levels of a value without a name that are written out

Names = Mapping[Node, str]


def names_of(roots: Iterable[Node]) -> dict[Node, str]:
    """%0, %1 and so on, sources first."""
    return {n: f"%{i}" for i, n in enumerate(toposort(roots))}


def sites_of(order: Iterable[Node]) -> dict[Node, Site | None]:
    """The user's line of each Node, sources first. What is made of constants alone has none: any
    program may have made it."""
    sites: dict[Node, Site | None] = {}
    for n in order:
        is_constant = n.op is not Op.INPUT and not any(sites[s] for s in n.src)
        sites[n] = None if is_constant else n.site or NOWHERE
    return sites


def graph_text(roots: Sequence[Node]) -> str:
    """Every value of a Graph, sources first."""
    names = names_of(roots)
    sites = sites_of(names)
    lines = beside((f"{names[n]} = {line_of(n, names)}", sites[n], _note(n)) for n in names)
    return "\n".join([*lines, f"return {', '.join(names[r] for r in roots)}"]) + "\n"


def gradient_text(roots: Sequence[Node]) -> str:
    """The values that gradients are computed by, each beside the forward line, and the forward
    values that they read."""
    names = names_of(roots)
    sites = sites_of(names)
    forward_only = {
        s for n, site in sites.items() if site is not None and not is_gradient(site) for s in n.src
    }
    own = {n for n, site in sites.items() if is_gradient(site)}
    if not own:
        return "No value of this program belongs to a gradient.\n"
    for n in reversed(names):  # constants that gradients alone need
        own |= {s for s in n.src if n in own and sites[s] is None and s not in forward_only}
    gradients = [n for n in names if n in own]
    read = {s for n in gradients for s in n.src} - own
    forward = [n for n in names if n in read]
    sources, lines = (
        [(f"{names[n]} = {line_of(n, names)}", sites[n], "") for n in some]
        for some in (forward, gradients)
    )
    made = {n for n in gradients if n in set(roots)}
    out = [
        "forward values that gradients need",
        *indented(beside(sources)),
        "",
        "gradients",
        *indented(beside(lines)),
    ]
    return (
        "\n".join([*out, f"    return {', '.join(names[n] for n in gradients if n in made)}"])
        + "\n"
    )


def _note(n: Node) -> str:
    """Of a sum of products: which matrices, or windows."""
    is_product = n.op is Op.REDUCE and n.arg[0] == "add" and n.src[0].op is Op.MUL
    return (is_product and contraction(n)) or ""


def indented(lines: Iterable[str]) -> list[str]:
    """Four places to the right."""
    return [f"    {line}" for line in lines]


def line_of(n: Node, names: Names) -> str:
    """`add(%1, %2)  float32[4,5]`."""
    return f"{_call(n, [names[s] for s in n.src])}  {type_of(n)}"


def term(n: Node, names: Names, depth: int = DEPTH) -> str:
    """A value by its name, or written out where it has none."""
    if n in names:
        return names[n]
    if n.op not in LEAVES and not depth:
        return f"<{n.op.value} {type_of(n)}>"
    return _call(n, [term(s, names, depth - 1) for s in n.src])


def _call(n: Node, sources: list[str]) -> str:
    match n.op:
        case Op.INPUT:
            return f"input {getattr(n.arg, 'number', n.arg)}"
        case Op.CONST:
            return f"const {n.arg}"
        case Op.REDUCE:
            kind, axes = n.arg
            return f"reduce_{kind}({sources[0]}, axes {', '.join(map(str, axes))})"
    return f"{n.op.value}({', '.join(sources + ([show_arg(n)] if n.arg is not None else []))})"


# ---------------------------------------------------------------- passes


def rewrites_text(p: Pass) -> str:
    """The rules of a pass that matched, counted and then in order."""
    names = names_of(p.roots or ())
    counts = Counter(rule for rule, _, _ in p.rewrites)
    out = [
        f"{p.name}: {plural(len(p.rewrites), 'rewrite')}",
        *(f"    {count:5}  {rule}" for rule, count in counts.most_common()),
    ]
    for i, (rule, before, after) in enumerate(p.rewrites, 1):
        text = f"{i}. {rule}: {term(before, {}, DEPTH)}"
        site = sites_of(toposort([before]))[before]
        out += [
            "",
            *beside([(text, site, "")]),
            f"    becomes {term(after, names)}  {type_of(after)}",
        ]
    return "\n".join(out) + "\n"


def passes_text(c: Compiled) -> str:
    """How long each pass took, how many values the Graph had after it, and what it did."""
    width = max(len(p.name) for p in c.passes)
    out = [f"{'pass':{width}}   milliseconds   values   what it did"]
    before: Sequence[Node] | None = None
    for p in c.passes:
        size = "" if p.roots is None else str(len(toposort(p.roots)))
        times = f"{p.name:{width}}   {1e3 * p.seconds:12.3f}"
        out.append(f"{times}   {size:>6}   {_did(c, p, before)}".rstrip())
        before = p.roots if p.roots is not None else before
    out.append(f"{'all':{width}}   {1e3 * sum(p.seconds for p in c.passes):12.3f}")
    return "\n".join(out) + "\n"


def _did(c: Compiled, p: Pass, before: Sequence[Node] | None) -> str:
    units = sum(len(k.units) for k in c.fused.kernels)
    steps = {
        "find checks": lambda: f"{len(c.program.checks)} indices to check",
        "fuse": lambda: (
            f"{plural(len(c.fused.kernels), 'kernel')} of {plural(units, 'computed value')}"
        ),
        "lower": lambda: f"loops of {plural(len(c.lowered.kernels), 'kernel')}",
        "plan": lambda: (
            f"arena of {amount(c.program.arena_bytes)}B, "
            f"{plural(len(c.program.donations), 'output')} in place"
        ),
        "link": lambda: f"code of {plural(len(set(c.kernel_keys)), 'kernel')}",
    }
    if p.roots is None:
        return steps[p.name]() if p.name in steps else ""
    if before is None:
        return "the Graph as it came in"
    old, new = (Counter(n.op.value for n in toposort(roots)) for roots in (before, p.roots))
    rules = [plural(len(p.rewrites), "rewrite")] if p.rewrites else []
    changes = [_counted("removed", old - new), _counted("added", new - old)]
    moved = (
        []
        if set(toposort(before)) == set(toposort(p.roots))
        else ["other values of the same operations"]
    )
    return "; ".join([*rules, *(list(filter(None, changes)) or moved)]) or "nothing"


def _counted(word: str, counts: Counter[str]) -> str:
    return (
        f"{word} {', '.join(f'{count} {op}' for op, count in counts.most_common())}"
        if counts
        else ""
    )
