"""The pytest plugin: harmless where the suite is not wanted, the same verdicts everywhere where it is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance import __version__
from conformance.catalogue import profiles
from conformance.history.recording import Recording
from reference_broker import ReferenceBroker

pytest_plugins = ["pytester"]

SMOKE = ("--pyargs", "conformance", "--depth", "smoke", "-q", "-p", "no:cacheprovider")


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker() as made:
        yield made


def verdicts(path: Path) -> dict[str, tuple[str, int]]:
    document = json.loads((path / "results.json").read_text())
    return {rule["id"]: (rule["verdict"], rule["exercised"] > 0) for rule in document["rules"]}


# -- a project that has the distribution installed, and tests of its own

FOREIGN = """
    import sys
    import pytest

    @pytest.mark.rule("house rules")
    def test_own(request):
        assert request.config.getoption("--seed") == "mine"
        assert not {"h11", "msgspec"} & set(sys.modules)
        assert "conformance.oracle.monitors" not in sys.modules
        assert "conformance.drive.stage" not in sys.modules
        assert "reference_broker" not in sys.modules
"""


def foreign(pytester: pytest.Pytester, test: str = FOREIGN) -> None:
    pytester.makeconftest("""
        def pytest_addoption(parser):
            parser.addoption("--seed", default="mine")
            parser.addoption("--report", default="")
    """)
    pytester.makepyfile(test)


def test_a_foreign_project_is_not_disturbed(pytester: pytest.Pytester) -> None:
    foreign(pytester)
    done = pytester.runpytest_subprocess("-W", "error", "--strict-markers", "-p", "no:cacheprovider")
    assert done.ret == 0
    done.assert_outcomes(passed=1)
    assert "broker" not in done.stdout.str().replace("amqp-conformance", "")
    made = {path.name for path in pytester.path.iterdir() if path.suffix != ".py"}
    assert made <= {"__pycache__", "stdout", "stderr", "runpytest-0", "runpytest-current"}


@pytest.mark.parametrize(("used", "loaded"), [("", False), ("import hypothesis", True)])
def test_hypothesis_is_loaded_only_where_it_is_used(pytester: pytest.Pytester, used: str, loaded: bool) -> None:
    """It is slow to load, and a project that only wants our fixture is spared it to the end of the session."""
    pytester.makeconftest("""
        import sys

        def pytest_unconfigure(config):
            print("hypothesis loaded:", "hypothesis" in sys.modules)
    """)
    pytester.makepyfile(f"{used}\ndef test_own(): pass")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == 0
    done.stdout.fnmatch_lines([f"hypothesis loaded: {loaded}"])


def test_a_foreign_failure_keeps_its_exit_code(pytester: pytest.Pytester) -> None:
    foreign(pytester, "def test_own(): assert False")
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").ret == 1


def test_a_foreign_project_runs_in_workers(pytester: pytest.Pytester) -> None:
    foreign(pytester)
    assert pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider").ret == 0


def test_a_name_that_is_taken_stays_with_its_owner_and_ours_has_another(pytester: pytest.Pytester) -> None:
    foreign(pytester)
    done = pytester.runpytest_subprocess("--help")
    assert done.ret == 0
    said = done.stdout.str()
    assert re.search(r"--rules=GLOB, --amqp-rules=GLOB", said)
    assert re.search(r"^  --amqp-seed=N", said, re.MULTILINE)
    assert re.search(r"^  --seed=SEED", said, re.MULTILINE)


def test_markers_are_registered(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess("--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.rule(*ids, queue_types, depth):*", "@pytest.mark.must:*"])


# -- the fixture for authors of clients


def test_the_fixture_takes_variations(pytester: pytest.Pytester) -> None:
    """A client that is right gets along with whatever the text grants."""
    pytester.makepyfile("""
        import pika
        import pytest

        @pytest.mark.parametrize("seed", range(6))
        def test_client(reference_broker, seed):
            reference_broker.nondeterminism(seed=seed)
            with pika.BlockingConnection(pika.URLParameters(reference_broker.url)) as connection:
                channel = connection.channel()
                channel.confirm_delivery()
                channel.queue_declare("q")
                taken_over, bodies = [], []
                for body in (b"0", b"1", b"2", b"3", b"4"):
                    try:
                        channel.basic_publish("", "q", body)
                        taken_over.append(body)
                    except pika.exceptions.NackError:
                        pass
                for method, _, body in channel.consume("q"):
                    channel.basic_ack(method.delivery_tag)
                    bodies += [body] if body in taken_over else []
                    if len(bodies) == len(taken_over):
                        break
                assert bodies == taken_over
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == 0
    done.assert_outcomes(passed=6)


def test_the_reference_broker_is_a_fixture_with_a_clock_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pika

        def test_client(reference_broker):
            with pika.BlockingConnection(pika.URLParameters(reference_broker.url)) as connection:
                channel = connection.channel()
                channel.queue_declare("q", arguments={"x-message-ttl": 1800000})
                channel.basic_publish("", "q", b"hello")
                assert channel.queue_declare("q", passive=True).method.message_count == 1
                reference_broker.advance(seconds=1801)
                assert channel.queue_declare("q", passive=True).method.message_count == 0
    """)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == 0
    done.assert_outcomes(passed=1)


# -- the suite


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*SMOKE, *words)


def test_all_front_doors_give_the_same_verdicts(
    pytester: pytest.Pytester,
    broker: ReferenceBroker,
    leftovers: Callable[[str, Path], list[str]],
) -> None:
    where = {name: pytester.path / name for name in ("one", "two", "cli")}
    url, rules = f"--broker-url={broker.url}", "--rules=TAG-00*,ACK-00[1-4],RQ-001"
    one = run(pytester, url, rules, f"--report={where['one']}", f"--recording={pytester.path / 'rec'}")
    two = run(pytester, url, rules, f"--report={where['two']}", "-n", "2", f"--recording={pytester.path / 'rec2'}")
    cli = pytester.run(
        sys.executable,
        "-m",
        "conformance.cli",
        "run",
        broker.url,
        rules,
        "--depth",
        "smoke",
        "--report",
        str(where["cli"]),
        "--format",
        "json",
    )
    assert one.ret == two.ret == cli.ret
    assert verdicts(where["one"]) == verdicts(where["two"]) == verdicts(where["cli"])
    assert cli.stdout.str().strip() == (where["cli"] / "results.json").read_text().strip()
    one.stdout.fnmatch_lines(["broker: amqp-conformance reference * profile *", "*AMQP conformance*", "*rules judged*"])
    assert [file.name for file in Recording(pytester.path / "rec2").files] == ["events-gw0.jsonl", "events-gw1.jsonl"]
    for folder, name in (("rec", "one"), ("rec2", "two")):
        results = json.loads((where[name] / "results.json").read_text())
        assert len(list(Recording(pytester.path / folder).events())) == results["events"]
    assert leftovers(broker.url, pytester.path / "rec") == leftovers(broker.url, pytester.path / "rec2") == []


def test_without_a_url_every_worker_has_an_embedded_broker(pytester: pytest.Pytester) -> None:
    report = pytester.path / "out"
    done = run(pytester, "-n", "2", "-k", "TAG-001", f"--report={report}")
    results = json.loads((report / "results.json").read_text())
    assert results["broker"]["url"] == "embedded"
    assert [rule["verdict"] for rule in results["rules"] if rule["id"] == "TAG-001"] == ["held"]
    assert "Traceback" not in done.stdout.str()


def test_a_recording_says_at_its_head_what_was_examined(pytester: pytest.Pytester) -> None:
    run(pytester, "-k", "TAG-001", "--seed=7", f"--recording={pytester.path / 'rec'}")
    (file,) = Recording(pytester.path / "rec").files
    header = json.loads(file.read_text().splitlines()[0])
    told = {name: header[name] for name in ("profile", "seed", "suite", "queue_types")}
    assert told == {"profile": "documented", "seed": 7, "suite": __version__, "queue_types": ["classic", "quorum"]}
    assert "consumer_cancel_notify" in header["capabilities"]
    assert header["server_properties"]["capabilities"]["consumer_cancel_notify"] is True
    assert header["choices"] == dict(profiles.load("documented").choices)
    assert header["selection"]["level"] == "may"


def collected(pytester: pytest.Pytester, *words: str) -> set[str]:
    """The rules of the checks that would run, by way of a recorded scene per check."""
    report = pytester.path / "out"
    run(pytester, f"--report={report}", *words)
    results = json.loads((report / "results.json").read_text())
    return {rule["id"] for rule in results["rules"] if rule["status"] == "judged"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("-k", "TAG-002"), {"TAG-002"}),
        (("--rules", "TAG-*", "-m", "observed"), {"TAG-004"}),
    ],
)
def test_checks_are_selected_by_keyword_and_marker(
    words: tuple[str, ...],
    found: set[str],
    pytester: pytest.Pytester,
    broker: ReferenceBroker,
) -> None:
    assert collected(pytester, f"--broker-url={broker.url}", *words) == found


def test_options_come_from_the_ini_file_and_the_environment(
    pytester: pytest.Pytester,
    broker: ReferenceBroker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = ("rules = TAG-001", "set = guides-1", "profile = documented", "seed = 5", "strict = true")
    pytester.makeini("\n".join(["[pytest]", *(f"amqp_{line}" for line in said)]))
    monkeypatch.setenv("AMQP_URL", broker.url)
    done = run(pytester, f"--report={pytester.path / 'out'}", "--seed", "6", "-k", "TAG-001")
    results = json.loads((pytester.path / "out" / "results.json").read_text())
    assert results["broker"]["url"].startswith("amqp://guest@127.0.0.1")
    assert results["profile"] == "documented"
    assert results["selection"] == {
        "level": "may",
        "rules": "TAG-001",
        "strict": True,
        "min_coverage": 75,
        "set": "guides-1",
    }
    assert results["seed"] == 6
    done.stdout.fnmatch_lines(["broker:*profile documented (as asked)*"])


def test_families_take_turns(pytester: pytest.Pytester, broker: ReferenceBroker) -> None:
    """Where time runs out, none of them has had all of it."""
    chosen = "TAG-001 or TAG-002 or ACK-001 or ACK-002"
    done = run(pytester, f"--broker-url={broker.url}", "-k", chosen, "-vv")
    played = re.findall(r"/test_(\w+)\.py::\S+ PASSED", done.stdout.str())
    assert set(played) == {"ack", "tag"}
    assert played[:4] == ["ack", "tag", "ack", "tag"]


def test_strict_of_pytest_is_strict_of_the_gate(pytester: pytest.Pytester, broker: ReferenceBroker) -> None:
    report = pytester.path / "out"
    run(pytester, f"--broker-url={broker.url}", "-k", "TAG-001", "--strict", f"--report={report}", "-n", "1")
    assert json.loads((report / "results.json").read_text())["selection"]["strict"] is True


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("--broker-url", "amqp://"), 2, "names no host"),
        (("--profile", "rabbitmq-5"), 2, "there is no profile"),
        (("--rules", "NO-*", "-n", "1"), 2, "matches no rule"),
        (("--set", "guides-0"), 2, "sets are extensions-1, guides-1, protocol-1"),
        (("--broker-url", "amqp://a@127.0.0.1:1/"), 3, "nothing listens"),
        (("--broker-url", "amqp://a@127.0.0.1:1/", "-n", "2"), 3, "nothing listens"),
    ],
)
def test_what_is_wrong_is_said_in_words_and_with_the_documented_code(
    words: tuple[str, ...],
    code: int,
    hint: str,
    pytester: pytest.Pytester,
) -> None:
    done = run(pytester, *words)
    assert done.ret == code
    said = done.stdout.str() + done.stderr.str()
    assert hint in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said


def test_own_failures_are_not_hidden_by_an_open_gate(pytester: pytest.Pytester, broker: ReferenceBroker) -> None:
    pytester.makepyfile(test_own="def test_own(): assert False")
    done = pytester.runpytest_subprocess(
        "test_own.py",
        *SMOKE,
        f"--broker-url={broker.url}",
        "-k",
        "TAG-001 or own",
    )
    assert done.ret == 1


# -- a broker that is wrong


def test_a_planted_bug_closes_the_gate_with_the_right_rule_and_a_short_exchange(pytester: pytest.Pytester) -> None:
    report = pytester.path / "out"
    with ReferenceBroker(mutants=["settle.multiple-only-below-tag"]) as wrong:
        done = run(pytester, f"--broker-url={wrong.url}", f"--report={report}", "--rules", "ACK-002", "-vv")
    assert done.ret == 1
    results = json.loads((report / "results.json").read_text())
    rule = next(rule for rule in results["rules"] if rule["id"] == "ACK-002")
    assert rule["verdict"] == "broken"
    assert any("ACK-002" in reason for reason in results["gate"]["reasons"])
    assert 2 <= sum(step["interest"] for step in rule["cases"][0]["steps"]) <= 8
    said = done.stdout.str()
    for words in ("GATE CLOSED", "ACK-002-1", rule["cases"][0]["observed"], "basic.ack", "--rules ACK-002 --seed 0"):
        assert words in " ".join(said.split()), words
    assert "Traceback" not in said
    assert "site-packages" not in said
    files = [
        "allure-results",
        "badge.json",
        "badge.svg",
        "cases",
        "ctrf.json",
        "index.html",
        "junit.xml",
        "results.json",
        "summary.md",
    ]
    assert sorted(path.name for path in report.iterdir()) == files
    case = json.loads((report / "cases" / "ACK-002-1.json").read_text())
    assert case["steps"] == rule["cases"][0]["steps"]


def test_a_known_deviation_passes_and_a_stale_one_closes_the_gate(
    pytester: pytest.Pytester,
    broker: ReferenceBroker,
) -> None:
    file = pytester.path / "known.toml"
    file.write_text("""
        [[deviation]]
        rule = "ACK-009"
        reason = "nothing happened|no channel.close|stays|accepted"
        note = "tag 0 is ignored"
        evidence = "here"
        owner = "us"

        [[deviation]]
        rule = "TAG-001"
        reason = "first tag"
        note = "counted from 0"
        evidence = "here"
        owner = "us"
    """)
    done = run(pytester, f"--broker-url={broker.url}", f"--deviations={file}", "-k", "TAG-001")
    assert done.ret == 1
    said = " ".join(done.stdout.str().split())
    assert "deviation 2 of" in said
    assert "is stale" in said
    assert "deviation 1 of" not in said, "ACK-009 was not part of this run"
