"""The Dockerfile: it copies all that an installation needs, and the context holds no more. `make images` builds."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from conformance.cli import command
from reference_broker.__main__ import arguments
from tools.release import images
from tools.release.built import ROOT, SHIPPED

STEPS = [
    shlex.split(line)
    for line in (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]


def copied() -> set[str]:
    """What comes from the context."""
    copies = [rest for word, *rest in STEPS if word == "COPY" and not rest[0].startswith("--from")]
    return {source for rest in copies for source in rest[:-1]}


def test_what_is_copied_is_what_an_installation_needs() -> None:
    assert copied() == {*SHIPPED, "pyproject.toml", "README.md", "LICENSE", "constraints.txt"}


def test_the_context_holds_what_is_copied_and_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied()


def test_there_is_a_stage_for_each_image_and_the_suite_s_is_the_last() -> None:
    stages = [step[-1] for step in STEPS if step[0] == "FROM"]
    assert set(images.IMAGES) <= set(stages)
    assert stages[-1] == "amqp-conformance"
    assert ["USER", "1000:1000"] in STEPS


def test_the_entry_points_are_programs_with_options_that_they_know() -> None:
    starts = [[word.strip("[],") for word in step[1:]] for step in STEPS if step[0] == "ENTRYPOINT"]
    assert [start[0] for start in starts] == ["reference-broker", "amqp-conformance"]
    assert all((Path(sys.executable).parent / start[0]).exists() for start in starts)
    assert arguments([*starts[0][1:], "--user", "app:secret"], "reference-broker").host == ["0.0.0.0"]
    assert command.parser().parse_args(["run"]) is not None


def test_a_machine_without_a_builder_says_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(images, "builder", lambda: None)
    assert images.main() == 0
    assert "not tried" in capsys.readouterr().err
