"""The HTML of a page: it fetches nothing, its data stay data whatever they hold, its files are
packaged, its colours readable."""

from __future__ import annotations

import fnmatch
import html
import json
import math
import re
import tomllib
from pathlib import Path

import documents
import pytest
import weft
from weft.inspection.page import html as builder
from weft.inspection.page import page

HOSTILE = (
    "</script><img src=x onerror=alert(1)>", "<!-- <script>", "]]>", "\u2028\u2029", "${alert(1)}",
    "@@SCRIPT@@", "\ud800",
    "\"&'",
)  # fmt: skip
ROOT = Path(weft.__file__).parent
FOLDER = ROOT / "inspection" / "page"


@pytest.fixture(scope="module")
def small() -> str:
    return page(documents.document(documents.program(2)))


def data_of(text: str) -> dict:
    return json.loads(
        re.search(r'<script type="application/json" id="document">(.*?)</script>', text, re.S)[1]
    )


def test_a_page_holds_the_document() -> None:
    document = documents.document(documents.program(2))
    data = data_of(page(document))
    for program in data["programs"]:
        assert program.pop("layout")["groups"]
    assert data == document


def test_the_document_itself_is_not_changed() -> None:
    document = documents.document(documents.program(1))
    page(document)
    assert document == documents.document(documents.program(1))


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_stay_data(name: str) -> None:
    program = documents.program(1, name=name, report=name)
    program["nodes"][0]["label"] = program["kernels"][0]["name"] = name
    text = page(documents.document(program, title=name))
    assert len(re.findall("<script", text)) == 2 and "<img" not in text and "<!-- <" not in text
    found = data_of(text)["programs"][0]
    assert (
        found["nodes"][0]["label"]
        == found["kernels"][0]["name"]
        == found["name"]
        == found["report"]
        == name
    )


def test_the_title_is_text() -> None:
    text = page(documents.document(title='<b> & "x"'))
    assert html.unescape(re.search("<title>(.*?)</title>", text)[1]) == '<b> & "x" · Weft'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_become_texts(value: float) -> None:
    tensors = documents.tensors()
    tensors[0]["steps"][0]["storage"] = [value]
    assert data_of(page(documents.document(tensors=tensors)))["tensors"][0]["steps"][0][
        "storage"
    ] == [str(value)]


def test_a_page_names_nothing_to_fetch(small: str) -> None:
    assert not re.search(r"\b(?:src|href|url|import)\s*[=(]", small)
    assert set(re.findall(r"https?://[\w./]+", small)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_the_own_script_alone(small: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', small)[1]
    assert "default-src 'none'" in policy and re.search(r"script-src 'sha256-[\w+/=]{44}';", policy)


def test_scripts_make_no_html_of_texts() -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new"
        r" Function|DOMParser|createContextualFragment"
    )
    assert [
        p.name for p in (FOLDER / "scripts").iterdir() if re.search(forbidden, p.read_text())
    ] == []


@pytest.mark.parametrize(
    ("folder", "names"), [("scripts", builder.SCRIPTS), ("styles", builder.STYLES)]
)
def test_every_file_is_in_the_page(folder: str, names: tuple[str, ...]) -> None:
    assert sorted(names) == sorted(p.stem for p in (FOLDER / folder).iterdir())


def test_every_file_is_packaged() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "package-data"
    ]["weft"]
    files = [
        p.relative_to(ROOT).as_posix()
        for p in FOLDER.rglob("*.*")
        if p.suffix not in (".py", ".pyc")
    ]
    assert [f for f in files if not any(fnmatch.fnmatch(f, pattern) for pattern in patterns)] == []


def test_files_begin_with_what_goes_in_and_out() -> None:
    first = {p.name: p.read_text().split("\n")[0] for p in (FOLDER / "scripts").iterdir()}
    assert [
        name for name, line in first.items() if not re.fullmatch(r"// .* In: .* Out: .*\.", line)
    ] == []


def test_lines_of_scripts_are_not_overlong() -> None:
    files = [p for p in FOLDER.rglob("*.*") if p.suffix in (".js", ".css", ".html")]
    assert [
        f"{p.name}:{i}"
        for p in files
        for i, line in enumerate(p.read_text().split("\n"), 1)
        if len(line) > 130
    ] == []


def luminance(colour: str) -> float:
    """Of #rrggbb, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colours(theme: int) -> dict[str, str]:
    text = (FOLDER / "styles" / "colours.css").read_text()
    return {
        name: pair[theme]
        for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text)
    }


GROUNDS = ("bg", "surface", "raised")


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_have_contrast(theme: int) -> None:
    c = colours(theme)
    pairs = [(t, g) for t in ("text", "muted", "accent") for g in (*GROUNDS, "soft")]
    pairs += [("text", g) for g in ("mark", "added", "removed")] + [("on-accent", "accent")]
    pairs += [
        (t, g) for t in c if t.startswith("t-") for g in ("raised", "surface", "mark", "soft")
    ]
    pairs += [("gradient", "surface"), ("update", "surface")]
    assert [
        f"{a} on {b}: {contrast(c[a], c[b]):.2f}" for a, b in pairs if contrast(c[a], c[b]) < 4.5
    ] == []


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_marks_and_borders_have_contrast(theme: int) -> None:
    c = colours(theme)
    marks = [name for name in c if name.startswith("kind-")] + [
        "strong",
        "gradient",
        "update",
        "in",
        "out",
    ]
    assert [f"{a} on {b}" for a in marks for b in GROUNDS if contrast(c[a], c[b]) < 3] == []
