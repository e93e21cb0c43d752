"""A results document as a run would leave it, made by hand.

The results are of an invented broker with one of everything: rules held, broken on one and on two connections, a known
deviation, a rule that was tested too little, one in doubt, one not offered, one that reports, and all that is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import codec
from codec import methods as m
from conformance.catalogue import rules


def step(
    n: int,
    direction: str,
    text: str,
    frames: bytes = b"",
    connection: str = "c1",
    channel: int = 1,
    interest: bool = True,
) -> dict[str, Any]:
    method = text.split()[0] if "." in text.split()[0] else ""
    return {
        "n": n,
        "direction": direction,
        "connection": connection,
        "channel": channel,
        "text": text,
        "method": method,
        "raw": frames.hex(),
        "interest": interest,
    }


def handshake(connection: str) -> list[dict[str, Any]]:
    quiet = {"connection": connection, "channel": 0, "interest": False}
    return [
        step(0, "-", "open", **quiet),
        step(0, ">", "protocol", codec.ProtocolHeader().encode(), **quiet),
        step(0, "<", "connection.start", m.ConnectionStart(0, 0, 9, [], b"PLAIN", b"en_US").encode(), **quiet),
        step(
            0,
            ">",
            "connection.start-ok",
            m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US").encode(),
            **quiet,
        ),
        step(0, "<", "connection.open-ok", m.ConnectionOpenOk(0).encode(), **quiet),
    ]


def numbered(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "n": n} for n, one in enumerate(steps, 1)]


def publish(message: str, queue: str = "q1", connection: str = "c1") -> dict[str, Any]:
    frames = codec.content(m.BasicPublish(1, 0, "", queue), b"body of " + message.encode(), message_id=message)
    return step(0, ">", f"basic.publish {message} to {queue}", frames, connection)


def got(tag: int, message: str, connection: str = "c1") -> dict[str, Any]:
    frames = codec.content(m.BasicGetOk(1, tag, False, "", "q1", 0), b"body of " + message.encode(), message_id=message)
    return step(0, "<", f"basic.get-ok {tag} {message}", frames, connection)


def get(connection: str = "c1") -> dict[str, Any]:
    return step(0, ">", "basic.get q1", m.BasicGet(1, 0, "q1").encode(), connection)


def ack(tag: int, multiple: bool = False, connection: str = "c1") -> dict[str, Any]:
    text = f"basic.ack {tag}" + (" multiple" if multiple else "")
    return step(0, ">", text, m.BasicAck(1, tag, multiple).encode(), connection)


def opening(connection: str = "c1") -> dict[str, Any]:
    return step(0, ">", "channel.open", m.ChannelOpen(1).encode(), connection, interest=False)


def stale_multiple() -> list[dict[str, Any]]:
    """Three deliveries, the second settled, then again with multiple: settled instead of refused."""
    refused = "waited 5000 ms in vain for an answer"
    return numbered(
        step(0, "-", "scene test_multiple_with_a_tag_already_settled", interest=False),
        *handshake("c1"),
        opening(),
        publish("m1"),
        publish("m2"),
        get(),
        got(1, "m1"),
        get(),
        got(2, "m2"),
        ack(2),
        ack(2, multiple=True),
        step(0, "-", refused),
    )


def crossing() -> list[dict[str, Any]]:
    """Two connections; an ack on one settles what the other holds."""
    return numbered(
        *handshake("c1"),
        *handshake("c2"),
        opening(),
        opening("c2"),
        publish("m1"),
        get("c2"),
        got(1, "m1", "c2"),
        get(),
        ack(1, multiple=True),
        got(1, "m1", "c2"),
    )


def case(
    rule: str,
    number: int,
    steps: list[dict[str, Any]],
    allowed: str,
    observed: str,
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": f"{rule}-{number}",
        "rule": rule,
        "history": f"test_{rule.lower()}[classic]",
        "scene": f"test_{rule.lower()}",
        "queue_type": "classic",
        "allowed": allowed,
        "observed": observed,
        "at": 41,
        "certain": True,
        "seen": 3,
        "reproduced": "3 of 3",
        "deviation": None,
        "steps": steps,
        "rerun": f"amqp-conformance run amqp://localhost:5672/%2F --rules {rule} --seed 7",
        **more,
    }


def rule_result(rule: rules.Rule) -> dict[str, Any]:
    planned = not rule.judged
    return {
        "id": rule.id,
        "family": rule.family,
        "title": rule.title,
        "level": rule.level,
        "source": rule.source,
        "clause": rule.clause,
        "status": rule.status,
        "verdict": "planned" if planned else "held",
        "exercised": 0 if planned else 12,
        "needed": rule.needed,
        "selected": True,
        "reason": rule.reason if planned else None,
        "deviation": None,
        "reports": {},
        "cases": [],
    }


CHANGES: Mapping[str, Mapping[str, Any]] = {
    "ACK-010": {
        "verdict": "broken",
        "cases": [
            case(
                "ACK-010",
                1,
                stale_multiple(),
                "channel.close 406: the tag was settled before, so nothing may be settled by it",
                "basic.ack 2 multiple was accepted: nothing was refused until the deadline",
            ),
            case("ACK-010", 2, [], "channel.close 406", "the ack was accepted", queue_type="quorum", certain=False),
        ],
    },
    "ACK-004": {
        "verdict": "broken",
        "cases": [
            case(
                "ACK-004",
                1,
                crossing(),
                "m1 stays with the channel of c2 until that channel settles it",
                "m1 was gone after an ack on another connection",
            ),
        ],
    },
    "RQ-003": {
        "verdict": "deviates",
        "deviation": {
            "note": "Returned messages go to the tail of the log.",
            "reason": "behind newer",
            "owner": "us",
            "evidence": "https://www.rabbitmq.com/docs/quorum-queues",
            "expires": "2027-06-30",
        },
    },
    "MODE-003": {"verdict": "under-tested", "exercised": 0, "reason": "exercised 0 times, 1 needed"},
    "ERR-004": {"verdict": "inconclusive"},
    "ERR-006": {"verdict": "not-offered", "reason": "the broker does not announce basic.nack"},
    "TAG-010": {"reports": {"increasing": 9, "constant": 2}},
    "TMO-020": {"reports": {"within 0.1 s": 31, "within 1 s": 2}},
}


def document() -> dict[str, Any]:
    """results.json of a closed gate."""
    every = [{**rule_result(rule), **CHANGES.get(rule.id, {})} for rule in rules.CATALOGUE.values()]
    totals: dict[str, int] = {}
    for rule in every:
        totals[rule["verdict"]] = totals.get(rule["verdict"], 0) + 1
    return {
        "schema": "amqp-conformance/results/1",
        "suite": "0.1.0",
        "started": "2026-11-21T15:04:05Z",
        "seconds": 92.4,
        "command": "amqp-conformance run amqp://localhost:5672/%2F --depth ci",
        "run": "r1",
        "seed": 7,
        "depth": "ci",
        "complete": True,
        "broker": {
            "name": "Birch 2.9",
            "url": "amqp://guest@localhost:5672/%2F",
            "product": "Birch",
            "version": "2.9",
            "server_properties": {"product": "Birch", "version": "2.9", "capabilities": {"publisher_confirms": True}},
            "negotiated": {"channel_max": 2047, "frame_max": 131072, "heartbeat": 60},
            "capabilities": ["basic.nack", "publisher_confirms"],
        },
        "profile": "documented",
        "queue_types": ["classic", "quorum"],
        "selection": {"level": "may", "rules": "*", "strict": False},
        "rules": every,
        "gate": {
            "open": False,
            "reasons": ["ACK-004 is broken", "ACK-010 is broken"],
            "warnings": ["MODE-003 was exercised too little to say"],
        },
        "totals": totals,
        "histories": 148,
        "events": 20417,
        "timings": {
            "confirm": {"n": 900, "quantiles": [[0.02, 0.21], [0.5, 0.75], [0.9, 2.5], [0.99, 4.8], [1.0, 31.0]]},
            "delivery": {"n": 400, "quantiles": [[0.02, 0.4], [0.5, 1.1], [0.9, 3.0], [0.99, 9.0], [1.0, 80.0]]},
        },
        "troubles": [
            {
                "scene": "test_err_011[quorum]",
                "queue_type": "quorum",
                "kind": "connection lost",
                "message": "the broker closed the connection during clean-up",
            }
        ],
    }


def clean_document() -> dict[str, Any]:
    """results.json of an open gate: everything judged held."""
    results = document()
    results["rules"] = [rule_result(rule) for rule in rules.CATALOGUE.values()]
    results["gate"] = {"open": True, "reasons": [], "warnings": []}
    results["troubles"] = []
    return results


def document_before() -> dict[str, Any]:
    """results.json of the run before: ACK-004 held, ACK-010 broke in another way, RQ-003 and MODE-001 were broken."""
    results = document()
    results.update(run="r0", started="2026-11-13T08:00:00Z")
    by_id = {rule["id"]: rule for rule in results["rules"]}
    by_id["ACK-004"].update(verdict="held", cases=[])
    by_id["ACK-010"]["cases"] = [case("ACK-010", 1, [], "channel.close 406", "connection.close 504 came instead")]
    by_id["RQ-003"].update(verdict="broken", cases=[case("RQ-003", 1, [], "in front", "behind newer messages")])
    by_id["MODE-001"].update(verdict="broken", cases=[case("MODE-001", 1, [], "yes", "no")])
    return results
