"""What was done before on each channel, queue and connection, as far as triggers ask; and how much came in one write.

It looks over the shoulder of the intake: after each method that was served it notes the features that were used, so
what is being done now is never its own past.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from codec import Content, Method
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.queues.queue import Queue

FEATURES: dict[type[Method], str] = {
    m.BasicQos: "qos",
    m.ConfirmSelect: "confirm",
    m.TxSelect: "tx",
    m.BasicGet: "get",
    m.BasicCancel: "cancel",
    m.BasicRecover: "recover",
    m.BasicRecoverAsync: "recover",
}
NOWAIT, REOPEN, DEAD_LETTER, LIMIT = "nowait", "reopen", "dead-letter exchange", "limit"


class Past:
    """Of one broker."""

    def __init__(self) -> None:
        self.features: defaultdict[object, set[str]] = defaultdict(set)
        self.together = 0
        """Methods in the write that is being worked off; 0 outside of one."""
        self._named: defaultdict[tuple[object, ...], dict[object, int]] = defaultdict(dict)

    def bearer(self, one: object, *name: object) -> int:
        """It is the first, second, ... that is seen under this name."""
        known = self._named[name]
        return known.setdefault(one, len(known) + 1)

    def number(self, channel: Channel) -> int:
        return self.bearer(channel, channel.connection, channel.number)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While this lasts, brokers of this process are watched."""
        serve, work = Intake.serve, Intake.work

        def served(intake: Intake, channel: Channel, method: Method) -> None:
            ending = _consumed(channel, method)
            serve(intake, channel, method)
            self.note(channel, method, ending)

        def worked(intake: Intake, frames: Iterator[Inbound]) -> None:
            came, before = list(frames), self.together
            self.together = sum(isinstance(frame, Method | Content) for frame in came)
            try:
                work(intake, iter(came))
            finally:
                self.together = before

        with patch.object(Intake, "serve", served), patch.object(Intake, "work", worked):
            yield

    def note(self, channel: Channel, method: Method, ending: Queue | None = None) -> None:
        """It was served. `ending`: the queue of the consumer that it cancelled."""
        queue = ending or _named(channel, method)
        used = {FEATURES[type(method)]} if type(method) in FEATURES else set()
        if getattr(method, "no_wait", False):
            used.add(NOWAIT)
        if self.number(channel) > 1:
            used.add(REOPEN)
        if queue is not None:
            used |= {DEAD_LETTER} if queue.settings.dead_letter_exchange is not None else set()
            used |= {LIMIT} if queue.limited else set()
        for scope in (channel, channel.connection, queue):
            if scope is not None and used:
                self.features[scope] |= used


def _named(channel: Channel, method: Any) -> Queue | None:
    name = getattr(method, "queue", None)
    return None if name is None else channel.vhost.queues.get(name or channel.last_queue)


def _consumed(channel: Channel, method: Method) -> Queue | None:
    consumer = channel.consumers.get(method.consumer_tag) if isinstance(method, m.BasicCancel) else None
    return consumer.queue if consumer is not None else None
