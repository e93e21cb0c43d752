"""A connection that a client library keeps, with the face of a raw one, so that scenes can use it as they are.

What a scene sends is asked of the library, method by method; what the wire shows of it are the events of the tap. What
no application could ask of a library (octets, an answer held back) raises Cannot, and the scene is one that cannot be
expressed. Ending the TCP connection is done at the tap: to the library that is a network that fails.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import codec
from codec import values
from conformance.clients.libraries.process import Library, NotExpressible, ShownMethod
from conformance.clients.libraries.wiretap import Wiretap
from conformance.drive.drivers.errors import ConnectionLost
from conformance.drive.drivers.link import Item, Tuned
from conformance.drive.drivers.target import Target
from conformance.history.events import Event

PATIENCE = 15.0
"""Seconds in which a library comes back from a call."""


class LibraryLink:
    """One connection of the library."""

    def __init__(
        self,
        name: str,
        target: Target,
        library: Library,
        tap: Wiretap,
        turn: Callable[[float], object],
        history: list[Event],
    ) -> None:
        self.name, self.target = name, target
        self.tuned = Tuned()
        self.server_properties: Mapping[str, Any] = {}
        self.asked: list[ShownMethod] = []
        self.refused: list[tuple[str, str]] = []
        """Methods that the library would not send, and the error that it raised."""
        self._client, self._tap, self._turn, self._history = library, tap, turn, history

    def open(self, heartbeat: int, capabilities: Mapping[str, object] | None, properties: Mapping[str, object]) -> None:
        """Connects and logs in. Raises Cannot, or ConnectionLost."""
        user, password, vhost = (
            quote(word, safe="") for word in (self.target.user, self.target.password, self.target.vhost)
        )
        url = f"amqp://{user}:{password}@127.0.0.1:{self._tap.port}/{vhost}"
        self._tap.expect(self.name)
        error = self._do(
            "connect",
            url=url,
            heartbeat=heartbeat,
            properties=dict(properties),
            capabilities=None if capabilities is None else dict(capabilities),
        )
        if error is not None:
            raise ConnectionLost(f"{self._client.name} does not connect to {self.target.address}: {error}")
        for event in self._history:
            if event.connection == self.name and event.method == "connection.tune-ok":
                self.tuned = Tuned(*(int(event.args[name]) for name in Tuned._fields))

    @property
    def alive(self) -> bool:
        pair = self._tap.pairs.get(self.name)
        return pair is not None and not pair.over

    @property
    def holding(self) -> bool:
        return False

    @holding.setter
    def holding(self, wanted: bool) -> None:
        if wanted:
            raise NotExpressible("channel.close-ok", "answers channel.close by itself and at once")

    @property
    def mute(self) -> bool:
        return False

    @mute.setter
    def mute(self, wanted: bool) -> None:
        raise NotExpressible("heartbeat", "sends its heartbeats by itself")

    def send(self, *items: Item) -> None:
        self.queue(*items)
        self.flush()

    def queue(self, *items: Item) -> None:
        """Has the library do these, one after the other. Raises Cannot, or ConnectionLost."""
        for item in items:
            if not self.alive:
                raise ConnectionLost(f"connection {self.name} has ended")
            method, fields = _asked(item)
            asked = ShownMethod(self.name, method.channel, method.NAME, fields)
            error = self._do(method.NAME, channel=method.channel, **fields)
            if error is None:
                self.asked.append(asked)
            else:
                self.refused.append((method.NAME, error))

    def flush(self) -> None:
        """Libraries that send late are given the occasion."""
        self._do("wait", seconds=0)

    def receive(self, timeout: float = 0.0) -> list[Event]:
        raise NotExpressible("reading", "reads when it likes")

    def release(self) -> None:
        """Nothing was held back."""

    def close(self, timeout: float = 5.0) -> None:
        """The orderly end, as the library has it."""
        if self.alive:
            self.send(codec.methods.ConnectionClose(0, 200, "normal shutdown", 0, 0))
            self._turn(0)
        self.abort()

    def hang_up(self) -> None:
        self._part("close")

    def abort(self) -> None:
        self._part("abort")

    def _part(self, how: str) -> None:
        pair = self._tap.pairs.get(self.name)
        if pair is not None:
            pair.part("abort", how)

    def _do(self, method: str, **fields: Any) -> str | None:
        return self._client.do(
            self._turn, PATIENCE, do=method, **{"on": self.name} if method != "wait" else {}, **fields
        )


def _asked(item: Item) -> tuple[codec.Method, dict[str, Any]]:
    """What is asked of the library, and in which words."""
    if isinstance(item, bytes):
        raise NotExpressible("octets", "gives an application no way to send octets")
    method, body, properties = item if isinstance(item, tuple) else (item, b"", {})
    fields: dict[str, Any] = {
        name: values.to_json(getattr(method, name)) for name in method.FIELDS if not name.startswith("reserved")
    }
    if isinstance(item, tuple):
        fields |= {"body": base64.b64encode(body).decode(), "properties": dict(properties)}
    return method, fields
