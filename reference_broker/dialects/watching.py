"""Consumer timeouts. Before queues watched their deliveries: nobody's, then the channel's.

Where the channel watches, it looks at its oldest delivery about once a minute, and closes. Where queues watch, each
consumer that times out closes its channel, whether that is open or not.
"""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.timeouts import Line, Timeouts, too_late
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []
TICK = 60.0
"""Seconds between two looks of a channel at its oldest delivery."""


@does("timeouts", BEHAVIOURS, "timeouts.of-no-queue", "no queue watches its deliveries", until="4.0")
class OfNoQueue(Timeouts):
    def watches(self, queue: Queue) -> bool:
        return False


@does(
    "timeouts",
    BEHAVIOURS,
    "timeouts.broker-alone",
    "neither argument nor policy of a queue sets a timeout",
    until="3.10",
)
class BrokerAlone(Timeouts):
    def levels(self, queue: Queue) -> list[int]:
        return []


@does(
    "timeouts",
    BEHAVIOURS,
    "timeouts.of-the-channel",
    "a channel looks at its oldest delivery now and then, and closes when that is too old",
    since="3.10",
    until="4.0",
)
class OfTheChannel(Timeouts):
    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.ticking = False
        self.began = self.clock.now

    def began_with(self, delivery: Delivery) -> None:
        delivery.since = self.clock.now
        self.tick_later()

    def tick_later(self) -> None:
        if not self.ticking:
            self.ticking = True
            passed = (self.clock.now - self.began) // TICK
            self.clock.at(self.began + (passed + 1) * TICK, type(self).tick, self)

    def tick(self) -> None:
        """The oldest delivery alone; younger ones hide behind it."""
        self.ticking = False
        oldest = next(iter(self.channel.unacked.by_tag.values()), None)
        if oldest is None or self.channel.closing:
            return
        timeout = self.effective(oldest.queue, None)
        if timeout is not None and self.clock.now - oldest.since > timeout:
            self.close(round(timeout * 1000))
        else:
            self.tick_later()


@does(
    "timeouts",
    BEHAVIOURS,
    "timeouts.closed-for-each",
    "a channel is closed once for each of its consumers that time out together",
    since="4.3",
)
class ClosedForEach(Timeouts):
    def __init__(self, channel: Channel) -> None:
        super().__init__(channel)
        self.others: set[Line] = set()
        """Those that had something when the channel was closed for one of them."""

    def close(self, timeout: int) -> None:
        lines = self.lines.values()
        self.others = {line for line in lines if any(self.out(delivery) for _, delivery in line.waiting)}
        super().close(timeout)

    def fire(self, line: Line) -> None:
        channel, connection = self.channel, self.channel.connection
        if line not in self.others or connection.channels.get(channel.number) is not channel:
            super().fire(line)
            return
        self.others.remove(line)
        error = too_late(channel, -1)
        connection.send(m.ChannelClose(channel.number, error.code, error.reply_text(channel.vhost.name), 0, 0))
