"""The model of one history: its connections, its queues, and the reading of each event.

Reading an event gives facts; whoever iterates over them judges each before the model learns from it. The model never
judges, knows no rule text, and claims only what the history proves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from conformance.catalogue.profiles import Profile
from conformance.history import events
from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model import (
    alarms,
    cancelling,
    closing,
    crash,
    declaring,
    dropping,
    endings,
    gaps,
    handshaking,
    memory,
    octets,
    opening,
    overtaking,
    policing,
    receiving,
    rerouting,
    sending,
    timeouts,
)
from conformance.oracle.model.channels import CLOSED, GIVEN_UP
from conformance.oracle.model.connections import Connection
from conformance.oracle.model.facts import (
    Beat,
    ConnectionFailed,
    Fact,
    Heartless,
    Missing,
    Over,
    Parted,
    Policed,
    Silenced,
    Started,
    StillThere,
    Stopping,
    Unanswered,
    Unlawful,
)
from conformance.oracle.model.owed import (
    BLOCKING,
    CLOSE,
    CONFIRM,
    DELIVERY,
    HANDSHAKE,
    HARD_CLOSE,
    IN_TURN,
    NOTICE,
    Obligation,
    owed_by,
)
from conformance.oracle.model.pauses import Pauses
from conformance.oracle.model.queues import Queue
from conformance.oracle.topology import Topology

UNEXPECTED = ("fin", "reset")
"""How a connection ends when it was not us."""
_BROKEN = {events.JOINED: gaps.BEFORE, events.GAP: gaps.LOST, events.CUT: gaps.CUT_OFF}


class Model:
    """What one history shows."""

    __slots__ = (
        "captured",
        "connections",
        "deleted",
        "killed",
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
        self.settings = timeouts.Settings()
        self.pauses = Pauses()
        self.over: deque[str] = deque()
        self.killed = 0
        """Connections that have ended."""
        self.deleted: deque[str] = deque()
        """Queues that the client had deleted."""

    def read(self, event: Event) -> Iterable[Fact]:
        """The facts in this event, in order; the model learns from each when the next is asked for."""
        if event.kind != METHOD:
            return self._beside(event)
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

    def _beside(self, event: Event) -> Iterator[Fact]:
        """What is no method."""
        kind = event.kind
        if kind == events.OPEN:
            self._connection(event.connection).whole = True
            handshaking.opened(self._connection(event.connection))
        elif kind == events.PROTOCOL:
            self._header(self._connection(event.connection), event)
        elif kind == events.END:
            yield from self._end(self._connection(event.connection), event)
        elif kind == events.HEARTBEAT:
            if event.direction == TO_BROKER:
                self.pauses.client_speaks(self._connection(event.connection), event.time_ns)
                self._connection(event.connection).handshake.beat_at = event.time_ns
                octets.sent(self._connection(event.connection), event)
            else:
                self._connection(event.connection).torn = False
                self.pauses.broker_speaks(event.time_ns)
                yield Beat(event, self._connection(event.connection))
                if event.channel:
                    yield self._unlawful(event, "heartbeats on channel 0", f"a heartbeat on channel {event.channel}")
        elif kind == events.MALFORMED and event.direction == TO_BROKER:
            if not handshaking.greet(self._connection(event.connection), event):
                octets.sent(self._connection(event.connection), event)
        elif kind == events.MALFORMED:
            yield self._unlawful(event, str(event.args.get("expected")), str(event.args.get("found")))
        elif kind == events.SCENE:
            self.queue_type = str(event.args.get("queue_type") or "")
        elif kind == events.DEADLINE:
            yield from self._deadline(event)
        elif kind == events.POLICY:
            yield from self._policed(event)
        elif kind == events.SETTINGS:
            self.settings.broker(event)
        elif kind == events.KILLED:
            self.killed = event.seq
            crash.killed(self, event)
        elif kind == events.RESTARTED:
            yield from self._restarted(event)
        elif kind == events.ALARM:
            alarms.changed(self.connections.values(), event)
        elif kind == events.RIGHTS:
            self._rights(event)
        elif kind == events.KNOWN:
            handshaking.known(self._connection(str(event.args.get("of"))), event)
        elif kind in _BROKEN:
            gaps.tear(self, self._connection(event.connection), event, _BROKEN[kind])
        elif kind == events.OBSERVED:
            gaps.observed(self, event)

    def _policed(self, event: Event) -> Iterator[Fact]:
        """A policy changes: of one queue's consumer timeout, or of all that it fits."""
        if "queue" in event.args:
            self.settings.policy(event)
            return
        policing.told(self, event)
        yield Policed(event, self.topology)

    def _restarted(self, event: Event) -> Iterator[Fact]:
        if event.args.get("state") == "started":
            yield Started(event)
            return
        yield Stopping(event, self.topology, self.queues)
        self.killed = event.seq
        crash.stopped(self, event)

    def _rights(self, event: Event) -> None:
        """A user may do something else than before: in this virtual host, or of one queue, or nothing at all."""
        about = event.args
        if "of" in about:
            self._connection(str(about["of"])).unreadable.add(str(about.get("queue")))
            return
        user, vhost, gone = about.get("user"), about.get("vhost"), bool(about.get("gone"))
        if not gone:
            self.topology.rights.told(event.seq, about)
        for one in self.connections.values():
            if one.user == user and (gone or one.vhost == vhost):
                one.regranted, one.banished = event.seq, event.seq if gone else one.banished

    def _header(self, connection: Connection, event: Event) -> None:
        connection.whole = True
        if event.direction == TO_BROKER:
            if not handshaking.greet(connection, event) and connection.handshake.begun():
                octets.sent(connection, event)
        else:
            connection.handshake.header = event.raw

    def _unlawful(self, event: Event, allowed: str, found: str) -> Unlawful:
        return Unlawful(event, self._connection(event.connection), allowed, found)

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

    def _connection(self, name: str) -> Connection:
        connection = self.connections.get(name)
        if connection is None:
            connection = self.connections[name] = Connection(name, overheard=self.captured)
        return connection

    def _unannounced(self, event: Event) -> Connection:
        """A connection of which this is the first that the history knows."""
        connection = self._connection(event.connection)
        if event.method != "connection.start":
            gaps.forget(self, connection, gaps.BEFORE)
        return connection

    def _receive(self, connection: Connection, event: Event) -> Iterable[Fact]:
        if event.method.startswith("connection.") is (event.channel > 0):
            if connection.error is not None and connection.error.rule == opening.CHANNEL_0:
                connection.error.done = connection.error.done or event.method
                return ()  # that the broker lets this mistake pass is a fault of its own
            allowed = "methods of the connection on channel 0, and others on channels of their own"
            return (self._unlawful(event, allowed, f"{event.method} on channel {event.channel}"),)
        if event.channel:
            handshaking.received(connection, event)
            if event.method == "channel.close":
                return closing.close_channel(self, connection, event)
            return receiving.receive(self, connection, event) if not connection.ended else ()
        handshaking.received(connection, event)
        if event.method == "connection.close":
            return closing.close_connection(self, connection, event)
        if event.method == "connection.close-ok":
            return self._closed(connection, event)
        if event.method == "connection.start":
            connection.whole = not connection.broken  # else what the client says may still be missing
            cancelling.introduce(connection, event)
        elif event.method == "connection.tune":
            connection.beats = int(event.args.get("heartbeat", 0)) > 0
        elif event.method in ("connection.blocked", "connection.unblocked"):
            alarms.told(connection, event)
        elif event.method == "connection.update-secret-ok":
            connection.renewed = event.seq
        return ()

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
        yield Parted(event, connection)
        closing.lose_connection(connection, event.seq)

    def _end(self, connection: Connection, event: Event) -> Iterator[Fact]:
        yield Over(event, connection)
        connection.handshake.crossed = 0
        connection.hung_up_ns = event.time_ns
        if connection.ended:
            memory.connection_ended(self, connection)
            return
        cause = str(event.args.get("cause"))
        if cause in UNEXPECTED and not connection.closing:
            if connection.heartbeat and connection.error is None:
                yield Silenced(event, connection, self.pauses.none_before(connection, event.time_ns))
                cause = "heartbeat"
            yield from closing.close_connection(self, connection, event, cause)
        closing.lose_connection(connection, event.seq, cause)
        connection.handshake.give_up()
        overtaking.left(self, connection)
        rerouting.changed(self, None, event)
        memory.connection_ended(self, connection)

    def _deadline(self, event: Event) -> Iterator[Fact]:
        if event.args.get("for") == "drain":
            queue = self.queues.get(str(event.queue or event.args.get("queue") or ""))
            if queue is not None and all(receiver.lost for receiver in queue.receivers):
                copies = list(queue.absent())
                yield Missing(event, queue, copies)
                for copy in copies:
                    queue.unsettle(copy, indeterminate=False)
            return
        if event.args.get("for") == "end":
            yield StillThere(event, self._connection(str(event.args.get("connection"))))
            return
        if event.args.get("for") == "heartbeats":
            yield Heartless(event, self._connection(str(event.args.get("connection"))))
            return
        if event.args.get("for") == "timeouts":
            yield from timeouts.overdue(self, event)
            return
        hushed = {name for name, one in self.connections.items() if one.hushed}
        for obligation, channel, consumer in list(owed_by(self.connections.values())):
            fact = Unanswered(event, obligation, channel, consumer=consumer)
            if channel is not None:
                fact.error = channel.settlement_error
                fact.request = next((one for one in channel.pending() if one.seq == obligation.since_seq), None)
            connection = self.connections[obligation.connection]
            fact.unread = connection.erred_after_close()
            fact.connection_error, fact.claims = connection.error, connection.handshake.claims.get(obligation.what, ())
            if obligation.connection not in hushed:
                yield from crash.unrecovered(fact) if self.killed else (fact,)
            connection.hushed |= obligation.kind in IN_TURN
            self._give_up(fact)

    def _give_up(self, fact: Unanswered) -> None:
        """Nobody waits for this any longer, and what depends on it is not judged."""
        connection = self.connections[fact.obligation.connection]
        kind, channel = fact.obligation.kind, fact.channel
        if kind == HARD_CLOSE:
            connection.error = None
        elif kind == BLOCKING:
            connection.blocking.owed = 0
        elif kind == HANDSHAKE:
            connection.handshake.give_up()
        elif channel is None:
            closing.lose_connection(connection, fact.event.seq)
        elif kind == CLOSE:
            endings.overlook(channel)
        elif kind == CONFIRM:
            channel.unconfirmed.clear()
            channel.forgiven = max(channel.forgiven, channel.published)
        elif kind == NOTICE:
            if fact.consumer is not None:
                fact.consumer.state = GIVEN_UP
        elif kind == DELIVERY:
            if fact.consumer is not None:
                fact.consumer.state = GIVEN_UP
                for copy in [*fact.consumer.source.waiting()][:1]:
                    copy.queue.miss(copy)
        elif fact.request is not None:
            channel.answered(fact.request.method, fact.request.consumer_tag)
            if fact.request.method in ("channel.close", "channel.open"):
                channel.state = CLOSED
            endings.blur(channel)
