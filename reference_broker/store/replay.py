"""What a log says, read from its oldest segment to its newest.

Pure: records go in, a `Replay` comes out. A message lives if it was published and is not gone, and if its queue is
still defined at the end. Reading is linear; of a message only its octets are kept until it is known to live.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reference_broker.core.queues.message import Message, Segment
from reference_broker.store import records
from reference_broker.store.records import ENTRY, NUMBER, Key, Place

NO_TURN = -1


class Stored:
    """The octets of a message; several queues may have it."""

    __slots__ = ("_message", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._message: Message | None = None

    def message(self) -> Message:
        if self._message is None:
            self._message = records.read_message(memoryview(self.raw))
            self.raw = b""
        return self._message


@dataclass(slots=True)
class Found:
    """A message in a queue. `turn` orders what was returned; NO_TURN is for what was not."""

    place: Place
    stored: Stored
    segment: Segment
    turn: int = NO_TURN


@dataclass(slots=True)
class FoundQueue:
    published: float = 0.0
    doubtful: float = 0.0
    messages: dict[float, Found] = field(default_factory=dict)


class Replay:
    def __init__(self) -> None:
        self.definitions: dict[Key, bytes] = {}
        self.queues: dict[int, FoundQueue] = {}
        self.segments: dict[int, Segment] = {}
        self.last_number = 0
        self.ended = True
        """Did the broker end in order? Then it is known which messages were delivered before."""
        self._turns = 0
        self._stored = Stored(b"")
        self._segment = Segment(0)

    def read(self, segment: int, payload: memoryview) -> None:
        """One block of that segment."""
        self._segment = self.segments.setdefault(segment, Segment(segment))
        self._segment.octets += len(payload)
        self.ended = False
        for kind, content in records.records(payload):
            READERS[kind](self, content)

    def queue(self, number: int) -> FoundQueue:
        self.last_number = max(self.last_number, number)
        return self.queues.setdefault(number, FoundQueue())

    # -- one record

    def begin(self, content: memoryview) -> None:
        self.definitions.clear()

    def define(self, content: memoryview) -> None:
        key, value = records.read_key(content)
        self.definitions[key] = bytes(value)
        if key[0] == "queue":
            self.queue(NUMBER.unpack_from(value)[0])

    def forget(self, content: memoryview) -> None:
        self.definitions.pop(records.read_key(content)[0], None)

    def count(self, content: memoryview) -> None:
        number, published, doubtful = records.COUNTERS.unpack(content)
        queue = self.queue(number)
        queue.published, queue.doubtful = max(queue.published, published), max(queue.doubtful, doubtful)

    def publish(self, content: memoryview) -> None:
        self._stored = Stored(bytes(content[ENTRY.size :]))
        self.and_there(content)

    def and_there(self, content: memoryview) -> None:
        place = records.read_place(content)
        queue = self.queue(place.queue)
        earlier = queue.messages.get(place.position)
        found = Found(place, self._stored, self._segment, earlier.turn if earlier is not None else NO_TURN)
        if place.in_line and found.turn == NO_TURN:
            found.turn = self.next_turn()
        queue.published = max(queue.published, place.position)
        queue.messages[place.position] = found

    def next_turn(self) -> int:
        self._turns += 1
        return self._turns

    def returned(self, content: memoryview) -> None:
        number, returns = records.read_returned(content)
        messages = self.queue(number).messages
        for position, failures, times in returns:
            found = messages.get(position)
            if found is not None:
                found.turn = self.next_turn()
                found.place = replace(found.place, redelivered=True, failures=failures, returns=times, out=False)

    def out(self, content: memoryview) -> None:
        number, positions = records.read_those(content)
        messages = self.queue(number).messages
        for position in positions:
            found = messages.get(position)
            if found is not None:
                found.place = replace(found.place, out=True)

    def gone(self, content: memoryview) -> None:
        number, positions = records.read_those(content)
        messages = self.queue(number).messages
        for position in positions:
            messages.pop(position, None)

    def end(self, content: memoryview) -> None:
        self.ended = True


READERS = {
    records.BEGIN: Replay.begin,
    records.DEFINE: Replay.define,
    records.FORGET: Replay.forget,
    records.COUNT: Replay.count,
    records.PUBLISH: Replay.publish,
    records.AND: Replay.and_there,
    records.RETURNED: Replay.returned,
    records.OUT: Replay.out,
    records.GONE: Replay.gone,
    records.END: Replay.end,
}
