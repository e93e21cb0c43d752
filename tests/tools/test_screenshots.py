"""`make screenshots`: each picture is there, in its size; without a report it says what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from conformance.front.exits import HARNESS_ERROR
from tools import chrome, screenshots

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
        "light": (2880, 3000), "dark": (2880, 3000), "case": (2880, 2000), "phone": (780, 1688), "print": (1588, 2246),
    }
    assert (tmp_path / "out" / "print.pdf").read_bytes().startswith(b"%PDF")


def test_a_page_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert screenshots.main([str(tmp_path / "none.html"), "--out", str(tmp_path / "out")]) == HARNESS_ERROR
    assert "none.html: make conformance" in capsys.readouterr().err
