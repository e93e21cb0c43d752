"""Gets of several queues on one channel, sent one behind the other: each answer is about the queue of its own get."""

from __future__ import annotations

import pytest

from tests.support.tables import Play

READ = "1 > get r no_ack \n 1 < get-ok 1 r1 r \n"
BOTH = "1 > get r no_ack \n 1 > get q no_ack \n 1 < get-empty \n"
REST = "1 < get-ok 2 m2 q \n 1 > get q no_ack \n 1 < get-ok 3 m3 q \n 1 > get q no_ack \n 1 < get-empty"
FILLED = "@queue r classic \n @open 1 \n @confirming 8 \n"
FILLED += "".join(f"8 > publish q m{at} \n 8 < ack {at} \n" for at in (1, 2, 3)) + "8 > publish r r1 \n 8 < ack 4 \n"
GRAVE = "@queue q classic \n @queue r classic \n"
DEAD = '- rule p ^q {"dead-letter-exchange":"","dead-letter-routing-key":"r"} \n' + GRAVE
DEAD += "@confirming 8 \n 8 > publish q m1 \n 8 < ack 1 \n @hold 1 q m1 \n 1 > reject 1 \n @barrier 1 \n - wait 11 \n"
WAYS = GRAVE + "90 > exchange x direct \n 90 < exchange-ok \n 90 > exchange a \n 90 < exchange-ok \n"
WAYS += "90 > bind q a \n 90 < bind-ok \n @confirming 8 \n @open 1 \n"
INSTEAD = '- rule p ^x$ {"alternate-exchange":"a"} apply_to=exchanges \n'
STRAY = "8 > publish k m1 exchange=x \n 8 < ack 1 \n"
FOUND = "1 < get-ok 1 m1 k exchange=x \n"
HISTORIES = {
    "a queue with a limit by argument": "@queue q classic x-max-length=2 \n" + FILLED + READ + BOTH + REST,
    "a queue with a limit by policy": '- rule p ^q {"max-length":2} \n@queue q classic \n'
    + FILLED
    + READ
    + BOTH
    + REST,
    "a queue of dead letters": DEAD + "1 > get q no_ack \n 1 > get r no_ack \n 1 < get-empty \n 1 < get-ok 2 m1 r",
    "a time to live by policy": '- rule p ^q {"message-ttl":100} \n' + GRAVE + "@confirming 8 \n 8 > publish q m1 \n"
    "8 < ack 1 \n @open 1 \n 1 > get q no_ack \n - wait 1 \n 1 > get q no_ack \n 1 < get-ok 1 m1 q \n 1 < get-empty",
    "an alternate exchange": WAYS
    + INSTEAD
    + STRAY
    + "1 > get q no_ack \n 1 > get r no_ack \n"
    + FOUND
    + "1 < get-empty",
    "another order": WAYS + INSTEAD + STRAY + "1 > get r no_ack \n 1 > get q no_ack \n 1 < get-empty \n" + FOUND,
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_each_answer_is_about_its_own_queue(play: Play, history: str) -> None:
    assert play(history).broken == []


def test_a_binding_between_exchanges_may_overtake_a_publish(play: Play) -> None:
    """POLICY-013: what another channel binds meanwhile may lead the message on."""
    onward = "90 > exchange y \n 90 < exchange-ok \n 90 > bind r y \n 90 < bind-ok \n 8 > publish k m1 exchange=x \n"
    onward += "90 > bind-exchange y x k \n 90 < bind-exchange-ok \n 8 < ack 1 \n 1 > get r no_ack \n" + FOUND
    assert play(WAYS + INSTEAD + onward).broken == []
