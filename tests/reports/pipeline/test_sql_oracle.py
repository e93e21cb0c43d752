"""Rules that are relations between rows, written a second time in SQL, where no model remembers anything.

This is an oracle for tests and nothing else: it covers the plain cases (whole histories in which the
broker closed nothing, messages that went through the default exchange), and there it must say what
the monitors say, for right and for wrong brokers. Compared is where a history first contradicts the rule, or whether it
does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from conformance.drive.machines import confirms
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.history.recording import Recording, RecordingWriter
from reference_broker import ReferenceBroker
from reports.pipeline import ingest
from tests.support import traces
from tests.support.traces import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WAYS_OUT = 2
"""In so many histories of those with doubtful settlements the judge sees a way out that the query knows nothing of: the
delivery came between recover-ok and the next answer, or the tag was settled so long ago that the judge forgot it."""
WRONG = (
    "tags.counter-per-consumer",
    "tags.frames-overtake",
    "tags.get-counts-alone",
    "tags.gap-after-auto-ack",
    "confirms.single-after-multiple",
    "confirms.ack-after-nack",
    "confirms.one-ahead",
    "confirms.second-select-restarts",
    "errors.double-ack-accepted",
    "errors.only-double-ack-noticed",
    "mode.ack-undone-at-end",
    "settle.single-takes-oldest",
)
LIVES = """
    SELECT *, count_if(direction = '>' AND method = 'channel.open') OVER life_until AS sent_life,
              count_if(direction = '<' AND method = 'channel.open-ok') OVER life_until AS life
    FROM events WHERE channel > 0 AND kind = 'method'
    WINDOW life_until AS (PARTITION BY history, connection, channel ORDER BY seq)
"""
"""Each row with the life of its channel number: as the client counts them, and as the broker does."""
WHOLE = """
    SELECT * FROM lives LEFT ANTI JOIN
        (SELECT history FROM events WHERE direction = '<' AND method IN ('channel.close', 'connection.close')) closed
        USING (history)
"""
"""Histories in which the broker closed nothing."""
TAGS = """
    SELECT history, seq, delivery_tag AS tag, max(delivery_tag) OVER
        (PARTITION BY history, connection, channel, life ORDER BY seq
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS top
    FROM whole WHERE direction = '<' AND method IN ('basic.deliver', 'basic.get-ok')
"""
PUBLISHES = """
    SELECT history, connection, channel, sent_life, seq,
           row_number() OVER (PARTITION BY history, connection, channel, sent_life ORDER BY seq) AS number
    FROM (SELECT *, max(method = 'confirm.select') OVER
              (PARTITION BY history, connection, channel, sent_life ORDER BY seq) AS confirming
          FROM whole WHERE direction = '>')
    WHERE method = 'basic.publish' AND confirming
"""
CONFIRMS = """
    SELECT history, connection, channel, sent_life, seq, delivery_tag AS tag, multiple FROM whole
    WHERE direction = '<' AND method IN ('basic.ack', 'basic.nack')
"""
RESOLVED = """
    SELECT p.history, min(c.seq) AS seq FROM publishes p JOIN confirms c
        ON p.history = c.history AND p.connection = c.connection AND p.channel = c.channel AND p.sent_life = c.sent_life
        AND c.seq > p.seq AND (p.number = c.tag OR (c.multiple AND (p.number < c.tag OR c.tag = 0)))
    GROUP BY p.history, p.connection, p.channel, p.sent_life, p.number
"""
HANDED = """
    SELECT d.history, d.seq, d.routing_key, d.message_id, a.seq AS acked
    FROM whole d LEFT JOIN whole a ON a.history = d.history AND a.connection = d.connection AND a.channel = d.channel
        AND a.life = d.life AND a.direction = '>' AND a.method = 'basic.ack' AND NOT a.multiple
        AND a.delivery_tag = d.delivery_tag AND a.seq > d.seq
    WHERE d.direction = '<' AND d.method IN ('basic.deliver', 'basic.get-ok') AND d.exchange = ''
"""
OPEN = """
    SELECT * FROM lives LEFT ANTI JOIN
        (SELECT history, connection, channel, sent_life FROM lives WHERE direction = '<' AND method = 'channel.close') c
        USING (history, connection, channel, sent_life)
"""
"""Rows of lives that the broker did not close."""
DELIVERED = """
    SELECT history, connection, channel, sent_life, seq, delivery_tag AS tag FROM open
    WHERE direction = '<' AND method IN ('basic.deliver', 'basic.get-ok')
"""
SETTLED = """
    SELECT d.history, d.connection, d.channel, d.sent_life, d.tag, min(b.seq) AS seq
    FROM delivered d JOIN open b USING (history, connection, channel, sent_life)
    WHERE b.direction = '>' AND b.seq > d.seq AND (b.method IN ('basic.recover', 'basic.recover-async')
        OR b.method IN ('basic.ack', 'basic.nack', 'basic.reject') AND (b.delivery_tag = d.tag
            OR coalesce(b.multiple, false) AND (b.delivery_tag = 0 OR b.delivery_tag > d.tag)))
    GROUP BY d.history, d.connection, d.channel, d.sent_life, d.tag
"""
"""Where each delivery was settled first, or recovered."""
UNKNOWN = """
    SELECT a.history, a.connection, a.channel, a.sent_life, a.seq FROM open a
    LEFT JOIN delivered d ON d.history = a.history AND d.connection = a.connection AND d.channel = a.channel
        AND d.sent_life = a.sent_life AND d.tag = a.delivery_tag
    LEFT JOIN settled s ON s.history = a.history AND s.connection = a.connection AND s.channel = a.channel
        AND s.sent_life = a.sent_life AND s.tag = a.delivery_tag
    WHERE a.direction = '>' AND a.method IN ('basic.ack', 'basic.nack', 'basic.reject') AND a.delivery_tag > 0
        AND (d.seq IS NULL OR s.seq < a.seq)
"""
"""Settlements that name a tag of which no delivery had come or would come, or that was settled before."""
CLOSES = "channel.close", "connection.close"
VIEWS: Mapping[str, str] = {
    "lives": LIVES,
    "whole": WHOLE,
    "tags": TAGS,
    "publishes": PUBLISHES,
    "confirms": CONFIRMS,
    "resolved": RESOLVED,
    "handed": HANDED,
    "open": OPEN,
    "delivered": DELIVERED,
    "settled": SETTLED,
    "unknown": UNKNOWN,
}


@pytest.fixture(scope="module")
def played() -> list[Trace]:
    with ReferenceBroker(mutants=("errors.double-ack-accepted", "errors.only-double-ack-noticed")) as broker:
        lenient = traces.play(broker, SETTLEMENT, "classic", "lockstep", 80, 1, "lenient", 0.5)
    of_confirms = [name for name in WRONG if name.startswith("confirms.")]
    others = [machine for machine in traces.MACHINES if machine is not confirms.CONFIRMS]
    wrong = [
        *traces.wrong(of_confirms, 4, machines=[confirms.CONFIRMS], schedulers=["lockstep"]),
        *traces.wrong([name for name in WRONG if name not in of_confirms], 4, machines=others, schedulers=["lockstep"]),
    ]
    return [*traces.lawful(2), *wrong, *lenient]


@pytest.fixture(scope="module")
def sql(played: list[Trace], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session with the views."""
    folder = tmp_path_factory.mktemp("oracle")
    with RecordingWriter(folder, {"run": "r", "profile": traces.PROFILE}) as writer:
        for trace in played:
            for event in trace.events:
                writer.write(event)
    ingest.events(spark, Recording(folder)).cache().createOrReplaceTempView("events")
    for name, query in VIEWS.items():
        spark.sql(query).cache().createOrReplaceTempView(name)
    return spark


def asked(sql: SparkSession, query: str) -> dict[str, int]:
    """By history: where the query first found something."""
    rows = sql.sql(f"SELECT history, min(seq) AS seq FROM ({query}) GROUP BY history").collect()
    return {row["history"]: row["seq"] for row in rows}


def judged(played: Sequence[Trace], *rules: str) -> dict[str, int]:
    """By history in which the broker closed nothing: where it first said what one of these rules forbids."""
    found: dict[str, int] = {}
    for trace in played:
        said = {event.seq for event in trace.events if event.direction == "<"}
        wrong = [one.at for one in trace.live.findings if one.rule in rules and one.at in said]
        if wrong and not any(event.direction == "<" and event.method in CLOSES for event in trace.events):
            found[trace.events[0].history] = min(wrong)
    return found


def test_tag_003(played: list[Trace], sql: SparkSession) -> None:
    found = judged(played, "TAG-003")
    assert found
    assert asked(sql, "SELECT * FROM tags WHERE tag <= top") == found


def test_tag_004(played: list[Trace], sql: SparkSession) -> None:
    found = judged(played, "TAG-004")
    assert found
    assert asked(sql, "SELECT * FROM tags WHERE tag > top + 1 AND top > 0") == found


def test_publishes_are_resolved_at_most_once(played: list[Trace], sql: SparkSession) -> None:
    """A confirm that resolves nothing is one too many, or has too high a number."""
    found = judged(played, "CNF-003", "CNF-004", "CNF-005", "CNF-006")
    assert found
    too_high = """SELECT c.history, c.seq FROM confirms c LEFT JOIN publishes p
                      ON p.history = c.history AND p.connection = c.connection AND p.channel = c.channel
                      AND p.sent_life = c.sent_life AND p.seq < c.seq
                  GROUP BY c.history, c.seq, c.tag HAVING c.tag > coalesce(max(p.number), 0)"""
    again = "SELECT history, seq FROM confirms LEFT ANTI JOIN resolved USING (history, seq)"
    assert asked(sql, f"{again} UNION ALL {too_high}") == found


def test_settling_what_is_not_outstanding_costs_the_channel(played: list[Trace], sql: SparkSession) -> None:
    """The driver waits for that in vain, or a later answer shows that the broker went on.

    Compared in one direction alone: the judge finds it as well where the delivery was acknowledged automatically, and
    where the broker closed the channel for something else. The query knows neither.
    """
    went_on = """SELECT u.history, u.seq FROM unknown u JOIN lives c USING (history, connection, channel, sent_life)
                     WHERE c.seq > u.seq AND c.direction = '<' AND c.method = 'channel.close-ok'
                 UNION ALL SELECT u.history, u.seq FROM unknown u JOIN events e USING (history)
                     WHERE e.seq > u.seq AND e.kind = 'deadline' AND e.arguments LIKE '%replies%'"""
    rules = {"ACK-010", "ERR-001", "ERR-002", "ERR-003", "RQ-014", "TAG-007", "TAG-008", "TAG-009"}
    found = {one.history for trace in played for one in trace.live.findings if one.rule in rules}
    automatic = {one.history for trace in played for one in trace.live.findings if one.rule == "MODE-006"}
    suspects = set(asked(sql, f"SELECT * FROM ({went_on}) WHERE history LIKE 'lenient%' OR history LIKE 'right%'"))
    assert found & suspects
    assert len(suspects - found - automatic) <= WAYS_OUT, suspects - found - automatic


def test_mode_004(played: list[Trace], sql: SparkSession) -> None:
    """What was acknowledged by itself never comes again from its queue."""
    again = """SELECT h.history, l.seq FROM handed h JOIN handed l USING (history, routing_key, message_id)
               WHERE h.acked IS NOT NULL AND l.seq > h.acked"""
    found = set(judged(played, "MODE-004", "ACK-016", "ACK-018", "AUTO-006"))
    suspects = set(asked(sql, again))
    assert found & suspects
    assert len(suspects - found) <= WAYS_OUT, suspects - found
