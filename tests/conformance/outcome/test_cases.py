"""Cases prove what they say: every emitted script shows its bug on the wrong broker, and no bug on a right one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pika
import pytest
from pika.exceptions import ChannelClosedByBroker

from codec import wire
from codec.methods import BY_NAME
from conformance.campaigns import trial
from conformance.campaigns.hunt import held_to
from conformance.catalogue import profiles, rules
from conformance.cli import main, replay
from conformance.drive.drivers.raw import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import plays_for
from conformance.drive.run.runner import perform
from conformance.evidence import pcap
from conformance.evidence.scripts import raw
from conformance.outcome import cases
from conformance.outcome.ledger import Witness
from conformance.outcome.results import Case, RuleResult
from conformance.session import checks
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS

SAMPLE = (
    "settle.multiple-only-below-tag",
    "settle.stale-multiple-accepted",
    "mode.ack-undone-at-end",
    "requeue.persistent-overtake",
    "prefetch.denied-global-limits-nobody",
    "confirms.multiple-over-refused",
    "routes.return-with-code-313",
    "cancel.nowait-answered",
    "ends.loss-returns-nothing",
    "tags.auto-ack-skips-counter",
    "errors.connection-dies-too",
    "slots.return-frees-nothing",
    "returning.limit-one-late",
    "timeouts.stale-refused",
    "prefetch.size-accepted",
)


@contextlib.contextmanager
def broker_of(mutant: str) -> Iterator[ReferenceBroker]:
    names = (mutant,) if mutant else ()
    with ReferenceBroker(mutants=names, dialect=held_to(MUTANTS[mutant or SAMPLE[0]].rules)) as broker:
        yield broker


@cache
def case_of(mutant: str) -> tuple[Case, RuleResult]:
    """The case of a mutant: the first finding of a rule that it names, in the scenes of those rules."""
    named = MUTANTS[mutant].rules
    profile = profiles.load(held_to(named))
    with broker_of(mutant) as broker:
        bench = Bench(Target.parse(broker.url), profile, deadline=0.5)
        for play in plays_for(named, profile, "ci"):
            stage, _ = perform(play, bench)
            for finding in bench.damning(stage.judgement, play.queue_type):
                if finding.rule in named:
                    kept = checks.cut(stage.events, finding, profile)
                    tale = trial.tell(stage.events, kept, finding, profile, bench.target, 1.0)
                    steps = checks.steps_of(kept, profile)
                    witness = Witness(
                        finding, steps, tale.reproduced or "witnessed", 1, tale.story, tale.untold, tale.absent
                    )
                    return made(witness, play.name, play.queue_type), result(finding.rule)
    raise AssertionError(f"{mutant} breaks nothing")


def made(witness: Witness, scene: str, queue_type: str) -> Case:
    finding = witness.finding
    return Case(
        f"{finding.rule}-1",
        finding.rule,
        finding.history,
        scene,
        queue_type,
        finding.allowed,
        finding.observed,
        finding.at,
        finding.certain,
        1,
        witness.reproduced,
        None,
        witness.steps,
        "again",
        finding.witness,
        witness.story,
        witness.untold,
        witness.absent,
    )


def result(rule: str) -> RuleResult:
    known = rules.get(rule)
    return RuleResult(
        rule,
        known.family,
        known.title,
        known.level,
        known.source,
        known.clause,
        known.status,
        "broken",
        1,
        1,
        True,
        None,
        None,
        {},
        (),
    )


@pytest.mark.parametrize("mutant", SAMPLE)
@pytest.mark.sampled(4)
def test_each_script_of_a_case_tells_the_wrong_broker_from_a_right_one(mutant: str, tmp_path: Path) -> None:
    case, rule = case_of(mutant)
    scripts, absent = cases.scripts_of(rule, case)
    assert "raw" in scripts, case.untold
    assert {"raw", "pika", "py-amqp"} == {*scripts, *absent}
    for library, text in scripts.items():
        path = tmp_path / f"{library}.py"
        path.write_text(text)
        for name, code in ((mutant, 1), ("", 0)):
            dialect = held_to(MUTANTS[mutant].rules)
            with ReferenceBroker(mutants=(name,) if name else (), dialect=dialect) as broker:
                done = subprocess.run([sys.executable, "-I", str(path), broker.url], capture_output=True, text=True)
            assert done.returncode == code, f"{library} on {name or 'a right broker'}: {done.stdout}{done.stderr}"


def test_a_script_without_a_broker_cannot_say(tmp_path: Path) -> None:
    case, rule = case_of(SAMPLE[0])
    path = tmp_path / "raw.py"
    path.write_text(cases.scripts_of(rule, case)[0]["raw"])
    done = subprocess.run([sys.executable, "-I", str(path), "amqp://127.0.0.1:1/"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


def document(mutant: str) -> dict[str, Any]:
    case, rule = case_of(mutant)
    return {
        **asdict(case),
        "schema": cases.SCHEMA,
        "run": "r",
        "seed": 0,
        "suite": "0",
        "broker": "b",
        "title": rule.title,
        "profile": held_to(MUTANTS[mutant].rules),
        "level": rule.level,
        "source": rule.source,
        "clause": rule.clause,
        "scripts": {},
    }


@pytest.mark.parametrize("mutant", [*SAMPLE[:3], "errors.reopen-keeps-prefetch"])
def test_replay_tells_a_mended_broker_from_one_that_is_not(
    mutant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(document(mutant)))
    monkeypatch.setattr("conformance.drive.drivers.calibrate.FLOOR", 1.0)
    with broker_of(mutant) as broker:
        assert main(["replay", str(path), broker.url, "--times", "2"]) == 1
    assert "STILL BROKEN (2 of 2)" in capsys.readouterr().out
    assert main(["replay", str(path), "--times", "2"]) == 0
    assert capsys.readouterr().out.startswith("FIXED")


def test_replay_leaves_no_queue_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, declared = tmp_path / "case.json", set[str]()
    path.write_text(json.dumps(document(SAMPLE[0])))
    heard = replay.heard
    monkeypatch.setattr(replay, "heard", lambda event: declared.add(event.queue or "") or heard(event))
    with ReferenceBroker() as broker:
        assert main(["replay", str(path), broker.url, "--times", "1"]) == 0
        with pika.BlockingConnection(pika.URLParameters(broker.url)) as client:
            for name in declared - {""}:
                with pytest.raises(ChannelClosedByBroker, match="404"):
                    client.channel().queue_declare(name, passive=True)
    assert declared - {""}


def test_a_case_follows_its_schema() -> None:
    schema = json.loads((resources.files("conformance") / "schemas" / "case.json").read_text())
    jsonschema.validate(json.loads(json.dumps(document(SAMPLE[0]))), schema)


def test_what_is_no_case_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "case.json"
    path.write_text("{}")
    assert main(["replay", str(path)]) == 2
    assert "is not a case" in " ".join(capsys.readouterr().err.split())


def test_the_transcript_shows_what_is_unacked_beside_the_step() -> None:
    case, rule = case_of(SAMPLE[0])
    text = cases.transcript(rule, case)
    assert "unacked" in text
    assert case.observed in text


def test_a_capture_opens_in_tshark_with_every_frame(tmp_path: Path) -> None:
    case, _ = case_of(SAMPLE[0])
    path = tmp_path / "case.pcap"
    path.write_bytes(pcap.capture([asdict(step) for step in case.steps]))
    done = subprocess.run(
        ["tshark", "-r", str(path), "-Y", "amqp", "-o", "tcp.check_checksum:TRUE"],
        capture_output=True,
        text=True,
        check=True,
    )
    sent = [step for step in case.steps if step.method]
    assert len(done.stdout.splitlines()) == len(sent)
    assert "Malformed" not in done.stdout


def test_the_scripts_know_the_methods_as_the_codec_declares_them() -> None:
    for name, (number, method, arguments) in raw.METHODS.items():
        assert wire.METHODS[number, method][0] == name
        assert tuple(word.split(":")[0] for word in arguments.split()) == BY_NAME[name].FIELDS
