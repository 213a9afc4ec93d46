"""The page in a headless browser: what keys and clicks do, that it is quick, fetches nothing, and
is accessible."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import documents
import pytest
from weft.inspection.page import page as html_of

sync_api = pytest.importorskip("playwright.sync_api", reason="could not import 'playwright'")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LAPTOP, NARROW = {"width": 1366, "height": 768}, {"width": 360, "height": 700}
VIEWS = ("graph", "kernels", "memory", "passes", "modules", "tensors", "texts")
# two frames later
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
number = itertools.count()
PICTURES = os.environ.get("PAGE_SCREENSHOTS")  # a folder for screenshots of every view


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with sync_api.sync_playwright() as play:
        path = next(filter(None, map(shutil.which, NAMES)), None)
        if path is None and not Path(play.chromium.executable_path).exists():
            pytest.skip("no Chromium on the PATH nor one of Playwright")
        found = play.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


@dataclass
class Opened:
    """A page, and what it said to the console or asked of the network."""

    page: sync_api.Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    two = documents.program(1, name="evaluate", measured=False)
    two["kernels"][3].update(same_code_as=2, texts={})
    bare = documents.document(
        documents.program(1, measured=False), machine=None, modules=[], tensors=[], sources={}
    )
    launched = documents.program(1)
    launched["kernels"][1]["reads"] = [f"layer{i}.weight" for i in range(14)]
    launched["kernels"][1]["launches"] = [
        {"blocks": 4096, "threads": 128, "shared": 18432, "registers": 40, "spilled": None}
    ]
    high = documents.program(2)  # at the end of the highest roof
    for i, k in enumerate(high["kernels"]):
        k.update(measured=k["flops"] / (1.95e11 - 1e10 * i), bytes=k["flops"] / 90, intensity=90)
    pages = {
        "high": documents.document(high),
        "launched": documents.document(launched),
        "small": documents.document(documents.program(2), two, documents.listed("seldom")),
        "large": documents.document(documents.program(100)),
        "bare": bare,
        "empty": documents.document(),
        "void": documents.document(modules=[], tensors=[]),
        "hostile": hostile(),
    }
    for name, document in pages.items():
        (folder / f"{name}.html").write_text(html_of(document))
    return {name: folder / f"{name}.html" for name in pages}


SPOILT = (
    "name",
    "label",
    "arg",
    "detail",
    "rule",
    "schedule",
    "report",
    "before",
    "after",
    "title",
    "bound",
)


def hostile() -> dict:
    """Every text of the document is markup."""
    bad = "<img src=x onerror=alert(1)></script><script>alert(1)</script>"

    def spoilt(value: object, key: str = "") -> object:
        match value:
            case dict():
                return {k: spoilt(v, k) for k, v in value.items()}
            case list():
                return [spoilt(v, key) for v in value]
            case str() if key in SPOILT:
                return bad + value
            case _:
                return value

    return spoilt(documents.document(documents.program(2)))


@pytest.fixture(scope="module")
def pages(browser: sync_api.Browser) -> Iterator[dict[str, Opened]]:
    """Pages by what their contexts are made with: to make one takes longer than to load a
    document."""
    made: dict[str, Opened] = {}
    yield made
    for each in made.values():
        each.page.context.close()


@pytest.fixture
def open_(browser: sync_api.Browser, files: dict[str, Path], pages: dict[str, Opened]) -> Open:
    def opened(
        name: str = "small",
        address: str = "",
        scheme: str = "light",
        size: dict = LAPTOP,
        **more: object,
    ) -> Opened:
        key = repr((scheme, size, more))
        if key not in pages:
            pages[key] = new_page(browser.new_context(viewport=size, color_scheme=scheme, **more))
        found = pages[key]
        found.page.evaluate("try { localStorage.clear() } catch {}")
        found.complaints.clear()
        found.requests.clear()
        found.page.goto(
            f"{files[name].as_uri()}?{next(number)}#{address}"
        )  # another number: loaded anew
        found.page.evaluate(DRAWN)
        return found

    return opened


def new_page(context: sync_api.BrowserContext) -> Opened:
    found = Opened(context.new_page())
    found.page.set_default_timeout(5000)
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on(
        "dialog", lambda dialog: (found.complaints.append(dialog.message), dialog.dismiss())
    )
    found.page.on("request", lambda request: found.requests.append(request.url))
    return found


@pytest.fixture
def small(open_: Open) -> sync_api.Page:
    return open_().page


def heading(page: sync_api.Page) -> str:
    return page.inner_text(".overview h2, .kernelhead h2")


def focused(page: sync_api.Page, what: str = "textContent") -> str:
    return page.evaluate(f"document.activeElement.{what}")


def names(page: sync_api.Page) -> list[str]:
    return page.evaluate(
        "JSON.parse(document.getElementById('document').textContent).programs[0].kernels.map((k) =>"
        " k.name)"
    )


@pytest.mark.parametrize("name", ["small", "large", "bare", "empty", "void", "hostile"])
def test_every_view_opens_without_a_complaint_or_a_request(open_: Open, name: str) -> None:
    seen = open_(name)
    for tab in seen.page.query_selector_all("main > .tabs [role=tab]"):
        tab.click()
        assert seen.page.is_visible(".main > .view:not([hidden])")
    assert seen.complaints == []
    assert len(seen.requests) == 1


def test_markup_in_a_document_is_shown_as_text(open_: Open) -> None:
    seen = open_("hostile", "kernel=0")
    assert heading(seen.page).startswith("<img src=x") and seen.page.query_selector("img") is None
    for tab in seen.page.query_selector_all(".kernelpanel [role=tab]"):
        tab.click()
    assert seen.complaints == []


def test_a_click_on_a_kernel_selects_it(small: sync_api.Page) -> None:
    small.click(".group[data-group='2'] .name >> visible=true")
    assert heading(small) == names(small)[2]


def test_a_click_on_an_operation_selects_it_and_its_kernel(small: sync_api.Page) -> None:
    small.click(".node[data-node='5']")
    assert small.inner_text(".nodecard h2") == "mul"
    assert heading(small) == names(small)[0]


def test_a_click_beside_everything_selects_nothing(open_: Open) -> None:
    page = open_(address="kernel=1").page
    page.mouse.click(5, 400)
    assert heading(page) == "step"


def test_a_drag_moves_the_picture_and_selects_nothing(small: sync_api.Page) -> None:
    before = small.get_attribute(".world", "transform") or small.get_attribute(
        "svg.canvas > g", "transform"
    )
    box = small.locator(".group[data-group='0']").bounding_box()
    small.mouse.move(box["x"] + 20, box["y"] + 20)
    small.mouse.down()
    small.mouse.move(box["x"] + 120, box["y"] + 90, steps=4)
    small.mouse.up()
    small.wait_for_function(
        "(t) => document.querySelector('svg.canvas > g').getAttribute('transform') !== t",
        arg=before,
    )
    assert heading(small) == "step"


def scale(page: sync_api.Page) -> float:
    page.evaluate(DRAWN)
    return float(page.inner_text(".toolbar output").split()[0])


@pytest.mark.parametrize("key", ["+", "-"])
def test_keys_zoom(small: sync_api.Page, key: str) -> None:
    small.focus(".stage")
    before = scale(small)
    small.keyboard.press(key)
    assert (scale(small) > before) == (key == "+")


def test_the_wheel_zooms_with_control_and_moves_without(small: sync_api.Page) -> None:
    before = scale(small)
    small.mouse.move(400, 400)
    small.mouse.wheel(0, 200)
    assert scale(small) == before
    small.keyboard.down("Control")
    small.mouse.wheel(0, -200)
    small.keyboard.up("Control")
    assert scale(small) > before


def test_two_fingers_zoom(open_: Open) -> None:
    page = open_(has_touch=True).page
    before = scale(page)
    touch = page.context.new_cdp_session(page)
    for kind, apart in (
        ("touchStart", 40),
        ("touchMove", 80),
        ("touchMove", 120),
        ("touchEnd", None),
    ):
        points = (
            []
            if apart is None
            else [{"x": 400 - apart, "y": 400, "id": 0}, {"x": 400 + apart, "y": 400, "id": 1}]
        )
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert scale(page) > 1.5 * before


def test_fit_shows_the_whole_graph(open_: Open) -> None:
    page = open_("large").page
    page.keyboard.press("f")
    page.evaluate(DRAWN)
    stage, world = page.locator(".stage").bounding_box(), page.locator(".frames").bounding_box()
    assert world["x"] >= stage["x"] and world["y"] + world["height"] <= stage["y"] + stage["height"]


def test_arrows_and_enter_walk_to_a_kernel_and_into_it(small: sync_api.Page) -> None:
    small.focus(".stage")
    small.keyboard.press("ArrowDown")
    at = small.get_attribute(".stage", "aria-activedescendant")
    assert small.get_attribute(f"#{at}", "aria-label").startswith("Kernel k0")
    small.keyboard.press("Enter")
    assert heading(small) == names(small)[0]
    small.keyboard.press("Enter")
    small.keyboard.press("ArrowDown")
    small.keyboard.press("Enter")
    assert small.query_selector(".nodecard") is not None
    small.keyboard.press("Escape")
    small.keyboard.press("Escape")
    assert heading(small) == "step"


def test_enter_on_the_card_of_a_selected_kernel_goes_to_its_operations(
    small: sync_api.Page,
) -> None:
    small.click(".switch [data-name=kernels]")
    small.focus(".stage")
    for key in ("ArrowDown", "Enter", "Enter"):
        small.keyboard.press(key)
    assert small.get_attribute(".switch [data-name=operations]", "aria-pressed") == "true"
    small.keyboard.press("Enter")
    assert small.query_selector(".nodecard") is not None and heading(small) == names(small)[0]


def test_the_map_is_shown_while_something_is_out_of_view(small: sync_api.Page) -> None:
    assert small.is_visible(".minimap")
    small.keyboard.press("f")
    small.evaluate(DRAWN)
    assert not small.is_visible(".minimap")


@pytest.mark.thinned
@pytest.mark.parametrize("name", ["small", "large"])
@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_the_graph_begins_with_its_first_kernel_and_nothing_lies_over_it(
    open_: Open, name: str, size: dict
) -> None:
    page = open_(name, size=size).page
    boxes = {
        part: page.locator(part).bounding_box()
        for part in (".stage", ".legend", ".mapbox", ".group[data-group='0'] .frame")
    }
    stage, first = boxes[".stage"], boxes[".group[data-group='0'] .frame"]
    assert (
        stage["x"] <= first["x"]
        and first["x"] + first["width"] <= stage["x"] + stage["width"]
        and first["y"] >= stage["y"]
    )
    assert boxes[".legend"]["y"] >= stage["y"] + stage["height"]
    assert boxes[".mapbox"] is None or boxes[".mapbox"]["x"] >= stage["x"] + stage["width"]


def test_details_below_a_view_come_into_sight_and_go_again(open_: Open) -> None:
    page = open_(address="view=kernels", size=NARROW).page
    page.locator(".kernels tbody tr:nth-child(4) .link").scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    page.click(".kernels tbody tr:nth-child(4) .link")
    page.evaluate(DRAWN)
    assert (
        0 <= page.locator(".kernelhead").bounding_box()["y"] < 100
        and focused(page) == names(page)[3]
    )
    page.click("[aria-label='Close the kernel']")
    page.evaluate(DRAWN)
    assert page.evaluate("scrollY") == before and focused(page) == names(page)[3]


def test_down_leads_to_the_kernel_below(small: sync_api.Page) -> None:
    small.focus(".stage")
    for _ in range(2):
        small.keyboard.press("ArrowDown")
    small.keyboard.press("Enter")
    assert heading(small) == names(small)[1]


def test_search_finds_kernels_and_operations(small: sync_api.Page) -> None:
    small.keyboard.press("/")
    small.keyboard.type("where train.py:6")
    options = small.locator("#search ~ [role=listbox] [role=option]")
    assert options.count() == 4
    small.keyboard.press("ArrowDown")
    small.keyboard.press("ArrowDown")
    assert options.nth(1).get_attribute("aria-selected") == "true"
    small.keyboard.press("Enter")
    assert small.inner_text(".nodecard h2").startswith("where")
    assert "stage" in focused(small, "className")


def test_kernels_of_what_is_found_light_up(small: sync_api.Page) -> None:
    small.click(".switch [data-name=kernels]")
    small.fill("#search", "sub")
    assert small.locator(".card.lit").count() == 2


def test_search_says_that_nothing_was_found(small: sync_api.Page) -> None:
    small.fill("#search", "no such thing")
    assert small.inner_text("#search ~ [role=listbox]") == "Nothing found"


def test_the_pictures_of_kernels_and_of_operations_change_places(small: sync_api.Page) -> None:
    assert small.locator(".node").count() > 20
    small.click(".switch [data-name=kernels]")
    assert small.locator(".node").count() == 0 and small.locator(".card").count() == 7


def test_phases_are_marked(open_: Open) -> None:
    small = open_(size={"width": 1366, "height": 2400}).page  # nodes are drawn when in view
    phases = [
        small.locator(f".group .stripe.phase-{phase}").count()
        for phase in ("forward", "gradient", "update")
    ]
    assert phases == [3, 5, 2] and small.locator(".node.phase-update").count() == 2 * 3


@pytest.mark.parametrize(
    ("ending", "title"),
    [("loops", "Loops"), ("ll", "LLVM IR"), ("s", "Assembly"), ("cu", "CUDA C")],
)
def test_code_of_a_kernel_is_shown_as_it_is(open_: Open, ending: str, title: str) -> None:
    page = open_(address="kernel=1").page
    assert page.query_selector(".code") is None  # made when asked for
    page.click(f".kernelpanel [role=tab] >> text='{title}'")
    page.wait_for_selector(".code [class^=t-]")
    shown = page.evaluate(
        "[...document.querySelectorAll('.code .text')].map((e) => e.textContent).join('\\n')"
    )
    text = documents.TEXTS[ending].format(name=names(page)[1])
    assert shown.replace("\u200b", "") == text.rstrip("\n")


def test_the_chosen_text_stays_when_the_kernel_changes(open_: Open) -> None:
    page = open_(address="kernel=1&text=ll").page
    page.keyboard.press("]")
    assert heading(page) == names(page)[2]
    assert page.inner_text(".kernelpanel [aria-selected=true]") == "LLVM IR"


def test_a_kernel_may_run_the_code_of_another(open_: Open) -> None:
    page = open_(address="program=1&kernel=3&text=ll").page
    assert "Runs the same code as k2_matmul_where" in page.inner_text(".panelbody")
    assert "@k2_matmul_where_p0" in page.inner_text(".code")


def test_a_button_leads_to_an_inner_loop(open_: Open) -> None:
    page = open_(address="kernel=0&text=s", size={"width": 1366, "height": 500}).page
    page.click(".loops .chip")
    assert page.inner_text(".line.mine .text").strip().startswith("# inner loop 1")
    row, code = page.locator(".line.mine").bounding_box(), page.locator(".code").bounding_box()
    assert code["y"] <= row["y"] <= code["y"] + code["height"]


def test_details_can_be_wide(open_: Open) -> None:
    page = open_(address="kernel=0&text=s").page
    before = page.locator(".panel").bounding_box()["width"]
    page.click("[aria-label='Wide details']")
    assert page.locator(".panel").bounding_box()["width"] > 1.4 * before


def test_the_source_shows_the_lines_of_a_kernel(open_: Open) -> None:
    page = open_(address="kernel=0&text=source").page
    assert page.inner_text(".line.mine .text").strip() == "y = x @ w"


def test_a_line_lights_up_its_kernels(open_: Open) -> None:
    page = open_(address="kernel=0&text=source").page
    page.click(f".linelink[data-line='{documents.UPDATE}']")
    lit = page.evaluate(
        "[...document.querySelectorAll('.group.lit')].map((e) => e.getAttribute('aria-label'))"
    )
    assert len(lit) == 2 and all("matmul_sub" in each for each in lit)
    assert page.locator(".chosen .chip").count() == 2
    page.click(".chosen .chip")
    assert "matmul_sub" in heading(page)


def test_a_file_that_could_not_be_read_is_named(open_: Open) -> None:
    page = open_("bare", "kernel=0&text=source").page
    assert (
        "could not be read" in page.inner_text(".panelbody")
        and page.inner_text(".panelbody .link") == "train.py:5"
    )


def test_a_reason_leads_to_the_neighbour(open_: Open) -> None:
    page = open_(address="kernel=1").page
    assert "second contraction" in page.inner_text(".reasons")
    page.click(".reasons .link >> nth=0")
    assert heading(page) == names(page)[0]


def test_launches_of_a_kernel_tell_their_units(open_: Open) -> None:
    page = open_("launched", "kernel=1").page
    rows = [row.split() for row in page.inner_text(".launches").split("\n")[1:]]
    assert rows == [
        ["Blocks", "Threads", "Shared", "Registers", "Spilled"],
        ["4,096", "128", "18.4", "kB", "40", "\u2013"],
    ]


def test_a_kernel_names_what_it_reads(open_: Open) -> None:
    facts = open_("launched", "kernel=1").page.inner_text(".facts.figures")
    assert "layer0.weight, layer1.weight" in facts and "layer11.weight and 2 more" in facts


def test_figures_of_a_kernel(open_: Open) -> None:
    facts = open_(address="kernel=1").page.inner_text(".figures")
    for text in (
        "41 µs",
        "614 ns",
        "memory bound",
        "12.3 kB",
        "262 kflop",
        "21.3 flop/byte",
        "one thread",
    ):
        assert text in facts


def test_the_table_is_sorted_by_a_column(open_: Open) -> None:
    page = open_(address="view=kernels").page
    page.click("th .sort >> text='Measured'")
    assert page.get_attribute("th:has(.sort:text('Measured'))", "aria-sort") == "descending"
    times = page.evaluate(
        "[...document.querySelectorAll('.kernels tbody tr')].map((r) => r.cells[7].textContent)"
    )
    assert times == ["45 µs", "45 µs", "41 µs", "40 µs", "30 µs", "30 µs", "4 µs"]
    page.keyboard.press("Enter")
    assert page.inner_text(".kernels tbody tr:first-child .link").startswith("k2_rows")


def test_a_row_of_the_table_selects_its_kernel(open_: Open) -> None:
    page = open_(address="view=kernels").page
    page.click(".kernels tbody tr:nth-child(3) td:nth-child(5)")
    assert heading(page) == names(page)[2]
    assert "selected" in page.get_attribute(".kernels tbody tr:nth-child(3)", "class")


def test_points_of_the_roofline_are_kernels_that_compute(open_: Open) -> None:
    page = open_(address="view=kernels").page
    assert page.locator(".chartbox .point").count() == 5  # two of seven have no flops
    assert "2 kernels without arithmetic" in page.inner_text(".chartbox figcaption")


@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_the_table_scrolls_beside_the_names_of_its_kernels(open_: Open, size: dict) -> None:
    page = open_(address="view=kernels&kernel=1", size=size).page
    if size is LAPTOP:
        assert page.evaluate(
            "(({ scrollWidth: a, clientWidth: b }) => a <= b)(document.querySelector('.tablebox'))"
        )  # all of it
        page.click("[aria-label='Wide details']")
    page.evaluate("document.querySelector('.tablebox').scrollLeft = 1e6")
    box = page.locator(".tablebox").bounding_box()
    name, last = (
        page.locator(".kernels tbody th >> nth=0").bounding_box(),
        page.locator(".kernels td >> nth=8").bounding_box(),
    )
    assert box["x"] <= name["x"] <= box["x"] + 2
    assert last["x"] + last["width"] <= box["x"] + box["width"] + 1


def test_a_roofline_is_shown_once(open_: Open) -> None:
    page = open_(address="view=kernels&kernel=1").page
    assert page.locator(".roofline >> visible=true").count() == 1
    page.keyboard.press("1")
    assert page.locator(".roofline >> visible=true").count() == 1


def test_roofs_and_kinds_have_their_names_below_the_chart(open_: Open) -> None:
    page = open_(address="view=kernels").page
    assert page.inner_text(".chartbox .keyrow").split("\n") == [
        "memory 20 GB/s, float32 200 Gflop/s", "float64 100 Gflop/s", "contraction", "rows"
    ]  # fmt: skip
    assert not re.search(r"[a-z]{2}", " ".join(page.locator(".roofline .tick").all_text_contents()))


def test_the_roofline_has_its_size_after_a_choice_in_another_view(open_: Open) -> None:
    page = open_(address="view=kernels").page
    width = page.get_attribute(".chartbox svg", "viewBox")
    for key in ("1", "]", "2"):
        page.keyboard.press(key)
    assert page.get_attribute(".chartbox svg", "viewBox") == width
    assert page.locator(".kernels tr.selected").count() == 1


def test_keys_move_over_the_roofline(open_: Open) -> None:
    page = open_(address="view=kernels").page
    page.focus(".chartbox .point[tabindex='0']")
    page.keyboard.press("ArrowRight")
    kernel = int(focused(page, "dataset.kernel"))
    page.keyboard.press("Enter")
    assert heading(page) == names(page)[kernel]


def test_a_buffer_says_which_it_is(open_: Open) -> None:
    page = open_(address="view=memory").page
    assert page.locator(".buffer").count() == 7
    page.hover(".buffer >> nth=3")
    assert page.inner_text(".says").startswith(
        f"{names(page)[3]}/out: float32[64, 64], 16.4 kB, arena + 0 B, steps 4\u20136"
    )
    page.focus(".buffer >> nth=0")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".says").startswith(names(page)[1])


def test_the_step_of_the_peak_is_shown_first(open_: Open) -> None:
    page = open_(address="view=memory").page
    assert page.inner_text(".alive h2").startswith("Needed in step 3")
    assert " in 1 buffer" in page.inner_text(".memoryview .facts")
    page.focus(".picker input")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".alive h2").startswith("Needed in step 4")


def test_there_is_one_peak(open_: Open) -> None:
    page = open_(address="view=memory").page
    peak = page.inner_text(".memoryview .facts .wide dd").split(" in ")[0]
    assert page.text_content(".plan .tick >> nth=0") == peak and page.inner_text(
        ".alive h2"
    ).endswith(f": {peak}")


def test_the_plan_of_memory_fits_a_narrow_screen(open_: Open) -> None:
    page = open_(address="view=memory", size=NARROW).page
    plan, figure = (
        page.locator(".plan").bounding_box(),
        page.locator(".memoryview .figure").bounding_box(),
    )
    assert (
        figure["x"] <= plan["x"]
        and plan["x"] + plan["width"] <= figure["x"] + figure["width"] <= NARROW["width"]
    )


def test_prose_has_no_colours_of_code(open_: Open) -> None:
    page = open_(address="view=texts").page
    coloured = ".textbody .code [class^='t-']"
    assert page.locator(".textbody .line").count() == 1 and page.locator(coloured).count() == 0
    page.click(".textsview [data-name=graph]")
    page.wait_for_selector(coloured)


def test_passes_show_rewrites_and_changed_lines(open_: Open) -> None:
    page = open_(address="view=passes").page
    assert page.inner_text(".passdetail h2") == "simplify"
    page.click(".rule summary")
    assert page.inner_text(".rule .removed >> nth=0") == "%7 = add(%5, %6)"
    assert (
        page.locator(".difflist .removed").count() == 2
        and page.locator(".difflist .added").count() == 1
    )
    page.focus(".pass[aria-selected=true]")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".passdetail h2") == "fuse"


def modules(page: sync_api.Page) -> list[str]:
    """The rows that are shown."""
    return [
        row.replace("\t", " ").split()
        for row in page.locator(".modules tbody tr >> visible=true").all_inner_texts()
    ]


def test_modules_tell_what_they_return_hold_and_take(open_: Open) -> None:
    page = open_(address="view=modules").page
    assert modules(page)[:2] == [
        ["model", "Sequential", "(16,", "10)", "81", "µs", "4,810"],
        ["0", "Linear", "in=64,", "out=64", "(16,", "64)", "40", "µs", "4,160"],
    ]
    assert ["bias", "not", "trained", "float32[64]", "64"] in modules(page)
    page.click(".modules .toggle >> nth=1")
    assert [row[0] for row in modules(page)] == ["model", "0", "1", "weight", "bias"]
    page.click(".modules .toggle >> nth=0")
    assert [row[0] for row in modules(page)] == ["model"]
    page.select_option(
        "#program", "1"
    )  # another one, in which no times are known but predicted ones
    assert "Predicted times are those of evaluate" in page.inner_text(".modulesview")


@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_counts_of_modules_stand_below_one_another(open_: Open, size: dict) -> None:
    page = open_(address="view=modules", size=size).page
    cells = page.locator(".modules tbody tr > :last-child").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect())"
    )
    assert len({round(cell["right"]) for cell in cells}) == 1 and cells[0]["right"] <= size["width"]


def test_a_cell_of_a_tensor_lights_up_its_storage(open_: Open) -> None:
    page = open_(address="view=tensors").page
    page.hover(".tensor:nth-child(2) .cells .cell >> nth=1")
    assert page.locator(".tensor:nth-child(2) .storage .cell.lit").inner_text() == "3"
    page.focus(".tensor:nth-child(2) .storage .cell[tabindex='0']")
    page.keyboard.press("ArrowRight")
    assert (
        page.locator(".tensor:nth-child(2) .cells .cell.lit").get_attribute("aria-label")
        == "[1, 0] at 1: 1"
    )


def test_a_tensor_says_whose_memory_it_sees(open_: Open) -> None:
    page = open_(address="view=tensors").page
    told = [page.inner_text(f".tensor:nth-child({k})") for k in (1, 2)]
    assert "its own" in told[0] and "that of x, seen otherwise" in told[1]


def test_another_program_is_chosen(small: sync_api.Page) -> None:
    small.select_option("#program", "1")
    assert heading(small) == "evaluate" and "Kernels\n4" in small.inner_text(".overview")


def test_the_name_of_the_file_is_not_cut_off(small: sync_api.Page) -> None:
    assert small.evaluate(
        "(({ scrollWidth: a, clientWidth: b }) => a <= b)(document.querySelector('h1'))"
    )
    assert "threads" in small.inner_text(".machine")


def test_the_graph_of_a_program_that_was_chosen_elsewhere_has_its_size(
    small: sync_api.Page,
) -> None:
    small.click("main > .tabs [data-name=texts]")
    small.select_option("#program", "1")
    small.click("main > .tabs [data-name=graph]")
    assert scale(small) > 20


def test_of_a_program_that_is_only_listed_the_page_says_so(open_: Open) -> None:
    seen = open_(address="program=2")
    assert "only listed" in seen.page.inner_text(".stagebox")
    seen.page.focus(".stage")
    seen.page.keyboard.press("ArrowDown")
    for view in VIEWS:
        seen.page.click(f"main > .tabs [data-name={view}]")
    assert seen.complaints == []


def test_tabs_go_by_arrows(small: sync_api.Page) -> None:
    small.focus("main > .tabs [aria-selected=true]")
    small.keyboard.press("ArrowRight")
    assert (
        focused(small) == "Kernels"
        and small.is_visible(".kernelsview")
        and not small.is_visible(".graphview")
    )
    small.keyboard.press("End")
    assert focused(small) == "Texts"


def test_single_keys_choose_views(small: sync_api.Page) -> None:
    small.keyboard.press("3")
    assert small.is_visible(".memoryview")
    small.keyboard.press("1")
    small.focus("#search")
    small.keyboard.type("3")
    assert small.is_visible(".graphview")


def test_single_keys_can_be_switched_off(small: sync_api.Page) -> None:
    small.keyboard.press("?")
    small.uncheck("dialog input")
    small.keyboard.press("Escape")
    small.keyboard.press("3")
    assert small.is_visible(".graphview")


def test_a_question_mark_lists_the_keys(small: sync_api.Page) -> None:
    small.keyboard.press("?")
    assert small.is_visible("dialog") and "Previous kernel" in small.inner_text("dialog")
    small.keyboard.press("Escape")
    assert not small.is_visible("dialog")


def test_colours_follow_the_switch(small: sync_api.Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = small.evaluate(ground)
    small.click("#theme")
    assert small.evaluate(ground) == light
    small.click("#theme")
    assert small.evaluate(ground) != light


def test_an_address_leads_back(small: sync_api.Page) -> None:
    small.keyboard.press("]")
    small.keyboard.press("2")
    small.reload()
    assert heading(small) == names(small)[0] and small.is_visible(".kernelsview")


def test_an_address_that_names_nothing_is_no_error(open_: Open) -> None:
    seen = open_(address="program=9&kernel=x&view=nothing&text=%%")
    assert heading(seen.page) == "step" and seen.complaints == []


def test_the_splitter_moves_by_keys(small: sync_api.Page) -> None:
    before = small.locator(".panel").bounding_box()["width"]
    small.focus(".splitter")
    small.keyboard.press("ArrowLeft")
    assert small.locator(".panel").bounding_box()["width"] > before


@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_nothing_is_wider_than_the_screen(open_: Open, size: dict) -> None:
    page = open_(address="kernel=1", size=size).page
    for view in VIEWS:
        page.click(f"main > .tabs [data-name={view}]")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], view


def test_tab_reaches_everything_and_shows_where_it_is(open_: Open) -> None:
    page = open_(address="kernel=0").page
    reached, hidden = set(), []
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => {
            const e = document.activeElement;
            const style = getComputedStyle(e);
            const shown = style.outlineStyle !== 'none' ||
                (e instanceof SVGElement && style.strokeWidth === '2px');
            return [`${e.id} ${e.getAttribute('class')}`, e !== document.body && !shown];
        }""")
        reached.add(str(found[0]))
        hidden += [found[0]] if found[1] else []
    for part in ("program", "theme", "help", "search", "stage", "splitter", "tool", "link", "chip"):
        assert any(part in each for each in reached), part
    assert hidden == []


KEPT = [  # (address, what has the focus, key, what it says that has it then)
    ("view=kernels", ".kernels .link >> nth=2", "Enter", "k2_rows"),
    ("view=kernels", ".kernels .link >> nth=2", "]", "k2_rows"),
    ("view=kernels", ".chartbox .point >> nth=1", "Enter", "k5_"),
    ("view=kernels&kernel=2", ".kernels .link >> nth=2", "Escape", "k2_rows"),
    ("view=kernels", ".sort >> text='Measured'", "Enter", "Measured"),
    ("kernel=1", "[aria-label='Next kernel']", "Enter", "Next kernel"),
    ("kernel=5", "[aria-label='Next kernel']", "Enter", "k6_"),  # there is none after it
    ("kernel=1", "[aria-label='Close the kernel']", "Enter", "step"),
    ("kernel=1", ".reasons .link", "Enter", "k0_"),
    ("kernel=1", ".nodelist .chip", "Enter", ""),
    ("kernel=1", ".figures .link", "Enter", "Source"),
    ("", ".barrow >> nth=0", "Enter", "k3_"),
    ("kernel=1", ".kernelhead .tool >> nth=2", "5", "view"),  # modules have the whole width
    ("view=kernels", ".kernels .link >> nth=2", "4", "view"),
]  # fmt: skip
FOCUSED = """(() => {
    const e = document.activeElement;
    if (e === document.body || !e.checkVisibility()) return null;
    return e.matches('.main') ? 'view' : e.getAttribute('aria-label') ?? e.textContent;
})()"""


def test_the_focus_is_never_lost(open_: Open) -> None:
    wrong = []
    for address, where, key, says in KEPT:
        page = open_(address=address).page
        page.focus(where)
        page.keyboard.press(key)
        found = page.evaluate(FOCUSED)
        wrong += (
            [] if found is not None and found.startswith(says) else [(address, where, key, found)]
        )
    assert wrong == []


def test_paper_has_no_tools(open_: Open) -> None:
    page = open_(address="kernel=0", scheme="dark").page
    page.emulate_media(media="print")
    assert not page.is_visible(".toolbar") and page.is_visible(".kernelpanel")


def test_paper_has_a_file_in_its_frame_to_the_end(open_: Open) -> None:
    page = open_(address="kernel=0&text=source", size={"width": 720, "height": 600}).page
    page.emulate_media(media="print")
    code, last = (
        page.locator(".code").bounding_box(),
        page.locator(".code .line").last.bounding_box(),
    )
    assert last["y"] + last["height"] <= code["y"] + code["height"]


def axe(page: sync_api.Page) -> list[str]:
    """What axe-core says is wrong by WCAG 2 A and AA, and by its best practices."""
    core = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="could not import 'playwright's axe"
    )
    violations = core.Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]} ({len(v['nodes'])})" for v in violations]


SEEN = dict(zip(VIEWS, ("overview", "source", "loops", "ll", "s", "cu", "overview"), strict=True))


@pytest.mark.thinned
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("view", "text"), SEEN.items(), ids=VIEWS)
def test_the_page_is_accessible(open_: Open, view: str, text: str, scheme: str) -> None:
    kernel = "" if view == "texts" else f"&kernel=0&text={text}"
    assert axe(open_(address=f"view={view}{kernel}", scheme=scheme).page) == []


def test_the_dialog_and_a_chosen_operation_are_accessible(small: sync_api.Page) -> None:
    small.click(".node[data-node='5']")
    small.keyboard.press("?")
    assert axe(small) == []


TRIES = 8  # what other processes delay is tried again


def test_2000_nodes_open_within_two_seconds(open_: Open) -> None:
    def seconds() -> float:
        start = time.perf_counter()
        assert open_("large").page.locator(".card .name").count() > 100
        return time.perf_counter() - start

    assert any(seconds() < 2 for _ in range(TRIES))


ACTS = {
    "select": "document.dispatchEvent(new KeyboardEvent('keydown', {key: ']', bubbles: true}))",
    "operations": "document.querySelector('.switch [data-name=operations]').click()",
    "fit": "document.querySelector('[aria-label=\"Fit the whole graph\"]').click()",
    "assembly": "document.querySelector('.kernelpanel [data-name=s]').click()",
    **{view: f"document.querySelector('.tabs [data-name={view}]').click()" for view in VIEWS[1:]},
}
RESPONSE = (
    f"async () => {{ const start = performance.now(); %s; await {DRAWN}; return performance.now() -"
    " start; }"
)


def test_2000_nodes_answer_within_a_fifth_of_a_second(open_: Open) -> None:
    slow = dict.fromkeys(ACTS, 1e9)
    for _ in range(TRIES):
        slow = {
            name: ms
            for name, ms in answers(open_("large").page).items()
            if ms >= 200 and name in slow
        }
        if not slow:
            break
    assert slow == {}


def answers(page: sync_api.Page) -> dict[str, float]:
    """Milliseconds from each act to the second frame after it."""
    return {name: page.evaluate(RESPONSE % act) for name, act in ACTS.items()}


SHOTS = {
    "graph": ("", "light"), "graph-dark": ("", "dark"), "kernel": ("kernel=0", "light"),
    "assembly": ("kernel=0&text=s", "dark"),
    "roofline": ("view=kernels&kernel=0", "light"), "memory": ("view=memory", "light"),
    "passes": ("view=passes", "dark"),
    "modules": ("view=modules", "light"), "tensors": ("view=tensors", "light"),
}  # fmt: skip


def test_screenshots_are_written(open_: Open, tmp_path: Path) -> None:
    folder, shots = (Path(PICTURES), SHOTS) if PICTURES else (tmp_path, {"graph": SHOTS["graph"]})
    for shot, (address, scheme) in shots.items():
        page = open_("small", address, scheme).page
        page.screenshot(path=folder / f"page-{shot}.png")
    assert (folder / "page-graph.png").stat().st_size > 10_000
