"""The layer that each kernel computes for. In: programs and trees of a document. Out: its "layer".

It is the innermost layer that holds all parameters, buffers and their states in an optimiser that
the kernel reads. A kernel that reads none, of an activation say, is of the innermost layer around
those of the kernels that it reads from and that read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Json = dict[str, Any]
# The place of a tree, the names of attributes on the way down from its root.
Layer = tuple[int, tuple[str, ...]]


def add_layers(programs: Iterable[Json], trees: Sequence[Json]) -> None:
    """Gives each kernel its "layer": [place of the tree, dotted name], null where nothing is
    known.
    """
    owners: dict[str, Layer] = {}
    for i, tree in enumerate(trees):
        for path, name in _held(tree):
            owners.setdefault(".".join([*path, name]), (i, path))
            # As it is called where there are several trees.
            owners.setdefault(".".join([tree["kind"], *path, name]), (i, path))
    for p in programs:
        own = [
            _around([owners.get(name.split(" of ")[-1]) for name in k["reads"]])
            for k in p["kernels"]
        ]
        beside = _neighbours(p)
        for i, k in enumerate(p["kernels"]):
            layer = own[i] or _around([own[j] for j in beside[i]])
            k["layer"] = layer and [layer[0], ".".join(layer[1])]


def _held(tree: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where the parameters and buffers of a tree are, and their names there."""
    yield from ((path, each["name"]) for each in (*tree["parameters"], *tree["buffers"]))
    for child in tree["children"]:
        yield from _held(child, (*path, child["name"]))


def _around(layers: Iterable[Layer | None]) -> Layer | None:
    """The innermost layer around some, None where there is none; what is in no layer does not
    count."""
    known = [layer for layer in layers if layer is not None]
    if len({place for place, _ in known}) != 1:
        return None
    paths = [path for _, path in known]
    same = [len(set(names)) == 1 for names in zip(*paths, strict=False)]
    depth = same.index(False) if False in same else len(same)
    return known[0][0], paths[0][:depth]


def _neighbours(p: Json) -> list[set[int]]:
    """Of each kernel those that it reads from, and that read it."""
    out: list[set[int]] = [set() for _ in p["kernels"]]
    origins: dict[
        int, set[int]
    ] = {}  # of a node: the kernels that compute it, or what it is a view of
    for n in p["nodes"]:
        before = set().union(*(origins.get(s, ()) for s in n["src"]))
        kernel = n["kernel"]
        origins[n["id"]] = before if kernel is None else {kernel}
        for other in before - {kernel} if kernel is not None else ():
            out[kernel].add(other)
            out[other].add(kernel)
    return out
