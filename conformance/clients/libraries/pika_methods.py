"""What both ways of using pika have in common: callbacks that show, objects as fields, errors as the methods that they
stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pika
from pika import exceptions

from conformance.clients.libraries.adapter import Adapter, Cannot, Fields, body_of, packed

CALLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "exchange.declare": (
        "exchange_declare",
        {"exchange": "exchange", "type": "exchange_type", "durable": "durable", "passive": "passive"},
    ),
    "exchange.delete": ("exchange_delete", {"exchange": "exchange"}),
    "queue.declare": (
        "queue_declare",
        {name: name for name in ("queue", "passive", "durable", "exclusive", "auto_delete", "arguments")},
    ),
    "queue.bind": ("queue_bind", {name: name for name in ("queue", "exchange", "routing_key", "arguments")}),
    "queue.purge": ("queue_purge", {"queue": "queue"}),
    "queue.delete": ("queue_delete", {"queue": "queue"}),
    "basic.qos": (
        "basic_qos",
        {"prefetch_size": "prefetch_size", "prefetch_count": "prefetch_count", "global_": "global_qos"},
    ),
    "basic.recover": ("basic_recover", {"requeue": "requeue"}),
    "channel.flow": ("flow", {"active": "active"}),
    "tx.select": ("tx_select", {}),
    "tx.commit": ("tx_commit", {}),
    "tx.rollback": ("tx_rollback", {}),
}
"""Methods with an answer: the call, and what its arguments are called."""
SILENT: Mapping[str, tuple[str, ...]] = {
    "basic.ack": ("delivery_tag", "multiple"),
    "basic.nack": ("delivery_tag", "multiple", "requeue"),
    "basic.reject": ("delivery_tag", "requeue"),
}
"""Methods without one."""


class PikaAdapter(Adapter):
    """Connections by name, channels by connection and number."""

    product, version = "pika", pika.__version__

    def __init__(self) -> None:
        super().__init__()
        self._connections: dict[str, Any] = {}
        self._channels: dict[tuple[str, int], Any] = {}

    def _callback(self, on: str, number: int) -> Callable[..., None]:
        """A callback that is given a method frame."""
        return lambda frame: self.show(on, number, name_of(frame.method), fields_of(frame.method))

    def _message(self, on: str, number: int) -> Callable[..., None]:
        """A callback that is given a method with its content."""
        return lambda channel, method, properties, body: self.show(
            on,
            number,
            name_of(method),
            {**fields_of(method), **content(properties, body)},
        )


def publish(channel: Any, fields: Fields) -> None:
    """Raises Cannot where pika has no word for it."""
    if fields.get("immediate"):
        raise Cannot("has no immediate flag")
    channel.basic_publish(
        fields["exchange"],
        fields["routing_key"],
        body_of(fields),
        pika.BasicProperties(**fields.get("properties", {})),
        fields.get("mandatory", False),
    )


def settle(channel: Any, method: str, fields: Fields) -> None:
    """A method without an answer."""
    getattr(channel, method.replace(".", "_"))(**{name: fields[name] for name in SILENT[method]})


def parameters(url: str, heartbeat: int, capabilities: Fields | None, properties: Fields) -> Any:
    """How to connect; pika lets an application say what it is capable of."""
    made = pika.URLParameters(url)
    made.heartbeat, made.connection_attempts, made.socket_timeout = heartbeat, 1, 10
    made.client_properties = {**properties, **({} if capabilities is None else {"capabilities": capabilities})} or None
    return made


def name_of(method: Any) -> str:
    """pika's Queue.DeclareOk is queue.declare-ok."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", method.NAME).lower()


def fields_of(method: Any) -> Fields:
    return dict(vars(method))


def content(properties: Any, body: bytes) -> Fields:
    given = {name: value for name, value in vars(properties).items() if value is not None}
    return {"properties": given, "body": packed(body)}


def arguments(method: str, fields: Fields) -> Fields:
    """The arguments of the call, under pika's names."""
    return {pikas: fields[ours] for ours, pikas in CALLS[method][1].items() if ours in fields}


def show_error(adapter: Adapter, on: str, channel: int, error: BaseException) -> None:
    """An error as the method that it stands for; any other goes on."""
    if isinstance(error, exceptions.ChannelClosedByBroker):
        adapter.show(on, channel, "channel.close", {"reply_code": error.reply_code, "reply_text": error.reply_text})
    elif isinstance(error, exceptions.ConnectionClosedByBroker):
        adapter.show(on, 0, "connection.close", {"reply_code": error.reply_code, "reply_text": error.reply_text})
    elif isinstance(error, exceptions.AMQPConnectionError) and not isinstance(error, exceptions.ConnectionClosed):
        adapter.show(on, 0, "end")
    else:
        raise error
