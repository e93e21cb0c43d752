"""Soak tests go all their rounds on a right broker, and meet a fault that shows once in so many times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from conformance.campaigns.hunt import embedded
from conformance.drive.drivers.vectors import VECTORS
from conformance.drive.machines.soak import Course, Lap, run_course
from conformance.drive.machines.soak.consumers import CONSUMERS
from conformance.drive.machines.soak.deliveries import DELIVERIES
from conformance.drive.machines.soak.lifetimes import LIFETIMES
from conformance.drive.machines.soak.messages import MESSAGES
from conformance.drive.machines.soak.mistakes import MISTAKES
from conformance.drive.machines.soak.publishing import PUBLISHING
from conformance.drive.machines.soak.settings import SETTINGS
from conformance.drive.machines.soak.topology import TOPOLOGY
from conformance.drive.run.runner import run
from conformance.drive.run.size import ROUNDS
from conformance.drive.stage import Stage
from tests.tools.mutation.conftest import place
from tools.mutation.install import installed
from tools.mutation.triggers import Trigger

ALL = *DELIVERIES, *CONSUMERS, *PUBLISHING, *TOPOLOGY, *MESSAGES, *MISTAKES, *LIFETIMES, *SETTINGS
COURSES = {course.name: course for course in ALL}
MANY_MISTAKES = 15
"""A course goes through so many in turn, at most."""
OF_QUORUM_QUEUES = "return_in_vain", "time_out"
ROUNDS_HERE, SELDOM = 240, 128
FAULTS = {
    "get_without_ack": ("queue.Queue.publish", "dropped", "self.ready.push("),
    "get_and_ack_many": ("channel.Channel.next_tag", "constant", ""),
    "close_with_unacked": ("queue.Queue.put_back", "dropped", "self.ready.put_back"),
    "consume_and_ack": ("unacked.Unacked.add", "dropped", ""),
    "commit": ("queue.Queue.publish", "dropped", "self.ready.push("),
    "bind_and_unbind": ("routing.Exchange.unbind", "dropped", "self.remove(binding)"),
    "reject": ("queue.Queue.publish", "dropped", "self.ready.push("),
    "fail_by_topology": ("topology.remove_queue", "dropped", "not empty"),
    "fail_by_messages": ("basic.tx_commit", "dropped", "raise"),
    "fail_connections": ("connection.Connection.second_open", "dropped", "raise"),
    "leave_nothing": ("vhost.VirtualHost.drop_binding", "dropped", "self.delete_exchange"),
    "set_policies": ("vhost.VirtualHost.heed_policies", "dropped", "self.heed_policy(queue)"),
}
"""Of a course: a place of the broker where something goes wrong once in a while."""
AMONG_OTHERS = {
    "fail_by_topology": 32,
    "fail_by_messages": 64,
    "fail_connections": 16,
    "set_policies": 32,
    "leave_nothing": 32,
}
"""Once in so many times in courses that do several things in turn, or have fewer rounds."""

JUDGED = {
    "get_and_ack": ("MODE-001",),
    "get_and_ack_many": ("ACK-002", "ACK-005"),
    "get_without_ack": ("RQ-009",),
    "get_and_return": ("RQ-008", "ACK-015"),
    "get_and_discard": ("MODE-001",),
    "get_and_recover": ("RQ-008",),
    "return_in_place": ("RQ-004", "RQ-006", "RQ-008"),
    "settle_what_is_unknown": ("ERR-002",),
    "close_with_unacked": ("TAG-006", "TAG-007"),
    "consume_and_ack": ("RQ-006",),
    "consume_without_acks": ("AUTO-007",),
    "consume_and_return": ("RQ-007", "RQ-008"),
    "consume_and_cancel": ("CAN-005",),
    "consume_otherwise": ("MODE-003", "CAN-013"),
    "declare_otherwise": ("QUEUE-011", "ROUTE-001"),
    "lead_otherwise": ("ROUTE-002", "ROUTE-001", "EXCH-018"),
    "open_otherwise": ("TX-010", "ERR-007", "CNF-023"),
    "die_everywhere": ("DLX-006", "DLX-012"),
    "set_limits": ("QOS-001", "QOS-002", "QOS-004"),
    "lose_queues": ("CAN-002", "QUEUE-017"),
    "hand_over": ("SAC-002",),
    "confirm": ("CNF-022",),
    "return_what_is_unroutable": ("RETURN-004",),
    "commit": ("TX-010",),
    "commit_acks": ("TX-002",),
    "request_and_reply": ("DRT-005", "DRT-006"),
    "declare_and_delete": ("QUEUE-002",),
    "declare_without_answers": ("GET-003",),
    "look_for_what_is_missing": ("QUEUE-001",),
    "purge": ("MODE-007",),
    "declare_exchanges": ("EXCH-018", "ROUTE-002"),
    "bind_and_unbind": ("ROUTE-001", "ROUTE-003", "ROUTE-006"),
    "route": ("ROUTE-001",),
    "open_and_close": ("ERR-012",),
    "expire": ("DLX-002",),
    "reject": ("DLX-001", "MODE-005"),
    "die_in_circles": ("DLX-006", "DLX-012"),
    "return_in_vain": ("RQ-012", "RQ-013"),
    "drop_the_oldest": ("LEN-001", "LEN-002"),
    "drop_by_octets": ("LEN-005",),
    "turn_away": ("CNF-011",),
    "rank": ("PRIO-001", "PRIO-002"),
    "find_the_alternate": ("ROUTE-012",),
    "fail_by_topology": (
        *("QUEUE-004", "QUEUE-005", "QUEUE-006", "QUEUE-007", "QUEUE-009", "QUEUE-012", "QUEUE-013", "QUEUE-014"),
        *("EXCH-001", "EXCH-002", "EXCH-008", "EXCH-009", "EXCH-012", "BIND-001", "BIND-002", "BIND-006"),
    ),
    "fail_by_messages": (
        "ERR-002",
        "GET-001",
        "CONSUME-002",
        "CONSUME-003",
        "CNF-019",
        "EXCH-013",
        "CONTENT-006",
        "TX-004",
    ),
    "fail_in_transactions": ("TX-001", "TX-015", "CNF-016"),
    "settle_again": ("ERR-001", "ERR-003", "MODE-006"),
    "fail_by_replies": ("DRT-001", "DRT-003", "DRT-010", "DRT-011"),
    "fail_connections": ("CHAN-001", "ERR-009", "ERR-010", "EXCH-014", "QOS-023", "CONN-018"),
    "fail_by_frames": tuple(VECTORS),
    "name_queues": ("QUEUE-010",),
    "lose_last_consumers": ("QUEUE-011",),
    "lose_last_bindings": ("BIND-008",),
    "chain_exchanges": ("ROUTE-010", "ROUTE-005"),
    "take_turns": ("CAN-009",),
    "come_and_go": ("CONN-010", "ERR-014"),
    "set_policies": ("POLICY-001", "POLICY-009"),
    "change_rights": ("AUTH-014", "AUTH-025", "AUTH-026"),
    "make_virtual_hosts": ("CONN-010",),
    "time_out": ("TMO-003",),
    "outlive": ("TTL-002", "TTL-003", "DLX-002"),
    "leave_nothing": ("TTL-010", "QUEUE-008", "QUEUE-024", "EXCH-010"),
}
"""By which rules it is judged what a course does, again and again."""


@pytest.mark.parametrize("name", COURSES)
def test_a_right_broker_goes_round_and_round(name: str) -> None:
    course, queue_type = COURSES[name], "quorum" if name in OF_QUORUM_QUEUES else "classic"
    with embedded("documented", 1, "ci") as bench, bench.staged(Stage, name, (), queue_type) as stage:
        run_course(course, stage, ROUNDS_HERE)
        judgement = stage.finish()
        rounds = ROUNDS_HERE * course.share
        assert not judgement.findings
        assert len(stage.events) > 2 * rounds
        again = rounds / course.at_once / MANY_MISTAKES
        assert {rule: judgement.exercised[rule] for rule in JUDGED[name] if judgement.exercised[rule] < again} == {}
    assert stage.lacking == ""


@pytest.mark.parametrize("name", FAULTS)
def test_what_goes_wrong_once_in_many_times_is_found(name: str) -> None:
    """The fault shows at the k-th time and at no other before it."""
    course, k = COURSES[name], AMONG_OTHERS.get(name, SELDOM)
    with (
        installed(place(*FAULTS[name]), Trigger("every", k=k)) as live,
        embedded("documented", 1, "ci", deadline=0.5) as bench,
        bench.staged(Stage, name) as stage,
    ):
        assert run(stage, partial(run_course, course, stage, ROUNDS_HERE)) is None
        assert 1 <= live.fired <= live.occasions // k
        assert bench.damning(stage.judgement, "classic")


def test_there_are_more_rounds_than_counters_of_ten_bits_hold() -> None:
    assert 2**10 < ROUNDS["ci"] < 2**12 < ROUNDS["deep"]
    assert len(COURSES) == len(ALL)


def test_a_slow_broker_ends_a_course_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    laps: list[int] = []

    def never_done(stage: Stage) -> Lap:
        def lap(rounds: int) -> Iterator[None]:
            laps.append(rounds)
            yield

        return lap

    monkeypatch.setattr("conformance.drive.machines.soak.SECONDS", 0.0)
    with embedded("documented", 1, "ci") as bench, bench.staged(Stage, "slow") as stage:
        run_course(Course(never_done, at_once=1), stage, 1_000_000)
    assert len(laps) <= 1
