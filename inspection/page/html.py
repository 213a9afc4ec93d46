"""The page of a document. In: plain values; styles and scripts of this folder. Out: HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from importlib import resources
from typing import Any

from .layout import layout

STYLES = ("colours", "base", "controls", "graph", "panel", "code", "charts", "views", "print")
# In this order they are one script; each needs only what stands before it, and main starts it all.
SCRIPTS = (
    "dom", "focus", "phases", "state", "numbers", "tabs", "highlight", "code", "viewport",
    "drawing", "minimap", "walk", "search", "marks", "graph", "roofline", "source", "node",
    "kernel", "panel", "kernels", "memory", "passes", "modules", "tensors", "texts", "keys", "main",
)  # fmt: skip


def page(document: dict[str, Any]) -> str:
    """The HTML of a document (its schema stands in inspection/documents/document.py).

    It holds all it shows, and its policy forbids the browser to load anything or to run other
    scripts than its own. Texts of the document are data to the page, whatever they contain.
    """
    programs = [{**program, "layout": layout(program)} for program in document["programs"]]
    script = (
        "(() => {\n'use strict';\n"
        + "\n".join(_file("scripts", f"{name}.js") for name in SCRIPTS)
        + "\n})();\n"
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "TITLE": html.escape(str(document["title"])),
        "POLICY": "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'",
        "STYLE": "\n".join(_file("styles", f"{name}.css") for name in STYLES),
        "SCRIPT": script,
        "DATA": as_data({**document, "programs": programs}),
    }
    pieces = _file("page.html").split("@@")  # text, name, text, name, ..., text
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def as_data(value: object) -> str:
    """JSON that may stand in a <script> element: no `<` ends it, and no number is one that JSON
    lacks."""
    return json.dumps(_finite(value), separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )


def _finite(value: object) -> object:
    """The same with nan, inf, -inf and complex numbers as texts."""
    match value:
        case dict():
            return {k: _finite(v) for k, v in value.items()}
        case list() | tuple():
            return [_finite(v) for v in value]
        case float() if not math.isfinite(value):
            return str(value)
        case complex():
            return str(value)
        case _:
            return value


def _file(*path: str) -> str:
    return resources.files(__package__).joinpath(*path).read_text(encoding="utf-8")
