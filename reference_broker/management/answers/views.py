"""What there is, as JSON: the members that RabbitMQ gives, under its names and with its types, as far as there are."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from codec import values
from reference_broker.core.access import Permission, User
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Exchange
from reference_broker.core.settings import Policy

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.channels.prefetch import Consumer
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.vhost import VirtualHost

View = dict[str, Any]


def table(fields: values.FieldTable) -> View:
    found: View = values.to_json(fields)
    return found


def vhost(one: VirtualHost) -> View:
    return {"name": one.name, "tracing": False, **about(one)}


def about(one: VirtualHost) -> View:
    """In both of the places where RabbitMQ has had it."""
    said: View = {
        "description": one.about.description,
        "tags": list(one.about.tags),
        "default_queue_type": one.about.default_queue_type or "classic",
    }
    return {**said, "metadata": said}


def user(one: User) -> View:
    return {
        "name": one.name,
        "password_hash": one.password_hash,
        "hashing_algorithm": one.algorithm,
        "tags": list(one.tags),
        "limits": dict(one.quotas),
    }


def permission(name: str, where: str, one: Permission) -> View:
    return {"user": name, "vhost": where, "configure": one.configure, "write": one.write, "read": one.read}


def policy(where: str, one: Policy) -> View:
    return {
        "vhost": where,
        "name": one.name,
        "pattern": one.pattern,
        "apply-to": one.apply_to,
        "definition": dict(one.definition),
        "priority": one.priority,
    }


# -- topology


def queue(one: Queue, unacked: int) -> View:
    settings, ready = one.vhost.settings, one.count()
    return {
        "name": one.name,
        "vhost": one.vhost.name,
        "type": "classic" if one.quorum is None else "quorum",
        "durable": one.durable,
        "auto_delete": one.auto_delete,
        "exclusive": one.owner is not None,
        "arguments": table(one.table),
        "node": "reference@localhost",
        "state": "running",
        "messages": ready + unacked,
        "messages_ready": ready,
        "messages_unacknowledged": unacked,
        "message_bytes_ready": one.ready.octets,
        "consumers": len(one.consumers),
        "consumer_details": [consumer(each) for each in one.consumers],
        "owner_pid_details": owner(one.owner) if one.owner is not None else None,
        "single_active_consumer_tag": one.active.tag if one.active is not None else None,
        "policy": name_of(settings.policy_of(one)),
        "operator_policy": name_of(settings.operator_policy_of(one)),
        "effective_policy_definition": dict(settings.definition_of(one)),
    }


def name_of(one: Policy | None) -> str | None:
    return None if one is None else one.name


def owner(connection: Connection) -> View:
    origin = connection.origin
    return {"name": origin.name, "peer_host": origin.peer_host, "peer_port": origin.peer_port}


def outstanding(broker: Broker) -> Counter[Queue]:
    """How many messages of each queue are unacked."""
    channels = (channel for connection in broker.connections for channel in connection.channels.values())
    return Counter(one.queue for channel in channels for one in channel.unacked.by_tag.values() if not one.stale)


def exchange(one: Exchange, vhost: VirtualHost) -> View:
    return {
        "name": one.name,
        "vhost": vhost.name,
        "type": one.TYPE,
        "durable": one.durable,
        "auto_delete": one.auto_delete,
        "internal": one.internal,
        "arguments": table(one.arguments),
        "policy": name_of(vhost.settings.policy_of(one)),
    }


def default_exchange(where: str) -> View:
    """Which is not among the exchanges, because nothing can be bound to it."""
    return {
        "name": "",
        "vhost": where,
        "type": "direct",
        "durable": True,
        "auto_delete": False,
        "internal": False,
        "arguments": {},
        "policy": None,
    }


def binding(one: Binding, arguments: values.FieldTable, where: str) -> View:
    kind = "queue" if isinstance(one.destination, Queue) else "exchange"
    return bound(one.source.name, where, one.destination.name, kind, one.key, arguments)


def default_binding(one: Queue) -> View:
    return bound("", one.vhost.name, one.name, "queue", one.name, [])


def bound(source: str, where: str, destination: str, kind: str, key: str, arguments: values.FieldTable) -> View:
    return {
        "source": source,
        "vhost": where,
        "destination": destination,
        "destination_type": kind,
        "routing_key": key,
        "arguments": table(arguments),
        "properties_key": properties_key(key, arguments),
    }


def properties_key(key: str, arguments: values.FieldTable) -> str:
    """What tells bindings between the same two things apart, in a path."""
    if not arguments:
        return quote(key, safe="") or "~"
    digest = hashlib.md5(repr(sorted(arguments, key=repr)).encode(), usedforsecurity=False).digest()
    return f"{quote(key, safe='')}~{base64.urlsafe_b64encode(digest)[:7].decode()}"


# -- clients


def opened(broker: Broker) -> list[Connection]:
    return [one for one in broker.connections if one.phase is Phase.RUNNING]


def connection(one: Connection) -> View:
    origin, shown = one.origin, one.origin.certificate
    return {
        "name": origin.name,
        "node": "reference@localhost",
        "type": "network",
        "state": "running",
        "protocol": "AMQP 0-9-1",
        "user": one.user,
        "vhost": one.vhost.name,
        "auth_mechanism": one.mechanism,
        "peer_host": origin.peer_host,
        "peer_port": origin.peer_port,
        "host": origin.host,
        "port": origin.port,
        "channels": len(one.channels),
        "channel_max": one.channel_max,
        "frame_max": one.outbox.frame_max,
        "timeout": one.heartbeat,
        "client_properties": table(one.client_properties),
        "ssl": bool(origin.tls),
        "ssl_protocol": origin.tls or None,
        "ssl_cipher": origin.cipher or None,
        "peer_cert_subject": shown.subject if shown else None,
        "peer_cert_issuer": shown.issuer if shown else None,
    }


def channel_name(one: Channel) -> str:
    return f"{one.connection.origin.name} ({one.number})"


def channel(one: Channel) -> View:
    return {
        "name": channel_name(one),
        "node": "reference@localhost",
        "number": one.number,
        "state": "closing" if one.closing else "running",
        "user": one.connection.user,
        "vhost": one.vhost.name,
        "connection_details": owner(one.connection),
        "confirm": one.confirms is not None,
        "transactional": one.transaction is not None,
        "consumer_count": len(one.consumers),
        "messages_unacknowledged": len(one.unacked),
        "messages_unconfirmed": len(one.confirms.pending) if one.confirms is not None else 0,
        "prefetch_count": one.prefetch,
        "global_prefetch_count": one.limit.count,
    }


def consumer(one: Consumer) -> View:
    where, serving = one.channel, one.queue.active in (None, one)
    return {
        "consumer_tag": one.tag,
        "ack_required": not one.no_ack,
        "prefetch_count": one.own.count,
        "exclusive": one.queue.exclusive_consumer,
        "arguments": table(one.arguments),
        "active": serving,
        "activity_status": "up" if serving else "waiting",
        "queue": {"name": one.queue.name, "vhost": one.queue.vhost.name},
        "channel_details": {
            "name": channel_name(where),
            "number": where.number,
            "user": where.connection.user,
            "node": "reference@localhost",
            "connection_name": where.connection.origin.name,
            "peer_host": where.connection.origin.peer_host,
            "peer_port": where.connection.origin.peer_port,
        },
    }
