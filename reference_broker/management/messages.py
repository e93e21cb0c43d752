"""Publishing and getting a few messages, for operators and tests; not a way to move data."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import codec
from codec import methods as m
from codec import values
from reference_broker.core.queues.message import Message
from reference_broker.management.node import WirelessChannel
from reference_broker.management.route import Answer, Ask, Field, Route, bad_request, route
from reference_broker.management.topology import direct

ROUTES: list[Route] = []
MOST = 1000
PUBLISH = {
    "properties": Field("object", "properties of class basic; headers as an object", required=True),
    "routing_key": Field("string", "routing key", required=True),
    "payload": Field("string", "the body", required=True),
    "payload_encoding": Field("string", "string, or base64 for octets", required=True),
}
GET = {
    "count": Field("integer", f"how many at most, up to {MOST}", 1, as_text=True),
    "ackmode": Field(
        "string", "ack_requeue_true, ack_requeue_false, reject_requeue_true or reject_requeue_false", required=True
    ),
    "encoding": Field("string", "auto: text where it is UTF-8, else base64; base64: always", required=True),
    "truncate": Field("integer", "cut payloads to this many octets", as_text=True),
}
MODES = {
    "ack_requeue_true": (False, True),
    "ack_requeue_false": (True, False),
    "reject_requeue_true": (False, True),
    "reject_requeue_false": (False, False),
}
"""Is it gone with the delivery, and does it go back?"""


@route(
    ROUTES,
    "POST",
    "/api/exchanges/{vhost}/{exchange}/publish",
    "Publish a message; did it go to any queue?",
    fields=PUBLISH,
    shape="Routed",
)
def publish(ask: Ask) -> Answer:
    given, exchange, body = ask.given, ask.path["exchange"], payload(ask.given)
    name = "" if exchange == "amq.default" else exchange
    with direct(ask) as channel:
        method = m.BasicPublish(1, 0, name, given["routing_key"], mandatory=True)
        said = channel.publish(method, header(given["properties"], len(body)), body)
    return Answer({"routed": not any(isinstance(item, tuple) for item in said)})


def payload(given: dict[str, Any] | Any) -> bytes:
    text: str = given["payload"]
    if given["payload_encoding"] == "string":
        return text.encode()
    if given["payload_encoding"] != "base64":
        raise bad_request(f"payload_encoding is string or base64, not {given['payload_encoding'][:100]!r}")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad_request("payload is not base64") from None


def header(properties: dict[str, Any], size: int) -> codec.Header:
    given = dict(properties)
    try:
        if "headers" in given:
            given["headers"] = values.table(given["headers"])
        found = codec.header(1, size, **given)
        found.encode()
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as problem:
        raise bad_request(f"properties: {problem}") from None
    return found


@route(
    ROUTES,
    "POST",
    "/api/queues/{vhost}/{queue}/get",
    "Get messages, and put them back or not.",
    fields=GET,
    shape="Message[]",
)
def get(ask: Ask) -> Answer:
    given = ask.given
    if given["ackmode"] not in MODES:
        raise bad_request(f"ackmode is one of {', '.join(MODES)}")
    if given["encoding"] not in ("auto", "base64"):
        raise bad_request("encoding is auto or base64")
    if not 0 < given["count"] <= MOST:
        raise bad_request(f"count is a number from 1 to {MOST}")
    gone, back = MODES[given["ackmode"]]
    with direct(ask) as channel:
        found = [one for _ in range(given["count"]) if (one := one_of(channel, ask, gone)) is not None]
        if found and not gone:
            channel.do(m.BasicNack(1, 0, True, back))
    return Answer(found)


def one_of(channel: WirelessChannel, ask: Ask, gone: bool) -> dict[str, Any] | None:
    for item in channel.do(m.BasicGet(1, 0, ask.path["queue"], gone)):
        if isinstance(item, tuple) and isinstance(item[0], m.BasicGetOk):
            return message_view(item[0], item[1], ask.given)
    return None


def message_view(method: m.BasicGetOk, message: Message, given: dict[str, Any] | Any) -> dict[str, Any]:
    body = message.body if given["truncate"] is None else message.body[: max(given["truncate"], 0)]
    text, encoding = body.decode(errors="replace"), "string"
    if given["encoding"] == "base64" or text.encode() != body:
        text, encoding = base64.b64encode(body).decode(), "base64"
    return {
        "payload_bytes": len(message.body),
        "redelivered": method.redelivered,
        "exchange": method.exchange,
        "routing_key": method.routing_key,
        "message_count": method.message_count,
        "payload": text,
        "payload_encoding": encoding,
        "properties": {name: values.to_json(one) for name, one in message.header.properties().items()},
    }
