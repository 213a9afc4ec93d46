"""In: the folder of a built site. Out: what its pages would load from other hosts; fails if there is anything."""

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
    pages = [f"{p}: {address}" for p in sorted(site.rglob("*.html")) for address in Page(p.read_text()).fetched]
    return pages + [f"{p}: {address}" for p in sorted(site.rglob("*.css")) for address in IN_CSS.findall(p.read_text())]


def main(folder: str) -> int:
    pages = len(list(Path(folder).rglob("*.html")))
    found = fetched(Path(folder))
    print("\n".join([f"site: {pages} pages, {len(found)} things from other hosts", *found]))
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
