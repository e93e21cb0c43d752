"""The command line: data on stdout, everything else on stderr, and the documented exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import conformance
from codec import methods as m
from conformance.catalogue import profiles, rules, sets
from conformance.cli import main
from conformance.cli.doctor import Diagnosis, format_diagnosis
from conformance.drive.run.size import DEPTHS
from conformance.outcome.results import from_json
from conformance.session.exits import MEANING
from conformance.session.options import MINUTES, TABLE, Options
from conformance.session.session import again
from conformance.session.ticket import Ticket, without_passwords
from reference_broker import ReferenceBroker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import not_implemented
from reference_broker.core.parts import HANDLERS

ROOT = Path(__file__).parents[3]
SCHEMAS = Path(conformance.__file__).parent / "schemas"


@pytest.fixture(scope="module")
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as made:
        yield made


def out(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(words) == code
    return capsys.readouterr().out


def test_the_catalogue_as_text_says_what_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "list")
    assert all(name in said for name in rules.CATALOGUE)
    assert "[planned]" not in said
    assert f"{len(rules.CATALOGUE)} rules:" in said


def test_the_catalogue_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(out(capsys, "list", "--format", "json"))
    assert [row["id"] for row in rows] == list(rules.CATALOGUE)
    wanted = {"id", "family", "title", "level", "status", "applies", "scope", "mutants"}
    assert all(wanted <= set(row) for row in rows)
    assert all(row["reason"] for row in rows if row["status"] not in ("judged", "characterised"))


def test_a_part_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(out(capsys, "list", "ack-*,tag-001", "--level", "must", "--format", "json"))
    assert {row["family"] for row in rows} == {"ACK", "TAG"}
    assert {row["level"] for row in rows} == {"must"}


def as_a_draft(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sets, "SETS", {**sets.SETS, name: replace(sets.SETS[name], draft=True)})


def test_a_set_says_whether_it_may_still_change(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = out(capsys, "list", "--set", "guides-1")
    assert "guides-1 · The guides, first edition" in said
    assert "no others from now on" in said
    assert "178 rules:" in said
    as_a_draft(monkeypatch, "protocol-1")
    assert "a draft, which may still change" in out(capsys, "list", "GET-*", "--set", "protocol-1")
    rows = json.loads(out(capsys, "list", "RQ-*", "--set", "guides-1", "--format", "json"))
    assert [row["id"] for row in rows] == [f"RQ-{number:03}" for number in range(1, 16)]


def test_a_run_says_which_set_it_played(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("run", "--depth", "smoke", "--rules", "RQ-015,RQ-016", "--set")
    assert "1 rule of the set guides-1 judged: 1 held" in out(capsys, *words, "guides-1")
    as_a_draft(monkeypatch, "protocol-1")
    document = json.loads(out(capsys, *words, "guides-1,protocol-1", "--format", "json"))
    assert document["selection"]["set"] == "guides-1,protocol-1"
    assert [rule["id"] for rule in document["rules"]] == ["RQ-015", "RQ-016"]
    assert any("the set protocol-1 is a draft" in one for one in document["gate"]["warnings"])


def test_what_is_learned_later_closes_no_gate_of_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    """RQ-016 is not of guides-1, so a broker that breaks it still passes the gate of that set."""
    words = ("run", "--depth", "smoke", "--rules", "RQ-*", "--mutant", "contents.headers-lost")
    assert out(capsys, *words, code=1)
    assert out(capsys, *words, "--set", "guides-1")


def test_a_rule_explained(capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "explain", "ack-010")
    assert said.startswith("ACK-010  ")
    assert rules.get("ACK-010").clause[:40] in " ".join(said.split())
    assert json.loads(out(capsys, "explain", "ACK-010", "--format", "json"))["id"] == "ACK-010"


def test_help_documents_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for code, meaning in MEANING.items():
        assert re.search(rf"^  {code} +{re.escape(meaning)}$", said, re.MULTILINE)


def test_the_doctor_says_what_was_negotiated(broker: ReferenceBroker, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "doctor", broker.url)
    for layer in ("tcp", "header", "login", "vhost", "rights", "queues", "clean-up"):
        assert f"ok    {layer}\n" in said
    assert "frame-max 131072" in said
    assert "queue types  classic, quorum\n" in said
    assert "profile      documented" in said
    assert json.loads(out(capsys, "doctor", "--format", "json", broker.url))["failed"] is None


@pytest.mark.parametrize(
    ("dialect", "rules"),
    [
        ("rabbitmq-3.8", None),
        ("rabbitmq-3.10", "TMO-004, TMO-017, TMO-019, TMO-024"),
        ("rabbitmq-4.0", "TMO-004"),
    ],
)
def test_the_doctor_says_which_rules_need_a_short_timeout_of_the_node(
    dialect: str,
    rules: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ReferenceBroker(dialect=dialect) as broker:
        said = out(capsys, "doctor", broker.url)
    if rules is None:
        assert "consumer_timeout" not in said
    else:
        assert f"for {rules} a node needs a short consumer timeout of its own" in " ".join(said.split())
        assert "    consumer_timeout = 5000\n" in said
        assert "--consumer-timeout 5000 --rules 'TMO-*'" in said


def test_the_doctor_says_what_is_offered_and_what_is_not(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(channel: Channel, method: m.TxSelect) -> None:
        raise not_implemented(method.NAME)

    monkeypatch.setitem(HANDLERS, m.TxSelect, refuse)
    monkeypatch.delenv("COLUMNS", raising=False)
    with ReferenceBroker(product="Stranger", version="1") as stranger:
        found = json.loads(out(capsys, "doctor", "--format", "json", stranger.url))
        said = out(capsys, "doctor", stranger.url).splitlines()
    first, *others = found["offers"]
    assert "confirm.select" in first
    assert "tx.select" not in first
    assert [line.partition(" (")[0] for line in others] == ["tx.select: refused"]
    assert "540" in others[0]
    assert [line.strip() for line in said[-2:]] == found["offers"], "people are told the same"


def test_the_doctor_says_what_is_not_certain_of_the_profile() -> None:
    server_properties = {"product": "RabbitMQ", "version": "4.4.1"}
    match = profiles.match(server_properties)
    diagnosis = Diagnosis("amqp://h", profile=match.profile.name, matched=match.how)
    narrow = format_diagnosis(diagnosis, lambda _, text: text, 60)
    assert all(len(line) <= 60 for line in narrow.splitlines() if "amqp-conformance " not in line)
    lines = format_diagnosis(diagnosis, lambda _, text: text).splitlines()
    assert narrow.split() == " ".join(lines).split()
    place = next(number for number, line in enumerate(lines) if line.split()[:1] == ["profile"])
    assert lines[place].split() == ["profile", "rabbitmq-4.3"]
    assert lines[place + 1].strip() == "RabbitMQ 4.4.1 is not known; examined as RabbitMQ 4.3, the nearest"


@pytest.mark.rabbitmq
def test_the_doctor_knows_rabbitmq(capsys: pytest.CaptureFixture[str]) -> None:
    url = os.environ.get("AMQP_RABBITMQ_URL")
    if not url:
        pytest.skip("AMQP_RABBITMQ_URL is not set")
    diagnosis = json.loads(out(capsys, "doctor", "--format", "json", url))
    assert diagnosis["product"] == "RabbitMQ"
    assert diagnosis["profile"].startswith("rabbitmq-")
    assert "publisher_confirms" in diagnosis["capabilities"]
    assert "classic" in diagnosis["queue_types"]


def test_a_run_prints_results_that_follow_the_schema(
    broker: ReferenceBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["run", broker.url, "--rules", "TAG-001,TAG-002", "--depth", "smoke", "--examples", "1", "--seed", "3"]
    assert main([*words, "--format", "json", "--report", str(tmp_path)]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    jsonschema.validate(document, json.loads((SCHEMAS / "results.json").read_text()))
    assert document["command"].startswith("amqp-conformance run amqp://guest@127.0.0.1")
    assert document["seed"] == 3
    assert {rule["id"] for rule in document["rules"] if rule["selected"]} == {"TAG-001", "TAG-002"}
    assert f"report: {tmp_path / 'index.html'}" in said.err
    assert (tmp_path / "results.json").read_text() == said.out

    written = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    again_in = tmp_path / "again"
    assert out(capsys, "report", str(tmp_path), "--out", str(again_in)).strip() == str(again_in / "index.html")
    assert {path.name: path.read_text() for path in again_in.iterdir() if path.is_file()} == written


def test_a_run_prints_its_summary_without_colour_where_nobody_looks(
    broker: ReferenceBroker,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", broker.url, "--rules", "TAG-001", "--depth", "smoke", "--examples", "1"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert said.out.startswith("GATE OPEN")
    assert re.search(r"1 rule judged: 1 held", said.out)
    assert re.search(r"^\d+ of \d+ checks$", said.err, re.MULTILINE)


def test_the_broker_verb_serves_until_interrupted() -> None:
    words = [sys.executable, "-m", "conformance.cli", "broker", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    assert main(["doctor", url]) == 0
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""


def test_the_broker_verb_takes_what_the_broker_takes(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "conformance.cli",
        "broker",
        "--port",
        "0",
        "--http",
        "0",
        "--data",
        str(tmp_path),
        "--dialect",
        "rabbitmq-4.3",
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline().split()[0] for _ in range(2)] == ["management", "listening"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "00000001.log").exists()


def test_a_reader_that_leaves_early_is_no_fault() -> None:
    words = f"{sys.executable} -m conformance.cli list --format json | head -1"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[\n"
    assert done.stderr == ""


def test_the_pages_tell_the_defaults_of_the_time_limit() -> None:
    page = " ".join((ROOT / "docs" / "examine-any-broker.md").read_text(encoding="utf-8").split())
    smoke, ci, deep = (MINUTES[depth] for depth in DEPTHS)
    assert f"{smoke} at depth smoke, {ci} at ci, {deep} at deep" in page
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{smoke} minutes at depth `smoke`, {ci} at `ci`, {deep} at `deep`" in readme
    (option,) = (option for option in TABLE if option.name == "time-limit")
    assert option.help.endswith(f"{smoke}, {ci} or {deep}")


def test_options_are_checked_and_have_defaults() -> None:
    assert Options.checked(lambda name: None, {}) == Options()
    said = {"broker-url": ["mine=amqp://h"], "level": "MUST", "seed": "7", "examples": 3, "strict": True}
    options = Options.checked(said.get, {"AMQP_URL": "amqp://other"})
    assert options == Options(url="amqp://h", level="must", seed=7, examples=3, strict=True)
    assert Options.checked(lambda name: None, {"AMQP_URL": "amqp://other"}).url == "amqp://other"


def test_every_option_of_the_table_is_an_option_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = capsys.readouterr().out
    assert all(f"--{option.name}" in said for option in TABLE if not option.many and not option.hunts)


def test_the_command_that_runs_again_shows_no_secret() -> None:
    assert again(Options()) == "amqp-conformance run"
    assert again(Options(url="amqp://guest:guest@h/%2F")) == "amqp-conformance run amqp://guest:guest@h/%2F"
    secret = again(Options(url="amqp://me:secret@h/", profile="rabbitmq-4.3", depth="deep", examples=9))
    assert secret == 'amqp-conformance run "$AMQP_URL" --profile rabbitmq-4.3 --depth deep --examples 9'
    assert without_passwords("run amqp://a:b@h x=amqps://c:d@h/v") == "run amqp://a@h x=amqps://c@h/v"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", Ticket.drawn(["run"]).started)


def test_results_of_a_run_read_back(broker: ReferenceBroker, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", broker.url, "--rules", "MODE-001", "--depth", "smoke", "--examples", "1", "--format", "json")
    results = from_json(out(capsys, *words))
    assert results.gate.open
    assert results.broker.negotiated["frame_max"] == 131072
    assert results.broker.url == broker.url.replace(":guest@", "@")


@pytest.mark.parametrize("no_color", [False, True])
def test_on_a_terminal_there_is_a_bar_and_one_summary(broker: ReferenceBroker, no_color: bool) -> None:
    words = [
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        broker.url,
        "--rules",
        "TAG-001",
        "--depth",
        "smoke",
        "--examples",
        "1",
    ]
    surroundings = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    surroundings |= {"TERM": "xterm", **({"NO_COLOR": "1"} if no_color else {})}
    master, slave = pty.openpty()
    process = subprocess.Popen(words, stdout=slave, stderr=slave, stdin=slave, env=surroundings)
    os.close(slave)
    said = _all_of(master)
    assert process.wait(timeout=60) == 0
    assert said.count("GATE OPEN") == 1
    assert "━" in said
    assert "test session" not in said
    assert ("\x1b[1;32mGATE OPEN" in said) is not no_color


def _all_of(master: int) -> str:
    """Everything that is written to a terminal until nobody holds its other end."""
    said = b""
    with contextlib.suppress(OSError):
        while data := os.read(master, 65536):
            said += data
    os.close(master)
    return said.decode()
