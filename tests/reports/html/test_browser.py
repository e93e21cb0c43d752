"""The page in a real browser: filters, search, keys, permalinks, themes, phone and print do what they say."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_core_python
import pytest

from conformance.catalogue import rules
from reports.html import render_many
from reports.html.runs import OURS

PANEL = "[...document.querySelectorAll('.case')].find(p => getComputedStyle(p).display != 'none')?.id ?? ''"
SIDE = "[...document.querySelectorAll('.side')].filter(s => s.checkVisibility()).map(s => s.id).join()"
BRIGHT = "new Set([...document.querySelectorAll('.pin:not(.dim)')].map(p => p.hash.split('/')[1])).size"
ROWS = "[...document.querySelectorAll('.rules .row')].filter(r => r.checkVisibility()).map(r => r.hash.slice(2))"
TAB = "document.querySelector('.tabs [aria-current]')?.textContent ?? ''"
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text("utf-8")
FOCUS = "document.activeElement.getAttribute('href') ?? document.activeElement.id"


@pytest.fixture
def page(
    results: dict[str, Any],
    clean_results: dict[str, Any],
    before: dict[str, Any],
    trust: dict[str, Any],
    tmp_path: Path,
    chrome: Any,
) -> Iterator[Any]:
    """The page of two brokers in the browser: Birch breaks rules, Alder keeps all of them."""
    alder = copy.deepcopy(clean_results)
    alder["broker"].update(name="Alder 4.3", product="Alder", version="4.3")
    path = tmp_path / "index.html"
    path.write_text(render_many([results, alder], (), trust, [before, None]), encoding="utf-8")
    chrome.url = f"file://{path}"
    chrome.open(chrome.url + "?theme=light")
    yield chrome
    chrome.call("Emulation.setEmulatedMedia", media="", features=[])


def test_the_policy_lets_the_page_s_own_script_and_style_run(page: Any) -> None:
    assert page.js("document.documentElement.classList.contains('js')")
    assert page.js("getComputedStyle(document.querySelector('.sq')).width") != "auto"
    page.js("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.evil=1\">')")
    page.settled()
    assert page.js("window.evil ?? 0") == 0


def test_filters_and_search_dim_squares_and_drop_rows(page: Any) -> None:
    every = page.js(BRIGHT)
    page.js("document.querySelector('[data-show=failing]').click()")
    assert page.js(ROWS) == ["ACK-004", "ACK-010"]
    assert page.js(BRIGHT) == 2
    page.js("document.querySelector('[data-show=differ]').click()")
    assert set(page.js(ROWS)) == {"ACK-004", "ACK-010", "RQ-003", "MODE-003", "ERR-004", "ERR-006"}
    assert page.js("document.getElementById('found').textContent").startswith("6 of ")
    page.js("document.querySelector('[data-show=all]').click()")
    page.key("/", "/")
    assert page.js("document.activeElement.id") == "q"
    page.call("Input.insertText", text="ack-010")
    page.settled()
    assert page.js(ROWS) == ["ACK-010"]
    page.key("Escape")
    assert page.js(BRIGHT) == every


def test_rules_that_are_new_since_the_last_run_and_those_of_a_family_can_be_picked(page: Any) -> None:
    page.js("document.querySelector('[data-show=changed]').click()")
    assert page.js(ROWS) == ["MODE-001", "ACK-004", "ACK-010", "RQ-003"]
    pick = "var f = document.getElementById('area'); f.value = '%s'; f.dispatchEvent(new Event('change'))"
    page.js(pick % "ACK")
    assert page.js(ROWS) == ["ACK-004", "ACK-010"]
    page.js(pick % "RQ AUTO")
    assert page.js(ROWS) == ["RQ-003"]
    page.js(pick % "ACK")
    page.js("document.querySelector('[data-show=all]').click()")
    assert all(row.startswith("ACK-") for row in page.js(ROWS))
    page.js("document.querySelector('[data-level=should]').click()")
    assert page.js("document.querySelectorAll('.rules .family:not(.gone)').length") <= 1


def fewer(results: dict[str, Any]) -> dict[str, Any]:
    """Of each family, the rules with something to tell and the first that is held: axe needs seconds for each hundred
    rows, and all rows of a kind are made alike."""
    kept: dict[tuple[str, ...], Any] = {}
    for rule in results["rules"]:
        told = bool(rule["cases"] or rule["reports"] or rule["deviation"])
        kept.setdefault((rule["family"], rule["verdict"], *([rule["id"]] if told else [])), rule)
    return {**results, "rules": list(kept.values())}


@pytest.fixture
def short_page(results: dict[str, Any], trust: dict[str, Any], tmp_path: Path, chrome: Any) -> Any:
    """The page of one broker with some rules of each family."""
    path = tmp_path / "short.html"
    path.write_text(render_many([fewer(results)], (), trust), encoding="utf-8")
    chrome.url = f"file://{path}"
    return chrome


SERIOUS = """axe.run(%s, {resultTypes: ['violations']}).then(found => found.violations
    .filter(one => one.impact === 'serious' || one.impact === 'critical')
    .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)} ${one.nodes[0].failureSummary}`))"""


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
@pytest.mark.sampled(2)
def test_axe_finds_nothing_serious(short_page: Any, theme: str, width: int) -> None:
    for place, shown in (("", "document"), ("#/ACK-010/birch-2.9", "'.case[role=dialog]'")):
        short_page.open(f"{short_page.url}?theme={theme}{place}", width=width)
        short_page.js(f"{AXE};0")
        assert short_page.js(SERIOUS % shown) == []


BROKEN_WORDS = """[...document.querySelectorAll('.matrix thead .bk, .matrix tbody th b')].flatMap(head => {
    const words = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), torn = [];
    for (let node; node = words.nextNode();) for (const word of node.data.matchAll(/[\\p{L}\\d]+/gu)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (range.getClientRects().length > 1) torn.push(word[0]);
    }
    return torn; })"""


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
@pytest.mark.sampled(2)
def test_twelve_columns_can_be_read(
    clean_results: dict[str, Any], tmp_path: Path, chrome: Any, theme: str, width: int
) -> None:
    runs = [copy.deepcopy(fewer(clean_results)) for _ in range(12)]
    for number, run in enumerate(runs):
        run["broker"].update(name=f"RabbitMQ 3.{number}.8", product="RabbitMQ", version=f"3.{number}.8")
    runs[5]["broker"].update(
        name="amqp-conformance reference 1 with requeue.batch-reversed",
        version="1",
        server_properties={"information": OURS},
    )
    path = tmp_path / "index.html"
    path.write_text(render_many(runs), encoding="utf-8")
    chrome.open(f"file://{path}?theme={theme}", width=width)
    assert chrome.js("document.documentElement.scrollWidth") <= width
    assert chrome.js(BROKEN_WORDS) == []
    assert chrome.js("document.querySelectorAll('.matrix thead th').length") == 13
    chrome.js(f"{AXE};0")
    assert chrome.js(SERIOUS % "'.matrix thead, .matrix tbody tr:first-child'") == []


def test_axe_would_have_found_something(short_page: Any) -> None:
    short_page.open(short_page.url)
    short_page.js("document.body.insertAdjacentHTML('beforeend', '<button></button>')")
    short_page.js(f"{AXE};0")
    assert [line.partition(":")[0] for line in short_page.js(SERIOUS % "document")] == ["button-name"]


def test_every_picture_has_words(page: Any) -> None:
    bare = page.js("""[...document.querySelectorAll('svg:not(.sq):not([aria-label])')]
        .filter(s => s.checkVisibility() && !s.closest('[aria-hidden]')).map(s => s.outerHTML.slice(0, 80))""")
    assert bare == []


def test_nothing_is_asked_of_the_network(page: Any) -> None:
    page.open(page.url)
    assert page.js("performance.getEntriesByType('resource').map(entry => entry.name)") == []


def test_a_permalink_opens_the_side_of_its_broker(page: Any) -> None:
    page.open(page.url + "#/ACK-010/birch-2.9")
    assert page.js(PANEL) == "/ACK-010"
    assert page.js(SIDE) == "/ACK-010/birch-2.9"
    assert page.js(TAB) == "Birch 2.9"
    assert page.js("document.querySelector('.case[role=dialog]').scrollTop") == 0
    assert page.js("document.querySelectorAll('.pin.here').length") == 2


def test_a_permalink_of_a_rule_shows_the_worst_side(page: Any) -> None:
    page.open(page.url + "#/ACK-010")
    assert page.js(SIDE) == "/ACK-010/birch-2.9"


def test_keys_lead_over_the_squares_into_a_panel_and_back(page: Any) -> None:
    page.js("document.querySelector('.pin').focus()")
    page.key("ArrowRight")
    assert page.js(FOCUS) == "#/TAG-002/birch-2.9"
    page.key("ArrowDown")
    assert page.js(FOCUS) == "#/MODE-002/birch-2.9"
    page.key("ArrowUp")
    page.key("Enter", "\r")
    assert page.js(SIDE) == "/TAG-002/birch-2.9"
    page.key("ArrowRight")
    assert page.js(SIDE) == "/TAG-002/alder-4.3"
    assert page.js(TAB) == "Alder 4.3"
    page.key("Escape")
    assert page.js(PANEL) == ""
    assert page.js(FOCUS) == "#/TAG-002/birch-2.9"


def test_a_step_of_the_picture_leads_to_its_octets(page: Any) -> None:
    page.open(page.url + "#/ACK-010/birch-2.9")
    page.js(
        "document.querySelector('.case[role=dialog] .ladder .rung.bad a').dispatchEvent(new MouseEvent('click', "
        "{bubbles: true}))"
    )
    page.settled()
    assert page.js("document.querySelector('li:target').className").startswith("bad")
    assert page.js(SIDE) == "/ACK-010/birch-2.9"


def test_dark_is_dark(page: Any) -> None:
    light = page.js("getComputedStyle(document.documentElement).backgroundColor")
    page.js("document.getElementById('theme').click()")
    dark = page.js("getComputedStyle(document.documentElement).backgroundColor")
    assert light != dark
    assert page.js("document.getElementById('theme').textContent") == "Light"


def test_a_phone_needs_no_sideways_scrolling(page: Any) -> None:
    page.open(page.url, width=390, height=844)
    assert page.js("document.documentElement.scrollWidth") <= 390
    page.open(page.url + "#/ACK-010/birch-2.9", width=390, height=844)
    assert page.js("document.querySelector('.case[role=dialog]').scrollWidth") <= 390


def test_print_leaves_out_what_is_for_hands_and_shows_the_verdicts(page: Any) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.js("document.querySelector('.bar').checkVisibility()") is False
    assert page.js("document.querySelector('.matrix').checkVisibility()") is True
    assert page.js(PANEL) == ""
    assert page.js("document.querySelector('.certificate').checkVisibility()") is True
    page.call("Emulation.setEmulatedMedia", media="")
    assert page.js("document.querySelector('.certificate').checkVisibility()") is False


def test_without_script_a_permalink_still_opens_its_side(page: Any) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(page.url + "#/ACK-010/alder-4.3", scripted=False)
        assert page.js("document.documentElement.classList.contains('js')") is False
        assert page.js(SIDE) == "/ACK-010/alder-4.3"
        assert page.js("document.querySelector('.bar').checkVisibility()") is False
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


SHEET = "Math.ceil(document.querySelector('#sheet table').getBoundingClientRect().bottom + scrollY)"
CUT = """[...document.querySelectorAll('#sheet *, .wrongs *')]
    .filter(one => one.checkVisibility() && !one.closest('pre')).filter(one => {
        const box = one.getBoundingClientRect();
        return box.right > innerWidth || box.left < 0; })
    .map(one => one.outerHTML.slice(0, 80))"""
AREAS = """[...document.querySelectorAll('#sheet .area')]
    .filter(one => one.checkVisibility({visibilityProperty: true})).map(one => one.innerText)"""
MUTE = """[...document.querySelectorAll('#sheet .tally')]
    .filter(one => !one.checkVisibility() || !one.innerText.trim()).length"""


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.sampled(2)
def test_all_families_are_on_one_screen(results: dict[str, Any], tmp_path: Path, chrome: Any, brokers: int) -> None:
    """With the trust figures, which take room as well."""
    path = tmp_path / "index.html"
    path.write_text(
        render_many([results] * brokers, trust={"mutants": 9, "killed": 9, "field_bugs": 9, "field_bugs_found": 9}),
        encoding="utf-8",
    )
    chrome.open(f"file://{path}", width=1440, height=1000)
    assert chrome.js(SHEET) <= 1000
    assert chrome.js("document.querySelectorAll('#sheet tbody tr').length") == len(rules.FAMILIES)
    assert chrome.js(AREAS) == list(dict.fromkeys(family.area for family in rules.FAMILIES.values()))


TALL = """[...document.querySelectorAll('#sheet .last .tally')]
    .filter(one => one.getBoundingClientRect().height > 1.5 * parseFloat(getComputedStyle(one).fontSize)).length"""


def test_families_with_many_verdicts_take_one_line_each_and_the_faults_do_not_push_them_off_the_screen(
    results: dict[str, Any], tmp_path: Path, chrome: Any
) -> None:
    """As with RabbitMQ 3.10.8, of which nineteen rules are known to be broken."""
    noted = {"note": "A queue that is deleted while it is read loses what was returned to it, and says so late: then"}
    rows = results["rules"]
    for row in rows:
        row.update(verdict="held", cases=[], reason=None, deviation=None)
    firsts = {row["id"].partition("-")[0]: place for place, row in reversed(list(enumerate(rows)))}
    for number, place in enumerate(sorted(firsts.values())):
        rows[place + 1].update(verdict="unseen")
        rows[place + 2].update(verdict="not-offered")
        if number < 19:
            note = {**noted, "note": f"{noted['note']} {number}", "evidence": "a page", "rule": rows[place]["id"]}
            rows[place].update(verdict="deviates", deviation=note)
    path = tmp_path / "index.html"
    path.write_text(render_many([{**results, "faults": []}]), encoding="utf-8")
    chrome.open(f"file://{path}", width=1440, height=1000)
    assert chrome.js("document.querySelectorAll('#wrong li').length") > 10
    assert chrome.js(TALL) == 0
    assert chrome.js(SHEET) <= 1000
    assert chrome.js(CUT) == []


@pytest.mark.parametrize("brokers", [1, 3, 12])
@pytest.mark.parametrize("width", [390, 800])
@pytest.mark.sampled(2)
def test_counts_and_words_stand_in_every_cell_and_nothing_is_cut(
    results: dict[str, Any],
    tmp_path: Path,
    chrome: Any,
    brokers: int,
    width: int,
) -> None:
    path = tmp_path / "index.html"
    path.write_text(render_many([results] * brokers), encoding="utf-8")
    chrome.open(f"file://{path}", width=width, height=900)
    assert chrome.js(CUT) == []
    assert chrome.js("document.querySelectorAll('#sheet .tally').length") == brokers * len(rules.FAMILIES)
    assert chrome.js(MUTE) == 0


HALVES = """[...document.querySelectorAll('.band')].flatMap(band => {
    const rows = new Map();
    for (const panel of band.children) {
        const box = panel.getBoundingClientRect();
        rows.set(box.top, Math.max(rows.get(box.top) ?? 0, box.right));
    }
    return [...rows.values()].filter(right => right < band.getBoundingClientRect().right - 1); })"""


@pytest.mark.parametrize("brokers", [1, 3])
@pytest.mark.sampled(2)
def test_no_row_of_panels_has_an_empty_half(
    results: dict[str, Any], before: dict[str, Any], tmp_path: Path, chrome: Any, brokers: int
) -> None:
    path = tmp_path / "index.html"
    path.write_text(render_many([results] * brokers, before=[before] * brokers), encoding="utf-8")
    chrome.open(f"file://{path}")
    assert chrome.js("document.querySelectorAll('.band > .panel').length") > 4
    assert chrome.js(HALVES) == []
