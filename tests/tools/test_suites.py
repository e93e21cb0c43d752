"""Client libraries' own suites: what leads them, what is read of them, and what the page demands."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tools.suites import page, suite
from tools.suites.__main__ import main
from tools.suites.suite import NoTests, Tally, configured, libraries, outcomes_of, prepare

LEAD = suite.HERE / "lead"


def tally(broker: str, **outcomes: str) -> Tally:
    return Tally("pika", libraries()["pika"].version, broker, "2026-11-23", 1.0, outcomes, [])


def pair(ours: dict[str, str], theirs: dict[str, str]) -> page.Compared:
    return page.compared(tally("reference 1", **ours), tally("RabbitMQ 3", **theirs))


@pytest.fixture
def reasons(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Reasons of this test."""
    entries: list[dict[str, object]] = []
    monkeypatch.setattr(page, "reasons", lambda: entries)
    return entries


def test_what_rabbitmq_passes_and_we_do_not_wants_a_reason(reasons: list[dict[str, object]]) -> None:
    found = [pair({"a": "failed", "b": "passed", "c": "failed"}, {"a": "passed", "b": "failed", "c": "failed"})]
    assert found[0].worse == ["a"]
    assert (found[0].better, found[0].neither) == (["b"], ["c"])
    assert page.problems(found) == ["pika: a: RabbitMQ passes it and we do not, for no reason that is written down"]
    reasons.append({"library": "pika", "test": "a", "why": "so"})
    assert page.problems(found) == []
    assert "| pika | `a` | so |" in page.text(found)


def test_a_test_that_we_did_not_run_is_none_that_we_pass(reasons: list[dict[str, object]]) -> None:
    assert pair({}, {"a": "passed"}).worse == ["a"]
    assert pair({"a": "skipped"}, {"a": "passed"}).worse == ["a"]
    assert pair({"a": "passed"}, {}).better == []


def test_a_reason_for_nothing_is_stale(reasons: list[dict[str, object]]) -> None:
    reasons.append({"library": "pika", "test": "a*", "why": "so"})
    (problem,) = page.problems([pair({"a": "passed"}, {"a": "passed"})])
    assert problem == "pika: a*: a reason for what does not differ"


def test_a_race_need_not_show_itself(reasons: list[dict[str, object]]) -> None:
    reasons.append({"library": "pika", "test": "a*", "why": "so", "race": True})
    same = tally("reference", a="passed"), tally("RabbitMQ", a="passed")
    assert page.problems([page.compared(*same)]) == []


def test_the_page_is_made_of_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    kept = page.found()
    assert page.problems(kept) == []
    assert page.PAGE.read_text("utf-8") == page.text(kept)


def test_outcomes_are_read_by_id_and_a_failure_stays_one(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text("""<testsuites><testsuite>
      <testcase classname="t.test_x" file="t/test_x.py" name="test_a[1]"/>
      <testcase classname="t.test_x" file="t/test_x.py" name="test_b"><failure/></testcase>
      <testcase classname="t.test_x.TestC" file="t/test_x.py" name="test_d"><skipped/></testcase>
      <testcase classname="t.test_x" file="t/test_x.py" name="test_e"/>
      <testcase classname="t.test_x" file="t/test_x.py" name="test_e"><error/></testcase>
    </testsuite></testsuites>""")
    assert outcomes_of(report) == {
        "t/test_x.py::test_a[1]": "passed",
        "t/test_x.py::test_b": "failed",
        "t/test_x.py::TestC::test_d": "skipped",
        "t/test_x.py::test_e": "failed",
    }


def test_every_process_of_a_suite_is_led(tmp_path: Path) -> None:
    """The child of a child connects to port 5672, and comes here."""
    inner = "import socket; socket.create_connection(('127.0.0.1', 5672), 5).sendall(b'led')"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        environment = {**os.environ, "PYTHONPATH": str(LEAD), "LEAD": f"5672={server.getsockname()[1]}"}
        subprocess.run([sys.executable, "-c", outer], env=environment, check=True, cwd=tmp_path)
        with server.accept()[0] as link:
            assert link.recv(3) == b"led"


def test_only_well_known_ports_of_this_machine_are_led() -> None:
    spec = importlib.util.spec_from_file_location("leading", LEAD / "sitecustomize.py")
    assert spec
    assert spec.loader
    leading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(leading)
    where = leading.ports("5672=40001 15672=40002")
    assert where == {5672: 40001, 15672: 40002}
    assert leading.led(("localhost", 5672), where) == ("localhost", 40001)
    assert leading.led(("127.0.0.1", 5671), where) == ("127.0.0.1", leading.NOWHERE)
    for other in (("127.0.0.1", 40001), ("127.0.0.9", 80), "/var/run/socket"):
        assert leading.led(other, where) == other
    for other in (("192.0.2.1", 5672), ("2001:db8::1", 80, 0, 0), ("somewhere.example", 80)):
        with pytest.raises(ConnectionRefusedError, match="stays on this machine"):
            leading.led(other, where)


def test_a_suite_without_settings_gets_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert not configured(tmp_path)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\n")
    assert configured(tmp_path)


def test_a_suite_fails_what_fails_thrice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what a failing test has ended the run of is tried again alone."""
    runs = iter([{"a": "failed", "b": "failed", "c": "passed"}, {"b": "failed"}, {"a": "passed"}, {"b": "failed"}])
    asked: list[list[str]] = []

    def once(of: object, broker: object, tests: list[str]) -> dict[str, str]:
        asked.append(tests)
        return next(runs)

    monkeypatch.setattr(suite, "once", once)
    made = suite.play(libraries()["pika"], suite.Played("reference 1", {5672: 1}))
    assert made.outcomes == {"a": "passed", "b": "failed", "c": "passed"}
    assert made.again == ["a"]
    every = libraries()["pika"].tests
    assert asked == [every, ["--last-failed", *every], ["a"], ["--last-failed", *every]]
    made.write(tmp_path / "tally.json")
    assert suite.read(json.loads((tmp_path / "tally.json").read_text())) == made


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> suite.Library:
    """A library whose tests are in a repository that is not there."""
    monkeypatch.setattr(suite, "FOLDER", tmp_path / "suites")
    return suite.Library("pika", "1", ["tests"], [], 1, repository=str(tmp_path / "nowhere"))


def test_tests_come_from_the_repository_at_the_tag_of_the_version(
    unreachable: suite.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "uv", lambda *words: None)
    where = Path(unreachable.repository)
    git = ["git", "-C", str(where), "-c", "user.name=x", "-c", "user.email=x"]
    subprocess.run(["git", "init", "--quiet", str(where)], check=True)
    for state in ("1", "2"):
        (where / "state").write_text(state)
        subprocess.run([*git, "add", "state"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", state], check=True)
        subprocess.run([*git, "tag", state], check=True)
    prepare(unreachable, None)
    assert (unreachable.sources / "state").read_text() == "1"


def test_a_repository_out_of_reach_is_told_with_what_to_do(unreachable: suite.Library) -> None:
    with pytest.raises(NoTests, match=r"nowhere at tag 1 cannot be had .* name a checkout: --source pika=FOLDER"):
        prepare(unreachable, None)


@pytest.mark.parametrize(("names", "code"), [([], 0), (["pika"], 1)])
def test_a_repository_out_of_reach_is_no_failure_unless_asked_for(
    unreachable: suite.Library,
    names: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tools.suites.__main__.libraries", lambda: {"pika": unreachable})
    monkeypatch.setattr("tools.suites.__main__.FOLDER", suite.FOLDER)
    monkeypatch.setattr(page, "write", list)
    assert main(names) == code
    assert "pika: not played: the sdist holds no tests" in capsys.readouterr().err
