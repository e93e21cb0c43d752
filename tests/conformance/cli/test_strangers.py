"""`run` on what is hardly a broker, and on brokers that end, wedge or will not have us: in time, in words, by the right
code, and without a rule that is accused for it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codec import methods as m
from codec import values
from conformance.cli import main
from conformance.drive.drivers.admin import Admin
from reference_broker import ReferenceBroker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.limits import Limits
from reference_broker.core.errors import not_implemented, precondition
from reference_broker.core.parts import HANDLERS
from tests.support.ports import Door, Serve, echo, http, port, silent

QUICK = ("--depth", "smoke", "--examples", "1")
SETTLED = "TAG-001,ACK-017"
"""Rules whose scenes take a queue from its consumer, and others."""


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (silent, "says nothing"),
        (echo, "sends back what it is sent"),
        (http, "speaks HTTP"),
    ],
)
def test_a_port_that_is_no_broker(serve: Serve, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    begin = time.monotonic()
    with port(serve) as number:
        assert main(["run", f"amqp://127.0.0.1:{number}/?connection_timeout=500", *QUICK]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert words in said
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("connections", [5, 30])
def test_a_broker_that_ends(connections: int, capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceBroker() as broker:
        door = Door(broker.port, closes_after=connections)
        assert main(["run", f"amqp://127.0.0.1:{door.port}", *QUICK, "--rules", "TAG-*"]) == 3
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert "accepts no connection" in said or "stopped accepting connections" in said
    assert "password" not in said


@pytest.fixture
def wants_heartbeats(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReferenceBroker]:
    """Nobody is let in who wants no heartbeats."""
    tune = Connection.tune

    def wanting(self: Connection, method: m.ConnectionTuneOk) -> None:
        if method.heartbeat:
            tune(self, method)
        else:
            self.finish()

    monkeypatch.setattr(Connection, "tune", wanting)
    with ReferenceBroker() as broker:
        yield broker


def test_a_broker_that_wants_heartbeats_gets_them(wants_heartbeats: ReferenceBroker, tmp_path: Path) -> None:
    assert main(["run", wants_heartbeats.url, *QUICK, "--rules", "TAG-001", "--report", str(tmp_path)]) == 0


def test_a_broker_that_reads_channel_max_with_a_sign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It offers all channels that can be counted, and takes who wants them all for one who wants less than none."""
    tune = Connection.tune

    def signed(self: Connection, method: m.ConnectionTuneOk) -> None:
        if method.channel_max > 0x7FFF:
            self.finish()
        else:
            tune(self, method)

    monkeypatch.setattr(Connection, "tune", signed)
    with ReferenceBroker(limits=Limits(channel_max=65535)) as broker:
        assert main(["run", broker.url, *QUICK, "--rules", "TAG-001", "--report", str(tmp_path)]) == 0


def test_a_broker_that_ends_over_a_login(wants_heartbeats: ReferenceBroker, capsys: pytest.CaptureFixture[str]) -> None:
    door = Door(wants_heartbeats.port, closes_after=1)
    assert main(["run", f"amqp://127.0.0.1:{door.port}", *QUICK, "--rules", "TAG-001"]) == 3
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert "answers nobody since a client logged in" in said
    assert "?heartbeat=60" in said


class Ends:
    """A broker that lets in a client without heartbeats, ends over it, and greets nobody until it is restarted."""

    def __init__(self, mark: Path) -> None:
        self.mark, self.ended = mark, False

    def greet(self, connection: Connection, data: bytes) -> bytes:
        if self.mark.exists():
            self.mark.unlink()
            self.ended = False
        if self.ended:
            connection.finish()
            return b""
        return _GREET(connection, data)

    def enter(self, connection: Connection, method: m.ConnectionOpen) -> None:
        _ENTER(connection, method)
        if not connection.heartbeat:
            self.ended = True
            connection.finish()


_GREET, _ENTER = Connection.greet, Connection.enter


@pytest.fixture
def dies_without_heartbeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ReferenceBroker, Path]]:
    made = Ends(tmp_path / "restarted")
    monkeypatch.setattr(Connection, "greet", lambda self, data: made.greet(self, data))
    monkeypatch.setattr(Connection, "enter", lambda self, method: made.enter(self, method))
    with ReferenceBroker(product="Stranger", version="1") as broker:
        yield broker, made.mark


def test_a_broker_that_dies_without_heartbeats(
    dies_without_heartbeats: tuple[ReferenceBroker, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    broker, _ = dies_without_heartbeats
    assert main(["run", broker.url, *QUICK, "--rules", "TAG-001"]) == 3
    said = " ".join(" ".join(capsys.readouterr()).split())
    assert "answers nobody since a client logged in" in said
    assert "?heartbeat=60" in said


def test_a_broker_that_dies_without_heartbeats_and_is_restarted(
    dies_without_heartbeats: tuple[ReferenceBroker, Path], tmp_path: Path
) -> None:
    broker, mark = dies_without_heartbeats
    restart = f"touch {shlex.quote(str(mark))}"
    report = str(tmp_path / "out")
    assert main(["run", broker.url, *QUICK, "--rules", "TAG-001", "--restart", restart, "--report", report]) == 0


class Wedge:
    """A broker that answers no queue.declare once a queue was deleted that had a consumer; until it is restarted."""

    def __init__(self, mark: Path) -> None:
        self.mark, self.wedged = mark, False

    def declare(self, channel: Channel, method: Any) -> None:
        if self.mark.exists():
            self.mark.unlink()
            self.wedged = False
        if not self.wedged:
            _DECLARE(channel, method)

    def delete(self, channel: Channel, method: Any) -> None:
        queue = channel.connection.vhost.queues.get(method.queue)
        self.wedged = self.wedged or bool(queue is not None and queue.consumers)
        _DELETE(channel, method)


_DECLARE, _DELETE = HANDLERS[m.QueueDeclare], HANDLERS[m.QueueDelete]


@pytest.fixture
def wedge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ReferenceBroker, Path]]:
    made = Wedge(tmp_path / "restarted")
    monkeypatch.setitem(HANDLERS, m.QueueDeclare, made.declare)
    monkeypatch.setitem(HANDLERS, m.QueueDelete, made.delete)
    monkeypatch.setattr("conformance.drive.drivers.calibrate.FLOOR", 0.5)
    monkeypatch.setattr("conformance.session.vitals.RECOVERS", 0.5)
    with ReferenceBroker(product="Stranger", version="1") as broker:
        yield broker, made.mark


def results_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text())  # type: ignore[no-any-return]


def test_a_broker_that_wedges(
    wedge: tuple[ReferenceBroker, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broker, _ = wedge
    assert main(["run", broker.url, *QUICK, "--rules", SETTLED, "--report", str(tmp_path / "out")]) == 1
    first = capsys.readouterr().out.strip().splitlines()[0]
    assert first.startswith("WEDGED  since queue.delete of a queue with a consumer, vhost / answers no queue.declare")
    found = results_of(tmp_path / "out")
    assert [rule["id"] for rule in found["rules"] if rule["verdict"] == "broken"] == []
    assert not found["complete"]
    assert found["incidents"][0]["times"] == 1, "nobody went on with it"


def test_a_broker_that_wedges_and_is_restarted(wedge: tuple[ReferenceBroker, Path], tmp_path: Path) -> None:
    broker, mark = wedge
    command = f"touch {shlex.quote(str(mark))}"
    out = tmp_path / "out"
    assert main(["run", broker.url, *QUICK, "--rules", SETTLED, "--restart", command, "--report", str(out)]) == 1
    found = results_of(out)
    assert found["complete"]
    assert found["unplayed"] == {}
    assert [rule["id"] for rule in found["rules"] if rule["verdict"] == "broken"] == []


@pytest.fixture
def jammed(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReferenceBroker]:
    """Of this broker only a vhost is wedged when a queue is taken from its consumers."""
    monkeypatch.setattr("conformance.drive.drivers.calibrate.FLOOR", 0.5)
    monkeypatch.setattr("conformance.session.vitals.RECOVERS", 0.5)
    with ReferenceBroker(personality="wedges.vhost-by-deletion", http_port=0) as broker:
        yield broker


def on_another_vhost(broker: ReferenceBroker, out: Path, *options: str) -> list[str]:
    """What is told to have happened to the broker; the run comes to its end, and accuses no rule."""
    assert main(["run", broker.url, *QUICK, "--rules", SETTLED, "--report", str(out), *options]) == 1
    found = results_of(out)
    assert found["complete"]
    assert [rule["id"] for rule in found["rules"] if rule["verdict"] == "broken"] == []
    return [one["what"] for one in found["incidents"]]


def test_a_wedged_vhost_is_left_for_one_that_is_made(
    jammed: ReferenceBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, *others = on_another_vhost(jammed, tmp_path, "--broker-admin", jammed.admin_url)
    assert first.startswith("since queue.delete of a queue with a consumer, vhost / answers no queue.declare")
    assert others[-1] == "then the run continued in a vhost made for it"
    assert "MOVED  then the run continued in a vhost made for it" in capsys.readouterr().out


def test_a_wedged_vhost_is_left_for_one_that_was_named(jammed: ReferenceBroker, tmp_path: Path) -> None:
    spare = [f"spare{number}" for number in range(6)]
    for name in spare:
        Admin(jammed.admin_url).make_vhost(name, "guest")
    told = on_another_vhost(jammed, tmp_path, "--spare-vhosts", ",".join(["nowhere", *spare]))
    assert "then the run continued in vhost spare0" in told


def test_without_another_vhost_the_run_ends_early(jammed: ReferenceBroker, tmp_path: Path) -> None:
    assert main(["run", jammed.url, *QUICK, "--rules", SETTLED, "--report", str(tmp_path)]) == 1
    (why,) = results_of(tmp_path)["unplayed"]
    assert why.startswith("the broker answers no queue.declare; give --restart COMMAND, or another vhost by --spare-")


def refuse_arguments(channel: Channel, method: Any) -> None:
    """Closes the channel over any queue argument."""
    if method.arguments:
        raise precondition(f"unknown argument {next(iter(method.arguments))!r}")
    _DECLARE(channel, method)


def refuse(channel: Channel, method: Any) -> None:
    raise not_implemented(method.NAME)


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReferenceBroker]:
    """No transactions, no confirms, no refusal of several, no arguments of queues; and nobody who announces any
    capabilities is let in."""
    monkeypatch.setitem(HANDLERS, m.QueueDeclare, refuse_arguments)
    for method in (m.TxSelect, m.ConfirmSelect, m.BasicNack):
        monkeypatch.setitem(HANDLERS, method, refuse)
    log_in = Connection.log_in

    def choosy(self: Connection, method: m.ConnectionStartOk) -> None:
        if values.lookup(method.client_properties, "capabilities") is None:
            log_in(self, method)
        else:
            self.finish()

    monkeypatch.setattr(Connection, "log_in", choosy)
    with ReferenceBroker(product="Stranger", version="1") as broker:
        yield broker


def test_who_refuses_what_is_optional_does_not_offer_it(
    stranger: ReferenceBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    assert main(["run", stranger.url, *QUICK, "--report", str(out)]) == 1
    rules = {rule["id"]: rule for rule in results_of(out)["rules"]}
    assert {name for name, rule in rules.items() if rule["verdict"] == "broken"} == {"CONN-006"}
    assert "540" in rules["TX-001"]["reason"]
    for name in ("TX-001", "CNF-001", "ACK-011", "CNF-011"):
        assert rules[name]["verdict"] == "not-offered", name
    for name in ("TAG-001", "ACK-001", "ACK-002", "QOS-001", "AUTO-001", "RQ-014"):
        assert rules[name]["verdict"] == "held", name
    assert "tx.select: refused" in capsys.readouterr().out


POOR = {
    "poor.durable-softly": (("TAG-001", "QUEUE-003", "QUEUE-022"), {"QUEUE-004": "durable queues: channel.close 406"}),
    "poor.exclusive-hard": (("QUEUE-003", "QUEUE-004"), {"QUEUE-006": "exclusive queues: connection.close 540"}),
    "poor.one-channel": (("TAG-001", "ACK-002", "AUTO-001"), {"CHAN-004": "no more channels of a connection than 1"}),
    "poor.no-gets-softly": (("TAG-001", "ACK-001", "AUTO-001"), {"GET-005": "basic.get: channel.close 540"}),
    "poor.no-gets-hard": (("TAG-001", "ACK-002"), {"GET-001": "basic.get: connection.close 540"}),
    "poor.no-deletes": (("TAG-001", "QUEUE-003"), {"QUEUE-017": "queue.delete: channel.close 540"}),
    "poor.three-connections": (("TAG-001", "CONN-006"), {"CONN-023": "a dozen connections at once: not more than 3"}),
}
"""By trait: what is judged all the same, and what is not offered."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("trait", POOR)
def test_what_a_poor_broker_has_is_examined_and_what_it_has_not_is_told(trait: str, tmp_path: Path) -> None:
    held, absent = POOR[trait]
    with ReferenceBroker(personality=trait) as broker:
        wanted = ",".join([*held, *absent])
        assert main(["run", broker.url, *QUICK, "--rules", wanted, "--report", str(tmp_path)]) == 0
    rules = {rule["id"]: rule for rule in results_of(tmp_path)["rules"]}
    assert {name: rules[name]["verdict"] for name in held} == dict.fromkeys(held, "held")
    for name, words in absent.items():
        assert rules[name]["verdict"] == "not-offered"
        assert words in rules[name]["reason"]


@pytest.mark.parametrize(
    ("trait", "broken"), [("poor.no-gets-dropped", {"ERR-012"}), ("poor.no-gets-silent", {"GET-005"})]
)
def test_who_answers_no_get_breaks_the_rules_about_gets_and_is_examined_by_consumers(
    trait: str, broken: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.drive.drivers.calibrate.FLOOR", 0.5)
    held = ["TAG-001", "ACK-001", "AUTO-001", "RQ-011"]
    with ReferenceBroker(personality=trait) as broker:
        wanted = ",".join([*held, "GET-005", "ERR-012"])
        assert main(["run", broker.url, *QUICK, "--rules", wanted, "--report", str(tmp_path)]) == 1
    rules = {rule["id"]: rule["verdict"] for rule in results_of(tmp_path)["rules"]}
    assert {name for name, verdict in rules.items() if verdict == "broken"} == broken
    assert {name: rules[name] for name in held} == dict.fromkeys(held, "held")


def test_who_has_no_default_exchange_breaks_that_rule_and_is_examined_by_another(tmp_path: Path) -> None:
    with ReferenceBroker(personality="poor.no-default-exchange") as broker:
        held = ["TAG-001", "ACK-002", "AUTO-001", "RQ-014", "RETURN-001", "QUEUE-019"]
        wanted = ",".join([*held, "ROUTE-020"])
        assert main(["run", broker.url, *QUICK, "--rules", wanted, "--report", str(tmp_path)]) == 1
    rules = {rule["id"]: rule["verdict"] for rule in results_of(tmp_path)["rules"]}
    assert {name for name, verdict in rules.items() if verdict == "broken"} == {"ROUTE-020"}
    assert {name: rules[name] for name in held} == dict.fromkeys(held, "held")


def test_who_refuses_to_declare_by_an_internal_error_breaks_that_rule_alone(tmp_path: Path) -> None:
    with ReferenceBroker(personality="poor.durable-hard") as broker:
        wanted = "TAG-001,QUEUE-004,ERR-012"
        assert main(["run", broker.url, *QUICK, "--rules", wanted, "--report", str(tmp_path)]) == 1
    rules = {rule["id"]: rule["verdict"] for rule in results_of(tmp_path)["rules"]}
    assert {name for name, verdict in rules.items() if verdict == "broken"} == {"ERR-012"}
    assert rules["TAG-001"] == "held"


def test_the_doctor_asks_as_a_run_does(stranger: ReferenceBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", stranger.url]) == 0
    said = capsys.readouterr().out
    for feature in ("tx.select", "confirm.select", "x-max-length"):
        assert f"  {feature}: refused (" in said
    assert "  queue types  classic\n" in said


def test_the_time_limit_ends_a_run_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("conformance.session.session.SHARE", 0.1)
    out = tmp_path / "out"
    assert main(["run", *QUICK, "--time-limit", "1", "--report", str(out)]) == 1
    found = results_of(out)
    assert list(found["unplayed"]) == ["the run reached its time limit"]
    assert not found["complete"]
    assert any(rule["verdict"] == "held" for rule in found["rules"])
    said = " ".join(capsys.readouterr().out.split())
    assert "checks were not played: the run reached its time limit" in said
    assert "give --time-limit MINUTES" in said


class From:
    """Of the answers of one kind, a connection of the broker sends none from this one on."""

    def __init__(self, answer: type[Any], number: int) -> None:
        self.answer, self.number, self.sent = answer, number, dict[int, int]()

    def send(self, connection: Connection, item: Any) -> None:
        if isinstance(item, self.answer):
            self.sent[id(connection)] = self.sent.get(id(connection), 0) + 1
            if self.sent[id(connection)] >= self.number:
                return
        _SEND(connection, item)


_SEND = Connection.send


@pytest.mark.parametrize(
    ("answer", "number", "rules", "broken"),
    [
        (m.ChannelCloseOk, 64, "ERR-008,ERR-014", "ERR-008"),
        (m.ExchangeDeleteOk, 1, "ERR-014", "ERR-014"),
    ],
)
def test_what_is_not_answered_at_the_end_of_a_history_is_no_pass_either(
    answer: type[Any],
    number: int,
    rules: str,
    broken: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conformance.drive.drivers.calibrate.FLOOR", 0.5)
    silent = From(answer, number)
    monkeypatch.setattr(Connection, "send", lambda self, item: silent.send(self, item))
    with ReferenceBroker() as broker:
        assert main(["run", broker.url, *QUICK, "--rules", rules, "--report", str(tmp_path)]) == 1
    assert [one["id"] for one in results_of(tmp_path)["rules"] if one["verdict"] == "broken"] == [broken]
