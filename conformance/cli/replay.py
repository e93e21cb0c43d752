"""`replay CASE [URL]`: a recorded counterexample on a broker, judged by the whole suite.

The reproducer of the case is played through the raw driver on a stage, so that all monitors see it; queues have new
names each time. STILL BROKEN, with how often, where the rule of the case is contradicted; FIXED where it never is and
each performance came to the place in question or was answered otherwise there; else INCONCLUSIVE.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import codec
from codec import methods, values
from codec.methods import BY_NAME
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.raw import BadUrl, Item
from conformance.drive.drivers.sweep import sweep
from conformance.drive.stage import Endless, SceneOver, Stage
from conformance.evidence.reproducer import heard
from conformance.evidence.scripts.player import BROKEN, ELSE, UNCLEAR, Player
from conformance.history.recorder import Recorder
from conformance.outcome.cases import SCHEMA
from conformance.session import brokers
from conformance.session.brokers import BrokerUnderTest
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, HARNESS_ERROR, UNREACHABLE, WRONG_USE, Refused, reason

TIMES = 5
CODES = {BROKEN: GATE_CLOSED, ELSE: GATE_OPEN, UNCLEAR: HARNESS_ERROR}


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument("case", type=Path, help="cases/ID.json of a report")
    added.add_argument("url", nargs="?", help="amqp or amqps URL; default: the embedded reference broker")
    added.add_argument("--times", type=int, default=TIMES, metavar="N", help="how often (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    if options.times < 1:
        raise Refused(WRONG_USE, f"--times {options.times}: give a number of at least 1.")
    code, said = replay(options.case, options.url, options.times)
    print(said)
    return code


class StageWire:
    """The verbs that a player needs, on a stage. What the reproducer declares belongs to the stage, so that the drain
    at its end shows what was still there."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._seen = stage, 0
        self._queues, self._exchanges = set[str](), set[str]()

    def connect(self, name: str, capabilities: Mapping[str, object]) -> None:
        self._stage.connect(name, capabilities)

    def hang_up(self, name: str) -> None:
        self._stage.connections[name].hang_up()

    def clean(self) -> None:
        """Removes what the reproducer declared, from outside."""
        sweep(self._stage.target, filter(None, self._queues), filter(None, self._exchanges), self._stage.deadline)

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        self._queues |= {row.get("queue", "") for row in rows if row["method"] == "queue.declare"}
        self._exchanges |= {row.get("exchange", "") for row in rows if row["method"] == "exchange.declare"}
        connection = self._stage.connections[name]
        declared = (row.get("queue", "") for row in rows if row["method"] == "queue.declare" and not row.get("passive"))
        self._stage.belongings.queues |= dict.fromkeys(filter(None, declared), connection)
        if connection.alive:
            connection.holding = True
            answered = {row["channel"] for row in rows if row["method"] == "channel.close-ok"}
            connection.held = [number for number in connection.held if number not in answered]
            connection.send(*(_item(row) for row in rows))

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        self._stage.waiter.pump(seconds)
        new, self._seen = self._stage.events[self._seen :], len(self._stage.events)
        self._queues |= {event.queue or "" for event in new if event.method == "queue.declare-ok"}
        return [frame for event in new if (frame := heard(event)) is not None]


def _item(row: Mapping[str, Any]) -> Item:
    """What the raw driver sends for a row of a reproducer."""
    if row["method"] == "octets":
        return bytes.fromhex(row["hex"])
    kind: Any = BY_NAME[row["method"]]
    said = {
        name: values.table(row[name]) if isinstance(row[name], dict) else row[name]
        for name in kind.FIELDS
        if name in row
    }
    method: codec.Method = kind(row["channel"], **said)
    if isinstance(method, methods.BasicPublish):
        properties = {
            name: values.table(value) if isinstance(value, dict) else value
            for name, value in row.get("properties", {}).items()
        }
        return method, row.get("body", "").encode("latin-1"), properties
    return method


def replay(path: Path, url: str | None, times: int = TIMES) -> tuple[int, str]:
    """The exit code, and what to print. Raises Refused."""
    case = _read(path)
    try:
        with brokers.resolve(url) as broker:
            said = [_perform(case, broker, number) for number in range(times)]
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    except (Unreachable, ConnectionLost) as gone:
        raise Refused(UNREACHABLE, f"The broker cannot be used: {gone}") from None
    counts = Counter(verdict for verdict, _ in said)
    if counts[BROKEN]:
        verdict, word = BROKEN, f"STILL BROKEN ({counts[BROKEN]} of {times})"
    elif counts[ELSE] == times:
        verdict, word = ELSE, "FIXED"
    else:
        verdict, word = UNCLEAR, "INCONCLUSIVE"
    why = next(text for one, text in said if one == verdict)
    return CODES[verdict], f"{word}\n{case['rule']} {case['title']}\n{why}"


def _read(path: Path) -> dict[str, Any]:
    try:
        case = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise Refused(WRONG_USE, f"{path} is not a readable case: {reason(problem)}.") from None
    if not isinstance(case, dict) or case.get("schema") != SCHEMA:
        raise Refused(
            WRONG_USE, f"{path} is not a case: its schema is not {SCHEMA!r}. Cases are in REPORT/cases/*.json."
        )
    if not case.get("story"):
        raise Refused(
            WRONG_USE,
            f"{path} cannot be replayed: {case.get('untold') or 'it has no reproducer'}. "
            f"Try the rule again: {case.get('rerun')}",
        )
    return case


def _perform(case: Mapping[str, Any], broker: BrokerUnderTest, number: int) -> tuple[int, str]:
    """One performance: broken where the rule is contradicted on the way, else what the player makes of it."""
    recorder = Recorder("replay", broker.name)
    stage = Stage(
        broker.target, broker.profile, recorder, "replay", (case["rule"],), case["queue_type"], broker.deadline
    )
    prefix = f"{recorder.private_name()}.{id(stage):x}.{number}."
    wire = StageWire(stage)
    player = Player(list(case["story"]), wire, prefix, max(1.0, min(broker.deadline, 3.0)))
    try:
        verdict = player.play()
        if verdict != UNCLEAR:
            for connection in stage.connections.values():
                connection.release()
            stage.finish()
    except (SceneOver, Endless, ConnectionLost) as end:
        verdict, player.said = UNCLEAR, f"The exchange cannot be replayed: {end}."
    finally:
        stage.cleanup()
        wire.clean()
    found = [one for one in stage.judgement.findings if one.rule == case["rule"] and one.certain]
    if found:
        return BROKEN, f"allowed   {found[0].allowed}\nobserved  {found[0].observed}"
    if verdict == BROKEN:
        return UNCLEAR, f"{player.said} The monitors find no fault in it, by the profile {broker.profile.name}."
    return verdict, player.said
