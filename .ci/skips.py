"""In: a JUnit report and a file of allowed skip reasons (one pattern a line). Out: skips by reason;
fails on others. Expected failures, which the report lists among the skips, are left out: they are
strict, so each of them ran and failed."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def reasons(report: Path) -> Counter[str]:
    """How often each reason was given."""
    skips = ElementTree.parse(report).iter("skipped")
    return Counter(reason(skip) for skip in skips if skip.get("type") != "pytest.xfail")


def reason(skip: ElementTree.Element) -> str:
    """Of a test: the message. Of a whole file: the last part of the text, the tuple (file, line,
    reason)."""
    message = skip.get("message", "")
    return ast.literal_eval(skip.text or "")[2] if message == "collection skipped" else message


def allowed_patterns(file: Path) -> list[re.Pattern[str]]:
    lines = (line.strip() for line in file.read_text().splitlines())
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def main(report: str, allowed: str) -> int:
    found, patterns, bad = reasons(Path(report)), allowed_patterns(Path(allowed)), 0
    print(f"skips: {found.total()}")
    for reason, count in found.most_common():
        ok = any(p.search(reason) for p in patterns)
        bad += not ok
        print(f"  {count:4} x {reason}" + ("" if ok else "   <- not in tests/allowed_skips.txt"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
