"""A comparison as text, Markdown and a page: what must be known first, and no word of a broker is markup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import axe_core_python
import pytest

from conformance.diff.differences import compare
from reports import diff
from reports.html.diff import render
from tests.support.runs import case, results, rule

HOSTILE = "<script>alert(1)</script> `*b*` \x1b[31m"


def document(name: str = "RabbitMQ 4.3.6") -> dict[str, Any]:
    stays, hostile = case("ACK-002", "it stays"), case("ACK-001", HOSTILE)
    before = [rule("ACK-002", "broken", stays), rule("ACK-001"), rule("TAG-004", reports={"a": 1})]
    after = [rule("ACK-002"), rule("ACK-001", "broken", hostile), rule("TAG-004", reports={"b": 1})]
    found = compare(results("RabbitMQ 3.10.8", before, "rabbitmq-3.10"), results(name, after, "rabbitmq-4.3"))
    plain: dict[str, Any] = json.loads(json.dumps(found.plain()))
    return plain


def test_sections_come_in_the_order_of_what_an_operator_must_know() -> None:
    kinds = [kind for kind, *_ in diff.sections(document())]
    assert kinds == ["broken", "choices", "fixed", "seen otherwise"]


def test_the_terminal_reads_like_release_notes() -> None:
    said = diff.terminal(document(), width=80)
    assert said.startswith("From RabbitMQ 3.10.8 to RabbitMQ 4.3.6: 1 rule broken, 1 fixed, ")
    assert "Broken: RabbitMQ 3.10.8 kept these rules, and RabbitMQ 4.3.6 does not" in said
    assert "✕   2 < c1.1 basic.get-ok 1 m1 redelivered" in said
    assert "\x1b" not in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_markdown_escapes_what_brokers_say() -> None:
    said = diff.markdown(document())
    assert "<script" not in said
    assert "\\*b\\*" in said
    assert "### What does basic.qos with global set limit?" in said
    assert "```text" in said


def test_the_page_escapes_too_and_draws_the_exchange() -> None:
    page = render(document(HOSTILE))
    assert "<script" not in page
    assert "alert(1)" in page
    assert page.count('<svg class="ladder') == 2
    assert "script-src &#39;sha256-" in page
    assert 'http-equiv="Content-Security-Policy"' in page


def test_rules_in_a_row_are_told_as_a_range() -> None:
    assert diff.named(["QOS-006", "QOS-007", "QOS-008", "QOS-011", "QOS-012", "TMO-001"]) == (
        "QOS-006 to QOS-008, QOS-011, QOS-012, TMO-001"
    )


@pytest.mark.parametrize("width", [1300, 390])
def test_the_page_is_accessible_and_fits_a_phone(width: int, tmp_path: Path, chrome: Any) -> None:
    path = tmp_path / "diff.html"
    path.write_text(render(document()), encoding="utf-8")
    chrome.open(f"file://{path}", width=width)
    chrome.js(f"{(Path(axe_core_python.__file__).parent / 'axe.min.js').read_text('utf-8')};0")
    wrong = chrome.js("""axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
        .filter(one => ['serious', 'critical'].includes(one.impact)).map(one => one.id + one.nodes[0].html))""")
    assert wrong == []
    assert chrome.js("document.documentElement.scrollWidth") <= width
