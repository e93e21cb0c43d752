"""Broken rules are grouped by the wrong decision that explains them, and it is said in words which one that may be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from conformance.campaigns import likeness
from conformance.campaigns.likeness import exactly, faults
from conformance.evidence.words import fault
from conformance.outcome.ledger import Witness
from conformance.outcome.results import Fault, Results, from_json, to_json
from reference_broker.mutants import MUTANTS
from reports.html import render
from tests.conformance.outcome.test_results import FRAME, build, entry, finding, ledger

Row = dict[str, Any]
CROSSES, ZERO = "settle.crosses-channels", "tags.start-at-zero"


def reproducer_of(*rows: Row) -> tuple[Row, ...]:
    """One connection, two channels, the message m1 in a queue; then these rows, on channel 2 or as they say."""
    head: list[Row] = [{"who": "-", "method": "connect", "capabilities": {}}]
    for channel in (1, 2):
        head += [
            {"who": ">", "channel": channel, "method": "channel.open"},
            {"who": "<", "channel": channel, "method": "channel.open-ok"},
        ]
    head += [
        {"who": ">", "channel": 1, "method": "queue.declare", "queue": "{q1}"},
        {"who": "<", "channel": 1, "method": "queue.declare-ok", "queue": "{q1}"},
        {"who": ">", "channel": 1, "method": "basic.publish", "routing_key": "{q1}", "body": "m1"},
        {"who": ">", "channel": 2, "method": "basic.get", "queue": "{q1}"},
    ]
    return tuple({"n": n, "on": "c1", "channel": 2, **row} for n, row in enumerate([*head, *rows], 1))


TAKEN: Row = {"who": "<", "method": "basic.get-ok", "message": "m1"}
CROSSED = reproducer_of(
    TAKEN,
    {"who": ">", "channel": 1, "method": "basic.ack", "multiple": True},
    {"who": ">", "method": "basic.ack", "delivery_tag": "@10"},
    {"who": "<", "method": "channel.close", "reply_code": 406, "decisive": True},
)
"""Tag 0 with multiple on channel 1 has settled what channel 2 holds."""
FROM_ZERO = reproducer_of({**TAKEN, "delivery_tag": 0, "decisive": True})
NEVER_SEEN = reproducer_of({**TAKEN, "message": "m2", "decisive": True})


def results(**stories: tuple[Row, ...]) -> Results:
    """Rules by their ids with _ for -, each broken in the exchange of this reproducer."""
    witnesses = [
        Witness(finding(rule, f"{rule[:3]} is wrong"), story=told)
        for name, told in stories.items()
        for rule in [name.replace("_", "-")]
    ]
    return build(ledger(entry("a", witnesses=tuple(witnesses), profile="documented")), FRAME)


def groups(found: Results) -> Mapping[str, Fault]:
    return {one.rule: one for one in faults(found)}


def test_what_one_mutant_answers_alike_is_one_fault_named_by_its_rule() -> None:
    found = groups(results(ACK_004=CROSSED, MODE_001=CROSSED, TAG_001=FROM_ZERO))
    assert [one.rules for one in found.values()] == [("ACK-004", "MODE-001"), ("TAG-001",)]
    assert found["ACK-004"].mutants == (CROSSES,)
    assert found["ACK-004"].sentence == f"The broker behaves as if {MUTANTS[CROSSES].says}."
    assert ZERO in found["TAG-001"].mutants


def test_what_nobody_answers_alike_is_like_nothing() -> None:
    (one,) = faults(results(ACK_004=NEVER_SEEN))
    assert (one.rule, one.rules, one.like, one.sentence) == ("ACK-004", ("ACK-004",), (), "")


def test_what_an_honest_broker_answers_alike_explains_nothing() -> None:
    """Headers and properties are not in the script: whoever plays it seems to be wrong."""
    found = groups(results(RQ_016=reproducer_of({**TAKEN, "decisive": True}), TAG_001=FROM_ZERO))
    assert [one.rules for one in found.values()] == [("TAG-001",), ("RQ-016",)]
    assert found["RQ-016"].mutants == ()


def test_what_has_no_story_is_asked_for_in_its_scene() -> None:
    """Deliveries of a cancelled consumer go back at once: by AUTO-008 as well, and by no rule about prefetch."""
    scene = entry(
        "a_channel_is_closed[classic]",
        rules=("AUTO-001",),
        profile="documented",
        witnesses=(Witness(finding("AUTO-008", "m3 is delivered")), Witness(finding("QOS-001", "too much"))),
    )
    cancelled = reproducer_of(
        {"who": "<", "method": "basic.get-ok", "message": "m1"},
        {"who": ">", "method": "basic.consume", "queue": "{q1}", "consumer_tag": "c"},
        {"who": "<", "method": "basic.consume-ok", "consumer_tag": "c"},
        {"who": ">", "channel": 1, "method": "basic.publish", "routing_key": "{q1}", "body": "m2"},
        {"who": "<", "method": "basic.deliver", "message": "m2"},
        {"who": ">", "method": "basic.cancel", "consumer_tag": "c"},
        {"who": "<", "method": "basic.cancel-ok", "consumer_tag": "c"},
        {"who": ">", "method": "basic.ack", "delivery_tag": "@14"},
        {"who": "<", "method": "channel.close", "reply_code": 406, "decisive": True},
    )
    told = entry("b", profile="documented", witnesses=(Witness(finding("ACK-016", "close 406"), story=cancelled),))
    found = groups(build(ledger(scene, told), FRAME))
    assert found["ACK-016"].rules == ("ACK-016", "AUTO-008")
    assert found["ACK-016"].mutants == ("settle.cancel-requeues",)
    assert found["QOS-001"].mutants == ()


def test_who_answers_alike_gives_the_fault_the_name_that_they_share() -> None:
    (one,) = faults(results(TAG_001=FROM_ZERO, TAG_002=FROM_ZERO))
    assert set(one.mutants) >= {ZERO}
    assert one.rule in set.intersection(*(set(MUTANTS[name].rules) for name in one.mutants))


def test_a_mutant_whose_rule_is_in_doubt_may_explain_what_is_not() -> None:
    doubt = Witness(finding("ACK-004", "m1 is back", certain=False))
    proven = Witness(finding("MODE-001", "m1 is gone"), story=CROSSED)
    found = build(ledger(entry("a", witnesses=(doubt, proven), profile="documented")), FRAME)
    (one,) = faults(found)
    assert (one.rule, one.mutants) == ("MODE-001", (CROSSES,))


def test_an_exchange_that_cannot_be_played_goes_with_the_one_that_is_observed_alike() -> None:
    (one,) = faults(results(ACK_004=CROSSED, ACK_011=()))
    assert one.rules == ("ACK-004", "ACK-011")


def test_mistakes_that_are_let_pass_are_each_a_fault_of_its_own() -> None:
    """A broker that does not close a connection over one thing says nothing of another; one that says why does."""
    silent, said = "no connection.close comes", "close 500 'out of luck' (0, 0)"
    for observed, faulty in ((silent, 2), (said, 1)):
        pair = [
            Witness(replace(finding(rule, observed), allowed="connection.close 501 for what is wrong"))
            for rule in ("FRAME-001", "FRAME-003")
        ]
        found = build(ledger(entry("a", witnesses=tuple(pair), profile="documented")), FRAME)
        assert len(faults(found)) == faulty


def test_messages_that_are_not_there_may_have_been_lost_by_several_faults() -> None:
    for observed, faulty in (("get-empty", 2), ("the queue was drained, and did not deliver it", 2), ("get-ok 9", 1)):
        pair = [Witness(replace(finding(rule, observed), allowed="m1 is in q")) for rule in ("ROUTE-006", "ACK-011")]
        found = build(ledger(entry("a", witnesses=tuple(pair), profile="documented")), FRAME)
        assert len(faults(found)) == faulty


def test_without_time_there_are_groups_and_no_likeness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "SECONDS", {"ci": 0.0})
    assert [one.like for one in faults(results(ACK_004=CROSSED, TAG_001=FROM_ZERO))] == [(), ()]


def test_a_broker_that_breaks_nothing_has_no_fault() -> None:
    assert faults(build(ledger(entry("a", exercised={"ACK-002": 3})), FRAME)) == ()


def test_the_document_carries_faults_and_the_page_says_them() -> None:
    found = results(ACK_004=CROSSED, MODE_001=CROSSED)
    found = replace(found, faults=faults(found))
    again = from_json(to_json(found))
    assert again.faults == found.faults
    words = fault({"rule": again.faults[0].rule, "rules": again.faults[0].rules, "like": again.faults[0].like})
    assert words == f"It behaves as if {MUTANTS[CROSSES].says}. This also breaks MODE-001."
    assert f"As if {MUTANTS[CROSSES].says}" in render(json.loads(to_json(found)))


def test_in_a_scene_the_same_messages_tags_and_queues_must_be_wrong() -> None:
    """Of who overtakes whom, both ways break in the same words; names differ from run to run."""
    first = exactly("m1 first: it was in the queue before m2", "m2 is delivered, m1 not yet")
    assert first != exactly("m2 first: it was in the queue before m3", "m3 is delivered, m2 not yet")
    there = exactly("m1 in amqpconf.7d79f62c.gw0.411", "basic.get-ok of it from amqpconf.7d79f62c.gw0.413")
    assert there == exactly("m1 in amqpconf.campaign.main.7--", "basic.get-ok of it from amqpconf.campaign.main.9--")
    assert there != exactly("m1 in amqpconf.campaign.main.7", "basic.get-ok of it from amqpconf.campaign.main.8")
    assert not exactly("get-ok: m1 is in the queue", "get-empty")


@pytest.mark.parametrize(
    ("late", "like"), [("m2", "requeue.persistent-overtake"), ("m1", "requeue.transient-overtake")]
)
def test_who_overtakes_whom_is_not_mistaken(late: str, like: str) -> None:
    """Every other message is persistent. Who lets the transient ones pass is not like who lets the others pass."""
    early = f"m{int(late[1:]) + 1}"
    overtaken = finding("RQ-006", f"{early} is delivered, {late} not yet")
    overtaken = replace(overtaken, allowed=f"{late} first: it was in the queue before {early}")
    witnesses = (Witness(overtaken),)
    scene = entry("confirms_in_any_order[classic]", rules=("CNF-019",), profile="documented", witnesses=witnesses)
    assert groups(build(ledger(scene), FRAME))["RQ-006"].mutants == (like,)
