"""An expression that a user typed. In: its text, values by name. Out: a Tensor, names of Nodes.

Python evaluates the text, with the functions of weft and the given values as its names; each part
of it notes what it gave.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from ... import errors
from ...frontend.operands.likes import ArrayLike
from ...frontend.tensor.tensor import Tensor
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node
from ...ir.graph.op import Op

T = TypeVar("T")
FILE = "<expression>"
NOTED = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript, ast.Attribute, ast.Name, ast.Compare)
MOST_TEXT = 90  # characters of an expression in an error
NOTE = "_note"  # what parts of the expression are given to


class ExpressionError(errors.ArgumentError):
    """What was typed cannot be computed; the message shows where."""


@dataclass(frozen=True)
class Evaluated:
    """`result`; `texts`, what each Node is called; `parts`, (text, Tensor) of each part of the
    expression, from inside out."""

    result: Tensor
    texts: Mapping[Node, str]
    parts: list[tuple[str, Tensor]]


def evaluate(text: str, values: Mapping[str, str]) -> Evaluated:
    """The value of an expression over values that are texts, too: {"x": "2", "y": "randn(3, 4)",
    "z": "[1, 2]:float64"}.

    Numbers, and lists of them, become float32 where no dtype follows. Raises ExpressionError, which
    shows where.
    """
    names: dict[str, object] = {}
    for name, value in values.items():
        _require_name(name)
        names[name] = _given(name, value, names)
    parts: list[tuple[str, Tensor]] = []
    # The line that steps and reports point to.
    linecache.cache[FILE] = (len(text), None, [text], FILE)
    result = _run(text.strip(), names, parts)
    if not isinstance(result, Tensor):
        advice = f"use {', '.join(values)} in it" if values else "give it values: x=2"
        raise ExpressionError(
            _pointed(
                text, 0, 0, f"the expression gives {brief(result)}, which is not a Tensor: {advice}"
            )
        )
    texts: dict[Node, str] = {}
    for part, t in parts:
        texts.setdefault(t.node, part)
    return Evaluated(result, texts, parts)


def _require_name(name: str) -> None:
    if not name.isidentifier() or name == NOTE:
        raise ExpressionError(
            f"{name!r} is not a name: write a value as name=value, like x=2 or x='randn(3, 4)'"
        )


# ---------------------------------------------------------------- values by name


def _given(name: str, text: str, names: Mapping[str, object]) -> Tensor:
    """The Tensor of a name, in memory, a leaf that gradients are collected for where it holds
    floats."""
    typed = re.fullmatch(r"(.*\S)\s*:\s*(\w+)\s*", text, re.DOTALL)
    dtype = dt.BY_NAME.get(typed[2]) if typed else None
    value = _run(typed[1] if typed and dtype else text.strip(), names, [])
    if not isinstance(value, Tensor):
        value = _tensor(name, text, value, dtype)
    value = value.astype(dtype or value.dtype)
    value = (value.detach() if value.requires_grad else value).realize()
    # As after y=x or y=x.T: memory of its own.
    if value.name in names or (value.node.op is not Op.INPUT and value.size):
        value = _tensor(name, text, value.tolist(), value.dtype)
    value.name = name
    return value.requires_grad_() if value.dtype.is_float else value


def _tensor(name: str, text: str, value: ArrayLike, dtype: dt.DType | None) -> Tensor:
    from ...frontend.tensor.creation import tensor

    try:
        array = np.asarray(value)
        chosen = dtype or (
            dt.float32 if array.dtype.kind in "iuf" and not isinstance(value, np.ndarray) else None
        )
        return tensor(value, chosen)
    except (errors.WeftError, ValueError) as error:
        raise ExpressionError(
            _pointed(f"{name}={text}", 0, 0, f"this is not a value for a Tensor: {error}")
        ) from None


# ---------------------------------------------------------------- Python's part


def _run(text: str, names: Mapping[str, object], parts: list[tuple[str, Tensor]]) -> Any:
    """What Python makes of the text, noting its parts."""
    tree = _python(text, ast.parse, text, FILE, "eval")
    space = {**_functions(), **names}
    _require_known(text, tree, space)
    typed = list(ast.walk(tree))
    segments = [(ast.get_source_segment(text, part) or "", _draws(part)) for part in typed]

    def note(number: int, value: object) -> object:
        if isinstance(value, Tensor):
            part, is_random = segments[number]
            value = value.detach().realize() if is_random else value
            parts.append((part, value))
        return value

    code = _python(text, _compiled, tree, typed)
    try:
        return eval(code, {**space, NOTE: note})
    except Exception as error:  # whatever a user's expression raises
        start, end = (len(text.encode()[:at].decode(errors="ignore")) for at in _place(error))
        raise ExpressionError(_pointed(text, start, end, _told(error))) from None


def _python(text: str, step: Callable[..., T], *args: Any) -> T:
    """A step of Python's own compiler; what it refuses is no expression, or nested too deeply."""
    try:
        return step(*args)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = getattr(error, "offset", None) or 1
        why = getattr(error, "msg", None) or str(error) or "this is too long"
        raise ExpressionError(_pointed(text, at - 1, at, why)) from None


def _compiled(tree: ast.Expression, parts: list[ast.AST]) -> CodeType:
    marked: ast.Expression = _Marked(parts).visit(tree)  # type: ignore[assignment]
    return compile(ast.fix_missing_locations(marked), FILE, "eval")


DRAWS = ("rand", "randn", "randint")  # functions whose graph is long and not of interest


def _draws(part: ast.AST) -> bool:
    match part:
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(ast.Name("wf"), name)):
            return name in DRAWS
    return False


class _Marked(ast.NodeTransformer):
    """Wraps each part of an expression whose value is of interest: part -> _note(number, part)."""

    def __init__(self, parts: list[ast.AST]) -> None:
        self.numbers = {id(part): k for k, part in enumerate(parts)}

    def visit(self, node: ast.AST) -> ast.AST:
        number = self.numbers.get(id(node))
        visited = (
            node
            if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.comprehension))
            else self.generic_visit(node)
        )
        if (
            number is None
            or not isinstance(node, NOTED)
            or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        ):
            return visited
        note = ast.Name(NOTE, ast.Load())
        call = ast.Call(note, [ast.Constant(number), visited], [])  # type: ignore[list-item]
        return ast.copy_location(call, node)


def _functions() -> dict[str, object]:
    """Every public name of weft, weft itself as wf, its layers and functions, and NumPy as np."""
    weft = import_module("...", __package__)
    return {name: getattr(weft, name) for name in weft.__all__} | {
        "wf": weft,
        "nn": weft.nn,
        "F": weft.nn.functional,
        "np": np,
    }


def _require_known(text: str, tree: ast.AST, space: Mapping[str, object]) -> None:
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    for n in ast.walk(tree):
        if (
            isinstance(n, ast.Name)
            and n.id not in space
            and n.id not in bound
            and not hasattr(builtins, n.id)
        ):
            near = get_close_matches(n.id, [*space], 2, 0.7)
            advice = (
                f"do you mean {' or '.join(near)}?"
                if near
                else f"give it a value: {n.id}=2, or {n.id}='randn(3, 4)'"
            )
            column = len(text.splitlines()[n.lineno - 1].encode()[: n.col_offset].decode())
            raise ExpressionError(
                _pointed(text, column, column + len(n.id), f"there is no {n.id}; {advice}")
            )


# ---------------------------------------------------------------- errors


def _pointed(text: str, start: int, end: int, why: str) -> str:
    """Why, and the text with carets below a part of it; of a long text what stands around that
    part."""
    if "\n" not in text and len(text) > MOST_TEXT:
        cut = max(0, min(start - MOST_TEXT // 3, len(text) - MOST_TEXT))
        text, start, end = text[cut : cut + MOST_TEXT], start - cut, min(end - cut, MOST_TEXT)
    mark = "" if "\n" in text or end <= start else f"\n    {' ' * start}{'^' * (end - start)}"
    return f"{why}\n    {text}{mark}"


def _place(error: Exception) -> tuple[int, int]:
    """Where the part that failed starts and ends, in bytes."""
    place = (0, 0)
    frame = error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        if code.co_filename == FILE:
            _, _, start, end = list(code.co_positions())[frame.tb_lasti // 2]
            place = (start or 0, end or 0)
        frame = frame.tb_next
    return place


def _told(error: Exception) -> str:
    """What went wrong; for what is none of weft's own errors also its kind."""
    text = str(error) or type(error).__name__
    return text if isinstance(error, errors.WeftError) else f"{type(error).__name__}: {text}"
