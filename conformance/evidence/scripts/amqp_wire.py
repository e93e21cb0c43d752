"""The story's steps by py-amqp.

What py-amqp keeps to itself (close-ok, the answers of its blocking calls) is told as the frames that it stands for. A
blocking call waits for its answer, so a story that does not wait there has no script for py-amqp.
"""

import contextlib
import time
from typing import Any
from urllib.parse import unquote, urlsplit

import amqp
from amqp import exceptions

METHODS = {
    "exchange.declare": ("exchange_declare", {"exchange": "exchange", "type": "type", "durable": "durable"}),
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
        {"prefetch_size": "prefetch_size", "prefetch_count": "prefetch_count", "global_": "a_global"},
    ),
    "basic.recover": ("basic_recover", {"requeue": "requeue"}),
    "basic.ack": ("basic_ack", {"delivery_tag": "delivery_tag", "multiple": "multiple"}),
    "basic.reject": ("basic_reject", {"delivery_tag": "delivery_tag", "requeue": "requeue"}),
    "basic.cancel": ("basic_cancel", {"consumer_tag": "consumer_tag"}),
    "channel.flow": ("flow", {"active": "active"}),
    "tx.select": ("tx_select", {}),
    "tx.commit": ("tx_commit", {}),
    "tx.rollback": ("tx_rollback", {}),
}
SILENT = ("basic.ack", "basic.reject")
DEFAULTS = {
    "queue": "",
    "requeue": False,
    "delivery_tag": 0,
    "active": False,
    "exchange": "",
    "auto_delete": False,
    "prefetch_size": 0,
    "prefetch_count": 0,
    "a_global": False,
    "global_": False,
}


class Wire:
    """All connections of one performance."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections: dict[str, Any] = {}
        self.channels: dict[tuple[str, int], Any] = {}
        self.came: list[dict[str, Any]] = []
        self.declared: list[tuple[str, str]] = []
        self.gone: set[str] = set()
        self.numbers: dict[tuple[str, int], int] = {}

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        self.connections[name] = self._opened()

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self._guarded(name, row["channel"], lambda row=row: self._say(name, row["channel"], row))

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while not self.came and time.monotonic() < until:
            for name, connection in list(self.connections.items()):
                if name not in self.gone:
                    self._guarded(name, 0, lambda connection=connection: connection.drain_events(0.02))
        came, self.came = self.came, []
        return came

    def clean(self) -> None:
        """Removes what was declared."""
        for name, connection in self.connections.items():
            if name not in self.gone:
                connection.collect()
        broom = self._opened()
        for kind, name in self.declared:
            with contextlib.suppress(exceptions.AMQPError):
                getattr(broom.channel(), f"{kind}_delete")(name)
        broom.close()

    def _opened(self) -> Any:
        parts = urlsplit(self.url)
        connection = amqp.Connection(
            host=f"{parts.hostname}:{parts.port or 5672}",
            userid=unquote(parts.username or "guest"),
            password=unquote(parts.password or "guest"),
            virtual_host=unquote(parts.path.removeprefix("/")) or "/",
            ssl=parts.scheme == "amqps",
            connect_timeout=10,
        )
        connection.connect()
        return connection

    def _note(self, name: str, number: int, method: str, **fields: Any) -> None:
        self.came.append({"on": name, "channel": number, "method": method, **fields})

    def _guarded(self, name: str, number: int, action: Any) -> None:
        """An end by the broker is a frame, too."""
        try:
            action()
        except TimeoutError:
            pass
        except exceptions.ChannelError as closed:
            self._note(
                name,
                self._closed(name, number),
                "channel.close",
                reply_code=closed.reply_code,
                reply_text=closed.reply_text,
            )
        except exceptions.ConnectionError as closed:
            self.gone.add(name)
            self._note(name, 0, "connection.close", reply_code=closed.reply_code, reply_text=closed.reply_text)
        except OSError:
            self.gone.add(name)
            self._note(name, 0, "end")

    def _closed(self, name: str, number: int) -> int:
        """Which channel it was that the broker closed."""
        for (on, channel), known in list(self.channels.items()):
            if on == name and not known.is_open:
                del self.channels[on, channel]
                return channel
        return number

    def _say(self, name: str, number: int, row: dict[str, Any]) -> None:
        method = row["method"]
        if method == "channel.open":
            self._open(name, number)
        elif method in ("channel.close", "connection.close"):
            (self.channels.pop((name, number)) if number else self.connections[name]).close()
            self._note(name, number, f"{method}-ok")
        elif (name, number) not in self.channels:
            pass  # closed by the broker: py-amqp does not send on it
        elif method == "basic.publish":
            message = amqp.Message(row.get("body", ""), **row.get("properties", {}))
            channel = self.channels[name, number]
            publish = channel.basic_publish_confirm if (name, number) in self.numbers else channel.basic_publish
            publish(message, row.get("exchange", ""), row.get("routing_key", ""), mandatory=row.get("mandatory", False))
            self._confirmed(name, number)
        elif method == "confirm.select":
            self.channels[name, number].confirm_select()
            self.numbers[name, number] = 0
            self._note(name, number, "confirm.select-ok")
        elif method == "basic.get":
            self._get(name, number, row)
        elif method == "basic.consume":
            self._consume(name, number, row)
        elif method != "channel.close-ok":
            self._call(name, number, row)

    def _confirmed(self, name: str, number: int) -> None:
        """In confirm mode each publish has waited for its confirm."""
        if (name, number) in self.numbers:
            self.numbers[name, number] += 1
            self._note(name, number, "basic.ack", delivery_tag=self.numbers[name, number], multiple=False)

    def _open(self, name: str, number: int) -> None:
        channel = self.channels[name, number] = self.connections[name].channel(number)
        channel._do_revive = lambda: setattr(channel, "is_open", False)  # or it opens the channel again by itself
        channel.events["basic_return"].add(
            lambda exc, exchange, key, message: self._note(
                name,
                number,
                "basic.return",
                reply_code=exc.reply_code,
                exchange=exchange,
                routing_key=key,
                message=_name(message),
            )
        )
        self._note(name, number, "channel.open-ok")

    def _call(self, name: str, number: int, row: dict[str, Any]) -> None:
        method, names = METHODS[row["method"]]
        said = {
            theirs: row.get(ours, DEFAULTS.get(ours))
            for ours, theirs in names.items()
            if ours in row or ours in DEFAULTS
        }
        answer = getattr(self.channels[name, number], method)(**said)
        kind = row["method"].partition(".")[0]
        if row["method"].endswith(".declare") and not row.get("passive"):
            self.declared.append((kind, answer.queue if kind == "queue" else row["exchange"]))
        if row["method"] not in SILENT:
            known = {
                "queue": getattr(answer, "queue", None),
                "message_count": getattr(answer, "message_count", None),
                "consumer_tag": row.get("consumer_tag"),
                "active": row.get("active", False),
            }
            self._note(name, number, f"{row['method']}-ok", **known)

    def _get(self, name: str, number: int, row: dict[str, Any]) -> None:
        message = self.channels[name, number].basic_get(row["queue"], row.get("no_ack", False))
        if message is None:
            self._note(name, number, "basic.get-empty")
        else:
            self._note(name, number, "basic.get-ok", message=_name(message), **_told(message))

    def _consume(self, name: str, number: int, row: dict[str, Any]) -> None:
        def delivered(message: Any) -> None:
            self._note(name, number, "basic.deliver", message=_name(message), **_told(message))

        answer = self.channels[name, number].basic_consume(
            row["queue"],
            row.get("consumer_tag", ""),
            no_ack=row.get("no_ack", False),
            exclusive=row.get("exclusive", False),
            callback=delivered,
            arguments=row.get("arguments"),
        )
        self._note(name, number, "basic.consume-ok", consumer_tag=answer)


def _name(message: Any) -> str:
    body = message.body.decode("latin-1") if isinstance(message.body, bytes) else message.body
    return str(message.properties.get("message_id") or body)


def _told(message: Any) -> dict[str, Any]:
    names = ("consumer_tag", "delivery_tag", "redelivered", "exchange", "routing_key")
    told = {name: message.delivery_info[name] for name in names if name in message.delivery_info}
    return {**told, "headers": message.properties.get("application_headers")}
