"""POLICY: sound and broken histories of queues and exchanges for which policies set something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.oracle.monitors import Judge
from conformance.oracle.monitors.state import decode, encode
from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

OPEN = "@open 1 \n @open 2 \n @confirming 8 \n"
PLAIN = "@queue q classic \n" + OPEN
TWO = '- rule p ^q$ {"max-length":2} \n'


def sent(*numbers: int, queue: str = "q") -> str:
    """These messages are published and confirmed."""
    return "".join(f"8 > publish {queue} m{at} \n 8 < ack {at} \n" for at in numbers)


def got(*messages: str, queue: str = "q", how: str = "") -> str:
    """These are all that is there."""
    brought = "".join(
        f"1 > get {queue} no_ack \n 1 < get-ok {at} {one} {how or queue} \n" for at, one in enumerate(messages, 1)
    )
    return brought + f"1 > get {queue} no_ack \n 1 < get-empty \n"


def by(policies: str, *messages: str, declare: str = PLAIN) -> str:
    """Under these policies four messages come to a queue, of which these are left."""
    return declare + policies + sent(1, 2, 3, 4) + got(*messages)


ALL, LAST = ("m1", "m2", "m3", "m4"), ("m3", "m4")
LATER = TWO + PLAIN
BEHIND = '- rule p q$ {"max-length":2} \n'
BOTH = TWO + '- rule r ^q$ {"max-length":3} priority=1 \n'
SILENT = TWO + '- rule r ^q$ {"message-ttl":3600000} priority=1 \n'
OTHERS = '- rule p ^q$ {"max-length":2} apply_to=exchanges \n'
ELSEWHERE = '- rule p ^q$ {"max-length":2} vhost=other \n'
ARGUMENT = "@queue q classic x-max-length=3 \n" + OPEN
LOWERED = '- rule p ^q$ {"max-length":3} \n' + sent(1, 2, 3, 4) + TWO
RAISED = TWO + sent(1, 2, 3, 4) + '- rule p ^q$ {"max-length":3} \n' + sent(5)
GONE = TWO + "- unrule p \n"
OPERATOR = '- rule p ^q$ {"max-length":3} \n - rule p ^q$ {"max-length":2} operator=1 \n'
DIES = '- rule p ^q$ {"message-ttl":100} \n' + sent(1) + "- wait 0.5 \n"
SHORTER = "@queue q classic x-message-ttl=60000 \n" + OPEN + DIES
GRAVE = "@queue d classic \n @queue e classic \n"
BURIES = '- rule p ^q$ {"dead-letter-exchange":"","dead-letter-routing-key":"d"} \n'
REJECTED = sent(1) + "2 > get q \n 2 < get-ok 1 m1 q \n 2 > reject 1 \n @barrier 2 \n - wait 2 \n"
DEAD = '{"headers":{"x-death":["A",[["F",{"queue":["S","q"],"reason":["S","rejected"],"count":["l",1]}]]]}}'
SAYS = "@queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=e \n" + OPEN
WAYS = GRAVE + "@exchange a d \n @exchange b e \n"
NOWHERE = WAYS + "90 > exchange x direct \n 90 < exchange-ok \n" + OPEN
INSTEAD = '- rule p ^x$ {"alternate-exchange":"a"} apply_to=exchanges \n'
STRAYS = "8 > publish k m1 exchange=x \n 8 < ack 1 \n"
NAMED = WAYS + "90 > exchange x direct alternate-exchange=b \n 90 < exchange-ok \n" + OPEN


def dead(queue: str, key: str) -> str:
    """It is found in this queue, with this key."""
    return f"1 > get {queue} no_ack \n 1 < get-ok 1 m1 {key} with={DEAD} \n 1 > get {queue} no_ack \n 1 < get-empty \n"


def stray(queue: str) -> str:
    return f"1 > get {queue} no_ack \n 1 < get-ok 1 m1 k exchange=x \n 1 > get {queue} no_ack \n 1 < get-empty \n"


SOUND = {
    "POLICY-001": by(TWO, *LAST),
    "POLICY-002": by("", *LAST, declare=LATER),
    "POLICY-003": by(BEHIND, *LAST),
    "POLICY-004": by(BOTH, "m2", "m3", "m4"),
    "POLICY-005": by(OTHERS, *ALL),
    "POLICY-006": by(ELSEWHERE, *ALL),
    "POLICY-007": by(TWO, *LAST, declare=ARGUMENT),
    "POLICY-008": PLAIN + LOWERED + got(*LAST),
    "POLICY-009": by(GONE, *ALL),
    "POLICY-010": by(OPERATOR, *LAST),
    "POLICY-011": PLAIN + DIES + got(),
    "POLICY-012": GRAVE + PLAIN + BURIES + REJECTED + dead("d", "d"),
    "POLICY-013": NOWHERE + INSTEAD + STRAYS + stray("d"),
    "POLICY-014": GRAVE + SAYS + BURIES + REJECTED + dead("e", "e"),
}
BROKEN = [
    ("POLICY-001", by(TWO, *ALL)),
    ("POLICY-001", by(TWO, "m4")),
    ("POLICY-002", by("", *ALL, declare=LATER)),
    ("POLICY-003", by(BEHIND, *ALL)),
    ("POLICY-003", by('- rule p ^u$ {"max-length":2} \n', *LAST)),
    ("POLICY-004", by(BOTH, *LAST)),
    ("POLICY-004", by(SILENT, *LAST)),
    ("POLICY-005", by(OTHERS, *LAST)),
    ("POLICY-006", by(ELSEWHERE, *LAST)),
    ("POLICY-007", by(TWO, "m2", "m3", "m4", declare=ARGUMENT)),
    ("POLICY-007", SHORTER + got("m1")),
    ("POLICY-008", PLAIN + LOWERED + got("m2", "m3", "m4")),
    ("POLICY-008", PLAIN + RAISED + got("m4", "m5")),
    ("POLICY-009", by(GONE, *LAST)),
    ("POLICY-010", by(OPERATOR, "m2", "m3", "m4")),
    ("POLICY-011", PLAIN + DIES + got("m1")),
    ("POLICY-012", GRAVE + PLAIN + BURIES + REJECTED + got(queue="d")),
    ("POLICY-012", GRAVE + PLAIN + BURIES + REJECTED + dead("e", "e")),
    ("POLICY-013", NOWHERE + INSTEAD + STRAYS + got(queue="d")),
    ("POLICY-013", NOWHERE + INSTEAD + STRAYS + stray("e")),
    ("POLICY-014", GRAVE + SAYS + BURIES + REJECTED + dead("d", "d")),
    ("POLICY-014", NAMED + INSTEAD + STRAYS + stray("d")),
]
BUSY = TWO.replace("} \n", "} busy \n")
LAWFUL = {
    "it is not heeded yet": by(BUSY, *ALL),
    "it may not be set yet": by(TWO.replace("} \n", "} pending \n"), *ALL),
    "it comes while messages are taken": PLAIN + sent(1, 2, 3, 4) + BUSY + got(*ALL),
    "it comes while one is under way": PLAIN + "8 > publish q m1 \n" + TWO + "8 < ack 1 \n" + sent(2, 3) + got("m1"),
    "two of the same priority": by(TWO + '- rule r ^q$ {"max-length":3} \n', "m2", "m3", "m4"),
    "another consumes": PLAIN + TWO + sent(1, 2, 3) + "@consume 2 q c no_ack \n" + got("m3"),
    "another connection has taken one": PLAIN
    + TWO
    + sent(1, 2, 3)
    + "d:1 > open \n d:1 < open-ok \n d:1 > get q no_ack \n"
    + got("m3"),
    "it also limits octets": by('- rule p ^q$ {"max-length":2,"max-length-bytes":2} \n', "m4"),
    "messages expire": by('- rule p ^q$ {"max-length":2,"message-ttl":5} \n', "m4"),
    "a quorum queue": by(TWO, *ALL, declare=PLAIN.replace("classic", "quorum")),
    "an operator allows more than an argument": by(
        '- rule p ^q$ {"max-length":3} operator=1 \n',
        "m2",
        "m3",
        "m4",
        declare=PLAIN.replace("ssic", "ssic x-max-length=2"),
    ),
    "it drops what waited before": PLAIN + sent(1) + '- rule p ^q$ {"message-ttl":100} \n - wait 1 \n' + got(),
    "it keeps what waited before": PLAIN + sent(1) + '- rule p ^q$ {"message-ttl":100} \n - wait 1 \n' + got("m1"),
    "it refuses": PLAIN + '- rule p ^q$ {"overflow":"reject-publish"} \n 8 > publish q m1 \n 8 < nack 1 \n' + got(),
    "the queue expires": PLAIN
    + '- rule p ^q$ {"expires":10} \n 1 > declare q classic passive \n 1 < closed 404 50 10 no \n',
    "the limit of a policy is reached": PLAIN + TWO + sent(1, 2, 3) + "@drain q m2 m3 \n",
    "a dead letter is late": GRAVE + PLAIN + BURIES + REJECTED.replace("- wait 2 \n", "") + got(queue="d"),
    "a dead letter is taken by another": GRAVE
    + PLAIN
    + BURIES
    + REJECTED
    + "d:1 > open \n d:1 < open-ok \n d:1 > get d no_ack \n"
    + got(queue="d"),
    "the policy goes while a message waits": GRAVE + PLAIN + BURIES + sent(1) + "- unrule p \n 2 > get q \n"
    "2 < get-ok 1 m1 q \n 2 > reject 1 \n @barrier 2 \n - wait 2 \n" + got(queue="d"),
    "what cannot be routed is not returned": NOWHERE + INSTEAD + STRAYS.replace("=x", "=x mandatory") + stray("d"),
    "there was a policy before": by('- rule z . {"max-length":1} priority=5 \n' + TWO, "m4"),
    "there is one that cannot be read": by('- rule z (*UTF)q {"max-length":3} priority=5 \n' + TWO, *LAST),
    "a binding comes": NOWHERE + INSTEAD + "90 > bind e x k \n 90 < bind-ok \n" + STRAYS + got(queue="d"),
    "the other queue has a policy as well": NOWHERE
    + INSTEAD
    + '- rule r ^d$ {"max-length":0} \n'
    + STRAYS
    + got(queue="d"),
}


@pytest.mark.parametrize("rule", ["POLICY-004", "POLICY-008", "POLICY-012"])
def test_a_judge_is_put_aside_amid_policies(play: Callable[[str], Any], rule: str) -> None:
    book = play(SOUND[rule])
    judge = Judge(book.judge.profile)
    for event in book.events:
        judge.step(event)
        judge = decode(encode(judge), judge.profile)
    assert judge.judgement.exercised == book.exercised
