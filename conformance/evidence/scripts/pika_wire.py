"""The story's steps by pika's BlockingConnection.

What pika keeps to itself (close-ok, the answers of its blocking calls) is told as the frames that it stands for. A
blocking call waits for its answer, so a story that does not wait there has no script for pika.
"""

import contextlib
import time
from typing import Any

import pika
from pika import exceptions

METHODS = {
    "exchange.declare": ("exchange_declare", {"exchange": "exchange", "type": "exchange_type", "durable": "durable"}),
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
    "basic.ack": ("basic_ack", {"delivery_tag": "delivery_tag", "multiple": "multiple"}),
    "basic.nack": ("basic_nack", {"delivery_tag": "delivery_tag", "multiple": "multiple", "requeue": "requeue"}),
    "basic.reject": ("basic_reject", {"delivery_tag": "delivery_tag", "requeue": "requeue"}),
    "channel.flow": ("flow", {"active": "active"}),
    "tx.select": ("tx_select", {}),
    "tx.commit": ("tx_commit", {}),
    "tx.rollback": ("tx_rollback", {}),
}
SILENT = ("basic.ack", "basic.nack", "basic.reject")
DEFAULTS = {"queue": "", "requeue": False, "delivery_tag": 0, "active": False, "exchange": ""}


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
        self.connections[name] = pika.BlockingConnection(pika.URLParameters(self.url))

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self._guarded(name, lambda row=row: self._say(name, row["channel"], row))

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while not self.came and time.monotonic() < until:
            for name, connection in list(self.connections.items()):
                if name not in self.gone:
                    self._guarded(name, lambda connection=connection: connection.process_data_events(0.02))
            time.sleep(0.005)
        came, self.came = self.came, []
        return came

    def clean(self) -> None:
        """Removes what was declared."""
        for name, connection in self.connections.items():
            if name not in self.gone and connection.is_open:
                connection.close()
        broom = pika.BlockingConnection(pika.URLParameters(self.url))
        for kind, name in self.declared:
            with contextlib.suppress(exceptions.AMQPError):
                getattr(broom.channel(), f"{kind}_delete")(name)
        broom.close()

    def _note(self, name: str, number: int, method: str, **fields: Any) -> None:
        self.came.append({"on": name, "channel": number, "method": method, **fields})

    def _guarded(self, name: str, action: Any) -> None:
        """An end by the broker is a frame, too."""
        try:
            action()
        except exceptions.ChannelClosedByBroker:
            pass  # told below: pika also notices an end without a word
        except exceptions.ConnectionClosedByBroker as closed:
            self.gone.add(name)
            self._note(name, 0, "connection.close", reply_code=closed.reply_code, reply_text=closed.reply_text)
        except exceptions.AMQPConnectionError:
            self.gone.add(name)
            self._note(name, 0, "end")
        except exceptions.ChannelWrongStateError:
            pass  # pika does not send on a channel that has been closed
        self._ends(name)

    def _ends(self, name: str) -> None:
        """The channels that the broker has closed."""
        for (on, number), known in list(self.channels.items()):
            reason = known._closing_reason
            if on == name and known.is_closed and isinstance(reason, exceptions.ChannelClosedByBroker):
                del self.channels[on, number]
                self._note(name, number, "channel.close", reply_code=reason.reply_code, reply_text=reason.reply_text)

    def _say(self, name: str, number: int, row: dict[str, Any]) -> None:
        method = row["method"]
        if method == "channel.open":
            self._open(name, number)
        elif number and (name, number) not in self.channels:
            pass  # closed by the broker: there is nothing to send on
        elif method in ("channel.close", "connection.close"):
            (self.channels.pop((name, number)) if number else self.connections[name]).close()
            self._note(name, number, f"{method}-ok")
        elif method == "basic.publish":
            properties = pika.BasicProperties(**row.get("properties", {}))
            self.channels[name, number].basic_publish(
                row.get("exchange", ""),
                row.get("routing_key", ""),
                row.get("body", "").encode("latin-1"),
                properties,
                mandatory=row.get("mandatory", False),
            )
            self._confirmed(name, number)
        elif method == "confirm.select":
            self.channels[name, number].confirm_delivery()
            self.numbers[name, number] = 0
            self._note(name, number, "confirm.select-ok")
        elif method == "basic.get":
            self._get(name, number, row)
        elif method == "basic.consume":
            self._consume(name, number, row)
        elif method != "channel.close-ok":
            self._call(name, number, row)

    def _confirmed(self, name: str, number: int) -> None:
        """In confirm mode pika waits for each confirm before it returns."""
        if (name, number) in self.numbers:
            self.numbers[name, number] += 1
            self._note(name, number, "basic.ack", delivery_tag=self.numbers[name, number], multiple=False)

    def _open(self, name: str, number: int) -> None:
        channel = self.channels[name, number] = self.connections[name].channel(number)
        channel.add_on_cancel_callback(
            lambda frame: self._note(
                name, number, "basic.cancel", consumer_tag=frame.method.consumer_tag, no_wait=frame.method.nowait
            )
        )
        channel.add_on_return_callback(
            lambda _, method, properties, body: self._note(
                name,
                number,
                "basic.return",
                reply_code=method.reply_code,
                exchange=method.exchange,
                routing_key=method.routing_key,
                message=properties.message_id or body.decode("latin-1"),
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
            self.declared.append((kind, answer.method.queue if kind == "queue" else row["exchange"]))
        if row["method"] not in SILENT:
            found = getattr(answer, "method", None)
            fields = {field: getattr(found, field) for field in ("queue", "message_count") if hasattr(found, field)}
            if row["method"] == "channel.flow":
                fields["active"] = row.get("active", False)
            self._note(name, number, f"{row['method']}-ok", **fields)

    def _get(self, name: str, number: int, row: dict[str, Any]) -> None:
        method, properties, body = self.channels[name, number].basic_get(row["queue"], row.get("no_ack", False))
        if method is None:
            self._note(name, number, "basic.get-empty")
        else:
            self._note(
                name,
                number,
                "basic.get-ok",
                delivery_tag=method.delivery_tag,
                redelivered=method.redelivered,
                exchange=method.exchange,
                routing_key=method.routing_key,
                headers=properties.headers,
                message=properties.message_id or body.decode("latin-1"),
            )

    def _consume(self, name: str, number: int, row: dict[str, Any]) -> None:
        def delivered(_: Any, method: Any, properties: Any, body: bytes) -> None:
            self._note(
                name,
                number,
                "basic.deliver",
                consumer_tag=method.consumer_tag,
                exchange=method.exchange,
                delivery_tag=method.delivery_tag,
                redelivered=method.redelivered,
                headers=properties.headers,
                routing_key=method.routing_key,
                message=properties.message_id or body.decode("latin-1"),
            )

        tag = self.channels[name, number].basic_consume(
            row["queue"],
            delivered,
            row.get("no_ack", False),
            row.get("exclusive", False),
            row.get("consumer_tag") or None,
            row.get("arguments"),
        )
        self._note(name, number, "basic.consume-ok", consumer_tag=tag)
