"""What a broker may leave out and still speak AMQP 0-9-1, and what the suite can do without where it must.

A feature is a method, one of its flags, or a queue argument, under the name that a client would look for. `OPTIONAL`
are RabbitMQ's extensions and the classes that the specification leaves to the broker: who refuses one of them lawfully
does not offer the rules that need it. The others must be there; but where one gets no answer, only the scenes of the
rules that are about it send it, and all others do without.

Who refuses a way to declare (`DECLARATIONS`) is examined by what is left: where queues cannot be durable, all are
transient. The text allows none of these refusals, but brokers make them, with whatever code; no rule can be judged on
what cannot be declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
PASSIVE, DEFAULT = "passive queue.declare", "default exchange"
GET, GETS = "basic.get", "gets of several queues on one channel"
DELETE = "queue.delete"
MANDATORY: Mapping[str, str] = MappingProxyType(
    {
        "channel.flow": "stopping and starting a channel",
        "basic.qos": "prefetch limits",
        "basic.recover": "returning all deliveries of a channel",
        "basic.cancel": "ending a consumer",
        GET: "asking for a single message",
        "queue.purge": "emptying a queue",
        DELETE: "removing a queue",
        PASSIVE: "looking for a queue without making one",
        DEFAULT: "publishing to a queue by its name",
        GETS: "asking for messages of one queue after another",
        "nowait": "methods that are carried out and not answered",
    }
)
MEANS_OF_ALL = frozenset({GET, DELETE})
"""Of these every history makes use. Who refuses one of them as not implemented, by 540, does not offer it, and is
examined by other means."""
DURABLE, TRANSIENT, EXCLUSIVE = "durable queues", "transient queues", "exclusive queues"
AUTO_DELETE, SERVER_NAMED = "auto-delete queues", "server-named queues"
CROWD = "a dozen connections at once"
RESERVED = "amq.* names"
LARGE = "large bodies"
DECLARATIONS: Mapping[str, str] = MappingProxyType(
    {
        DURABLE: "queues that outlive the broker",
        TRANSIENT: "queues that end with the broker, and that all connections may use",
        EXCLUSIVE: "queues of one connection",
        AUTO_DELETE: "queues that go with their last consumer",
        SERVER_NAMED: "queues to which the broker gives a name",
        CROWD: "as many connections at a time as a scene may need",
        LARGE: "messages of a quarter of a million octets",
        RESERVED: "the right to use what the broker itself has declared",
        "direct exchange": "exchanges that compare routing keys",
        "fanout exchange": "exchanges that lead to all their queues",
    }
)
FEATURES: Mapping[str, str] = MappingProxyType({**MANDATORY, **DECLARATIONS, **OPTIONAL})

MEANS: Mapping[str, frozenset[str]] = MappingProxyType({"confirm.select": frozenset({"CNF", "TAG"})})
"""Features by which many rules make sure of something, with the families whose rules are about them. Where such a
feature is there and does not work, only these try it; the others are seen as far as they can be seen without."""


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


NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "exchange.declare": ("exchange",),
        "exchange.delete": ("exchange",),
        "exchange.bind": ("source", "destination"),
        "exchange.unbind": ("source", "destination"),
        "queue.bind": ("queue", "exchange"),
        "queue.unbind": ("queue", "exchange"),
        "queue.purge": ("queue",),
        "queue.delete": ("queue",),
        "basic.get": ("queue",),
        "basic.publish": ("exchange",),
    }
)
"""By method: the fields that name what must be there."""


def asked_of(method: object) -> tuple[str, ...]:
    """The features that sending this method asks for."""
    quiet = ("nowait",) if getattr(method, "no_wait", False) else ()
    fields = NAMES.get(str(getattr(method, "NAME", "")), ())
    reserved = (RESERVED,) if any(getattr(method, field).startswith("amq.") for field in fields) else ()
    return (*quiet, *reserved, *_asked(method))


def _asked(method: object) -> tuple[str, ...]:
    name = str(getattr(method, "NAME", ""))
    if name in ("queue.declare", "exchange.declare") and getattr(method, "passive", False):
        return (PASSIVE,) if name == "queue.declare" else ()
    if name == "queue.declare":
        return tuple(_declared(method))
    if name == "basic.qos" and getattr(method, "global_", False):
        name = "basic.qos global"
    if name == "exchange.declare":
        name = f"{getattr(method, 'type', '')} exchange"
    if name == "exchange.unbind":
        name = "exchange.bind"
    return (name,) if name in FEATURES else ()


def _declared(method: object) -> Iterator[str]:
    """The ways in which this declares a queue. That it is transient is asked for only where a queue is made so: one
    that is there is compared even by brokers that make no such."""
    if getattr(method, "durable", False):
        yield DURABLE
    if getattr(method, "exclusive", False):
        yield EXCLUSIVE
    if getattr(method, "auto_delete", False):
        yield AUTO_DELETE
    if not getattr(method, "queue", ""):
        yield SERVER_NAMED
