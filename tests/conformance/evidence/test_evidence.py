"""Slices are small, honest and reproducible; exchanges read well."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import pytest

import codec
from codec import methods as m
from codec import values
from conformance import evidence
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.runner import run
from conformance.drive.scenes.deliveries import test_ack, test_err, test_mode
from conformance.drive.stage import Stage
from conformance.evidence.anatomy import Anatomy
from conformance.evidence.reproducer import reproducer_of
from conformance.evidence.shrinking import shortest
from conformance.history import events as ev
from conformance.history.events import Event, EventBuilder, Labels
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import Finding
from reference_broker import ReferenceBroker

PROFILE = profiles.load("rabbitmq-3.10")
QUEUE = "q"


class Script:
    """A history written by hand: who says what, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._count = itertools.count(1)
        self._builders: dict[str, EventBuilder] = {}
        self.local(ev.SCENE, name="by hand", rules=[], queue_type="classic")

    def _builder(self, connection: str) -> EventBuilder:
        labels = Labels("r", "b", "h", connection)
        return self._builders.setdefault(
            connection,
            EventBuilder(labels, lambda: next(self._count), lambda: 0),
        )

    def connect(self, on: str = "c1") -> Script:
        self.events.append(self._builder(on).local(ev.OPEN))
        return self

    def local(self, kind: str, **arguments: object) -> None:
        self.events.append(self._builder("").local(kind, **arguments))

    def send(self, *methods: codec.Method, message: str = "", on: str = "c1", **properties: object) -> Script:
        return self._say(ev.TO_BROKER, on, methods, message, **properties)

    def receive(self, *methods: codec.Method, message: str = "", on: str = "c1") -> Script:
        return self._say(ev.TO_CLIENT, on, methods, message)

    def _say(
        self, direction: str, on: str, methods: tuple[codec.Method, ...], message: str, **properties: object
    ) -> Script:
        for method in methods:
            raw = method.encode()
            if method.HAS_CONTENT:
                raw = codec.content(method, message.encode(), message_id=message, **properties)
            reader = codec.FrameReader()
            for part in reader.cut(raw):
                event = self._builder(on).frame(direction, codec.decode(part), part)
                if event is not None:
                    self.events.append(event)
        return self

    def open(self, channel: int, on: str = "c1") -> Script:
        return self.send(m.ChannelOpen(channel), on=on).receive(m.ChannelOpenOk(channel), on=on)

    def publish(self, channel: int, *messages: str, queue: str = QUEUE) -> Script:
        """In confirm mode, numbered from 1."""
        self.send(m.ConfirmSelect(channel)).receive(m.ConfirmSelectOk(channel))
        for tag, message in enumerate(messages, 1):
            self.send(m.BasicPublish(channel, routing_key=queue), message=message)
            self.receive(m.BasicAck(channel, tag))
        return self

    def get(self, channel: int, tag: int, message: str, queue: str = QUEUE, *, again: bool = False) -> Script:
        self.send(m.BasicGet(channel, queue=queue, no_ack=again))
        return self.receive(
            m.BasicGetOk(channel, tag, redelivered=again, routing_key=queue),
            message=message,
        )

    def flow(self, channel: int) -> Script:
        return self.send(m.ChannelFlow(channel, active=True)).receive(m.ChannelFlowOk(channel, active=True))

    def close(self, channel: int) -> Script:
        return self.send(m.ChannelClose(channel, reply_code=200)).receive(m.ChannelCloseOk(channel))


def multiple_forgets_its_own_tag(others: int = 0) -> list[Event]:
    """Three messages are got and acked by a multiple of the last, which comes back. `others`: messages beside them."""
    script = Script()
    script.connect().open(1).open(2)
    messages = [f"m{n}" for n in range(1, 4 + others)]
    for queue in (QUEUE, "elsewhere"):
        script.send(m.QueueDeclare(1, queue=queue)).receive(m.QueueDeclareOk(1, queue=queue))
    script.publish(1, *messages[:3])
    script.open(4).publish(4, *messages[3:], queue="elsewhere").open(5)
    for tag, message in enumerate(messages[3:], 1):
        script.get(5, tag, message, "elsewhere").send(m.BasicAck(5, tag))
    for tag, message in enumerate(messages[:3], 1):
        script.get(2, tag, message)
    script.send(m.BasicAck(2, 3, multiple=True)).flow(2).close(2)
    return script.open(3).get(3, 1, "m3", again=True).events


def finding_of(events: list[Event], rule: str) -> Finding:
    found = [finding for finding in judge(events, PROFILE).findings if finding.rule == rule]
    assert found, judge(events, PROFILE).findings
    return found[0]


@pytest.mark.parametrize("others", [0, 20, 300])
def test_a_simple_bug_is_shown_in_at_most_eight_frames_of_interest(others: int) -> None:
    events = multiple_forgets_its_own_tag(others)
    finding = finding_of(events, "ACK-002")
    sliced = evidence.minimal(events, finding, PROFILE)
    assert sum(map(evidence.interest, sliced)) <= 8, evidence.transcript(sliced)
    assert "m3" in {event.message for event in sliced}


def test_a_pause_belongs_to_the_connection_that_ends_it() -> None:
    """A schema asks each row of a story for its connection, and what makes stories shorter goes by it."""
    events = multiple_forgets_its_own_tag()
    late = next(event.seq for event in events if event.method == "basic.get")
    spread = [event._replace(time_ns=(1 if event.seq < late else 3) * 10**9) for event in events]
    finding = finding_of(spread, "ACK-002")
    told = reproducer_of(spread, finding.at, finding.rule, PROFILE)
    assert [(row["on"], row["seconds"]) for row in told if row["method"] == "pause"] == [("c1", 2.1)]
    assert [row["method"] for row in shortest(told, lambda rows: True, 10)] == [told[-1]["method"]]


def test_a_slice_is_part_of_the_history_and_judged_alike() -> None:
    events = multiple_forgets_its_own_tag(10)
    finding = finding_of(events, "ACK-002")
    sliced = evidence.minimal(events, finding, PROFILE)
    assert [event for event in events if event in sliced] == sliced
    again = finding_of(sliced, "ACK-002")
    assert (again.at, again.certain) == (finding.at, finding.certain)


def test_a_slice_is_lawful_but_for_its_finding_and_the_gaps_it_leaves() -> None:
    events = multiple_forgets_its_own_tag(10)
    finding = finding_of(events, "ACK-002")
    sliced = evidence.minimal(events, finding, PROFILE)
    assert {f.rule for f in judge(sliced, PROFILE).findings if not f.rule.startswith("TAG-")} == {"ACK-002"}


def test_nothing_in_a_slice_comes_from_nowhere() -> None:
    events = multiple_forgets_its_own_tag(10)
    sliced = evidence.minimal(events, finding_of(events, "ACK-002"), PROFILE)
    opened = {event.channel for event in sliced if event.method == "channel.open"}
    assert {event.channel for event in sliced if event.channel} == opened
    published = {event.message for event in sliced if event.method == "basic.publish"}
    assert {event.message for event in sliced if event.method == "basic.get-ok"} <= published
    methods = [event.method for event in sliced]
    assert methods.count("basic.get") == methods.count("basic.get-ok")
    assert methods.count("channel.open") == methods.count("channel.open-ok")
    assert methods.index("queue.declare") < methods.index("basic.publish")


def played(broker: ReferenceBroker, scene: Callable[[Stage], None]) -> Stage:
    """The scene on this broker, to the end of its history."""
    bench = Bench(Target.parse(broker.url), profiles.load("documented"), deadline=0.5)
    with bench.staged(Stage, "scene") as stage:
        assert run(stage, lambda: scene(stage)) is None
    return stage


@pytest.mark.parametrize(
    ("bug", "rule", "scene"),
    [
        ("settle.multiple-only-below-tag", "ACK-002", test_ack.test_a_multiple_settles_all_up_to_its_tag),
        ("settle.single-acts-as-multiple", "ACK-001", test_ack.test_a_single_ack_settles_one),
        ("settle.crosses-channels", "ACK-004", test_ack.test_a_multiple_stays_on_its_channel),
        (
            "settle.stale-multiple-accepted",
            "ACK-010",
            partial(test_ack.test_a_multiple_needs_an_outstanding_tag, method="ack"),
        ),
        ("settle.reject-always-requeues", "MODE-005", test_mode.test_reject_and_nack_without_requeue_remove),
    ],
)
def test_a_bug_of_a_broker_is_shown_in_at_most_eight_frames_of_interest(
    bug: str,
    rule: str,
    scene: Callable[[Stage], None],
) -> None:
    with ReferenceBroker(mutants=(bug,)) as broker:
        stage = played(broker, scene)
    findings = [finding for finding in stage.judgement.findings if finding.rule == rule]
    sliced = evidence.minimal(stage.events, findings[0], stage.profile)
    assert sum(map(evidence.interest, sliced)) <= 8, evidence.transcript(sliced)
    assert rule in {finding.rule for finding in judge(sliced, stage.profile).findings}


@pytest.mark.parametrize("bug", ["errors.crossing-close-is-hard", "errors.crossing-close-unanswered"])
def test_the_cause_of_a_close_is_shown_with_it(bug: str) -> None:
    with ReferenceBroker(mutants=(bug,)) as broker:
        stage = played(broker, test_err.test_closes_that_cross)
    finding = next(finding for finding in stage.judgement.findings if finding.rule == "ERR-008")
    said = [event.method for event in evidence.minimal(stage.events, finding, stage.profile)]
    assert said.index("basic.ack") < said.index("channel.close"), said


def test_the_tag_that_is_complained_of_tells_the_cause() -> None:
    script = Script().open(1).send(m.BasicAck(1, 98), m.BasicAck(1, 99))
    script.receive(m.ChannelClose(1, 406, "PRECONDITION_FAILED - unknown delivery tag 98", 60, 80))
    cause = next(event.seq for event in script.events if event.delivery_tag == 98)
    close = script.events[-1].seq
    needing = [unit for units in Anatomy(script.events).units() for unit in units if cause in unit]
    assert all(close in unit for unit in needing)
    other = next(event.seq for event in script.events if event.delivery_tag == 99)
    assert frozenset({other}) in [unit for units in Anatomy(script.events).units() for unit in units]


def test_slicing_again_changes_nothing() -> None:
    events = multiple_forgets_its_own_tag(5)
    finding = finding_of(events, "ACK-002")
    once = evidence.minimal(events, finding, PROFILE)
    assert evidence.minimal(once, finding, PROFILE) == once
    assert evidence.minimal(events, finding, PROFILE) == once


def test_a_small_budget_gives_a_longer_slice_and_never_a_wrong_one() -> None:
    events = multiple_forgets_its_own_tag(20)
    finding = finding_of(events, "ACK-002")
    sliced = evidence.minimal(events, finding, PROFILE, budget=4 * len(events))
    assert finding_of(sliced, "ACK-002").at == finding.at
    assert len(evidence.minimal(events, finding, PROFILE)) <= len(sliced) < len(events)


def restarted_before_the_get(*, early: bool = False) -> list[Event]:
    """A first delivery has the tag 2. The broker restarts between publish and delivery, or before everything."""
    script = Script()
    if early:
        script.local(ev.RESTARTED, state="stopping")
        script.local(ev.RESTARTED, state="started")
    script.connect().open(1)
    script.send(m.QueueDeclare(1, queue=QUEUE, durable=True)).receive(m.QueueDeclareOk(1, queue=QUEUE))
    script.send(m.ConfirmSelect(1)).receive(m.ConfirmSelectOk(1))
    script.send(m.BasicPublish(1, routing_key=QUEUE), message="m1", delivery_mode=2, priority=1)
    script.receive(m.BasicAck(1, 1))
    if not early:
        script.local(ev.RESTARTED, state="stopping")
        script.local(ev.RESTARTED, state="started")
    script.connect("c2").open(1, on="c2").send(m.BasicGet(1, queue=QUEUE, no_ack=True), on="c2")
    script.receive(m.BasicGetOk(1, 2, routing_key=QUEUE), message="m1", on="c2")
    return script.events


def test_a_restart_on_the_way_is_shown_whatever_the_rule() -> None:
    events = restarted_before_the_get()
    [finding] = [finding for finding in judge(events, PROFILE).findings if finding.rule == "TAG-001"]
    told = evidence.transcript(evidence.minimal(events, finding, PROFILE))
    assert "the broker has been started again" in told


def test_a_restart_before_all_is_not_shown() -> None:
    events = restarted_before_the_get(early=True)
    [finding] = [finding for finding in judge(events, PROFILE).findings if finding.rule == "TAG-001"]
    assert "broker" not in evidence.transcript(evidence.minimal(events, finding, PROFILE))


def test_a_finding_that_does_not_arise_leaves_the_history_whole() -> None:
    events = multiple_forgets_its_own_tag()
    stranger = Finding("ACK-007", "h", events[-1].seq, "silence", "noise")
    assert evidence.minimal(events, stranger, PROFILE) == events


def test_interest_is_in_content_confirms_settlements_and_errors() -> None:
    script = Script().open(1).publish(1, "m1").get(1, 1, "m1").send(m.BasicAck(1, 1), m.BasicAck(1, 1))
    script.receive(m.ChannelClose(1, reply_code=406, reply_text="PRECONDITION_FAILED", class_id=60, method_id=80))
    script.send(m.ChannelCloseOk(1))
    shown = [event.method for event in script.events if evidence.interest(event)]
    assert shown == ["basic.publish", "basic.ack", "basic.get-ok", "basic.ack", "basic.ack", "channel.close"]


def test_interest_is_in_limits_and_the_ends_of_consumers() -> None:
    script = Script().open(1).send(m.BasicQos(1, 0, 3, True)).receive(m.BasicQosOk(1))
    script.send(m.BasicCancel(1, "c1")).receive(m.BasicCancelOk(1, "c1"), m.BasicAck(1, 1), m.BasicCancel(1, "c2"))
    shown = [event.method for event in script.events if evidence.interest(event)]
    assert shown == ["basic.qos", "basic.cancel", "basic.cancel-ok", "basic.ack", "basic.cancel"]


def test_a_transcript_reads_like_the_protocol() -> None:
    script = Script()
    script.send(m.ConnectionOpen(0)).receive(m.ConnectionOpenOk(0))
    script.open(1).get(1, 2**64 - 1, "m1", again=True).send(m.BasicNack(1, 7, multiple=True, requeue=True))
    script.receive(m.ChannelClose(1, 406, "PRECONDITION_FAILED - unknown delivery tag 7", 60, 120))
    script.local(ev.DEADLINE, **{"for": "drain", "queue": "q", "waited_ms": 5000})
    assert evidence.transcript(script.events).splitlines() == [
        " 1         ·  scene by hand",
        " 2  c1    →←  connected",
        " 4  c1.1  →   channel.open",
        " 5  c1.1   ←  channel.open-ok",
        " 6  c1.1  →   basic.get q no-ack",
        " 7  c1.1   ←  basic.get-ok 18446744073709551615 m1 redelivered",
        " 8  c1.1  →   basic.nack 7 multiple requeue",
        " 9  c1.1   ←  channel.close 406 PRECONDITION_FAILED - unknown delivery tag 7 (for 60,120)",
        "10         ·  waited 5000 ms in vain for a drain of q",
    ]


def test_a_transcript_tells_arguments_and_properties() -> None:
    """What a queue, an exchange, a binding and a message are like: else nobody can tell why one does not come."""
    script, limits = Script(), {"x-queue-type": "classic", "x-max-length": 3, "x-overflow": "reject-publish"}
    script.send(m.QueueDeclare(1, queue="q", arguments=values.table(limits))).send(
        m.ExchangeDeclare(1, exchange="x", type="headers")
    )
    terms = values.table({"x-match": "any", "ink": None, "sizes": [1, 2]})
    script.send(m.QueueBind(1, queue="q", exchange="x", arguments=terms))
    headers = {f"h{number}": "long " * 20 for number in range(9)}
    properties = {"expiration": "0", "headers": values.table(headers)}
    script.send(m.BasicPublish(1, exchange="x", routing_key="k"), message="m1", **properties)
    texts = [evidence.describe(event) for event in script.events[1:]]
    assert texts[:3] == [
        "queue.declare q x-max-length=3 x-overflow=reject-publish",
        "exchange.declare x headers",
        "queue.bind x q ink=null sizes=[1, 2] x-match=any",
    ]
    assert texts[3].startswith("basic.publish m1 through x to k expiration=0 h0=long long")
    assert texts[3].endswith("…")
    assert "h4=" not in texts[3]


def test_steps_carry_text_for_people_and_frames_for_machines() -> None:
    script = Script().send(m.BasicAck(1, 2, multiple=True))
    step = evidence.steps(script.events)[1]
    assert step == {
        "n": 2,
        "direction": ">",
        "connection": "c1",
        "channel": 1,
        "text": "basic.ack 2 multiple",
        "method": "basic.ack",
        "raw": m.BasicAck(1, 2, multiple=True).encode().hex(),
        "interest": True,
        "seq": script.events[1].seq,
        "state": "",
    }
