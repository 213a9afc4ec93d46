"""The user's line of a Node. In: the Python stack, or what `provenance` says. Out: a Site."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

# file, line; for an index: what is indexed; for what a gradient is computed by: GRADIENT, after the
# line of the forward Node
Site = tuple[str, int] | tuple[str, int, str] | tuple[str, int, str, str]
GRADIENT = "gradient"
NOWHERE: Site = ("", 0)  # of what no line of the user's stands for


class _Site(threading.local):
    site: Site | None = None  # what `provenance` says
    keeps_sites = False  # inside `keeping_sites`


stated = _Site()
_ROOT = __file__.replace("\\", "/").rsplit("/", 3)[0] + "/"
_FOLDERS = (
    "array_api/",
    "codegen/",
    "commands/",
    "compiler/",
    "frontend/",
    "inspection/",
    "ir/",
    "linalg/",
    "nn/",
    "runtime/",
)
# contextlib: its frames stand around decorated functions of the package
_INSIDE = (*(_ROOT + place for place in (*_FOLDERS, "modes.py", "signals.py")), contextlib.__file__)
_is_inside: dict[str, bool] = {}  # by file name: strings keep their hash, code objects do not


def user_site(depth: int = 1) -> Site | None:
    """File and line of the innermost frame outside the package. Frames nearer than `depth` are
    known to be inside."""
    site = stated.site
    if site is not None:
        return site
    frame = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = _is_inside.get(file)
        if inside is None:
            inside = _is_inside[file] = file.startswith(_INSIDE)
        if not inside:
            return (file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def is_inside(file: str) -> bool:
    """Is it a file of the package?"""
    return file.startswith(_INSIDE)


def gradient_of(site: Site | None) -> Site | None:
    """The site of what computes the gradient of a Node."""
    if site is None or is_gradient(site):
        return site
    return site[0], site[1], what_of(site), GRADIENT


def is_gradient(site: Site | None) -> bool:
    """Does a Node of this site compute a gradient?"""
    return site is not None and len(site) == 4


def what_of(site: Site | None) -> str:
    """What is indexed, "" where nothing is."""
    return "" if site is None or len(site) == 2 else site[2]


def cell_of(file: str) -> str | None:
    """`cell [6]` for what IPython calls so, in a notebook or a terminal; None for any other
    file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)
    name = name_of(file)  # ("Cell", "In[6]")
    return f"cell {name[1].removeprefix('In')}" if name else None


def file_name(file: str) -> str:
    """A file without its folders, or the name of a cell."""
    return cell_of(file) or file.replace("\\", "/").rsplit("/", 1)[-1]


def before_line(file: str) -> str:
    """What stands between the name of a file, or of a cell, and the number of a line."""
    return ", line " if cell_of(file) else ":"


def site_text(site: Site) -> str:
    """The file without its folder, and the line: `train.py:5`, `cell [6], line 5`."""
    where = f"{file_name(site[0])}{before_line(site[0])}{site[1]}"
    return f"gradient of {where}" if is_gradient(site) else where


def located(site: Site) -> str:
    """The file with its folders, or the cell, and the line."""
    return f"{cell_of(site[0]) or site[0]}{before_line(site[0])}{site[1]}"


def source_of(site: Site | None) -> str:
    """The text of the user's line; "" where there is none to read."""
    if site is None or not site[1]:
        return ""
    import linecache

    return linecache.getline(site[0], site[1]).strip()


@contextmanager
def keeping_sites() -> Iterator[None]:
    """Inside, existing Nodes keep their site when they are asked for again. Also a decorator."""
    before, stated.keeps_sites = stated.keeps_sites, True
    try:
        yield
    finally:
        stated.keeps_sites = before


class provenance:
    """Nodes made inside a `with` carry this site (gradients inherit it from their forward node)."""

    __slots__ = ("before", "site")

    def __init__(self, site: Site | None) -> None:
        self.site = site

    def __enter__(self) -> Self:
        self.before = stated.site
        stated.site = self.site
        return self

    def move(self, site: Site | None) -> None:
        """Nodes made from now on carry another site."""
        stated.site = site

    def __exit__(self, *_: object) -> None:
        stated.site = self.before


# where the program's graph was built first -> where it was built this time
Lines = dict[Site | None, Site | None]
