"""From loose ends of a ring's files to events: what crosses from one file to the next is read as if the files were one.

The ends of a connection are taken in the order of the files. Each tail is where reading stopped. If the next head
begins with the very next octet, reading goes on there, up to where that file could find frames itself; both must meet
at the beginning of a frame. Octets that no file has are a gap, as in one file. A head without a tail before it is a
connection that was open before the capture. A tail without a head after it is a connection that was still open at the
end.

A connection has one name, that of the file in which it began. Names that later files gave it are reported as RENAMED.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from conformance.history.events import EventBuilder, Labels
from reports.capture.loose import FILE_BITS, PACKET_BITS, base
from reports.capture.rows import Place, RowBlock, Rows
from reports.capture.streams import Connection
from reports.capture.tcp import STRANGE, signed

RENAMED = "renamed"
GOES, ENDS = "its ports are used by another connection", "the capture ends before this connection"

End = tuple[int, str, Mapping[str, Any]]
"""(seq of the row, name of the connection in its file, loose end)"""


def stitch(labels: Labels, file_of: Mapping[int, str], ends: Iterable[End]) -> Iterator[RowBlock]:
    """The events of one history that no file tells by itself, and the names that change."""
    seam = _Seam(labels)
    for seq, name, end in sorted(ends, key=lambda one: one[0]):
        part = seq >> FILE_BITS
        seam.rows.file = file_of.get(part, "")
        seam.take(part, name, end)
        yield seam.rows.take()
    seam.finish()
    yield seam.rows.take()


class _Seam:
    """The connections that are under way from one file to the next."""

    def __init__(self, labels: Labels) -> None:
        self.rows, self._labels = Rows(), labels
        self._way: dict[tuple[str, ...], Connection] = {}
        self._part = self._cut = 0
        self._taken: dict[int, int] = {}
        """By the first place of a packet, the first that is free."""

    def take(self, part: int, name: str, end: Mapping[str, Any]) -> None:
        if part != self._part:
            self._part, self._cut = part, 0
            self._taken.clear()
        key = tuple(map(str, (*end["client"], *end["server"])))
        before = self._way.pop(key, None)
        if before is None and not end["begun"]:
            return
        connection = self._continued(before, name, end) if end["head"] else self._begun(before, name, end)
        self._strays(connection, end["strays"])
        self._resume(connection, end["tail"])
        for seq, packet, time, side, reset in end["head"]["over"] if end["head"] else ():
            self._exactly(connection, seq, packet, time)
            connection.over(side, reset, packet, time)
        if not connection.done:
            self._way[key] = connection

    def finish(self) -> None:
        """No more files come."""
        for connection in self._way.values():
            self._leave(connection, ENDS)

    def _new(self, name: str, end: Mapping[str, Any]) -> Connection:
        client, server = ((host, port) for host, port in (end["client"], end["server"]))
        return Connection(self._labels._replace(connection=name), self.rows, Place(), client, server)

    def _begun(self, before: Connection | None, name: str, end: Mapping[str, Any]) -> Connection:
        """A connection that began in this file; one before it with the same ports is over."""
        if before is not None:
            self._leave(before, GOES)
        connection = self._new(name, end)
        connection.begun = True
        return connection

    def _continued(self, before: Connection | None, name: str, end: Mapping[str, Any]) -> Connection:
        """A connection that this file met in its middle."""
        head = end["head"]
        if before is not None and not all(self._near(before, side, head["position"][side]) for side in (0, 1)):
            self._leave(before, GOES)
            before = None
        connection = before or self._new(name, end)
        twice, last = [0, 0], head["first"]
        with self._at(connection, *head["first"]):
            if before is None:
                connection.begun = True
                connection.enter(opened=any(head["sure"]))
            else:
                self._rename(name, connection)
                twice = self._close_up(connection, head["position"])
        for packet, time, side, what in head["pieces"]:
            with self._at(connection, *(last := (packet, time))):
                self._feed(connection, side, what, twice)
        with self._at(connection, *last):
            for side in (0, 1):
                if head["known"][side]:
                    self._meet(connection, side, sure=head["sure"][side])
        return connection

    def _near(self, before: Connection, side: int, position: int | None) -> bool:
        known = before.flow.upto[side]
        return known is None or position is None or abs(signed(position - known)) < STRANGE

    def _close_up(self, connection: Connection, position: list[int | None]) -> list[int]:
        """Says what is missing between tail and head; how many octets both have."""
        twice = [0, 0]
        for side in (0, 1):
            known, begin = connection.flow.upto[side], position[side]
            missing = signed(begin - known) if known is not None and begin is not None else 0
            if missing > 0:
                connection.gap(side, missing, 0, 0)
            twice[side] = max(0, -missing)
        return twice

    def _feed(self, connection: Connection, side: int, what: str | int, twice: list[int]) -> None:
        if isinstance(what, int):
            connection.gap(side, what, 0, 0)
            return
        data = bytes.fromhex(what)
        known = min(len(data), twice[side])
        twice[side] -= known
        if data[known:]:
            connection.octets(side, data[known:], 0, 0)

    def _meet(self, connection: Connection, side: int, *, sure: bool) -> None:
        """This direction has come to where the file itself can tell frames: at a frame's beginning, or something is
        missing. Where it began in this file, nothing is."""
        connection.settle(side)
        splitter = connection.splitters[side]
        if not sure and (splitter is None or splitter.blind or splitter.rest or splitter.problem):
            missing = splitter.skipped + len(splitter.rest) if splitter else None
            connection.lose(side, missing, "until frames could be told")

    def _strays(self, connection: Connection, strays: Iterable[tuple[int, int, int, int, str]]) -> None:
        """Content that began in the file before; each piece has its place."""
        for side, seq, packet, time, raw in strays:
            self._exactly(connection, seq, packet, time)
            connection.readers[side].frames([bytes.fromhex(raw)])

    def _resume(self, connection: Connection, tail: Mapping[str, Any]) -> None:
        """The connection as it is at the end of this file. What was known before it counts on if nothing was lost."""
        connection.cause = connection.cause or tail["cause"]
        for side, state in enumerate(tail["sides"]):
            connection.flow.upto[side] = state["position"]
            if not state["known"]:
                continue
            reader, before = connection.readers[side], connection.splitters[side]
            limit, sure, doubtful = state["limit"], state["sure"], state["doubtful"]
            if not state["lost"]:
                limit, sure, doubtful = (before.limit, before.sure, reader.doubtful) if before else (0, False, [])
            else:
                reader.lose()
            splitter = connection.fresh(side)
            splitter.resume(bytes.fromhex(state["rest"]), limit, sure=sure)
            reader.resume([bytes.fromhex(raw) for raw in state["open"]], doubtful)
            if state["blind"] or state["bad"]:
                splitter.lose()
                splitter.skipped = state["skipped"]
                reader.lose()

    def _leave(self, connection: Connection, reason: str) -> None:
        """The connection is not seen again: that is told behind everything in the last file that knew it."""
        self._cut += 1
        connection.place.rank = base(self._part + 1) - (1 << PACKET_BITS) + 16 * self._cut
        connection.finish(reason)

    @contextmanager
    def _at(self, connection: Connection, packet: int, time: int) -> Iterator[None]:
        """What happens meanwhile belongs to this packet, behind what other connections have there: at a file's end,
        many give up what they wait for."""
        spot, begin = connection.place, base(self._part) + (packet << PACKET_BITS)
        spot.packet, spot.time_ns, spot.rank = packet, time, self._taken.get(begin, begin)
        yield
        self._taken[begin] = max(spot.rank, spot.seq + 1)

    def _exactly(self, connection: Connection, seq: int, packet: int, time: int) -> None:
        """The next event has a place that the file gave it."""
        spot = connection.place
        spot.packet, spot.time_ns, spot.seq, spot.rank = packet, time, seq - 1, 0

    def _rename(self, name: str, connection: Connection) -> None:
        builder = EventBuilder(self._labels._replace(connection=name), int, int)
        self.rows.add(builder.local(RENAMED, to=connection.labels.connection), 0, 0, 0)
