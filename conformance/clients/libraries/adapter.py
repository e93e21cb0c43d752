"""The adapter's side of the protocol: what a client library needs so that the suite can drive it.

Lines of JSON on standard input and output. The adapter begins with one line that says who it is: `{"library",
"version", "way"}`. Then it gets one command at a time:

    {"do": "connect", "on": "c1", "url": ..., "heartbeat": 0, "capabilities": null or {...}, "properties": {...}}
    {"do": "basic.ack", "on": "c1", "channel": 1, "delivery_tag": 3, "multiple": false}     any method of a client
    {"do": "wait", "seconds": 0.02}     let the library work; end sooner when it has shown something
    {"do": "end"}                       forget all connections

and answers each with one of `{"did": true}`, `{"cannot": why}` where the library has no way to say that, `{"refused":
error}` where the library itself refused or failed. At any time before that it says what the library shows an
application, under the name of the method that it stands for, with as many of its fields as the library gives:

    {"shows": "basic.deliver", "on": "c1", "channel": 1, "delivery_tag": 1, "redelivered": false, "body": base64, ...}

A call that returns shows the reply that it waited for. A lost connection is `{"shows": "end", "on": "c1"}`. This file
needs the standard library only and may be copied.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import IO, Any

Fields = dict[str, Any]
NO_CHANNEL = "gives an application no channel that was not opened"


class Cannot(Exception):
    """The library has no way to do this; the message says why, as the rest of 'the library ...'."""


class Adapter:
    """One library. Subclasses say how it connects, acts and waits; `shown` counts what it has shown so far."""

    product = version = way = ""

    def __init__(self) -> None:
        self.shown = 0
        self._out: IO[str] | None = None

    def connect(self, on: str, url: str, heartbeat: int, capabilities: Fields | None, properties: Fields) -> None:
        """Opens a connection under this name."""
        raise NotImplementedError

    def act(self, on: str, channel: int, method: str, fields: Fields) -> None:
        """Does what the application asks for. Raises Cannot; whatever else it raises is the library's refusal."""
        raise NotImplementedError

    def wait(self, seconds: float) -> None:
        """Lets the library work for so long, or until it has shown something."""
        raise NotImplementedError

    def end(self) -> None:
        """Forgets all connections."""
        raise NotImplementedError

    def show(self, on: str, channel: int | None, method: str, fields: Mapping[str, Any] | None = None) -> None:
        """The library has shown this to its application; None where it does not say of which channel."""
        self.shown += 1
        self._say({"shows": method, "on": on, "channel": channel, **(fields or {})})

    def serve(self) -> None:
        """Obeys standard input until it ends. What libraries print goes to standard error, what they log nowhere."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        logging.getLogger().addHandler(logging.NullHandler())
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._say({"library": self.product, "version": self.version, "way": self.way})
        for line in sys.stdin:
            self._say(self._obey(json.loads(line)))

    def _obey(self, command: Fields) -> Fields:
        do = command.pop("do")
        try:
            if do == "wait":
                self.wait(command["seconds"])
            elif do == "end":
                self.end()
            elif do == "connect":
                self.connect(**command)
            else:
                self.act(command.pop("on"), command.pop("channel"), do, command)
        except Cannot as cannot:
            return {"cannot": str(cannot)}
        except Exception as error:  # whatever a library raises is what there is to tell
            return {"refused": f"{type(error).__name__}: {error}".rstrip(": ")}
        return {"did": True}

    def _say(self, line: Fields) -> None:
        assert self._out is not None
        self._out.write(json.dumps(line, default=str) + "\n")
        self._out.flush()


def body_of(fields: Mapping[str, Any]) -> bytes:
    """The body of a publish."""
    return base64.b64decode(fields.get("body", ""))


def packed(body: bytes | str) -> str:
    """A body as it is shown."""
    return base64.b64encode(body.encode() if isinstance(body, str) else body).decode()
