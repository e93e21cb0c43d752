"""A thin sender: one channel as a scene uses it.

Every method only sends. It waits for nothing and checks nothing, so several calls in a row are pipelined. The judge
knows what the channel has seen so far; read it through `view` and `unacked`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from codec import methods as m
from codec import values
from conformance.drive.drivers.raw import Item, RawConnection
from conformance.drive.payloads import Payloads
from conformance.oracle.model.views import ChannelView


class Script(Protocol):
    """What a channel needs of the stage it stands on."""

    queue_type: str
    payloads: Payloads
    by_name: str

    @property
    def durable(self) -> bool: ...

    def transmit(self, channel: Channel, *items: Item) -> None: ...

    def view_of(self, channel: Channel) -> ChannelView | None: ...

    def meant(self, channel: Channel, tag: int) -> int: ...


class Channel:
    """One channel number of one connection."""

    def __init__(self, stage: Script, connection: RawConnection, number: int) -> None:
        self._stage, self.connection, self.number = stage, connection, number

    def __repr__(self) -> str:
        return f"<channel {self.number} of {self.connection.name}>"

    @property
    def view(self) -> ChannelView | None:
        """What the judge knows of it; None before it was ever opened."""
        return self._stage.view_of(self)

    @property
    def by_name(self) -> str:
        """The exchange that leads to queues by their names."""
        return self._stage.by_name

    @property
    def state(self) -> str:
        view = self.view
        return view.state if view else "closed"

    @property
    def unacked(self) -> list[int]:
        """Tags of the deliveries that came and are not settled, in order."""
        view = self.view
        return sorted(view.unacked) if view else []

    def send(self, *items: Item) -> None:
        """Anything at all, in one write."""
        self._stage.transmit(self, *items)

    def open(self) -> None:
        self.send(m.ChannelOpen(self.number))

    def close(self) -> None:
        self.send(m.ChannelClose(self.number, 200, "normal shutdown", 0, 0))

    def flow(self, active: bool = True) -> None:
        self.send(m.ChannelFlow(self.number, active))

    def declare(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool | None = None,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: bool = False,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """As durable, where nothing else is said and the broker has such queues."""
        self.send(
            m.QueueDeclare(
                self.number,
                queue=queue,
                passive=passive,
                durable=self._stage.durable if durable is None else durable,
                exclusive=exclusive,
                auto_delete=auto_delete,
                no_wait=no_wait,
                arguments=values.table(arguments or {}),
            )
        )

    def delete(self, queue: str, *, no_wait: bool = False) -> None:
        self.send(m.QueueDelete(self.number, queue=queue, no_wait=no_wait))

    def purge(self, queue: str) -> None:
        self.send(m.QueuePurge(self.number, queue=queue))

    def declare_exchange(
        self,
        exchange: str,
        kind: str = "fanout",
        *,
        no_wait: bool = False,
        arguments: Mapping[str, Any] | None = None,
        **flags: bool,
    ) -> None:
        """`flags`: passive, durable, auto_delete, internal."""
        table = values.table(arguments or {})
        self.send(
            m.ExchangeDeclare(self.number, exchange=exchange, type=kind, no_wait=no_wait, arguments=table, **flags)
        )

    def find_exchange(self, exchange: str, kind: str = "direct") -> None:
        self.send(m.ExchangeDeclare(self.number, exchange=exchange, type=kind, passive=True))

    def delete_exchange(self, exchange: str) -> None:
        self.send(m.ExchangeDelete(self.number, exchange=exchange))

    def bind(self, queue: str, exchange: str, key: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        table = values.table(arguments or {})
        self.send(m.QueueBind(self.number, queue=queue, exchange=exchange, routing_key=key, arguments=table))

    def unbind(self, queue: str, exchange: str, key: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        table = values.table(arguments or {})
        self.send(m.QueueUnbind(self.number, queue=queue, exchange=exchange, routing_key=key, arguments=table))

    def bind_exchange(
        self, destination: str, source: str, key: str = "", arguments: Mapping[str, Any] | None = None
    ) -> None:
        table = values.table(arguments or {})
        self.send(m.ExchangeBind(self.number, 0, destination, source, key, arguments=table))

    def unbind_exchange(
        self,
        destination: str,
        source: str,
        key: str = "",
        arguments: Mapping[str, Any] | None = None,
        no_wait: bool = False,
    ) -> None:
        table = values.table(arguments or {})
        self.send(m.ExchangeUnbind(self.number, 0, destination, source, key, no_wait, table))

    def fit(self, body: bytes) -> bytes:
        """As much of a body as the broker takes."""
        return self._stage.payloads.fit(body)

    def publish(
        self,
        queue: str,
        n: int = 1,
        mandatory: bool = False,
        persistent: bool | None = None,
        properties: Mapping[str, Any] | None = None,
        *,
        exchange: str = "",
        body: bytes | None = None,
    ) -> list[str]:
        """Publishes n messages and tells their ids."""
        if persistent is None:
            persistent = self._stage.queue_type == "quorum"
        messages = [self._stage.payloads.next_message() for _ in range(n)]
        method = m.BasicPublish(self.number, exchange=exchange, routing_key=queue, mandatory=mandatory)
        self.send(
            *(
                (
                    method,
                    self._stage.payloads.body(message) if body is None else self.fit(body),
                    {
                        "delivery_mode": 2 if persistent else 1,
                        "message_id": message,
                        **(properties or {}),
                    },
                )
                for message in messages
            )
        )
        return messages

    def get(self, queue: str, no_ack: bool = False) -> None:
        self.send(m.BasicGet(self.number, queue=queue, no_ack=no_ack))

    def consume(
        self,
        queue: str,
        no_ack: bool = False,
        tag: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        no_wait: bool = False,
        exclusive: bool = False,
    ) -> str:
        """Starts a consumer and tells its tag."""
        tag = tag if tag is not None else self._free_tag()
        self.send(
            m.BasicConsume(
                self.number,
                queue=queue,
                consumer_tag=tag,
                no_ack=no_ack,
                exclusive=exclusive,
                no_wait=no_wait,
                arguments=values.table(arguments or {}),
            )
        )
        return tag

    def _free_tag(self) -> str:
        """The next one that no consumer here has: those of an earlier pass may still be there."""
        while True:
            tag = self._stage.payloads.next_consumer(f"{self.connection.name} {self.number}")
            if self.view is None or tag not in self.view.consumers:
                return tag

    def cancel(self, tag: str, no_wait: bool = False) -> None:
        self.send(m.BasicCancel(self.number, tag, no_wait))

    def ack(self, tag: int, multiple: bool = False) -> None:
        self.send(m.BasicAck(self.number, self._stage.meant(self, tag), multiple))

    def nack(self, tag: int, multiple: bool = False, requeue: bool = True) -> None:
        tag = self._stage.meant(self, tag)
        self.send(m.BasicNack(self.number, delivery_tag=tag, multiple=multiple, requeue=requeue))

    def reject(self, tag: int, requeue: bool = True) -> None:
        self.send(m.BasicReject(self.number, self._stage.meant(self, tag), requeue))

    def recover(self, requeue: bool = True) -> None:
        self.send(m.BasicRecover(self.number, requeue))

    def qos(self, count: int, global_: bool = False) -> None:
        self.send(m.BasicQos(self.number, prefetch_size=0, prefetch_count=count, global_=global_))

    def confirm(self, no_wait: bool = False) -> None:
        self.send(m.ConfirmSelect(self.number, no_wait))

    def tx_select(self) -> None:
        self.send(m.TxSelect(self.number))

    def tx_commit(self) -> None:
        self.send(m.TxCommit(self.number))

    def tx_rollback(self) -> None:
        self.send(m.TxRollback(self.number))
