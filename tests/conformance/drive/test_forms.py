"""Other forms of the same: what is sent, and that nobody is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from codec import methods as m
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.forms.shape import HOURS, RANKED, RICH, UNREACHED, WAYS, Forms, changed
from conformance.drive.machines.revisits import Circumstances, Veteran
from conformance.drive.roster import BACKSTAGE
from conformance.history.events import KILLED, RESTARTED, TO_BROKER, Event
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker

PLAIN = Circumstances(frozenset(), 0, 0, give_back=True, stock=0)


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with ReferenceBroker() as broker:
        yield Target.parse(broker.url)


def veteran(target: Target, *rules: str, **refused: str) -> Veteran:
    profile = profiles.load("documented")
    return Veteran(target, replace(profile, refused=refused), Recorder("run", "reference"), "scene", rules)


def said(stage: Veteran, forms: Forms, **circumstances: Any) -> list[Event]:
    """What is sent while a message is published, got and settled, and another one consumed; nobody is blamed."""

    def scene() -> None:
        channel, queue = stage.channel(), stage.queue()
        channel.publish(queue, 3)
        stage.barrier(channel)
        for settle in (channel.ack, channel.reject):
            tag = stage.get(channel, queue)
            assert tag is not None
            settle(tag)
            stage.barrier(channel)
        channel.consume(queue)
        stage.quiesce()
        channel.nack(channel.unacked[0])
        stage.barrier(channel)

    stage.repeat(scene, replace(PLAIN, forms=forms, **circumstances))
    assert stage.finish(give_back=True).findings == []
    stage.cleanup()
    return [event for event in stage.events if event.direction == TO_BROKER]


def sent(events: list[Event], method: str) -> list[Event]:
    return [event for event in events if event.method == method]


@pytest.mark.parametrize("way", WAYS)
def test_a_publish_gets_to_its_queue_by_an_exchange(target: Target, way: str) -> None:
    stage = veteran(target)
    publishes = sent(said(stage, Forms(way=way)), "basic.publish")
    assert publishes
    assert all(one.exchange for one in publishes)
    assert len([event for event in stage.events if event.method == "basic.get-ok"]) >= 4


def test_what_the_broker_does_not_offer_is_said_as_the_scene_says_it(target: Target) -> None:
    stage = veteran(
        target,
        **{"alternate-exchange": "540", "nowait": "540", "expiration": "540", "x-expires": "540", "x-priority": "540"},
    )
    forms = Forms(
        "alternate",
        equal=True,
        confirmed=True,
        transient=True,
        quiet=True,
        rich=True,
        ranked=True,
        unreached=("x-expires",),
    )
    events = said(stage, forms)
    assert not any(one.exchange or '"expiration"' in one.arguments for one in sent(events, "basic.publish"))
    assert not any(one.has("no_wait") for one in sent(events, "basic.consume"))
    assert not any("x-expires" in one.arguments for one in sent(events, "queue.declare"))


def test_scenes_that_end_exchanges_or_rights_keep_to_the_default_one(target: Target) -> None:
    assert not any(one.exchange for one in sent(said(veteran(target, "DUR-001"), Forms("direct")), "basic.publish"))


@pytest.mark.parametrize(("rule", "owns"), [("ACK-001", True), ("AUTO-002", False)])
def test_queues_belong_to_their_connection_in_later_passes(target: Target, rule: str, owns: bool) -> None:
    """But where scenes end connections."""
    declared = sent(said(veteran(target, rule), Forms(exclusive=True)), "queue.declare")
    assert any(one.has("exclusive") for one in declared) is owns
    assert not all(one.has("exclusive") for one in declared)


def test_who_has_company_shares_its_queues(target: Target) -> None:
    stage = veteran(target)

    def scene() -> None:
        stage.channel(connection=stage.connect("other")).get(stage.queue())
        stage.quiesce()

    stage.repeat(scene, replace(PLAIN, forms=Forms(exclusive=True)))
    assert stage.finish(give_back=True).findings == []
    stage.cleanup()
    assert not any(one.has("exclusive") for one in sent(stage.events, "queue.declare"))


@pytest.mark.parametrize(
    ("passed_over", "opened"), [(256, {1, 2, 257, 258}), (1024, {1, 2, 1025, 1026}), (254, {255, 256})]
)
def test_a_channel_has_one_beside_it_whose_number_ends_alike(
    target: Target, passed_over: int, opened: set[int]
) -> None:
    events = said(veteran(target), Forms(channels=passed_over))
    assert {one.channel for one in sent(events, "channel.open")} - {BACKSTAGE} == opened


def test_the_oldest_delivery_is_settled_by_a_multiple_settlement(target: Target) -> None:
    events = said(veteran(target), Forms(multiple=True))
    assert all(one.has("multiple") for one in sent(events, "basic.ack") + sent(events, "basic.nack"))
    assert not sent(events, "basic.reject")


def test_a_consumer_is_started_without_an_answer(target: Target) -> None:
    assert all(one.has("no_wait") for one in sent(said(veteran(target), Forms(quiet=True)), "basic.consume"))


def test_a_message_has_all_properties_and_a_queue_arguments_that_are_never_reached(target: Target) -> None:
    events = said(veteran(target), Forms(rich=True, ranked=True, persistent=True, unreached=tuple(UNREACHED)))
    assert all(f'"{name}"' in one.arguments for one in sent(events, "basic.publish") for name in (*RICH, *RANKED))
    declared = sent(events, "queue.declare")
    assert any(f'"x-expires": {HOURS}' in one.arguments and '"x-max-priority": 5' in one.arguments for one in declared)


def test_where_no_message_expires_none_says_when(target: Target) -> None:
    """Qpid takes the expiration for a moment, which is long past."""
    events = sent(said(veteran(target, expiration="it is passed over"), Forms(ranked=True)), "basic.publish")
    assert events
    assert all("priority" in event.arguments and "expiration" not in event.arguments for event in events)


def test_channel_numbers_are_passed_over(target: Target) -> None:
    opened = sent(said(veteran(target), Forms(channels=254)), "channel.open")
    assert {one.channel for one in opened} & {255, 256}
    by_number = sent(said(veteran(target, "FRAME-001"), Forms(channels=254)), "channel.open")
    assert not any(255 <= one.channel < 300 for one in by_number)


def test_a_limit_of_the_scene_is_not_mixed_with_another(target: Target) -> None:
    stage = veteran(target)

    def scene() -> None:
        stage.queue({"x-max-length": 2})

    stage.repeat(scene, replace(PLAIN, forms=Forms(unreached=("x-overflow", "x-expires"))))
    stage.finish()
    limited = [one.arguments for one in sent(stage.events, "queue.declare") if '"x-max-length"' in one.arguments]
    assert limited
    assert all("x-overflow" not in one and "x-expires" in one for one in limited)
    stage.cleanup()


def test_a_body_may_be_empty(target: Target) -> None:
    events = said(veteran(target), Forms(), octets=-1)
    assert all(one.body_size == 0 for one in sent(events, "basic.publish"))


def test_a_method_is_changed_in_what_is_named_alone() -> None:
    changed_one = changed(m.BasicAck(3, 7, False), multiple=True)
    assert (changed_one.channel, changed_one.delivery_tag, changed_one.multiple) == (3, 7, True)


def test_something_is_asked_in_between_and_changes_nothing(target: Target) -> None:
    plain, asked = said(veteran(target), Forms()), said(veteran(target), Forms(asides=5))
    more = {method: len(sent(asked, method)) - len(sent(plain, method)) for method in ("basic.get", "queue.declare")}
    assert all(more.values())
    assert [one.exchange for one in sent(asked, "basic.publish") if one.message == "nowhere"]


def test_a_queue_that_was_deleted_is_not_declared_again(target: Target) -> None:
    stage = veteran(target)

    def scene() -> None:
        channel, queue = stage.channel(), stage.queue()
        channel.delete(queue)
        for _ in range(50):
            channel.flow()
        stage.quiesce()

    stage.repeat(scene, replace(PLAIN, forms=Forms(asides=1)))
    deleted = [one.queue for one in sent(stage.events, "queue.delete")]
    for queue in deleted:
        named = [one.method for one in stage.events if one.direction == TO_BROKER and one.queue == queue]
        assert named[-1] == "queue.delete"
    assert len(deleted) == 2
    stage.finish()
    stage.cleanup()


@pytest.mark.parametrize("ends", [None, RESTARTED, KILLED])
def test_after_a_restart_nothing_is_asked_in_between(target: Target, ends: str | None) -> None:
    """What it needs may be gone. Without one, it is asked for."""
    stage, asked = veteran(target), list[int]()

    def scene() -> None:
        stage.channel()
        if ends is not None:
            stage.note(ends)
        channel = stage.channel(connection=stage.connect("back"))
        since = len(stage.events)
        stage.transmit(channel, *(m.BasicQos(channel.number, 0, 0, False) for _ in range(50)))
        methods = [one.method for one in stage.events[since:] if one.direction == TO_BROKER]
        asked.append(len(methods) - methods.count("basic.qos"))

    stage.repeat(scene, replace(PLAIN, forms=Forms(asides=1), passes=1))
    assert bool(asked[0]) is (ends is None)
    stage.cut()
    stage.cleanup()


def test_publishes_are_mandatory_and_confirmed(target: Target) -> None:
    stage = veteran(target)
    publishes = sent(said(stage, Forms(mandatory=True, confirmed=True)), "basic.publish")
    assert all(one.has("mandatory") for one in publishes)
    selected = [(one.connection, one.channel) for one in sent(stage.events, "confirm.select")]
    assert {(one.connection, one.channel) for one in publishes} <= {*selected}
    assert len({*selected}) == len(selected)


def test_a_channel_that_a_scene_gives_a_mode_keeps_it(target: Target) -> None:
    stage = veteran(target)

    def scene() -> None:
        channel, queue = stage.channel(), stage.queue()
        channel.tx_select()
        channel.publish(queue)
        channel.tx_commit()
        stage.quiesce()

    stage.repeat(scene, replace(PLAIN, forms=Forms(confirmed=True)))
    assert stage.finish().findings == []
    assert not sent(stage.events, "confirm.select")
    stage.cleanup()


def test_consumers_have_one_priority_and_queues_are_transient(target: Target) -> None:
    events = said(veteran(target), Forms(equal=True, transient=True))
    assert all('"x-priority": 3' in one.arguments for one in sent(events, "basic.consume"))
    assert any(not one.has("durable") for one in sent(events, "queue.declare"))


def test_in_the_second_pass_everything_may_come_in_one_write_with_something_else(target: Target) -> None:
    plain, together = (said(veteran(target), Forms(together=one)) for one in (False, True))
    again = len(sent(plain, "basic.publish")) // 2
    before, joined = (_before(events, "basic.publish") for events in (plain, together))
    assert "channel.flow" not in joined[:again]
    assert before[again:] != joined[again:]
    assert joined[again] == "channel.flow"
    assert len(sent(together, "channel.flow")) > len(sent(plain, "channel.flow"))


def _before(events: list[Event], method: str) -> list[str]:
    """What is sent right before each of them."""
    return [events[place - 1].method or "" for place, one in enumerate(events) if one.method == method]


@pytest.mark.parametrize("sighted", [False, True])
def test_a_form_under_which_less_is_claimed_is_left_out(target: Target, sighted: bool) -> None:
    forms = Forms(way="topic", ranked=True, unreached=("x-expires",), sighted=sighted)
    speaker = veteran(target, "LEN-001"), veteran(target, "TAG-002")
    of_limits, of_tags = (said(one, forms) for one in speaker)
    assert any(event.exchange for event in sent(of_limits, "basic.publish")) is not sighted
    assert any(event.exchange for event in sent(of_tags, "basic.publish"))
    assert any("expiration" in event.arguments for event in sent(of_limits, "basic.publish")) is not sighted
    assert any("x-expires" in event.arguments for event in sent(of_tags, "queue.declare")) is not sighted


def test_what_changes_nothing_is_said_again_without_an_answer(target: Target) -> None:
    """The first of a kind, before the method itself."""
    stage = veteran(target)

    def scene() -> None:
        channel, queue, exchange = stage.channel(), stage.queue(), stage.exchange()
        for _ in range(3):
            stage.bind(queue, exchange)
        channel.declare()
        channel.publish(queue)
        stage.barrier(channel)
        channel.purge(queue)
        stage.quiesce()

    stage.repeat(scene, replace(PLAIN, forms=Forms(insists=20), passes=1))
    binds = [event.has("no_wait") for event in stage.events if event.method == "queue.bind"]
    assert binds == [*[True] * 20, False, *[True] * 20, False, False]
    unnamed = [event for event in stage.events if event.method == "queue.declare" and not event.queue]
    assert len(unnamed) == 1
    assert stage.finish().findings == []
    stage.cleanup()


@pytest.mark.parametrize(("rule", "first"), [("TX-003", 130), ("CNF-004", 130), ("ACK-001", 0)])
def test_publishes_that_go_nowhere_are_the_first_of_a_mode(target: Target, rule: str, first: int) -> None:
    """Of one that the scene is about, once."""
    stage = veteran(target, rule)

    def scene() -> None:
        channel, queue = stage.channel(), stage.queue()
        channel.tx_select() if rule.startswith("TX") else channel.confirm()
        channel.publish(queue)
        if rule.startswith("TX"):
            channel.tx_commit()
        stage.quiesce()

    stage.repeat(scene, replace(PLAIN, forms=Forms(first=130)))
    assert len([one for one in sent(stage.events, "basic.publish") if one.exchange]) == first
    assert stage.finish().findings == []
    stage.cleanup()
