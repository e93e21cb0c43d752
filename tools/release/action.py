"""`python -m tools.release.action`: action.yml, its steps executed as GitHub's runner does, on the reference broker.

The runner's part: expressions are filled in, each step gets its own bash with the environment and the files of the job
(GITHUB_PATH, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY), a failed step skips the rest but for those that say always(). Of
other actions only what this one needs is played: a Python that is here, and an artifact that is copied. An expression
or an action that is not known here is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from reference_broker.embedded import ReferenceBroker
from tools.release.built import ROOT

ACTION = ROOT / "action.yml"
FILES = ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
PYTHON, UPLOAD = "actions/setup-python@v5", "actions/upload-artifact@v4"


def action() -> dict[str, Any]:
    """action.yml as read."""
    return dict(yaml.safe_load(ACTION.read_text("utf-8")))


@dataclass
class Job:
    """One job in a folder of its own; after `play`, what it left."""

    folder: Path
    given: Mapping[str, str]
    failed: bool = False
    outputs: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    """By step."""
    _inputs: dict[str, str] = field(default_factory=dict)
    _of_steps: dict[str, str] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def play(self, document: Mapping[str, Any], *, programs: Path | None = None) -> None:
        """All steps; with `programs`, those are installed already and the step that installs is left out."""
        self.workspace.mkdir(parents=True)
        self._inputs = {name: about.get("default", "") for name, about in document["inputs"].items()} | dict(self.given)
        for step in document["runs"]["steps"]:
            if programs and step["id"] == "install":
                self._path.append(str(programs))
            elif self._due(str(step.get("if", "success()"))):
                self._step(step)
        self.outputs = {name: self._filled(about["value"]) for name, about in document["outputs"].items()}

    def _due(self, condition: str) -> bool:
        if condition == "success()":
            return not self.failed
        match = re.fullmatch(r"always\(\) && inputs\.([\w-]+) != ''", condition)
        if not match:
            raise ValueError(f"not known here: if: {condition}")
        return bool(self._inputs[match[1]])

    def _filled(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            room, _, name = match[1].partition(".")
            if room == "inputs":
                return self._inputs[name]
            if room == "steps":
                return self._of_steps.get(name, "")
            raise ValueError(f"not known here: {match[0]}")

        return re.sub(r"\$\{\{ *([^ }]+) *\}\}", value, text)

    def _step(self, step: Mapping[str, Any]) -> None:
        uses = step.get("uses")
        with_ = {name: self._filled(str(text)) for name, text in step.get("with", {}).items()}
        if uses == PYTHON:
            self._of_steps[f"{step['id']}.outputs.python-path"] = sys.executable
        elif uses == UPLOAD:
            shutil.copytree(self.workspace / with_["path"], self.folder / "artifacts" / with_["name"])
        elif uses is None and step["shell"] == "bash":
            self._bash(step)
        else:
            raise ValueError(f"not known here: {uses or step}")

    def _bash(self, step: Mapping[str, Any]) -> None:
        files = {name: self.folder / name.lower() for name in FILES}
        for file in files.values():
            file.write_text("")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTHON"))},
            "PATH": os.pathsep.join([*reversed(self._path), os.environ["PATH"]]),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            **{name: str(file) for name, file in files.items()},
            **{name: self._filled(str(text)) for name, text in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            text=True,
            capture_output=True,
            check=False,
            cwd=self.workspace,
            env=environment,
        )
        self.failed |= done.returncode != 0
        self.said[step["id"]] = done.stdout + done.stderr + files["GITHUB_STEP_SUMMARY"].read_text()
        self._path += files["GITHUB_PATH"].read_text().split()
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, value = line.partition("=")
            self._of_steps[f"{step['id']}.outputs.{name}"] = value


def main() -> int:
    with tempfile.TemporaryDirectory() as name, ReferenceBroker() as broker:
        job = Job(Path(name) / "job", {"url": broker.url, "depth": "smoke", "options": "--rules TAG-00[12]"})
        job.play(action())
        good = (
            not job.failed
            and job.outputs == {"gate": "open"}
            and (job.folder / "artifacts" / "conformance" / "index.html").exists()
        )
    print("action.yml: all steps executed, gate open" if good else f"action.yml failed: {job.said}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
