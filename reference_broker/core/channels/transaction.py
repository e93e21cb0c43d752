"""tx: what a channel wants to happen, kept until commit or rollback.

An acknowledgement inside a transaction leaves the unacked deliveries at once (so that a second one
is an error at once) but takes effect, and frees prefetch, only at commit; rollback puts the delivery
back, without redelivering it. Publishes are not even routed before commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.queues.message import Message

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel


class Transaction:
    def __init__(self) -> None:
        self.published: list[tuple[str, Message, bool]] = []
        self.settled: list[tuple[list[Delivery], Callable[[Delivery], None]]] = []

    def publish(self, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        """It is routed with the commit, so its channel is not asked here."""
        self.published.append((exchange, message, mandatory))

    def settle(self, deliveries: list[Delivery], fate: Callable[[Delivery], None]) -> None:
        self.settled.append((deliveries, fate))

    def commit(self, channel: Channel) -> bool:
        """Was everything accepted everywhere? What was refused is gone; the rest happens all the same."""
        published, self.published = self.published, []
        settled, self.settled = self.settled, []
        accepted = [channel.publish(exchange, message, mandatory) for exchange, message, mandatory in published]
        for deliveries, fate in settled:
            channel.finish(deliveries, fate)
        return all(accepted)

    def rollback(self, channel: Channel) -> None:
        self.published.clear()
        channel.unacked.restore(self.take_settled())

    def take_settled(self) -> list[Delivery]:
        settled, self.settled = self.settled, []
        return [delivery for deliveries, _ in settled for delivery in deliveries]
