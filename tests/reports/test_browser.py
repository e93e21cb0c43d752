"""The page in a real browser: filters, search, keys, permalinks, themes, phone and print do what they say."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.html import render_many

PANEL = "[...document.querySelectorAll('.case')].find(p => getComputedStyle(p).display != 'none')?.id ?? ''"
SIDE = "[...document.querySelectorAll('.side')].filter(s => s.checkVisibility()).map(s => s.id).join()"
BRIGHT = "new Set([...document.querySelectorAll('.pin:not(.dim)')].map(p => p.hash.split('/')[1])).size"
ROWS = "[...document.querySelectorAll('.rules .row')].filter(r => r.checkVisibility()).map(r => r.hash.slice(2))"
TAB = "document.querySelector('.tabs [aria-current]')?.textContent ?? ''"
FOCUS = "document.activeElement.getAttribute('href') ?? document.activeElement.id"


@pytest.fixture
def page(results: dict[str, Any], clean_results: dict[str, Any], tmp_path: Path, chrome: Any) -> Iterator[Any]:
    """The page of two brokers in the browser: Birch breaks rules, Alder keeps all of them."""
    alder = copy.deepcopy(clean_results)
    alder["broker"].update(name="Alder 4.3", product="Alder", version="4.3")
    path = tmp_path / "index.html"
    path.write_text(render_many([results, alder]), encoding="utf-8")
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
    page.js("document.querySelector('.case[role=dialog] .ladder .rung.bad a').dispatchEvent(new MouseEvent('click', "
            "{bubbles: true}))")
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


def test_without_script_a_permalink_still_opens_its_side(page: Any) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(page.url + "#/ACK-010/alder-4.3", scripted=False)
        assert page.js("document.documentElement.classList.contains('js')") is False
        assert page.js(SIDE) == "/ACK-010/alder-4.3"
        assert page.js("document.querySelector('.bar').checkVisibility()") is False
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
