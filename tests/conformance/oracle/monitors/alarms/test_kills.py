"""The broker is killed, and comes back: what families remember of the time before says nothing of what is there now."""

from __future__ import annotations

import pytest

from conformance.oracle.model.memory import UNCERTAIN
from tests.support.tables import Play

KILLED = "- killed \n - end c fin \n d:1 > open \n d:1 < open-ok \n"
COPY = 'with={"headers":{"CC":["A",[["S","r"]]]}}'
HISTORIES = {
    "a name is chosen again": "@open 90 \n 90 > declare \n 90 < declare-ok amq.gen-1 \n"
    + KILLED
    + "d:1 > declare \n d:1 < declare-ok amq.gen-1",
    "a copy is lost": f"@queue q durable \n @queue r durable \n @confirming 1 \n 1 > publish q m1 {COPY} \n"
    + "1 < ack 1 \n"
    + KILLED
    + "d:1 > get r no_ack \n d:1 < get-empty",
    "more messages than are remembered": "@queue q durable \n @confirming 1 \n"
    + "".join(f"1 > publish q m{number} \n" for number in range(2 * UNCERTAIN))
    + f"1 < ack {2 * UNCERTAIN} multiple \n"
    + KILLED
    + "d:1 > get q no_ack \n d:1 < get-empty",
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_a_kill_ends_what_is_remembered(play: Play, history: str) -> None:
    assert play(history).broken == []
