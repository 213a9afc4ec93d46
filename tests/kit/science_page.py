"""The tables of docs/science.md. In: the calls of each library, and why some fail. Out: Markdown.

`python tests/kit/science_page.py` writes the page anew. A table stands between a comment that names
its library, <!-- calls: scipy -->, and <!-- end -->.
"""

from __future__ import annotations

import re
from collections import defaultdict

from project_root import ROOT
from science_calls import Client
from science_einops import EINOPS
from science_extra import EXTRA
from science_scikit import SCIKIT
from science_scipy import SCIPY

PAGE = ROOT / "docs" / "science.md"
CLIENTS = {client.package: client for client in (SCIKIT, SCIPY, EXTRA, EINOPS)}
TABLE = re.compile(r"(<!-- calls: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(client: Client) -> str:
    """A row for each module and each reason: what works first."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in client.calls:
        module, _, function = name.partition(".")
        rows[module, client.waits.get(name, "works")].append(f"`{function}`")
    lines = [f"| {module} | {what} | {' '.join(names)} |" for (module, what), names in rows.items()]
    return "\n".join(["| module | float32, float64 | functions |", "|---|---|---|", *lines, ""])


def written(page: str) -> str:
    """The page with the tables of now."""
    return TABLE.sub(lambda m: f"{m[1]}\n{table(CLIENTS[m[2]])}\n{m[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
