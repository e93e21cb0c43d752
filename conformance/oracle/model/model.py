"""The model of one history: its connections, its queues, and the reading of each event.

Reading an event gives facts; whoever iterates over them judges each before the model learns from it. The model never
judges, knows no rule text, and claims only what the history proves.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from conformance.catalogue.profiles import Profile
from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model import incidents, memory, receiving, sending
from conformance.oracle.model.connections import alarms, closing, endings, handshaking, opening
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.connections.pauses import Pauses
from conformance.oracle.model.consumers import cancelling, clocks, timeouts
from conformance.oracle.model.doubts import gaps
from conformance.oracle.model.facts import CloseConfirmed, ConnectionFailed, Fact, Unlawful
from conformance.oracle.model.owed import Obligation, owed_by
from conformance.oracle.model.queues import declaring, dropping
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.topology import Topology


class Model:
    """What one history shows."""

    __slots__ = (
        "captured",
        "connections",
        "deleted",
        "homes",
        "killed",
        "largest",
        "opaque",
        "open",
        "over",
        "pauses",
        "profile",
        "queue_type",
        "queues",
        "settings",
        "topology",
        "uncounted",
        "wandering",
    )

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.connections: dict[str, Connection] = {}
        self.queues: dict[str, Queue] = {}
        self.topology = Topology()
        self.queue_type = ""
        self.opaque = False
        self.uncounted = False
        """Messages may have gone to queues that were not there when that was arranged."""
        self.open = ""
        """Why the world is not closed, as `gaps` has it."""
        self.captured = False
        """It was taken off the wire between its clients and the broker."""
        self.largest = profile.body or 0
        """Octets of the largest body that the broker is known to take."""
        self.homes: dict[str, str] | None = None
        """By queue: the virtual host in which it was named first. None: nobody else observes this history."""
        self.settings = clocks.Settings()
        self.pauses = Pauses()
        self.over: deque[str] = deque()
        self.killed = 0
        """Connections that have ended."""
        self.deleted: deque[str] = deque()
        """Queues that the client had deleted."""
        self.wandering: dict[str, int] = {}
        """How many of the latest messages of an id went where nobody knows."""

    def read(self, event: Event) -> Iterable[Fact]:
        """The facts in this event, in order; the model learns from each when the next is asked for."""
        if event.kind != METHOD:
            return incidents.read(self, event)
        connection = self.connections.get(event.connection) or self._unannounced(event)
        if connection.torn:
            connection.torn = event.direction == TO_BROKER
            if connection.torn:
                return ()
        if event.direction != TO_BROKER:
            connection.hushed = False
            self.pauses.broker_speaks(event.time_ns)
            if self.settings.timed:
                timeouts.read(connection, event)
            return self._receive(connection, event)
        if self.settings.timed:
            self.settings.stamps[event.seq] = event.time_ns
            memory.stamped(self.settings.stamps)
        sending.send(self, connection, event)
        self.pauses.client_speaks(connection, event.time_ns)
        return ()

    def unlawful(self, event: Event, allowed: str, found: str) -> Unlawful:
        return Unlawful(event, self.connection(event.connection), allowed, found)

    def queue(self, name: str) -> Queue:
        """This queue; where its declaration is not part of the history, one of which little is known."""
        queue = self.queues.get(name)
        if queue is None:
            kind = self.queue_type or "quorum"
            queue = declaring.queue_of(self.profile, name, kind, 0, {}, opaque=self.opaque)
            self.queues[name] = queue
        return queue

    def publish_somewhere(self) -> None:
        """A message went to an exchange: from now on any queue may hold messages that we do not know."""
        if not self.opaque:
            self.opaque = True
            for queue in self.queues.values():
                queue.opaque = True
                dropping.overflow(queue)

    def owed(self) -> list[Obligation]:
        """What the broker still has to send."""
        return [obligation for obligation, _, _ in owed_by(self.connections.values())]

    def connection(self, name: str) -> Connection:
        connection = self.connections.get(name)
        if connection is None:
            connection = self.connections[name] = Connection(name, overheard=self.captured)
        return connection

    def _unannounced(self, event: Event) -> Connection:
        """A connection of which this is the first that the history knows."""
        connection = self.connection(event.connection)
        if event.method != "connection.start":
            gaps.forget(self, connection, gaps.BEFORE)
        return connection

    def _receive(self, connection: Connection, event: Event) -> Iterable[Fact]:
        if event.method.startswith("connection.") is (event.channel > 0):
            if connection.error is not None and connection.error.rule == opening.CHANNEL_0:
                connection.error.done = connection.error.done or event.method
                return ()  # that the broker lets this mistake pass is a fault of its own
            allowed = "methods of the connection on channel 0, and others on channels of their own"
            unlawful = self.unlawful(event, allowed, f"{event.method} on channel {event.channel}")
            if event.method != "connection.close":
                return (unlawful,)
            handshaking.received(connection, event)
            return itertools.chain((unlawful,), self._kicked(connection, event))
        if event.channel:
            handshaking.received(connection, event)
            if event.method == "channel.close":
                return closing.close_channel(self, connection, event)
            return receiving.receive(self, connection, event) if not connection.ended else ()
        handshaking.received(connection, event)
        if event.method == "connection.close":
            return self._kicked(connection, event)
        if event.method == "connection.close-ok":
            return self._closed(connection, event)
        if event.method == "connection.start":
            connection.whole = not connection.broken  # else what the client says may still be missing
            cancelling.introduce(connection, event)
        elif event.method == "connection.tune":
            connection.beats = int(event.args.get("heartbeat", 0)) > 0
        elif event.method in ("connection.blocked", "connection.unblocked"):
            alarms.told(connection, event, self.connections.values())
        elif event.method == "connection.update-secret-ok":
            connection.renewed = event.seq
        return ()

    def _kicked(self, connection: Connection, event: Event) -> Iterable[Fact]:
        """The broker closes the connection; on which channel it says so, changes nothing of that."""
        connection.kicked = event.seq
        return closing.close_connection(self, connection, event)

    def _closed(self, connection: Connection, event: Event) -> Iterator[Fact]:
        """Close-ok for the connection: all its channels were handled to their end."""
        if connection.error is not None and connection.error.octets and not connection.closing:
            yield ConnectionFailed(event, connection, connection.error, [], None)
            connection.error = None
        connection.left, connection.left_ns = event.seq, event.time_ns
        for channel in connection.open_channels():
            channel.unproven.clear()
            channel.lapsed.clear()
            channel.unsynced.clear()
            endings.end_receivers(channel, event.seq)
            endings.part(channel, event.time_ns)
            channel.close_answered = event.seq
        yield CloseConfirmed(event, connection)
        closing.lose_connection(connection, event.seq)
