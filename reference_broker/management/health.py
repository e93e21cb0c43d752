"""Health checks: is the broker well, does it listen, are its certificates good for a while yet?

This one is a single node without replicas, so what asks about a cluster is always well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_broker.management.route import Answer, Ask, Route, bad_request, route

ROUTES: list[Route] = []
OK = {"status": "ok"}
CHECKS = "/api/health/checks"
DAY = 86400
UNITS: Mapping[str, int] = {"days": DAY, "weeks": 7 * DAY, "months": 30 * DAY, "years": 365 * DAY}
ALIASES = {"amqp091": "amqp", "amqp0.9.1": "amqp", "amqps": "amqp/ssl"}
ALONE = {**OK, "reason": "single node cluster"}


def failed(reason: str, **more: Any) -> Answer:
    return Answer({"status": "failed", "reason": reason, **more}, 503)


def well(ask: Ask) -> Answer:
    return Answer(OK)


def alone(ask: Ask) -> Answer:
    return Answer(ALONE)


def no_alarm(ask: Ask) -> Answer:
    alarm = ask.node.broker.alarm
    return Answer(OK) if alarm is None else failed(f"alarm in force: {alarm}")


for _path, _says, _work in (
    ("/api/healthchecks/node", "Is the node well?", well),
    ("/api/healthchecks/node/{node}", "Is this node well?", well),
    (f"{CHECKS}/alarms", "Is no alarm in force?", no_alarm),
    (f"{CHECKS}/local-alarms", "Is no alarm in force on this node?", no_alarm),
    (f"{CHECKS}/virtual-hosts", "Do all virtual hosts run?", well),
    (f"{CHECKS}/node-is-quorum-critical", "Could the node be stopped?", alone),
    (f"{CHECKS}/node-is-mirror-sync-critical", "Could the node be stopped, with its mirrors?", alone),
    (f"{CHECKS}/is-in-service", "Does the node serve clients?", well),
    (f"{CHECKS}/ready-to-serve-clients", "Is the node ready for clients?", well),
    (f"{CHECKS}/metadata-store/initialized", "Is it known what there is?", well),
    (f"{CHECKS}/below-node-connection-limit", "May more clients come?", well),
):
    route(ROUTES, "GET", _path, _says, shape="Status")(_work)


@route(
    ROUTES,
    "GET",
    f"{CHECKS}/protocol-listener/{{protocol}}",
    "Is this protocol listened for?",
    shape="ProtocolListener",
)
def protocol_listener(ask: Ask) -> Answer:
    asked = ask.path["protocol"]
    protocol, known = ALIASES.get(asked, asked), [one.protocol for one in ask.node.listeners()]
    if protocol in known:
        return Answer({**OK, "protocol": protocol})
    return failed("No active listener", missing=protocol, protocols=list(dict.fromkeys(known)))


@route(ROUTES, "GET", f"{CHECKS}/port-listener/{{port}}", "Is this port listened on?", shape="PortListener")
def port_listener(ask: Ask) -> Answer:
    if not ask.path["port"].isdecimal():
        raise bad_request("Invalid port")
    port, known = int(ask.path["port"][:10]), [one.port for one in ask.node.listeners()]
    return Answer({**OK, "port": port}) if port in known else failed("No active listener", missing=port, ports=known)


@route(
    ROUTES,
    "GET",
    f"{CHECKS}/certificate-expiration/{{within}}/{{unit}}",
    "Are the broker's certificates good for this many days, weeks, months or years?",
    shape="Status",
)
def certificate_expiration(ask: Ask) -> Answer:
    within, unit = ask.path["within"], ask.path["unit"]
    if unit not in UNITS:
        raise bad_request(f"Time unit not recognised. Supported units: {', '.join(UNITS)}.")
    if not within.isdecimal():
        raise bad_request("Invalid expiration value.")
    until = ask.node.today() + int(within[:9]) * UNITS[unit]
    expiring = [
        {"node": ask.node.name, "protocol": one.protocol, "port": one.port}
        for one in ask.node.listeners()
        if one.expires is not None and one.expires <= until
    ]
    return failed("Certificates expiring", expired=expiring) if expiring else Answer(OK)
