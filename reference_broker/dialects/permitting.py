"""Rights and limits of who connects: what needs a permission, what a refusal says, what may be wanted."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core.access import Right, Rights
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ChannelException
from reference_broker.core.needs import Needs, denied
from reference_broker.core.queues.queue import Queue
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "needs",
    BEHAVIOURS,
    "rights.unnamed",
    "a refusal does not say which of configure, write and read was missing",
    until="3.10",
)
class Unnamed(Needs):
    def denied(self, channel: Channel, right: Right, what: str) -> ChannelException:
        return denied(channel, "access", what)


@does(
    "needs",
    BEHAVIOURS,
    "rights.first-key-only",
    "a permission for topics holds for the routing key, and not for the keys in CC and BCC",
    until="3.10",
)
class FirstKeyOnly(Needs):
    def published_keys(self, method: m.BasicPublish, header: codec.Header | None) -> list[str]:
        return [method.routing_key]


@does("needs", BEHAVIOURS, "rights.none-to-look", "a passive declaration needs no permission", until="4.0")
class NoneToLook(Needs):
    def check_looking(self, rights: Rights, channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare) -> None:
        """Anybody may."""


@does(
    "connection",
    BEHAVIOURS,
    "rights.kept-by-consumers",
    "consumers stay when their user refreshes credentials that no longer let it read the queue",
    until="4.0",
)
class KeptByConsumers(Connection):
    def update_secret(self, method: m.ConnectionUpdateSecret) -> None:
        self.send(m.ConnectionUpdateSecretOk(0))


@does("connection", BEHAVIOURS, "limits.wanted", "a client is refused that wants no limit (0) where there is one")
class LimitsWanted(Connection):
    def tolerates(self, wanted: int, least: int, most: int) -> bool:
        return least <= wanted <= most


@does("queue", BEHAVIOURS, "consumers.all-alike-on-quorum", "a quorum queue takes no notice of exclusive consumers")
class AllAlikeOnQuorum(Queue):
    def excludes(self, exclusive: bool) -> bool:
        return self.quorum is None and super().excludes(exclusive)
