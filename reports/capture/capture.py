"""Who talks to whom: from the packets of a capture to the events of all AMQP connections in it.

A broker is an endpoint, address and port. It is known by a port that the user named, or by the protocol header that a
client sent there. All connections to one endpoint are one history, in the order of the capture, and one run. Other
packets are counted, so that a capture without AMQP can be told what it has instead.

Several files are read as one capture, one after the other; then seq tells file and packet. They may also be read
separately, each as `part` (number, count) of a ring. What crosses from one file to the next is then a row of kind
LOOSE, for `stitch`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from conformance.history import events
from conformance.history.events import EventBuilder, Labels
from reports.capture.about import PORTS, run_name
from reports.capture.files import BadCapture, CaptureFile, InTime, Packet
from reports.capture.frames import MAGIC
from reports.capture.links import ACK, LINKS, SYN, Segment, answer, ends, place, segment
from reports.capture.loose import LATER, LOOSE, PACKET_BITS, base, loose_end
from reports.capture.rows import Place, RowBlock, Rows
from reports.capture.streams import TLS, Connection, End
from reports.capture.tcp import Flow

BLOCK = 8192
MOST_SYNS = 1 << 16
_Known = tuple[Flow, int, Place]
AMQPS = 5671


class NoTraffic(BadCapture):
    """A capture, but nothing in it that can be judged; the message says what is there instead."""


class _History:
    """All connections to one endpoint."""

    def __init__(self, labels: Labels, place: Place) -> None:
        self.labels, self.place = labels, place
        self._names: Counter[str] = Counter()

    def name(self, client: End, part: int) -> str:
        """A connection is called by the client's end; in later files of a ring with the file's number behind it, and
        where ports are used again with a number."""
        name = f"{place(client)}/{part + 1}" if part else place(client)
        self._names[name] += 1
        again = self._names[name]
        return name if again == 1 else f"{name}#{again}"


class Capture:
    """One capture: a file, or files in order. `blocks` may be read once; what it met is counted meanwhile."""

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        ports: Collection[int] = PORTS,
        name: str = "",
        broker: str = "",
        part: tuple[int, int] | None = None,
    ) -> None:
        self.files = [CaptureFile(path) for path in paths]
        self.ports, self.broker = frozenset(ports), broker
        self.name = name or self.files[0].path.name
        self.connections = self.packets = 0
        self.seen: Counter[int] = Counter()
        """TCP ports of other traffic, the lower of each pair, with octets."""
        self.encrypted: Counter[int] = Counter()
        self.unknown_links: Counter[int] = Counter()
        self._rows = Rows()
        self._flows: dict[bytes, _Known] = {}
        self._alive: dict[bytes, Connection] = {}
        """By the key of the client's segments."""
        self._syns: dict[bytes, tuple[Segment, Packet]] = {}
        self._servers: set[End] = set()
        self._histories: dict[End, _History] = {}
        self._ordered = True
        self._part, self._base = part, -1

    @property
    def notes(self) -> list[str]:
        """What was wrong with the files."""
        return [note for file in self.files for note in file.notes]

    def blocks(self) -> Iterator[RowBlock]:
        """All rows. Raises NoTraffic at the end if there are none, BadCapture where a file cannot be read."""
        for number, file in enumerate(self.files):
            self._rows.file = file.path.name
            if self._part is not None:
                self._base = base(self._part[0]) + (LATER if self._part[0] else 0)
            elif len(self.files) > 1:
                self._base = base(number)
            yield from self._read(file)
            if number + 1 < len(self.files):
                yield self._rows.take()
        last = self._part is None or self._part[0] == self._part[1] - 1
        for connection in self._alive.values():
            self._finish(connection, "the capture ends before this connection" if last else "")
        yield self._rows.take()
        if not self.connections and self._part is None:
            raise NoTraffic(self._instead())

    def events(self) -> Iterator[events.Event]:
        """All events, in the order of the capture."""
        for block in self.blocks():
            yield from block.events()

    def _read(self, file: CaptureFile) -> Iterator[RowBlock]:
        packets = InTime(file.packets())
        flows, rows = self._flows, self._rows.rows
        for packet in packets:
            time_ns, number, link, octets = packet
            try:
                found = segment(link, octets)
            except KeyError:
                self.unknown_links[link] += 1
                continue
            if found is None:
                continue
            key, seq, ack, flags, data = found
            known = flows.get(key)
            if known is None:
                self._ordered = packets.ordered
                known = self._meet(found, packet)
                if known is None:
                    continue
            flow, direction, spot = known
            spot.time_ns, spot.packet = time_ns, number
            if self._base >= 0:
                spot.rank = self._base + (number << PACKET_BITS)
            if self._ordered and not packets.ordered:
                self._disordered()
            if not flow.segment(direction, seq, ack, flags, data, number, time_ns):
                self._again(found, packet)
            if len(rows) >= BLOCK:
                yield self._rows.take()
                rows = self._rows.rows
        self.packets += packets.count

    def _move(self, spot: Place, packet: Packet) -> None:
        """What happens now belongs to this packet."""
        spot.time_ns, spot.packet = packet[:2]
        if self._base >= 0:
            spot.rank = self._base + (spot.packet << PACKET_BITS)

    def _meet(self, found: Segment, packet: Packet) -> _Known | None:
        """The connection of ports that are not known yet, if it is one to a broker."""
        key, _, _, flags, data = found
        source, destination = ends(key)
        if flags & SYN:
            client, server = (destination, source) if flags & ACK else (source, destination)
        elif data[:4] == MAGIC and len(data) == 8:
            client, server = source, destination
            self._servers.add(server)
        else:
            client, server = (source, destination) if self._serves(destination) else (destination, source)
        if self._serves(server):
            return self._connection(found, packet, client, server)
        if flags & SYN:
            self._remember(found, packet)
        elif data:
            port = min(source[1], destination[1])
            (self.encrypted if data[:2] in TLS else self.seen)[port] += len(data)
        return None

    def _serves(self, end: End) -> bool:
        return end in self._servers or end[1] in self.ports

    def _remember(self, found: Segment, packet: Packet) -> None:
        """A SYN to an unknown port: its connection is one of ours if a protocol header follows."""
        if len(self._syns) >= MOST_SYNS:
            self._syns.clear()
        self._syns[found[0]] = found, packet

    def _connection(self, found: Segment, packet: Packet, client: End, server: End) -> _Known:
        key, back = found[0], answer(found[0])
        direction = 0 if ends(key)[0] == client else 1
        history = self._history(server, packet)
        name = history.name(client, self._part[0] if self._part else 0)
        later = self._part is not None and self._part[0] > 0
        labels = history.labels._replace(connection=name)
        connection = Connection(labels, self._rows, history.place, client, server, later=later)
        self._alive[key if not direction else back] = connection
        self._flows[key] = connection.flow, direction, history.place
        self._flows[back] = connection.flow, 1 - direction, history.place
        for syn, then in filter(None, (self._syns.pop(key, None), self._syns.pop(back, None))):
            side = direction if syn[0] == key else 1 - direction
            connection.flow.segment(side, *syn[1:], then[1], then[0])
        return self._flows[key]

    def _history(self, server: End, packet: Packet) -> _History:
        """The history of a broker begins by saying who observes it."""
        history = self._histories.get(server)
        if history is None:
            name = place(server)
            run = run_name(self.name, name)
            labels = Labels(run, self.broker or name, run, "")
            history = self._histories[server] = _History(labels, Place())
            self._move(history.place, packet)
            self._observed(history)
        return history

    def _observed(self, history: _History) -> None:
        builder, spot = EventBuilder(history.labels, int, int), history.place
        event = builder.local(events.OBSERVED, by="capture", others=True, ordered=self._ordered)
        self._rows.add(event, spot.next(), spot.time_ns, spot.packet)

    def _disordered(self) -> None:
        """Time stamps are not in order: from here on, that of different connections is a guess."""
        self._ordered = False
        for history in self._histories.values():
            self._observed(history)

    def _again(self, found: Segment, packet: Packet) -> None:
        """A segment that does not follow: the ports belong to another connection now."""
        key = found[0]
        for name in (key, answer(key)):
            del self._flows[name]
            if name in self._alive:
                self._finish(self._alive.pop(name), "its ports are used by another connection")
        known = self._meet(found, packet)
        if known is not None:
            known[0].segment(known[1], *found[1:], packet[1], packet[0])

    def _finish(self, connection: Connection, reason: str) -> None:
        if reason:
            connection.finish(reason)
        else:
            connection.flow.finish(connection.place.packet, connection.place.time_ns)
        self._loose(connection)
        self.connections += connection.begun
        if connection.secret:
            self.encrypted[connection.server[1]] += connection.secret

    def _loose(self, connection: Connection) -> None:
        """What only a reader of all files can tell of this connection."""
        end = loose_end(connection) if self._part is not None else None
        if end is not None:
            builder, spot = EventBuilder(connection.labels, int, int), connection.place
            self._rows.add(builder.local(LOOSE, **end), spot.next(), spot.time_ns, spot.packet)

    def _instead(self) -> str:
        """What is there where no AMQP is."""
        names = ", ".join(str(file.path) for file in self.files)
        secret = self.encrypted.keys() & (self.ports | {AMQPS})
        if secret:
            ports = ", ".join(map(str, sorted(secret)))
            return (
                f"{names}: traffic with TCP port {ports} is encrypted (TLS), and only its ends can read it. "
                "Capture between a TLS terminator and the broker, or record with amqp-conformance trace record."
            )
        seen = self.seen + self.encrypted
        if self.unknown_links and not seen:
            links = ", ".join(map(str, self.unknown_links))
            return (
                f"{names}: captured on a link layer of type {links}, which is not known here (known are Ethernet, "
                f"Linux cooked, loopback and raw IP: {', '.join(map(str, sorted(LINKS)))})."
            )
        if not self.packets:
            return f"{names}: a capture without a packet."
        if not seen:
            return f"{names}: {self.packets} packets, and no TCP connection among them that carries anything."
        ports = ", ".join(str(port) for port, _ in seen.most_common(8))
        return (
            f"{names}: no AMQP 0-9-1 in {self.packets} packets: no protocol header, and nothing to or from TCP "
            f"port {', '.join(map(str, sorted(self.ports)))}. TCP ports that were seen: {ports}. If one of them is "
            "the broker's, name it with --port."
        )
