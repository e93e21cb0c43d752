"""The page: whole, self-contained, honest, readable without its script, and deaf to hostile strings."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from codec import methods as m
from conformance.catalogue import rules
from reports.html import render, render_many, visible
from reports.html.ecdf import LINES

JUDGED = sum(rule.judged for rule in rules.CATALOGUE.values())


@pytest.fixture
def tree(results: dict[str, Any], parse: Callable[[str], Any]) -> Any:
    return parse(render(results))


def test_every_rule_of_the_catalogue_has_a_square_a_row_and_a_panel(tree: Any) -> None:
    known = list(rules.CATALOGUE)
    pins = [str(pin["href"]) for pin in tree.all("a", class_="pin")]
    assert sorted(pins) == sorted(f"#/{name}" for name in known)
    areas = [rules.get(pin[2:]).family for pin in pins]
    names = [rules.FAMILIES[code].area for code in dict.fromkeys(areas)]
    assert len(list(groupby(names))) == len(set(names)), "families of one area stand together"
    assert [row["href"] for row in tree.all("a", class_="row")] == [f"#/{name}" for name in known]
    assert [panel["id"] for panel in tree.all("section", class_="case")] == [f"/{name}" for name in known]
    assert len(tree.all("section", id="/ACK-010/birch-2.9")) == 1


def test_ids_are_unique_and_every_internal_link_leads_somewhere(tree: Any) -> None:
    ids = Counter(found["id"] for _, found in tree.elements if "id" in found)
    assert [name for name, times in ids.items() if times > 1] == []
    links = {str(found["href"])[1:] for _, found in tree.elements if str(found.get("href", "")).startswith("#")}
    assert links - set(ids) == {"/"}, "only closing a panel leads nowhere"


def test_labels_that_are_pointed_at_exist(tree: Any) -> None:
    ids = {found["id"] for _, found in tree.elements if "id" in found}
    named = [name for _, found in tree.elements for name in str(found.get("aria-labelledby") or "").split()]
    assert named
    assert set(named) <= ids


def test_nothing_is_loaded_and_nothing_is_inline(tree: Any) -> None:
    for tag, found in tree.elements:
        assert "src" not in found
        assert "style" not in found
        assert not [name for name in found if name.startswith("on")]
        if tag == "link":
            assert str(found["href"]).startswith("data:")


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(tree: Any) -> None:
    policy = str(tree.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"])
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(tree.raw[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_headline_names_what_was_seen_most_often(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    text = parse(render(results)).text
    worst = rules.get("ACK-010").title
    assert f"Birch 2.9 does not pass the gate. It breaks 2 of {JUDGED - 1} rules judged, among them “{worst}”." in text


def test_reasons_that_need_room_get_a_panel(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    assert "3 reasons" not in parse(render(results)).text
    results["gate"]["reasons"] = [f"reason {number}, " + "at length " * 9 for number in range(3)]
    tree = parse(render(results))
    assert "3 reasons, 1 warning" in tree.text
    assert all(tree.text.count(reason.strip()) == 1 for reason in results["gate"]["reasons"])
    assert tree.all("section", id="gate")


def test_the_headline_of_a_clean_run(clean_results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    text = parse(render(clean_results)).text
    assert f"Birch 2.9 keeps all {JUDGED} rules judged." in text
    assert "What is wrong" not in text


def test_what_is_known_to_be_wrong_stands_above_the_charts_and_is_failing_when_asked(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    for rule in results["rules"]:
        if rule["verdict"] == "broken":
            rule.update(verdict="held", cases=[])
    results["gate"] = {"open": True, "reasons": [], "warnings": []}
    tree = parse(render(results))
    page = render(results)
    assert page.index("What is known to be wrong") < page.index("id=timing")
    assert "What is wrong" not in tree.text
    known = [row["data-rule"] for row in tree.all("li") if row.get("data-groups") == "known"]
    assert known == ["RQ-003"]
    assert tree.all("button", **{"data-show": "known"})


def test_how_to_live_with_what_is_broken_is_said_once(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    results["gate"]["advice"] = ["To accept what is broken as known: type this"]
    assert parse(render(results)).text.count("To accept what is broken as known: type this") == 1


def test_what_a_capture_did_not_show_is_said_instead_of_an_open_gate(
    clean_results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    clean_results["depth"] = "capture"
    clean_results["rules"][0].update(verdict="under-tested")
    judged = JUDGED
    text = parse(render(clean_results)).text
    assert f"Birch 2.9 was not seen to break anything. {judged - 1} of {judged} rules could be judged." in text


def test_what_was_not_judged_is_said_and_hollow(tree: Any) -> None:
    """One rule of the broker is about what it does not offer: that was not examined either."""
    assert f"{JUDGED - 1} of {len(rules.CATALOGUE)} rules were examined in this run." in tree.text
    silent = [row for row in tree.all("li") if row.get("data-groups") == "planned"]
    assert len(silent) == len(rules.CATALOGUE) - JUDGED
    labels = {str(pin["href"])[2:]: str(pin["aria-label"]) for pin in tree.all("a", class_="pin")}
    assert all(": planned." in labels[str(row["data-rule"])] for row in silent)


def test_a_rule_that_the_results_leave_out_is_not_called_planned(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    results["rules"] = [rule for rule in results["rules"] if rule["id"] != "ACK-001"]
    tree = parse(render(results))
    pin = tree.all("a", class_="pin", href="#/ACK-001")
    assert str(pin[0]["aria-label"]).startswith("ACK-001, must: not in this run.")
    assert f"{JUDGED - 2} of {len(rules.CATALOGUE)} rules were examined" in tree.text


def test_a_case_shows_both_sides_the_exchange_and_the_way_back(tree: Any) -> None:
    for words in (
        "channel.close 406: the tag was settled before",
        "basic.ack 2 multiple was accepted",
        "9 frames of interest",
        "waited 5000 ms in vain for an answer",
        "to the broker, c1 channel 1 · 21 octets",
        "--rules ACK-010 --seed 7",
    ):
        assert words in tree.text


def test_the_picture_has_words_and_marks_the_failing_step(tree: Any) -> None:
    pictures = [found for _, found in tree.elements if "ladder" in str(found.get("class", ""))]
    assert len(pictures) == 2
    assert all(found["role"] == "group" for found in pictures)
    assert "Step 16, waited 5000 ms in vain for an answer, contradicts ACK-010." in tree.text
    assert [found["class"] for found in tree.all("g") if "bad" in str(found["class"])] == [
        "rung bad",
        "rung bad vain",
    ]


def test_the_failing_step_is_the_one_at_which_the_finding_arose(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    case = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"][0]
    for step in case["steps"]:
        step["seq"] = 100 + step["n"]
    case["at"] = 113
    tree = parse(render(results))
    assert "Step 13, basic.get-ok 2 m2, contradicts ACK-010." in tree.text
    assert [found["id"] for found in tree.all("li", class_="bad")] == [
        "case-birch-2.9-ACK-004-1-18",
        "case-birch-2.9-ACK-010-1-13",
    ]


def test_a_run_of_like_frames_is_one_step_with_its_first_and_last_octets(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    case = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"][0]
    acks = [m.BasicAck(1, tag, False).encode() for tag in range(34, 91)]
    case["steps"][-1:-1] = [
        {**case["steps"][8], "n": 100 + n, "direction": ">", "text": f"basic.ack {34 + n}", "raw": raw.hex()}
        for n, raw in enumerate(acks)
    ]
    tree = parse(render(results))
    assert tree.text.count("basic.ack 34..90, 57 frames") == 3, "in the picture, in the list, and beside what is wrong"
    assert "delivery-tag 34" in tree.text
    assert "delivery-tag 90" in tree.text
    assert "delivery-tag 50" not in tree.text


def test_a_stretch_of_set_up_is_one_step_unless_it_is_what_fails(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    case = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"][0]
    quiet = {**case["steps"][6], "interest": False, "direction": ">"}
    case["steps"][7:7] = [
        {**quiet, "n": 70 + n, "text": text, "method": text.split()[0], "channel": 1 + n // 3}
        for n, text in enumerate(["channel.open-ok", "queue.declare q1", "queue.declare-ok q1", "channel.open"])
    ]
    for step in case["steps"]:
        step["seq"] = step["n"]
    case["at"] = 16
    assert parse(render(results)).text.count("sets up channels 1, 2 and q1") == 2
    case["at"] = 72
    text = parse(render(results)).text
    assert "Step 72, queue.declare-ok q1, contradicts ACK-010." in text
    assert text.count("sets up channel 1 and q1") == 2


def test_a_deviation_shows_its_note_and_evidence(tree: Any) -> None:
    assert "Returned messages go to the tail of the log." in tree.text
    assert tree.all("a", href="https://www.rabbitmq.com/docs/quorum-queues")


def test_evidence_that_is_no_web_address_is_no_link(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    rule = next(rule for rule in results["rules"] if rule["id"] == "RQ-003")
    rule["deviation"]["evidence"] = "javascript:alert(1)"
    tree = parse(render(results))
    assert not [found for _, found in tree.elements if "javascript" in str(found.get("href", ""))]
    assert "javascript:alert(1)" in tree.text


HOSTILE = "</style></script><img src=x onerror=alert(1)>\"'--><svg onload=alert(1)> {{ 7*7 }} \x1b[31m\u202e"


def test_hostile_strings_stay_text(
    results: dict[str, Any],
    before: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    results["broker"]["name"] = HOSTILE
    results["gate"]["reasons"] = [HOSTILE]
    results["broker"]["server_properties"]["capabilities"] = {HOSTILE: True}
    results["rules"][0]["reports"] = {HOSTILE: 1}
    for rule in results["rules"]:
        for case in rule["cases"]:
            case.update(observed=HOSTILE, allowed=HOSTILE, scene=HOSTILE, history=HOSTILE, rerun=HOSTILE)
            for step in case["steps"]:
                step.update(text=HOSTILE, connection=HOSTILE)
    before["broker"]["name"] = HOSTILE
    page = render(results, before=before)
    tree = parse(page)
    assert not tree.all("img")
    assert not [name for _, found in tree.elements for name in found if name.startswith("on")]
    assert len(tree.all("script")) == 1
    assert "{{ 7*7 }} \\u001b[31m\\u202e" in tree.text
    assert "\u202e" not in page


def test_malformed_octets_are_shown_as_what_they_are(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    rule = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")
    rule["cases"][0]["steps"][-1]["raw"] = "ffee01"
    text = parse(render(results)).text
    assert "FF EE 01 no frame octet 0: expected a frame type: 1, 2, 3 or 8, found" in text


def test_a_run_that_was_cut_short_says_so(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    results["complete"] = False
    assert "This run was cut short." in parse(render(results)).text


def test_changes_since_the_previous_run_are_told_worst_first(
    results: dict[str, Any],
    before: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    tree = parse(render(results, before=before))
    assert "Against 2026-11-13 08:00:00 UTC, same suite, depth and seed." in tree.text
    said = tree.text[tree.text.index("Changed since") :]
    places = [
        said.index(f"{rule} {rules.get(rule).title} {word}")
        for rule, word in (("ACK-004", "new"), ("ACK-010", "moved"), ("RQ-003", "changed"), ("MODE-001", "fixed"))
    ]
    assert places == sorted(places)
    assert "held → broken seen: m1 was gone after an ack on another connection" in said
    assert {row["data-rule"] for row in tree.all("li") if "data-changed" in row} == {
        "ACK-004",
        "ACK-010",
        "RQ-003",
        "MODE-001",
    }


def test_nothing_changed_is_said_and_nothing_is_said_without_a_previous_run(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    other = {**results, "run": "r0", "depth": "deep"}
    text = parse(render(results, before=other)).text
    assert "UTC, then depth deep. Nothing changed: every rule has the same verdict as before." in text
    assert "Changed since" not in parse(render(results)).text


def test_times_are_a_picture_with_its_figures(results: dict[str, Any], parse: Callable[[str], Any]) -> None:
    tree = parse(render(results))
    label = str(tree.all("svg", class_="ecdf")[0]["aria-label"])
    assert label == "Time to a publisher confirm. Birch 2.9: half within 750 µs, 99 % within 4.8 ms"
    assert "Birch 2.9 900 750 µs 2.5 ms 4.8 ms" in tree.text
    assert "within 0.1 s × 31, within 1 s × 2" in tree.text
    del results["timings"]
    assert "Time to a publisher confirm" not in parse(render(results)).text


def test_a_declared_capability_without_verdicts_is_shown_as_not_judged(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    results["broker"]["server_properties"]["capabilities"] = {"direct_reply_to": True, "publisher_confirms": False}
    said = parse(render(results)).text.partition("What it offers")[2]
    assert "direct_reply_to not judged ✓ declared" in said
    judged = sum(rule.family == "CNF" and rule.judged for rule in rules.CATALOGUE.values())
    assert f"publisher_confirms {judged} rules declared absent exercised {12 * judged}× {judged} held" in said


def test_the_trust_figures_stand_on_the_page_as_they_were_measured(
    results: dict[str, Any],
    trust: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    tree = parse(render(results, {**trust, "killed": 261, "false_alarms": 2}))
    assert "wrong brokers found by a rule that they break 261 of 262" in tree.text
    assert "false alarms in lawful runs of a correct broker 2 in 20 020 runs" in tree.text


def test_a_certificate_names_the_results_by_their_digest(
    results: dict[str, Any],
    parse: Callable[[str], Any],
) -> None:
    text = (json.dumps(results, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()
    said = parse(render(results)).text
    assert f"results sha256 {hashlib.sha256(text).hexdigest()}" in said
    assert "Birch 2.9 was examined on 2026-11-21" in said
    assert "does not pass the gate" in said


def test_equal_results_give_an_equal_page(results: dict[str, Any]) -> None:
    assert render(results) == render(results)


def test_control_and_direction_characters_are_written_out() -> None:
    assert visible("a\x00b\u202ec\n\td") == "a\\u0000b\\u202ec\n\td"
    assert visible({"a\x01": ["\ud800", 7]}) == {"a\\u0001": ["\\ud800", 7]}


def test_the_style_sheet_names_only_what_exists(
    results: dict[str, Any],
    clean_results: dict[str, Any],
    before: dict[str, Any],
    trust: dict[str, Any],
    tree: Any,
    parse: Callable[[str], Any],
) -> None:
    used = {name for _, found in tree.elements for name in str(found.get("class") or "").split()}
    styled = set(re.findall(r"\.([a-z][a-z0-9-]*)", re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", tree.raw["style"], flags=re.S)))
    many = parse(
        render_many(
            [results, clean_results | {"gate_without_deviations": {"open": False}}, *[results] * 5],
            [{"rule": "ACK-004", "real": "a", "reference": "b"}],
            trust,
            [before, clean_results, *[None] * 5],
        )
    )
    used |= {name for _, found in many.elements for name in str(found.get("class") or "").split()}
    by_script = {"js", "dim", "here", "gone", "copy"}
    elsewhere = {"harness", "beyond", "wrong", "note", "bad", "no", "ok", "ref", "said"}
    elsewhere |= {
        "box",
        "in",
        "unacked",
        "unconfirmed",
        "long",
        "trend",
        "strip",
        "beside",
        "pass",
        "stop",
        "bar-broken",
        "bar-deviates",
        "bar-doubt",
        "bar-harness",
    }
    elsewhere |= {f"l{place}" for place in range(LINES)}
    assert styled - used - by_script - elsewhere == set()
