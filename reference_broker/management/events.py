"""What passed between the broker and its clients, frame by frame, once somebody has asked for it to be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import codec
from codec import values
from reference_broker.core.tap import Piece, Tap
from reference_broker.management.route import Answer, Ask, Field, Route, bad_request, route

ROUTES: list[Route] = []
HEADER = b"AMQP"
HEADER_OCTETS = 8


@route(
    ROUTES,
    "GET",
    "/x/events",
    "Frames in both directions since recording began; ?from=N leaves out the first N.",
    shape="Events",
)
def events(ask: Ask) -> Answer:
    first, tap = ask.query.get("from", "0"), ask.node.broker.parts.tap
    if not first.isdecimal():
        raise bad_request("from is a number of events")
    found = list(frames(tap.pieces)) if tap is not None else []
    return Answer({"on": tap is not None, "count": len(found), "events": found[int(first) :]})


@route(
    ROUTES,
    "PUT",
    "/x/events",
    "Keep what passes on connections that are opened from now on.",
    need="administrator",
    fields={"on": Field("boolean", "true: only a new broker forgets it", required=True)},
    statuses=(204,),
)
def put_events(ask: Ask) -> Answer:
    parts = ask.node.broker.parts
    if ask.given["on"] is False and parts.tap is not None:
        raise bad_request("what is being kept is kept until the broker ends; DELETE forgets what there is so far")
    if ask.given["on"] and parts.tap is None:
        Tap().into(parts)
    return Answer(status=204)


@route(ROUTES, "DELETE", "/x/events", "Forget what there is so far.", need="administrator", statuses=(204,))
def forget(ask: Ask) -> Answer:
    tap = ask.node.broker.parts.tap
    if tap is not None:
        tap.pieces.clear()
    return Answer(status=204)


def frames(pieces: Iterable[Piece]) -> Iterator[dict[str, Any]]:
    readers: dict[tuple[int, bool], codec.FrameReader] = {}
    for piece in pieces:
        where = {"connection": piece.connection, "at": piece.at, "to": "broker" if piece.by_client else "client"}
        side, octets = (piece.connection, piece.by_client), piece.octets
        if octets.startswith(HEADER) and side not in readers:
            yield {**where, "kind": "protocol header"}
            octets = octets[HEADER_OCTETS:]
        reader = readers.setdefault(side, codec.FrameReader(0))
        try:
            found = reader.feed(octets)
        except codec.MalformedFrame as broken:
            yield from ({**where, **frame_view(frame)} for frame in broken.frames)
            yield {**where, "kind": "malformed", "why": str(broken)}
            continue
        yield from ({**where, **frame_view(frame)} for frame in found)


def frame_view(frame: codec.Frame) -> dict[str, Any]:
    if isinstance(frame, codec.Method):
        arguments = {name: values.to_json(getattr(frame, name)) for name in frame.FIELDS}
        return {"kind": "method", "channel": frame.channel, "method": frame.NAME, "arguments": arguments}
    if isinstance(frame, codec.Header):
        properties = {name: values.to_json(one) for name, one in frame.properties().items()}
        return {"kind": "header", "channel": frame.channel, "body_size": frame.body_size, "properties": properties}
    if isinstance(frame, codec.Body):
        return {"kind": "body", "channel": frame.channel, "size": len(frame.payload)}
    return {"kind": "heartbeat", "channel": frame.channel}
