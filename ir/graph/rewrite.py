"""Bottom-up rewriting of Graphs. In: roots and rules. Out: roots in which no rule matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .graph import Node, rebuild
from .op import Op
from .site import provenance

# a rule gives the replacement of a Node, or None where it does not match; it must make progress
# towards an end
Rule = Callable[[Node], Node | None]
Trace = list[tuple[str, Node, Node]]  # (name of the rule, before, after)


def rewrite(
    roots: Sequence[Node], rules: Rule | Mapping[Op, Sequence[Rule]], trace: Trace | None = None
) -> list[Node]:
    """Rewrites every Node after its sources, and each replacement again; the first rule that
    matches wins.

    `rules` is one rule, or the rules of each op. Each Node is rewritten once: shared ones stay
    shared.
    """
    table = rules if isinstance(rules, Mapping) else dict.fromkeys(Op, (rules,))
    done: dict[Node, Node] = {}
    replaced: dict[Node, Node] = {}  # those whose replacement has sources that are not done
    stack = list(reversed(roots))
    while stack:
        n = stack[-1]
        if n in done:
            stack.pop()
            continue
        forms = [n, replaced[n]] if n in replaced else [n]
        waiting = _advance(forms, done, table, trace)
        last = forms[-1]
        if not waiting:
            last = done.setdefault(last, last)
            done.update(dict.fromkeys(forms, last))
            stack.pop()
        elif last is n:
            stack += waiting
        else:
            replaced[n] = last
            stack.append(last)
    return [done[r] for r in roots]


def mapped(
    roots: Iterable[Node], nodes: Iterable[Node], change: Callable[[Node, Node], Node]
) -> list[Node]:
    """What the roots become. `nodes`: the whole Graph, sources first. `change`: takes each, and the
    same over changed sources."""
    done: dict[Node, Node] = {}
    with provenance(None) as here:
        for n in nodes:
            here.move(n.site)
            done[n] = change(n, rebuild(n, tuple([done[s] for s in n.src])))
    return [done[r] for r in roots]


def substituted(roots: Iterable[Node], new: Mapping[Node, Node]) -> list[Node]:
    """The roots with the values of `new` for its keys: rebuilt as well, but for those that stand
    for themselves."""
    roots = list(roots)
    done = {n: n for n, other in new.items() if n is other}
    stack = list(roots)
    while stack:
        n = stack[-1]
        src = (new[n],) if n in new else n.src
        missing = [s for s in src if s not in done]
        if n in done:
            stack.pop()
        elif missing:
            stack += missing
        else:
            done[stack.pop()] = (
                done[new[n]] if n in new else rebuild(n, tuple([done[s] for s in src]))
            )
    return [done[r] for r in roots]


def _advance(
    forms: list[Node],
    done: Mapping[Node, Node],
    table: Mapping[Op, Sequence[Rule]],
    trace: Trace | None,
) -> list[Node]:
    """Appends the last form over rewritten sources, and what rules make of each in turn, up to one
    that is done or that no rule matches. Gives the sources of the last that are not done, the first
    one last."""
    n = forms[-1]
    while n not in done:
        src = tuple([done[s] for s in n.src if s in done])
        if len(src) < len(n.src):
            return [s for s in reversed(n.src) if s not in done]
        after = _apply(n, table.get(n.op, ()), trace) if src == n.src else rebuild(n, src)
        if after is n:
            break
        n = after
        forms.append(n)
    return []


def _apply(n: Node, rules: Sequence[Rule], trace: Trace | None) -> Node:
    if not rules:
        return n
    with provenance(n.site):
        for rule in rules:
            after = rule(n)
            if after is not None and after is not n:
                if trace is not None:
                    trace.append((getattr(rule, "__name__", "rule"), n, after))
                return after
    return n


def constant_of(n: Node) -> Any:
    """The value of a Node that is one constant everywhere (CONST, or EXPAND of it), else None."""
    if n.op is Op.EXPAND:
        n = n.src[0]
    return n.arg if n.op is Op.CONST else None


def is_sum_of_products(n: Node) -> bool:
    """As matrix products and convolutions are."""
    return n.op is Op.REDUCE and n.arg[0] == "add" and n.src[0].op is Op.MUL


def is_zero(n: Node) -> bool:
    """Is it the constant 0 (for floats: +0.0)?"""
    value = constant_of(n)
    return value is not None and value == 0 and str(value) != "-0.0"
