"""Structures of Tensors. In: tuples, lists, dicts and dataclasses, nested at will. Out: their
leaves as a list, and the way back. None is a structure without leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

CONTAINERS = (tuple, list, dict, type(None))


def is_container(tree: object) -> bool:
    """Is it no leaf."""
    return isinstance(tree, CONTAINERS) or (is_dataclass(tree) and not isinstance(tree, type))


def children(tree: Any) -> list[Any]:
    """The parts of a structure."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [*tree.values()]
    if isinstance(tree, (tuple, list)):
        return [*tree]
    return [getattr(tree, f.name) for f in fields(tree)]


def leaves(tree: object) -> list[Any]:
    """The leaves, which are no containers, from left to right; dicts in the order of their
    insertion."""
    if not is_container(tree):
        return [tree]
    return [leaf for child in children(tree) for leaf in leaves(child)]


def like(tree: object, new: list[Any]) -> Any:
    """The same structure with other leaves."""
    rest = iter(new)
    return mapped(lambda _: next(rest), tree)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with the function of each leaf."""
    if not is_container(tree):
        return function(tree)
    new = [mapped(function, child) for child in children(tree)]
    match tree:
        case None:
            return None
        case dict():
            return dict(zip(tree, new, strict=True))
        case tuple() | list():
            # a named tuple takes them one by one
            return type(tree)(*new) if hasattr(tree, "_fields") else type(tree)(new)
    names = [f.name for f in fields(tree)]
    return replace(tree, **dict(zip(names, new, strict=True)))


def is_like(tree: object, other: object) -> bool:
    """Do both have the same structure."""
    if not is_container(tree) or not is_container(other):
        return not is_container(tree) and not is_container(other)
    if kind(tree) is not kind(other):
        return False
    if isinstance(tree, dict) and isinstance(other, dict) and list(tree) != list(other):
        return False
    some, others = children(tree), children(other)
    return len(some) == len(others) and all(map(is_like, some, others))


def kind(tree: object) -> type:
    """What containers of one structure share: tuples and lists are alike."""
    if isinstance(tree, (tuple, list)):
        return tuple
    return dict if isinstance(tree, dict) else type(tree)
