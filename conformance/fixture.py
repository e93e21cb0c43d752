"""The reference broker as a fixture for authors of clients: a broker per test, or per session, in this process.

It listens on a free loopback port, so that parallel workers of pytest never meet. Its clock stands still until it is
told to advance, and everything that its clients send and are sent is there to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Self, cast

import codec
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder, Labels
from reference_broker import ReferenceBroker
from reference_broker.core.settings import Policy
from reference_broker.core.tap import Tap
from reference_broker.nondeterminism import Charter

NANOSECONDS = 1_000_000_000


class EmbeddedBroker:
    """A broker in this process whose time passes only when it is told to.

    `options` are those of `reference_broker.ReferenceBroker`: dialect, product, version, users, limits, tls, ...
    """

    def __init__(self, **options: Any) -> None:
        self._tap = Tap()
        self._broker = ReferenceBroker(**{"clock": "virtual", "tap": self._tap, **options})
        self._history = History(self._tap)

    @property
    def url(self) -> str:
        """Where it listens: a free loopback port."""
        return self._broker.url

    @property
    def host(self) -> str:
        return self._broker.host

    @property
    def port(self) -> int:
        return self._broker.port

    @property
    def broker(self) -> ReferenceBroker:
        """The broker itself, for whatever this has no word for."""
        return self._broker

    @property
    def events(self) -> list[Event]:
        """All frames so far, of all connections, in order: what clients sent, and what they were sent."""
        if self._broker.running:
            self._broker.take_in()
        return self._history.events()

    @property
    def policies(self) -> Policies:
        """The policies of the broker, by name."""
        return Policies(self._broker)

    def advance(self, seconds: float = 0, *, minutes: float = 0, hours: float = 0) -> None:
        """Let time pass, after all that clients have handed over before; what falls due on the way happens, in order.

        Heartbeats go by real time, so nobody loses a connection by it. Raises ValueError where time would go backwards.
        """
        self._broker.advance(seconds, minutes=minutes, hours=hours)

    def mutate(self, *names: str) -> None:
        """Misbehave in these ways from now on, on new connections and in new queues; in none without names.

        Raises `reference_broker.mutants.UnknownMutant`; `amqp-conformance mutants` lists the names.
        """
        self._broker.mutate(*names)

    def nondeterminism(self, seed: int | Sequence[str] | None) -> Charter | None:
        """Lawful chaos on connections and queues from now on, as this seed draws it; none any more with None."""
        return self._broker.nondeterminism(seed)

    liberties = nondeterminism

    def alarm(self, reason: str | None = "low on memory") -> None:
        """Block who publishes from now on, as RabbitMQ does when its memory is low; nobody any more with None."""
        self._broker.alarm(reason)

    def restart(self) -> None:
        """Hang up on everybody without a word, forget everything, and listen again at the same port."""
        self._broker.stop()
        self._broker.start()

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._broker.stop()


class History:
    """The octets of a tap as events, read as far as they have come."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._read: list[Event] = []
        self._done = 0
        self._lines: dict[tuple[int, bool], Line] = {}
        self._builders: dict[int, EventBuilder] = {}
        self._now = 0.0

    def events(self) -> list[Event]:
        pieces = self._tap.pieces[self._done :]
        self._done += len(pieces)
        for piece in pieces:
            self._now = piece.at
            line = self._lines.setdefault((piece.connection, piece.by_client), Line())
            for frame in line.frames(piece.octets):
                event = self._builder(piece.connection).frame(
                    TO_BROKER if piece.by_client else TO_CLIENT, frame, frame.encode()
                )
                if event is not None:
                    self._read.append(event)
        return list(self._read)

    def _builder(self, connection: int) -> EventBuilder:
        if connection not in self._builders:
            labels = Labels("fixture", "reference", "", str(connection))
            self._builders[connection] = EventBuilder(
                labels, lambda: len(self._read) + 1, lambda: int(self._now * NANOSECONDS)
            )
        return self._builders[connection]


class Line:
    """One direction of one connection: octets to frames, after the protocol header that a client begins with."""

    def __init__(self) -> None:
        self._reader = codec.FrameReader(0)
        self._start = b""
        self._greeted = False

    def frames(self, octets: bytes) -> list[codec.Frame]:
        """What is no frame ends the reading of this line: there is no telling where the next one would begin."""
        if not self._greeted:
            self._start += octets
            if self._start[:1] == b"A" and len(self._start) < 8:
                return []
            octets, self._greeted = self._start[8 if self._start[:1] == b"A" else 0 :], True
        try:
            return self._reader.feed(octets) if octets else []
        except codec.MalformedFrame as error:
            return cast("list[codec.Frame]", error.frames)


class Policies(MutableMapping[str, Mapping[str, Any]]):
    """Policies by name, each as RabbitMQ's management API has it: pattern, definition, apply-to, priority."""

    def __init__(self, broker: ReferenceBroker) -> None:
        self._broker = broker

    def set(
        self, name: str, pattern: str, definition: Mapping[str, Any], apply_to: str = "all", priority: int = 0
    ) -> None:
        """It holds from now on for queues whose name has the pattern in it, also for those that are there."""
        self._broker.set_policy(Policy(name, pattern, definition, apply_to, priority))

    def __setitem__(self, name: str, policy: Mapping[str, Any]) -> None:
        self.set(
            name, policy["pattern"], policy["definition"], policy.get("apply-to", "all"), policy.get("priority", 0)
        )

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        policy = self._broker.policies[name]
        return {
            "pattern": policy.pattern,
            "definition": dict(policy.definition),
            "apply-to": policy.apply_to,
            "priority": policy.priority,
        }

    def __delitem__(self, name: str) -> None:
        self._broker.clear_policy(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._broker.policies)

    def __len__(self) -> int:
        return len(self._broker.policies)
