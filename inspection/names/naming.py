"""Names of programs and of their inputs. In: a Structure, Modules and optimisers. Out: names.

A program is named after the function of the user's whose lines give most of its outputs; an input
after the Parameter, the Buffer, the state of an optimiser or the variable that it was when the
program was new.
"""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from ...compiler.structure import Structure
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.graph.site import is_inside, site_text

if TYPE_CHECKING:
    from ...nn.module import Module
    from ...nn.optim.optimizer import Optimizer

T = TypeVar("T")

Span = tuple[int, int, str]  # first and last line of a function, its name with those around it


def program_name(structure: Structure) -> str:
    """`train_step (lenet.py:53)`; "constants" where no line of the user's computes anything."""
    outputs = structure.key[1]
    sites = [structure.sites[o] for o in outputs if isinstance(o, int)]
    lines = [site[:2] for site in sites if site is not None] or [
        s[:2] for s in structure.sites if s is not None
    ]
    if not lines:
        return "constants"
    named = Counter((function_at(*line), line) for line in lines)
    name = Counter(name for name, _ in named.elements()).most_common(1)[0][0]
    file, line = next(line for (n, line), _ in named.most_common() if n == name)
    return f"{name} ({site_text((file, line))})" if name else site_text((file, line))


def function_at(file: str, line: int) -> str:
    """The innermost function around a line, `LeNet.forward`; "" where there is none, or no
    source.
    """
    around = [span for span in _functions(file) if span[0] <= line <= span[1]]
    return max(around)[2] if around else ""


@lru_cache(64)
def _functions(file: str) -> tuple[Span, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    spans: list[Span] = []
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        parent, prefix = stack.pop()
        for child in ast.iter_child_nodes(parent):
            inside = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{prefix}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    spans.append((child.lineno, child.end_lineno or child.lineno, inside[:-1]))
            stack.append((child, inside))
    return tuple(spans)


def apart(names: Sequence[str]) -> list[str]:
    """The same, the second of a name with #2 after it."""
    seen: Counter[str] = Counter()
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return out


# ---------------------------------------------------------------- inputs


InputNames = Mapping[int, str]  # by the number of an input; those without a name are left out
NO_NAMES: InputNames = {}


def input_names(structure: Structure) -> InputNames:
    """What the inputs of a program are called now: Modules, optimisers and the user's variables are
    looked through."""
    names, owners = Names(), owners_of(structure)
    names.learn(owners)
    return names.of_inputs(owners)


def name_of(n: Node, names: InputNames) -> str | None:
    """That of a Node of the Graph; None where it is no input, or has none."""
    return names.get(getattr(n.arg, "number", -1)) if n.op is Op.INPUT else None


def owners_of(structure: Structure) -> list[Any]:
    """The Tensor of each input, None where it is not known or not there any more."""
    return [owner and owner() for owner, _ in structure.origins]


class Names:
    """What Tensors are called. They are not kept alive."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[Any], str | None]] = {}  # by id of a Tensor

    def learn(self, tensors: Sequence[Any]) -> list[Module]:
        """Looks for what holds the Tensors, if there are new ones: the outermost Modules alive that
        hold any."""
        new = [t for t in tensors if t is not None and not self._knows(t)]
        if not new:
            return []
        modules = modules_of(new)
        names = variables(new) | names_of(modules, alive("optim.optimizer", "Optimizer"))
        self._names |= {
            id(t): (weakref.ref(t), names.get(id(t)) or getattr(t, "name", None)) for t in new
        }
        return modules

    def of_inputs(self, tensors: Sequence[Any]) -> dict[int, str]:
        """The names of those that have one, by their place."""
        known = {
            i: self._names[id(t)][1]
            for i, t in enumerate(tensors)
            if t is not None and self._knows(t)
        }
        return {i: name for i, name in known.items() if name}

    def _knows(self, t: Any) -> bool:
        entry = self._names.get(id(t))
        return entry is not None and entry[0]() is t


def variables(tensors: Sequence[Any]) -> dict[int, str]:
    """By id of a Tensor: what a function of the user's that is running calls it, the innermost if
    several do."""
    ids, names = {*map(id, tensors)}, dict[int, str]()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_inside(frame.f_code.co_filename):
            for name, value in [*frame.f_locals.items()]:
                if id(value) in ids:
                    names.setdefault(id(value), name)
        frame = frame.f_back
    return names


def alive(module: str, name: str) -> list[Any]:
    """All objects of a class of `nn` that there are; nothing is loaded for it."""
    loaded = sys.modules.get(f"{__package__.split('.')[0]}.nn.{module}")
    kinds = subclasses(getattr(loaded, name, None))
    return [x for x in gc.get_objects() if type(x) in kinds] if kinds else []


def subclasses(kind: type | None) -> set[type]:
    """A class and all that are made of it: to look a type up is fast, where there are a million
    objects."""
    kinds: set[type[Any]] = set()
    new: list[type[Any]] = [] if kind is None else [kind]
    while new:
        kinds.add(last := new.pop())
        new += [c for c in type.__subclasses__(last) if c not in kinds]
    return kinds


def told(ask: Callable[[], Iterable[T]]) -> list[T]:
    """What an object of the user's says of itself; nothing where that fails, as it does for what
    was never made to the end."""
    try:
        return [*ask()]
    except Exception:
        return []


def modules_of(tensors: Sequence[Any]) -> list[Module]:
    """The outermost Modules alive that hold any of the Tensors."""
    ids = {*map(id, tensors)}
    modules = alive("module", "Module")
    inner = {id(child) for m in modules for child in told(m.children)}
    return [m for m in modules if id(m) not in inner and ids & {id(t) for _, t in held(m)}]


def names_of(modules: Sequence[Module], optimizers: Iterable[Optimizer]) -> dict[int, str]:
    """By id of a Tensor: `fc1.weight`, or `LeNet.fc1.weight` where there are several Modules; `Adam
    exp_avg of fc1.weight`."""
    names: dict[int, str] = {}
    for m in modules:
        prefix = f"{type(m).__name__}." if len(modules) > 1 else ""
        for name, t in held(m):
            names.setdefault(id(t), prefix + name)
    for optimizer in optimizers:
        names |= told(partial(_states, optimizer, names))
    return names


def _states(optimizer: Optimizer, names: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    kind = type(optimizer).__name__
    for p, values in zip(optimizer.params, optimizer.state, strict=True):
        whose = names.get(id(p)) or p.name or "a parameter"
        yield from ((id(t), f"{kind} {what} of {whose}") for what, t in values.items())


def held(m: Module) -> list[tuple[str, Any]]:
    """The Parameters and Buffers of a Module by their dotted names."""
    return [*told(m.named_parameters), *told(m.named_buffers)]
