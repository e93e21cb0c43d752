"""Marks that tell whether a broker kept its data: a durable queue and a durable exchange, made before it ends.

Each is asked for on a channel of its own, so that what one costs does not hide the other. A broker that lost one of
them is for the rules to judge; one that has neither was started without its data.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from codec import Method
from codec import methods as m
from conformance.drive.drivers.errors import ConnectionLost
from conformance.drive.drivers.raw import RawConnection

QUEUE, EXCHANGE = 1, 2
"""Their channels."""
REMOVES = 2
"""Channels on which they are removed come so many later."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Their name."""

    name: str

    @classmethod
    def made(cls, line: RawConnection, patience: float) -> Marks:
        """Declares both."""
        marks = cls(f"amqpconf.mark.{secrets.token_hex(8)}")
        _ask(
            line,
            patience,
            m.QueueDeclare(QUEUE, queue=marks.name, durable=True),
            m.ExchangeDeclare(EXCHANGE, exchange=marks.name, type="fanout", durable=True),
        )
        return marks

    def taken(self, line: RawConnection, patience: float) -> bool:
        """Is either still there? Afterwards neither is."""
        found = _ask(
            line,
            patience,
            m.QueueDeclare(QUEUE, queue=self.name, passive=True),
            m.ExchangeDeclare(EXCHANGE, exchange=self.name, type="fanout", passive=True),
        )
        _ask(
            line,
            patience,
            m.QueueDelete(QUEUE + REMOVES, queue=self.name),
            m.ExchangeDelete(EXCHANGE + REMOVES, exchange=self.name),
        )
        line.close(patience)
        return found > 0


def _ask(line: RawConnection, patience: float, *methods: Method) -> int:
    """Sends each on a channel that is opened for it; how many were carried out."""
    try:
        for method in methods:
            line.send(m.ChannelOpen(method.channel), method)
    except ConnectionLost:
        return 0
    answers, carried_out = 0, 0
    until = time.monotonic() + patience
    while line.alive and answers < len(methods) and (left := until - time.monotonic()) > 0:
        for event in line.receive(left):
            done = event.method in {f"{method.NAME}-ok" for method in methods}
            answers, carried_out = answers + (done or event.method == "channel.close"), carried_out + done
    return carried_out
