"""Structures of Tensors. In: tuples, lists and dicts, nested at will. Out: their leaves as a list,
and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CONTAINERS = (tuple, list, dict)


def leaves(tree: object) -> list[Any]:
    """The leaves, which are no containers, from left to right; dicts in the order of their
    insertion."""
    if not isinstance(tree, CONTAINERS):
        return [tree]
    children = tree.values() if isinstance(tree, dict) else tree
    return [leaf for child in children for leaf in leaves(child)]


def like(tree: object, new: list[Any]) -> Any:
    """The same structure with other leaves."""
    rest = iter(new)
    return mapped(lambda _: next(rest), tree)


def mapped(function: Callable[[Any], Any], tree: object) -> Any:
    """The same structure with the function of each leaf."""
    if not isinstance(tree, CONTAINERS):
        return function(tree)
    if isinstance(tree, dict):
        return {key: mapped(function, child) for key, child in tree.items()}
    children = [mapped(function, child) for child in tree]
    # a named tuple takes them one by one
    return type(tree)(*children) if hasattr(tree, "_fields") else type(tree)(children)


def is_like(tree: object, other: object) -> bool:
    """Do both have the same structure."""
    if not isinstance(tree, CONTAINERS) or not isinstance(other, CONTAINERS):
        return not isinstance(tree, CONTAINERS) and not isinstance(other, CONTAINERS)
    if isinstance(tree, dict) != isinstance(other, dict) or len(tree) != len(other):
        return False
    if isinstance(tree, dict):
        return list(tree) == list(other) and all(is_like(tree[k], other[k]) for k in tree)
    return all(is_like(a, b) for a, b in zip(tree, other, strict=True))
