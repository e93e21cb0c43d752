"""How scenes and machines open a connection step by step, and go their own way at any of them.

What the broker says to it, or that it hangs up, is part of the history and ends nothing. Whoever dials says whether
the login and the virtual host that will be named are the right ones, for no frame tells. What was not opened to its
end is given up by the scene: the end of a history closes connections that are open.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import codec
from codec import methods as m
from codec import values
from conformance.drive.drivers.handshake import reach
from conformance.drive.drivers.raw import ConnectionLost, Item, RawConnection, Tuned
from conformance.drive.stage import Stage
from conformance.history import events
from conformance.history.events import TO_CLIENT

HEADER = codec.ProtocolHeader().encode()
TELL_ME: Mapping[str, object] = {"capabilities": {"authentication_failure_close": True}}
AMQPLAIN = "AMQPLAIN"
"""RabbitMQ's own mechanism: user and password as a table."""
LARGE, MANY = 131072, 2047
"""Limits where the broker has none."""


def dial(stage: Stage, name: str, *, login: bool = True, vhost: bool = True) -> RawConnection:
    """A socket on which nothing was said yet."""
    stage.make_room()
    name = stage.unused(name)
    link = RawConnection(reach(stage.target), stage.recorder, name, stage.target)
    stage.connections[name] = link
    stage.note(events.KNOWN, of=name, login=login, vhost=vhost)
    return link


@contextlib.contextmanager
def dialled(stage: Stage, count: int, *, login: bool = True, vhost: bool = True) -> Iterator[list[RawConnection]]:
    """So many of them, greeted; given up in the end."""
    first = len(stage.connections) + 1
    links = [dial(stage, f"c{number}", login=login, vhost=vhost) for number in range(first, first + count)]
    try:
        say(stage, *((link, HEADER) for link in links))
        yield links
    finally:
        for link in links:
            link.abort()


def say(stage: Stage, *lines: tuple[RawConnection, Item] | tuple[RawConnection, Item, Item]) -> None:
    """Each on its connection, unless that has ended; then waits until nothing is owed."""
    for link, *items in lines:
        if link.alive:
            with contextlib.suppress(ConnectionLost):
                link.send(*items)
    stage.quiesce()


def start_ok(
    stage: Stage,
    properties: Mapping[str, object] | values.FieldTable | None = None,
    *,
    mechanism: str = "",
    user: str = "",
    password: str | None = None,
) -> m.ConnectionStartOk:
    """The login of the run, or another one."""
    target = stage.target
    user, secret = user or target.user, target.password if password is None else password
    response = b""
    if mechanism == AMQPLAIN:
        response = b"".join(_entry(*one) for one in (("LOGIN", user), ("PASSWORD", secret)))
    elif target.mechanism == "PLAIN":
        response = f"\0{user}\0{secret}".encode()
    if properties is None:
        properties = {} if target.terse else TELL_ME
    table = properties if isinstance(properties, list) else values.table(dict(properties))
    return m.ConnectionStartOk(0, table, mechanism or target.mechanism, response, "en_US")


def _entry(name: str, text: str) -> bytes:
    """One field of a table, a text."""
    octets = text.encode()
    return bytes([len(name)]) + name.encode() + b"S" + len(octets).to_bytes(4, "big") + octets


def speaks(stage: Stage, link: RawConnection, mechanism: str) -> bool:
    """Has the broker offered this mechanism here, and can the login of the run be told by it?"""
    started = (one for one in stage.events if (one.method, one.connection) == ("connection.start", link.name))
    offered = next(started, None)
    told = str(offered.args.get("mechanisms", "")).split() if offered is not None else []
    return mechanism in told and stage.target.mechanism == "PLAIN"


def log_in(stage: Stage, *links: RawConnection) -> None:
    """By the right login."""
    say(stage, *((link, start_ok(stage)) for link in links))


def offer(stage: Stage, link: RawConnection) -> Tuned | None:
    """What the broker has offered in connection.tune, 0 for no limit; None where it has not."""
    for event in stage.events:
        if (event.method, event.direction, event.connection) == ("connection.tune", TO_CLIENT, link.name):
            return Tuned(int(event.args["channel_max"]), int(event.args["frame_max"]), 0)
    return None


def agree(stage: Stage, link: RawConnection, channel_max: int = 0, frame_max: int = 0) -> m.ConnectionTuneOk | None:
    """Agrees to this, or to what was offered where that is 0. None where nothing was."""
    offered = offer(stage, link)
    if offered is None:
        return None
    beats = link.target.heartbeat
    tuned = Tuned(channel_max or offered.channel_max or MANY, frame_max or offered.frame_max or LARGE, beats)
    link.tune(tuned)
    return m.ConnectionTuneOk(0, tuned.channel_max, tuned.frame_max, beats)


def enter(stage: Stage, link: RawConnection, channel_max: int = 0, frame_max: int = 0, vhost: str = "") -> bool:
    """From connection.tune to connection.open-ok. Did that come?"""
    tune_ok = agree(stage, link, channel_max, frame_max)
    if tune_ok is not None:
        say(stage, (link, tune_ok, m.ConnectionOpen(0, vhost or link.target.vhost)))
    return link.alive and was_told(stage, link, "connection.open-ok")


def was_told(stage: Stage, link: RawConnection, method: str) -> bool:
    """Has the broker sent this here?"""
    key: tuple[Any, ...] = method, TO_CLIENT, link.name
    return any((event.method, event.direction, event.connection) == key for event in stage.events)
