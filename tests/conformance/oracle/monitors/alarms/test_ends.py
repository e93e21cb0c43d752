"""A connection ends unasked, and others have met the consequences before the news of its end: nobody is accused of
them. What was seen while it lived is."""

from __future__ import annotations

import pytest

from tests.support.tables import Play

HELD = "@queue q \n @stock q m1 \n @hold 1 q m1 \n d:1 > open \n d:1 < open-ok \n"
TWICE = HELD + "d:1 > get q \n d:1 < get-ok 1 m1 q redelivered \n"
LOCKED = "90 > declare q exclusive \n 90 < declare-ok q \n d:1 > open \n d:1 < open-ok \n"
TAKEN = "@open 90 \n" + LOCKED + "d:1 > declare q passive \n d:1 < declare-ok q \n"
SHARED = "@queue q \n @stock q m1 \n @hold 1 q m1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n"
LOOK, REFUSED = "1 > declare q passive \n", "1 < closed 403 50 10 ACCESS_REFUSED \n"
FAILED = "1 < closed 541 0 0 INTERNAL_ERROR \n"
RESET, KICKED = "- end c reset \n", "0 < kicked 320 0 0 CONNECTION_FORCED \n"
MET_BEFORE = {
    "its message is given to another": TWICE + RESET,
    "and the end is told": TWICE + KICKED,
    "only its channel ends": TWICE + FAILED,
    "it is dropped for its silence": TWICE + "- end c fin \n",
    "its message is given to another channel": SHARED + FAILED,
    "and the end answers what was sent before": SHARED.replace("2 > get", f"{LOOK} 2 > get") + REFUSED,
    "and other channels were heard": SHARED + "3 > open \n 3 < open-ok \n" + FAILED,
    "its queue is no longer locked": TAKEN + RESET,
}
SEEN_BEFORE = {
    "it lives on": TWICE,
    "it was heard in between": TWICE + "1 > qos 0 \n 1 < qos-ok \n" + RESET,
    "it ends a while later": TWICE + "- wait 1.5 \n" + RESET,
    "its client ends it": TWICE + "0 > bye \n 0 < bye-ok \n",
    "another connection ends": TWICE.replace("d:1 > get", "e:1 > open \n e:1 < open-ok \n d:1 > get", 1)
    + "e:1 > qos 0 \n e:1 < qos-ok \n - end e reset \n",
    "the channel was heard in between": SHARED + "1 > qos 0 \n 1 < qos-ok \n" + FAILED,
    "the end answers what was sent since": SHARED + "1 > ack 1 \n 1 < closed 406 60 80 unknown delivery tag 1 \n",
    "the channel fails a while later": SHARED + "- wait 1.5 \n" + FAILED,
    "the whole connection ends": SHARED + RESET,
    "the same connection ends": TWICE + "- end d reset \n",
}


@pytest.mark.parametrize("history", MET_BEFORE.values(), ids=MET_BEFORE)
def test_consequences_may_be_met_before_the_end(play: Play, history: str) -> None:
    book = play(history)
    assert set(book.broken) <= {"ERR-012"}
    assert [one for one in book.judge.judgement.findings if not one.certain]


@pytest.mark.parametrize("history", SEEN_BEFORE.values(), ids=SEEN_BEFORE)
def test_what_was_seen_before_the_end_is_certain(play: Play, history: str) -> None:
    assert "MODE-001" in play(history).broken


@pytest.mark.parametrize("end", ["reset", "fin"])
def test_an_end_without_a_word_in_a_capture_is_nobodys(play: Play, end: str) -> None:
    """A run plays the scene again to see who did it."""
    history = f"@open 1 \n 1 > ack 7 \n - end c {end}"
    live = [one for one in play(history).judge.judgement.findings if one.rule == "ERR-004"]
    assert [(one.certain, one.silent) for one in live] == [(True, True)]
    assert play("- observed \n" + history).broken == []


def test_findings_of_what_comes_later_are_not_crowded_out(play: Play) -> None:
    """Five findings of a rule are enough; those that are certain no more do not count."""
    names = [f"m{number}" for number in range(1, 8)]
    gets = "".join(f"d:1 > get q \n d:1 < get-ok {tag} {one} q redelivered \n" for tag, one in enumerate(names, 1))
    begin = (
        f"@queue q \n @stock q {' '.join(names)} m8 \n @hold 1 q {' '.join(names)} \n d:1 > open \n d:1 < open-ok \n"
    )
    later = "d:1 > get q \n d:1 < get-ok 8 m8 q \n e:1 > open \n e:1 < open-ok \n e:1 > get q \n"
    later += "e:1 < get-ok 1 m8 q redelivered \n"
    assert play(begin + gets + RESET).broken == []
    assert play(begin + gets + RESET + later).broken == ["MODE-001"]
