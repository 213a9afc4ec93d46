"""The user's lines beside what was made of them. In: lines with their sites and notes. Out: lines
with a margin."""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.site import Site, site_text, source_of

MARGIN = 64  # columns left to the user's lines
SOURCE = 90  # characters of one

Line = tuple[str, Site | None, str]  # text, its user's line, a note


def beside(lines: Iterable[Line]) -> list[str]:
    """Every line with its note and, where it comes from another line of the user's than the one
    above, that line."""
    out: list[str] = []
    last: Site | None = None
    for text, site, note in lines:
        here = "" if site is None or not site[1] or site == last else user_line(site)
        last = site or last
        margin = "  ".join(filter(None, (note, here)))
        out.append(f"{text.ljust(MARGIN)}  # {margin}" if margin else text)
    return out


def user_line(site: Site) -> str:
    """`model.py:9  y = x.softmax(axis=1)`, of what computes a gradient `gradient of model.py:9
    ...`."""
    source = source_of(site)
    cut = source if len(source) <= SOURCE else f"{source[: SOURCE - 3]}..."
    return f"{site_text(site)}  {cut}".rstrip()
