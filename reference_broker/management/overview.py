"""The broker as a whole: who it is, how much there is, whether it is well."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.core import routing
from reference_broker.core.connections.sasl import mechanisms
from reference_broker.management import topology
from reference_broker.management.answers import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Refusal, Route, route

ROUTES: list[Route] = []
PROBE = "aliveness-test"
UNLIMITED = {
    "fd_total": 0,
    "sockets_total": 0,
    "proc_total": 0,
    "processors": 1,
    "run_queue": 0,
    "mem_limit": 0,
    "disk_free_limit": 0,
}
"""What RabbitMQ counts of its machine, and this broker does not."""
KINDS = [{"name": name, "enabled": True, "description": f"AMQP {name} exchange"} for name in routing.TYPES]


@route(ROUTES, "GET", "/api/overview", "Who this is, and how much there is.", shape="Overview")
def overview(ask: Ask) -> Answer:
    node, vhosts = ask.node, ask.vhosts()
    queues = [one for vhost in vhosts for one in vhost.queues.values()]
    connections = [one for one in views.opened(node.broker) if ask.sees(one.vhost.name)]
    unacked, ready = views.outstanding(node.broker), sum(one.count() for one in queues)
    outstanding = sum(unacked[one] for one in queues)
    return Answer(
        {
            **node.product,
            "rabbitmq_version": node.product["product_version"],
            "management_version": node.product["product_version"],
            "node": node.name,
            "cluster_name": node.name,
            "rates_mode": "none",
            "exchange_types": KINDS,
            "contexts": [{"node": node.name, "description": "RabbitMQ Management", "path": "/"}],
            "object_totals": {
                "queues": len(queues),
                "exchanges": len(topology.exchanges_of(vhosts)),
                "connections": len(connections),
                "channels": sum(len(one.channels) for one in connections),
                "consumers": sum(len(one.consumers) for one in queues),
            },
            "queue_totals": {
                "messages": ready + outstanding,
                "messages_ready": ready,
                "messages_unacknowledged": outstanding,
            },
        }
    )


@route(ROUTES, "GET", "/api/nodes", "The one node.", need="monitoring", shape="Node[]")
def nodes(ask: Ask) -> Answer:
    offered = [
        {"name": name, "enabled": True, "description": f"SASL {name}"} for name in mechanisms(ask.node.broker.access)
    ]
    return Answer(
        [
            {
                "name": ask.node.name,
                "type": "disc",
                "running": True,
                "partitions": [],
                "being_drained": False,
                "uptime": round(1000 * (ask.node.broker.peers_clock.now - ask.node.began)),
                "os_pid": str(ask.node.process),
                "mem_alarm": ask.node.broker.alarm is not None,
                "rates_mode": "none",
                "enabled_plugins": [],
                "disk_free_alarm": False,
                "exchange_types": KINDS,
                "auth_mechanisms": offered,
                **UNLIMITED,
            }
        ]
    )


@route(ROUTES, "GET", "/api/nodes/{node}", "The one node, by its name.", need="monitoring", shape="Node")
def one_node(ask: Ask) -> Answer:
    if ask.path["node"] != ask.node.name:
        raise Refusal(*NOT_FOUND)
    return Answer(nodes(ask).content[0])


@route(ROUTES, "GET", "/api/cluster-name", "What the cluster of one is called.", shape="Named")
def cluster_name(ask: Ask) -> Answer:
    return Answer({"name": ask.node.name})


@route(
    ROUTES, "GET", "/api/aliveness-test/{vhost}", "Does a virtual host take a message and give it back?", shape="Status"
)
def alive(ask: Ask) -> Answer:
    with topology.direct(ask) as channel:
        channel.do(m.QueueDeclare(1, 0, PROBE))
        channel.publish(m.BasicPublish(1, 0, "", PROBE), codec.header(1, len(PROBE)), PROBE.encode())
        said = channel.do(m.BasicGet(1, 0, PROBE, True))
    if not any(isinstance(item, tuple) for item in said):
        raise Refusal(503, "failed", f"the message did not come back from the queue {PROBE}")
    return Answer({"status": "ok"})


@route(ROUTES, "GET", "/api/auth", "Does one log in by OAuth 2? One does not.", need="anybody", shape="Auth")
def auth(ask: Ask) -> Answer:
    return Answer({"oauth_enabled": False, "enable_uaa": False, "uaa_client_id": "", "uaa_location": ""})


def none(ask: Ask) -> Answer:
    return Answer([])


for _path, _says in {
    "/api/extensions": "What plugins add to the user interface: there is neither.",
    "/api/feature-flags": "What can be switched on after an upgrade: nothing.",
    "/api/deprecated-features": "What will be gone after an upgrade: nothing.",
}.items():
    route(ROUTES, "GET", _path, _says, shape="Nothing[]")(none)
