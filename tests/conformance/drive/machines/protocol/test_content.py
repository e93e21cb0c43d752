"""The content machine: each command means what it says, a right broker is not blamed, and wrong ones are found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import codec
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import alphabet as a
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.protocol.content import CONTENT, SMALL, Letter, Mailroom, Post, Weave
from conformance.drive.machines.shape import Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.events import Event
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS
from tests.support.worlds import Until, last

REACHED = ("CONTENT-001", "CONTENT-002", "CONTENT-003", "CONTENT-007", "CONTENT-008", "RETURN-001", "RQ-016")
LETTER = Letter((("priority", 3),), named=False, beside=300, split=(1, 200, 9), last=True)


@pytest.fixture
def mailroom(target: Target) -> Iterator[Mailroom]:
    """Its last channel has small frames."""
    stage = Stage(target, profiles.load("documented"), Recorder("run", "reference"), "machine")
    yield Mailroom(stage, Shape(apart=True))
    assert stage.finish().findings == []
    stage.cleanup()


def sizes(event: Event) -> list[int]:
    """Of the bodies of this content."""
    frames = [codec.decode(raw) for raw in codec.FrameReader().cut(event.raw)]
    return [len(frame.payload) for frame in frames if isinstance(frame, codec.Body)]


def sent(world: Mailroom, *commands: a.Command) -> list[Event]:
    return [event for event in last(world, *commands) if event.method == "basic.publish"]


def post(letter: Letter = LETTER, channel: int = 0, queue: int = 0) -> Post:
    return Post(channel, "queue", queue, False, letter)


def test_a_letter_is_split_as_it_says(mailroom: Mailroom) -> None:
    (event,) = sent(mailroom, post())
    assert sizes(event) == [1, 200, 9, 89, 1]
    assert event.args["properties"] == {"priority": 3}


def test_what_cannot_be_told_by_its_body_has_a_name(mailroom: Mailroom) -> None:
    (event,) = sent(mailroom, post(Letter(named=False, beside=0)))
    assert event.message_id
    assert event.body_size == 0


@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_letters_are_about_as_long_as_frames(mailroom: Mailroom, beside: int) -> None:
    (event,) = sent(mailroom, post(Letter(frames=2, beside=beside), channel=2))
    room = SMALL - 8
    assert sizes(event) == {-1: [room, room - 1], 0: [room, room], 1: [room, room, 1]}[beside]


def test_two_letters_are_woven(mailroom: Mailroom) -> None:
    """Frame by frame, each pair with a heartbeat behind it; so the last frames of both are the last but one."""
    events = [one for one in last(mailroom, Weave((post(), post(channel=1)), beats=True)) if one.direction == ">"]
    assert [one.channel if one.method else one.kind for one in events] == ["heartbeat"] * 6 + [1, 2, "heartbeat"]


def test_nothing_is_woven_on_different_connections(mailroom: Mailroom) -> None:
    assert last(mailroom, Weave((post(), post(channel=2)), beats=False)) == []


def test_what_is_rejected_comes_to_the_heir(mailroom: Mailroom) -> None:
    reject = a.Settle(0, "reject", 0, False, False)
    events = last(mailroom, post(queue=1), a.Get(0, 1, 1, False), reject, a.Get(0, 2, 1, True))
    assert [event.method for event in events] == ["basic.get", "basic.get-ok"]


def test_a_letter_to_nowhere_comes_back(mailroom: Mailroom) -> None:
    last(mailroom, Post(1, "nowhere", 0, True, LETTER))
    mailroom.stage.barrier(mailroom.channels[1])
    assert [event.body_size for event in mailroom.stage.events if event.method == "basic.return"] == [300]


def run(
    broker: ReferenceBroker, queue_type: str, scheduler: Scheduler, examples: int, profile: str, deadline: float = 10.0
) -> MachineOutcome:
    bench = Bench(Target.parse(broker.url), profiles.load(profile), deadline=deadline)
    return search.run(CONTENT, bench, queue_type, scheduler, examples, 40, 3)


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_right_broker_is_not_blamed(scheduler: Scheduler, queue_type: str) -> None:
    with ReferenceBroker() as broker:
        outcome = run(broker, queue_type, scheduler, 16, "documented")
    assert outcome.judgement.findings == []
    if scheduler == "lockstep":
        assert [rule for rule in REACHED if not outcome.judgement.exercised[rule]] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    with ReferenceBroker(dialect=dialect) as broker:
        outcome = run(broker, "classic", "lockstep", 8, dialect)
        bench = Bench(Target.parse(broker.url), profiles.load(dialect))
    assert bench.damning(outcome.judgement, "classic") == []


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("frames.of-one-size-only", "CONTENT-001"),
        ("headers.integers-widened", "CONTENT-002"),
        ("headers.empty-left-out", "CONTENT-003"),
        ("properties.content-type-checked", "CONTENT-008"),
        ("letters.headers-lost", "CONTENT-007"),
        ("mandatory.on-first-channel", "RETURN-003"),
    ],
)
def test_a_wrong_content_is_found(monkeypatch: pytest.MonkeyPatch, until: Until, mutant: str, rule: str) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    until(rule)
    with ReferenceBroker(mutants=(mutant,)) as broker:
        outcome = run(broker, "classic", "lockstep", 20, "documented", deadline=1.0)
    assert rule in outcome.broken
