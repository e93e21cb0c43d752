"""The queues and exchanges of one history, from its request for them until the broker says that they are gone.

So whatever happens to a scene, the suite knows what it would leave behind.
"""

from __future__ import annotations

from conformance.drive.drivers.raw import RawConnection, Target
from conformance.drive.guard import Guard
from conformance.history.events import TO_CLIENT, Event


class Belongings:
    """What a history has to remove. Queues with the connection that declared them."""

    def __init__(self) -> None:
        self.queues: dict[str, RawConnection] = {}
        self.exchanges: dict[str, None] = {}
        self._deleting: dict[tuple[str, int], list[str]] = {}
        self._deleted: dict[str, RawConnection] = {}
        """Queues that may be declared again."""
        self._removed: dict[str, None] = {}
        """Exchanges likewise."""
        self._taken: set[str | None] = set()
        self._again: set[str] = set()
        """Exchanges that were declared after their deletion was asked for last."""

    def take_gone(self, *, exchange: bool = False) -> str | None:
        """The name of a queue, or of an exchange, that is deleted. Each is taken once; None where none is left."""
        names = self._removed if exchange else self._deleted
        name = next((one for one in names if one not in self._taken), None)
        self._taken.add(name)
        return name

    def watch(self, event: Event) -> None:
        """Takes note of deletions, of what became of them, and of what is there again after its deletion."""
        key = event.connection, event.channel
        if event.method in ("queue.delete", "exchange.delete"):
            self._deleting.setdefault(key, []).append(event.queue or event.exchange or "")
            self._again.discard(event.exchange or "")
        elif event.direction == TO_CLIENT and event.method in ("queue.delete-ok", "exchange.delete-ok"):
            asked = self._deleting.get(key)
            gone = asked.pop(0) if asked else ""
            if event.method == "exchange.delete-ok" and gone in self.exchanges and gone not in self._again:
                del self.exchanges[gone]
                self._removed[gone] = None
            elif gone in self.queues:
                self._deleted[gone] = self.queues.pop(gone)
        elif event.method == "queue.declare-ok" and event.queue in self._deleted:
            self.queues[event.queue] = self._deleted.pop(event.queue)
        elif event.method == "exchange.declare" and event.exchange in {**self.exchanges, **self._removed}:
            self.exchanges[event.exchange] = None
            self._again.add(event.exchange)
        elif event.method in ("channel.close", "channel.open"):
            self._deleting.pop(key, None)

    def sweep(self, guard: Guard, target: Target, deadline: float) -> None:
        """Removes from outside what is left."""
        if self.queues or self.exchanges:
            guard.sweep(target, list(self.queues), list(self.exchanges), deadline)
            self.queues.clear()
            self.exchanges.clear()
