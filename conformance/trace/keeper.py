"""The process that `trace record` tells what passed: it makes events of it and appends them to a recording.

It reads its standard input until that ends, and obeys no interrupt: who started it decides when it is over. A thread
takes in what is said, up to CHUNKS pieces ahead of what is written, and what was taken in is written whatever happens
to the proxy; while nothing is said it is on disk within a second. At the end, connections that still live are said to
be cut, and one line tells what was recorded.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from queue import Empty, Queue
from threading import Thread
from typing import Any

from conformance.drive.drivers.proxy import ENDED, OPENED
from conformance.drive.drivers.tap import Tap
from conformance.drive.drivers.target import Target
from conformance.history import events
from conformance.history.events import EventBuilder, Labels
from conformance.history.recording import RecordingWriter
from conformance.trace.record import HEAD, WHAT

CHUNK, CHUNKS = 1 << 18, 1024
SECOND = 1.0
PROMPT = 0.0005
"""Seconds that listening waits for writing at most."""


class Keeper:
    """Everything that passes the proxy, as one history."""

    def __init__(self, header: Mapping[str, Any], url: str, writer: RecordingWriter) -> None:
        self._target, self._writer = Target.parse(url), writer
        self._labels = Labels(str(header["run"]), str(header["broker"]), self._target.address, "")
        self._seq = itertools.count(1)
        self._now = 0
        self._taps: dict[int, Tap] = {}
        self.connections = 0

    def take(self, time_ns: int, number: int, what: str, data: bytes) -> None:
        if not self._now:
            self._now = time_ns
            self._writer.write(self._builder("").local(events.OBSERVED, by="proxy", others=True, ordered=True))
        self._now = time_ns
        if what == OPENED:
            self.connections += 1
            self._taps[number] = Tap(self._builder(f"c{number}"), self._writer.write)
            self._taps[number].open(self._target, data.decode())
        elif what == ENDED:
            self._taps.pop(number).end(data.decode())
        else:
            self._taps[number].octets(what, data)

    def finish(self) -> None:
        for tap in self._taps.values():
            tap.cut("the recording was stopped")
        self._writer.close()

    def _builder(self, connection: str) -> EventBuilder:
        return EventBuilder(self._labels._replace(connection=connection), self._seq.__next__, lambda: self._now)


def pieces(writer: RecordingWriter) -> Iterator[tuple[int, int, str, bytes]]:
    """What standard input says; whenever it is silent for a second, the writer lets go of what it holds."""
    chunks: Queue[bytes] = Queue(CHUNKS)
    Thread(target=_listen, args=(sys.stdin.fileno(), chunks), daemon=True).start()
    buffer = b""
    while True:
        try:
            more = chunks.get(timeout=SECOND)
        except Empty:
            writer.flush()
            continue
        if not more:
            return
        buffer, at = buffer + more, 0
        while len(buffer) - at >= HEAD.size:
            time_ns, number, what, size = HEAD.unpack_from(buffer, at)
            begin = at + HEAD.size
            if len(buffer) - begin < size:
                break
            yield time_ns, number, WHAT[what], buffer[begin : begin + size]
            at = begin + size
        buffer = buffer[at:]


def _listen(source: int, chunks: Queue[bytes]) -> None:
    """Takes everything out of the pipe as soon as it is there: what is here, no death of the proxy takes away."""
    more = os.read(source, CHUNK)
    while more:
        chunks.put(more)
        more = os.read(source, CHUNK)
    chunks.put(b"")


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(PROMPT)
    order = json.loads(sys.argv[1])
    try:
        writer = RecordingWriter(order["out"], order["header"], "proxy")
    except OSError as problem:
        sys.exit(f"{order['out']}: {problem.strerror or problem}.")
    os.write(order["ready"], b"!")
    os.close(order["ready"])
    keeper = Keeper(order["header"], order["url"], writer)
    for piece in pieces(writer):
        keeper.take(*piece)
    keeper.finish()
    print(f"{writer.rows} events of {keeper.connections} connections in {writer.path}")


if __name__ == "__main__":
    main()
