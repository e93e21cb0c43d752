"""What the core reports, tick by tick, as blocks to be written, and who waits for them.

The core never waits. It records what changes (`published`, `out`, `back`, `gone`, `define`, `forget`), and a confirm or
a reply that promises what was just recorded waits with the block of this tick. `seal` ends the tick and hands the block
out; whoever writes it says later that it is `durable`, or `refused`, and only then the promise is kept or withdrawn.

Each segment begins with all definitions, so that older ones can go. What lives long is written again, a little in each
tick, once most of the log is dead. All messages are in memory anyway, so nothing is ever read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from reference_broker.core.errors import ConnectionException
from reference_broker.core.queues.message import Entry, Kept, Message
from reference_broker.core.queues.quorum import Counted
from reference_broker.store import records
from reference_broker.store.records import ENTRY, NEVER, Key
from reference_broker.store.segments import OVERHEAD, SEGMENT_OCTETS, Segments, weight

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.store.keeping import KeptConnection, KeptQueue

MOVE_ENTRIES, MOVE_OCTETS = 500, 1 << 20
"""How much of what lives is written again in one tick."""


class Gate:
    """Its place in an outbox: what stands behind it leaves when the block is durable."""

    __slots__ = ("connection", "open")

    def __init__(self, connection: KeptConnection) -> None:
        self.connection = connection
        self.open = False


@dataclass(slots=True)
class Block:
    """One tick: `oldest` is the first segment still needed once this is durable."""

    segment: int
    oldest: int
    records: list[bytes]
    octets: int
    count: int
    """The journal's, when this was sealed."""
    confirms: dict[Channel, list[int]] = field(default_factory=dict)
    gates: list[Gate] = field(default_factory=list)


class Journal:
    def __init__(self, first_segment: int = 1, segment_octets: int = SEGMENT_OCTETS) -> None:
        self.segments = Segments(first_segment, segment_octets)
        self.epoch = 0.0
        """Seconds since 1970 when the clock of the core stood at 0."""
        self.definitions: dict[Key, bytes] = {}
        self.queues: dict[int, KeptQueue] = {}
        self.last_number = 0
        self.count = 0
        """Grows with everything that is recorded, so that a caller sees whether anything was."""
        self.durable_count = 0
        """What it was in the last block that is durable."""
        self.refuses = False
        """Is so much waiting for a disk that fails that what would have to wait for a confirm is not even taken?"""
        self.unacked: Callable[[], Iterable[tuple[KeptQueue, Entry]]] = tuple
        """Where messages are that are not ready, as far as known."""
        self._pending: list[bytes] = []
        self._gone: dict[int, list[float]] = {}
        self._back: dict[int, list[tuple[float, int, int]]] = {}
        self._out: dict[int, dict[float, None]] = {}
        self._confirms: dict[Channel, list[int]] = {}
        self._gates: list[Gate] = []
        self._last_message: Message | None = None
        self._like: tuple[object, ...] = (None, None, None, None)
        self._around = b""
        self._sealed = 0
        self._moving: Iterator[tuple[KeptQueue, Entry, bool]] | None = None
        self._move_below = 0

    # -- messages

    def published(self, queue: KeptQueue, entry: Kept, in_line: bool = False) -> None:
        """It is in the queue, or still is."""
        message, segments = entry.message, self.segments
        place = self.place(queue, entry, in_line)
        if message is self._last_message:
            self._pending.append(records.record(records.AND, place))
        else:
            self._last_message = message
            self._pending += records.publish(place, self.around(message), message.body)
        self.count += 1
        entry.kept_in = segment = segments.current
        segment.live += 1
        segments.live_octets += len(message.body) + OVERHEAD

    def place(self, queue: KeptQueue, entry: Entry, in_line: bool) -> bytes:
        """As `records.Place` has it."""
        expires = NEVER if entry.expires is None else entry.expires + self.epoch
        flags = records.REDELIVERED * entry.redelivered | records.IN_LINE * in_line
        flags |= records.IS_OUT * (entry.position in queue.out)
        failures, returns = (entry.failures, entry.returns) if isinstance(entry, Counted) else (0, 0)
        return ENTRY.pack(queue.number, entry.position, expires, flags, failures, returns)

    def around(self, message: Message) -> bytes:
        """All but its body. Most often that is the same as of the message before."""
        header, routing_key, exchange, more_keys = self._like
        if not (
            message.header is header
            and message.routing_key is routing_key
            and message.exchange is exchange
            and message.more_keys is more_keys
        ):
            self._like = message.header, message.routing_key, message.exchange, message.more_keys
            self._around = records.address_and_header(message)
        return self._around

    def out(self, queue: KeptQueue, entry: Entry) -> None:
        """It is on its way to a client, and a failure if it is not settled before the end. Nobody waits for this."""
        self.count += 1
        self._out.setdefault(queue.number, {})[entry.position] = None

    def back(self, queue: KeptQueue, entry: Entry) -> None:
        self.count += 1
        if queue.number in self._out:
            self._out[queue.number].pop(entry.position, None)
        counts = (entry.failures, entry.returns) if isinstance(entry, Counted) else (0, 0)
        self._back.setdefault(queue.number, []).append((entry.position, *counts))

    def gone(self, queue: KeptQueue, entry: Entry) -> None:
        if entry.kept_in is None or not isinstance(entry, Kept):
            return
        self.segments.left(entry.message, entry.kept_in)
        entry.kept_in = None
        if not queue.deleted:
            self.count += 1
            self._gone.setdefault(queue.number, []).append(entry.position)

    # -- everything else

    def define(self, key: Key, value: bytes) -> None:
        """A durable thing is there, and this is how. `key` begins with its kind."""
        if self.definitions.get(key) != value:
            self.count += 1
            self.definitions[key] = value
            self._pending.append(records.record(records.DEFINE, records.key(key), value))

    def forget(self, key: Key) -> None:
        if self.definitions.pop(key, None) is not None:
            self.count += 1
            self._pending.append(records.record(records.FORGET, records.key(key)))

    def number(self, key: Key) -> int:
        """Of a queue: its own, or a new one."""
        if key in self.definitions:
            return int(records.NUMBER.unpack_from(self.definitions[key])[0])
        self.last_number += 1
        return self.last_number

    def begin_segment(self) -> None:
        """What the segment that comes has to begin with, counters included."""
        self.count += 1
        self._pending.append(records.record(records.BEGIN))
        for key, value in self.definitions.items():
            self._pending.append(records.record(records.DEFINE, records.key(key), value))
        for queue in self.queues.values():
            content = records.COUNTERS.pack(queue.number, queue.published, queue.doubtful)
            self._pending.append(records.record(records.COUNT, content))

    # -- promises

    def confirm(self, channel: Channel, number: int) -> None:
        """This publish is confirmed when what was recorded so far is durable."""
        self._confirms.setdefault(channel, []).append(number)

    def behind(self) -> bool:
        """Is anything recorded that is not durable yet?"""
        return self.count != self.durable_count

    def gate(self, connection: KeptConnection) -> Gate:
        self._gates.append(Gate(connection))
        return self._gates[-1]

    def durable(self, block: Block) -> None:
        self.durable_count = block.count
        self.resolve(block, "accept")
        for gate in block.gates:
            gate.open = True
            gate.connection.broker.dirty[gate.connection] = None
        block.gates = []

    def refused(self, block: Block, error: ConnectionException) -> None:
        """It could not be written. What it records is kept for later, what it promised is not."""
        self.resolve(block, "refuse")
        for gate in block.gates:
            outbox: list[Any] = gate.connection.outbox.items
            if gate in outbox:
                del outbox[outbox.index(gate) :]
                gate.connection.count_gates()
                gate.connection.close(error, (0, 0))
        block.gates = []

    def resolve(self, block: Block, verdict: Literal["accept", "refuse"]) -> None:
        confirms, block.confirms = block.confirms, {}
        for channel, numbers in confirms.items():
            if channel.confirms is not None and not channel.closing:
                resolve = getattr(channel.confirms, verdict)
                for number in numbers:
                    resolve(number)
                channel.connection.confirm(channel)

    # -- blocks

    def seal(self, end: bool = False) -> Block | None:
        """What this tick recorded, if anything, or promised; `end`: the broker ends in order, and nothing comes after.

        A promise may stand in a block by itself: it is about what others recorded before.
        """
        if self.count == self._sealed and not end and not self._gates:
            return None
        self._move_some()
        for number, positions in self._gone.items():
            self._pending.append(records.those(records.GONE, number, positions))
        for number, places in self._back.items():
            self._pending.append(records.returned(number, places))
        for number, places_out in self._out.items():
            self._pending.append(records.those(records.OUT, number, list(places_out)))
        if end:
            self._pending.append(records.record(records.END))
        octets = sum(map(len, self._pending)) + records.FRAME.size
        self.segments.wrote(octets)
        block = Block(
            self.segments.current.number,
            self.segments.oldest_needed(),
            self._pending,
            octets,
            self.count,
            self._confirms,
            self._gates,
        )
        self._pending, self._confirms, self._gates = [], {}, []
        self._gone, self._back, self._out = {}, {}, {}
        self._last_message = None
        if self.segments.full():
            self.segments.begin()
            self.begin_segment()
        self._sealed = self.count
        return block

    # -- what lives long

    def _move_some(self) -> None:
        current = self.segments.current.number
        if self._moving is None and current > self._move_below and self.segments.bloated():
            self._moving, self._move_below = self._living(), current
        octets = entries = 0
        while self._moving is not None and octets < MOVE_OCTETS and entries < MOVE_ENTRIES:
            queue, entry, in_line = next(self._moving, (None, None, False))
            if queue is None or entry is None:
                self._moving = None
            elif isinstance(entry, Kept) and entry.kept_in is not None and entry.kept_in.number < self._move_below:
                octets, entries = octets + weight(entry.message), entries + 1
                self.segments.left(entry.message, entry.kept_in)
                self.published(queue, entry, in_line)

    def _living(self) -> Iterator[tuple[KeptQueue, Entry, bool]]:
        """Every message that is known to live now; whether it still does is to be seen when its turn comes."""
        for queue in list(self.queues.values()):
            waiting = len(queue.ready.returned)
            for at, entry in enumerate(queue.ready.entries()):
                yield queue, entry, at < waiting
        for queue, entry in list(self.unacked()):
            yield queue, entry, False
