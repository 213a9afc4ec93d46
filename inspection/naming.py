"""What people call things. In: a Structure, Modules and optimisers. Out: names of programs and of their inputs.

A program is named after the function of the user's whose lines give most of its outputs; an input after the Parameter, the
Buffer or the state of an optimiser that it was when the program was new.
"""

from __future__ import annotations

import ast
import gc
import linecache
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..frontend.structure import Structure
from .changes import short

if TYPE_CHECKING:
    from ..nn.module import Module

Span = tuple[int, int, str]  # first and last line of a function, its name with those around it


def program_name(structure: Structure) -> str:
    """`train_step (lenet.py:53)`; "program" where no line of the user's gives an output."""
    outputs = structure.key[1]
    sites = [structure.sites[o] for o in outputs if isinstance(o, int)]
    lines = [site[:2] for site in sites if site is not None] or [s[:2] for s in structure.sites if s is not None]
    if not lines:
        return "program"
    named = Counter((function_at(*line), line) for line in lines)
    name = Counter(name for name, _ in named.elements()).most_common(1)[0][0]
    file, line = next(line for (n, line), _ in named.most_common() if n == name)
    return f"{name} ({short(file)}:{line})" if name else f"{short(file)}:{line}"


def function_at(file: str, line: int) -> str:
    """The innermost function around a line, `LeNet.forward`; "" where there is none, or no source."""
    around = [span for span in _functions(file) if span[0] <= line <= span[1]]
    return max(around)[2] if around else ""


@lru_cache(64)
def _functions(file: str) -> tuple[Span, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    found: list[Span] = []
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        parent, prefix = stack.pop()
        for child in ast.iter_child_nodes(parent):
            inside = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    found.append((child.lineno, child.end_lineno or child.lineno, inside[:-1]))
            stack.append((child, inside))
    return tuple(found)


# ---------------------------------------------------------------- inputs


def owners_of(structure: Structure) -> list[Any]:
    """The Tensor of each input, None where it is not known or not there any more."""
    return [owner and owner() for owner, _ in structure.origins]


def alive(kind: str, name: str) -> list[Any]:
    """All objects of a class of `nn` that there are; nothing is loaded for it."""
    module = sys.modules.get(f"{__package__.split('.')[0]}.nn.{kind}")
    cls = getattr(module, name, None)
    return [] if cls is None else [x for x in gc.get_objects() if issubclass(type(x), cls)]


def modules_of(tensors: Sequence[Any]) -> list[Module]:
    """The outermost Modules alive that hold any of the Tensors."""
    wanted = {id(t) for t in tensors if t is not None}
    found = alive("module", "Module") if wanted else []
    inner = {id(child) for m in found for child in m.children()}
    return [m for m in found if id(m) not in inner and wanted & {id(t) for _, t in _held(m)}]


def names_of(modules: Sequence[Module], optimizers: Iterable[Any]) -> dict[int, str]:
    """By id of a Tensor: `fc1.weight`, or `LeNet.fc1.weight` where there are several Modules; `Adam exp_avg of fc1.weight`."""
    found: dict[int, str] = {}
    for m in modules:
        prefix = f"{type(m).__name__}." if len(modules) > 1 else ""
        for name, t in _held(m):
            found.setdefault(id(t), prefix + name)
    for optimizer in optimizers:
        kind = type(optimizer).__name__
        for p, values in zip(optimizer.params, optimizer.state, strict=True):
            whose = found.get(id(p)) or p.name or "a parameter"
            found |= {id(t): f"{kind} {what} of {whose}" for what, t in values.items()}
    return found


def _held(m: Module) -> list[tuple[str, Any]]:
    return [*m.named_parameters(), *m.named_buffers()]
