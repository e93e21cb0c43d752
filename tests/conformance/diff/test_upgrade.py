"""`run --preset rabbitmq-upgrade A B`: both are examined, and one page tells what changes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.diff.upgrade import UpgradeOptions, upgrade
from conformance.outcome.results import to_json
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, UNREACHABLE, WRONG_USE, Refused
from tests.support.runs import case, results, rule

URLS = ("amqp://u:secret@old/%2F", "amqp://u:secret@new/%2F,admin=http://new:15672,consumer-timeout=5000")


class Runs:
    """Stands for the runs: notes their words, and leaves results."""

    def __init__(self, *verdicts: str, codes: Sequence[int] = (GATE_OPEN, GATE_OPEN)) -> None:
        self.verdicts, self.codes, self.words = list(verdicts), list(codes), list[list[str]]()

    def __call__(self, words: Sequence[str]) -> int:
        self.words.append(list(words))
        number = len(self.words)
        report = Path(words[words.index("--report") + 1])
        report.mkdir(parents=True)
        verdict = self.verdicts[number - 1]
        cases = (case("ACK-002", "it stays"),) if verdict == "broken" else ()
        made = results(f"Broker {number}", [rule("ACK-002", verdict, *cases)])
        (report / "results.json").write_text(to_json(made), encoding="utf-8")
        return self.codes[number - 1]


def test_both_sides_are_run_and_compared_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = Runs("held", "broken", codes=(GATE_OPEN, GATE_CLOSED))
    assert upgrade(UpgradeOptions(URLS, tmp_path, ["--depth", "smoke"]), runs) == GATE_CLOSED
    assert runs.words == [
        ["run", "amqp://u:secret@old/%2F", "--report", str(tmp_path / "before"), "--depth", "smoke"],
        [
            "run",
            "amqp://u:secret@new/%2F",
            "--broker-admin",
            "http://new:15672",
            "--consumer-timeout",
            "5000",
            "--report",
            str(tmp_path / "after"),
            "--depth",
            "smoke",
        ],
    ]
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "What changes for your applications" in page
    assert 'href="before/index.html"' in page
    assert 'href="after/index.html"' in page
    assert "Broken: Broker 1 kept these rules, and Broker 2 does not" in page
    assert json.loads((tmp_path / "diff.json").read_text("utf-8"))["same"] is False
    said = capsys.readouterr()
    assert "Broken: Broker 1 kept these rules" in said.out
    assert "secret" not in said.err + page


def test_nothing_that_changes_is_exit_code_0(tmp_path: Path) -> None:
    assert upgrade(UpgradeOptions(URLS, tmp_path, []), Runs("held", "held")) == GATE_OPEN


def test_a_side_that_came_to_no_verdicts_is_named_and_the_other_is_not_examined(tmp_path: Path) -> None:
    runs = Runs("held", "held", codes=(UNREACHABLE, GATE_OPEN))
    with pytest.raises(Refused, match="The broker before the upgrade is not there") as refused:
        upgrade(UpgradeOptions(URLS, tmp_path, []), runs)
    assert refused.value.code == UNREACHABLE
    assert len(runs.words) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--preset", "rabbitmq-upgrade", "amqp://one"], "takes two URLs"),
        (["amqp://one", "amqp://two"], "One run tests one broker"),
        (
            ["--preset", "rabbitmq-upgrade", "amqp://one", "amqp://two", "--broker-admin", "http://x"],
            "Each broker needs its",
        ),
        (["--preset", "rabbitmq-upgrade", "amqp://one", "amqp://two,nonsense=1"], "A broker is named URL"),
        (["--preset", "nothing", "amqp://one", "amqp://two"], "invalid choice"),
    ],
)
def test_wrong_use_is_said_before_anything_is_run(words: list[str], complaint: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "run", *words, "--report", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == WRONG_USE
    assert complaint in " ".join(done.stderr.split())
    assert done.stdout == ""
