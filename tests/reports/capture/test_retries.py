"""Captures of programs that try again later: a right broker is not accused, what they stand on is judged, and a broker
that does it wrongly is found by their traffic alone.

Each program of `retries` is recorded and captured once. Judged with the word of its user that all clients
are there, as `trace check --whole` does. `make captures` plays them on a RabbitMQ as well, with more messages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import amqp
import pytest

from conformance.cli import main
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from reports.capture.capture import Capture
from tests.reports.capture import retries
from tests.reports.capture.test_programs import SCALE, Taken, accused, as_whole, take

COUNT = 6 * SCALE
Program = Callable[[int, int], None]
STANDS_ON: dict[Program, set[str]] = {
    retries.spring: {"DLX-002", "DLX-005", "DLX-006", "DLX-007", "DLX-008", "DLX-012", "ROUTE-001"},
    retries.sneakers: {"DLX-002", "DLX-005", "DLX-006", "DLX-007", "DLX-008", "DLX-012", "ROUTE-005"},
    retries.masstransit: {"DLX-002", "DLX-005", "DLX-007", "DLX-008", "DLX-009", "ROUTE-002", "ROUTE-010"},
    retries.celery_countdown: {"TAG-003", "MODE-001", "MODE-007", "CNF-004"},
    retries.celery_delayed: {"TAG-003", "CNF-004", "QUEUE-011"},
}
"""Rules that each program exercises."""
WRONG: list[tuple[Program, str, str]] = [
    (retries.spring, "deadletters.count-ends-at-two", "DLX-006"),
    (retries.sneakers, "deadletters.count-stays", "DLX-006"),
    (retries.sneakers, "deadletters.first-is-latest", "DLX-008"),
    (retries.masstransit, "deadletters.lives-on", "DLX-009"),
    (retries.masstransit, "deadletters.new-address-told", "DLX-007"),
]
SOON = 5.0
"""Seconds in which a program must be over whose messages a wrong broker may have lost."""


@pytest.fixture(scope="module", params=["reference", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "reference":
        with ReferenceBroker() as broker:
            yield broker.url
    elif "AMQP_RABBITMQ_URL" in os.environ:
        yield os.environ["AMQP_RABBITMQ_URL"]
    else:
        pytest.skip("AMQP_RABBITMQ_URL names no RabbitMQ")


def whole(taken: Taken, events: Iterable[Event]) -> Judgement:
    return judge(as_whole(events), taken.profile)


@pytest.mark.parametrize("program", STANDS_ON, ids=lambda one: one.__name__)
@pytest.mark.sampled(3)
def test_a_right_broker_is_accused_of_nothing(program: Program, url: str, tmp_path: Path) -> None:
    """Neither by what passed the proxy, nor by what tcpdump took, nor without its user's word."""
    if program is retries.celery_delayed and not quorum_queues_expire(url):
        pytest.skip("nothing expires in its quorum queues")
    taken = take(url, tmp_path, lambda port: program(port, COUNT))
    recorded = taken.recording.events()
    delayed = any(event.method == "basic.deliver" and '"x-death"' in event.arguments for event in recorded)
    assert delayed == (program is not retries.celery_countdown), "all others wait in queues"
    captured = list(Capture([taken.pcap], ports={taken.port}).events())
    for events in (recorded, captured):
        judgement = whole(taken, events)
        assert accused(judgement, taken.profile) == set()
        assert {rule for rule in STANDS_ON[program] if not judgement.exercised[rule]} == set()
        assert accused(judge(events, taken.profile), taken.profile) == set()


def quorum_queues_expire(url: str) -> bool:
    """RabbitMQ does so since 3.10."""
    at = urlsplit(url)
    with amqp.Connection(f"{at.hostname}:{at.port}", at.username or "guest", at.password or "guest") as connection:
        told = connection.server_properties
    major, minor = map(int, told["version"].split(".")[:2])
    return bool(told["product"] != "RabbitMQ" or (major, minor) >= (3, 10))


@pytest.mark.parametrize(("program", "mutant", "rule"), WRONG, ids=lambda one: getattr(one, "__name__", None))
@pytest.mark.sampled(3)
def test_a_wrong_broker_is_found(
    program: Program,
    mutant: str,
    rule: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command that its user gives, although the program fails."""

    def failing(port: int) -> None:
        with suppress(AssertionError):
            program(port, COUNT)

    monkeypatch.setattr(retries, "PATIENCE", SOON)
    with ReferenceBroker(mutants=[mutant]) as broker:
        taken = take(broker.url, tmp_path, failing)
    words = ["trace", "check", str(taken.recording.out), "--whole", "--format", "json", "--out", str(tmp_path / "out")]
    assert main(words) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert rule in {one["id"] for one in run["rules"] if one["verdict"] == "broken"}
