"""action.yml: what it says is what its steps do. `make images` also plays the step that installs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from reference_broker.embedded import ReferenceBroker
from tools.release.action import Job, action

PROGRAMS = Path(sys.executable).parent


def played(folder: Path, **given: str) -> Job:
    job = Job(folder / "job", {"depth": "smoke", **given})
    job.play(action(), programs=PROGRAMS)
    return job


def test_an_open_gate_passes_and_leaves_its_report(tmp_path: Path) -> None:
    with ReferenceBroker() as broker:
        job = played(tmp_path, url=broker.url, options="--rules TAG-001 --level must", report="my report")
    assert (job.failed, job.outputs) == (False, {"gate": "open"}), job.said
    assert (job.folder / "artifacts" / "conformance" / "index.html").exists()
    assert "gate open" in job.said["run"]


def test_a_closed_gate_fails_and_leaves_its_report(tmp_path: Path) -> None:
    with ReferenceBroker(mutants=["tags.start-at-zero"]) as broker:
        job = played(tmp_path, url=broker.url, options="--rules TAG-001", artifact="of-mine")
    assert (job.failed, job.outputs) == (True, {"gate": "closed"}), job.said
    assert (job.folder / "artifacts" / "of-mine" / "cases").is_dir()


def test_without_a_broker_there_is_no_verdict(tmp_path: Path) -> None:
    job = played(tmp_path, url="amqp://guest:guest@127.0.0.1:1/%2F", artifact="")
    assert (job.failed, job.outputs) == (True, {"gate": ""})
    assert "run" not in job.said


def test_inputs_reach_scripts_by_the_environment_only() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), f"{step['id']}: an input could write into this script"


def test_every_input_is_described_and_used() -> None:
    document = action()
    used = set(re.findall(r"inputs\.([\w-]+)", str(document["runs"])))
    assert used == set(document["inputs"])
    assert all(about["description"] for about in document["inputs"].values())
    assert [name for name, about in document["inputs"].items() if about.get("required")] == ["url"]


@pytest.mark.parametrize(
    "step",
    [
        {"id": "x", "uses": "actions/checkout@v4"},
        {"id": "x", "shell": "pwsh", "run": ""},
        {"id": "x", "shell": "bash", "run": "", "if": "failure()"},
        {"id": "x", "shell": "bash", "run": "", "env": {"A": "${{ github.token }}"}},
    ],
)
def test_what_the_player_does_not_know_it_refuses(step: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not known here"):
        Job(tmp_path / "job", {}).play({"inputs": {}, "outputs": {}, "runs": {"steps": [step]}})
