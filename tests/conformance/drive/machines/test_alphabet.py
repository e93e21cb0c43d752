"""Each command, on a world where it means something and on one where it means nothing."""

from __future__ import annotations

import pytest

from conformance.drive.machines import alphabet as a
from conformance.drive.machines.world import CONSUMERS, RETURNS, World
from tests.support.worlds import last


def sent(world: World, *commands: a.Command) -> list[str]:
    """What the last of these commands sends, each on a broker at rest."""
    return [
        " ".join(
            (
                event.method,
                *([] if event.delivery_tag is None else [str(event.delivery_tag)]),
                *(["multiple"] if event.multiple else []),
                *(["requeue"] if event.has("requeue") else []),
            )
        )
        for event in last(world, *commands)
        if event.direction == ">"
    ]


PUBLISH, GET = a.Publish(0, 0, 3), a.Get(0, 0, 1, False)


def test_publish_and_get(world: World) -> None:
    assert sent(world, PUBLISH) == ["basic.publish"] * 3
    assert sent(world, a.Get(1, 0, 2, False)) == ["basic.get"] * 2


def test_in_a_wide_history_messages_gets_limits_and_places_are_many_times_as_many(wide: World) -> None:
    assert sent(wide, PUBLISH) == ["basic.publish"] * 30
    assert sent(wide, a.Get(0, 0, 2, False)) == ["basic.get"] * 20
    assert sent(wide, a.Settle(0, "ack", 1, True, False)) == ["basic.ack 11 multiple"]
    limit = next(event for event in last(wide, a.Consume(1, 0, 3, False)) if event.method == "basic.qos")
    assert limit.args["prefetch_count"] == 30


def test_a_wide_history_is_no_wider_than_there_is_time_for(wide: World) -> None:
    assert [wide.many(40), wide.many(30), wide.many(3)] == [400, 300, 3]


def test_channels_that_are_apart_fail_apart(wide: World) -> None:
    connections = [channel.connection for channel in wide.channels]
    assert len({connection.name for connection in connections}) == len(connections)
    connections[1].abort()
    again = wide.channel(1)
    assert again.connection is not connections[1]
    assert [wide.channels[place].connection for place in (0, 2)] == [connections[0], connections[2]]


@pytest.mark.parametrize(
    ("settle", "sends"),
    [
        (a.Settle(0, "ack", 1, False, True), ["basic.ack 2"]),
        (a.Settle(0, "ack", 5, True, False), ["basic.ack 2 multiple"]),
        (a.Settle(0, "nack", 0, True, True), ["basic.nack 1 multiple requeue"]),
        (a.Settle(0, "reject", 0, True, False), ["basic.reject 1"]),
        (a.Settle(1, "ack", 0, False, False), ["basic.ack 1"]),
        (a.SettleAll(0, "ack", False), ["basic.ack 0 multiple"]),
        (a.SettleAll(0, "reject", True), ["basic.nack 0 multiple requeue"]),
        (a.Recover(0), ["basic.recover requeue"]),
    ],
)
def test_settling(world: World, settle: a.Command, sends: list[str]) -> None:
    """Channel 0 holds tags 1 and 2. Indices go round, and a channel that holds nothing passes on."""
    assert sent(world, PUBLISH, GET, GET, settle) == sends


@pytest.mark.parametrize(
    ("bad", "tag"),
    [
        (a.SettleBadly(0, "ack", "double", 0, False), "1"),
        (a.SettleBadly(1, "ack", "double", 1, True), "1"),
        (a.SettleBadly(0, "nack", "future", 0, False), "4"),
        (a.SettleBadly(0, "ack", "future", 3, False), str(2**8)),
        (a.SettleBadly(0, "ack", "future", 8, False), str(2**63)),
        (a.SettleBadly(0, "reject", "foreign", 1, False), "3"),
        (a.SettleBadly(0, "ack", "zero", 2, True), "0"),
    ],
)
def test_settling_badly(world: World, bad: a.SettleBadly, tag: str) -> None:
    """Channel 0 has settled 1 and holds 2 and 3; the broker closes the channel that erred, and it opens again."""
    acked = a.Settle(0, "ack", 0, False, False)
    settled = sent(world, PUBLISH, GET, GET, GET, acked, bad)
    assert settled[0].split()[1] == tag
    assert settled[1:] == ["channel.close-ok"]
    closed = 1 if bad.kind == "foreign" else 0
    assert sent(world, a.Barrier(closed)) == ["channel.open", "channel.flow"]


def test_an_automatic_delivery_cannot_be_settled(world: World) -> None:
    bad = a.SettleBadly(0, "ack", "auto", 0, False)
    assert sent(world, bad) == []
    assert sent(world, PUBLISH, GET, a.Get(0, 0, 1, True), bad) == ["basic.ack 2", "channel.close-ok"]


def test_settlements_and_a_close_leave_in_one_write(world: World) -> None:
    assert sent(world, PUBLISH, GET, GET, a.SettleAndClose(2, "reject")) == [
        "basic.reject 1",
        "basic.reject 2",
        "channel.close",
    ]


def test_a_stale_tag_is_one_of_an_earlier_life(world: World) -> None:
    stale = a.SettleBadly(0, "ack", "stale", 1, False)
    assert sent(world, stale) == [], "there was no earlier life"
    assert sent(world, PUBLISH, GET, GET, a.Reopen(0, False), stale) == ["basic.ack 2", "channel.close-ok"]


def test_a_consumer_may_start_without_a_limit_of_its_own(world: World) -> None:
    assert sent(world, a.Consume(0, 0, None, True)) == ["basic.consume"]


def test_consumers(world: World) -> None:
    consume = a.Consume(0, 1, 2, False)
    assert sent(world, consume) == ["basic.qos", "basic.consume"]
    assert sent(world, consume) == ["basic.consume"], "the limit is the first one's"
    assert sent(world, *[consume] * CONSUMERS) == [], "there are enough"
    assert sent(world, a.Cancel(2, 1)) == ["basic.cancel"]


def test_a_cancel_waits_for_consume_ok(world: World) -> None:
    """On RabbitMQ 3.10 a cancel that overtakes consume-ok ends the connection."""
    world.stage.quiesce()
    begin = len(world.stage.events)
    with world.stage.batch():
        a.Consume(0, 0, 0, False).perform(world)
        a.Cancel(0, 0).perform(world)
    assert "basic.cancel" not in [event.method for event in world.stage.events[begin:]]


@pytest.mark.parametrize(
    "command",
    [
        a.SettleAll(0, "ack", False),
        a.SettleBadly(0, "ack", "future", 0, False),
        a.Recover(0),
    ],
)
def test_what_depends_on_frames_under_way_is_left_out(world: World, command: a.Command) -> None:
    """A get whose answer is not read yet may deliver what the command would then cover."""
    world.stage.quiesce()
    with world.stage.batch():
        PUBLISH.perform(world)
        GET.perform(world)
        begin = len(world.stage.events)
        command.perform(world)
        touched = {event.channel for event in world.stage.events[begin:]}
        assert world.channels[0].number not in touched


def test_nothing_is_returned_beyond_the_delivery_limit_of_quorum_queues(world: World) -> None:
    returning = a.Settle(0, "nack", 0, False, True)
    one = a.Publish(0, 0, 1)
    seen = [sent(world, one)] + [sent(world, GET, returning) for _ in range(RETURNS)]
    assert seen[-2][0].endswith("requeue")
    assert not seen[-1][0].endswith("requeue")


def test_reopening(world: World) -> None:
    assert sent(world, a.Reopen(1, True)) == ["channel.close", "channel.open", "confirm.select"]
    assert sent(world, a.Reopen(1, False)) == ["channel.close", "channel.open"]
    assert sent(world, a.Confirm(1)) == ["confirm.select"]


def test_a_lost_connection_is_replaced(world: World) -> None:
    world.channels[0].connection.abort()
    assert sent(world, a.Publish(0, 0, 1))[-1] == "basic.publish"
    assert world.channels[0].connection.name == "c2"
