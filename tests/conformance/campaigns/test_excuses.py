"""What is listed of RabbitMQ excuses that and nothing else: each entry made general, and each race made permanent.

Made general, a fault shows outside of the circumstances of its entry: by rule and words alone, for all entries; and on
a broker that imitates the version and is wrong in another way than that, for each rule of which there is such a mutant.
Made permanent, a race shows each time that it could. Where what was measured is near to always, no ceiling can tell a
broker that always does it from the one that is listed: these are named.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.campaigns.hunt import embedded, hunt
from conformance.catalogue import deviations, profiles, rules
from conformance.catalogue.deviations import Deviation
from conformance.catalogue.rules.circumstances import NAMES
from conformance.cli import main
from conformance.outcome import gate
from conformance.outcome.results import from_json
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS

IMITATED = ("rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3")
"""Of these the reference broker has a dialect."""
LAVINMQ = "lavinmq-2.9"
VERSIONS = (*IMITATED, LAVINMQ)
ENTRIES = [(name, entry) for name in VERSIONS for entry in deviations.load(name)]
RACES = [(name, entry) for name, entry in ENTRIES if entry.intermittent]
TEXTS = 15
"""So many texts of each entry; a text decides only whether the entry's expression matches."""
CHANCES = 25
"""As often as this, or nearly, a run at depth ci brings the circumstances of a race about, but for the rarest."""
ALWAYS = {
    "time-to-live",
    "dead-letters-go-on",
    "settlements-kept-back",
    "name-used-again",
    "get-meets-deletion",
    "killed-young",
    "limited-declares-again",
    "transient-message-restarted",
    "expiring-message-restarted",
    "alternate-after-others",
    "several-keys-to-alternate",
    "long-queue-name",
    "limited-names-long-queue",
    "limited-publishes-to-queues",
    "limited-names-dead-letters",
    "limited-names-more-keys",
    "binding-without-value",
    "priorities-under-channel-limit",
    "decimal-of-many-places",
    "limited-in-octets",
    "recover-in-transaction",
    "recover-in-transaction-here",
    "several-policies",
    "lease-by-both-changes",
    "last-queue-since",
    "priority-above-maximum",
}
"""Circumstances in which what is listed happens each time that a client does a certain thing, by what was measured."""
SELDOM = {(name, "get-meets-deletion") for name in ("rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0")}
"""Versions on which it is a race all the same."""
IMITATE = {
    "heard.one-too-many-frees-two",
    "heard.all-or-returned",
    "policies.own-lease-lost",
    "pieces.excess-cut",
    "rights.copies-by-any-key",
    "rights.blind-copies-by-any-key",
    "carbon.alternate-as-well",
    "headers.no-number-is-zero",
    "headers.floats-fail",
    "octets.weight-unseen",
    "octets.end-seen-too-late",
    "amid.ages-alone",
    "amid.octets-of-unacked",
    "byways.alternate-of-the-first",
    "failures.channel-0-closes",
    "policies.overflow-wins",
    "ranks.channel-waited-for",
    "policies.either-refuses",
    "transactions.recover-forgets",
    "ways.headers-onward",
    "beside.qos-of-the-same-write",
    "quiet.no-key",
    "naming.nothing-deleted",
    "reported.nothing-in-a-transaction",
    "naming.nothing-unbound",
    "naming.refusals-that-do-not-fit",
    "errors.crossing-close-unanswered",
    "cancel.client-answer-crashes",
    "prefetch.consumer-limit-clears",
    "prefetch.gets-fill-the-channel",
    "timeouts.stale-by-consumer-tag",
    "timeouts.second-is-lost",
    "timeouts.early-settlement-hides",
    "expiry.shown-again",
    "expiry.revived-for-a-moment",
    "settle.nack-zero-on-empty-refused",
    "settle.zero-on-empty-crashes",
    "errors.consumer-tag-reusable",
    "prefetch.running-consumers-follow",
    "slots.recovered-get-frees",
    "slots.namesake-is-credited",
    "routes.returned-when-full",
    "tags.frames-overtake",
    "cancel.notifies-everybody",
    "cancel.any-true-value",
    "cancel.capability-outside",
    "cancel.second-replaces-first",
    "octets.longer-body-taken",
    "octets.channel-0-content-dropped",
    "channels.last-queue-kept",
    "channels.zero-opened",
    "rights.any-alternate",
    "rights.deleted-users-stay",
    "getting.internal-error",
    "consuming.exclusive-joins",
    "exchanges.no-value-compared",
    "queues.locked-until-hung-up",
    "queues.last-of-the-connection",
    "consuming.exclusive-on-classic-only",
    "connections.crossing-discarded",
    "deadletters.copies-kept",
    "lengths.properties-count",
    "lengths.refused-are-taken",
    "replies.second-requester",
    "replies.tag-in-use",
    "replies.address-by-tag",
    "replies.made-up-crashes",
    "aging.early",
    "aging.zero-beside-consumers",
    "deadletters.limit-of-octets",
    "pairs.priorities-outlive",
    "single.exclusive-joins",
    "single.exclusive-first",
    "single.waits-for-the-former",
    "restarts.transient-exchanges-kept",
    "restarts.transient-messages-kept",
    "restarts.mark-lost",
    "restarts.expirations-untold",
    "expiry.reset-by-any-settlement",
    "timeouts.whole-consumer",
    "consuming.ranked-are-not-exclusive",
    "halfway.closed-by-a-channel",
    "halfway.last-queue-of-a-failed-one",
    "pairs.purge-keeps-octets",
    "lengths.returned-weigh-twice",
    "pairs.no-alternate-at-commit",
    "pairs.age-goes-on",
    "ways.two-alternates-at-most",
    "ways.void-is-no-hit",
    "deadletters.into-the-first",
    "complaints.granted-to-one-and-all",
    "complaints.no-wish-is-none",
    "complaints.the-limit-of-the-former",
    "complaints.cancelled-too-late",
    "holdings.gets-where-one-is-served",
    "trackers.given-back-and-buried",
    "restarts.exchange-once-durable",
    "trackers.longer-bodies-hang",
    "trackers.get-of-what-has-expired",
    "remains.fetched-unmarked",
    "unprepared.limits-side-by-side",
}
"""Mutants that do what an entry says, or that depth smoke does not find by a rule that is listed."""


def called(one: tuple[str, Deviation]) -> str:
    name, entry = one
    return f"{name.removeprefix('rabbitmq-')}-{entry.rule}-{'-'.join(entry.queue_types)}"


@pytest.mark.parametrize("one", ENTRIES, ids=called)
@settings(max_examples=TEXTS)
@given(data=st.data())
def test_the_words_of_an_entry_are_excused_in_its_circumstances_alone(
    one: tuple[str, Deviation],
    data: st.DataObject,
) -> None:
    name, entry = one
    observed = data.draw(st.from_regex(entry.reason))
    others = [f"{other} somewhere" for other in NAMES if other != entry.where]
    known = [other for other in deviations.load(name) if other == entry]
    assert deviations.excuse(known, entry.rule, observed, entry.queue_types[0], others) is None
    assert deviations.excuse(known, entry.rule, observed, entry.queue_types[0], ()) is None
    assert deviations.excuse(known, entry.rule, observed, entry.queue_types[0], [*others, f"{entry.where} here"]) == 0


@pytest.mark.parametrize("one", RACES, ids=called)
@pytest.mark.sampled(3)
def test_a_race_that_shows_each_time_is_no_race(one: tuple[str, Deviation]) -> None:
    name, entry = one
    assert entry.at_most is not None
    closes = gate.chance(CHANCES, CHANCES, entry.at_most) < gate.IMPLAUSIBLE
    assert closes is (entry.where not in ALWAYS or (name, entry.where) in SELDOM)


@pytest.mark.parametrize(
    ("version", "mutant", "rule"),
    [
        ("rabbitmq-4.3", "errors.crossing-close-unanswered", "ERR-008"),
        ("rabbitmq-4.3", "timeouts.second-is-lost", "TMO-010"),
        ("rabbitmq-4.3", "timeouts.early-settlement-hides", "TMO-010"),
    ],
)
def test_a_broker_that_always_loses_the_race_does_not_pass(
    version: str,
    mutant: str,
    rule: str,
    tmp_path: Path,
) -> None:
    with ReferenceBroker(dialect=version, mutants=[mutant], clock="elastic", http_port=0) as broker:
        assert main(["run", broker.url, "--rules", rule, "--depth", "smoke", "--report", str(tmp_path)]) == 1
    results = from_json((tmp_path / "results.json").read_text())
    assert results.profile == version
    (judged,) = [one for one in results.rules if one.id == rule]
    assert judged.verdict == "deviates", "it is that which is listed"
    (reason,) = results.gate.reasons
    assert "happens too often" in reason


@cache
def general() -> list[tuple[str, str]]:
    """For each version and rule that is listed of it: a mutant that breaks the rule elsewhere."""
    found: dict[tuple[str, str], str] = {}
    for version in IMITATED:
        choices = profiles.load(version).choices
        for rule in dict.fromkeys(entry.rule for entry in deviations.load(version)):
            fitting = [name for name, mutant in MUTANTS.items() if rule in mutant.rules and name not in IMITATE]
            if fitting and rules.get(rule).ruled_out(choices) is None:
                found[version, rule] = fitting[0]
    return list(dict.fromkeys((version, mutant) for (version, _), mutant in found.items()))


ONE_WAY = {
    *("CAN-001", "CAN-017", "CONTENT-011", "DUR-010", "DUR-016", "DUR-018"),
    *("AUTH-028", "CONN-021", "LEN-014", "POLICY-020", "QOS-004", "QOS-008", "SAC-004", "TMO-010"),
}
"""Rules of which no other way to break them is known than the one that is listed, in the dialect that does that. Of
TMO-010 there is one, which looks the same while nobody else looks into the queue: that is open."""


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_listed_can_be_told_from_another_fault(version: str) -> None:
    listed = {entry.rule for name, entry in ENTRIES if name == version} - ONE_WAY
    told = {rule for name, mutant in MUTANTS.items() if name not in IMITATE for rule in mutant.rules}
    assert not listed - told, "add a mutant that breaks the rule where nothing is excused"


@pytest.mark.parametrize(("version", "mutant"), general())
@pytest.mark.sampled(5)
def test_a_broker_that_errs_elsewhere_is_found_beside_the_deviations(version: str, mutant: str) -> None:
    with embedded(version, 0, "smoke", [mutant], deadline=1.0) as bench:
        trail = hunt(MUTANTS[mutant].rules, bench)
    assert trail.rule in MUTANTS[mutant].rules, trail.others


FIRST_ELSEWHERE = {
    "again.exclusive-twice",
    "complaints.form-wanted",
    "heard.replies-unanswered",
    "seldom.last-alone-is-nacked",
    "together.recover-beside",
    "holdings.ack-under-the-channel-s-limit",
    "holdings.no-limit-wears-off",
    "holdings.newcomers-wait",
    "paths.key-of-the-last-queue",
    "trackers.expired-in-turn",
    "trackers.nowhere-hangs-the-commit",
}
"""What shows first breaks another of its rules, of which nothing is listed; that closes the gate."""


def beside_lavinmq() -> list[str]:
    """Mutants that break the rules that are listed of LavinMQ, and not as it does."""
    left_out = IMITATE | FIRST_ELSEWHERE
    listed = {entry.rule for entry in deviations.load(LAVINMQ)}
    choices = profiles.load(LAVINMQ).choices
    applying = {rule for rule in listed if rules.get(rule).ruled_out(choices) is None}
    return [name for name, mutant in MUTANTS.items() if applying.intersection(mutant.rules) and name not in left_out]


@pytest.mark.parametrize("mutant", beside_lavinmq())
@pytest.mark.sampled(5)
def test_a_broker_that_errs_elsewhere_is_found_beside_what_is_listed_of_lavinmq(mutant: str) -> None:
    broken = MUTANTS[mutant].rules
    listed = sorted({entry.rule for entry in deviations.load(LAVINMQ)}.intersection(broken))
    with embedded("documented", 0, "smoke", [mutant], deadline=1.0) as bench:
        trail = hunt(listed, replace(bench, profile=profiles.load(LAVINMQ)), by=broken)
    assert trail.rule is not None, trail.others


@pytest.mark.parametrize(
    "mutant",
    [
        "settle.nack-zero-on-empty-refused",
        "errors.consumer-tag-reusable",
        "prefetch.running-consumers-follow",
        "slots.recovered-get-frees",
        "routes.returned-when-full",
        "cancel.notifies-everybody",
        "consuming.exclusive-joins",
        "exchanges.no-value-compared",
        "queues.locked-until-hung-up",
        "octets.channel-0-content-dropped",
        "channels.last-queue-kept",
        "channels.zero-opened",
        "rights.any-alternate",
        "rights.deleted-users-stay",
        "connections.crossing-discarded",
        "replies.second-requester",
        "replies.address-by-tag",
        "single.exclusive-joins",
        "naming.nothing-deleted",
        "naming.nothing-unbound",
        "naming.refusals-that-do-not-fit",
        "octets.weight-unseen",
        "octets.end-seen-too-late",
        "amid.ages-alone",
        "amid.octets-of-unacked",
        "byways.alternate-of-the-first",
        "failures.channel-0-closes",
        "aging.early",
        "aging.zero-beside-consumers",
        "deadletters.limit-of-octets",
        "halfway.closed-by-a-channel",
        "halfway.last-queue-of-a-failed-one",
        "pairs.purge-keeps-octets",
        "lengths.returned-weigh-twice",
        "ways.two-alternates-at-most",
    ],
)
@pytest.mark.sampled(5)
def test_what_is_listed_of_lavinmq_is_excused(mutant: str) -> None:
    """Or the test above would show nothing."""
    with embedded("documented", 0, "smoke", [mutant], deadline=1.0) as bench:
        trail = hunt(MUTANTS[mutant].rules, replace(bench, profile=profiles.load(LAVINMQ)))
    assert trail.rule is None


MEASURED_ALONE = {"CAN-013", "DLX-006", "ERR-004", "ERR-012", "RQ-002", "TTL-001"}
"""What is listed of these rules was measured on the real broker, and its dialect does not do it."""
SOMETIMES = [("rabbitmq-3.8", "DLX-007"), ("rabbitmq-3.10", "DLX-007")]
"""Listed as what a run need not show, and done by the dialect all the same."""


def imitated() -> list[tuple[str, str]]:
    """For each version the rules of which something is listed that happens each time."""
    found = [(name, entry.rule) for name, entry in ENTRIES if name in IMITATED and not entry.intermittent]
    return [one for one in dict.fromkeys([*found, *SOMETIMES]) if one[1] not in MEASURED_ALONE]


@pytest.mark.parametrize(("version", "rule"), imitated())
@pytest.mark.sampled(3)
def test_a_dialect_does_what_is_listed_of_its_version(version: str, rule: str) -> None:
    with embedded(version, 0, "smoke", deadline=1.0) as bench:
        trail = hunt([rule], replace(bench, profile=replace(bench.profile, deviations=None)))
    assert trail.rule == rule
    entries = deviations.load(version)
    kinds = profiles.load(version).queue_types
    somewhere = [f"{entry.where} here" for entry in entries if entry.where]
    assert any(deviations.excuse(entries, rule, trail.observed, kind, somewhere) is not None for kind in kinds)
