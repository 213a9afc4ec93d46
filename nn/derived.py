"""Attributes that a Module computes from its parts. In: a name and a recipe. Out: the attribute,
made anew at each access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Recipe = Callable[[Any], Any]  # of the Module
ATTRIBUTE = "_derived"


@dataclass
class Derived:
    """The recipes by name. No dict, since Modules in one are part of the tree."""

    recipes: dict[str, Recipe] = field(default_factory=dict)


def recipe_of(module: Any, name: str) -> Recipe | None:
    """How the attribute is computed, if it is."""
    # vars() would count as read in a jitted function
    derived = object.__getattribute__(module, "__dict__").get(ATTRIBUTE)
    return None if derived is None else derived.recipes.get(name)


def derive(module: Any, name: str, recipe: Recipe) -> Any:
    """Computes the attribute from now on. Takes out what it was, and returns that."""
    old = vars(module)[name]
    delattr(module, name)
    vars(module).setdefault(ATTRIBUTE, Derived()).recipes[name] = recipe
    return old


def settle(module: Any, name: str, value: Any) -> None:
    """Computes the attribute no more: it is this."""
    recipes = vars(module)[ATTRIBUTE].recipes
    del recipes[name]
    if not recipes:
        del vars(module)[ATTRIBUTE]
    setattr(module, name, value)
