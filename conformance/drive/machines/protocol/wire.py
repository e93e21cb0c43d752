"""The wire machine: lawful and unlawful octets, wherever a connection stands.

A case has a connection of its own: it is brought to where it should stand, and then something is said in one write,
lawful, or not, or both. Some cases are played side by side, because many brokers let a client that made a mistake
before connection.open-ok wait. One more connection does nothing wrong, and is asked for an answer after each command.
A history has no more cases than a broker should be asked to bear; what is said after that is nothing.

Left out is what no text decides: versions that somebody may speak, a body before its header, what may be half of
something, and two mistakes in one write, of which a broker may complain in any order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from hypothesis import strategies as st

import codec
from codec import methods as m
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.features import RESERVED
from conformance.drive import doors
from conformance.drive.channel import Channel
from conformance.drive.drivers.octets import BODY, FLOW, HEADER, HEARTBEAT, METHOD, NOBODY, QUEUE, frame, header, method
from conformance.drive.drivers.raw import ConnectionLost, Item, RawConnection
from conformance.drive.machines import search
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.world import World
from conformance.drive.stage import SceneOver, Stage

Place = Literal["silent", "greeted", "known", "tuned", "open", "channel", "content", "body", "refused", "left", "over"]
EARLY: tuple[Place, ...] = ("silent", "greeted", "known", "tuned")
"""Before connection.open."""
LATE: tuple[Place, ...] = ("open", "channel", "channel", "content", "body", "refused", "left", "over")
CASES, WAITS = 24, 2
"""So many cases has a history at most, and so many commands with cases after which a broker may let us wait."""
N = 1
"""The channel of a case."""
SIZE = 3
PUBLISH = m.BasicPublish(N, routing_key=NOBODY).encode()
FIND = m.ExchangeDeclare(N, exchange="amq.direct", type="direct", passive=True)
DECLARE = method(QUEUE, 10, b"\0\0")
FIRST_BODY, REST = frame(BODY, N, b"a"), frame(BODY, N, b"bc")


class Switchboard(World):
    """Connections that come and go, and one that stays."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.stage, self.shape = stage, shape
        self.channels: list[Channel] = []
        self._queues: list[str] = []
        stage.require(RESERVED)
        self.bystander = stage.channel()
        self.cases, self.waits = CASES, WAITS

    @property
    def often(self) -> int:
        return 1

    def asks(self) -> None:
        """Does the one that stays get an answer?"""
        if self.bystander.connection.alive:
            self.stage.barrier(self.bystander)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said: one of what is lawful there, or of what is not; and which of its forms."""

    lawful: bool
    index: int
    form: int


@dataclass(frozen=True, slots=True)
class Case:
    """A connection that stands there, and what is said on it."""

    place: Place
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Strike:
    """Some cases side by side."""

    cases: tuple[Case, ...]

    def perform(self, world: World) -> None:
        board = cast(Switchboard, world)
        waits = any(case.place in EARLY for case in self.cases)
        if board.cases < len(self.cases) or (waits and not board.waits):
            return
        board.cases -= len(self.cases)
        board.waits -= waits
        links = [reached(board.stage, case.place) for case in self.cases]
        for case, link in zip(self.cases, links, strict=True):
            _utter(link, list(_words(board.stage, link, case)))
        board.stage.quiesce()
        for link in links:
            _part(board.stage, link)
        board.asks()


def reached(stage: Stage, place: Place) -> RawConnection:
    """A new connection that stands there, as far as the broker lets it."""
    name = f"case {len(stage.connections)}"
    if place not in EARLY:
        link = stage.connect(name)
        if place != "open":
            stage.channel(N, link)
        if place == "refused":
            link.holding = True
            link.send(m.QueueDeclare(N, queue=stage.recorder.private_name(), passive=True))
            stage.quiesce()
        return link
    link = doors.dial(stage, name)
    if place != "silent":
        doors.say(stage, (link, doors.HEADER))
    if place in ("known", "tuned"):
        doors.log_in(stage, link)
    tune_ok = doors.agree(stage, link) if place == "tuned" else None
    if tune_ok is not None:
        doors.say(stage, (link, tune_ok))
    return link


def _utter(link: RawConnection, items: Sequence[Item]) -> None:
    if link.alive:
        with contextlib.suppress(ConnectionLost):
            link.send(*items)


def _words(stage: Stage, link: RawConnection, case: Case) -> Iterator[Item]:
    """What is said in one write; what leads from the place before it is part of that."""
    yield from LEADS.get(case.place, ())
    for place, said in enumerate(case.said):
        listed = (LAWFUL if said.lawful else UNLAWFUL)[case.place]
        yield from listed[said.index % len(listed)](stage, link, len(case.said) * said.form + place)


def _part(stage: Stage, link: RawConnection) -> None:
    """The end of a case: a round trip and a close, where the connection is open and all went well."""
    if link.holding:
        link.release()
        stage.quiesce()
    entered, kicked = (doors.was_told(stage, link, f"connection.{word}") for word in ("open-ok", "close"))
    if link.alive and entered and not kicked:
        with contextlib.suppress(SceneOver):
            stage.barrier(stage.channel(N + 1, link))
        link.close(stage.deadline)
    link.abort()


# -- what is said

Form = Callable[[Stage, RawConnection, int], Sequence[Item]]


def _one(*forms: Sequence[Item] | Item) -> Form:
    """One of these."""
    listed = [[form] if isinstance(form, bytes | codec.Method) else list(cast(Any, form)) for form in forms]
    return lambda stage, link, form: listed[form % len(listed)]


def _too_large(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    """A body that is larger than agreed, by one octet beside what a frame adds, or by more; where there is a limit."""
    room = link.tuned.frame_max
    if not room:
        return ()
    size = room + (1, 100, 4096)[form % 3]
    return PUBLISH, frame(HEADER, N, header(size=size)), frame(BODY, N, bytes(size))


def _another(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    """Another channel comes and goes: each time one more, for whether a number is free before close-ok nobody says.
    None, where no other is allowed."""
    number, most = N + 6 + form, link.tuned.channel_max
    if number > most > 0:
        return ()
    return m.ChannelOpen(number), m.ChannelClose(number, 200, "normal shutdown", 0, 0)


def _log_in(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    return (doors.start_ok(stage),)


def _tune(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    """What was offered."""
    tune_ok = doors.agree(stage, link)
    return (tune_ok,) if tune_ok is not None else ()


def _greedy(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    """More than was offered, where that has an end."""
    offered = doors.offer(stage, link)
    if offered is None or not 0 < offered.channel_max < 65535 or not offered.frame_max:
        return ()
    more = (1, 0) if form % 2 else (0, 1)
    tune_ok = m.ConnectionTuneOk(0, offered.channel_max + more[0], offered.frame_max + more[1], 0)
    return tune_ok, m.ConnectionOpen(0, link.target.vhost)


def _open(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    return (m.ConnectionOpen(0, link.target.vhost),)


def _mechanism(stage: Stage, link: RawConnection, form: int) -> Sequence[Item]:
    return (doors.start_ok(stage, mechanism=("NONESUCH", "plain", "X" * 255)[form % 3]),)


TUNE = m.ConnectionTuneOk(0, 1, 8192, 0)
NOBODY_SPEAKS = _one(b"AMQP\0\0\0\1", b"JUNKJUNK", b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n", bytes(8), b"\xff" * 8)
TORN: tuple[Form, ...] = (
    _one(*(frame(METHOD, N, FLOW, bytes((end,))) for end in (0, 1, 0xCD, 0xCF, 0xFF))),
    _one(*(frame(HEARTBEAT, 0, b"", bytes((end,))) for end in (0, 0xCD, 0x8E))),
    _one(*(frame(kind, channel, FLOW) for kind in (0, 4, 5, 7, 9, 128, 255) for channel in (0, N))),
    _one(*(frame(METHOD, N, method(*ids)) for ids in ((99, 10), (60, 999), (61, 10)))),
    _one(
        *(frame(METHOD, N, arguments) for arguments in
          (DECLARE + b"\xffq\0", DECLARE + b"\1q\0" + b"\0\0\3\xe8", DECLARE, method(20, 20), method(60, 40, b"\0")))
    ),
    _one(*(frame(HEARTBEAT, channel, b"") for channel in (N, 7, 65535))),
)  # fmt: skip
"""No lawful frames, whatever was said before."""
AMID = *TORN[:3], TORN[5]
"""Of these, what is wrong in one way only where a content is under way."""
APART = TORN[1], _one(*(frame(kind, 0, FLOW) for kind in (0, 4, 5, 7, 9, 128, 255)))
"""Of these, what is wrong in one way only where the channel is not open."""
STRAY: tuple[Form, ...] = (
    _one(frame(HEADER, N, header()), frame(BODY, N, b"x"), frame(HEADER, N, header(size=0))),
    _one(frame(HEADER, 0, header()), frame(BODY, 0, b"x")),
)
WRONG_CONTENT: tuple[Form, ...] = (
    _one(*((PUBLISH, frame(HEADER, N, header(class_id, 0))) for class_id in (0, 10, QUEUE, 90, 65535))),
    _one((PUBLISH, FIND), (PUBLISH, frame(HEADER, N, header()), FIND), (PUBLISH, PUBLISH)),
    _one(*((PUBLISH, frame(HEADER, N, header(size=1)), frame(BODY, N, bytes(size))) for size in (2, 9, 4000))),
    _too_large,
)
OUT_OF_TURN: tuple[Form, ...] = (
    _one(m.ConnectionOpen(0, "/")),
    _log_in,
    _one(m.ChannelFlow(0, True), m.ChannelOpen(0), m.BasicGet(0, queue="q")),
    _one(m.ChannelFlow(9, True), m.BasicGet(9, queue="q"), m.ChannelClose(9, 200, "", 0, 0)),
)
CONTENT = PUBLISH, frame(HEADER, N, header(size=SIZE)), FIRST_BODY, REST
HARMLESS: tuple[Form, ...] = (
    _one(FIND),
    _one(frame(HEARTBEAT, 0, b"")),
    _one(CONTENT, (PUBLISH, frame(HEADER, N, header(size=0)))),
    _another,
    _one(m.BasicQos(N, 0, 3, False)),
)
ELSEWHERE: tuple[Form, ...] = (_one(frame(HEARTBEAT, 0, b"")), HARMLESS[3])
"""Lawful while a content of the channel is under way."""
LEADS: Mapping[Place, Sequence[Item]] = {
    "content": (PUBLISH,),
    "body": (PUBLISH, frame(HEADER, N, header(size=SIZE)), FIRST_BODY),
    "left": (m.ChannelClose(N, 200, "normal shutdown", 0, 0),),
    "over": (m.ConnectionClose(0, 200, "normal shutdown", 0, 0),),
}
BEFORE: tuple[Form, ...] = (
    *APART,
    _one(m.ChannelOpen(N), FIND, CONTENT),
    _one(doors.HEADER),
)
"""Unlawful before connection.open, whatever is due."""
UNLAWFUL: Mapping[Place, Sequence[Form]] = {
    "silent": (NOBODY_SPEAKS, _log_in),
    "greeted": (*BEFORE, _one(TUNE), _open, _mechanism),
    "known": (*BEFORE, _log_in, _open, _greedy),
    "tuned": (*BEFORE, _log_in, _one(TUNE)),
    "open": (*APART, STRAY[1], *OUT_OF_TURN, _one(doors.HEADER), _one(FIND, CONTENT)),
    "channel": (*TORN, *STRAY, *WRONG_CONTENT, *OUT_OF_TURN, _one(m.ChannelOpen(N)), _one(doors.HEADER)),
    "content": (*AMID, STRAY[1], _one(FIND, PUBLISH), _one(frame(HEADER, N, header(QUEUE, SIZE)))),
    "body": (*AMID, STRAY[1], _one(FIND, PUBLISH), _one(frame(BODY, N, b"bcd"), frame(BODY, N, bytes(4000)))),
    "refused": (*APART, STRAY[1], *OUT_OF_TURN[:3]),
    "left": (*APART, STRAY[1], *OUT_OF_TURN[:3], _one(FIND)),
    "over": (*TORN, *STRAY, *WRONG_CONTENT[:3], *OUT_OF_TURN),
}
LAWFUL: Mapping[Place, Sequence[Form]] = {
    "silent": (_one(doors.HEADER),),
    "greeted": (_log_in,),
    "known": (_tune,),
    "tuned": (_open,),
    "open": (ELSEWHERE[0], ELSEWHERE[1]),
    "channel": HARMLESS,
    "content": ELSEWHERE,
    "body": ELSEWHERE,
    "refused": HARMLESS,
    "left": ELSEWHERE,
    "over": HARMLESS,
}


def _case(places: tuple[Place, ...]) -> st.SearchStrategy[Case]:
    wrong = st.builds(Said, st.just(False), st.integers(0, 23), st.integers(0, 11))
    lawful = st.builds(Said, st.just(True), st.integers(0, 23), st.integers(0, 11))
    several = st.one_of(st.tuples(wrong), st.tuples(lawful, wrong), st.tuples(lawful), st.tuples(lawful, lawful))
    return st.builds(Case, st.sampled_from(places), several)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(6, Strike, st.tuples(_case(LATE))),
        weighted(2, Strike, st.lists(_case(LATE), min_size=2, max_size=4).map(tuple)),
        weighted(1, Strike, st.lists(_case(EARLY), min_size=3, max_size=6).map(tuple)),
    )


WIRE = search.Machine("wire", commands, (1,), Switchboard, wide=(1,), small=True, times=0.25)
