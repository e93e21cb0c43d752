"""The page about many brokers: columns in order, a verdict over all of them, evidence by broker, and small enough."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue import rules
from conformance.session.brokers import resolve
from reference_broker import ReferenceBroker
from reports.html import render_many
from reports.html.room import ROOM
from reports.html.runs import OURS, columns, verdict
from tools.pages.compatibility import digest

Results = dict[str, Any]
LIMIT = 10_000 * len(rules.CATALOGUE)
"""Octets: so much a page about ten brokers may take for each rule."""


def named(results: Results, product: str, version: str, profile: str = "documented", **server: str) -> Results:
    made = copy.deepcopy(results)
    made["profile"] = profile
    made["broker"].update(
        name=f"{product} {version}",
        product=product,
        version=version,
        server_properties={"product": product, "version": version, **server},
    )
    return made


def imitation(results: Results, profile: str) -> Results:
    return named(results, "RabbitMQ", "3.8.9", profile, information=OURS)


def keys(*documents: Results) -> list[str]:
    return [run.key for run in columns(documents)]


@pytest.fixture
def four(results: Results, clean_results: Results) -> list[Results]:
    """Two real brokers, the imitation of the first, and the measure of all."""
    return [
        named(results, "RabbitMQ", "3.8.9", "rabbitmq-3.8"),
        named(clean_results, "RabbitMQ", "4.3.6", "rabbitmq-4.3"),
        imitation(clean_results, "rabbitmq-3.8"),
        imitation(clean_results, "documented"),
    ]


def test_an_imitation_stands_beside_the_broker_it_imitates_and_the_measure_first(four: list[Results]) -> None:
    assert keys(*four) == ["reference-documented", "rabbitmq-3.8.9", "reference-rabbitmq-3.8", "rabbitmq-4.3.6"]


def test_the_reference_broker_says_what_it_is_in_every_dialect() -> None:
    with ReferenceBroker(product="RabbitMQ", version="3.8.9") as broker:
        assert resolve(broker.url).server_properties["information"] == OURS


def test_no_broker_is_lost_and_no_two_share_a_key(results: Results) -> None:
    same = named(results, "RabbitMQ", "3.8.9", "rabbitmq-3.8")
    odd = named(results, "</td>", "")
    assert keys(same, same, imitation(results, "rabbitmq-3.8"), same, odd) == [
        "rabbitmq-3.8.9",
        "rabbitmq-3.8.9-2",
        "rabbitmq-3.8.9-3",
        "reference-rabbitmq-3.8",
        "td",
    ]
    assert keys(named(results, "兔子", "")) == ["broker"]


def test_the_headline_speaks_of_real_brokers(results: Results, clean_results: Results) -> None:
    alder, birch = named(clean_results, "Alder", "4"), named(results, "Birch", "2")
    broken = rules.get("ACK-010").title
    assert verdict(columns([alder, birch])) == (
        "One of two brokers passes the gate.",
        f"Birch 2 breaks “{broken}”, and 1 other rule is broken.",
    )
    assert verdict(columns([alder, named(clean_results, "Cedar", "1")])) == ("Both brokers pass the gate.", "")
    assert verdict(columns([alder, imitation(results, "documented")])) == (
        "Alder 4 passes the gate.",
        "The reference broker fails as documented.",
    )


def test_a_broker_that_is_wrong_on_purpose_stands_last_and_is_counted_nowhere(
    results: Results,
    clean_results: Results,
    parse: Callable[[str], Any],
) -> None:
    mutant = imitation(results, "documented")
    mutant["broker"]["name"] = "amqp-conformance reference 0.1.0 with requeue.batch-reversed"
    alder = named(clean_results, "Alder", "4")
    runs = columns([mutant, alder, imitation(clean_results, "documented")])
    assert [run.key for run in runs][-1] == "mutant-requeue.batch-reversed"
    assert verdict(runs) == ("Alder 4 passes the gate.", "")
    tree = parse(render_many([mutant, alder]))
    assert "Mutant requeue. batch-reversed 2 rules catch it ✓ fault caught wrong on purpose" in tree.text
    assert "What is wrong" not in tree.text
    assert not [row for row in tree.all("li") if "data-differs" in row]
    labels = {str(pin["href"]): str(pin["aria-label"]) for pin in tree.all("a", class_="pin")}
    assert labels["#/ACK-010/mutant-requeue.batch-reversed"].endswith(": broken")


def test_known_deviations_are_part_of_the_verdict(results: Results) -> None:
    results["rules"] = [rule for rule in results["rules"] if rule["verdict"] != "broken"]
    results["gate"] = {"open": True, "reasons": [], "warnings": []}
    runs = columns([named(results, "Alder", "4"), named(results, "Birch", "2")])
    assert verdict(runs)[0] == "Both brokers pass the gate, each with known deviations."


def test_each_rule_has_a_square_and_a_side_for_every_broker(four: list[Results], parse: Callable[[str], Any]) -> None:
    tree = parse(render_many(four))
    expected = {f"/{rule}/{run.key}" for rule in rules.CATALOGUE for run in columns(four)}
    assert {str(pin["href"])[1:] for pin in tree.all("a", class_="pin")} == expected
    sides = [str(found["id"]) for found in tree.all("section") if "side" in str(found.get("class")).split()]
    assert sorted(sides) == sorted(expected)
    ids = Counter(found["id"] for _, found in tree.elements if "id" in found)
    assert [name for name, times in ids.items() if times > 1] == []
    links = {str(found["href"])[1:] for _, found in tree.elements if str(found.get("href", "")).startswith("#")}
    assert links - set(ids) == {"/"}


def test_a_square_says_which_broker_and_which_verdict(four: list[Results], parse: Callable[[str], Any]) -> None:
    labels = {pin["href"]: pin["aria-label"] for pin in parse(render_many(four)).all("a", class_="pin")}
    assert labels["#/ACK-010/rabbitmq-3.8.9"] == "ACK-010, RabbitMQ 3.8.9: broken"
    assert labels["#/ACK-010/reference-rabbitmq-3.8"] == "ACK-010, Reference as rabbitmq-3.8: held"


def test_a_column_says_share_gate_and_deviations(four: list[Results], parse: Callable[[str], Any]) -> None:
    text = parse(render_many(four)).text
    assert "✕ gate closed 2 broken, 1 known deviation, 1 inconclusive, 1 under-tested" in text
    assert "100 % of MUST ✓ gate open none broken" in text


def test_rows_know_where_brokers_differ(four: list[Results], parse: Callable[[str], Any]) -> None:
    rows = {row["data-rule"]: row for row in parse(render_many(four)).all("li") if "data-rule" in row}
    assert {name for name, row in rows.items() if "data-differs" in row} == {
        "ACK-004",
        "ACK-010",
        "RQ-003",
        "MODE-003",
        "ERR-004",
        "ERR-006",
    }
    assert rows["ACK-010"]["data-groups"] == "failing held"


def test_a_rule_s_text_is_said_once_and_brokers_that_say_the_same_stand_together(
    results: Results,
    clean_results: Results,
    parse: Callable[[str], Any],
) -> None:
    birches = [named(results, "Birch", version) for version in ("2.8", "2.9")]
    others = [imitation(results, "documented"), named(clean_results, "Alder", "4")]
    text = parse(render_many([*birches, *others])).text
    assert text.count(rules.get("ACK-010").clause.strip()) == 1
    assert "Birch 2.8, 2.9; Reference as documented : Returned messages go to the tail of the log." in text
    assert "All : Returned messages go" in parse(render_many(birches)).text


def test_differences_of_an_imitation_are_listed_when_given(four: list[Results], parse: Callable[[str], Any]) -> None:
    differences = [
        {"rule": "ACK-010", "broker": "r38", "real": "deviates", "reference": "held", "explained": "So."},
        {"rule": "ACK-004", "real": {"broker": "R", "verdict": "broken"}, "reference": "held", "explained": None},
    ]
    tree = parse(render_many(four, differences))
    assert "2 differences; each is either explained" in tree.text
    assert "explained r38 : known deviation; reference broker: held. So." in tree.text
    assert "not explained The real broker : R, broken; reference broker: held." in tree.text
    assert not parse(render_many(four)).all("section", id="compare")


def test_a_rule_that_only_one_broker_s_results_know_is_shown(four: list[Results], parse: Callable[[str], Any]) -> None:
    four[0]["rules"].append({**four[0]["rules"][0], "id": "NEW-001", "title": "Of a newer suite", "verdict": "broken"})
    labels = {pin["href"]: pin["aria-label"] for pin in parse(render_many(four)).all("a", class_="pin")}
    assert labels["#/NEW-001/rabbitmq-3.8.9"] == "NEW-001, RabbitMQ 3.8.9: broken"
    assert labels["#/NEW-001/rabbitmq-4.3.6"] == "NEW-001, RabbitMQ 4.3.6: not in this run"


HOSTILE = "</style></script><img src=x onerror=alert(1)>\"'--><svg onload=alert(1)> {{ 7*7 }} \x1b[31m\u202e"


def test_hostile_strings_stay_text(four: list[Results], parse: Callable[[str], Any]) -> None:
    for document in four:
        document["broker"].update(name=HOSTILE, product=HOSTILE, version=HOSTILE)
        document.update(profile=HOSTILE, command=HOSTILE, suite=HOSTILE)
        document["gate"].update(reasons=[HOSTILE], warnings=[HOSTILE])
        for rule in document["rules"]:
            rule["reports"] = {HOSTILE: 1} if rule["reports"] else {}
            for case in rule["cases"]:
                case.update(observed=HOSTILE, allowed=HOSTILE, scene=HOSTILE, rerun=HOSTILE)
    page = render_many(four, [{"rule": HOSTILE, "real": HOSTILE, "reference": HOSTILE, "explained": HOSTILE}])
    tree = parse(page)
    assert not tree.all("img")
    assert not [name for _, found in tree.elements for name in found if name.startswith("on")]
    assert len(tree.all("script")) == 1
    assert "\u202e" not in page


def test_ten_brokers_that_break_everything_still_fit(results: Results, parse: Callable[[str], Any]) -> None:
    shown = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"][0]
    for rule in results["rules"]:
        if rule["status"] == "judged" and rule["level"] == "must":
            rule.update(
                verdict="deviates",
                cases=[{**shown, "id": f"{rule['id']}-1", "rule": rule["id"]}],
                deviation={"note": "It is so.", "reason": "x", "evidence": "docs/findings.md"},
            )
    ten = [named(results, "Broker with a long name", f"{number}.0") for number in range(10)]
    page = render_many(ten)
    tree = parse(page)
    pictures = [found for _, found in tree.elements if "ladder" in str(found.get("class", ""))]
    assert pictures
    assert "The exchange is too long for this page; it is in the results of Broker with a long name 9.0." in tree.text
    assert sum(map(len, re.findall(r'<svg class="ladder.*?</svg>', page, re.DOTALL))) < ROOM
    everything = sum(len(rule["cases"]) for document in ten for rule in document["rules"])
    assert tree.text.count("channel.close 406: the tag was settled before") >= everything


def test_ten_brokers_with_thirty_deviations_each_stay_small(results: Results) -> None:
    shown = next(rule for rule in results["rules"] if rule["id"] == "ACK-010")["cases"][0]
    for rule in [rule for rule in results["rules"] if rule["verdict"] == "held"][:30]:
        rule.update(
            verdict="deviates",
            cases=[{**shown, "id": f"{rule['id']}-1", "rule": rule["id"]}],
            deviation={"note": "It is so.", "reason": "x", "evidence": "docs/findings.md"},
        )
    ten = [named(results, "RabbitMQ", f"{number}.0.{number}") for number in range(10)]
    assert len(render_many(ten).encode()) < LIMIT


def test_a_page_about_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        render_many([])


def test_equal_results_give_an_equal_page(four: list[Results]) -> None:
    assert render_many(four) == render_many(copy.deepcopy(four))


def test_whole_runs_of_real_brokers_go_into_the_page_of_versions(results: Results, tmp_path: Path) -> None:
    part = {**named(results, "Alder", "4"), "selection": {"level": "may", "rules": "TMO-*", "strict": False}}
    for name, run in (("birch", results), ("alder", part), ("reference-documented", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(run), encoding="utf-8")
    (tmp_path / "compare.json").write_text("[]", encoding="utf-8")
    (only,) = digest(tmp_path)
    assert only["broker"] == "Birch 2.9"
    assert only["verdicts"]["broken"] == ["ACK-004", "ACK-010"]
    assert "planned" not in only["verdicts"]
