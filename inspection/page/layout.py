"""The picture of a program's graph. In: a program of the document. Out: places as plain values.

A kernel is a box that holds its nodes. There are two pictures: "operations" shows the nodes in each
kernel, "kernels" shows each kernel as one small box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .homes import CONSTANTS, Homes, homes
from .layered import Edge, Layered, Size, layered

# Of a node's box; a character of its label is so wide.
NODE_HEIGHT, CHARACTER, PADDING = 22, 6.6, 18
NARROWEST, WIDEST = 44, 230
INSIDE = (12, 18)  # gaps between nodes of a kernel
BETWEEN = (26, 46)  # gaps between kernels
HEAD, BORDER = 24, 10  # of a kernel's box: for its name, around its nodes
KERNEL = (212, 46)  # a kernel in the picture of kernels
SHARED = 3  # groups that may read an input before its edges are loose


def layout(program: dict[str, Any]) -> dict[str, Any]:
    """Both pictures, and which group each node is in.

    "groups": the kernel of each group, by index, or None for nodes that stand alone; "home": the
    group of each node, in the order of program["nodes"]; "operations": {"width", "height",
    "groups": [[x, y, width, height]], "nodes": the same, "inner": [[node, node, *bends]], "outer":
    the same, "loose": the same}, where nodes are named by position and bends are x and y in turn;
    "kernels": {"width", "height", "groups", "outer": [[group, group, *bends]]}, where a group of
    inputs is None.

    Loose edges come from constants and from what many kernels read or compute for themselves: lines
    would say little, cross much.
    """
    nodes, grouping = program["nodes"], homes(program)
    groups, home, sources = grouping.groups, grouping.home, grouping.sources
    boxes = [_box(str(n["label"])) for n in nodes]
    edges = [(a, b) for b, source in enumerate(sources) for a in source]
    loose = _loose(nodes, grouping, edges)
    members: list[list[int]] = [[] for _ in groups]
    for i, g in enumerate(home):
        members[g].append(i)
    inner: list[list[Edge]] = [[] for _ in groups]
    for a, b in edges:
        if home[a] == home[b]:
            inner[home[a]].append((a, b))
    across = [(a, b) for a, b in edges if home[a] != home[b]]
    outer = [(a, b) for a, b in across if a not in loose]
    operations = _operations(groups, members, inner, outer, boxes, home)
    operations["loose"] = [_line(a, b, []) for a, b in across if a in loose]
    between = [(a, b) for a, b in outer if a not in grouping.given]
    return {
        "groups": groups,
        "home": home,
        "operations": operations,
        "kernels": _kernels(groups, between, home),
    }


def _loose(nodes: Sequence[dict[str, Any]], grouping: Homes, edges: list[Edge]) -> set[int]:
    """Nodes whose edges to other groups are loose."""
    # Groups that read each node.
    readers = Counter(a for a, _ in {(a, grouping.home[b]) for a, b in edges})
    constants = {i for i, n in enumerate(nodes) if n["op"] in CONSTANTS and not grouping.sources[i]}
    return constants | {
        i for i in grouping.given if readers[i] > SHARED or grouping.home[i] == grouping.shared
    }


def _kernels(groups: list[int | None], outer: list[Edge], home: list[int]) -> dict[str, Any]:
    """The picture of kernels alone, and of what lies between them."""
    links = list(dict.fromkeys((home[a], home[b]) for a, b in outer))
    linked = {g for link in links for g in link}
    shown = [g for g, k in enumerate(groups) if k is not None or g in linked]
    place = {g: i for i, g in enumerate(shown)}
    picture = layered([KERNEL] * len(shown), [(place[a], place[b]) for a, b in links], BETWEEN)
    return {
        "width": _rounded(picture.width),
        "height": _rounded(picture.height),
        "groups": [
            _place(picture.corners[place[g]], KERNEL) if g in place else None
            for g in range(len(groups))
        ],
        "outer": [_line(*link, bends) for link, bends in zip(links, picture.bends, strict=True)],
    }


def _operations(
    groups: list[int | None],
    members: list[list[int]],
    inner: list[list[Edge]],
    outer: list[Edge],
    boxes: list[Size],
    home: list[int],
) -> dict[str, Any]:
    """The picture with nodes: each group laid out by itself, then the groups."""
    inside = [_inside(m, e, boxes) for m, e in zip(members, inner, strict=True)]
    sizes = [_around(groups[g], len(members[g]), inside[g]) for g in range(len(groups))]
    whole = layered(sizes, [(home[a], home[b]) for a, b in outer], BETWEEN)
    places: list[list[float]] = [[] for _ in boxes]
    lines = []
    for g, (x, y) in enumerate(whole.corners):
        dx, dy = _offset(groups[g], len(members[g]), inside[g], sizes[g])
        for i, corner in zip(members[g], inside[g].corners, strict=True):
            places[i] = _place((x + dx + corner[0], y + dy + corner[1]), boxes[i])
        for (a, b), bends in zip(inner[g], inside[g].bends, strict=True):
            lines.append(_line(a, b, [(x + dx + p, y + dy + q) for p, q in bends]))
    return {
        "width": _rounded(whole.width),
        "height": _rounded(whole.height),
        "groups": [_place(c, s) for c, s in zip(whole.corners, sizes, strict=True)],
        "nodes": places,
        "inner": lines,
        "outer": [_line(a, b, bends) for (a, b), bends in zip(outer, whole.bends, strict=True)],
    }


def _inside(members: list[int], edges: list[Edge], boxes: list[Size]) -> Layered:
    place = {i: k for k, i in enumerate(members)}
    return layered([boxes[i] for i in members], [(place[a], place[b]) for a, b in edges], INSIDE)


def _around(kernel: int | None, members: int, inside: Layered) -> Size:
    """The size of a group's box: a node alone needs no frame."""
    if kernel is None and members == 1:
        return inside.width, inside.height
    return max(inside.width, KERNEL[0] - 2 * BORDER) + 2 * BORDER, inside.height + HEAD + BORDER


def _offset(kernel: int | None, members: int, inside: Layered, size: Size) -> Size:
    """Where in its box the nodes of a group begin."""
    return (0, 0) if kernel is None and members == 1 else ((size[0] - inside.width) / 2, HEAD)


def _box(label: str) -> Size:
    return min(max(len(label) * CHARACTER + PADDING, NARROWEST), WIDEST), NODE_HEIGHT


def _place(corner: Size, size: Size) -> list[float]:
    return [_rounded(v) for v in (*corner, *size)]


def _line(a: int, b: int, bends: list[Size]) -> list[float]:
    return [a, b, *(_rounded(v) for bend in bends for v in bend)]


def _rounded(v: float) -> float:
    return round(v, 1)
