"""Groups of nodes that are drawn together. In: a program of a document. Out: groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CONSTANTS = ("const", "iota")


@dataclass(frozen=True)
class Homes:
    """Nodes are named by position in program["nodes"], groups by position in `groups`.

    Attributes: `groups`, the kernel of each, by index, None for nodes of no kernel; `home`, the
    group of each node; `sources` of each node; `given`, the nodes that no kernel has to run for:
    inputs, and what is computed of such alone by each of its readers; `shared`, the group of what
    several inputs lead to, None without any.
    """

    groups: list[int | None]
    home: list[int]
    sources: list[list[int]]
    given: set[int]
    shared: int | None


def homes(program: dict[str, Any]) -> Homes:
    """A node of no kernel is at home with its readers if they are in one group, else with its only
    source, else in its own."""
    nodes = program["nodes"]
    sources = sources_of(nodes)
    groups: list[int | None] = [*range(len(program["kernels"]))]
    home = _with_readers(nodes, sources, len(groups))
    given: set[int] = set()
    shared: int | None = None
    for i, source in enumerate(sources):
        if not source or (nodes[i]["kernel"] is None and given.issuperset(source)):
            given.add(i)
        if home[i] is None and len(source) == 1 and not _is_constant(nodes[source[0]]):
            home[i] = home[source[0]]
        elif home[i] is None and source and i in given and shared is not None:
            home[i] = shared
        elif home[i] is None:
            shared = len(groups) if source and i in given else shared
            home[i] = len(groups)
            groups.append(None)
    return Homes(groups, [h for h in home if h is not None], sources, given, shared)


def sources_of(nodes: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Where the sources of each node stand in the list."""
    position = {n["id"]: i for i, n in enumerate(nodes)}
    return [
        list(dict.fromkeys(position[s] for s in n["src"] if s in position and s != n["id"]))
        for n in nodes
    ]


def _with_readers(
    nodes: Sequence[dict[str, Any]], sources: list[list[int]], kernels: int
) -> list[int | None]:
    """The kernel of each node, or of all its readers; of a constant, that of any."""
    home: list[int | None] = [
        k if k is not None and 0 <= k < kernels else None for k in (n["kernel"] for n in nodes)
    ]
    readers: list[list[int]] = [[] for _ in nodes]
    for b, source in enumerate(sources):
        for a in source:
            readers[a].append(b)
    for i in reversed(range(len(nodes))):
        groups_of_readers = {home[r] for r in readers[i]}
        if home[i] is None and len(groups_of_readers) == 1:
            home[i] = groups_of_readers.pop()
        elif home[i] is None and _is_constant(nodes[i]):
            home[i] = next((h for h in (home[r] for r in readers[i]) if h is not None), None)
    return home


def _is_constant(node: dict[str, Any]) -> bool:
    return node["op"] in CONSTANTS
