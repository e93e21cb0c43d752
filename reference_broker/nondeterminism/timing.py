"""Lawful variations of time: when what comes on a channel is handled, and how long a connection may be silent.

A channel whose turn has not come has a *line* of the frames that wait, so it goes on where it stopped, in order. A
connection that ends with octets unhandled has lost them: nobody was told that they had any effect.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import codec
from codec import Content
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.nondeterminism.kinds import TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.connections.intake import Inbound, Intake


class _Late:
    """The frames that wait for their channel's turn, by intake and channel."""

    def __init__(self) -> None:
        self.lines: dict[Intake, dict[int, deque[Inbound]]] = {}
        self.catching_up: set[Intake] = set()

    def catch_up(self, intake: Intake, number: int) -> None:
        self.catching_up.add(intake)
        intake.work(iter(self.lines.get(intake, {}).pop(number, ())))
        self.catching_up.discard(intake)

    def catch_up_all(self, intake: Intake) -> None:
        for number in list(self.lines.get(intake, ())):
            self.catch_up(intake, number)


@variation(
    "channels.late",
    "handle what comes on a channel later than what comes on others, and answer it later",
    'AMQP 0-9-1 XML: basic.cancel: a client may receive "an arbitrary number of messages in between sending the cancel '
    'method and receiving the cancel-ok reply"; when a method is answered is not said anywhere',
    share=(0.02, 0.1, 0.5),
    ticks=TICKS,
)
def handle_late(free: Free) -> None:
    honest, connections = free.parts.intake, free.parts.connection
    late = _Late()

    def on_channel(self: Intake, number: int, frame: Inbound) -> None:
        waiting = late.lines.get(self, {}).get(number)
        if waiting is not None:
            waiting.append(frame)
        elif self not in late.catching_up and isinstance(frame, codec.Method | Content) and free.luck():
            late.lines.setdefault(self, {})[number] = deque([frame])
            free.put_off(lambda: go_on(self, number))
        else:
            honest.on_channel(self, number, frame)

    def control(self: Intake, frame: Inbound) -> None:
        """What is said of the connection waits for all of its channels."""
        late.catch_up_all(self)
        if self.waiting:
            self.waiting.append(frame)
        else:
            honest.control(self, frame)

    def complain(self: Intake) -> None:
        """As well what is said of octets that are no frame: a publish may wait for just this header."""
        broken, self.broken = self.broken, None
        late.catch_up_all(self)
        self.broken = broken
        if not self.waiting:
            honest.complain(self)

    def go_on(intake: Intake, number: int) -> None:
        if intake.waiting:
            free.put_off(lambda: go_on(intake, number))
        else:
            late.catch_up(intake, number)

    def lost(self: Connection) -> None:
        late.lines.pop(self.intake, None)
        connections.lost(self)

    free.parts.override("intake", on_channel=on_channel, control=control, complain=complain)
    free.parts.override("connection", lost=lost)


@variation(
    "connections.pause",
    "say nothing on a connection for a few seconds, and go on where it stopped",
    'AMQP 0-9-1 specification, 4.2.7 "Heartbeat Frames": a peer may be silent for two intervals of heartbeats, and '
    "without them for any time",
    share=(0.002, 0.02),
    seconds=(0.5, 2),
    times=(1, 3),
)
def pause(free: Free) -> None:
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
