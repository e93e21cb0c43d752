"""What a stranger refuses: arguments, optional methods, logins that look unusual; and what it announces of that.

A refusal breaks no rule whose feature it refuses, if the broker does not announce that feature: then the rule is not
offered. basic.recover is no extension, and a rule asks for its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, ChannelException, ConnectionException
from reference_broker.core.parts import Handler, Parts
from reference_broker.personalities.kinds import around, around_handler, changes, wrap, wrap_handler

OF_ARGUMENTS = "CNF-011 CNF-012 CNF-017 CNF-021 RQ-003 RQ-012 RQ-013 QOS-019 QOS-025 MODE-005 TMO-*"
"""Rules about queues that are declared with an argument, or partly exercised with one."""
UNDER_CHANNEL_LIMIT = "QOS-006 QOS-007 QOS-008 QOS-009 QOS-011 QOS-017 QOS-020 QOS-021 QOS-022 QOS-025"
OF_NACK = "ACK-001 ACK-006 ACK-008 ACK-009 ACK-010 ACK-011 ACK-012 ERR-001 ERR-002 MODE-005 MODE-006 RQ-* QOS-01*"
OF_TRANSACTIONS = "TX-* CNF-016 CNF-024 AUTO-006 QOS-026"
OF_CONFIRMS = "CNF-* TAG-010"


class Unheard(int):
    """A reply code that no text of 0-9-1 has."""

    text = "INVALID_ARGUMENT"


def error(code: int, text: str, hard: bool) -> AmqpException:
    kind = ConnectionException if hard else ChannelException
    return kind(ReplyCode(code) if code in set(ReplyCode) else cast("ReplyCode", Unheard(code)), text)


# -- arguments of queues


def refuse_arguments(code: int, hard: bool) -> Callable[[Parts], None]:
    def declare(earlier: Handler, channel: Channel, method: m.QueueDeclare) -> None:
        if method.arguments and not method.passive:
            raise error(code, f"unknown argument '{method.arguments[0][0]}'", hard)
        earlier(channel, method)

    return lambda parts: wrap_handler(parts, m.QueueDeclare, declare)


for _code, _hard, _name in (
    (406, False, "softly"),
    (540, False, "as-not-implemented"),
    (540, True, "hard"),
    (503, True, "as-invalid"),
    (542, True, "by-a-foreign-code"),
):
    changes(
        f"arguments.refused-{_name}",
        f"any argument of a queue, x-queue-type too, is refused: {'connection' if _hard else 'channel'}.close {_code}",
        hides=OF_ARGUMENTS,
        about="arguments",
    )(refuse_arguments(_code, _hard))


# -- methods


def announcing(parts: Parts, **capabilities: bool | None) -> None:
    """From now on the broker says this of its capabilities; nothing of those that are None."""

    def send(earlier: Any, self: Connection, item: Any) -> None:
        if isinstance(item, m.ConnectionStart):
            properties = values.plain(item.server_properties)
            told = {**properties.get("capabilities", {}), **capabilities}
            properties["capabilities"] = {name: value for name, value in told.items() if value is not None}
            item.server_properties = values.table(properties)
        earlier(self, item)

    wrap(parts, "connection.send", send)


def refuse(hard: bool, *methods: type[codec.Method], withdrawn: str = "", code: int = 540) -> Callable[[Parts], None]:
    """These methods are answered with this code, and the capability is not announced any more."""

    def refused(earlier: Handler, channel: Channel, method: codec.Method) -> None:
        raise error(code, "method not implemented", hard)

    def apply(parts: Parts) -> None:
        for method in methods:
            wrap_handler(parts, method, refused)
        if withdrawn:
            announcing(parts, **{withdrawn: None})

    return apply


def refused_method(
    name: str,
    methods: tuple[type[codec.Method], ...],
    withdrawn: str = "",
    breaks: str = "",
    may: str = "",
    may_softly: str = "",
    hides: str = "",
    about: str = "",
) -> None:
    """Two traits: as an error of the connection, as the code is, and as one of the channel."""
    for hard, where, more in ((True, "connection", ""), (False, "channel", may_softly)):
        changes(
            f"refused.{name}-by-{where}",
            f"{name} is answered with {where}.close 540",
            breaks=breaks,
            may=f"{may} {more}",
            hides=hides,
            about=about or f"method:{name}",
        )(refuse(hard, *methods, withdrawn=withdrawn))


# CNF-016 and TX-004 ask for 406 where the feature is there, which it is not: either word.
refused_method(
    "tx.select",
    (m.TxSelect, m.TxCommit, m.TxRollback),
    may="TX-004 CNF-016",
    hides=OF_TRANSACTIONS,
    about="transactions",
)
refused_method(
    "confirm.select",
    (m.ConfirmSelect,),
    "publisher_confirms",
    may="CNF-016",
    hides=f"{OF_CONFIRMS} RQ-011",
    about="confirms",
)
refused_method("basic.nack", (m.BasicNack,), "basic.nack", hides=OF_NACK, about="nack")
# ERR-009 names recover without requeue, and wants the connection closed.
refused_method("basic.recover", (m.BasicRecover,), breaks="RQ-014", may_softly="ERR-009", about="recover")
refused_method("basic.recover-async", (m.BasicRecoverAsync,), breaks="RQ-014", about="recover-async")
refused_method("exchange.bind", (m.ExchangeBind, m.ExchangeUnbind), "exchange_exchange_bindings")
refused_method("channel.flow", (m.ChannelFlow,))

changes(
    "refused.nack-though-announced",
    "basic.nack is announced as a capability, and answered with 540",
    may="ACK-001 ACK-006 ACK-008 ACK-009 ACK-010 ACK-011 ACK-012 ERR-001",
    hides=OF_NACK,
    about="nack",
)(refuse(True, m.BasicNack))
changes(
    "refused.confirms-though-announced",
    "publisher confirms are announced, and answered with 540",
    may="CNF-001 CNF-002 CNF-003 CNF-022 CNF-016",
    hides=f"{OF_CONFIRMS} RQ-011",
    about="confirms",
)(refuse(True, m.ConfirmSelect))
changes(
    "refused.confirms-by-503",
    "publisher confirms are announced, and answered with connection.close 503",
    may="CNF-001 CNF-002 CNF-003 CNF-022 CNF-016",
    hides=f"{OF_CONFIRMS} RQ-011",
    about="confirms",
)(refuse(True, m.ConfirmSelect, code=503))


# QOS-009 says what is read out of a denied global, and that to refuse it openly would be better: either word.
@around_handler(
    m.BasicQos,
    "refused.global-qos",
    "basic.qos with global is answered with connection.close 540",
    may="QOS-009",
    hides=UNDER_CHANNEL_LIMIT,
    about="prefetch",
)
def global_qos(earlier: Handler, channel: Channel, method: m.BasicQos) -> None:
    if method.global_:
        raise error(540, "global qos", True)
    earlier(channel, method)


# -- logins


def turned_away(parts: Parts, unwelcome: Callable[[m.ConnectionStartOk], bool]) -> None:
    """Such a client is dropped without a word."""

    def log_in(earlier: Any, self: Connection, method: m.ConnectionStartOk) -> None:
        if unwelcome(method):
            self.finish()
        else:
            earlier(self, method)

    wrap(parts, "connection.log_in", log_in)


def odd(method: m.ConnectionStartOk) -> bool:
    """A property that is neither text nor the table of capabilities, or a capability that is no boolean."""
    properties = method.client_properties
    told = values.lookup(properties, "capabilities")
    strange = any(letter != "S" for name, letter, _ in properties if name != "capabilities")
    return strange or (isinstance(told, dict) and any(not isinstance(one, bool) for one in told.values()))


@changes(
    "login.odd-properties",
    "a client with unusual properties is dropped without a word",
    may="CONN-006",
    hides="CAN-001",
    about="login",
)
def odd_properties(parts: Parts) -> None:
    turned_away(parts, odd)


@changes(
    "login.empty-capabilities",
    "a client with an empty table of capabilities is dropped without a word",
    breaks="CONN-006",
    hides="CAN-001 CAN-004 TMO-008 TMO-026",
    about="login",
)
def empty_capabilities(parts: Parts) -> None:
    turned_away(parts, lambda method: values.lookup(method.client_properties, "capabilities") == {})


@changes(
    "login.no-capabilities",
    "a client without a table of capabilities is dropped without a word",
    may="CONN-006",
    hides="CAN-001 CAN-004 TMO-008 TMO-026",
    about="login",
)
def no_capabilities(parts: Parts) -> None:
    turned_away(parts, lambda method: values.lookup(method.client_properties, "capabilities") is None)


# -- what is announced


@around(
    "connection.send",
    "announces.nothing",
    "no capability is announced, and everything is there",
    breaks="CAN-002",
    about="cancel",
)
def connection_send(earlier: Any, self: Connection, item: Any) -> None:
    if isinstance(item, m.ConnectionStart):
        item.server_properties = [one for one in item.server_properties if one[0] != "capabilities"]
    earlier(self, item)


# Notices are announced and do not come: what is said of their shape and order has nothing to look at.
@around(
    "connection.announces_cancel",
    "announces.notices-that-never-come",
    "cancel notifications are announced, and nobody is ever notified",
    breaks="CAN-003",
    may="CAN-002",
    hides="CAN-001 CAN-004 CAN-006 CAN-008 CAN-010 TMO-*",
    about="cancel",
)
def notices_that_never_come(earlier: Any, self: Connection) -> bool:
    return False
