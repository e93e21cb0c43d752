"""The content machine: contents of all kinds go in, and come out by delivery, get, return and as dead letters.

A letter is drawn as a whole: each property there or not, headers of every type at any depth, a body about as long as
some frames or as short as can be, and how it is split. So any two of these meet. The queues are a plain one, one whose
rejected messages go to the third, and that third one. In some histories the last channel has a connection of its own,
with small frames: what came in large frames goes out in small ones, and the other way round.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from conformance.catalogue.profiles import Profile
from conformance.drive.channel import Channel
from conformance.drive.contents import frames, largest
from conformance.drive.doors import HEADER, dial, enter, log_in, say
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import Barrier, Cancel, Consume, Get, Reopen, Settle
from conformance.drive.machines.shape import APART, Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.world import CHANNELS, World
from conformance.drive.stage import NotOffered, Stage

Address = Literal["queue", "both", "nowhere"]
SMALL = 8192
"""The smallest frames that every broker agrees to."""
TELLING = 16
"""A body of so many octets has room for the name of its message."""
OWN = "user_id"


class Mailroom(World):
    """A plain queue, one that hands on what is rejected, and the heir; channels that are apart have small frames."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        super().__init__(stage, shape)
        plain, heir = self._queues[0], stage.queue()
        self._queues = [plain, self._mortal(heir), heir]

    def _mortal(self, heir: str) -> str:
        try:
            return self.stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
        except NotOffered:
            return self.stage.queue()

    def _opened(self) -> list[Channel]:
        if not self.shape.apart:
            return super()._opened()
        return [*self.stage.channels(CHANNELS - 1), self._alone()]

    def _alone(self) -> Channel:
        return self.stage.channel(connection=self._narrow())

    def _narrow(self) -> RawConnection:
        """A connection with small frames, where the broker lets one in."""
        link = dial(self.stage, "narrow")
        say(self.stage, (link, HEADER))
        log_in(self.stage, link)
        if enter(self.stage, link, frame_max=SMALL):
            return link
        link.abort()
        return self._connect()


@dataclass(frozen=True, slots=True)
class Letter:
    """What is published: properties by name, the length of the body in frames and octets beside, and its split."""

    properties: tuple[tuple[str, Any], ...] = ()
    named: bool = True
    frames: int = 0
    beside: int = 8
    split: tuple[int, ...] = ()
    last: bool = False
    """Its last octet has a frame of its own."""

    def pieces(self, world: World, channel: Channel, exchange: str, key: str, *, mandatory: bool) -> list[bytes]:
        """Its frames. What is too short to tell itself from others has a message-id."""
        room, message = largest(channel), world.stage.payloads.next_message()
        size = max(0, self.frames * room + self.beside)
        exchange = exchange or channel.by_name
        method = m.BasicPublish(channel.number, exchange=exchange, routing_key=key, mandatory=mandatory)
        named = {"message_id": message} if self.named or size < TELLING else {}
        return frames(
            method, channel.fit(body(message, size)), self._sizes(size, room), {**self._signed(world), **named}
        )

    def _signed(self, world: World) -> Mapping[str, Any]:
        """Its properties; the user-id is the one of the run, where a login tells it, or that of nobody."""
        target, found = world.stage.target, dict(self.properties)
        if OWN in found:
            found[OWN] = target.user + found[OWN] if target.mechanism == "PLAIN" else None
        return found

    def _sizes(self, size: int, room: int) -> list[int]:
        first = [min(one, room) for one in self.split]
        left = max(0, size - sum(first) - self.last)
        return [*first, *(room,) * (left // room), *((left % room,) if self.last else ())]


def body(message: str, size: int) -> bytes:
    """Begins with the name of the message, and goes on with any octets."""
    return (f"{message}.".encode() + Random(size).randbytes(size))[:size]


@dataclass(frozen=True, slots=True)
class Post:
    """Publishes a letter in one write."""

    channel: int
    address: Address
    queue: int
    mandatory: bool
    letter: Letter

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        world.many(1)
        channel.send(*posted(world, channel, self))


@dataclass(frozen=True, slots=True)
class Weave:
    """Two or three letters on as many channels, frame by frame in turn; heartbeats between."""

    posts: tuple[Post, ...]
    beats: bool

    def perform(self, world: World) -> None:
        by_channel = {world.channel(post.channel): post for post in self.posts}
        link = world.channel(self.posts[0].channel).connection
        woven = [(channel, post) for channel, post in by_channel.items() if channel.connection is link]
        if len(woven) < min(2, len(self.posts)):
            return
        beat = codec.Heartbeat().encode() if self.beats else None
        turns = itertools.zip_longest(*(posted(world, channel, post) for channel, post in woven))
        woven[0][0].send(*(piece for turn in turns for piece in (*turn, beat) if piece))


def posted(world: World, channel: Channel, post: Post) -> list[bytes]:
    """The frames of the letter, to its address."""
    stage = world.stage
    if post.address == "queue":
        exchange, key = "", world.queue(post.queue)
    elif post.address == "both":
        exchange, key = world.prop("both", lambda: stage.exchange(*world.queues[:2])), "any key"
    else:
        exchange, key = world.prop("nowhere", stage.exchange), ""
    return post.letter.pieces(world, channel, exchange, key, mandatory=post.mandatory)


LEAVES: tuple[tuple[str, Any], ...] = (
    *(("t", truth) for truth in (True, False)),
    *((letter, number) for letter, bits in (("b", 8), ("s", 16), ("I", 32), ("l", 64)) for number in
      (-(2 ** (bits - 1)), 0, 2 ** (bits - 1) - 1)),
    *((letter, number) for letter, bits in (("B", 8), ("u", 16), ("i", 32)) for number in (0, 2**bits - 1)),
    *(("f", number) for number in (0.0, -0.5, 2.0**100)),
    *(("d", number) for number in (0.0, -0.25, 1e300)),
    *(("D", number) for number in ((0, 0), (2, 314), (10, 2**31 - 1))),
    *(("T", time) for time in (0, 1_700_000_000, 4_102_444_800)),
    *(("S", text) for text in (b"", b"text", "ünï€𝄞".encode(), b"\xff\x00", b"long " * 60)),
    *(("x", octets) for octets in (b"", b"text", bytes(range(256)))),
    ("V", None),
)  # fmt: skip
"""Values at the ends of each type."""
NAMES = ("a", "Key", "under_score", "$money", "#hash", "n1", "k" * 128)
WORDS = ("", "text/plain", "no slash", "ä€𝄞", "x" * 255)
TIMES = (0, 1, 1_700_000_000, 4_102_444_800_000, 2**63 - 1, 2**64 - 1)


def _fields(inner: st.SearchStrategy[tuple[str, Any]]) -> st.SearchStrategy[values.FieldTable]:
    named = st.tuples(st.sampled_from(NAMES), inner).map(lambda one: (one[0], *one[1]))
    return st.lists(named, max_size=4, unique_by=lambda one: one[0])


_value: st.SearchStrategy[tuple[str, Any]] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        _fields(inner).map(lambda table: ("F", table)), st.lists(inner, max_size=4).map(lambda array: ("A", array))
    ),
    max_leaves=6,
)
_words = st.sampled_from(WORDS)
_each: Mapping[str, st.SearchStrategy[Any]] = {
    "headers": _fields(_value),
    "delivery_mode": st.sampled_from((1, 2)),
    "timestamp": st.sampled_from(TIMES),
    OWN: st.sampled_from(("", "", "", "", " and not")),
    **dict.fromkeys(
        ("content_type", "content_encoding", "correlation_id", "reply_to", "type", "app_id", "cluster_id"), _words
    ),
}
_rare: Mapping[str, st.SearchStrategy[Any]] = {
    "priority": st.sampled_from((0, 9, 10, 255)),
    "expiration": st.just("3600000"),
}
"""A message with these is owed to nobody, or in no order; so most have neither."""
_given = {**_each, **_rare}
_properties = st.one_of(
    st.just({}),
    st.sampled_from(sorted(_given)).flatmap(lambda name: st.fixed_dictionaries({name: _given[name]})),
    _each["headers"].map(lambda headers: {"headers": headers}),
    st.fixed_dictionaries({}, optional=_each),
    st.fixed_dictionaries({}, optional=_given),
).map(lambda found: tuple(found.items()))
"""None, one, or each of them there or not."""
_size = st.sampled_from(
    ((0, 0), (0, 0), (0, 1), (0, 2), *((0, size) for size in (16, 40, 255, 700, 4096)) , (0, 9000), (0, 17_000),
     *((whole, beside) for whole in (1, 2) for beside in (-1, 0, 1)))
)  # fmt: skip
_split = st.one_of(st.just(()), st.lists(st.sampled_from((1, 1, 2, 3, 255, 700, 4096)), max_size=8).map(tuple))
_letter = st.builds(
    lambda properties, named, size, split, last: Letter(properties, named, size[0], size[1], split, last),
    _properties,
    st.booleans(),
    _size,
    _split,
    st.booleans(),
)
_channel, _queue = st.integers(0, 2), st.sampled_from((0, 1, 1, 2))
_how = st.sampled_from(("ack", "nack", "nack", "reject", "reject"))
_rarely = st.sampled_from((False, False, False, True))
_post = st.one_of(
    st.builds(Post, _channel, st.just("queue"), _queue, st.booleans(), _letter),
    st.builds(Post, _channel, st.just("both"), _queue, st.booleans(), _letter),
    st.builds(Post, _channel, st.just("nowhere"), _queue, st.just(True), _letter),
)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(5, Post, _channel, st.just("queue"), _queue, st.booleans(), _letter),
        weighted(1, Post, _channel, st.just("both"), _queue, st.booleans(), _letter),
        weighted(2, Post, _channel, st.just("nowhere"), _queue, st.just(True), _letter),
        weighted(2, Weave, st.lists(_post, min_size=2, max_size=4).map(tuple), st.booleans()),
        weighted(6, Get, _channel, _queue, st.integers(1, 3), _rarely),
        weighted(2, Consume, _channel, _queue, st.integers(0, 3) | st.none(), _rarely),
        weighted(7, Settle, _channel, _how, st.integers(0, 5), st.booleans(), _rarely),
        weighted(1, Cancel, _channel, st.integers(0, 1)),
        weighted(1, Reopen, _channel, st.booleans()),
        weighted(1, Barrier, _channel),
    )


CONTENT = search.Machine("content", commands, (1,), Mailroom, wide=(1,), apart=APART, small=True, times=0.25)
