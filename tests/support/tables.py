"""Tests of a family's tables of histories, for the file that has the tables to import.

SOUND: rule to a history in which it is exercised and held. BROKEN: rule and a history that breaks it. Either may come
with the profile that it is judged by: (history, "rabbitmq-4.3"). LAWFUL: histories
in which no rule is broken, by what is special in them. TRAPS: such in which nobody finds anything at all, not even a
doubt, whichever profile they are held to. The rows come in by the `conftest` of the monitors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Play = Callable[..., Any]
History = str | tuple[str, str]
Row = tuple[str, History]


def played(play: Play, history: History, profile: str = "documented") -> Any:
    """The book of a history, judged by the profile that it brings along, or by this one."""
    text, held_to = (history, profile) if isinstance(history, str) else history
    return play(text, held_to)


def test_sound(play: Play, sound: Row) -> None:
    rule, history = sound
    book = played(play, history)
    assert book.broken == []
    assert book.exercised[rule] > 0


def test_broken(play: Play, broken: Row) -> None:
    rule, history = broken
    assert rule in played(play, history).rest().broken


def test_lawful(play: Play, lawful: Row) -> None:
    assert played(play, lawful[1]).broken == []


@pytest.mark.parametrize("profile", ["documented", "rabbitmq-3.10", "rabbitmq-4.3"])
def test_no_finding(play: Play, traps: Row, profile: str) -> None:
    assert play(traps[1], profile).judge.judgement.findings == []
