"""What an execution of a place is about: the connection, channel, queue, consumer and message nearest to it.

They are looked for in the frames from the place outwards to the shell: a function of the core works on what it was
handed or handed on, so the nearest of each kind is the one that the decision concerns. Where one leads to another (a
consumer to its channel and queue), that counts as found with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from codec import Content, Method
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue

CORE, OURS = "reference_broker.", "tools.mutation"
SHELL = ("reference_broker.server", "reference_broker.peer", "reference_broker.embedded")
KINDS = ("connection", "channel", "queue", "consumer", "message")
TWICE = " twice"
"""Behind a kind: the same one comes there more than once."""


@dataclass(slots=True)
class Subjects:
    connection: Connection | None = None
    channel: Channel | None = None
    queue: Queue | None = None
    consumer: Consumer | None = None
    message: Message | None = None
    delivery: Delivery | None = None
    entry: Entry | None = None
    content: Content | None = None
    method: Method | None = None
    intake: Intake | None = None

    def present(self) -> frozenset[str]:
        return frozenset(kind for kind in KINDS if getattr(self, kind) is not None)

    def again(self, before: Iterable[Subjects]) -> frozenset[str]:
        """Of which kinds were these here before?"""
        mine = {kind: getattr(self, kind) for kind in self.present()}
        return frozenset(
            f"{kind}{TWICE}" for other in before for kind, one in mine.items() if getattr(other, kind) is one
        )

    def meet(self, one: Any) -> None:
        """Something that a frame knows, and what it leads to; it may be in the making, and lead to nothing yet."""
        kind = next((kind for kind, of in _KINDS.items() if isinstance(one, of)), None)
        if kind is None:
            return
        if getattr(self, kind) is None:
            setattr(self, kind, one)
        for further in _LEADS.get(kind, ()):
            self.meet(getattr(one, further, None))


_KINDS: dict[str, type] = {
    "delivery": Delivery,
    "consumer": Consumer,
    "channel": Channel,
    "entry": Entry,
    "queue": Queue,
    "message": Message,
    "content": Content,
    "method": Method,
    "intake": Intake,
    "connection": Connection,
}
"""In one frame what leads to more comes first."""
_LEADS = {
    "delivery": ("consumer", "queue", "entry"),
    "consumer": ("channel", "queue"),
    "channel": ("connection",),
    "entry": ("message",),
    "content": ("method",),
    "intake": ("connection",),
}
_ORDER = tuple(_KINDS.values())


def around(frame: FrameType | None) -> Subjects:
    """Of this frame of the core, and those that led to it."""
    found = Subjects()
    while frame is not None and (module := str(frame.f_globals.get("__name__"))).startswith((CORE, OURS)):
        if module in SHELL:
            break
        if module.startswith(CORE):
            for one in sorted((each for each in frame.f_locals.values() if isinstance(each, _ORDER)), key=_rank):
                found.meet(one)
        frame = frame.f_back
    return found


def _rank(one: object) -> int:
    return next(place for place, kind in enumerate(_ORDER) if isinstance(one, kind))


def size(measure: str, about: Subjects) -> int:
    """One of `MEASURES`, of what it is about; 0 where there is no such thing."""
    return MEASURES[measure](about)


def _window(about: Subjects) -> int:
    if about.consumer is not None:
        return max(about.consumer.own.count, about.consumer.shared.count)
    return max(about.channel.prefetch, about.channel.limit.count) if about.channel is not None else 0


def _tag(about: Subjects) -> int:
    if about.delivery is not None:
        return about.delivery.tag
    if about.channel is None:
        return 0
    confirms = about.channel.confirms
    return max(about.channel.last_tag, confirms.published if confirms is not None else 0)


def _name(about: Subjects) -> int:
    names = [
        about.queue.name if about.queue is not None else "",
        about.consumer.tag if about.consumer is not None else "",
        about.message.routing_key if about.message is not None else "",
        about.message.exchange if about.message is not None else "",
        *(getattr(about.method, name, "") for name in ("queue", "exchange", "consumer_tag", "routing_key")),
    ]
    return max(map(len, names))


MEASURES = {
    "ready": lambda about: len(about.queue.ready) if about.queue is not None else 0,
    "unacked": lambda about: len(about.channel.unacked) if about.channel is not None else 0,
    "window": _window,
    "tag": _tag,
    "octets": lambda about: len(about.message.body) if about.message is not None else 0,
    "name": _name,
}
"""Messages ready or unacked, the limit, the tag or publish number, octets of a body, length of the longest name."""
