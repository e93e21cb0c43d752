"""CONN: handshakes that go as they should, handshakes that do not, and what holds for connections that are open.

Most brokers let a client that made a mistake before connection.open-ok wait for some seconds before they hang up. So
such clients wait side by side.
"""

from __future__ import annotations

import codec
from codec import methods as m
from codec import values
from conformance.drive.around import wait
from conformance.drive.doors import (
    AMQPLAIN,
    HEADER,
    agree,
    dial,
    dialled,
    enter,
    log_in,
    offer,
    say,
    speaks,
    start_ok,
    was_told,
)
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.scenes.connections.test_block import press
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import half_a_publish, neighbours, stocked
from conformance.drive.stage import Stage
from conformance.history.events import HEARTBEAT, TO_CLIENT

CLASSIC: tuple[QueueType, ...] = ("classic",)
FRAME_MIN, SMALL, FRAME = 4096, 8192, 8
ROUNDS, ROUND = 14, 0.25
"""So often something is said that needs no answer, in so many seconds each: three and a half intervals of a second."""
NOBODY_SPEAKS = b"AMQP\x00\x00\x00\x01"
EVERY_TYPE: values.FieldTable = [
    ("product", "S", b"amqp-conformance"),
    ("true", "t", True),
    ("octet", "b", -1),
    ("short", "s", -2),
    ("long", "I", -3),
    ("longlong", "l", -4),
    ("float", "f", 0.5),
    ("double", "d", 0.25),
    ("decimal", "D", (2, 314)),
    ("array", "A", [("I", 1), ("S", b"two")]),
    ("time", "T", 1700000000),
    ("table", "F", [("within", "F", [("it", "S", b"one")])]),
    ("nothing", "V", None),
    ("octets", "x", b"\x00\x01"),
]


@rule("CONN-001", queue_types=CLASSIC)
def test_a_wrong_header(stage: Stage) -> None:
    """A version that nobody ever spoke, and no header at all."""
    for name, header in (("old", NOBODY_SPEAKS), ("other", b"JUNKJUNK")):
        link = dial(stage, name)
        say(stage, (link, header))
        link.abort()


@rule("CONN-002", "CONN-003", "CONN-004", "CONN-010", queue_types=CLASSIC)
def test_the_broker_introduces_itself(stage: Stage) -> None:
    """Every connection hears it."""
    for name in ("c1", "c2"):
        stage.barrier(stage.channel(connection=stage.connect(name)))


@rule("CONN-005", "CONN-016", queue_types=CLASSIC)
def test_the_right_login_and_virtual_host(stage: Stage) -> None:
    """Once more, while others are in; and by the other mechanism that takes a password, where it is offered."""
    stage.barrier(stage.channel())
    with dialled(stage, 1) as (link,):
        if speaks(stage, link, AMQPLAIN):
            say(stage, (link, start_ok(stage, mechanism=AMQPLAIN)))
    for name in ("c2", "c3"):
        link = dial(stage, name)
        say(stage, (link, HEADER))
        log_in(stage, link)
        if enter(stage, link):
            stage.barrier(stage.channel(connection=link))
        else:
            link.abort()


@rule("CONN-006", queue_types=CLASSIC)
def test_client_properties_of_every_type(stage: Stage) -> None:
    """All in one table; an empty table of capabilities, and capabilities that are no table."""
    with dialled(stage, 2) as (talkative, modest):
        say(stage, (talkative, start_ok(stage, EVERY_TYPE)), (modest, start_ok(stage, {"capabilities": {}})))
    with dialled(stage, 1) as (careless,):
        say(stage, (careless, start_ok(stage, {"capabilities": "none"})))


@rule("CONN-007", "CONN-008", queue_types=CLASSIC)
def test_a_wrong_password(stage: Stage) -> None:
    """Of a client that wants to be told, and of one that does not: one that is longer, none, half of it, and one that
    differs in case. At last users whom nobody knows: one of any name, and some who are called almost like one that is
    there, with the password of that."""
    if stage.target.mechanism != "PLAIN":
        return
    right, longer = stage.target.password, stage.target.password + "?"
    others = dict.fromkeys(("", right[: len(right) // 2], right.swapcase()))
    others.pop(right, None)
    with dialled(stage, 3 + len(others), login=False) as (asks, other, stranger, *links):
        lines = [(link, start_ok(stage, password=wrong)) for link, wrong in zip(links, others, strict=True)]
        unknown = start_ok(stage, user=stage.recorder.private_name())
        say(
            stage,
            (asks, start_ok(stage, password=longer)),
            (other, start_ok(stage, {}, password=longer)),
            (stranger, unknown),
            *lines,
        )
    with dialled(stage, 1, login=False) as (link,):
        if speaks(stage, link, AMQPLAIN):
            say(stage, (link, start_ok(stage, mechanism=AMQPLAIN, password=longer)))
    if stage.around.admin is not None:
        user, password = stage.around.user(stage)
        names = neighbours(user)
        with dialled(stage, len(names), login=False) as links:
            lines = [
                (link, start_ok(stage, user=name, password=password)) for link, name in zip(links, names, strict=True)
            ]
            say(stage, *lines)


@rule("CONN-009", queue_types=CLASSIC)
def test_an_unknown_mechanism(stage: Stage) -> None:
    """With the right login."""
    with dialled(stage, 1) as (link,):
        say(stage, (link, start_ok(stage, mechanism="NONESUCH")))


@rule("CONN-011", queue_types=CLASSIC)
def test_more_than_was_offered(stage: Stage) -> None:
    """More channels, and larger frames, by one."""
    with dialled(stage, 2) as links:
        log_in(stage, *links)
        offered = [offer(stage, link) for link in links]
        channels, frames = links
        lines = []
        if offered[0] and 0 < offered[0].channel_max < 65535:
            lines.append((channels, agree(stage, channels, channel_max=offered[0].channel_max + 1)))
        if offered[1] and offered[1].frame_max:
            lines.append((frames, agree(stage, frames, frame_max=offered[1].frame_max + 1)))
        say(stage, *((link, tune_ok, _open(link)) for link, tune_ok in lines if tune_ok is not None))


def _open(link: RawConnection) -> m.ConnectionOpen:
    return m.ConnectionOpen(0, link.target.vhost)


@rule("CONN-012", queue_types=CLASSIC)
def test_a_client_that_wants_less(stage: Stage) -> None:
    """One channel; the smallest frames; both. One has no wish of its own, and opens channels."""
    with dialled(stage, 4) as links:
        log_in(stage, *links)
        limits = (1, 0), (0, FRAME_MIN), (1, FRAME_MIN), (0, 0)
        tuned = [(link, agree(stage, link, *limit)) for link, limit in zip(links, limits, strict=True)]
        if tuned[3][1] is not None:
            tuned[3][1].channel_max = 0
        say(stage, *((link, tune_ok, _open(link)) for link, tune_ok in tuned if tune_ok is not None))
        if was_told(stage, links[3], "connection.open-ok"):
            for _ in "12":
                stage.barrier(stage.channel(connection=links[3]))


@rule("CONN-013", queue_types=CLASSIC)
def test_large_bodies_in_small_frames(stage: Stage) -> None:
    """Published in large frames, got and consumed in small ones; and one that comes back in such. Others fill one frame
    or two to the last octet, or all but, and are got once more."""
    queue, edge = stage.queue(), stage.queue()
    with dialled(stage, 1) as (link,):
        log_in(stage, link)
        if not enter(stage, link, frame_max=SMALL):
            return
        stage.channel().publish(queue, 2, body=bytes(3 * SMALL))
        channel = stage.channel(connection=link)
        stage.fetch(channel, queue, no_ack=True)
        channel.consume(queue, no_ack=True)
        stage.quiesce()
        publisher, sizes = (
            stage.channel(),
            [full * (SMALL - FRAME) + beside for full in (1, 2) for beside in (-1, 0, 1)],
        )
        for octets in sizes:
            publisher.publish(edge, body=bytes(octets))
        stage.barrier(publisher)
        for tag in stage.fetch(channel, edge, len(sizes)):
            channel.reject(tag)
        stage.barrier(channel)
        stage.fetch(channel, edge, len(sizes), no_ack=True)
        channel.publish("key", exchange=stage.exchange(), mandatory=True, body=bytes(3 * SMALL))
        stage.barrier(channel)
        link.close(stage.deadline)


@rule("CONN-015", queue_types=CLASSIC)
def test_a_virtual_host_that_is_not_there(stage: Stage) -> None:
    """By a name that nobody else uses, by that of one that is gone, and by names that are almost those of one that is
    there."""
    names = [stage.recorder.private_name()]
    if stage.around.admin is not None:
        names.append(stage.around.vhost(stage))
        stage.connect("there", vhost=names[-1]).close(stage.deadline)
        stage.around.delete_vhost(names[-1])
        names += neighbours(stage.around.vhost(stage))
    with dialled(stage, len(names), vhost=False) as links:
        log_in(stage, *links)
        for link, name in zip(links, names, strict=True):
            enter(stage, link, vhost=name)


@rule("CONN-017", queue_types=CLASSIC, last=True)
def test_methods_out_of_turn(stage: Stage) -> None:
    """Before the login, before the limits are agreed, and before connection.open."""
    with dialled(stage, 4) as links:
        log_in(stage, *links[2:])
        tuned = agree(stage, links[3])
        if tuned is not None:
            say(stage, (links[3], tuned))
        say(
            stage,
            (links[0], m.ConnectionTuneOk(0, 1, SMALL, 0)),
            (links[1], m.ChannelOpen(1)),
            (links[2], _open(links[2])),
            (links[3], m.ChannelOpen(1)),
        )


@rule("CONN-018", queue_types=CLASSIC, last=True)
def test_the_handshake_once_more(stage: Stage) -> None:
    """On connections that are open."""
    for number, again in enumerate((m.ConnectionOpen(0, stage.target.vhost), start_ok(stage)), 2):
        link = stage.connect(f"c{number}")
        stage.barrier(stage.channel(connection=link))
        say(stage, (link, again))
        link.abort()


@rule("CONN-019", queue_types=CLASSIC, last=True)
def test_publishes_after_a_mistake(stage: Stage) -> None:
    """In one write with it: connection.open, once more."""
    queue, link = stocked(stage, 1), stage.connect("failing")
    channel = stage.channel(connection=link)
    with stage.batch():
        link.queue(_open(link))
        channel.publish(queue)
    stage.quiesce()
    link.abort()


@rule("CONN-020", queue_types=CLASSIC)
def test_publishes_after_the_close(stage: Stage) -> None:
    """In one write with it, behind one that comes before. It gives no reason in words."""
    queue, link = stage.queue(), stage.connect("leaving")
    channel = stage.channel(connection=link)
    with stage.batch():
        channel.publish(queue)
        link.queue(m.ConnectionClose(0, 200, "", 0, 0))
        channel.publish(queue)
    stage.quiesce()


@rule("CONN-021", queue_types=CLASSIC, last=True)
def test_closes_of_a_connection_that_cross(stage: Stage) -> None:
    """The client closes in one write with its mistake, and leaves the broker's close unanswered."""
    link = stage.connect("crossing")
    stage.barrier(stage.channel(connection=link))
    link.lingers = True
    link.send(_open(link), m.ConnectionClose(0, 200, "normal shutdown", 0, 0))
    stage.quiesce()
    link.abort()


@rule("CONN-022", "CONN-023", "CONN-024", queue_types=CLASSIC)
def test_heartbeats(stage: Stage) -> None:
    """One client sends nothing else, one sends everything else, and one wants none. One sends what needs no answer, and
    twice as long where nothing comes: who was silent for two intervals may be late. One has sent half of a content. And
    one is blocked meanwhile."""
    beating, talking, telling = (stage.connect(name, heartbeat=1) for name in ("beating", "talking", "telling"))
    beating.mute = talking.mute = telling.mute = True
    queue, teller = stage.queue(), stage.channel(connection=telling)
    quiet, channel = stage.channel(), stage.channel(connection=talking)
    for at in range(2 * ROUNDS):
        if at >= ROUNDS and (not telling.alive or _beats(stage, telling.name)):
            break
        if beating.alive:
            beating.send(codec.Heartbeat().encode())
        if telling.alive:
            teller.publish(queue)
        wait(stage, ROUND)
        stage.barrier(channel)
    if telling.alive and not _beats(stage, telling.name):
        stage.waiter.comes_late(
            "heartbeats", lambda: _beats(stage, telling.name), 2 * ROUNDS * ROUND, connection=telling.name
        )
    stage.barrier(teller)
    if beating.alive:
        beating.mute = False
        stage.waiter.beats(beating, 3.0)
    stage.barrier(quiet)
    pausing = stage.channel(connection=stage.connect("pausing", heartbeat=1))
    half_a_publish(stage, pausing, queue)
    stage.waiter.beats(pausing.connection, 3.0)
    pausing.connection.abort()
    if stage.around.alarm is not None:
        _blocked_meanwhile(stage, queue)


def _blocked_meanwhile(stage: Stage, queue: str) -> None:
    """A client publishes while the broker is short of something, and listens until it hears a heartbeat."""
    channel = stage.channel(connection=stage.connect("blocked", heartbeat=1))
    with stage.around.shortage(stage):
        press(stage, channel, queue)
        if channel.connection.alive:
            stage.waiter.beats(channel.connection, 3.0)
    stage.quiesce()
    stage.barrier(channel)


def _beats(stage: Stage, name: str) -> bool:
    """Has the broker sent a heartbeat there?"""
    return any(one.kind == HEARTBEAT and one.direction == TO_CLIENT for one in stage.events if one.connection == name)


@rule("CONN-014", queue_types=CLASSIC, last=True)
def test_somebody_else_makes_a_mistake(stage: Stage) -> None:
    """Connections of the same user are idle meanwhile, and are used afterwards."""
    first, second = stage.channel(), stage.channel(connection=stage.connect("c2"))
    stage.barrier(first)
    stage.barrier(second)
    link = stage.connect("c3")
    stage.barrier(stage.channel(connection=link))
    say(stage, (link, _open(link)))
    link.abort()
    for channel in (first, second):
        stage.barrier(channel)
