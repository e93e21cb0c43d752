"""FRAME: octets that are no lawful frame, each on a connection of its own; another connection goes on.

The vectors are written as octets, so that nothing of ours can mend them on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.doors import HEADER as HANDSHAKE
from conformance.drive.doors import dial, enter, log_in, say
from conformance.drive.drivers.octets import BODY, HEADER, NOBODY, frame, header
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.drivers.vectors import PUBLISH, VECTORS
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.stage import Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
SMALL = 8192
"""Octets of a frame: fewer than brokers offer."""


def publish(channel: Channel) -> bytes:
    """The publish of the vectors, on this channel."""
    return m.BasicPublish(channel.number, exchange=channel.by_name, routing_key=NOBODY).encode()


def connect(stage: Stage, name: str, frame_max: int) -> RawConnection | None:
    """A connection for frames of so many octets at most; 0: as many as the broker offers."""
    if not frame_max:
        return stage.connect(name)
    link = dial(stage, name)
    say(stage, (link, HANDSHAKE))
    log_in(stage, link)
    return link if enter(stage, link, frame_max=frame_max) else None


def strike(stage: Stage, vectors: Sequence[bytes], frame_max: int = 0) -> None:
    """Each on a connection with an open channel; then one that did nothing wrong is asked for an answer."""
    bystander = stage.channel()
    for number, vector in enumerate(vectors, len(stage.connections) + 1):
        link = connect(stage, f"c{number}", frame_max)
        if link is None:
            return
        channel = stage.channel(connection=link)
        stage.barrier(channel)
        channel.connection.send(vector.replace(PUBLISH, publish(channel)))
        stage.quiesce()
        stage.barrier(bystander)


@rule("FRAME-001", queue_types=CLASSIC)
def test_another_octet_than_the_frame_end(stage: Stage) -> None:
    """At the end of a method, of a heartbeat, of a content header, and of a body."""
    strike(stage, VECTORS["FRAME-001"])


@rule("FRAME-002", queue_types=CLASSIC)
def test_an_unknown_frame_type(stage: Stage) -> None:
    """Between those that are known, and far from them."""
    strike(stage, VECTORS["FRAME-002"])


@rule("FRAME-003", queue_types=CLASSIC)
def test_a_frame_that_is_too_large(stage: Stage) -> None:
    """Even by its payload alone: a body, and a method; all of it is sent. Once the client has agreed to what the broker
    offers, and once to less."""
    room = stage.channel().connection.tuned.frame_max
    if room:
        _too_large(stage, room)
        _too_large(stage, SMALL, frame_max=SMALL)


def _too_large(stage: Stage, room: int, frame_max: int = 0) -> None:
    body = bytes(room + 1)
    declare = m.ExchangeDeclare(1, exchange="amq.fanout", type="fanout", passive=True, arguments=[("x", "S", body)])
    publish = m.BasicPublish(1).encode()
    content = publish + frame(HEADER, 1, header(size=len(body))) + frame(BODY, 1, body)
    strike(stage, [content, declare.encode()], frame_max)


@rule("FRAME-004", queue_types=CLASSIC)
def test_content_without_a_method(stage: Stage) -> None:
    """A header, and a body; one more body behind a content that is complete, and one behind a content without any."""
    strike(stage, VECTORS["FRAME-004"])


@rule("FRAME-005", queue_types=CLASSIC)
def test_a_method_in_the_middle_of_a_content(stage: Stage) -> None:
    """Instead of the header, instead of the body, and instead of its second frame; it may be that of another content. A
    second header instead of the body is out of place as well, and so is a body instead of the header."""
    strike(stage, VECTORS["FRAME-005"])


@rule("FRAME-006", queue_types=CLASSIC)
def test_more_body_than_announced(stage: Stage) -> None:
    """Two octets where one was announced; and two more where one was left."""
    strike(stage, VECTORS["FRAME-006"])


@rule("FRAME-007", queue_types=CLASSIC)
def test_a_header_of_another_class(stage: Stage) -> None:
    """Of the class queue, after basic.publish."""
    strike(stage, VECTORS["FRAME-007"])


@rule("FRAME-008", queue_types=CLASSIC)
def test_content_on_channel_0(stage: Stage) -> None:
    """A header, and a body."""
    strike(stage, VECTORS["FRAME-008"])


@rule("FRAME-009", queue_types=CLASSIC)
def test_a_heartbeat_on_a_channel(stage: Stage) -> None:
    """On one that is open, and on one that is not."""
    strike(stage, VECTORS["FRAME-009"])


@rule("FRAME-010", queue_types=CLASSIC)
def test_a_method_that_does_not_exist(stage: Stage) -> None:
    """Of an unknown class, and an unknown one of a known class."""
    strike(stage, VECTORS["FRAME-010"])


@rule("FRAME-011", queue_types=CLASSIC)
def test_arguments_that_do_not_fit(stage: Stage) -> None:
    """A name that is longer than the rest of its frame, a table that is, and a method that ends too early."""
    strike(stage, VECTORS["FRAME-011"])


@rule("FRAME-012", queue_types=CLASSIC)
def test_methods_of_the_connection_on_a_channel(stage: Stage) -> None:
    """connection.open, connection.tune-ok, and connection.close."""
    strike(stage, VECTORS["FRAME-012"])


@rule("FRAME-013", queue_types=CLASSIC)
def test_a_heartbeat_with_a_payload(stage: Stage) -> None:
    """An octet, and what looks like a frame of its own."""
    strike(stage, VECTORS["FRAME-013"])


@rule("FRAME-014", queue_types=CLASSIC)
def test_frames_that_are_too_short(stage: Stage) -> None:
    """Half of a method's numbers, nothing at all, and a content header that ends in its size."""
    strike(stage, VECTORS["FRAME-014"])


@rule("FRAME-015", queue_types=CLASSIC)
def test_properties_that_cannot_be_read(stage: Stage) -> None:
    """No flags at all, a text that is not there, octets that no flag announces, a table that is cut short."""
    strike(stage, VECTORS["FRAME-015"])


@rule("FRAME-016", queue_types=CLASSIC)
def test_a_weight(stage: Stage) -> None:
    """The least, and the greatest."""
    strike(stage, VECTORS["FRAME-016"])
