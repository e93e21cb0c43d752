"""pika's SelectConnection: everything by callbacks, in one loop that runs while the adapter waits.

Commands that come together leave together, when the loop runs next.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pika
from pika import exceptions
from pika.adapters import select_connection

from conformance.clients.libraries.adapter import NO_CHANNEL, Cannot, Fields
from conformance.clients.libraries.pika_methods import (
    CALLS,
    SILENT,
    PikaAdapter,
    arguments,
    parameters,
    publish,
    settle,
    show_error,
)

PATIENCE = 10.0
"""Seconds in which a connection opens."""


class PikaSelect(PikaAdapter):
    way = "SelectConnection"

    def __init__(self) -> None:
        super().__init__()
        self._loop = select_connection.IOLoop()
        self._confirms: dict[tuple[str, int], Any] = {}

    def connect(self, on: str, url: str, heartbeat: int, capabilities: Fields | None, properties: Fields) -> None:
        opened: list[Any] = []
        self._connections[on] = pika.SelectConnection(
            parameters(url, heartbeat, capabilities, properties),
            on_open_callback=self._done(opened),
            on_open_error_callback=lambda connection, error: self._done(opened)(error),
            on_close_callback=lambda connection, reason: self._ended(on, reason),
            custom_ioloop=self._loop,
        )
        until = time.monotonic() + PATIENCE
        while not opened and time.monotonic() < until:
            self._run(until - time.monotonic())
        if not opened or isinstance(opened[0], BaseException):
            raise opened[0] if opened else TimeoutError("the connection does not open")

    def act(self, on: str, channel: int, method: str, fields: Fields) -> None:
        if method == "connection.close":
            self._connections[on].close(fields.get("reply_code", 200), fields.get("reply_text", ""))
        elif method == "channel.open":
            self._open(on, channel)
        elif (on, channel) not in self._channels:
            raise Cannot(NO_CHANNEL)
        else:
            self._on_channel(on, channel, self._channels[on, channel], method, fields)

    def wait(self, seconds: float) -> None:
        self._run(seconds)

    def end(self) -> None:
        for connection in self._connections.values():
            with contextlib.suppress(exceptions.AMQPError):
                connection.close()
        self._run(0)
        self._connections.clear()
        self._channels.clear()

    def show(self, on: str, channel: int | None, method: str, fields: Any = None) -> None:
        super().show(on, channel, method, fields)
        self._loop.stop()

    def _run(self, seconds: float) -> None:
        timer = self._loop.call_later(seconds, self._loop.stop)
        self._loop.start()
        self._loop.remove_timeout(timer)

    def _done(self, seen: list[Any]) -> Any:
        def done(connection: Any) -> None:
            seen.append(connection)
            self._loop.stop()

        return done

    def _ended(self, on: str, reason: Exception) -> None:
        if not isinstance(reason, exceptions.ConnectionClosedByClient):
            show_error(self, on, 0, reason)

    def _open(self, on: str, number: int) -> None:
        channel = self._connections[on].channel(
            channel_number=number,
            on_open_callback=lambda channel: self.show(on, number, "channel.open-ok"),
        )
        self._channels[on, number] = channel
        self._confirms[on, number] = self._callback(on, number)
        channel.add_on_close_callback(lambda channel, reason: self._closed(on, number, reason))
        channel.add_on_cancel_callback(self._callback(on, number))
        channel.add_on_return_callback(self._message(on, number))
        channel.add_callback(self._callback(on, number), [pika.spec.Basic.GetEmpty], one_shot=False)

    def _closed(self, on: str, number: int, reason: Exception) -> None:
        if isinstance(reason, exceptions.ChannelClosedByClient):
            self.show(on, number, "channel.close-ok")
        elif isinstance(reason, exceptions.ChannelClosedByBroker):
            show_error(self, on, number, reason)

    def _on_channel(self, on: str, number: int, channel: Any, method: str, fields: Fields) -> None:
        told = None if fields.get("no_wait") else self._callback(on, number)
        if method in SILENT:
            settle(channel, method, fields)
        elif method == "channel.close":
            channel.close(fields.get("reply_code", 0), fields.get("reply_text", ""))
        elif method == "channel.flow":
            channel.flow(fields["active"], lambda active: self.show(on, number, "channel.flow-ok", {"active": active}))
        elif method == "basic.publish":
            publish(channel, fields)
        elif method == "basic.get":
            channel.basic_get(fields["queue"], self._message(on, number), fields.get("no_ack", False))
        elif method == "basic.consume":
            if told is None:
                raise Cannot("has no consume without an answer")
            channel.basic_consume(
                fields["queue"],
                self._message(on, number),
                fields.get("no_ack", False),
                fields.get("exclusive", False),
                fields["consumer_tag"],
                fields.get("arguments"),
                told,
            )
        elif method == "basic.cancel":
            channel.basic_cancel(fields["consumer_tag"], told)
        elif method == "confirm.select":
            channel.confirm_delivery(self._confirms[on, number], told)
        elif method in CALLS:
            name, _ = CALLS[method]
            getattr(channel, name)(**arguments(method, fields), callback=told)
        else:
            raise Cannot(f"gives an application no way to send {method}")


if __name__ == "__main__":
    PikaSelect().serve()
