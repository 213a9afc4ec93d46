"""Links of pages to files of the checkout, `[__main__.py](../__main__.py)`. In: such pages. Out:
the texts of the links alone.

They lead somewhere where a page is read beside the code; the site holds pages only. A link to
nothing stays, and fails the build. Run by mkdocs (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s#]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What mkdocs calls for every page."""
    folder = (DOCS / page.file.src_uri).parent

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        return link[1] if target.exists() and DOCS not in target.parents else link[0]

    return LINK.sub(replaced, markdown)
