"""Changes of the Graph by each pass. In: Passes. Out: lines that went and came, and rewrites.

A line names one Node and the kinds of its operands, so that what is built on a changed Node does
not count as changed. Numbers of lines are bounded: a page shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...compiler.pass_log import Pass
from ...ir.graph.graph import Node, show_arg, toposort, type_of
from ...ir.graph.op import Op
from ...ir.graph.rewrite import constant_of
from ...ir.graph.site import NOWHERE, Site, is_gradient, site_text
from ..names.labels import number

MOST_LINES = 200  # of a pass, gone or new
MOST_REWRITES = 300
DEPTH = 3  # of an expression that a rewrite shows

Json = dict[str, Any]


def changes(passes: Sequence[Pass]) -> list[Json]:
    """Of each pass: its name, seconds, how many Nodes there are after it, the lines that it added
    and removed, its rewrites."""
    out: list[Json] = []
    before: tuple[Node, ...] | None = None
    lines, nodes = Counter[str](), None
    for p in passes:
        added: list[str] = []
        removed: list[str] = []
        if p.roots is not None and p.roots != before:
            order = toposort(p.roots)
            now, nodes = Counter(map(line_of, order)), len(order)
            if before is not None:
                added, removed = [*(now - lines).elements()], [*(lines - now).elements()]
            before, lines = p.roots, now
        out.append(
            {
                "name": p.name,
                "seconds": p.seconds,
                "nodes": None if p.roots is None else nodes,
                "added": _bounded(added),
                "removed": _bounded(removed),
                "rewrites": [_rewrite(*r) for r in p.rewrites[:MOST_REWRITES]],
                "rewrite_count": len(p.rewrites),
            }
        )
    return out


def _bounded(lines: list[str]) -> list[str]:
    left = len(lines) - MOST_LINES
    return lines if left <= 0 else [*lines[:MOST_LINES], f"and {left} more"]


def _rewrite(rule: str, before: Node, after: Node) -> Json:
    return {
        "rule": rule,
        "before": expression(before),
        "after": expression(after),
        "line": place_of(before.site),
    }


def place_of(site: Site | None) -> list[Any] | None:
    """The file and line of a Site."""
    return None if site is None or site[:2] == NOWHERE else [*site[:2]]


def line_of(n: Node) -> str:
    """A Node, the kinds of its operands and its line: `add(mul, 1)  float32[4,5]  # script.py:3,
    gradient`."""
    place = place_of(n.site)
    where = f"  # {site_text((place[0], place[1]))}" if place else ""
    return (
        f"{_call(n, [_kind(s) for s in n.src])}{where}{', gradient' if is_gradient(n.site) else ''}"
    )


def expression(n: Node, depth: int = DEPTH) -> str:
    """A Node over its operands, with their dtypes and shapes at the end."""
    return _call(n, [_nested(s, depth - 1) for s in n.src])


def _nested(n: Node, depth: int) -> str:
    if constant_of(n) is not None or not n.src:
        return _kind(n)
    if not depth:
        return "..."
    return f"{n.op.value}({', '.join([*(_nested(s, depth - 1) for s in n.src), *_arg(n)])})"


def _kind(n: Node) -> str:
    value = constant_of(n)
    return n.op.value if value is None else number(value)


def _call(n: Node, operands: list[str]) -> str:
    return f"{n.op.value}({', '.join([*operands, *_arg(n)])})  {type_of(n)}"


def _arg(n: Node) -> list[str]:
    return [] if n.arg is None or n.op is Op.INPUT else [show_arg(n)]
