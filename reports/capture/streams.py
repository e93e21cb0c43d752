"""One captured connection: octets of both directions to events.

A connection that was there before the capture begins with JOINED, where a driver's begins with OPEN. Where octets are
missing there is a GAP, before anything that could be a consequence, and a second one where frames can be told again:
between the two this direction says nothing. A connection that outlives the capture ends with CUT.

It ends with END when both sides have said so, or one has reset it; and at the end of the capture, if the broker has
said its last.
"""

from __future__ import annotations

from conformance import events
from conformance.events import TO_BROKER, TO_CLIENT, EventBuilder, Labels
from reports.capture.frames import MAGIC, Splitter
from reports.capture.links import place as written
from reports.capture.rows import Place, Reader, Rows
from reports.capture.tcp import Flow

DIRECTIONS = TO_BROKER, TO_CLIENT
TLS = (b"\x16\x03", b"\x17\x03")

End = tuple[str, int]


class Connection:
    """One connection as a receiver of what TCP hands on."""

    def __init__(self, labels: Labels, rows: Rows, place: Place, client: End, server: End) -> None:
        self.flow = Flow(self)
        self.labels, self.client, self.server = labels, client, server
        self._rows, self.place = rows, place
        self._builder = EventBuilder(labels, lambda: 0, lambda: 0)
        self._splitters: list[Splitter | None] = [None, None]
        self._readers = [Reader(labels, side, rows, place, self._tuned) for side in DIRECTIONS]
        self.begun = self._done = False
        self.secret = 0
        """Octets of TLS, where it is that."""
        self._cause = ""

    def octets(self, direction: int, data: bytes, packet: int, time_ns: int) -> None:
        splitter = self._splitters[direction]
        if splitter is None:
            if self.secret or (not self.begun and data[:2] in TLS):
                self.secret += len(data)
                return
            splitter = self._splitter(direction)
        if splitter.problem is not None:
            return
        blind = splitter.blind
        raws = splitter.feed(data)
        if blind and not splitter.blind:
            self._found(direction, splitter)
        if raws:
            if raws[0][:4] == MAGIC:
                self._protocol(direction, raws.pop(0))
            problem = self._readers[direction].frames(raws)
            if problem is not None:
                splitter.problem = problem
        if splitter.problem is not None:
            self._malformed(direction, splitter)

    def gap(self, direction: int, missing: int, packet: int, time_ns: int) -> None:
        if self.secret:
            return
        splitter = self._splitters[direction] or self._splitter(direction)
        if not splitter.blind:
            self._lose(direction, missing, "not captured")
        else:
            splitter.skipped += missing
        splitter.lose()

    def over(self, direction: int, reset: bool, packet: int, time_ns: int) -> None:
        causes = ("aborted", "reset") if reset else ("closed", "fin")
        both, self._cause = bool(self._cause), self._cause or causes[direction]
        if (both or reset) and self.begun and not self._done:
            self._end(events.END, cause=self._cause)
            self.flow.ended = True

    def finish(self, reason: str) -> None:
        """The capture is over, or this connection's ports are used by another."""
        self.flow.finish(self.place.packet, self.place.time_ns)
        if self.begun and not self._done:
            if self._cause == "fin":
                self._end(events.END, cause=self._cause)
            else:
                self._end(events.CUT, reason=reason)

    def _splitter(self, direction: int) -> Splitter:
        """The first octets of this direction."""
        if not self.begun:
            self.begun = True
            if any(self.flow.whole):
                host, port = self.server
                self._local(events.OPEN, host=host, port=port, client=written(self.client))
            else:
                self._local(events.JOINED, reason="the capture begins in the middle of this connection")
        splitter = self._splitters[direction] = Splitter(whole=self.flow.whole[direction])
        return splitter

    def _found(self, direction: int, splitter: Splitter) -> None:
        """Frames can be told from here on."""
        if not splitter.sure:
            self._lose(direction, splitter.skipped, "until frames could be told")
        splitter.skipped = 0

    def _lose(self, direction: int, missing: int | None, reason: str) -> None:
        self._readers[direction].lose()
        self._local(events.GAP, direction=DIRECTIONS[direction], octets=missing, reason=reason)

    def _malformed(self, direction: int, splitter: Splitter) -> None:
        """Not a frame. Where every octet was seen, that is what was sent; after a hole, it is we who were wrong."""
        problem, side = splitter.problem, DIRECTIONS[direction]
        assert problem is not None
        if splitter.sure:
            self._rows.add(self._builder.note(
                side, events.MALFORMED, problem.raw, offset=problem.offset, expected=problem.expected,
                found=problem.found,
            ), self.place.next(), self.place.time_ns, self.place.packet)
        else:
            again = splitter.distrust()
            self._lose(direction, None, "what looked like frames was none" if again else "frames cannot be told")

    def _protocol(self, direction: int, raw: bytes) -> None:
        event = self._builder.note(DIRECTIONS[direction], events.PROTOCOL, raw)
        self._rows.add(event, self.place.next(), self.place.time_ns, self.place.packet)

    def _tuned(self, frame_max: int) -> None:
        for splitter in self._splitters:
            if splitter is not None and splitter.sure:
                splitter.limit = frame_max

    def _end(self, kind: str, **arguments: object) -> None:
        for direction, splitter in enumerate(self._splitters):
            if splitter is not None and splitter.blind:
                self._lose(direction, splitter.skipped + len(splitter.rest), "frames could not be told any more")
        self._local(kind, **arguments)
        self._done = True
        for reader in self._readers:
            reader.close()

    def _local(self, kind: str, **arguments: object) -> None:
        event = self._builder.local(kind, **arguments)
        self._rows.add(event, self.place.next(), self.place.time_ns, self.place.packet)
