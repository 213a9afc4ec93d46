"""Reports as text, as tables of rich, and as HTML for notebooks."""

from __future__ import annotations

import io
import re
import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
import weft as wf
from machinekit import machine_of
from weft.inspection.explain import build as report_module
from weft.inspection.explain.report import Report
from weft.wording import duration

F = wf.nn.functional
WIDTHS = (60, 80, 100, 120, 160)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose figures are known."""
    m = machine_of("a machine", 2, 1e10, 1e11, 1 << 24, {"float32": 1e11, "float64": 5e10}, 1e-7)
    monkeypatch.setattr(report_module, "machine", lambda device: m)


def fresh() -> Report:
    """A product, a softmax and their gradients."""
    x = wf.tensor(np.ones((64, 300), np.float32))
    w = wf.tensor(np.ones((300, 200), np.float32)).requires_grad_()
    loss = F.cross_entropy(x @ w, wf.tensor(np.arange(64)))
    return wf.explain([loss, *wf.grad(loss, [w])])


step = cache(fresh)  # the machine's figures are the same for all that ask


# ---------------------------------------------------------------- text


def test_the_text_begins_with_a_row_for_each_kernel_and_the_totals() -> None:
    report = step()
    head, table, *_ = str(report).split("\n\n")
    titles, _, *rows, _, last = table.split("\n")
    assert head.startswith(f"{len(report.kernels)} kernels on cpu, ") and "predicted" in head
    assert titles.split()[:4] == ["kernel", "line", "moved", "flop"] and "measured" not in titles
    assert [row.split()[0] for row in rows] == [k.name for k in report.kernels]
    assert last.startswith(f"{len(report.kernels)} kernels") and last.endswith(
        duration(report.predicted)
    )


def test_columns_of_the_text_are_aligned() -> None:
    table = str(step()).split("\n\n")[1].split("\n")
    ends = {
        line.index(word) + len(word)
        for line in table
        for word in re.findall(r"[\d.]+ \w?B\b", line)
    }
    assert len(ends) == 1


def test_a_kernel_alone_needs_no_table() -> None:
    parts = str(wf.explain(wf.ones(30).exp())).split("\n\n")
    assert [part.split()[0] for part in parts] == ["1", "k0_map_exp", "memory:"]


def test_lines_are_told_with_their_text_and_gradients_apart() -> None:
    text = str(step())
    line = fresh.__code__.co_firstlineno + 4
    source = "loss = F.cross_entropy(x @ w, wf.tensor(np.arange(64)))"
    assert f"    from      test_report_table.py:{line}  {source}\n" in text
    assert f"gradient of test_report_table.py:{line}  {source}\n" in text


def test_lines_of_the_text_are_short_and_break_no_shape() -> None:
    lines = [line for k in step().kernels for line in str(k).split("\n")]
    assert max(map(len, lines)) <= 110 and not any(
        re.search(r"\[[^]]*\d,$", line) for line in lines
    )


def test_without_predictions_there_are_no_empty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "_figures", lambda device: None)
    text = str(fresh())
    assert "predicted" not in text and "bound" not in text


# ---------------------------------------------------------------- a terminal


def rendered(report: Report, width: int, encoding: str = "utf-8") -> str:
    console = pytest.importorskip("rich.console")
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console.Console(file=file, width=width, force_terminal=True, color_system=None).print(report)
    return raw.getvalue().decode()


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("width", WIDTHS)
def test_tables_fit_every_terminal(width: int) -> None:
    report = step()
    lines = rendered(report, width).split("\n")
    assert max(map(len, lines)) <= width
    for k in report.kernels:
        assert any(line.startswith(k.name) for line in lines), (
            "names stand in full above what is told"
        )
        assert any(duration(k.predicted) in line for line in lines)


def test_numbers_are_never_cut_off() -> None:
    for width in WIDTHS[1:]:
        table = rendered(step(), width).split("memory:")[0].split("\n")
        assert not any(re.search(r"\d…", line) for line in table if " B " in line)


def test_a_wide_terminal_has_all_columns_and_bars() -> None:
    wide, narrow = rendered(step(), 140), rendered(step(), 70)
    assert "flop/B" in wide.split("\n")[2] and "━" in wide
    assert "flop/B" not in narrow.split("\n")[3] and "━" not in narrow.split("memory:")[0]


def test_tables_do_without_unicode() -> None:
    for width in WIDTHS:
        rendered(step(), width, "ascii")


def test_an_empty_report_is_one_line() -> None:
    assert rendered(Report(), 100).startswith("0 kernels on cpu")


def test_show_prints_plain_text_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = step()
    report.show()
    assert capsys.readouterr().out == f"{report}\n"


def test_show_prints_plain_text_without_rich(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    report = step()
    report.show()
    assert capsys.readouterr().out == f"{report}\n"


def test_show_prints_tables_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    report = step()
    report.show()
    told = capsys.readouterr().out
    assert told != f"{report}\n" and "──" in told


# ---------------------------------------------------------------- a notebook


class Parsed(HTMLParser):
    """Checks that elements close in order; counts them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in ("br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_has_an_element_to_open_for_each_kernel_and_the_memory() -> None:
    report = step()
    page = Parsed(report._repr_html_())
    assert page.seen.count("details") == len(report.kernels) + 1 and page.seen.count("dl") == len(
        report.kernels
    )
    for k in report.kernels:
        assert page.text.count(k.name) >= 2 or k.name in page.text
        assert all(b.detail in page.text for b in k.boundaries)
    assert all(b.name in page.text for b in report.memory.at_peak[:8])


def test_html_stands_for_itself() -> None:
    text = step()._repr_html_()
    assert not re.search(r"<script|<link|https?:|url\(|@import", text)


def test_html_styles_nothing_else_on_the_page() -> None:
    style = re.search("<style>(.*?)</style>", step()._repr_html_(), re.S)
    assert style is not None
    selectors = re.findall(
        r"([^{}]+)\{", re.sub(r"/\*.*?\*/|@media[^{]*\{", "", style[1], flags=re.S)
    )
    assert selectors and all(
        part.strip().startswith(".weft-report") for s in selectors for part in s.split(",")
    )


def test_html_escapes_what_users_write() -> None:
    x = wf.tensor(np.arange(30))
    y = wf.where(x < 2, x, x * 3)  # <b>&amp;</b>
    text = wf.explain(y)._repr_html_()
    assert "# &lt;b&gt;&amp;amp;&lt;/b&gt;" in text and "<b>&amp;</b>" not in text
    Parsed(text)


def test_html_of_an_empty_report_says_so() -> None:
    assert "0 kernels on cpu" in Parsed(Report()._repr_html_()).text
