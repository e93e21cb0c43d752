"""One captured connection: from the octets of both directions to events.

A connection that was open before the capture begins with JOINED instead of OPEN. If octets are missing, a GAP comes
before anything that could be a consequence, and a second GAP when frames can be found again; between the two this
direction says nothing. A connection that is still open when the capture ends, ends with CUT.

It ends with END when both sides have closed it or one side has reset it; and at the end of the capture, if the broker
has closed its side.
"""

from __future__ import annotations

from conformance.history import events
from conformance.history.events import TO_BROKER, TO_CLIENT, EventBuilder, Labels
from reports.capture.frames import MAGIC, Splitter
from reports.capture.links import place as written
from reports.capture.reader import Reader
from reports.capture.rows import Place, Rows
from reports.capture.tcp import Flow

DIRECTIONS = TO_BROKER, TO_CLIENT
TLS = (b"\x16\x03", b"\x17\x03")

End = tuple[str, int]
Piece = tuple[int, int, int, bytes | int]


class Head:
    """What a later file of a ring has of a connection that began before it and cannot tell alone: octets before frames
    could be told, and how it ended.

    A piece is `(packet, time_ns, direction, octets)`, or the number of octets that are missing in place of octets.
    """

    def __init__(self) -> None:
        self.position: list[int | None] = [None, None]
        self.pieces: list[Piece] = []
        self.known = [False, False]
        self.sure = [False, False]
        """Did the connection itself begin here?"""
        self.first = 0, 0
        """Packet and time of what came first."""
        self.over: list[tuple[int, int, int, int, bool]] = []
        """(seq, packet, time_ns, direction, was it a reset) of each end."""

    def pending(self, direction: int) -> bool:
        return not self.known[direction]

    def found(self, direction: int, *, sure: bool) -> None:
        """Frames can be told; `sure`: because this is where the connection began."""
        self.known[direction], self.sure[direction] = True, sure

    def octets(self, connection: Connection, direction: int, data: bytes, told: int) -> None:
        """These octets came, and `told` octets of frames can be told of them and of those before."""
        splitter = connection.splitters[direction]
        assert splitter is not None
        if self.pending(direction):
            self._add(connection, direction, len(data), data)
            if not splitter.blind:
                self._trim(direction, told + len(splitter.rest))

    def gap(self, connection: Connection, direction: int, missing: int) -> None:
        if self.pending(direction):
            self._add(connection, direction, missing, missing)

    def ends(self, spot: Place, direction: int, reset: bool) -> None:
        """This side is over."""
        self._met(spot)
        self.over.append((spot.next(), spot.packet, spot.time_ns, direction, reset))

    def _met(self, spot: Place) -> None:
        self.first = self.first if any(self.first) else (spot.packet, spot.time_ns)

    def _add(self, connection: Connection, direction: int, size: int, what: bytes | int) -> None:
        upto, spot = connection.flow.upto[direction], connection.place
        self._met(spot)
        if self.position[direction] is None and upto is not None:
            self.position[direction] = upto - size
        self.pieces.append((spot.packet, spot.time_ns, direction, what))

    def _trim(self, direction: int, excess: int) -> None:
        """The last octets are understood already."""
        for place in range(len(self.pieces) - 1, -1, -1):
            packet, time_ns, side, what = self.pieces[place]
            if side == direction and excess:
                assert isinstance(what, bytes)
                self.pieces[place] = packet, time_ns, side, what[:-excess]
                excess = max(0, excess - len(what))


class Connection:
    """One connection as a receiver of what TCP hands on."""

    def __init__(
        self,
        labels: Labels,
        rows: Rows,
        place: Place,
        client: End,
        server: End,
        *,
        later: bool = False,
    ) -> None:
        self.flow = Flow(self)
        self.head: Head | None = Head() if later else None
        self.labels, self.client, self.server = labels, client, server
        self._rows, self.place = rows, place
        self._builder = EventBuilder(labels, lambda: 0, lambda: 0)
        self.splitters: list[Splitter | None] = [None, None]
        self.readers = [Reader(labels, side, rows, place, self._tuned) for side in DIRECTIONS]
        self.begun = self.done = False
        self.secret = 0
        """Octets of TLS, where it is that."""
        self.cause = ""

    def octets(self, direction: int, data: bytes, packet: int, time_ns: int) -> None:
        splitter = self.splitters[direction]
        if splitter is None:
            if self.secret or (not self.begun and data[:2] in TLS):
                self.secret += len(data)
                return
            splitter = self._splitter(direction)
        if splitter.waits:
            data = splitter.more(data)
        if splitter.idle and data:
            reader = self.readers[direction]
            if taken := reader.known(data, splitter.most):
                data = data[taken:]
            if reader.need:
                splitter.hold(data, reader.need)
                return
        if data and splitter.problem is None:
            self._feed(direction, splitter, data)

    def settle(self, direction: int) -> None:
        """Nothing is held back any more: what there is of a message is read, whole or not."""
        splitter = self.splitters[direction]
        if splitter is not None and splitter.waits:
            self._feed(direction, splitter, splitter.release())

    def _feed(self, direction: int, splitter: Splitter, data: bytes) -> None:
        """The next octets, whatever they are."""
        blind = splitter.blind
        raws = splitter.feed(data)
        if blind:
            if self.head is not None:
                self.head.octets(self, direction, data, sum(map(len, raws)))
            if not splitter.blind:
                self._found(direction, splitter)
        if raws:
            if raws[0][:4] == MAGIC:
                self._protocol(direction, raws.pop(0))
            problem = self.readers[direction].frames(raws)
            if problem is not None:
                splitter.refuse(problem)
        if splitter.problem is not None:
            self._malformed(direction, splitter)

    def gap(self, direction: int, missing: int, packet: int, time_ns: int) -> None:
        if self.secret:
            return
        self.settle(direction)
        splitter = self.splitters[direction] or self._splitter(direction)
        if not splitter.blind:
            self.lose(direction, missing, "not captured")
        else:
            splitter.skipped += missing
            if self.head is not None:
                self.head.gap(self, direction, missing)
        splitter.lose()

    def over(self, direction: int, reset: bool, packet: int, time_ns: int) -> None:
        causes = ("aborted", "reset") if reset else ("closed", "fin")
        both, self.cause = bool(self.cause), self.cause or causes[direction]
        if self.head is not None:
            self.head.ends(self.place, direction, reset)
        elif (both or reset) and self.begun and not self.done:
            self._end(events.END, cause=self.cause)
            self.flow.ended = True

    def finish(self, reason: str) -> None:
        """The capture is over, or this connection's ports are used by another."""
        self.flow.finish(self.place.packet, self.place.time_ns)
        if self.begun and not self.done and self.head is None:
            if self.cause == "fin":
                self._end(events.END, cause=self.cause)
            else:
                self._end(events.CUT, reason=reason)

    def _splitter(self, direction: int) -> Splitter:
        """The first octets of this direction."""
        if not self.begun:
            self.begun = True
            if any(self.flow.whole):
                self.head = None
            if self.head is None:
                self.enter(opened=any(self.flow.whole))
        return self.fresh(direction, whole=self.flow.whole[direction])

    def fresh(self, direction: int, *, whole: bool = False) -> Splitter:
        """Reading of this direction begins."""
        splitter = self.splitters[direction] = Splitter(whole=whole)
        return splitter

    def enter(self, *, opened: bool) -> None:
        """The first that is told of this connection."""
        if opened:
            host, port = self.server
            self._local(events.OPEN, host=host, port=port, client=written(self.client))
        else:
            self._local(events.JOINED, reason="the capture begins in the middle of this connection")

    def _found(self, direction: int, splitter: Splitter) -> None:
        """Frames can be told from here on. In a later file of a ring, who knows the one before says what is lost."""
        if self.head is not None and self.head.pending(direction):
            self.head.found(direction, sure=splitter.sure)
            if not splitter.sure:
                self.readers[direction].begin_late()
        elif not splitter.sure:
            self.lose(direction, splitter.skipped, "until frames could be told")
        splitter.skipped = 0

    def lose(self, direction: int, missing: int | None, reason: str) -> None:
        """Says that frames of this direction are missing."""
        self.readers[direction].lose()
        self._local(events.GAP, direction=DIRECTIONS[direction], octets=missing, reason=reason)

    def _malformed(self, direction: int, splitter: Splitter) -> None:
        """Not a frame. Where every octet was seen, that is what was sent; after a hole, it is we who were wrong."""
        problem, side = splitter.problem, DIRECTIONS[direction]
        assert problem is not None
        if splitter.sure:
            self._rows.add(
                self._builder.note(
                    side,
                    events.MALFORMED,
                    problem.raw,
                    offset=problem.offset,
                    expected=problem.expected,
                    found=problem.found,
                ),
                self.place.next(),
                self.place.time_ns,
                self.place.packet,
            )
        else:
            again = splitter.distrust()
            self.lose(direction, None, "what looked like frames was none" if again else "frames cannot be told")

    def _protocol(self, direction: int, raw: bytes) -> None:
        event = self._builder.note(DIRECTIONS[direction], events.PROTOCOL, raw)
        self._rows.add(event, self.place.next(), self.place.time_ns, self.place.packet)

    def _tuned(self, frame_max: int) -> None:
        for splitter in self.splitters:
            if splitter is not None and splitter.sure:
                splitter.limit = frame_max

    def _end(self, kind: str, **arguments: object) -> None:
        for direction, splitter in enumerate(self.splitters):
            if splitter is not None and splitter.blind:
                self.lose(direction, splitter.skipped + len(splitter.rest), "frames could not be told any more")
        self._local(kind, **arguments)
        self.done = True
        for reader in self.readers:
            reader.close()

    def _local(self, kind: str, **arguments: object) -> None:
        event = self._builder.local(kind, **arguments)
        self._rows.add(event, self.place.next(), self.place.time_ns, self.place.packet)
