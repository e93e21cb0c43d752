"""The Markdown summary: verdict first, every broken rule with its evidence, and hostile strings stay text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conformance.catalogue import rules
from conformance.evidence.folding import exchange
from reports.exports import markdown
from reports.summary import fenced, text


def test_the_verdict_comes_first(results: dict[str, Any], clean_results: dict[str, Any]) -> None:
    assert markdown(results).splitlines()[0] == "## ❌ Birch 2.9: gate closed"
    assert markdown(clean_results).splitlines()[0] == "## ✅ Birch 2.9: gate open"


def test_every_broken_rule_has_its_evidence_and_nothing_else_does(results: dict[str, Any]) -> None:
    said = markdown(results)
    found = re.findall(r"<details><summary>✕ <b>(\S+)</b>", said)
    assert sorted(found) == ["ACK-004", "ACK-010"]
    assert said.count("</details>") == 2
    for words in ("basic.ack 2 multiple was accepted", "> c1.1 basic.ack 2 multiple", "--rules ACK-010 --seed 7"):
        assert words in said
    assert "connection.start" not in said


def test_the_table_counts_every_rule_once(results: dict[str, Any]) -> None:
    rows = re.findall(r"(?m)^\| (?:MUST|SHOULD|MAY|OBSERVED) \| [^|]+ \|(.*)\|$", markdown(results))
    assert len(rows) == 4
    assert sum(int(cell) for row in rows for cell in row.split("|")) == len(rules.CATALOGUE)


def test_reasons_warnings_and_known_deviations_are_told(results: dict[str, Any]) -> None:
    said = markdown(results)
    assert "- ACK-004 is broken" in said
    assert "- MODE-003 was exercised too little to say" in said
    assert "Returned messages go to the tail of the log." in said


def test_a_clean_run_has_no_lists(clean_results: dict[str, Any]) -> None:
    assert "###" not in markdown(clean_results)


def test_a_run_that_was_cut_short_says_so(results: dict[str, Any]) -> None:
    results["complete"] = False
    assert "This run was cut short" in markdown(results)


HOSTILE = "</details><script>alert(1)</script>\n\n# Gate open ![x](http://evil) | `a` \u202e ```"


def test_hostile_strings_stay_text(results: dict[str, Any]) -> None:
    results["broker"]["name"] = HOSTILE
    results["gate"]["reasons"] = [HOSTILE]
    for rule in results["rules"]:
        for case in rule["cases"]:
            case.update(observed=HOSTILE, allowed=HOSTILE, rerun=HOSTILE)
            for step in case["steps"]:
                step.update(text=HOSTILE)
    said = markdown(results)
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", said)
    assert outside.count("</details>") == 2
    assert "<script" not in outside
    assert not re.search(r"(?m)^# ", outside)
    assert not re.search(r"(?<!\\)!\[", outside)
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("plain", "safe"),
    [
        ("a*b_c", "a\\*b\\_c"),
        ("a\n\n# b", "a \\# b"),
        ("<b>&", "&lt;b\\>&amp;"),
        ("a|b", "a\\|b"),
    ],
)
def test_what_means_something_is_escaped(plain: str, safe: str) -> None:
    assert text(plain) == safe


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced(["a ```` b"])[0] == "`````text"


def test_an_exchange_ends_with_its_contradiction_and_tells_what_the_client_said_last() -> None:
    def step(n: int, direction: str, method: str, connection: str = "c1", interest: bool = True) -> dict[str, Any]:
        return {
            "n": n,
            "seq": n,
            "direction": direction,
            "connection": connection,
            "channel": 1,
            "method": method,
            "text": f"{method} m{n}",
            "interest": interest,
            "raw": "",
        }

    many = [step(n, "<" if n % 2 else ">", "basic.get-ok" if n % 2 else "basic.get") for n in range(1, 60)]
    last = [
        step(60, ">", "basic.cancel-ok", interest=False),
        step(61, ">", "queue.delete", "c2", interest=False),
        step(62, "<", "connection.close"),
    ]
    lines = exchange({"at": 62, "steps": [*many, *last]})
    assert lines[-2].split() == ["60", ">", "c1.1", "basic.cancel-ok", "m60"]
    assert lines[-1].startswith("✕  62")
    assert len(lines) == 40
    assert lines[20] == "  ... 22 more"
