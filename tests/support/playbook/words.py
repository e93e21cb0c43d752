"""The lines of a playbook, read: words, flags and pairs, and the method that each verb stands for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import codec
from codec import methods as m
from codec import values

Built = tuple[codec.Method, str | None]
FLAGS = frozenset(
    {
        "no_ack",
        "multiple",
        "requeue",
        "redelivered",
        "no_wait",
        "exclusive",
        "immediate",
        "mandatory",
        "global",
        "passive",
        "active",
        "durable",
        "persistent",
        "auto_delete",
        "internal",
        "if_unused",
        "if_empty",
    }
)


class Words:
    """The words of one line: positional ones in order, flags, and key=value pairs."""

    def __init__(self, words: list[str]) -> None:
        self.flags = frozenset(words) & FLAGS
        self.pairs = dict(word.split("=", 1) for word in words if "=" in word)
        self.rest = [word for word in words if word not in FLAGS and "=" not in word]

    def text(self, at: int, default: str = "") -> str:
        return self.rest[at] if at < len(self.rest) else default

    def number(self, at: int, default: int = 0) -> int:
        return int(self.text(at, str(default)), 0)

    def has(self, flag: str) -> bool:
        return flag in self.flags


def _value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    if text == "void":
        return None
    if text.startswith("@"):
        return datetime.fromtimestamp(int(text[1:]), UTC)
    return int(text) if text.lstrip("-").isdigit() else text


def table_of(words: Words, prefix: str = "") -> dict[str, object]:
    """The pairs whose names begin so, without that."""
    found = {key.removeprefix(prefix): value for key, value in words.pairs.items() if key.startswith(prefix)}
    return {key: _value(value) for key, value in found.items()}


def _arguments(words: Words) -> list[tuple[str, str, object]]:
    table = table_of(words)
    if words.text(1):
        table["x-queue-type"] = words.text(1)
    return values.table(table)


def properties_of(text: str) -> dict[str, object]:
    """Properties as JSON, each header with the letter of its type."""
    properties: dict[str, Any] = json.loads(text)
    if "headers" in properties:
        properties["headers"] = [(name, *_field(*typed)) for name, typed in properties["headers"].items()]
    return properties


def _field(letter: str, value: Any) -> tuple[str, Any]:
    if letter == "A":
        return letter, [_field(*one) for one in value]
    if letter == "F" and isinstance(value, dict):
        return letter, [(name, *_field(*typed)) for name, typed in value.items()]
    return letter, value.encode() if isinstance(value, str) else value


def _pairs(words: Words) -> Iterator[str]:
    return (f"{key}={value}" for key, value in words.pairs.items())


def _announced(words: Words) -> list[tuple[str, str, object]]:
    """What a side says of cancel notifications: `notify`, `notify=1`, `beside` the capabilities, or nothing."""
    value: object = True if "notify" in words.rest else words.pairs.get("notify")
    announced: dict[str, object] = {"connection.blocked": True} if "blocking" in words.rest else {}
    announced |= {} if value is None else {"consumer_cancel_notify": 1 if value == "1" else value}
    announced |= {"authentication_failure_close": True} if "tell" in words.rest else {}
    beside = {"consumer_cancel_notify": True} if "beside" in words.rest else {}
    return values.table({**({"capabilities": announced} if announced else {}), **beside})


def _rare(words: Words) -> list[tuple[str, str, object]]:
    """A field of a type that few clients use."""
    empty: list[tuple[str, str, object]] = [("capabilities", "F", [])] if "modest" in words.rest else []
    return [*empty, ("rare", "T", 1)] if "rare" in words.rest else empty


def _limits(words: Words) -> tuple[int, int, int]:
    channels, size, heartbeat = (int(words.pairs.get(name, 0)) for name in ("channels", "frames", "heartbeat"))
    return channels, size, heartbeat


def _login(words: Words) -> bytes:
    """By the user of this name, as in `user=guest`."""
    return f"\0{words.pairs['user']}\0secret".encode() if "user" in words.pairs else b""


def rights_of(words: list[str]) -> dict[str, object]:
    """What an event says of a user and its vhost."""
    user, vhost, said = words
    if said == "gone":
        return {"user": user, "gone": True}
    patterns = dict.fromkeys(("configure", "write", "read"), None if said == "none" else "^none$")
    return {"user": user, "vhost": vhost, **patterns, **(json.loads(said) if said != "none" else {})}


def _blame(make: Callable[..., codec.Method], channel: int, words: Words) -> codec.Method:
    return make(channel, words.number(0), " ".join(words.rest[3:]), words.number(1), words.number(2))


Maker = Callable[[int, Words], codec.Method]
SENT: dict[str, Maker] = {
    "open": lambda c, w: m.ChannelOpen(c),
    "close": lambda c, w: m.ChannelClose(c, 200),
    "closed-ok": lambda c, w: m.ChannelCloseOk(c),
    "flow": lambda c, w: m.ChannelFlow(c, "pause" not in w.rest),
    "declare": lambda c, w: m.QueueDeclare(
        c,
        queue=w.text(0),
        passive=w.has("passive"),
        durable=w.has("durable"),
        exclusive=w.has("exclusive"),
        auto_delete=w.has("auto_delete"),
        no_wait=w.has("no_wait"),
        arguments=_arguments(w),
    ),
    "delete": lambda c, w: m.QueueDelete(
        c, queue=w.text(0), if_unused=w.has("if_unused"), if_empty=w.has("if_empty"), no_wait=w.has("no_wait")
    ),
    "purge": lambda c, w: m.QueuePurge(c, queue=w.text(0), no_wait=w.has("no_wait")),
    "exchange": lambda c, w: m.ExchangeDeclare(
        c,
        exchange=w.text(0),
        type=w.text(1, "fanout"),
        passive=w.has("passive"),
        durable=w.has("durable"),
        auto_delete=w.has("auto_delete"),
        internal=w.has("internal"),
        no_wait=w.has("no_wait"),
        arguments=values.table(table_of(w)),
    ),
    "unexchange": lambda c, w: m.ExchangeDelete(
        c, exchange=w.text(0), if_unused=w.has("if_unused"), no_wait=w.has("no_wait")
    ),
    "bind": lambda c, w: m.QueueBind(
        c,
        queue=w.text(0).strip("-"),
        exchange=w.text(1),
        routing_key=w.text(2),
        no_wait=w.has("no_wait"),
        arguments=values.table(table_of(w)),
    ),
    "unbind": lambda c, w: m.QueueUnbind(
        c, queue=w.text(0).strip("-"), exchange=w.text(1), routing_key=w.text(2), arguments=values.table(table_of(w))
    ),
    "bind-exchange": lambda c, w: m.ExchangeBind(c, 0, w.text(0), w.text(1), w.text(2)),
    "unbind-exchange": lambda c, w: m.ExchangeUnbind(c, 0, w.text(0), w.text(1), w.text(2)),
    "confirm": lambda c, w: m.ConfirmSelect(c, w.has("no_wait")),
    "select": lambda c, w: m.TxSelect(c),
    "commit": lambda c, w: m.TxCommit(c),
    "rollback": lambda c, w: m.TxRollback(c),
    "qos": lambda c, w: m.BasicQos(c, int(w.pairs.get("size", 0)), w.number(0), w.has("global")),
    "consume": lambda c, w: m.BasicConsume(
        c,
        queue="" if w.text(0) == "-" else w.text(0),
        consumer_tag=w.text(1),
        no_ack=w.has("no_ack"),
        exclusive=w.has("exclusive"),
        no_wait=w.has("no_wait"),
        arguments=_arguments(Words(list(_pairs(w)))),
    ),
    "agreed": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "cancel": lambda c, w: m.BasicCancel(c, w.text(0), w.has("no_wait")),
    "cancel-ok": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "start-ok": lambda c, w: m.ConnectionStartOk(
        c, _announced(w) + _rare(w), w.pairs.get("mechanism", "PLAIN"), _login(w)
    ),
    "tune-ok": lambda c, w: m.ConnectionTuneOk(c, *_limits(w)),
    "enter": lambda c, w: m.ConnectionOpen(c, w.text(0, "/")),
    "recover": lambda c, w: m.BasicRecover(c, w.has("requeue")),
    "recover-async": lambda c, w: m.BasicRecoverAsync(c, w.has("requeue")),
    "get": lambda c, w: m.BasicGet(c, queue=w.text(0), no_ack=w.has("no_ack")),
    "ack": lambda c, w: m.BasicAck(c, w.number(0), w.has("multiple")),
    "nack": lambda c, w: m.BasicNack(c, w.number(0), w.has("multiple"), w.has("requeue")),
    "reject": lambda c, w: m.BasicReject(c, w.number(0), w.has("requeue")),
    "publish": lambda c, w: m.BasicPublish(
        c,
        routing_key=w.text(0),
        immediate=w.has("immediate"),
        mandatory=w.has("mandatory"),
        exchange=w.pairs.get("exchange", ""),
    ),
    "bye": lambda c, w: m.ConnectionClose(c, 200),
    "agree": lambda c, w: m.ConnectionCloseOk(0),
    "renew": lambda c, w: m.ConnectionUpdateSecret(0, b"secret", "refreshed"),
}
RECEIVED: dict[str, Maker] = {
    "open-ok": lambda c, w: m.ChannelOpenOk(c),
    "close-ok": lambda c, w: m.ChannelCloseOk(c),
    "flow-ok": lambda c, w: m.ChannelFlowOk(c, "paused" not in w.rest),
    "declare-ok": lambda c, w: m.QueueDeclareOk(
        c, queue=w.text(0), message_count=w.number(1), consumer_count=int(w.pairs.get("consumers", 0))
    ),
    "delete-ok": lambda c, w: m.QueueDeleteOk(c),
    "confirm-ok": lambda c, w: m.ConfirmSelectOk(c),
    "select-ok": lambda c, w: m.TxSelectOk(c),
    "commit-ok": lambda c, w: m.TxCommitOk(c),
    "rollback-ok": lambda c, w: m.TxRollbackOk(c),
    "purge-ok": lambda c, w: m.QueuePurgeOk(c),
    "qos-ok": lambda c, w: m.BasicQosOk(c),
    "consume-ok": lambda c, w: m.BasicConsumeOk(c, w.text(0)),
    "cancel-ok": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "cancel": lambda c, w: m.BasicCancel(c, w.text(0), w.has("no_wait")),
    "tune": lambda c, w: m.ConnectionTune(c, *_limits(w)),
    "start": lambda c, w: m.ConnectionStart(
        c,
        int(w.pairs.get("major", 0)),
        9,
        _announced(w) + values.table({} if "nameless" in w.rest else {"product": "p", "version": "v", "platform": "x"}),
        w.pairs.get("mechanisms", "PLAIN").encode(),
        w.pairs.get("locales", "en_US").encode(),
    ),
    "entered": lambda c, w: m.ConnectionOpenOk(c),
    "recover-ok": lambda c, w: m.BasicRecoverOk(c),
    "get-empty": lambda c, w: m.BasicGetEmpty(c),
    "ack": lambda c, w: m.BasicAck(c, w.number(0), w.has("multiple")),
    "nack": lambda c, w: m.BasicNack(c, w.number(0), w.has("multiple"), w.has("requeue")),
    "exchange-ok": lambda c, w: m.ExchangeDeclareOk(c),
    "unexchange-ok": lambda c, w: m.ExchangeDeleteOk(c),
    "bind-ok": lambda c, w: m.QueueBindOk(c),
    "unbind-ok": lambda c, w: m.QueueUnbindOk(c),
    "bind-exchange-ok": lambda c, w: m.ExchangeBindOk(c),
    "unbind-exchange-ok": lambda c, w: m.ExchangeUnbindOk(c),
    "return": lambda c, w: m.BasicReturn(c, int(w.pairs.get("code", 312)), "", w.pairs.get("exchange", ""), w.text(0)),
    "get-ok": lambda c, w: m.BasicGetOk(c, w.number(0), w.has("redelivered"), w.pairs.get("exchange", ""), w.text(2)),
    "deliver": lambda c, w: m.BasicDeliver(c, w.text(0), w.number(1), w.has("redelivered"), "", w.text(3)),
    "closed": lambda c, w: _blame(m.ChannelClose, c, w),
    "kicked": lambda c, w: _blame(m.ConnectionClose, c, w),
    "blocked": lambda c, w: m.ConnectionBlocked(0, w.text(0)),
    "unblocked": lambda c, w: m.ConnectionUnblocked(0),
    "bye-ok": lambda c, w: m.ConnectionCloseOk(0),
    "renew-ok": lambda c, w: m.ConnectionUpdateSecretOk(0),
}
NAMELESS = ("", "-")
"""A message that has no message-id."""
MESSAGE_AT = {"publish": 1, "get-ok": 1, "deliver": 2, "return": 1}
