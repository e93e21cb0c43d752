"""A broker made again from what its log says.

First the definitions, kind by kind, as the client or the operator had made them. Then the messages go back into their
queues: those that were returned into their line, the others in the order of publication. After a crash nobody knows
which of them had been delivered, so all are taken for it, as RabbitMQ's classic queues do; after an orderly end that is
known. What a quorum queue is known to have had out when the broker failed comes back as a failure, which counts towards
the delivery limit.
"""

from __future__ import annotations

from collections import deque

from reference_broker.core.broker import Broker
from reference_broker.core.errors import AmqpException
from reference_broker.core.queues.message import Kept
from reference_broker.core.queues.quorum import Counted
from reference_broker.store.definitions import RESTORERS
from reference_broker.store.journal import Journal
from reference_broker.store.keeping import KeptQueue
from reference_broker.store.records import NEVER
from reference_broker.store.replay import NO_TURN, Found, FoundQueue, Replay


class CannotRestore(ValueError):
    """The log says something that this broker, as it was started, cannot be made to have; the message says what."""


def restore(broker: Broker, journal: Journal, replay: Replay, keep_users: bool = False) -> None:
    """Once users were recorded, those a broker begins with are no more, unless they are to be kept.

    Raises CannotRestore.
    """
    given, recorded = dict(broker.access.users), any(key[0] == "user" for key in replay.definitions)
    dict.clear(broker.access.users)
    journal.definitions, journal.last_number = dict(replay.definitions), replay.last_number
    for kind, restorer in RESTORERS.items():
        for key, value in replay.definitions.items():
            if key[0] == kind:
                try:
                    restorer(broker, key, value)
                except AmqpException as error:
                    raise CannotRestore(f"{kind} '{key[-1]}': {error.text}") from None
    if keep_users or not recorded:
        broker.access.users.update(given)
    for number, queue in journal.queues.items():
        refill(queue, replay.queues[number], journal, replay.ended)
    for number, queue in journal.queues.items():
        take_back(queue, replay.queues[number], journal)
    for queue in journal.queues.values():
        queue.expire()
    journal.segments.older(deque(replay.segments[number] for number in sorted(replay.segments)))
    journal.begin_segment()


# -- messages


def refill(queue: KeptQueue, found: FoundQueue, journal: Journal, ended: bool) -> None:
    queue.published = int(found.published)
    queue.doubtful = found.doubtful if ended else found.published
    messages = sorted((one for one in found.messages.values() if not one.place.out), key=lambda one: one.place.position)
    for one in messages:
        if one.turn == NO_TURN:
            queue.ready.push(made(queue, one, journal))
    for one in sorted((one for one in messages if one.turn != NO_TURN), key=lambda one: one.turn):
        queue.ready.put_back(made(queue, one, journal))


def take_back(queue: KeptQueue, found: FoundQueue, journal: Journal) -> None:
    """What was out comes back from whom it was lost with."""
    for one in sorted((one for one in found.messages.values() if one.place.out), key=lambda one: one.place.position):
        entry = made(queue, one, journal)
        if queue.quorum is None or queue.quorum.keeps(entry, failed=True):
            queue.put_back(entry)
        else:
            queue.die(entry, "delivery_limit")


def made(queue: KeptQueue, found: Found, journal: Journal) -> Kept:
    place, message = found.place, found.stored.message()
    entry = queue.kind(int(place.position), message, None)  # a float would lose its last digits among priorities
    if place.expires != NEVER:
        entry.expires, queue.expiring = place.expires - journal.epoch, True
    entry.redelivered = place.redelivered or place.position <= queue.doubtful
    if isinstance(entry, Counted):
        entry.failures, entry.returns = place.failures, place.returns
    entry.kept_in = found.segment
    journal.segments.came(message, found.segment)
    return entry
