"""pika's BlockingConnection: each call waits for its answer, and a publish in confirm mode for its confirm.

What comes unasked is seen only while `process_data_events` runs. That a channel was closed meanwhile raises nothing
there; an application finds it by looking at `is_closed`, as this adapter does, or by the error of its next call.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pika
from pika import exceptions

from conformance.clients.libraries.adapter import NO_CHANNEL, Cannot, Fields
from conformance.clients.libraries.pika_methods import (
    CALLS,
    SILENT,
    PikaAdapter,
    arguments,
    content,
    fields_of,
    name_of,
    parameters,
    publish,
    settle,
    show_error,
)

SLICE = 0.004
"""Seconds that one of several connections is waited for."""


class PikaBlocking(PikaAdapter):
    way = "BlockingConnection"

    def __init__(self) -> None:
        super().__init__()
        self._confirming: set[tuple[str, int]] = set()
        self._closed: set[tuple[str, int]] = set()

    def connect(self, on: str, url: str, heartbeat: int, capabilities: Fields | None, properties: Fields) -> None:
        self._connections[on] = pika.BlockingConnection(parameters(url, heartbeat, capabilities, properties))

    def act(self, on: str, channel: int, method: str, fields: Fields) -> None:
        with self._telling(on, channel):
            if method == "connection.close":
                self._connections.pop(on).close(fields.get("reply_code", 200), fields.get("reply_text", ""))
                self._forget(on)
            elif method == "channel.open":
                self._open(on, channel)
            elif (on, channel) not in self._channels:
                raise Cannot(NO_CHANNEL)
            else:
                self._on_channel(on, channel, self._channels[on, channel], method, fields)
        self._look()

    def wait(self, seconds: float) -> None:
        until, before = time.monotonic() + seconds, self.shown
        while True:
            for on, connection in list(self._connections.items()):
                left = max(0.0, until - time.monotonic())
                with self._telling(on, 0):
                    connection.process_data_events(left if len(self._connections) == 1 else min(left, SLICE))
            self._look()
            if self.shown > before or time.monotonic() >= until:
                return

    def end(self) -> None:
        for connection in self._connections.values():
            with contextlib.suppress(exceptions.AMQPError):
                connection.close()
        self._connections.clear()
        self._channels.clear()
        self._confirming.clear()

    @contextlib.contextmanager
    def _telling(self, on: str, number: int) -> Iterator[None]:
        """Errors that tell of the broker are shown; others go on."""
        try:
            yield
        except exceptions.AMQPError as error:
            if isinstance(error, exceptions.ChannelClosedByBroker):
                self._closed.add((on, number))
            elif not self._connections[on].is_open:
                del self._connections[on]
                self._forget(on)
            show_error(self, on, number, error)

    def _forget(self, on: str) -> None:
        for key in [key for key in self._channels if key[0] == on]:
            del self._channels[key]

    def _look(self) -> None:
        """Is a channel closed that was open?"""
        for place, channel in self._channels.items():
            if channel.is_closed and place not in self._closed and self._connections[place[0]].is_open:
                self._closed.add(place)
                self.show(*place, "channel.close")

    def _open(self, on: str, number: int) -> None:
        channel = self._connections[on].channel(number)
        self._channels[on, number] = channel
        self._confirming.discard((on, number))
        self._closed.discard((on, number))
        self.show(on, number, "channel.open-ok")
        channel.add_on_cancel_callback(self._callback(on, number))
        channel.add_on_return_callback(self._returned(on, number))

    def _returned(self, on: str, number: int) -> Callable[..., None]:
        """In confirm mode the call that published tells of it, and this callback once more."""
        told = self._message(on, number)
        return lambda *returned: None if (on, number) in self._confirming else told(*returned)

    def _on_channel(self, on: str, number: int, channel: Any, method: str, fields: Fields) -> None:
        if fields.get("no_wait"):
            raise Cannot(f"waits for the answer to {method}")
        if method in SILENT:
            settle(channel, method, fields)
        elif method == "channel.close":
            channel.close(fields.get("reply_code", 0), fields.get("reply_text", ""))
            self._closed.add((on, number))
            self.show(on, number, "channel.close-ok")
        elif method == "channel.flow":
            self.show(on, number, "channel.flow-ok", {"active": channel.flow(fields["active"])})
        elif method == "basic.publish":
            self._publish(on, number, channel, fields)
        elif method == "basic.get":
            got, properties, body = channel.basic_get(fields["queue"], fields.get("no_ack", False))
            self.show(
                on,
                number,
                name_of(got) if got else "basic.get-empty",
                {**fields_of(got), **content(properties, body)} if got else {},
            )
        elif method == "basic.consume":
            tag = channel.basic_consume(
                fields["queue"],
                self._message(on, number),
                fields.get("no_ack", False),
                fields.get("exclusive", False),
                fields["consumer_tag"] or None,
                fields.get("arguments"),
            )
            self.show(on, number, "basic.consume-ok", {"consumer_tag": tag})
        elif method == "basic.cancel":
            channel.basic_cancel(fields["consumer_tag"])
            self.show(on, number, "basic.cancel-ok")
        elif method == "confirm.select":
            channel.confirm_delivery()
            self._confirming.add((on, number))
            self.show(on, number, "confirm.select-ok")
        elif method in CALLS:
            name, _ = CALLS[method]
            answer = getattr(channel, name)(**arguments(method, fields))
            self.show(on, number, f"{method}-ok", fields_of(answer.method) if answer is not None else {})
        else:
            raise Cannot(f"gives an application no way to send {method}")

    def _publish(self, on: str, number: int, channel: Any, fields: Fields) -> None:
        """In confirm mode the call tells whether the message was taken, and of what was returned."""
        returned: list[Any] = []
        confirm = "basic.ack"
        try:
            publish(channel, fields)
        except exceptions.UnroutableError as unroutable:
            returned = unroutable.messages
        except exceptions.NackError as nacked:
            returned, confirm = nacked.messages, "basic.nack"
        for message in returned:
            self._message(on, number)(channel, message.method, message.properties, message.body)
        if (on, number) in self._confirming:
            self.show(on, number, confirm)


if __name__ == "__main__":
    PikaBlocking().serve()
