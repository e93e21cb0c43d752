"""`make screenshots`: each picture is there, in its size; without a report it says what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from conformance.session.exits import HARNESS_ERROR
from tools import chrome, screenshots, terminal_picture

ROOT = Path(__file__).resolve().parents[2]
SMALL = 150_000
PAGE = """<!doctype html><title>a page</title><h1>All pass</h1>
<section class="side failing" id="/ACK-001/birch"><svg class="ladder"></svg></section>"""


def size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


@pytest.mark.skipif(chrome.found() is None, reason="no Chromium on this machine")
def test_every_picture_is_taken(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(PAGE, encoding="utf-8")
    assert screenshots.main([str(page), "--out", str(tmp_path / "out")]) == 0
    sizes = {path.stem: size(path) for path in (tmp_path / "out").glob("*.png")}
    assert sizes == {
        "light": (2880, 3000),
        "dark": (2880, 3000),
        "case": (2880, 2000),
        "phone": (780, 1688),
        "print": (1588, 2246),
    }
    assert (tmp_path / "out" / "print.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.skipif(chrome.found() is None, reason="no Chromium on this machine")
def test_small_pictures_go_into_the_documentation(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(PAGE, encoding="utf-8")
    assert screenshots.main([str(page), "--docs", "--out", str(tmp_path / "out")]) == 0
    made = {path.stem: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    screens = {f"one-{width}-{theme}" for width in (390, 800, 1440) for theme in ("light", "dark")}
    assert set(made) == screens | {"case-1440-light", "case-390-dark"}
    assert all(data[8:12] == b"WEBP" for data in made.values())


@pytest.mark.parametrize(
    "path",
    [path for kind in ("png", "webp") for path in (ROOT / "docs").rglob(f"*.{kind}")],
    ids=lambda path: path.name,
)
def test_pictures_of_the_documentation_are_small(path: Path) -> None:
    assert path.stat().st_size < SMALL


def test_a_terminal_is_shown_as_it_is_with_its_colours(tmp_path: Path) -> None:
    text = terminal_picture.printed(["explain", "TAG-001"], 70)
    assert max(len(terminal_picture.CODE.sub("", line)) for line in text.splitlines()) <= 70
    page = terminal_picture.page(text, "explain <TAG-001>")
    assert "\x1b" not in page
    assert '<span class="bad">✕' in page
    assert "$ amqp-conformance explain &lt;TAG-001&gt;" in page


@pytest.mark.skipif(chrome.found() is None, reason="no Chromium on this machine")
def test_the_picture_of_a_terminal_just_holds_it(tmp_path: Path) -> None:
    terminal_picture.picture(terminal_picture.page("one\ntwo", "x"), tmp_path / "small.png")
    terminal_picture.picture(terminal_picture.page("one\ntwo\nthree" + "e" * 80, "x"), tmp_path / "large.png")
    (narrow, low), (wide, tall) = size(tmp_path / "small.png"), size(tmp_path / "large.png")
    assert wide > narrow
    assert tall > low


def test_a_page_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert screenshots.main([str(tmp_path / "none.html"), "--out", str(tmp_path / "out")]) == HARNESS_ERROR
    assert "none.html: make conformance" in capsys.readouterr().err
