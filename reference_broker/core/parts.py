"""The replaceable decisions of the broker.

Everything the core builds at run time it builds through a `Parts`. The honest broker uses the classes
as they are. A dialect derives a `Parts` in which some methods have others before them, and a mutant, above
it, one in which one method of one class, or one handler, is replaced; that is done once, when the broker
is made, so that a broker that only does as the texts say pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import codec
from codec import methods as m
from reference_broker.core import edition
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Unacked
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.connections.outbox import Outbox
from reference_broker.core.edition import Edition
from reference_broker.core.needs import Needs
from reference_broker.core.queues.arguments import Arguments
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Quorum
from reference_broker.core.queues.ready import Ready
from reference_broker.core.queues.timeouts import Timeouts
from reference_broker.core.tap import Tap
from reference_broker.core.vhost import VirtualHost

Handler = Callable[[Channel, Any], None]

HANDLERS: dict[type[codec.Method], Handler] = {
    m.ChannelFlow: basic.flow,
    m.AccessRequest: basic.access_request,
    m.ExchangeDeclare: topology.exchange_declare,
    m.ExchangeDelete: topology.exchange_delete,
    m.ExchangeBind: topology.exchange_bind,
    m.ExchangeUnbind: topology.exchange_unbind,
    m.QueueDeclare: topology.queue_declare,
    m.QueueBind: topology.queue_bind,
    m.QueueUnbind: topology.queue_unbind,
    m.QueuePurge: topology.queue_purge,
    m.QueueDelete: topology.queue_delete,
    m.BasicQos: basic.qos,
    m.BasicConsume: basic.consume,
    m.BasicCancel: basic.cancel,
    m.BasicCancelOk: basic.cancel_ok,
    m.BasicGet: basic.get,
    m.BasicAck: basic.ack,
    m.BasicNack: basic.nack,
    m.BasicReject: basic.reject,
    m.BasicRecover: basic.recover,
    m.BasicRecoverAsync: basic.recover,
    m.ConfirmSelect: basic.confirm_select,
    m.TxSelect: basic.tx_select,
    m.TxCommit: basic.tx_commit,
    m.TxRollback: basic.tx_rollback,
}


@dataclass
class Parts:
    edition: Edition = edition.DOCUMENTED
    arguments: type[Arguments] = Arguments
    connection: type[Connection] = Connection
    channel: type[Channel] = Channel
    confirms: type[Confirms] = Confirms
    consumer: type[Consumer] = Consumer
    dead_letters: type[DeadLetters] = DeadLetters
    intake: type[Intake] = Intake
    limit: type[Limit] = Limit
    needs: type[Needs] = Needs
    outbox: type[Outbox] = Outbox
    queue: type[Queue] = Queue
    quorum: type[Quorum] = Quorum
    ready: type[Ready] = Ready
    timeouts: type[Timeouts] = Timeouts
    transaction: type[Transaction] = Transaction
    unacked: type[Unacked] = Unacked
    vhost: type[VirtualHost] = VirtualHost
    publish: Callable[..., None] = basic.publish
    handlers: dict[type[codec.Method], Handler] = field(default_factory=lambda: dict(HANDLERS))
    mutants: tuple[str, ...] = ()
    nondeterminism: int | list[str] | None = None
    """What was asked for: a seed, or names."""
    tap: Tap | None = None

    def extend(self, part: str, other: type[Any]) -> None:
        """Put the methods of a class, derived from that of the core, before those of one class."""
        below = getattr(self, part)
        setattr(self, part, type(below.__name__, (other, below), {"__slots__": ()}))

    def override(self, part: str, **methods: Any) -> None:
        """Replace methods of one class by a subclass that has others."""
        honest = getattr(self, part)
        setattr(self, part, type(honest.__name__, (honest,), methods))
