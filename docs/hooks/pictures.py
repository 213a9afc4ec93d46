"""The pictures of the documentation. In: a browser and `examples/lenet.py`. Out:
docs/pictures/*.png, each a view of its report.

`python docs/hooks/pictures.py`, after a change of the report; it needs Playwright and Chromium (of
the system, or Playwright's).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1260, "height": 680}
# picture -> (light or dark, what is clicked or looked for, one after the other)
VIEWS = {
    "report": ("light", ["button k3_matmul", "button Operations"]),
    "report-dark": (
        "dark",
        ["button k1_matmul", "button Operations", "tab Assembly", "text vfmadd"],
    ),
    "report-kernels": ("light", ["tab Kernels"]),
    "report-memory": ("light", ["tab Memory"]),
    "report-passes": ("light", ["tab Passes"]),
}


def report(file: Path) -> None:
    """Writes the report of a short training."""
    script = [
        str(ROOT / "examples" / "lenet.py"),
        "-o",
        str(file),
        "--",
        "--epochs",
        "1",
        "--limit",
        "512",
    ]
    subprocess.run([sys.executable, "-m", "weft", "report", *script], check=True)


def click(page: Any, what: str) -> None:
    kind, _, name = what.partition(" ")
    match kind:
        case "tab":
            page.get_by_role("tab", name=name, exact=True).click()
        case "button":
            page.get_by_role("button", name=name).first.click()
        case "text":
            page.get_by_text(name).first.scroll_into_view_if_needed()


def main() -> int:
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        report(file)
        browser: Any = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, (scheme, clicks) in VIEWS.items():
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto(file.as_uri())
            page.wait_for_timeout(1000)
            step = page.get_by_role("option").filter(has_text="train_step").first
            page.get_by_role("combobox").first.select_option(step.get_attribute("value"))
            for each in clicks:
                click(page, each)
            page.wait_for_timeout(500)
            page.screenshot(path=PICTURES / f"{name}.png")
            page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
