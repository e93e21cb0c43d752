"""The broker as a whole: who it is, how much there is, whether it is well."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker import routing
from reference_broker.management import topology, views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Refusal, Route, route
from reference_broker.sasl import BY_PASSWORD, EXTERNAL

ROUTES: list[Route] = []
PROBE = "aliveness-test"
OK = {"status": "ok"}
KINDS = [{"name": name, "enabled": True, "description": f"AMQP {name} exchange"} for name in routing.TYPES]


@route(ROUTES, "GET", "/api/overview", "Who this is, and how much there is.", shape="Overview")
def overview(ask: Ask) -> Answer:
    node, vhosts = ask.node, ask.vhosts()
    queues = [one for vhost in vhosts for one in vhost.queues.values()]
    connections = [one for one in views.opened(node.broker) if ask.sees(one.vhost.name)]
    unacked, ready = views.outstanding(node.broker), sum(one.count() for one in queues)
    outstanding = sum(unacked[one] for one in queues)
    return Answer({
        **node.product, "rabbitmq_version": node.product["product_version"],
        "management_version": node.product["product_version"], "node": node.name, "cluster_name": node.name,
        "rates_mode": "none", "exchange_types": KINDS,
        "contexts": [{"node": node.name, "description": "RabbitMQ Management", "path": "/"}],
        "object_totals": {
            "queues": len(queues), "exchanges": len(topology.exchanges_of(vhosts)), "connections": len(connections),
            "channels": sum(len(one.channels) for one in connections),
            "consumers": sum(len(one.consumers) for one in queues),
        },
        "queue_totals": {
            "messages": ready + outstanding, "messages_ready": ready, "messages_unacknowledged": outstanding,
        },
    })


@route(ROUTES, "GET", "/api/nodes", "The one node.", need="monitoring", shape="Node[]")
def nodes(ask: Ask) -> Answer:
    mechanisms = [{"name": name, "enabled": True, "description": f"SASL {name}"} for name in (*BY_PASSWORD, EXTERNAL)]
    return Answer([{
        "name": ask.node.name, "type": "disc", "running": True, "partitions": [],
        "mem_alarm": ask.node.broker.alarm is not None,
        "disk_free_alarm": False, "exchange_types": KINDS, "auth_mechanisms": mechanisms,
    }])


@route(ROUTES, "GET", "/api/nodes/{node}", "The one node, by its name.", need="monitoring", shape="Node")
def one_node(ask: Ask) -> Answer:
    if ask.path["node"] != ask.node.name:
        raise Refusal(*NOT_FOUND)
    return Answer(nodes(ask).content[0])


@route(ROUTES, "GET", "/api/cluster-name", "What the cluster of one is called.", shape="Named")
def cluster_name(ask: Ask) -> Answer:
    return Answer({"name": ask.node.name})


@route(ROUTES, "GET", "/api/aliveness-test/{vhost}", "Does a virtual host take a message and give it back?",
       shape="Status")
def alive(ask: Ask) -> Answer:
    with topology.direct(ask) as channel:
        channel.do(m.QueueDeclare(1, 0, PROBE))
        channel.publish(m.BasicPublish(1, 0, "", PROBE), codec.header(1, len(PROBE)), PROBE.encode())
        said = channel.do(m.BasicGet(1, 0, PROBE, True))
    if not any(isinstance(item, tuple) for item in said):
        raise Refusal(503, "failed", f"the message did not come back from the queue {PROBE}")
    return Answer(OK)


def well(ask: Ask) -> Answer:
    return Answer(OK)


def no_alarm(ask: Ask) -> Answer:
    alarm = ask.node.broker.alarm
    if alarm is None:
        return Answer(OK)
    return Answer({"status": "failed", "reason": f"alarm in force: {alarm}"}, 503)


for _path, _says in {
    "/api/healthchecks/node": "Is the node well?",
    "/api/healthchecks/node/{node}": "Is this node well?",
    "/api/health/checks/alarms": "Is no alarm in force?",
    "/api/health/checks/local-alarms": "Is no alarm in force on this node?",
    "/api/health/checks/virtual-hosts": "Do all virtual hosts run?",
    "/api/health/checks/node-is-quorum-critical": "Could the node be stopped?",
}.items():
    route(ROUTES, "GET", _path, _says, shape="Status")(no_alarm if "alarm" in _path else well)
