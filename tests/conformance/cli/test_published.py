"""What is published of formats: schemas that are schemas, and one real run of a wrong broker that follows all of them
(deviations and profiles have tests of their own); and the pages that are made of such runs afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.cli import report as pages
from conformance.cli import schema as schemas
from conformance.outcome.deliver import previous
from conformance.session.exits import Refused
from tools import main_job


def cli(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "conformance.cli", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a broker whose tags start at 0: results, a case, a recording, and the job's summary page."""
    out = tmp_path_factory.mktemp("ran")
    done = cli(
        "run",
        "--mutant",
        "tags.start-at-zero",
        "--rules",
        "TAG-001",
        "--depth",
        "smoke",
        "--report",
        out,
        "--recording",
        out / "recording",
        "--history",
        out / "history",
        GITHUB_STEP_SUMMARY=str(out / "page.md"),
    )
    assert done.returncode == 1, done.stderr
    return out


def validate(name: str, document: Any) -> None:
    jsonschema.Draft202012Validator(json.loads(schemas.text(name))).validate(document)


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_one_and_names_its_version(name: str) -> None:
    document = json.loads(schemas.text(name))
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$id"].startswith(f"amqp-conformance/{name}/")


def test_there_is_a_schema_of_everything() -> None:
    assert {"results", "case", "clients", "recording", "deviations", "profile"} <= set(schemas.names())
    with pytest.raises(Refused, match="there are case, clients, deviations"):
        schemas.text("nothing")


def test_a_real_run_follows_the_schemas(ran: Path) -> None:
    validate("results", json.loads((ran / "results.json").read_text("utf-8")))
    (kept,) = (ran / "history").glob("*.json")
    validate("kept", json.loads(kept.read_text("utf-8")))
    cases = list((ran / "cases").glob("TAG-001-*.json"))
    assert cases
    for case in cases:
        validate("case", json.loads(case.read_text("utf-8")))
    for file in (ran / "recording").glob("*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            validate("recording", json.loads(line))


def test_the_verb_prints_schemas() -> None:
    listed = cli("schema")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == schemas.names()
    assert json.loads(cli("schema", "results").stdout)["$id"] == "amqp-conformance/results/1"
    wrong = cli("schema", "nothing")
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)


def test_the_summary_is_added_to_the_job_s_page(ran: Path) -> None:
    said = (ran / "page.md").read_text("utf-8")
    assert said.strip() == (ran / "summary.md").read_text("utf-8").strip()
    assert "gate closed" in said.splitlines()[0]


def test_several_results_make_one_page(ran: Path, tmp_path: Path) -> None:
    page = pages.made([ran, ran / "results.json"], tmp_path)
    assert page == tmp_path / "index.html"
    assert "mutant-tags.start-at-zero-2" in page.read_text("utf-8")


def test_a_second_report_tells_what_changed_and_a_third_time_makes_no_difference(ran: Path, tmp_path: Path) -> None:
    results = json.loads((ran / "results.json").read_text("utf-8"))
    former = {
        **results,
        "run": "former",
        "rules": [{**rule, "verdict": "held", "cases": []} for rule in results["rules"]],
    }
    (tmp_path / "results.json").write_text(json.dumps(former), encoding="utf-8")
    again = [pages.made([ran / "results.json"], tmp_path).read_text("utf-8") for _ in range(2)]
    assert "Changed since the previous run" in again[0]
    assert again[0] == again[1]
    assert json.loads((tmp_path / "previous" / "results.json").read_text("utf-8"))["run"] == "former"


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "amqp-conformance/results/9"}'])
def test_what_is_no_result_is_refused_in_words(content: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(Refused, match="is not a results document"):
        pages.made([tmp_path], None)
    with pytest.raises(Refused, match="No such file"):
        pages.made([tmp_path / "none.json"], None)


def test_a_new_main_job_keeps_nothing_but_the_results_before_it(ran: Path, tmp_path: Path) -> None:
    out = tmp_path / "conformance"
    (out / "recording").mkdir(parents=True)
    (out / "results.json").write_bytes((ran / "results.json").read_bytes())
    main_job.cleared(out)
    assert [str(path.relative_to(out)) for path in out.rglob("*.*")] == ["previous/results.json"]
    main_job.cleared(out)
    assert previous(out / "results.json", "another") == json.loads((ran / "results.json").read_text("utf-8"))
