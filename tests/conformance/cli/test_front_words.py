"""What is refused at once, in one sentence and before anything heavy is imported; and the verbs that only tell."""

from __future__ import annotations

import argparse
import errno
import json
import subprocess
import sys
import tempfile
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from conformance.catalogue import explain, rules
from conformance.cli import demo, main, mutants
from conformance.outcome import screen
from conformance.session.places import local
from conformance.session.running import Outcome
from reference_broker.mutants import MUTANTS
from tests.support.runs import results, rule

ROOT = Path(__file__).parents[3]
HEAVY = ("pytest", "hypothesis", "pyspark", "pyarrow", "deltalake", "obstore", "jinja2")
LIGHTLY = f"""
import sys
from conformance.cli import main
code = main(sys.argv[1:])
print(sorted(set({HEAVY}) & set(sys.modules)))
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "--depth", "foo"), "--depth foo is not known; use one of smoke, ci, deep."),
        (
            ("run", "--report", "s3://bucket/out"),
            "--report s3://bucket/out is not a directory of this machine: name one",
        ),
        (("run", "--mutant", "nope"), "no mutant is called 'nope'; did you mean "),
        (("trace", "check", "x", "--out", "ftp://host/out"), "ftp://host/out is not a directory of this machine"),
        (("trace", "check", "x", "--port", "70000"), "70000 is not a port; there are 1 to 65535."),
        (("trace", "watch", "s3://bucket/in"), "s3://bucket/in is not a directory of this machine"),
        (("trace", "check", "x", "--out", "/proc/nowhere"), "--out /proc/nowhere: this directory cannot be created"),
    ],
)
def test_a_slip_is_one_sentence_and_nothing_heavy_is_imported(words: tuple[str, ...], told: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LIGHTLY, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "[]\n"), ran.stderr
    assert told in " ".join(ran.stderr.split())


def full(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", [("run", "--report"), ("run", "--recording"), ("trace", "check", "x", "--out")])
def test_a_full_disk_is_told_before_the_run(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert main([*words, str(tmp_path)]) == 2
    assert "it is not writable (No space left on device)" in " ".join(capsys.readouterr().err.split())


def test_a_disk_that_fills_up_is_no_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(explain, "listing", full)
    assert main(["list"]) == 2
    assert capsys.readouterr().err.startswith("The disk is full")


def test_a_path_is_taken_as_it_is() -> None:
    assert local("out/a") == Path("out/a")
    assert local("C:/a") == Path("C:/a")


@pytest.mark.parametrize(("columns", "expected"), [("60", 60), ("150", 150)])
def test_columns_are_obeyed(columns: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen.width() == expected
    lines = explain.explain(rules.get("ACK-010"), screen.width()).splitlines()
    assert expected - 20 < max(map(len, lines)) <= expected


def test_options_may_stand_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "list", "--format", "json", "tags.*"]) == 0
    assert {one["name"].split(".")[0] for one in json.loads(capsys.readouterr().out)} == {"tags"}


@pytest.mark.parametrize("words", [("list",), ("mutants",)])
def test_lists_are_wrapped_where_somebody_looks_and_whole_where_a_program_reads(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    main([*words])
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    main([*words])
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert sorted(narrow.replace(":", "").split()) == sorted(whole.replace(":", "").split())


def test_mutants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in MUTANTS)
    assert main(["mutants", "tags.*"]) == 0
    assert "tags.start-at-zero" in capsys.readouterr().out
    assert main(["mutants", "list", "tags.*", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} == {name for name in MUTANTS if name.startswith("tags.")}
    assert all(row["rules"] and row["says"] for row in rows)


@pytest.mark.parametrize(
    ("words", "glob", "seeds"),
    [
        (("hunt",), "*", 5),
        (("hunt", "tags.*"), "tags.*", 5),
        (("tags.*", "-n", "1"), "tags.*", 5),
        (("--seeds", "2"), "*", 2),
        (("hunt", "tags.*", "routes.*", "--seeds", "1"), "tags.*,routes.*", 1),
    ],
)
def test_mutants_are_hunted_also_in_the_former_words(
    words: tuple[str, ...],
    glob: str,
    seeds: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[mutants.HuntOptions] = []
    monkeypatch.setattr(mutants, "hunt", lambda wanted: asked.append(wanted) or 0)
    assert main(["mutants", *words]) == 0
    assert [(one.glob, one.seeds) for one in asked] == [(glob, seeds)]


@pytest.mark.parametrize(("words", "opened"), [((), True), (("--no-open",), False)])
def test_a_demonstration_opens_the_report_of_a_wrong_broker(
    words: tuple[str, ...],
    opened: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page, pages, said = tmp_path / "index.html", [], []

    def run(arguments: list[str], *_: object) -> Outcome:
        said.extend(arguments)
        outcome = Outcome(1, None, "")
        outcome.results, outcome.written = results("Broker 1", [rule("ACK-004", "broken")]), [page]
        return outcome

    monkeypatch.setattr(demo, "run_suite", run)
    monkeypatch.setattr(webbrowser, "open", pages.append)
    assert main(["demo", "--out", str(tmp_path), *words]) == 0
    assert "--amqp-mutant=settle.crosses-channels" in said
    assert f"--amqp-report={tmp_path}" in said
    assert pages == [page.as_uri()] * opened
    assert capsys.readouterr().out == f"{page}\n"


def test_the_shell_completes_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """argcomplete asks the parser, and ends the process; without it nothing happens."""
    parsers: list[argparse.ArgumentParser] = []

    def autocomplete(parser: argparse.ArgumentParser) -> NoReturn:
        parsers.append(parser)
        raise SystemExit(0)

    monkeypatch.setenv("_ARGCOMPLETE", "1")
    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=autocomplete))
    with pytest.raises(SystemExit):
        main([])
    assert parsers[0].prog == "amqp-conformance"
    completed = {option: completer for option, completer in completers(parsers[0]) if completer}
    assert "ACK-010" in completed["rule"]()
    assert "tags.start-at-zero" in completed["--mutant"]()
    assert "guides-1" in completed["--set"]()
    assert completed["--depth"]() == ["smoke", "ci", "deep"]
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert main(["schema"]) == 0


def completers(parser: argparse.ArgumentParser) -> list[tuple[str, Any]]:
    """The options of all verbs, and what completes them."""
    inner = [one for action in parser._actions if isinstance(action.choices, dict) for one in action.choices.values()]
    own = [
        ((action.option_strings or [action.dest])[0], getattr(action, "completer", None)) for action in parser._actions
    ]
    return own + [found for one in inner for found in completers(one)]
