"""What the wires of the client libraries have in common.

If a library does not show something (close-ok, the answers of its blocking calls), the wire gives the frames that it
stands for. A blocking call waits for its answer, so a reproducer that does not wait there has no script for such a
library.
"""

import time
from typing import Any, ClassVar

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


class LibraryWire:
    """All connections of one performance."""

    methods: ClassVar[dict[str, tuple[str, dict[str, str]]]] = METHODS
    defaults: ClassVar[dict[str, Any]] = {
        "queue": "",
        "requeue": False,
        "delivery_tag": 0,
        "active": False,
        "exchange": "",
    }
    confirm_select = ""
    """The call that puts a channel into confirm mode."""

    _open: Any
    _publish: Any
    _get: Any
    _consume: Any
    _look: Any
    _guarded: Any
    """What each library does in its own way; `_guarded` makes frames of the errors by which it tells of an end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections: dict[str, Any] = {}
        self.channels: dict[tuple[str, int], Any] = {}
        self.came: list[dict[str, Any]] = []
        self.declared: list[tuple[str, str]] = []
        self.gone: set[str] = set()
        self.numbers: dict[tuple[str, int], int] = {}

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self._guarded(name, row["channel"], lambda row=row: self._say(name, row["channel"], row))

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        until = time.monotonic() + seconds
        while not self.came and time.monotonic() < until:
            for name, connection in list(self.connections.items()):
                if name not in self.gone:
                    self._guarded(name, 0, lambda connection=connection: self._look(connection))
            time.sleep(0.005)
        came, self.came = self.came, []
        return came

    def _note(self, name: str, number: int, method: str, **fields: Any) -> None:
        self.came.append({"on": name, "channel": number, "method": method, **fields})

    def _say(self, name: str, number: int, row: dict[str, Any]) -> None:
        method = row["method"]
        if method == "channel.open":
            self._open(name, number)
            self._note(name, number, "channel.open-ok")
        elif number and (name, number) not in self.channels:
            pass  # closed by the broker: there is nothing to send on
        elif method in ("channel.close", "connection.close"):
            (self.channels.pop((name, number)) if number else self.connections[name]).close()
            self._note(name, number, f"{method}-ok")
        elif method == "basic.publish":
            self._publish(name, number, row)
            self._confirmed(name, number)
        elif method == "confirm.select":
            getattr(self.channels[name, number], self.confirm_select)()
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

    def _call(self, name: str, number: int, row: dict[str, Any]) -> None:
        method, names = self.methods[row["method"]]
        said = {
            theirs: row.get(ours, self.defaults.get(ours))
            for ours, theirs in names.items()
            if ours in row or ours in self.defaults
        }
        answer = getattr(self.channels[name, number], method)(**said)
        answer = getattr(answer, "method", answer)
        kind = row["method"].partition(".")[0]
        if row["method"].endswith(".declare") and not row.get("passive"):
            self.declared.append((kind, answer.queue if kind == "queue" else row["exchange"]))
        if row["method"] not in SILENT:
            fields = {field: getattr(answer, field) for field in ("queue", "message_count") if hasattr(answer, field)}
            if "consumer_tag" in row:
                fields["consumer_tag"] = row["consumer_tag"]
            if row["method"] == "channel.flow":
                fields["active"] = row.get("active", False)
            self._note(name, number, f"{row['method']}-ok", **fields)
