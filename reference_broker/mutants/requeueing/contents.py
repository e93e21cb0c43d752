"""Wrong contents: what comes out is not what was put in."""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes

BLOCK = 4096


def showing(parts: Parts, wrong: Callable[[Queue, Message], Message], *, first: bool = False) -> None:
    """What was delivered before is shown otherwise, and on its `first` delivery too."""

    def as_delivered(self: Queue, entry: Entry) -> Message:
        message = Queue.as_delivered(self, entry)
        return wrong(self, message) if entry.redelivered or first else message

    parts.override("queue", as_delivered=as_delivered)


@changes("contents.first-block-again", "every block of a long body is its first one", "RQ-016")
def first_block_again(parts: Parts) -> None:
    def repeated(_: Queue, message: Message) -> Message:
        body = (message.body[:BLOCK] * (len(message.body) // BLOCK + 1))[: len(message.body)]
        return Message(message.exchange, message.routing_key, message.header, body)

    showing(parts, repeated, first=True)


@changes("contents.headers-lost", "a returned message has lost its headers", "RQ-016")
def headers_lost(parts: Parts) -> None:
    showing(parts, lambda _, message: message.copy(message.exchange, message.routing_key, headers=None))


@changes("contents.priority-lost", "a returned message has lost its priority", "RQ-016")
def priority_lost(parts: Parts) -> None:
    showing(parts, lambda _, message: message.copy(message.exchange, message.routing_key, priority=None))


@changes("contents.queue-for-key", "a returned message comes with the name of its queue for a key", "RQ-016")
def queue_for_key(parts: Parts) -> None:
    def readdressed(queue: Queue, message: Message) -> Message:
        return Message(message.exchange, queue.name, message.header, message.body)

    showing(parts, readdressed)


@changes("contents.void-left-out", "a header without a value is left out", "CONTENT-002")
def void_left_out(parts: Parts) -> None:
    def shown(_: Queue, message: Message) -> Message:
        kept = [field for field in message.headers if field[1] != "V"]
        return (
            message
            if len(kept) == len(message.headers)
            else message.copy(message.exchange, message.routing_key, headers=kept)
        )

    showing(parts, shown, first=True)
