"""The results document: its schema, its stability, and what it says of a ledger."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import conformance
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.rules import CATALOGUE
from conformance.oracle.verdicts import Finding
from conformance.outcome import gate
from conformance.outcome.assemble import Frame, build
from conformance.outcome.bare import without_deviations
from conformance.outcome.failing import COMMON, HABIT
from conformance.outcome.ledger import (
    Broker,
    CheckEntry,
    ExchangeStep,
    Incident,
    Ledger,
    Trouble,
    Witness,
    decode,
    encode,
    gist,
)
from conformance.outcome.results import BadResults, Results, RuleResult, Selection, from_json, to_json

SCHEMA = json.loads((Path(conformance.__file__).parent / "schemas" / "results.json").read_text())
BROKER = Broker(
    "Test 1.0",
    "amqp://guest@host:5672/%2F",
    "Test",
    "1.0",
    {"product": "Test"},
    {"channel_max": 2047, "frame_max": 131072, "heartbeat": 0},
    ("basic.nack", "publisher_confirms"),
)
FRAME = Frame(
    run="r1",
    started="2026-11-21T15:00:00Z",
    seconds=1.25,
    command="amqp-conformance run",
    rerun="amqp-conformance run",
    seed=7,
    depth="ci",
    selection=Selection("may", "*", False),
    known=gate.Known(),
)
STEP = ExchangeStep(1, ">", "c1", 1, "basic.ack 2 multiple", "basic.ack", "01ce", True)


def finding(rule: str = "ACK-002", observed: str = "tag 3 stays", *, certain: bool = True, at: int = 9) -> Finding:
    return Finding(rule, "h", at, "tags 1 to 3 are settled", observed, (4, at), certain)


def entry(scene: str, **given: object) -> CheckEntry:
    base = CheckEntry(
        scene, "classic", ("ACK-002",), BROKER, "rabbitmq-3.10", ("classic", "quorum"), histories=1, events=10
    )
    return replace(base, **given)  # type: ignore[arg-type]


def ledger(*entries: CheckEntry) -> Ledger:
    made = Ledger()
    for number, one in enumerate(entries):
        assert made.take(f"{number} {one.scene}", [("conformance", encode(one))])
    return made


def verdicts(results: Results) -> dict[str, str]:
    return {rule.id: rule.verdict for rule in results.rules}


def rule_of(results: Results, name: str) -> RuleResult:
    return next(rule for rule in results.rules if rule.id == name)


FULL = (
    entry("a", exercised={"ACK-002": 3, "TAG-001": 1}, reports={"TAG-004": {"no gap": 2}}),
    entry("b", queue_type="quorum", exercised={"ACK-002": 1}, witnesses=(Witness(finding(), (STEP,)),)),
    entry("c", exercised={"ACK-004": 1}, witnesses=(Witness(finding("ACK-004", certain=False)),)),
    entry("d", rules=("ACK-005",), trouble=Trouble("d", "classic", "harness", "KeyError")),
)


def test_the_document_follows_the_published_schema() -> None:
    document = json.loads(to_json(build(ledger(*FULL), FRAME)))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(document, SCHEMA)
    ids = [rule["id"] for rule in document["rules"]]
    assert ids == [name for name in CATALOGUE if name in ids]


def test_what_another_broken_rule_explains_is_not_certain() -> None:
    """ACK-001 loses a message as AUTO-004 does: it is broken for certain only on a broker that keeps the other."""
    doubtful = entry("a", witnesses=(Witness(replace(finding("ACK-001"), unless=("AUTO-004",))),))
    proof = entry("b", witnesses=(Witness(finding("AUTO-004")),))
    hint = entry("b", witnesses=(Witness(finding("AUTO-004", certain=False)),))
    kept = entry("c", exercised={"AUTO-004": 1})
    circle = entry("b", witnesses=(Witness(replace(finding("AUTO-004"), unless=("ACK-001",))),))
    assert verdicts(build(ledger(doubtful), FRAME))["ACK-001"] == "broken"
    assert verdicts(build(ledger(doubtful, hint, kept), FRAME))["ACK-001"] == "broken"
    assert verdicts(build(ledger(doubtful, hint), FRAME))["ACK-001"] == "inconclusive", "suspected, never seen to hold"
    assert verdicts(build(ledger(doubtful, circle), FRAME))["ACK-001"] == "broken"
    both = verdicts(build(ledger(doubtful, proof), FRAME))
    assert (both["ACK-001"], both["AUTO-004"]) == ("inconclusive", "broken")
    further = entry("d", witnesses=(Witness(replace(finding("ACK-002"), unless=("ACK-001",))),))
    assert verdicts(build(ledger(doubtful, further), FRAME))["ACK-002"] == "inconclusive", "ACK-001 has no other cause"
    assert verdicts(build(ledger(doubtful, proof, further), FRAME))["ACK-002"] == "inconclusive", "AUTO-004 is that"
    excuse = Deviation("AUTO-004", "stays", "a bug", "issue 1", "me", None, ("classic", "quorum"))
    known = replace(FRAME, known=gate.Known((excuse,)))
    assert verdicts(build(ledger(doubtful, proof), known))["ACK-001"] == "broken", "its consequences were known as well"


HERE = Deviation("AUTO-004", "stays", "a bug", "issue 1", "me", None, ("classic",), where="tag-taken")
SELDOM = replace(HERE, intermittent=True, at_most=0.1)


@pytest.mark.parametrize(
    ("known", "where", "verdict"),
    [
        (HERE, "tag-taken connection c1", "inconclusive"),
        (replace(SELDOM, at_most=1), "tag-taken connection c1", "inconclusive"),
        (SELDOM, "tag-taken connection c1", "broken"),
        (HERE, "long-tag-of-requester connection c1", "broken"),
        (replace(HERE, queue_types=("quorum",)), "tag-taken connection c1", "broken"),
        (replace(HERE, rule="ACK-004"), "tag-taken connection c1", "broken"),
    ],
    ids=["here", "now and then", "a rare race", "elsewhere", "on another queue type", "another rule"],
)
def test_what_is_known_to_be_broken_explains_what_happens_just_there(
    known: Deviation, where: str, verdict: str
) -> None:
    """LavinMQ loses what a transaction has settled that recovers and rolls back (TX-002): where the queue was purged
    meanwhile, QUEUE-019 would be accused of that loss."""
    found = replace(finding("ACK-001"), unless=("AUTO-004",), where=(where,))
    frame = replace(FRAME, known=gate.Known((known,)))
    assert verdicts(build(ledger(entry("a", witnesses=(Witness(found),))), frame))["ACK-001"] == verdict
    listed = gate.Known((known, replace(HERE, rule="ACK-001")))
    seen = verdicts(build(ledger(entry("a", witnesses=(Witness(found),))), replace(FRAME, known=listed)))
    assert seen["ACK-001"] == ("deviates" if "tag-taken" in where else verdict), "its own entry comes first"


def internal_errors(scenes: int) -> list[CheckEntry]:
    """ACK-002 is broken in the last scene, by an internal error that came in all; ERR-012 is broken in the first."""
    words, seen = (
        "connection.close 541 'no such file' after queue.declare",
        "connection: close 541 'no such file' (0, 0)",
    )
    told = {"incidents": (Incident("closed", words, "s", "classic"),)}
    found = [entry(str(number), **told) for number in range(scenes)]
    found[0] = replace(found[0], witnesses=(Witness(finding("ERR-012", seen)),))
    return [*found[:-1], replace(found[-1], witnesses=(Witness(finding(observed=seen)),))]


@pytest.mark.parametrize(("scenes", "verdict"), [(COMMON - 1, "broken"), (COMMON, "inconclusive")])
def test_an_internal_error_that_comes_everywhere_is_held_against_no_single_rule(scenes: int, verdict: str) -> None:
    found = verdicts(build(ledger(*internal_errors(scenes)), FRAME))
    assert (found["ACK-002"], found["ERR-012"]) == (verdict, "broken")


def test_an_internal_error_that_is_no_finding_explains_nothing() -> None:
    scenes = internal_errors(COMMON)
    assert verdicts(build(ledger(replace(scenes[0], witnesses=()), *scenes[1:]), FRAME))["ACK-002"] == "broken"


def silent_ends(scenes: int) -> list[CheckEntry]:
    """In each of these scenes a connection ended over what was sent there, and the scene was lost."""
    witness = Witness(replace(finding(), silent=True))
    return [
        entry(str(number), witnesses=(witness,), trouble=Trouble(str(number), "classic", "lost", "fin"))
        for number in range(scenes)
    ]


@pytest.mark.parametrize(("scenes", "verdict"), [(HABIT - 1, "inconclusive"), (HABIT, "broken")])
def test_a_connection_that_ends_without_a_word_is_held_against_the_broker_that_does_so_again_and_again(
    scenes: int, verdict: str
) -> None:
    results = build(ledger(*silent_ends(scenes)), FRAME)
    assert verdicts(results)["ACK-002"] == verdict
    assert len(results.troubles) == (0 if verdict == "broken" else scenes), "else it is lost, and closes the gate"
    assert not results.gate.open


def test_or_that_did_so_when_the_scene_was_played_again() -> None:
    witness = Witness(replace(finding(), silent=True), reproduced="2 of 2")
    assert verdicts(build(ledger(entry("one", witnesses=(witness,))), FRAME))["ACK-002"] == "broken"


def test_the_schema_refuses_what_no_run_can_say() -> None:
    document = json.loads(to_json(build(ledger(*FULL), FRAME)))
    document["rules"][0]["verdict"] = "fine"
    with pytest.raises(jsonschema.ValidationError, match="fine"):
        jsonschema.validate(document, SCHEMA)


def test_reading_gives_back_what_was_written() -> None:
    before = build(ledger(*FULL), FRAME)
    assert from_json(to_json(before)) == before


def test_fields_of_a_newer_version_are_dropped() -> None:
    document = json.loads(to_json(build(ledger(*FULL), FRAME)))
    document["new"], document["rules"][0]["new"], document["broker"]["new"] = 1, 2, 3
    assert from_json(json.dumps(document)) == build(ledger(*FULL), FRAME)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "amqp-conformance/results/2"}',
        '{"schema": "amqp-conformance/results/1", "rules": 3}',
    ],
)
def test_another_document_is_refused_in_words(text: str) -> None:
    with pytest.raises(BadResults):
        from_json(text)


def test_a_wrong_value_is_named_with_its_place() -> None:
    document = json.loads(to_json(build(ledger(*FULL), FRAME)))
    document["rules"][2]["exercised"] = "often"
    with pytest.raises(BadResults, match=r"Expected `int`, got `str` - at `\$\.rules\[2\]\.exercised`"):
        from_json(json.dumps(document))


def test_an_entry_carries_whatever_a_broker_said() -> None:
    odd = replace(FULL[3], broker=replace(BROKER, server_properties={"a": "\ud800", "b": 2**70, "c": float("inf")}))
    assert decode(encode(odd)) == odd


def test_the_order_of_arrival_does_not_show() -> None:
    nodes = [(f"node {n}", one) for n, one in enumerate(FULL)]
    documents = set()
    for seed in range(6):
        random.Random(seed).shuffle(nodes)
        shuffled = Ledger()
        for node, one in nodes:
            shuffled.take(node, [("other", 1), ("conformance", encode(one))])
        documents.add(to_json(build(shuffled, FRAME)))
    assert len(documents) == 1


def test_an_entry_survives_the_trip_and_counts_once() -> None:
    made = Ledger()
    for _ in range(3):
        assert made.take("node", [("conformance", encode(FULL[1]))])
    assert made.entries == [FULL[1]]
    assert decode(encode(FULL[3])) == FULL[3]


def test_a_report_without_an_entry_is_not_taken() -> None:
    assert not Ledger().take("node", [("other", "x")])


def test_verdicts_come_from_findings_and_coverage() -> None:
    seen = verdicts(
        build(
            ledger(*FULL),
            FRAME,
        )
    )
    assert seen["ACK-002"] == "broken"
    assert seen["ACK-004"] == "inconclusive"
    assert seen["ACK-005"] == "harness-error"
    assert "ACK-006" not in seen, "no check of ACK-006 was part of this run"
    assert seen["CAN-016"] == "not-judgeable"


@pytest.mark.parametrize(
    ("checks", "stale"),
    [
        ((entry("a", exercised={"ACK-002": 9}, met={"tag-taken": 1}),), True),
        ((entry("a", exercised={"ACK-002": 9}),), False),
        ((entry("a", exercised={"ACK-002": 9}), entry("b", exercised={"TAG-001": 1}, met={"tag-taken": 1})), False),
        ((entry("a", exercised={"ACK-002": 9}), entry("b", queue_type="quorum", met={"tag-taken": 1})), False),
    ],
    ids=["here", "nowhere", "without the rule", "on another queue type"],
)
def test_an_entry_is_stale_only_where_its_circumstances_arose(checks: tuple[CheckEntry, ...], stale: bool) -> None:
    known = Deviation("ACK-002", "stays", "a bug", "issue 1", "me", None, ("classic",), where="tag-taken")
    reasons = build(ledger(*checks), replace(FRAME, known=gate.Known((known,)))).gate.reasons
    assert any("is stale" in reason for reason in reasons) is stale


def test_a_known_race_that_was_not_met_is_no_reason_to_say_that_a_rule_holds() -> None:
    race = Deviation("ACK-002", "stays", "a race", "issue 1", "me", None, ("quorum",), intermittent=True)
    seen = ledger(entry("a", exercised={"ACK-002": 3}))
    for frame, verdict in (
        (replace(FRAME, known=gate.Known((race,))), "unseen"),
        (replace(FRAME, known=gate.Known((replace(race, intermittent=False),))), "held"),
        (replace(FRAME, known=gate.Known((replace(race, rule="ACK-004"),))), "held"),
        (replace(FRAME, known=gate.Known((race,), sought=False)), "held"),
    ):
        results = build(seen, frame)
        assert rule_of(results, "ACK-002").verdict == verdict
        assert without_deviations(results).open, "what this run saw does not close it"
    unmet = rule_of(build(seen, replace(FRAME, known=gate.Known((race,)))), "ACK-002")
    assert unmet.deviation is not None
    assert unmet.deviation["note"] == "a race"
    assert unmet.reason == "a known race breaks it now and then; this run did not see it"
    rarely = ledger(entry("a", exercised={"ACK-002": 0}))
    for known in (gate.Known((race,)), gate.Known()):
        assert rule_of(build(rarely, replace(FRAME, known=known)), "ACK-002").verdict == "under-tested"


def test_a_rule_whose_own_checks_were_not_played_is_not_held_by_what_others_saw() -> None:
    other = entry("machine", rules=(), exercised={"ACK-002": 5})
    cut = entry("own", histories=0, events=0, unplayed="the run reached its time limit")
    refused = entry("refused", histories=0, events=0)
    unreached = rule_of(build(ledger(other, cut, refused), FRAME), "ACK-002")
    assert unreached.verdict == "under-tested"
    assert unreached.reason == "none of the checks of this rule was played: the run reached its time limit"
    for entries in ((other,), (other, refused), (other, cut, entry("another"))):
        assert rule_of(build(ledger(*entries), FRAME), "ACK-002").verdict == "held"


@pytest.mark.parametrize(("missing", "verdict"), [("QUEUE-001", "under-tested"), ("EXCH-001", "held")])
def test_who_finds_whatever_is_looked_for_shows_nothing_by_that(missing: str, verdict: str) -> None:
    asked = entry("s1", rules=("QUEUE-032",), exercised={"QUEUE-032": 3})
    wrong = entry("s2", rules=(missing,), exercised={missing: 1}, witnesses=(Witness(finding(missing), ()),))
    assert rule_of(build(ledger(asked, wrong), FRAME), "QUEUE-032").verdict == verdict


def test_a_machine_makes_every_judged_rule_part_of_the_run() -> None:
    seen = verdicts(build(ledger(entry("machine", rules=(), exercised={"ACK-001": 5})), FRAME))
    assert seen["ACK-001"] == "held"
    assert seen["ACK-006"] == "under-tested"


def test_an_interrupted_run_lists_what_it_did_not_reach() -> None:
    cut = build(ledger(FULL[0]), replace(FRAME, complete=False))
    assert verdicts(cut)["ACK-006"] == "under-tested"
    assert not cut.gate.open
    assert not cut.complete


def test_a_rule_that_the_broker_cannot_be_asked_for_is_not_offered() -> None:
    made = build(ledger(entry("a", rules=(), queue_types=("classic",))), FRAME)
    only_quorum = [
        rule
        for rule in CATALOGUE.values()
        if rule.judged and rule.queue_types == ("quorum",) and rule.capability is None
    ]
    assert only_quorum
    for rule in only_quorum:
        assert rule_of(made, rule.id).verdict == "not-offered"
        assert rule_of(made, rule.id).reason == "the broker does not offer quorum queues"


def test_a_capability_that_is_missing_is_named() -> None:
    rule = replace(CATALOGUE["ACK-001"], capability="basic.nack")
    poor = entry("a", broker=replace(BROKER, capabilities=()), rules=(), exercised={"ACK-001": 3})
    result = build(ledger(poor), FRAME, {rule.id: rule}).rules[0]
    assert (result.verdict, result.reason) == ("not-offered", "the broker does not offer basic.nack")


def test_a_selection_leaves_out_what_nobody_asked_for_unless_it_is_broken() -> None:
    frame = replace(FRAME, selection=Selection("may", "ACK-001", False))
    made = build(ledger(*FULL), frame)
    assert [rule.id for rule in made.rules if not rule.selected] == ["ACK-002", "ACK-004"]
    assert not any("ACK-002" in reason for reason in made.gate.reasons)
    assert any("ACK-002" in warning for warning in made.gate.warnings)


def test_findings_of_one_kind_are_one_case_with_the_clearest_exchange() -> None:
    long = tuple(replace(STEP, n=n) for n in range(1, 5))
    seen = [
        entry("x", witnesses=(Witness(finding(observed="tag 3 stays"), long),)),
        entry("y", witnesses=(Witness(finding(observed="tag 7 stays"), (STEP,), seen=4),)),
        entry("z", witnesses=(Witness(finding(observed="tag 9 stays")),)),
        entry("w", witnesses=(Witness(finding(observed="tag 3 vanished")),)),
    ]
    first, second = rule_of(build(ledger(*seen), FRAME), "ACK-002").cases
    assert (first.id, first.scene, first.seen, first.steps) == ("ACK-002-1", "y", 6, (STEP,))
    assert (second.id, second.scene) == ("ACK-002-2", "w")
    assert first.rerun == "amqp-conformance run --rules ACK-002 --seed 7"


def test_a_gist_has_no_numbers_and_no_names() -> None:
    assert gist("tags 1, 2 and 3 of q1.x came back") == gist("tags 4, 5, 6 and 9 of q7.y came back")
    assert gist("tag 3 stays") != gist("tag 3 vanished")


def test_totals_count_the_rules_that_are_listed() -> None:
    made = build(ledger(*FULL), FRAME)
    assert sum(made.totals.values()) == len(made.rules)
    assert made.events == 40


CHANNEL = {"consumer_timeout": "channel", "timeout_of_queue": "ignored"}


@pytest.mark.parametrize(
    ("given", "choices", "reason"),
    [
        (
            {},
            {},
            'needs a short timeout of the node: "consumer_timeout = 5000" in its rabbitmq.conf, and '
            "--consumer-timeout 5000 here",
        ),
        ({"timeout": 5000}, {}, "exercised 0 times, and 1 are needed"),
        ({}, {"timeout_of_queue": "heeded"}, "exercised 0 times, and 1 are needed"),
    ],
)
def test_a_rule_that_only_a_short_timeout_of_the_node_can_show_says_so(
    given: dict[str, int],
    choices: dict[str, str],
    reason: str,
) -> None:
    made = build(ledger(entry("a", rules=("TMO-024",), choices={**CHANNEL, **choices})), replace(FRAME, **given))  # type: ignore[arg-type]
    assert (rule_of(made, "TMO-024").verdict, rule_of(made, "TMO-024").reason) == ("under-tested", reason)


def test_what_a_broker_does_otherwise_is_told_beside_what_it_does_not_offer() -> None:
    rule = rule_of(build(ledger(entry("a", rules=("TMO-006",), choices=CHANNEL)), FRAME), "TMO-006")
    assert rule.verdict == "not-offered"
    assert rule.reason == (
        "by the profile consumer_timeout is channel: the channel, about once a minute, by its oldest unacknowledged "
        "delivery; it closes the channel."
    )
