"""What a stranger leaves unanswered: one method for ever, or everything of a kind from some moment on.

A method is carried out, and its answer is dropped. That breaks ERR-014, or the rule that is nearer. Where the
connection ends all the same, or the method is one that a client may do without, nobody need notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ChannelException
from reference_broker.core.parts import Handler, Parts
from reference_broker.personalities.kinds import around_handler, changes, count, memory, wrap, wrap_handler


def dropping(*answers: type[codec.Method]) -> Callable[[Parts], None]:
    """These are never sent."""

    def send(earlier: Any, self: Connection, item: Any) -> None:
        if not isinstance(item, answers):
            earlier(self, item)

    return lambda parts: wrap(parts, "connection.send", send)


def unanswered(
    name: str,
    answer: type[codec.Method],
    breaks: str = "",
    may: str = "",
    hides: str = "",
    about: str = "",
) -> None:
    changes(
        f"unanswered.{name}",
        f"{name} is carried out and not answered",
        breaks=breaks,
        may=may,
        hides=hides,
        about=about or f"method:{name}",
    )(dropping(answer))


unanswered("queue.purge", m.QueuePurgeOk, breaks="ERR-014", hides="CNF-017")
unanswered("queue.delete", m.QueueDeleteOk, breaks="ERR-014", hides="CAN-* CNF-010 CNF-012 CNF-017")
unanswered("queue.bind", m.QueueBindOk, breaks="ERR-014", hides="CNF-010 CNF-012")
unanswered("exchange.declare", m.ExchangeDeclareOk, breaks="ERR-014", hides="CNF-010 CNF-012")
unanswered("channel.flow", m.ChannelFlowOk, breaks="ERR-014", hides="ERR-011")
unanswered("basic.qos", m.BasicQosOk, breaks="QOS-024", hides="QOS-*", about="prefetch")
# A deletion that the same channel hears of crosses its cancel: whether that one is answered is the same decision.
unanswered(
    "basic.cancel",
    m.BasicCancelOk,
    breaks="CAN-005 CAN-007",
    may="CAN-006 CAN-008 TMO-013",
    hides="CAN-009 CAN-013 CAN-014 ACK-016 AUTO-008 QOS-020",
    about="cancel",
)
unanswered(
    "basic.consume", m.BasicConsumeOk, breaks="CAN-015", may="CAN-013 CAN-018", hides="CAN-* QOS-*", about="cancel"
)
unanswered("basic.get-on-empty", m.BasicGetEmpty, breaks="ERR-014 GET-005", hides="ACK-* AUTO-* MODE-* RQ-*")
unanswered("basic.recover", m.BasicRecoverOk, breaks="RQ-014", about="recover")
unanswered(
    "confirm.select", m.ConfirmSelectOk, breaks="CNF-001", may="CNF-003", hides="CNF-* TAG-010 RQ-011", about="confirms"
)
unanswered(
    "tx.select", m.TxSelectOk, may="ERR-014", hides="TX-* CNF-016 CNF-024 AUTO-006 QOS-026", about="transactions"
)
# CNF-024 says that publishes in a transaction are answered by commit-ok alone, TX-003 what comes before it.
unanswered("tx.commit", m.TxCommitOk, may="CNF-024 TX-003", hides="TX-* AUTO-006 QOS-026", about="transactions")
unanswered("tx.rollback", m.TxRollbackOk, may="TX-002", hides="TX-*", about="transactions")
# ERR-008 wants a client's close answered that meets the broker's own. After a close without answer nobody can reopen.
unanswered(
    "channel.close",
    m.ChannelCloseOk,
    breaks="ERR-008",
    may="AUTO-011",
    hides="ERR-007 TAG-007 AUTO-001 AUTO-006",
    about="errors",
)
unanswered("connection.close", m.ConnectionCloseOk, breaks="ERR-014", hides="AUTO-002")


@around_handler(
    m.QueueDelete,
    "unanswered.queue.delete-with-consumers",
    "queue.delete of a queue with consumers is not answered",
    breaks="ERR-014",
    hides="CAN-003 CAN-004 CAN-006 CAN-008 CAN-010 CAN-011 CAN-012",
    about="method:queue.delete",
)
def wedge_after_delete(earlier: Handler, channel: Channel, method: m.QueueDelete) -> None:
    queue = channel.vhost.queues.get(method.queue or channel.last_queue)
    if queue is not None and queue.consumers:
        method.no_wait = True
    earlier(channel, method)


# -- from some moment on

WEDGED = "wedge"


def commands(parts: Parts, most: int, silent: Callable[[Connection, codec.Method], bool]) -> None:
    """After this many commands on channels, of all connections together, those that are `silent` go unheard."""

    def serve(earlier: Any, self: Intake, channel: Channel, method: codec.Method) -> None:
        if count(self.broker, WEDGED) <= most or not silent(self.connection, method):
            earlier(self, channel, method)

    wrap(parts, "intake.serve", serve)


def wedged(self: Connection, most: int) -> bool:
    return bool(memory(self.broker, WEDGED, lambda: [0])[0] > most)


def wedges(name: str, says: str, most: int) -> Callable[[Callable[[Parts], None]], Callable[[Parts], None]]:
    """From then on nothing can be said of any rule, and none is to blame."""
    return changes(f"wedges.{name}-after-{most}", f"after {most} commands {says}", hides="*", about=WEDGED)


for _most in (150, 900):

    @wedges("declares", "no queue.declare is answered", _most)
    def wedge_declares(parts: Parts, most: int = _most) -> None:
        commands(parts, most, lambda _, method: isinstance(method, m.QueueDeclare))

    @wedges("opens", "no channel.open is answered", _most)
    def wedge_opens(parts: Parts, most: int = _most) -> None:
        def open_channel(earlier: Any, self: Connection, method: m.ChannelOpen) -> None:
            if not wedged(self, most):
                earlier(self, method)
                return
            self.channels[method.channel] = self.parts.channel(self, method.channel)
            self.channels[method.channel].closing = True

        commands(parts, most, lambda _, method: False)
        wrap(parts, "connection.open_channel", open_channel)

    @wedges("connections", "no connection is greeted", _most)
    def wedge_connections(parts: Parts, most: int = _most) -> None:
        def greet(earlier: Any, self: Connection, data: bytes) -> bytes:
            if wedged(self, most):
                self.broker.newcomers.left(self)
                return b""
            greeted: bytes = earlier(self, data)
            return greeted

        commands(parts, most, lambda _, method: False)
        wrap(parts, "connection.greet", greet)

    @wedges("all", "the broker says nothing at all any more", _most)
    def wedge_all(parts: Parts, most: int = _most) -> None:
        def feed(earlier: Any, self: Connection, data: bytes) -> None:
            if wedged(self, most):
                self.broker.newcomers.left(self)
            else:
                earlier(self, data)

        commands(parts, most, lambda _, method: True)
        wrap(parts, "connection.feed", feed)


@changes(
    "wedges.vhost-by-deletion",
    "where a queue was deleted that had consumers, its vhost answers no queue.declare",
    hides="*",
    about=WEDGED,
)
def vhost_by_deletion(parts: Parts) -> None:
    def declare(earlier: Handler, channel: Channel, method: m.QueueDeclare) -> None:
        if not memory(channel.vhost, WEDGED, lambda: [False])[0]:
            earlier(channel, method)

    def delete(earlier: Handler, channel: Channel, method: m.QueueDelete) -> None:
        queue = channel.vhost.queues.get(method.queue or channel.last_queue)
        if queue is not None and queue.consumers:
            memory(channel.vhost, WEDGED, lambda: [False])[0] = True
        earlier(channel, method)

    wrap_handler(parts, m.QueueDeclare, declare)
    wrap_handler(parts, m.QueueDelete, delete)


@around_handler(
    m.QueueDeclare,
    "refused.declares-after-40",
    "after 40 queues every further one is refused by channel.close 403",
    hides="*",
    about=WEDGED,
)
def declares_after_40(earlier: Handler, channel: Channel, method: m.QueueDeclare) -> None:
    if not method.passive and count(channel.vhost, "declares") > 40:
        raise ChannelException(ReplyCode.ACCESS_REFUSED, "no more queues")
    earlier(channel, method)


# -- and not even that


def dies(after: int) -> None:
    changes(
        f"dies.after-{after}",
        f"the broker is gone when the {after}th connection comes",
        hides="*",
        about=WEDGED,
        connections=after,
    )(lambda parts: None)


for _most in (12, 30, 90):
    dies(_most)
