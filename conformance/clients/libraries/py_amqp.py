"""py-amqp: calls that wait for their answers, `basic_publish` that does not wait for confirms, and `drain_events`.

What comes unasked is told by the callbacks of consumers (`callback`, `on_cancel`) and of the channel (`events`), or as
an exception out of whatever call was reading. A channel that the broker closed is opened again by the library itself.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp
from amqp import exceptions

from conformance.clients.libraries.adapter import NO_CHANNEL, Adapter, Cannot, Fields, body_of, packed

CALLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "exchange.declare": (
        "exchange_declare",
        {"exchange": "exchange", "type": "type", "durable": "durable", "passive": "passive", "no_wait": "nowait"},
    ),
    "exchange.delete": ("exchange_delete", {"exchange": "exchange", "no_wait": "nowait"}),
    "queue.declare": (
        "queue_declare",
        {
            "queue": "queue",
            "passive": "passive",
            "durable": "durable",
            "exclusive": "exclusive",
            "auto_delete": "auto_delete",
            "no_wait": "nowait",
            "arguments": "arguments",
        },
    ),
    "queue.bind": (
        "queue_bind",
        {"queue": "queue", "exchange": "exchange", "routing_key": "routing_key", "arguments": "arguments"},
    ),
    "queue.purge": ("queue_purge", {"queue": "queue"}),
    "queue.delete": ("queue_delete", {"queue": "queue", "no_wait": "nowait"}),
    "basic.qos": (
        "basic_qos",
        {"prefetch_size": "prefetch_size", "prefetch_count": "prefetch_count", "global_": "a_global"},
    ),
    "basic.recover": ("basic_recover", {"requeue": "requeue"}),
    "basic.ack": ("basic_ack", {"delivery_tag": "delivery_tag", "multiple": "multiple"}),
    "basic.reject": ("basic_reject", {"delivery_tag": "delivery_tag", "requeue": "requeue"}),
    "basic.cancel": ("basic_cancel", {"consumer_tag": "consumer_tag", "no_wait": "nowait"}),
    "channel.flow": ("flow", {"active": "active"}),
    "confirm.select": ("confirm_select", {"no_wait": "nowait"}),
    "tx.select": ("tx_select", {}),
    "tx.commit": ("tx_commit", {}),
    "tx.rollback": ("tx_rollback", {}),
}
SILENT = ("basic.ack", "basic.reject", "basic.recover")
HEADERS = {"headers": "application_headers"}
SLICE = 0.05
"""Seconds in which the rest of a frame comes whose beginning is there."""
COUNTED = {"queue.purge": ("message_count",), "queue.delete": ("message_count",)}


class PyAmqp(Adapter):
    product, version, way = "py-amqp", amqp.__version__, "basic_publish and drain_events"

    def __init__(self) -> None:
        super().__init__()
        self._connections: dict[str, Any] = {}
        self._channels: dict[tuple[str, int], Any] = {}

    def connect(self, on: str, url: str, heartbeat: int, capabilities: Fields | None, properties: Fields) -> None:
        parts = urlsplit(url)
        connection = amqp.Connection(
            host=f"{parts.hostname}:{parts.port}",
            userid=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            virtual_host=unquote(parts.path.removeprefix("/")),
            connect_timeout=10,
            heartbeat=heartbeat,
            client_properties=properties,
        )
        if capabilities is not None:
            connection.negotiate_capabilities = capabilities
        connection.connect()
        self._connections[on] = connection

    def act(self, on: str, channel: int, method: str, fields: Fields) -> None:
        with self._telling(on, channel):
            if method == "connection.close":
                self._connections.pop(on).close(fields.get("reply_code", 0), fields.get("reply_text", ""))
                self._forget(on)
            elif method == "channel.open":
                self._open(on, channel)
            elif (on, channel) not in self._channels:
                raise Cannot(NO_CHANNEL)
            else:
                self._on_channel(on, channel, self._channels[on, channel], method, fields)

    def wait(self, seconds: float) -> None:
        until, before = time.monotonic() + seconds, self.shown
        while self.shown == before:
            ready = self._ready(max(0.0, until - time.monotonic()))
            for on in ready:
                with self._telling(on, 0), contextlib.suppress(TimeoutError):
                    self._connections[on].drain_events(timeout=SLICE)
            if time.monotonic() >= until and not ready:
                return

    def end(self) -> None:
        for connection in self._connections.values():
            connection.collect()
        self._connections.clear()
        self._channels.clear()

    def _ready(self, seconds: float) -> list[str]:
        sockets = {connection.sock: on for on, connection in self._connections.items() if connection.connected}
        if not sockets:
            time.sleep(seconds)
            return []
        return [sockets[one] for one in select.select(list(sockets), [], [], seconds)[0]]

    @contextlib.contextmanager
    def _telling(self, on: str, number: int) -> Iterator[None]:
        """Errors that tell of the broker are shown under what they stand for; others go on."""
        try:
            yield
        except exceptions.ConsumerCancelled as cancelled:
            self.show(on, number or None, "basic.cancel", {"consumer_tag": str(cancelled.reply_text or "")})
        except exceptions.ChannelError as closed:
            if not closed.reply_code:
                raise
            self.show(
                on, number or None, "channel.close", {"reply_code": closed.reply_code, "reply_text": closed.reply_text}
            )
        except exceptions.ConnectionError as closed:
            if not closed.reply_code:
                raise
            self._lose(on)
            self.show(on, 0, "connection.close", {"reply_code": closed.reply_code, "reply_text": closed.reply_text})
        except TimeoutError:
            raise
        except OSError:
            self._lose(on)
            self.show(on, 0, "end")

    def _lose(self, on: str) -> None:
        self._connections.pop(on).collect()
        self._forget(on)

    def _forget(self, on: str) -> None:
        for key in [key for key in self._channels if key[0] == on]:
            del self._channels[key]

    def _open(self, on: str, number: int) -> None:
        channel = self._connections[on].channel(number)
        self._channels[on, number] = channel
        self.show(on, number, "channel.open-ok")
        for confirm in ("basic_ack", "basic_nack"):
            channel.events[confirm].add(self._confirm(on, number, confirm.replace("_", ".")))
        channel.events["basic_return"].add(self._returned(on, number))

    def _confirm(self, on: str, number: int, method: str) -> Callable[[int, bool], None]:
        return lambda tag, multiple: self.show(on, number, method, {"delivery_tag": tag, "multiple": multiple})

    def _returned(self, on: str, number: int) -> Callable[..., None]:
        return lambda error, exchange, routing_key, message: self.show(
            on,
            number,
            "basic.return",
            {
                "reply_code": error.reply_code,
                "reply_text": error.reply_text,
                "exchange": exchange,
                "routing_key": routing_key,
                **_content(message),
            },
        )

    def _delivered(self, on: str, number: int, method: str) -> Callable[[Any], None]:
        return lambda message: self.show(on, number, method, {**message.delivery_info, **_content(message)})

    def _on_channel(self, on: str, number: int, channel: Any, method: str, fields: Fields) -> None:
        if method == "channel.close":
            channel.close(fields.get("reply_code", 0), fields.get("reply_text", ""))
            self.show(on, number, "channel.close-ok")
        elif method == "basic.publish":
            properties = {HEADERS.get(name, name): value for name, value in fields.get("properties", {}).items()}
            message = amqp.Message(body_of(fields), **properties)
            channel.basic_publish(
                message,
                fields["exchange"],
                fields["routing_key"],
                mandatory=fields.get("mandatory", False),
                immediate=fields.get("immediate", False),
            )
        elif method == "basic.get":
            message = channel.basic_get(fields["queue"], fields.get("no_ack", False))
            if message is None:
                self.show(on, number, "basic.get-empty")
            else:
                self._delivered(on, number, "basic.get-ok")(message)
        elif method == "basic.consume":
            tag = channel.basic_consume(
                fields["queue"],
                fields["consumer_tag"],
                no_ack=fields.get("no_ack", False),
                exclusive=fields.get("exclusive", False),
                nowait=fields.get("no_wait", False),
                arguments=fields.get("arguments"),
                callback=self._delivered(on, number, "basic.deliver"),
                on_cancel=lambda tag: self.show(on, number, "basic.cancel", {"consumer_tag": tag}),
            )
            if not fields.get("no_wait"):
                self.show(on, number, "basic.consume-ok", {"consumer_tag": tag})
        elif method in CALLS:
            self._call(on, number, channel, method, fields)
        else:
            raise Cannot(f"gives an application no way to send {method}")

    def _call(self, on: str, number: int, channel: Any, method: str, fields: Fields) -> None:
        name, names = CALLS[method]
        if fields.get("no_wait") and "no_wait" not in names:
            raise Cannot(f"waits for the answer to {method}")
        answer = getattr(channel, name)(**{theirs: fields[ours] for ours, theirs in names.items() if ours in fields})
        if method == "queue.declare" and answer is not None:
            self.show(on, number, "queue.declare-ok", answer._asdict())
        elif method not in SILENT and not fields.get("no_wait"):
            shown = dict.fromkeys(COUNTED.get(method, ()), answer)
            self.show(on, number, f"{method}-ok", shown if isinstance(answer, int) else {})


def _content(message: Any) -> Fields:
    given = {"headers" if name == HEADERS["headers"] else name: value for name, value in message.properties.items()}
    return {"properties": given, "body": packed(message.body)}


if __name__ == "__main__":
    PyAmqp().serve()
