"""`make screenshots`: what people see, as pictures in build/screenshots, taken in a headless Chromium.

From the page of `make matrix`, else from that of `make conformance`. Where neither lies there, a wrong broker is
examined first, quickly, so that there is a case to be shown.

    light, dark   the page as it opens      phone   the same, 390 points wide
    case          the worst broken rule     print   the first sheets on paper (PNG), and print.pdf, all of them
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance.front.exits import GATE_OPEN, HARNESS_ERROR
from tools.chrome import BrowserFailed, Chrome
from tools.main_job import JUDGED, python
from tools.matrix import SHOWN

PAGES = (Path("build/matrix/index.html"), Path("build/conformance/index.html"))
PAPER = (794, 1123)
"""A4 in points of a screen; pages about many brokers are printed across."""
WORST = """(id => id ? '#' + id : '')((document.querySelector('.side.failing:has(.ladder)')
    ?? document.querySelector('.side:has(.ladder)'))?.id ?? '')"""
"""The first case that has a picture, of a failing rule if there is one."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make screenshots", description="pictures of the report")
    parser.add_argument("page", nargs="?", type=Path, help="a report; default: that of make matrix, or conformance")
    parser.add_argument("--out", type=Path, default=Path("build/screenshots"))
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.page or next((path for path in PAGES if path.exists()), None) or _made(options.out)
    if page is None or not page.exists():
        print(f"there is no report to be shown{f' at {page}' if page else ''}: make conformance", file=sys.stderr)
        return HARNESS_ERROR
    try:
        for path in taken(page.absolute(), options.out):
            print(path)
    except BrowserFailed as problem:
        print(f"no pictures: {problem}", file=sys.stderr)
        return HARNESS_ERROR
    return GATE_OPEN


def _made(out: Path) -> Path | None:
    """A small report with a broken rule in it."""
    folder = out / "report"
    code = python("conformance.cli", "run", "--mutant", SHOWN, "--depth", "smoke", "--report", folder)
    return folder / "index.html" if code in JUDGED else None


def taken(page: Path, out: Path) -> Sequence[Path]:
    """The pictures of this page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chrome = Chrome(Path(profile))
        try:
            return [*_screens(chrome, f"file://{page}", out), *_paper(chrome, f"file://{page}", out)]
        finally:
            chrome.close()


def _screens(chrome: Chrome, url: str, out: Path) -> list[Path]:
    chrome.open(f"{url}?theme=light", scale=2)
    worst = str(chrome.js(WORST))
    shots = {
        "light": ("?theme=light", 1440, 1500), "dark": ("?theme=dark", 1440, 1500),
        "case": (f"?theme=light{worst}", 1440, 1000), "phone": ("?theme=light", 390, 844),
    }
    paths = []
    for name, (where, width, height) in shots.items():
        chrome.open(url + where, width=width, height=height, scale=2)
        paths.append(out / f"{name}.png")
        chrome.picture(paths[-1])
    return paths


def _paper(chrome: Chrome, url: str, out: Path) -> list[Path]:
    """The page as it is printed: all of it as PDF, and the beginning as a picture."""
    chrome.open(url, scale=2)
    across = bool(chrome.js("!!document.querySelector('.broad')"))
    width, height = PAPER[::-1] if across else PAPER
    chrome.open(url, width=width, height=height, scale=2)
    chrome.call("Emulation.setEmulatedMedia", media="print")
    chrome.js("document.documentElement.style.padding = '13mm'")
    chrome.settled()
    chrome.picture(out / "print.png")
    chrome.js("document.documentElement.style.padding = ''")
    printed = chrome.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
    (out / "print.pdf").write_bytes(base64.b64decode(printed["data"]))
    chrome.call("Emulation.setEmulatedMedia", media="")
    return [out / "print.png", out / "print.pdf"]


if __name__ == "__main__":
    sys.exit(main())
