"""Durable things that are not messages: how each is recorded, and how it is made again.

A definition is a key, which begins with its kind, and a value: the AMQP method that a client would make it with, or
JSON. Most live in a dictionary by name; a `Recorded` one says of each that comes and goes, so that whoever changes it
need not know of any log. `RESTORERS` lists the kinds in the order in which they are made again. A new kind of durable
thing takes an entry there and a `Recorded`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core import routing
from reference_broker.core.access import Permission, TopicPermission, Topics, User
from reference_broker.core.broker import Broker
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Destination, Exchange
from reference_broker.core.settings import About, Policy
from reference_broker.core.vhost import VirtualHost
from reference_broker.store.journal import Journal
from reference_broker.store.records import NUMBER, Key

V = TypeVar("V")
Value = Callable[[V], bytes | None]


class Recorded(dict[str, V]):
    """Things of one kind by name. `value` is None for one that is not durable; what is `present` is not recorded."""

    def __init__(self, journal: Journal, kind: Key, value: Value[V], present: dict[str, V]) -> None:
        super().__init__(present)
        self.journal = journal
        self.kind = kind
        self.value = value

    def __setitem__(self, name: str, thing: V) -> None:
        super().__setitem__(name, thing)
        self.record(name)

    def record(self, name: str) -> None:
        value = self.value(self[name])
        if value is None:
            self.journal.forget((*self.kind, name))
        else:
            self.journal.define((*self.kind, name), value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.journal.forget((*self.kind, name))

    def update(self, *things: Any, **more: Any) -> None:
        for name, thing in dict(*things, **more).items():
            self[name] = thing

    def pop(self, name: str, *default: Any) -> Any:
        self.journal.forget((*self.kind, name))
        return super().pop(name, *default)


# -- users, permissions and virtual hosts


class Users(Recorded[User]):
    """Their permissions are recorded one by one."""

    def __init__(self, journal: Journal, present: dict[str, User]) -> None:
        super().__init__(journal, ("user",), user_value, present)
        for user in present.values():
            self.watch(user)

    def watch(self, user: User) -> None:
        if not isinstance(user.permissions, Recorded):
            kind = "permission", user.name
            user.permissions = Recorded(self.journal, kind, permission_value, user.permissions)
            user.topics = Recorded(self.journal, ("topics", user.name), topics_value, user.topics)

    def __setitem__(self, name: str, user: User) -> None:
        self.watch(user)
        super().__setitem__(name, user)
        user.permissions.update(user.permissions)
        user.topics.update(user.topics)

    def __delitem__(self, name: str) -> None:
        for granted in (self[name].permissions, self[name].topics):
            for vhost in list(granted):
                del granted[vhost]
        super().__delitem__(name)


def user_value(user: User) -> bytes:
    return json.dumps([user.password_hash, user.algorithm, list(user.tags), dict(user.quotas)]).encode()


def make_user(broker: Broker, key: Key, value: bytes) -> None:
    """An older log knows of no quotas."""
    password_hash, algorithm, tags, *quotas = json.loads(value)
    user = User(key[-1], password_hash, algorithm, tuple(tags), quotas=quotas[0] if quotas else {})
    broker.access.users[user.name] = user


def permission_value(permission: Permission) -> bytes:
    return json.dumps(asdict(permission)).encode()


def permit(broker: Broker, key: Key, value: bytes) -> None:
    broker.access.users[key[1]].permissions[key[2]] = Permission(**json.loads(value))


def topics_value(topics: Topics) -> bytes:
    return json.dumps({exchange: asdict(one) for exchange, one in topics.items()}).encode()


def permit_topics(broker: Broker, key: Key, value: bytes) -> None:
    topics = {exchange: TopicPermission(**one) for exchange, one in json.loads(value).items()}
    broker.access.users[key[1]].topics[key[2]] = topics


def vhost_value(vhost: VirtualHost) -> bytes:
    return json.dumps([asdict(vhost.about), dict(vhost.quotas)]).encode()


def make_vhost(broker: Broker, key: Key, value: bytes) -> None:
    """An older log says nothing of them but that they are there."""
    vhost = broker.add_vhost(key[-1])
    if value:
        about, quotas = json.loads(value)
        broker.describe_vhost(vhost, About(**{**about, "tags": tuple(about["tags"])}))
        broker.limit_vhost(vhost, quotas)


def global_value(value: Any) -> bytes:
    return json.dumps(value).encode()


def make_global(broker: Broker, key: Key, value: bytes) -> None:
    broker.global_parameters[key[-1]] = json.loads(value)


# -- exchanges and policies


def exchange_value(exchange: Exchange) -> bytes | None:
    if not exchange.durable:
        return None
    return m.ExchangeDeclare(
        0,
        0,
        exchange.name,
        exchange.TYPE,
        durable=True,
        auto_delete=exchange.auto_delete,
        internal=exchange.internal,
        arguments=exchange.arguments,
    ).encode()


def make_exchange(broker: Broker, key: Key, value: bytes) -> None:
    method = codec.decode(value)
    assert isinstance(method, m.ExchangeDeclare)
    broker.vhosts[key[1]].exchanges[method.exchange] = routing.TYPES[method.type](
        method.exchange, True, method.auto_delete, method.internal, method.arguments
    )


def policy_value(policy: Policy) -> bytes:
    return json.dumps({**asdict(policy), "definition": dict(policy.definition)}).encode()


def make_policy(broker: Broker, key: Key, value: bytes) -> None:
    vhost = broker.vhosts[key[1]]
    vhost.policies(key[0] == "operator-policy")[key[-1]] = Policy(**json.loads(value))
    vhost.heed_policies()


# -- queues and bindings


def queue_value(queue: Queue, number: int, had_consumer: bool) -> bytes:
    """`number`: by which its messages are recorded; `had_consumer`: an auto-delete queue that had one goes."""
    declare = m.QueueDeclare(0, 0, queue.name, durable=True, auto_delete=queue.auto_delete, arguments=queue.table)
    return NUMBER.pack(number) + bytes([had_consumer]) + declare.encode()


def number_in(value: bytes) -> int:
    return int(NUMBER.unpack_from(value)[0])


def make_queue(broker: Broker, key: Key, value: bytes) -> None:
    vhost, had_consumer, method = broker.vhosts[key[1]], value[NUMBER.size], codec.decode(value[NUMBER.size + 1 :])
    assert isinstance(method, m.QueueDeclare)
    settings = vhost.parts.arguments().parse(method.arguments, method.queue)
    queue = vhost.add_queue(method.queue, True, method.auto_delete, None, method.arguments, settings)
    if had_consumer:
        vhost.delete_queue(queue)


def binding_key(vhost: str, source: Exchange, destination: Destination, key: str, canonical: str) -> Key:
    kind = "queue" if isinstance(destination, Queue) else "exchange"
    return "binding", vhost, source.name, kind, destination.name, key, canonical


def binding_value(source: Exchange, destination: Destination, key: str, table: FieldTable) -> bytes:
    if isinstance(destination, Queue):
        return m.QueueBind(0, 0, destination.name, source.name, key, arguments=table).encode()
    return m.ExchangeBind(0, 0, destination.name, source.name, key, arguments=table).encode()


def make_binding(broker: Broker, key: Key, value: bytes) -> None:
    """Its ends are there, unless a queue went with its consumers, and an exchange with that."""
    vhost, method = broker.vhosts[key[1]], codec.decode(value)
    assert isinstance(method, m.QueueBind | m.ExchangeBind)
    destination: Destination | None
    if isinstance(method, m.QueueBind):
        source, destination = vhost.exchanges.get(method.exchange), vhost.queues.get(method.queue)
    else:
        source, destination = vhost.exchanges.get(method.source), vhost.exchanges.get(method.destination)
    if source is not None and destination is not None:
        vhost.bind(source, destination, method.routing_key, method.arguments)


RESTORERS: dict[str, Callable[[Broker, Key, bytes], None]] = {
    "vhost": make_vhost,
    "global-parameter": make_global,
    "user": make_user,
    "permission": permit,
    "topics": permit_topics,
    "exchange": make_exchange,
    "policy": make_policy,
    "operator-policy": make_policy,
    "queue": make_queue,
    "binding": make_binding,
}
