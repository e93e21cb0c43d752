"""The documentation: every link leads somewhere, and the site needs nothing from anywhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance.catalogue.rules import CATALOGUE
from tools.chrome import Chrome, found
from tools.pages import compatibility, site


def test_no_link_is_broken() -> None:
    found = site.pages()
    assert len(found) > 10
    assert not site.problems(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert site.build(out) == []
    return out


def test_the_site_loads_nothing_from_elsewhere(built: Path) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in built.rglob("*.html")}
    assert len(pages) > 10
    for page in pages.values():
        assert not re.search(r"<script .*src|<iframe|<link|@import|url\(http|src=\"http", page)
    assert [name for name, page in pages.items() if "<script" in page] == ["rules.html"]


def test_the_rules_can_be_filtered(built: Path, tmp_path: Path) -> None:
    if found() is None:
        pytest.skip("no Chromium on this machine")
    browser = Chrome(tmp_path)
    try:
        browser.open((built / "docs" / "rules.html").as_uri())
        typed = "input.value = {}; input.dispatchEvent(new Event('input')); [...main.querySelectorAll('{}')]"
        shown = typed + ".filter(one => one.offsetHeight).map(one => one.textContent)"
        assert len(browser.js(shown.format("''", "h3"))) == len(CATALOGUE)
        (tag,) = browser.js(shown.format("'tag-002  ZERO'", "h3"))
        assert tag.startswith("TAG-002")
        (family,) = browser.js(shown.format("'tag-002 zero'", "h2"))
        assert family.startswith("TAG")
        assert browser.js("output.value") == f"1 of {len(CATALOGUE)}"
        assert browser.js(shown.format("'xyzzy'", "h3, h2")) == []
    finally:
        browser.close()


def test_every_page_is_reached_from_every_other(built: Path) -> None:
    for path in (built / "docs").glob("*.html"):
        for href in re.findall(r"<nav.*?</nav>", path.read_text(encoding="utf-8"), re.DOTALL)[0].split('href="')[1:]:
            assert (path.parent / href.partition('"')[0]).is_file()


def test_links_of_the_built_site_lead_to_files(built: Path) -> None:
    for path in built.rglob("*.html"):
        for href in re.findall(r'(?:href|src)="([^"#]+)', path.read_text(encoding="utf-8")):
            assert "://" in href or href.startswith("mailto:") or (path.parent / href).exists(), f"{path}: {href}"


def repository(root: Path, **pages: str) -> Path:
    (root / "docs").mkdir()
    for name, text in pages.items():
        (root / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[x](nowhere.md)", "docs/index.md:3: nowhere.md: there is no docs/nowhere.md"),
        ("[x](other.md#gone)", "docs/other.md has no heading with the anchor gone"),
        ("[x](#gone)", "docs/index.md has no heading with the anchor gone"),
        ("[x](../../secret)", "there is no ../secret"),
        ("![x](missing.png)", "there is no docs/missing.png"),
        ("![](other.md)", "docs/index.md:3: a picture has no words"),
    ],
)
def test_what_is_broken_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    root = repository(tmp_path, index=f"# Home\n\n{text}\n", other="# Other\n")
    (problem,) = site.build(tmp_path / "out", root)
    assert said in problem
    assert not (tmp_path / "out").exists()


def test_headings_have_the_anchors_of_code_hosts(tmp_path: Path) -> None:
    text = "# A · B\n\n## `run URL`, twice\n\n## Same\n\n## Same\n\n[1](#a--b) [2](#run-url-twice) [3](#same-1)\n"
    assert site.build(tmp_path / "out", repository(tmp_path, index=text)) == []
    page = (tmp_path / "out" / "docs" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="same-1">Same</h2>' in page
    assert "<title>A · B · amqp-conformance</title>" in page


def test_what_pages_say_stays_text(tmp_path: Path) -> None:
    root = repository(tmp_path, index="# <b>Home</b>\n\n<script>alert(1)</script>\n")
    assert site.build(tmp_path / "out", root) == []
    assert "<script>" not in (tmp_path / "out" / "docs" / "index.html").read_text(encoding="utf-8")


def test_the_matrix_comes_in_as_it_is_and_every_page_leads_to_it(tmp_path: Path) -> None:
    page = tmp_path / "made.html"
    page.write_text("<!doctype html><title>many brokers</title>", encoding="utf-8")
    root = repository(tmp_path, index="# Home\n", other="# Other\n")
    assert site.build(tmp_path / "out", root, page) == []
    assert (tmp_path / "out" / "matrix.html").read_text("utf-8") == page.read_text("utf-8")
    for name in ("index", "other"):
        assert '<a href="../matrix.html">Matrix</a>' in (tmp_path / "out" / "docs" / f"{name}.html").read_text("utf-8")


def test_the_site_has_matrix_rules_findings_and_patterns(built: Path) -> None:
    menu = (built / "docs" / "index.html").read_text("utf-8").partition("</nav>")[0]
    for name in ("compatibility", "rules", "findings", "patterns"):
        assert f'href="{name}.html"' in menu


def test_every_piece_of_advice_stands_on_a_finding() -> None:
    said = [
        part
        for part in (site.ROOT / "docs" / "portable-applications.md").read_text("utf-8").split("\n\n")
        if part[:2] == "**"
    ]
    assert len(said) > 10
    assert [part[:60] for part in said if "](findings.md#" not in part] == []


def test_the_command_fails_on_a_broken_link(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(site, "build", lambda out, matrix: ["docs/x.md:1: gone"])
    assert site.main(["--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "docs/x.md:1: gone\n"


def test_the_page_of_versions_is_fresh() -> None:
    assert compatibility.PAGE.read_text(encoding="utf-8") == compatibility.page(), "run `make docs`"


def test_the_page_of_versions_says_what_runs_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = json.loads(compatibility.SEEN.read_text(encoding="utf-8"))
    assert [run["broker"].split()[0] for run in committed] == ["RabbitMQ"] * len(committed)
    counted = [len(run["verdicts"]["held"]) for run in committed]
    assert f"| held | {' | '.join(map(str, counted))} |" in compatibility.page()
    monkeypatch.setattr(compatibility, "SEEN", tmp_path / "none.json")
    assert "There are no results of `make matrix`" in compatibility.page()


def test_the_page_of_versions_tells_each_deviation_once() -> None:
    page = compatibility.page()
    assert "| [TMO-012](rules.md#tmo-012--settling-the-deliveries-that-timed-out-revives-the-consumer)" in page
    assert page.count("- [TMO-012]") == 1
    assert "[ACK-008]" in page.partition("### LavinMQ 2.9")[2][:80]
    assert "### RabbitMQ 3.12" not in page
    assert "| RabbitMQ 3.12 | RabbitMQ 3.10 | `timeout_of_queue = heeded`; " in page
