"""What a broker was seen to refuse wherever it comes accuses it of nothing else, whatever else is wrong with it.

How it refuses an argument is told apart, by the questions that are asked before an exam.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.catalogue import profiles

DOCUMENTED = profiles.load("documented")
MISTAKES = {
    "QUEUE-016": "1 > declare n x-max-length=-1",
    "QUEUE-005": "1 > declare q x-max-length=7",
}


@pytest.mark.parametrize(("rule", "mistake"), MISTAKES.items(), ids=MISTAKES)
def test_an_argument_that_is_refused_costs_what_its_refusal_costs(play, rule: str, mistake: str) -> None:
    """ERR-004: it is no mistake that should have cost the channel only."""
    history = f"@queue q \n @open 1 \n {mistake} \n 0 < kicked 503 50 10 unknown argument"
    argument = mistake.split()[-1].partition("=")[0]
    assert play(history, replace(DOCUMENTED, refused={argument: "503"})).broken == []
    assert play(history).broken == [rule, "ERR-004"]


def test_its_refusal_may_come_when_another_mistake_is_under_way(play) -> None:
    """EXCH-002: the close names queue.declare, which wants no answer, and not the exchange.declare after it."""
    history = "@queue q \n @exchange x \n @open 1 \n 1 > declare q x-max-length=7 no_wait \n"
    history += "1 > exchange x direct no_wait \n 1 < closed 406 50 10 PRECONDITION_FAILED - unknown argument"
    assert play(history, replace(DOCUMENTED, refused={"x-max-length": "406"})).broken == []
    wrong = history.replace("declare q x-max-length=7 no_wait", "purge q no_wait").replace("50 10", "50 30")
    assert play(wrong).broken == ["EXCH-002"]


@pytest.mark.parametrize(("end", "broken"), [("- end c fin", []), ("0 < kicked 503 90 20 COMMAND_INVALID", ["TX-004"])])
def test_who_breaks_down_over_a_feature_says_nothing_of_its_mistakes(play, end: str, broken: list[str]) -> None:
    """ERR-004, TX-004: the broker knows no transactions, and ends the connection over each of their methods. ERR-012
    speaks of that where it is no mistake to use them. With a reason it refuses the mistake wrongly."""
    history = f"@open 1 \n 1 > commit \n {end}"
    assert play(history, replace(DOCUMENTED, shunned={"tx.select": "connection lost"})).broken == broken
    assert "ERR-004" in play(history.replace("- end c fin", "0 < kicked 406 90 20 no")).broken


@pytest.mark.parametrize("end", ["- end c fin", "0 < kicked 541 50 10 INTERNAL_ERROR"])
def test_who_breaks_down_over_an_argument_says_nothing_of_its_values(play, end: str) -> None:
    """QUEUE-036: as on MetalMQ, which reads no integers in tables. That is ERR-012's alone."""
    history = f"@open 1 \n 1 > declare exclusive x-max-length=2147483648 \n {end}"
    assert play(history, replace(DOCUMENTED, shunned={"x-max-length": "connection lost"})).broken == ["ERR-012"]
    assert "QUEUE-036" in play(history).broken


def test_who_breaks_down_over_a_method_says_nothing_of_what_it_names(play) -> None:
    """BIND-008: it binds no exchanges at all."""
    history = "@exchange x \n @exchange y \n @open 1 \n 1 > bind-exchange y x \n - end c fin"
    assert play(history, replace(DOCUMENTED, shunned={"exchange.bind": "connection lost"})).broken == ["ERR-012"]
    assert "BIND-008" in play(history).broken


def test_an_expiration_that_is_passed_over_is_no_mistake(play) -> None:
    """TTL-007, CNF-019: whoever does not look at it need not refuse one that is no number."""
    sent = "@queue q \n @confirming 8 \n 8 > publish q m1 expiration=soon \n 8 < ack 1 \n @barrier 8"
    assert play(sent, replace(DOCUMENTED, refused={"expiration": "it is passed over"})).broken == []
    assert play(sent).broken != []
