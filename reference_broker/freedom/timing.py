"""Liberties of time: when what comes on a channel is handled, and how long a connection may be silent.

A channel whose turn has not come has a *line* of the frames that wait, so it goes on where it stopped, in order. A
connection that ends with octets unhandled has lost them: nobody was told that they had any effect.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import codec
from codec import Content
from reference_broker.freedom.kinds import TICKS, Free, Liberty, liberty
from reference_broker.lifecycle import Phase

if TYPE_CHECKING:
    from reference_broker.connection import Connection
    from reference_broker.intake import Inbound

LIBERTIES: list[Liberty] = []


@liberty(
    LIBERTIES,
    "channels.late",
    "handle what comes on a channel later than what comes on others, and answer it later",
    'AMQP 0-9-1 XML: basic.cancel: a client may receive "an arbitrary number of messages in between sending the cancel '
    'method and receiving the cancel-ok reply"; when a method is answered is not said anywhere',
    share=(0.02, 0.1, 0.5),
    ticks=TICKS,
)
def _(free: Free) -> None:
    honest = free.parts.connection
    lines: dict[Connection, dict[int, deque[Inbound]]] = {}
    catching_up: set[Connection] = set()

    def on_channel(self: Connection, number: int, frame: Inbound) -> None:
        waiting = lines.get(self, {}).get(number)
        if waiting is not None:
            waiting.append(frame)
        elif self not in catching_up and isinstance(frame, codec.Method | Content) and free.luck():
            lines.setdefault(self, {})[number] = deque([frame])
            free.put_off(lambda: go_on(self, number))
        else:
            honest.on_channel(self, number, frame)

    def control(self: Connection, frame: Inbound) -> None:
        """What is said of the connection waits for all of its channels."""
        for number in list(lines.get(self, ())):
            catch_up(self, number)
        if self.waiting:
            self.waiting.append(frame)
        else:
            honest.control(self, frame)

    def go_on(connection: Connection, number: int) -> None:
        if connection.waiting:
            free.put_off(lambda: go_on(connection, number))
        else:
            catch_up(connection, number)

    def catch_up(connection: Connection, number: int) -> None:
        catching_up.add(connection)
        connection.work(iter(lines.get(connection, {}).pop(number, ())))
        catching_up.discard(connection)

    def lost(self: Connection) -> None:
        lines.pop(self, None)
        honest.lost(self)

    free.parts.override("connection", on_channel=on_channel, control=control, lost=lost)


@liberty(
    LIBERTIES,
    "connections.pause",
    "say nothing on a connection for a few seconds, and go on where it stopped",
    'AMQP 0-9-1 specification, 4.2.7 "Heartbeat Frames": a peer may be silent for two intervals of heartbeats, and '
    "without them for any time",
    share=(0.002, 0.02),
    seconds=(0.5, 2),
    times=(1, 3),
)
def _(free: Free) -> None:
    honest = free.parts.connection.take
    resting: dict[Connection, None] = {}
    rested: set[Connection] = set()

    def take(self: Connection) -> bytes:
        """Once on a connection, and only where time goes by."""
        calm = self.broker.clock.flows and self.phase is Phase.RUNNING and self not in rested
        if calm and len(rested) < free.given["times"] and free.luck():
            rested.add(self)
            resting[self] = None
            self.broker.clock.at(self.broker.clock.now + free.given["seconds"], go_on, self)
        return b"" if self in resting else honest(self)

    def go_on(connection: Connection) -> None:
        resting.pop(connection, None)
        connection.broker.dirty[connection] = None

    free.parts.override("connection", take=take)
