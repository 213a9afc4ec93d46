"""The reference of the site. In: pages with blocks of names. Out: Markdown of what these names say
of themselves.

A block begins with `::: ` and a namespace, ends with `:::`, and holds names of that namespace, or a
module in which names of it are defined:

    ::: wf
    exp log weft.inspection.*
    :::

Run by mkdocs (`hooks` in mkdocs.yml). tests/docs/test_reference.py finds by `named` that no public
name is missing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import weft as wf

BLOCK = re.compile(r"^::: (\S+)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`[^`]+`)")
SPECIAL = re.compile(r"([*_\[\]])")
WIDTH = 76  # columns of a signature, up to a comma
FOLDER = Path(__file__).resolve().parent.parent / "reference"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls for every page."""
    return BLOCK.sub(
        lambda m: "\n".join(entry(m[1], name) for name in names_in(m[1], m[2])), markdown
    )


def named(markdown: str) -> Iterator[tuple[str, str]]:
    """(namespace, name) for each name that a page has an entry for."""
    for block in BLOCK.finditer(markdown):
        yield from ((block[1], name) for name in names_in(block[1], block[2]))


def names_in(path: str, text: str) -> list[str]:
    """The names of a block: those that it spells out, in their places, and those of modules in the
    order of the alphabet."""
    words = text.split()
    found = (defined_in(path, word[:-2]) if word.endswith(".*") else [word] for word in words)
    return [*dict.fromkeys(name for names in found for name in names)]


def defined_in(path: str, module: str) -> list[str]:
    """The public names of a namespace that a module or package defines."""
    space = namespace(path)
    names = getattr(space, "__all__", [n for n in vars(space) if not n.startswith("_")])
    return [
        n
        for n in sorted(names)
        if f"{getattr(getattr(space, n), '__module__', '')}.".startswith(f"{module}.")
    ]


def namespace(path: str) -> Any:
    """What `wf.nn.optim` names."""
    found: Any = wf
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


@cache
def page_of(full: str) -> str:
    """The page of the reference with an entry for `wf.exp`."""
    return next(
        p.name for p in FOLDER.glob("*.md") if full in {".".join(n) for n in named(p.read_text())}
    )


# ---------------------------------------------------------------- an entry


def entry(path: str, name: str) -> str:
    """A heading, how it is called, and what it says; of a class, its methods, too."""
    thing, full = getattr(namespace(path), name), f"{path}.{name}"
    if namespace(path) is wf.Tensor and is_function(name):
        call = name if is_described(thing) else call_of(name, thing)
        return f"- `.{call}`: [wf.{name}]({page_of(f'wf.{name}')}#wf.{name})"
    parts = [
        f"### {escaped(full)} {{ #{full} data-toc-label='{escaped(name)}' }}\n",
        *body(path, name, thing),
    ]
    if inspect.isclass(thing) and not issubclass(thing, (BaseException, wf.Tensor)):
        parts += [method(full, m, found) for m, found in methods(thing)]
    return "\n".join(parts)


def body(path: str, name: str, thing: Any) -> list[str]:
    """What stands below the heading."""
    if not is_described(thing) and not inspect.isroutine(thing) and not inspect.isclass(thing):
        return [value_of(thing)]
    own = getattr(thing, "__name__", name)
    if own != name and getattr(namespace(path), own, None) is thing:
        return [
            "Another name of"
            f" [{escaped(f'{path}.{own}')}]({page_of(f'{path}.{own}')}#{path}.{own}).\n"
        ]
    return [signature_of(f"{path}.{name}", thing), text_of(thing)]


def is_described(thing: Any) -> bool:
    return isinstance(thing, property) or inspect.isdatadescriptor(thing)


def is_function(method: str) -> bool:
    """Does a method of Tensors say what the function of its name says."""
    return method in wf.__all__ and inspect.getdoc(getattr(wf.Tensor, method)) == inspect.getdoc(
        getattr(wf, method)
    )


def method(owner: str, name: str, thing: Any) -> str:
    """A method or property of a class."""
    inner = getattr(thing, "__func__", thing)
    call = "" if is_described(thing) else signature_of(f".{name}", inner)
    return "\n".join([f"#### {escaped(name)} {{ #{owner}.{name} }}\n", call, text_of(inner)])


def methods(kind: type) -> list[tuple[str, Any]]:
    """What a class adds to its bases for users; not forward(), since that is what calling it
    does."""
    known = {"forward"}.union(*map(dir, kind.__bases__))
    own = [
        (name, found)
        for name, found in vars(kind).items()
        if not name.startswith("_") and name not in known
    ]
    return [
        (name, found)
        for name, found in own
        if is_described(found) or callable(getattr(found, "__func__", found))
    ]


def value_of(thing: Any) -> str:
    """What is neither called nor described."""
    if isinstance(thing, wf.DType):
        return f"`{thing!r}`: {thing.itemsize} bytes an element, kind `{thing.kind}`.\n"
    return f"`{thing!r}`\n"


# ---------------------------------------------------------------- how it is called


class Plain(str):
    """An annotation without the quotes that repr puts around it."""

    def __repr__(self) -> str:
        return str(self)


def signature_of(full: str, thing: Any) -> str:
    """How it is called, as a block of code; nothing for attributes, and for exceptions, which users
    do not make."""
    if is_described(thing) or (
        inspect.isclass(thing) and issubclass(thing, (BaseException, wf.Tensor))
    ):
        return ""
    return f"```python\n{call_of(full, thing)}\n```\n"


def call_of(full: str, thing: Any) -> str:
    """Name, parameters and result, on lines that fit the page."""
    given = inspect.signature(thing)
    shown = given.replace(
        parameters=[
            p.replace(annotation=plain(p.annotation))
            for p in given.parameters.values()
            if p.name != "self"
        ],
        return_annotation=(
            inspect.Signature.empty if inspect.isclass(thing) else plain(given.return_annotation)
        ),
    )
    inside, _, result = str(shown)[1:].rpartition(")")
    lines = [f"{full}("]
    for parameter in at_commas(inside):
        if len(lines[-1]) + len(parameter) > WIDTH:
            lines.append("    ")
        lines[-1] += f"{parameter}, "
    return "\n".join(line.rstrip() for line in lines).removesuffix(",") + f"){result}"


def at_commas(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def plain(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return Plain(text.replace("core.Tensor", "Tensor"))


# ---------------------------------------------------------------- what it says


def text_of(thing: Any) -> str:
    """A docstring as Markdown: paragraphs, and examples and tables as blocks of code."""
    return (
        "\n\n".join(paragraph(p) for p in re.split(r"\n\s*\n", inspect.getdoc(thing) or "")) + "\n"
    )


def paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{inspect.cleandoc(text)}\n```"
    if text.startswith("    ") or re.search(r"\S   +\S", text):  # set off or in columns
        return f"```text\n{inspect.cleandoc(text)}\n```"
    return "".join(part if part.startswith("`") else escaped(part) for part in CODE.split(text))


def escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text).replace("<", "&lt;")
