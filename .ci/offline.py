"""In: the folder of a built site. Out: what its pages would load from other hosts, or lack to
search when opened from the folder.

Fails if there is anything.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
ELSEWHERE = re.compile(r"(https?:)?//")
IN_CSS = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


class Page(HTMLParser):
    """Collects addresses of what a browser fetches for a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(LOADED.get(tag, "")) or ""
        if ELSEWHERE.match(address):
            self.fetched.append(address)


def fetched(site: Path) -> list[str]:
    """`page: address` for everything from elsewhere."""
    pages = [
        f"{p}: {address}"
        for p in sorted(site.rglob("*.html"))
        for address in Page(p.read_text()).fetched
    ]
    return pages + [
        f"{p}: {address}"
        for p in sorted(site.rglob("*.css"))
        for address in IN_CSS.findall(p.read_text())
    ]


def lacking(site: Path) -> list[str]:
    """What search needs where there is no server: the index as a script, and what stands in for a
    worker."""
    needed = (site / "search" / "search_index.js", site / "iframe-worker.js")
    return [f"{file} is not there" for file in needed if not file.is_file()]


def main(folder: str) -> int:
    pages = len(list(Path(folder).rglob("*.html")))
    found = fetched(Path(folder))
    print(
        "\n".join(
            [
                f"site: {pages} pages, {len(found)} things from other hosts",
                *found,
                *lacking(Path(folder)),
            ]
        )
    )
    return 1 if found or lacking(Path(folder)) or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
