"""Time, policies and settings around a stage: in the history, and gone from the broker afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.catalogue import profiles
from conformance.drive.around import Around, expire
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.scenes.precedence import combinations_of
from conformance.drive.stage import NotOffered, Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        stage = Stage(
            Target.parse(broker.url),
            profiles.load("documented"),
            Recorder("run", "reference"),
            "around",
            queue_type="quorum",
        )
        stage.around = Around(Admin(broker.admin_url), broker.leap)
        yield stage
        stage.cleanup()


def test_half_an_hour_passes_at_once_and_the_history_keeps_up(stage: Stage) -> None:
    stage.around.setting(stage, None)
    queue, channel = stage.queue(), stage.channel()
    channel.publish(queue)
    channel.consume(queue)
    stage.quiesce()
    begun = stage.events[-1].time_ns
    expire(stage, within=3600)
    notice = next(event for event in stage.events if event.method == "basic.cancel")
    assert 1800 <= (notice.time_ns - begun) / 1e9 < 1801
    assert stage.judge.clocks() == []


def test_what_was_set_is_noted_and_taken_back(stage: Stage) -> None:
    queue, admin = stage.queue(), stage.around.admin
    assert admin is not None
    stage.around.policy(stage, queue, 500)
    stage.around.setting(stage, 700)
    assert [event.kind for event in stage.events[-2:]] == ["policy", "settings"]
    assert (admin.policy_of(queue), admin.settings()) == (f"{queue}.policy", {"consumer_timeout": 700})
    stage.around.clean()
    assert (admin.policy_of(queue), admin.settings()) == ("", {"consumer_timeout": None})


def test_every_order_of_every_subset_of_levels() -> None:
    rows = list(combinations_of())
    assert len(rows) == len(set(rows)) == 4 * 1 + 6 * 2 + 4 * 6 + 24


def test_policies_are_noted_before_and_after_and_are_gone_in_the_end(stage: Stage) -> None:
    admin, about = stage.around.admin, {"definition": {"max-length": 2}, "apply-to": "queues", "priority": 3}
    assert admin is not None
    admin.set_policy("/", "there before", {"pattern": "^before$", **about})
    stage.around.rule(stage, "p", "^q$", {"max-length": 2})
    stage.around.rule(stage, "o", "^q$", {"max-length": 1}, operator=True)
    stage.around.rule(stage, "r", "^q$", {"max-length": 1}, vhost=stage.around.vhost(stage))
    stage.around.unrule(stage, "p")
    told = [(event.args["name"], event.args["state"]) for event in stage.events if event.kind == "policy"]
    assert told[0] == ("there before", "set")
    assert told[1:3] + told[-2:] == [("p", "setting"), ("p", "set"), ("p", "clearing"), ("p", "cleared")]
    assert [*admin.policies("/", operator=True)] == ["o"]
    stage.cleanup()
    assert ([*admin.policies("/")], admin.policies("/", operator=True)) == (["there before"], {})


def test_a_policy_that_is_refused_stays_in_doubt(stage: Stage) -> None:
    stage.channel()
    with pytest.raises(NotOffered, match="the policy is refused"):
        stage.around.rule(stage, "p", "(", {"max-length": 2})
    assert [event.args["state"] for event in stage.events if event.kind == "policy"] == ["setting"]


def test_a_consumer_timeout_by_policy_that_is_refused_is_not_offered(stage: Stage) -> None:
    queue = stage.queue()
    with pytest.raises(NotOffered, match="the policy is refused"):
        stage.around.policy(stage, queue, -1)
    assert not [event for event in stage.events if event.kind == "policy"]
