"""What a broker may leave out and still speak AMQP 0-9-1, and what the suite can do without where it must.

A feature is a method, one of its flags, or a queue argument, under the name that a client would look for. `OPTIONAL`
are RabbitMQ's extensions and the classes that the specification leaves to the broker: who refuses one of them lawfully
does not offer the rules that need it. The others must be there; but where one gets no answer, only the scenes of the
rules that are about it send it, and all others do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

OPTIONAL: Mapping[str, str] = MappingProxyType(
    {
        "basic.nack": "refusing several deliveries at once",
        "confirm.select": "publisher confirms",
        "tx.select": "transactions",
        "exchange.bind": "bindings from exchange to exchange",
        "topic exchange": "routing keys with wildcards",
        "headers exchange": "routes by headers",
        "x-match all-with-x": "headers that begin with x- in bindings",
        "sender-selected distribution": "more routing keys in the headers CC and BCC",
        "alternate-exchange": "exchanges for what finds no way",
        "direct reply-to": "replies without a queue",
        "x-single-active-consumer": "queues that serve one consumer at a time",
        "x-max-priority": "queues that serve messages by their priority",
        "x-priority": "consumers that are served before others",
        "basic.qos global": "a limit for all consumers of a channel",
        "x-max-length": "queues of limited length",
        "x-overflow": "queues that turn publishes away",
        "expiration": "messages with a time to live",
        "x-message-ttl": "queues that give messages a time to live",
        "x-expires": "queues that go when nobody uses them",
        "x-dead-letter-exchange": "dead letters",
        "x-delivery-limit": "a limit of deliveries",
        "x-consumer-timeout": "consumer timeouts by queue",
        "kill command": "a broker that can be killed and started again",
        "restart command": "a broker that can be shut down and started again",
        "alarm command": "a broker that can be made to run short of something",
        "management API": "users whose rights are changed while they are connected",
        "topic permissions": "rights for the routing keys of a topic exchange",
        "policies": "what is set for queues and exchanges by their names",
        "operator policies": "limits that are set beside the policies of users",
    }
)
MANDATORY: Mapping[str, str] = MappingProxyType(
    {
        "channel.flow": "stopping and starting a channel",
        "basic.qos": "prefetch limits",
        "basic.recover": "returning all deliveries of a channel",
        "basic.cancel": "ending a consumer",
        "queue.purge": "emptying a queue",
    }
)
FEATURES: Mapping[str, str] = MappingProxyType({**MANDATORY, **OPTIONAL})


CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "basic.nack": "basic.nack",
        "confirm.select": "publisher_confirms",
        "exchange.bind": "exchange_exchange_bindings",
        "direct reply-to": "direct_reply_to",
        "x-priority": "consumer_priorities",
    }
)
"""By which key of its capabilities a broker announces a feature, or says that it has none."""


def asked_of(method: object) -> str:
    """The feature that sending this method asks for; empty for what needs none."""
    name = str(getattr(method, "NAME", ""))
    if name == "basic.qos" and getattr(method, "global_", False):
        return "basic.qos global"
    if name == "exchange.declare":
        name = f"{getattr(method, 'type', '')} exchange"
    return name if name in FEATURES else ""
