"""The sample is drawn by seed, examined, kept and counted; what was interrupted carries on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.campaigns.journal import Journal
from tests.tools.mutation.conftest import place
from tools.mutation import __main__ as command
from tools.mutation import campaign as campaigns
from tools.mutation import survey as surveys
from tools.mutation.campaign import Campaign, Failed, Sampled
from tools.mutation.curve import figures, line, sound, words
from tools.mutation.exam import BROKE_DOWN, Exam, Seen, examine
from tools.mutation.sites import Mutation, mutations
from tools.mutation.subjects import KINDS
from tools.mutation.survey import ExamSettings, Survey, read, survey
from tools.mutation.triggers import ALWAYS, TRIGGERS, WRITE, Trigger
from tools.pages import mutation as mutation_page

SETTINGS = ExamSettings("ci", 7)
VISIBLE = "unacked", "confirms"
"""In this tale the mutations of these modules show."""
Play = Callable[[Callable[..., None], Any], dict[str, Any] | None]


def answer_of(function: Callable[..., None], argument: Any) -> dict[str, Any] | None:
    """What a child would answer."""
    if function is survey:
        noted = Survey()
        noted.play = "a play"
        for one in mutations():
            noted.note(*one.at)
        for reach in noted.reached.values():
            reach.present |= {*KINDS, WRITE}
        return {"reached": noted.plain(), "alarms": []}
    assert function is examine
    if argument.trigger != ALWAYS:
        near = argument.trigger.k <= 64
        return asdict(Seen("found", "ACK-001", fired=3) if near else Seen("silent", occasions=5, seconds=2.0))
    return asdict(Seen("found", "ACK-002") if argument.mutation.module in VISIBLE else Seen("unseen", fired=1))


@pytest.fixture
def asked(monkeypatch: Any) -> list[Any]:
    """What children were asked, in turn; they answer as told."""
    arguments: list[Any] = []

    def bounded(function: Callable[..., None], argument: Any, seconds: float, preload: Any) -> dict[str, Any] | None:
        arguments.append(argument)
        return answer_of(function, argument)

    monkeypatch.setattr(campaigns, "bounded", bounded)
    return arguments


def campaign(folder: Path, settings: ExamSettings = SETTINGS) -> Campaign:
    return Campaign(settings, "ci", Journal(folder, "exams"), workers=1)


def drawn(sampled: list[Sampled]) -> list[tuple[str, str]]:
    return [(one.mutation.key, one.trigger.key) for one in sampled]


def test_the_same_seed_draws_the_same_and_a_larger_sample_has_the_smaller_in_it(asked: Any, tmp_path: Path) -> None:
    few = list(campaign(tmp_path / "few").sampled(8))
    many = list(campaign(tmp_path / "many").sampled(16))
    other = list(campaign(tmp_path / "other", replace(SETTINGS, seed=8)).sampled(7))
    assert drawn(many)[:8] == drawn(few) != drawn(other)
    assert [one.trigger.kind for one in many] == 2 * list(TRIGGERS)
    assert {one.mutation.module for one in many} <= set(VISIBLE)
    assert sum(one.passed_over for one in many) > 0


def test_triggers_of_some_kinds_only(asked: Any, tmp_path: Path) -> None:
    drawn = Campaign(SETTINGS, "ci", Journal(tmp_path, "exams"), workers=1, kinds=("nature", "write")).sampled(4)
    assert [one.trigger.kind for one in drawn] == ["nature", "write", "nature", "write"]


def test_what_was_done_is_not_done_again(asked: list[Any], tmp_path: Path) -> None:
    first = list(campaign(tmp_path).sampled(3))
    played = len(asked)
    again = list(campaign(tmp_path).sampled(4))
    assert again[:3] == first
    assert not any(isinstance(one, ExamSettings) for one in asked[played:]), "the survey is kept"
    assert {one.mutation for one in asked[played:] if one.trigger != ALWAYS} == {again[3].mutation}


def test_an_interrupt_loses_only_what_is_being_played(asked: list[Any], tmp_path: Path, monkeypatch: Any) -> None:
    whole = drawn(list(campaign(tmp_path / "whole").sampled(3)))
    answered = campaigns.bounded

    def interrupted(function: Any, argument: Any, *more: Any) -> Any:
        if isinstance(argument, Exam) and argument.trigger.key == whole[1][1]:
            raise KeyboardInterrupt
        return answered(function, argument, *more)

    monkeypatch.setattr(campaigns, "bounded", interrupted)
    arguments = ["--sample", "3", "--seed", "7", "-n", "1", "--folder", str(tmp_path), "--figures", str(tmp_path / "f")]
    assert command.main(arguments) == command.INTERRUPTED
    assert not (tmp_path / "f").exists()
    monkeypatch.setattr(campaigns, "bounded", answered)
    before = len(asked)
    whatever_three_brokers_say_of_the_goals = (command.DONE, command.MISSED)
    assert command.main(arguments) in whatever_three_brokers_say_of_the_goals
    assert not any(isinstance(one, ExamSettings) for one in asked[before:])
    assert json.loads((tmp_path / "f").read_text())["ci documented"]["sample"] == 3


def test_the_base_may_be_of_another_depth_than_the_exam(asked: list[Any], tmp_path: Path) -> None:
    deep = Campaign(ExamSettings("deep", 7), "ci", Journal(tmp_path, "exams"), workers=1)
    list(deep.sampled(1))
    surveys = [one.depth for one in asked if isinstance(one, ExamSettings)]
    exams = {(one.trigger == ALWAYS, one.settings.depth) for one in asked if isinstance(one, Exam)}
    assert surveys == ["ci", "deep"]
    assert exams == {(True, "ci"), (False, "deep")}


def test_machines_alone_are_asked_about_what_shows_to_all(asked: list[Any], tmp_path: Path) -> None:
    alone = Campaign(replace(SETTINGS, machines_alone=True), "ci", Journal(tmp_path, "exams"), workers=1)
    list(alone.sampled(1))
    exams = {(one.trigger == ALWAYS, one.settings.machines_alone) for one in asked if isinstance(one, Exam)}
    assert exams == {(True, False), (False, True)}
    assert all(play.machine for play in surveys.chosen(ExamSettings("ci", machines_alone=True)))
    assert not all(play.machine for play in surveys.chosen(SETTINGS))


def test_who_does_not_answer_is_not_done_in_time_and_who_cannot_start_shows_nothing(
    asked: list[Any],
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    answers = {"unacked": None, "confirms": {"trouble": "no broker"}}
    monkeypatch.setattr(
        campaigns,
        "bounded",
        lambda function, argument, *_: (
            answer_of(function, argument) if not isinstance(argument, Exam) else answers[argument.mutation.module]
        ),
    )
    one = campaign(tmp_path)
    reach = one.surveyed(SETTINGS)
    hung, was_hung = one.examined(place("unacked.Unacked.up_to", "constant", "`True` as"), ALWAYS, SETTINGS, reach)
    assert (hung.outcome, was_hung) == ("unfinished", True)
    failed, was_hung = one.examined(place("confirms.Confirms.next", "constant"), ALWAYS, SETTINGS, reach)
    assert (failed.outcome, failed.observed, was_hung) == ("unfinished", "no broker", False)
    with pytest.raises(Failed):
        monkeypatch.setattr(campaigns, "bounded", lambda *_: None)
        campaign(tmp_path / "none").surveyed(SETTINGS)


def test_a_breakdown_is_no_base(asked: list[Any], tmp_path: Path, monkeypatch: Any) -> None:
    def breaks_down(function: Any, argument: Any, *_: Any) -> Any:
        answer = answer_of(function, argument)
        if isinstance(argument, Exam) and argument.mutation.module == "unacked":
            answer["rule"] = BROKE_DOWN
        return answer

    monkeypatch.setattr(campaigns, "bounded", breaks_down)
    assert {one.mutation.module for one in campaign(tmp_path).sampled(7)} == {"confirms"}


# -- the real thing, small


def test_a_survey_tells_who_reaches_what_and_with_which_subjects(monkeypatch: Any) -> None:
    names = ("settling_is_silent-classic", "a_confirm_for_one-classic")
    everything = surveys.chosen(ExamSettings("smoke"))
    monkeypatch.setattr(surveys, "chosen", lambda settings: [play for play in everything if play.key in names])
    answers: list[dict[str, Any]] = []
    survey(ExamSettings("smoke"), answers.append)
    assert answers[0]["alarms"] == []
    reach = read(json.loads(json.dumps(answers[0])))
    confirmed = reach[place("confirms.Confirms.accept", "dropped", "append").at]
    assert list(confirmed.plays) == list(names)
    assert not any(module == "deadletter" for module, _, _ in reach)
    assert {"connection", "channel", WRITE} <= confirmed.present
    assert "consumer" not in confirmed.present


# -- figures and words


def sample() -> list[Sampled]:
    mutation = place("unacked.Unacked.up_to", "constant", "`True` as")
    one = Sampled(0, mutation, Trigger("from", k=2), "ACK-001", 3, Seen("found", "ACK-001"))
    return [
        one,
        replace(one, number=1, trigger=Trigger("from", k=1024), seen=Seen("silent", occasions=9), passed_over=1),
        replace(one, number=2, trigger=Trigger("write"), seen=Seen("unseen", fired=4), base="ERR-012"),
    ]


def test_the_figures_count_by_kind_and_power(tmp_path: Path) -> None:
    document = figures(sample(), campaign(tmp_path), 1000)
    assert (document["sample"], document["passed_over"], document["seed"]) == (3, 7, 7)
    assert document["kinds"]["from"] == {"found": 1, "unseen": 0, "silent": 1, "unfinished": 0}
    assert document["powers"] == {
        "from": {
            2: {"found": 1, "unseen": 0, "silent": 0, "unfinished": 0},
            1024: {"found": 0, "unseen": 0, "silent": 1, "unfinished": 0},
        }
    }
    assert (sum(document["near"].values()), sum(document["far"].values())) == (2, 1)
    assert sum(document["quiet"].values()) == 2
    assert [one["number"] for one in document["survivors"]] == [1, 2]


def test_goals_are_shares_near_and_far_and_no_alarm(tmp_path: Path) -> None:
    counts = {"found": 9, "unseen": 1, "silent": 0, "unfinished": 0}
    fine = {"depth": "ci", "near": counts, "far": {**counts, "silent": 2}, "alarms": []}
    assert sound(fine)
    assert not sound({**fine, "near": {**counts, "unfinished": 1}})
    assert not sound({**fine, "far": {**counts, "silent": 4}})
    assert not sound({**fine, "alarms": ["X"]})
    assert not sound({**fine, "depth": "deep"})


def test_words_tell_each_broker_and_the_curve(tmp_path: Path) -> None:
    lines = [line(number, 3, one) for number, one in enumerate(sample(), 1)]
    assert "from k=2: found by ACK-001" in lines[0]
    assert "NEVER FIRED on 9 occasions" in lines[1]
    assert "NOT SEEN, fired 4 times" in lines[2]
    text = "\n".join(words(figures(sample(), campaign(tmp_path), 1000)))
    assert "7 mutations passed over" in text
    assert any(row.split() == ["from", "k", "=", "1024", "0", "0", "1", "0", "0%"] for row in text.splitlines())


def test_the_page_tells_the_curve_and_who_survived(tmp_path: Path) -> None:
    path = tmp_path / "mutation.json"
    command.keep(figures(sample(), campaign(tmp_path), 1000), path)
    command.keep({**figures(sample(), campaign(tmp_path), 1000), "of": "deep documented"}, path)
    text = mutation_page.section(json.loads(path.read_text()))
    assert "### At depth ci documented" in text
    assert "### At depth deep documented" in text
    assert "| from the k-th occasion on | 1 | 0 | 1 | 0 | 50% |" in text
    assert "| &nbsp; 1024 | 0 | 0 | 1 | 0 | 0% |" in text
    assert "| unacked.Unacked.up_to | `True` as `False` | write | not seen | 4 | 0 |" in text
    assert mutation_page.section(None) == ""
    assert command.FIGURES == mutation_page.FIGURES


def test_every_kind_of_trigger_has_its_words() -> None:
    assert set(mutation_page._TRIGGERS) == set(TRIGGERS)


def test_a_mutation_at_a_statement_that_nobody_reaches_is_not_drawn(asked: list[Any], tmp_path: Path) -> None:
    one = campaign(tmp_path)
    reach = {at: reached for at, reached in one.surveyed(SETTINGS).items() if at[0] == "confirms"}
    found: list[Mutation] = [one.one(number, reach, reach).mutation for number in range(5)]
    assert {each.module for each in found} == {"confirms"}
