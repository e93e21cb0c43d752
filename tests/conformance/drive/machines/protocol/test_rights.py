"""The rights machine: users get what a command says, a right broker is not blamed, and wrong ones are found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import MachineOutcome
from conformance.drive.machines.protocol.rights import CHANGES, METHODS, RIGHTS, Grant, Office, Pattern, Try
from conformance.drive.machines.shape import Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.events import RIGHTS as TOLD
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS
from tests.support.worlds import Until, last

PROFILE = "documented"
REACHED = ("AUTH-001", "AUTH-004", "AUTH-007", "AUTH-010", "AUTH-014", "AUTH-018", "AUTH-019", "AUTH-025")
ALL, NONE, EMPTY = Pattern(2, 0), Pattern(4, 0), Pattern(3, 0)
TOPICS = (".*", ".*")


def bench(broker: ReferenceBroker, profile: str = PROFILE, deadline: float = 10.0) -> Bench:
    return Bench(Target.parse(broker.url), profiles.load(profile), Around(Admin(broker.admin_url)), deadline=deadline)


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(http_port=0) as broker:
        yield broker


@pytest.fixture
def office(broker: ReferenceBroker) -> Iterator[Office]:
    stage = bench(broker).stage(Stage, "machine")
    yield Office(stage, Shape())
    assert stage.finish().findings == []
    stage.cleanup()
    users = Admin(broker.admin_url)._ask("GET", "/api/users")["items"]
    assert not [one for one in users if one["name"].startswith("amqpconf")], "users are gone"


def refused(office: Office, *commands: Grant | Try) -> list[int]:
    events = last(office, *commands)
    return [event.args["reply_code"] for event in events if event.method == "channel.close" and event.direction == "<"]


@pytest.mark.parametrize("method", METHODS)
def test_who_may_nothing_is_refused_and_who_may_all_is_not(office: Office, method: str) -> None:
    attempt = Try(0, method, 0, 0, 1, 0, "plain")
    assert refused(office, attempt) == [403]
    assert 403 not in refused(office, Grant(0, ALL, ALL, ALL, TOPICS, False), attempt)


def test_a_pattern_is_of_a_kind_and_about_names(office: Office) -> None:
    names = ["a.b", "c", "d"]
    assert [Pattern(kind, 5).of(names) for kind in (0, 2, 3, 4, 5)] == ["^(a[.]b|d)$", ".*", "", "^none$", "^d"]


def test_rights_change_so_many_times_and_are_told(office: Office) -> None:
    for _ in range(CHANGES + 2):
        last(office, Grant(1, NONE, EMPTY, ALL, TOPICS, True))
    told = [event for event in office.stage.events if event.kind == TOLD]
    assert len([one for one in told if one.args["user"] == office.logins[1][0]]) == 1 + 2 * CHANGES
    assert (told[-1].args["configure"], told[-1].args["write"], told[-1].args["read"]) == ("^none$", "", ".*")


def run(bench: Bench, examples: int = 8) -> MachineOutcome:
    return search.run(RIGHTS, bench, "classic", "lockstep", examples, 40, 1)


def test_a_right_broker_is_not_blamed(broker: ReferenceBroker) -> None:
    outcome = run(bench(broker))
    assert outcome.judgement.findings == []
    assert [rule for rule in REACHED if not outcome.judgement.exercised[rule]] == []


def test_without_management_there_is_nothing_to_play(broker: ReferenceBroker) -> None:
    assert run(Bench(Target.parse(broker.url), profiles.load(PROFILE))).histories == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nor_is_one_that_speaks_a_dialect(dialect: str) -> None:
    with ReferenceBroker(http_port=0, dialect=dialect) as broker:
        there = bench(broker, dialect)
        assert there.damning(run(there).judgement, "classic") == []


@pytest.mark.parametrize("seed", range(3))
def test_nor_is_lawful_chaos(seed: int) -> None:
    with ReferenceBroker(http_port=0, nondeterminism=seed) as broker:
        assert run(bench(broker), 4).judgement.findings == []


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("rights.declares-freely", "AUTH-001"),
        ("rights.binds-to-any-exchange", "AUTH-007"),
        ("rights.publishes-freely", "AUTH-010"),
        ("rights.get-takes-all", "AUTH-014"),
        ("rights.looking-is-reading", "AUTH-019"),
        ("rights.keys-that-may-be-read", "AUTH-021"),
    ],
)
def test_a_wrong_right_is_found(monkeypatch: pytest.MonkeyPatch, until: Until, mutant: str, rule: str) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.2)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    until(rule)
    with ReferenceBroker(http_port=0, mutants=(mutant,)) as broker:
        assert rule in run(bench(broker, deadline=1.0), 40).broken
