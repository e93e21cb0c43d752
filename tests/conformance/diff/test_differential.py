"""Compatibility notes: an exchange was played on both brokers, and what stands below it is what they answered."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue.profiles import Profile
from conformance.cli import main
from conformance.diff import differential
from conformance.drive.run.plays import Play, plays_for
from conformance.outcome.results import to_json
from reports.compatibility import markdown
from tests.support.runs import case, results, rule


def explained(tmp_path: Path, code: int, *words: str) -> dict[str, Any]:
    out = tmp_path / "note.json"
    assert main(["diff", "--explain", *words, "--format", "json", "--out", str(out)]) == code
    document: dict[str, Any] = json.loads(out.read_text())
    return document


def test_a_wrong_broker_and_a_right_one_answer_differently(tmp_path: Path) -> None:
    wrong, right = "documented+settle.reject-always-requeues", "documented"
    (entry,) = explained(tmp_path, 1, wrong, right, "--rules", "MODE-005")["disagreements"][:1]
    assert entry["rules"][0]["rule"] == "MODE-005"
    by_wrong, by_right = (
        entry["answers"][f"reference broker as documented{more}"]
        for more in (" with settle.reject-always-requeues", "")
    )
    assert any("basic.get-ok" in line for line in by_wrong)
    assert any("basic.get-empty" in line for line in by_right)
    assert len([row for row in entry["story"] if row["method"] == "basic.publish"]) == 1


def test_what_machines_alone_have_seen_is_shown_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def settling(wanted: Sequence[str], profile: Profile, depth: str) -> list[Play]:
        return [one for one in plays_for(wanted, profile, depth) if one.key == "settlement[lockstep]-classic"]

    monkeypatch.setattr(differential, "plays_for", settling)
    wrong = "documented+settle.reject-always-requeues"
    found = explained(tmp_path, 1, wrong, "documented", "--rules", "MODE-005")["disagreements"]
    assert {one["scene"] for entry in found for one in entry["rules"]} == {"settlement[lockstep]"}
    assert all(len(set(map(tuple, entry["answers"].values()))) == 2 for entry in found)


def test_what_the_headers_count_is_part_of_an_answer(tmp_path: Path) -> None:
    (entry,) = explained(tmp_path, 1, "rabbitmq-3.10", "rabbitmq-4.3", "--rules", "RQ-012")["disagreements"]
    older, newer = (entry["answers"][f"reference broker as rabbitmq-{one}"][-1] for one in ("3.10", "4.3"))
    assert "redelivered x-delivery-count=1" in older
    assert "redelivered x-acquired-count=1" in newer


def test_two_dialects_differ_where_their_profiles_do(tmp_path: Path) -> None:
    document = explained(tmp_path, 1, "rabbitmq-3.10", "rabbitmq-4.3", "--rules", "RQ-003")
    (entry,) = document["disagreements"]
    assert entry["answers"]["reference broker as rabbitmq-3.10"] != entry["answers"]["reference broker as rabbitmq-4.3"]
    assert "requeue_order" in {choice["name"] for choice in document["choices"]}
    note = markdown(document)
    assert note.startswith("# Compatibility note: reference broker as rabbitmq-3.10 and reference broker as ")
    assert "amqpconf" not in note
    assert "The two differ in 1 exchange, each made as short as possible and played 3 times on both." in note


def test_a_broker_does_not_differ_from_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--explain", "documented", "documented", "--rules", "TAG-003"]) == 0
    assert "no exchange was found on which the two differ" in capsys.readouterr().out


def test_runs_are_explained_by_the_rules_on_which_they_disagree(tmp_path: Path) -> None:
    names = ("amqp-conformance reference 1", "amqp-conformance reference 1 with settle.reject-always-requeues")
    held, broken = rule("MODE-005"), rule("MODE-005", "broken", case("MODE-005", "m1 is delivered again"))
    for file, name, judged in (("a.json", names[0], held), ("b.json", names[1], broken)):
        run = results(name, [judged, rule("TAG-001")])
        embedded = to_json(run).replace(f"amqp://{name}", "embedded")
        (tmp_path / file).write_text(embedded)
    document = explained(tmp_path, 1, str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert {one["rule"] for entry in document["disagreements"] for one in entry["rules"]} == {"MODE-005"}
    assert "settle.reject-always-requeues" in document["after"]["name"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["rabbitmq-4", "documented"], "did you mean rabbitmq-4"),
        (["documented+nothing", "documented"], "no mutant"),
        (["none.json", "documented"], "cannot be read"),
        (["documented", "documented", "--format", "html"], "markdown"),
        (["documented", "documented", "--rules", "XYZ-*"], "No rule matches"),
        (["amqp://", "documented"], "names no host"),
    ],
)
def test_what_names_no_broker_is_refused(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--explain", *words]) == 2
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_broker_that_does_not_answer_is_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    url = f"amqp://guest:secret@127.0.0.1:{free}/"
    assert main(["diff", "--explain", url, "documented", "--rules", "TAG-001"]) == 3
    assert "secret" not in capsys.readouterr().err


def test_rules_are_no_option_of_a_plain_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a.json", "b.json", "--rules", "ACK-*"]) == 2
    assert "--rules needs --explain" in capsys.readouterr().err
