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


def weighed(policies: str, *messages: str, declare: str = PLAIN, size: int = 20_000) -> str:
    """Likewise, and each has so many octets."""
    large = sent(1, 2, 3, 4).replace(" \n 8 <", f" split={size} \n 8 <")
    return declare + policies + large + got(*messages, how=f"q split={size}")


OCTETS = '- rule p ^q$ {"max-length-bytes":50000} \n'
ROOM = "@queue q classic x-max-length-bytes=70000 \n" + OPEN
ALL, LAST = ("m1", "m2", "m3", "m4"), ("m3", "m4")
LATER = TWO + PLAIN
TWICE = LATER + "90 > declare q x-queue-type=classic \n 90 < declare-ok q \n" + sent(1, 2, 3, 4)
ANEW = LATER + "90 > delete q \n 90 < delete-ok \n @queue q classic \n"
MINE = TWO + OPEN + "8 > declare q classic exclusive \n 8 < declare-ok q \n"
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
LESS = '- rule o ^q$ {"message-ttl":100} operator=1 \n' + DIES.replace("100", "60000")
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


EXPIRES = '- rule p ^q$ {"expires":300} \n'
HOURS = '- rule p ^q$ {"expires":3600000} \n'
LEASED = "@queue q classic x-expires=300 \n" + OPEN
LONG = "@queue q classic x-expires=3600000 \n" + OPEN
LEASE = '- rule p ^q$ {"expires":3000} busy \n - wait 0.1 \n'
WAITS = "- wait 4 \n"
AND_WAITS = "- wait 60 \n"
ASKED = "2 > declare q classic passive \n"
NOT_THERE, THERE = ASKED + "2 < closed 404 50 10 no \n", ASKED + "2 < declare-ok q \n"
REFUSES = '- rule p ^q$ {"max-length":2,"overflow":"reject-publish"} \n'
DROPS = '- rule p ^q$ {"max-length":2,"overflow":"drop-head"} \n'
SAYS_DROP = "@queue q classic x-overflow=drop-head \n" + OPEN
SAYS_REJECT = "@queue q classic x-overflow=reject-publish \n" + OPEN
FIRST = ("m1", "m2")
SAYS_NOTHING = "@queue q classic x-max-length=2 \n" + OPEN
RETURNS = "@queue q quorum \n" + OPEN + '- rule p ^q$ {"delivery-limit":1} \n' + sent(1)


NO_LIMIT = RETURNS.replace(sent(1), "- unrule p \n" + sent(1))
NO_MORE = "2 > get q \n 2 < get-empty \n"


def returned(tag: int) -> str:
    """It comes, and is rejected."""
    again = " redelivered" if tag > 1 else ""
    return f"2 > get q \n 2 < get-ok {tag} m1 q{again} \n 2 > reject {tag} requeue \n @barrier 2 \n"


def refused(*numbers: int) -> str:
    """These messages are published and refused."""
    return "".join(f"8 > publish q m{at} \n 8 < nack {at} \n" for at in numbers)


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
    "POLICY-015": PLAIN + EXPIRES + WAITS + NOT_THERE,
    "POLICY-016": LONG + EXPIRES + WAITS + NOT_THERE,
    "POLICY-017": PLAIN + HOURS + EXPIRES + WAITS + NOT_THERE,
    "POLICY-018": PLAIN + REFUSES + sent(1, 2) + refused(3, 4) + got(*FIRST),
    "POLICY-019": PLAIN + DROPS + sent(1, 2, 3) + REFUSES + refused(4) + got("m2", "m3"),
    "POLICY-020": by(REFUSES, *LAST, declare=SAYS_DROP),
    "POLICY-021": RETURNS + returned(1) + returned(2) + "2 > get q \n 2 < get-empty \n",
}
BROKEN = [
    ("POLICY-001", by(TWO, *ALL)),
    ("POLICY-001", by(TWO, "m4")),
    ("POLICY-002", by("", *ALL, declare=LATER)),
    ("POLICY-002", by("", *ALL, declare=MINE)),
    ("POLICY-002", TWICE + got(*ALL)),
    ("POLICY-002", ANEW + sent(1, 2, 3, 4) + got(*ALL)),
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
    ("POLICY-001", weighed(OCTETS, *ALL)),
    ("POLICY-007", weighed(OCTETS, "m2", "m3", "m4", declare=ROOM)),
    ("POLICY-009", weighed(OCTETS + "- unrule p \n", *ALL, declare=ROOM)),
    ("POLICY-009", NO_LIMIT + returned(1) + returned(2) + "- wait 11 \n" + NO_MORE),
    ("POLICY-010", by(OPERATOR, "m2", "m3", "m4")),
    ("POLICY-011", PLAIN + DIES + got("m1")),
    ("POLICY-012", GRAVE + PLAIN + BURIES + REJECTED + "- wait 9 \n" + got(queue="d")),
    ("POLICY-012", GRAVE + PLAIN + BURIES + REJECTED + dead("e", "e")),
    ("POLICY-012", GRAVE + PLAIN + BURIES + "- unrule p \n" + REJECTED + dead("d", "d")),
    ("POLICY-010", PLAIN + LESS + got("m1")),
    ("POLICY-013", NOWHERE + INSTEAD + STRAYS + got(queue="d")),
    ("POLICY-013", NOWHERE + INSTEAD + STRAYS + stray("e")),
    ("POLICY-013", NOWHERE + INSTEAD + "- unrule p \n" + STRAYS + stray("d")),
    ("POLICY-014", GRAVE + SAYS + BURIES + REJECTED + dead("d", "d")),
    ("POLICY-014", NAMED + INSTEAD + STRAYS + stray("d")),
    ("POLICY-015", PLAIN + EXPIRES + WAITS + AND_WAITS + THERE),
    ("POLICY-015", PLAIN + HOURS + WAITS + NOT_THERE),
    ("POLICY-016", LONG + EXPIRES + WAITS + AND_WAITS + THERE),
    ("POLICY-016", LEASED + HOURS + WAITS + AND_WAITS + THERE),
    ("POLICY-016", LONG + HOURS + WAITS + NOT_THERE),
    ("POLICY-017", PLAIN + HOURS + EXPIRES + WAITS + AND_WAITS + THERE),
    ("POLICY-017", PLAIN + LEASE + HOURS + WAITS + NOT_THERE),
    ("POLICY-017", PLAIN + LEASE + "- unrule p \n" + WAITS + NOT_THERE),
    ("POLICY-018", PLAIN + REFUSES + sent(1, 2, 3)),
    ("POLICY-019", PLAIN + DROPS + sent(1, 2, 3) + REFUSES + sent(4)),
    ("POLICY-019", PLAIN + REFUSES + sent(1, 2) + refused(3) + DROPS + refused(*range(4, 12))),
    ("POLICY-019", PLAIN + REFUSES + sent(1, 2) + DROPS + sent(3) + got("m3")),
    ("POLICY-019", SAYS_NOTHING + REFUSES + sent(1, 2) + "- unrule p \n" + refused(*range(3, 11))),
    ("POLICY-021", RETURNS + returned(1) + returned(2) + returned(3)),
    ("POLICY-020", SAYS_DROP + REFUSES + sent(1, 2) + refused(*range(3, 11))),
    ("POLICY-020", SAYS_REJECT + DROPS + sent(1, 2, 3)),
]
BUSY = TWO.replace("} \n", "} busy \n")
LAWFUL = {
    "what was published before a queue was deleted comes into the next": ANEW.replace(
        "90 > delete", "8 > publish q m9 \n 90 > delete"
    )
    + "8 < ack 1 \n 8 > publish q m1 \n 8 < ack 2 \n 8 > publish q m2 \n 8 < ack 3 \n"
    + got("m1", "m2"),
    "its deletion was not answered": ANEW.replace("90 < delete-ok \n", "") + sent(1, 2, 3, 4) + got(*ALL),
    "something may come by itself to a queue that is new": "@queue h classic x-dead-letter-exchange= \n"
    + ANEW
    + sent(1, 2, 3, 4)
    + got("m4"),
    "a limit of octets": weighed(OCTETS, *LAST),
    "a limit of octets, and a larger one of the queue's own": weighed(OCTETS, *LAST, declare=ROOM),
    "a limit of octets of the queue's own": weighed(OCTETS + "- unrule p \n", "m2", "m3", "m4", declare=ROOM),
    "what is beside a small body may count": weighed(OCTETS.replace("50000", "50"), "m4", size=20),
    "it is declared again": TWICE + got(*LAST),
    "it may come again in a moment": NO_LIMIT + returned(1) + returned(2) + "- wait 2 \n" + NO_MORE,
    "it was rejected, and somebody else may have it": NO_LIMIT
    + returned(1)
    + returned(2)
    + "@consume 1 q c no_ack \n"
    + "- wait 11 \n"
    + NO_MORE,
    "what was removed is not all that limits it": NO_LIMIT.replace(
        "- unrule p", '- rule o ^q$ {"delivery-limit":1} \n - unrule p'
    )
    + returned(1)
    + returned(2)
    + "- wait 11 \n"
    + NO_MORE,
    "nothing goes there by the policy that was removed": GRAVE
    + PLAIN
    + BURIES
    + "- unrule p \n"
    + REJECTED
    + got(queue="d"),
    "an argument says where it goes, though no policy does any more": GRAVE
    + SAYS
    + BURIES
    + "- unrule p \n"
    + REJECTED
    + dead("e", "e"),
    "another policy says where it goes": GRAVE
    + PLAIN
    + BURIES.replace("p ^q", "o ^q")
    + TWO
    + "- unrule p \n"
    + REJECTED
    + dead("d", "d"),
    "messages that expire": NO_LIMIT.replace("- unrule p", '- rule o ^q$ {"message-ttl":100} \n - unrule p')
    + returned(1)
    + returned(2)
    + "- wait 11 \n"
    + NO_MORE,
    "one of two policies says where it goes": GRAVE
    + PLAIN
    + BURIES
    + '- rule o ^q$ {"message-ttl":3600000} \n'
    + REJECTED
    + dead("d", "d"),
    "one of two policies names an alternate exchange": NOWHERE
    + INSTEAD
    + '- rule o ^x$ {"federation-upstream":"u"} apply_to=exchanges \n'
    + STRAYS
    + stray("d"),
    "an alternate exchange by argument": NAMED + INSTEAD + "- unrule p \n" + STRAYS + stray("e"),
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
    "it has time to expire in": PLAIN + EXPIRES + "- wait 0.2 \n" + THERE,
    "it may have gone before the policy was removed": PLAIN + EXPIRES + "- unrule p \n" + WAITS + NOT_THERE,
    "it may have gone before it had longer": PLAIN + LEASE + "- wait 2.5 \n" + HOURS + WAITS + NOT_THERE,
    "it has longer by now": PLAIN + LEASE + HOURS + WAITS + THERE,
    "it had been used before the policy was removed": PLAIN + LEASE + "- unrule p \n" + THERE + WAITS + THERE,
    "it counts anew for another policy": PLAIN
    + EXPIRES
    + "- wait 0.1 \n"
    + '- rule o ^x$ {"max-length":9} \n'
    + "- wait 0.2 \n"
    + THERE,
    "it is used": PLAIN + LEASE + "- wait 2 \n 2 > get q \n 2 < get-empty \n - wait 2 \n" + THERE,
    "a consumer keeps it": PLAIN + EXPIRES + "@consume 2 q c \n" + WAITS + THERE.replace("2 ", "1 "),
    "it was deleted": PLAIN + HOURS + "1 > delete q \n 1 < delete-ok \n" + NOT_THERE,
    "another connection uses it": PLAIN
    + EXPIRES.replace("} \n", "} busy \n")
    + "d:1 > open \n d:1 < open-ok \n d:1 > get q \n d:1 < get-empty \n"
    + WAITS
    + THERE,
    "two policies of the same priority say when": PLAIN + EXPIRES + HOURS.replace(" p ", " r ") + WAITS + THERE,
    "two questions at a time": PLAIN
    + EXPIRES
    + WAITS
    + "2 > declare x classic passive \n"
    + ASKED
    + "2 < declare-ok x \n 2 < closed 404 50 10 no \n",
    "it refuses what it has room for": PLAIN + REFUSES + sent(1) + refused(2) + sent(3) + got("m1", "m3"),
    "it refuses for reasons of its own": SAYS_DROP
    + REFUSES
    + sent(1, 2)
    + refused(*range(3, 10))
    + sent(10)
    + got("m10"),
    "it keeps more than it may": PLAIN + sent(1, 2, 3) + REFUSES + refused(4) + got("m1", "m2", "m3"),
    "it refuses and may drop what it has": PLAIN + sent(1, 2, 3) + REFUSES + refused(4) + got("m2", "m3"),
    "it is turned while a publish is under way": PLAIN
    + DROPS
    + sent(1, 2)
    + "8 > publish q m3 \n"
    + REFUSES
    + "8 < ack 3 \n"
    + got("m2", "m3"),
    "an operator says what a full queue does": PLAIN
    + REFUSES
    + '- rule o ^q$ {"overflow":"drop-head"} operator=1 \n'
    + sent(1, 2, 3)
    + got("m2", "m3"),
    "the policy that refused is removed": PLAIN
    + REFUSES
    + sent(1, 2)
    + refused(3)
    + "- unrule p \n"
    + sent(4, 5)
    + got("m1", "m2", "m4", "m5"),
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


@pytest.mark.parametrize("rule", ["POLICY-004", "POLICY-008", "POLICY-012", "POLICY-017", "POLICY-019"])
def test_a_judge_is_put_aside_amid_policies(play: Callable[[str], Any], rule: str) -> None:
    book = play(SOUND[rule])
    judge = Judge(book.judge.profile)
    for event in book.events:
        judge.step(event)
        judge = decode(encode(judge), judge.profile)
    assert judge.judgement.exercised == book.exercised
