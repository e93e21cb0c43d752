"""An exam says whether a machine-made wrong broker was found, and a hung one is ended."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.campaigns.hunt import Control
from tests.tools.mutation.conftest import place
from tools.mutation import exam as exams
from tools.mutation.child import TROUBLE, Answer, Send, bounded
from tools.mutation.exam import Exam, examine, ordered
from tools.mutation.sites import Mutation
from tools.mutation.survey import ExamSettings, chosen
from tools.mutation.triggers import ALWAYS, Trigger

SMOKE = ExamSettings("smoke")
PLAYS = ("a_multiple_settles_all_up_to_its_tag-classic", "singles_in_any_order-classic")
TAKEN = place("unacked.Unacked.up_to", "comparison", "found == tag")
"""A multiple that settles the first."""


def seen(mutation: Mutation, trigger: Trigger, bound: float = 60.0) -> Answer:
    answers: list[Answer] = []
    examine(Exam(mutation, trigger, SMOKE, PLAYS, bound), answers.append)
    return answers[0]


def test_what_always_shows_is_found_by_a_rule() -> None:
    answer = seen(TAKEN, ALWAYS)
    assert (answer["outcome"], answer["play"]) == ("found", PLAYS[0])
    assert answer["rule"].startswith("ACK-")
    assert answer["fired"] == answer["occasions"] > 0
    assert answer["alarms"] == []


def test_what_never_fires_is_silent_and_accuses_nobody() -> None:
    answer = seen(TAKEN, Trigger("from", k=1024))
    assert (answer["outcome"], answer["fired"], answer["alarms"], answer["rule"]) == ("silent", 0, [], "")
    assert answer["occasions"] > 0
    assert answer["histories"] == len(PLAYS)


def test_what_fires_and_breaks_nothing_is_not_seen() -> None:
    octets = place("ready.Ready.pop", "dropped", "octets")
    answer = seen(octets, ALWAYS)
    assert (answer["outcome"], answer["rule"]) == ("unseen", "")
    assert answer["fired"] > 0


def test_what_an_honest_broker_does_not_pass_is_an_alarm_and_nothing_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(exams, "control", lambda play, bench: Control(broken=["X"]))
    answer = seen(TAKEN, ALWAYS)
    assert answer["outcome"] == "unseen"
    assert any(PLAYS[0] in told for told in answer["alarms"])


def test_while_the_control_is_played_the_mutant_is_silent(monkeypatch: Any) -> None:
    controls: list[Control] = []
    honest = exams.control

    def kept(play: Any, bench: Any) -> Control:
        controls.append(honest(play, bench))
        return controls[-1]

    monkeypatch.setattr(exams, "control", kept)
    seen(TAKEN, ALWAYS)
    assert [one.broken for one in controls] == [[]]
    assert controls[0].histories


def test_what_fired_often_enough_without_being_seen_is_given_up() -> None:
    octets = place("ready.Ready.pop", "dropped", "octets")
    answers: list[Answer] = []
    examine(Exam(octets, ALWAYS, SMOKE, PLAYS, 60.0, enough=1), answers.append)
    assert (answers[0]["outcome"], answers[0]["histories"]) == ("unseen", 1)


def test_scenes_come_mixed_where_the_first_must_do_for_all() -> None:
    everything = chosen(SMOKE)
    exam = Exam(TAKEN, ALWAYS, SMOKE, (), 60.0)
    assert ordered(exam, everything) == everything
    mixed = ordered(replace(exam, enough=1), everything)
    assert mixed != everything
    assert sorted(play.key for play in mixed) == sorted(play.key for play in everything)
    assert [play.machine for play in mixed] == [play.machine for play in everything], "machines take long"


def test_an_exam_ends_in_time() -> None:
    assert seen(TAKEN, ALWAYS, bound=-1.0)["outcome"] == "unfinished"


# -- a process of its own


def answering(argument: int, send: Send) -> None:
    send({"twice": 2 * argument})
    time.sleep(60)


def hanging(argument: int, send: Send) -> None:
    while True:
        pass


def failing(argument: int, send: Send) -> None:
    raise ValueError("no such thing")


def test_an_answer_ends_the_process_and_so_does_the_bound(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert bounded(answering, 4, 60, ()) == {"twice": 8}
    assert bounded(hanging, 4, 0.2, ()) is None
    assert time.monotonic() - begin < 30


def test_a_fault_is_told() -> None:
    answer = bounded(failing, 4, 60, ())
    assert answer is not None
    assert "no such thing" in answer[TROUBLE]
