"""`make screenshots`: what people see, as pictures in build/screenshots, taken in a headless Chromium.

From the page of `make matrix`, else from that of `make conformance`. Where neither lies there, a wrong broker is
examined first, quickly, so that there is a case to be shown.

    light, dark   the page as it opens      phone   the same, 390 points wide
    case          the worst broken rule     print   the first sheets on paper (PNG), and print.pdf, all of them

With `--docs` instead small ones, WIDTH-THEME.webp in docs/look: the page of one broker or of many as it opens on three
widths, light and dark, and a case. `make screenshots PAGES="ONE.html MANY.html"` makes those of this repository anew.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.session.exits import GATE_OPEN, HARNESS_ERROR
from tools.chrome import BrowserFailed, Chrome
from tools.main_job import JUDGED, python
from tools.matrix import SHOWN

PAGES = (Path("build/matrix/index.html"), Path("build/conformance/index/html"))
PAPER = (794, 1123)
"""A4 in points of a screen; pages about many brokers are printed across."""
WORST = """(id => id ? '#' + id : '')((document.querySelector('.side.failing:has(.ladder)')
    ?? document.querySelector('.side:has(.ladder)'))?.id ?? '')"""
"""The first case that has a picture, of a failing rule if there is one."""
SCREENS = ((1440, 900), (800, 1000), (390, 844))
DOCS = Path("docs/look")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make screenshots", description="pictures of the report")
    parser.add_argument("pages", nargs="*", type=Path, help="reports; default: that of make matrix, or conformance")
    parser.add_argument("--docs", action="store_true", help=f"small ones, into {DOCS}")
    parser.add_argument("--case", metavar="RULE", help="with --docs: the rule whose case is shown")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    out = options.out or (DOCS if options.docs else Path("build/screenshots"))
    out.mkdir(parents=True, exist_ok=True)
    pages = options.pages or [next((path for path in PAGES if path.exists()), None) or _made(out)]
    missing = [page for page in pages if page is None or not page.exists()]
    if missing:
        print(
            f"there is no report to be shown{f' at {missing[0]}' if missing[0] else ''}: make conformance",
            file=sys.stderr,
        )
        return HARNESS_ERROR
    try:
        for page in pages:
            for path in small(page.absolute(), out, options.case) if options.docs else taken(page.absolute(), out):
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
    with browser() as chrome:
        return [*_screens(chrome, f"file://{page}", out), *_paper(chrome, f"file://{page}", out)]


def small(page: Path, out: Path, case: str | None) -> Sequence[Path]:
    """The pictures of this page that go into the documentation."""
    with browser() as chrome:
        url = f"file://{page}"
        chrome.open(url)
        name = "many" if chrome.js("!!document.querySelector('.broad')") else "one"
        shots = [
            (f"{name}-{width}-{theme}", f"?theme={theme}", width, height)
            for width, height in SCREENS
            for theme in ("light", "dark")
        ]
        if name == "one":
            worst = f"#/{case}" if case else str(chrome.js(WORST))
            shots += [
                ("case-1440-light", f"?theme=light{worst}", 1440, 900),
                ("case-390-dark", f"?theme=dark{worst}", 390, 844),
            ]
        return [_shot(chrome, out / f"{name}.webp", url + where, width, height) for name, where, width, height in shots]


@contextmanager
def browser() -> Iterator[Chrome]:
    """A browser in which nothing moves, for as long as this lasts."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chrome = Chrome(Path(profile))
        try:
            chrome.still()
            yield chrome
        finally:
            chrome.close()


def _shot(chrome: Chrome, path: Path, url: str, width: int, height: int, scale: int = 1) -> Path:
    chrome.open(url, width=width, height=height, scale=scale)
    chrome.picture(path)
    return path


def _screens(chrome: Chrome, url: str, out: Path) -> list[Path]:
    chrome.open(f"{url}?theme=light", scale=2)
    worst = str(chrome.js(WORST))
    shots = {
        "light": ("?theme=light", 1440, 1500),
        "dark": ("?theme=dark", 1440, 1500),
        "case": (f"?theme=light{worst}", 1440, 1000),
        "phone": ("?theme=light", 390, 844),
    }
    return [
        _shot(chrome, out / f"{name}.png", url + where, width, height, scale=2)
        for name, (where, width, height) in shots.items()
    ]


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
