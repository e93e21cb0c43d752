"""Direct reply-to: what of it is returned, and which names nobody could have."""

from __future__ import annotations

from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ConnectionException
from reference_broker.core.queues.message import Message
from reference_broker.core.vhost import VirtualHost
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "channel",
    BEHAVIOURS,
    "replies.returned",
    "a mandatory reply counts as not routed: it is delivered, and returned",
    until="4.0",
)
class Returned(Channel):
    def found_its_way(self, exchange: str, message: Message, routed: bool) -> bool:
        reply = not exchange and message.routing_key in self.vhost.replies
        return super().found_its_way(exchange, message, routed) and not reply


@does(
    "vhost",
    BEHAVIOURS,
    "replies.made-up-fails",
    "a declaration of a name that could be no address ends the connection",
    since="4.3",
)
class MadeUpFails(VirtualHost):
    def take_apart(self, name: str) -> None:
        if " " in name:
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))
