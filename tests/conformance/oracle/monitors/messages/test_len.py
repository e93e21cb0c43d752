"""LEN: sound and broken histories of queues that are full. Each body is one octet."""

from __future__ import annotations

import json

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

SINGLE = "x-single-active-consumer=true"
COUNT, OCTETS, BOTH = "x-max-length=2", "x-max-length-bytes=2", "x-max-length=2 x-max-length-bytes=3"
REFUSES = f"{COUNT} x-overflow=reject-publish"


def filled(limit: str, count: int, refused: str = "") -> str:
    """A queue with this limit, and so many messages that were published to it."""
    head = f"@queue q classic {limit} \n @open 1 \n @open 2 \n @confirming 8 \n"
    said = ["nack" if str(at) in refused.split() else "ack" for at in range(1, count + 1)]
    return head + "".join(f"8 > publish q m{at} \n 8 < {how} {at} \n" for at, how in enumerate(said, 1))


def got(*messages: str, first: int = 1) -> str:
    """These are all that is there; as in `m1 redelivered`; the first has this tag."""
    found = [(tag, *one.split(" ")) for tag, one in enumerate(messages, first)]
    brought = "".join(f"1 > get q no_ack \n 1 < get-ok {tag} {one} q {' '.join(how)} \n" for tag, one, *how in found)
    return brought + "1 > get q no_ack \n 1 < get-empty \n"


SAID = "@queue q {} \n 90 > declare q passive \n"
CROWDED_BY_COUNT = f"@queue q classic {COUNT} \n @open 1 \n @stock q m1 m2 m3 \n"
LETTERS = "@queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n @stock d m1 m2 m3 \n"
CROWDED_BY_LETTERS = (
    f"@queue q classic {COUNT} \n @open 1 \n" + LETTERS + "@hold 2 d m1 m2 m3 \n 2 > nack 3 multiple \n"
)
TOO_MANY = "90 > declare q passive \n 90 < declare-ok q 3 \n"
CROWDED_BY_COUNT, CROWDED_BY_LETTERS = CROWDED_BY_COUNT + TOO_MANY, CROWDED_BY_LETTERS + "@barrier 2 \n" + TOO_MANY
AGAIN = f"90 > declare q x-queue-type=classic {COUNT} \n 90 < declare-ok q 2 \n"
KEPT = filled(COUNT, 1) + "2 > get q \n 2 < get-ok 1 m1 q \n" + "8 > publish q m2 \n 8 < ack 2 \n"
CROWDED = KEPT + "8 > publish q m3 \n 8 < ack 3 \n"
TWO = "1 > get q \n 1 < get-ok 1 m1 q \n 1 > get q \n 1 < get-ok 2 m2 q \n"
BACK = filled(COUNT, 2) + TWO + "8 > publish q m3 \n 8 < ack 3 \n 8 > publish q m4 \n 8 < ack 4 \n"
RETURNED = BACK + "1 > reject 1 requeue \n 1 > reject 2 requeue \n"
WEIGHED, REPLICAS = RETURNED.replace(COUNT, OCTETS), RETURNED.replace("classic", "quorum")
FULL = filled(REFUSES, 3, refused="3") + "1 > get q no_ack \n 1 < get-ok 1 m1 q \n 8 > publish q m4 \n"
TEN = filled("x-max-length=10 x-overflow=reject-publish", 11, refused="11")
ROOMY = TEN + "".join(f"1 > get q no_ack \n 1 < get-ok {at} m{at} q \n" for at in range(1, 11))
SWEPT = "1 > purge q \n 1 < purge-ok 10 \n"


def tried(count: int, how: str, at: int = 12) -> str:
    """So many more come, from this number on, and this becomes of them."""
    return "".join(f"8 > publish q m{one} \n 8 < {how} {one} \n" for one in range(at, at + count))


def ranked(*priorities: int) -> str:
    """A queue with priorities has room for two; these came."""
    head = f"@queue q classic {COUNT} x-max-priority=9 \n @open 1 \n @confirming 8 \n"
    many = enumerate(priorities, 1)
    return head + "".join(f'8 > publish q m{at} with={{"priority":{one}}} \n 8 < ack {at} \n' for at, one in many)


def of(message: str, priority: int) -> str:
    """As it is got."""
    return f'{message} with={{"priority":{priority}}}'


def refusing(*, third: str = "nack") -> str:
    """Three came to a queue for two that makes dead letters of what it refuses."""
    dead = f"{COUNT} x-overflow=reject-publish-dlx x-dead-letter-exchange= x-dead-letter-routing-key=g"
    head = f"@queue g classic \n @queue q classic {dead} \n @open 1 \n @confirming 8 \n"
    return head + "".join(f"8 > publish q m{at} \n 8 < {third if at == 3 else 'ack'} {at} \n" for at in (1, 2, 3))


def earlier(*confirmed: int) -> str:
    """The first of three is refused, the others are not; their confirms come in this order."""
    head = refusing().partition("8 > publish")[0] + "".join(f"8 > publish q m{at} \n" for at in (1, 2, 3))
    return head + "".join(f"8 < {'nack' if at == 1 else 'ack'} {at} \n" for at in confirmed)


def death(reason: str, queue: str = "q") -> str:
    """A header that tells of it."""
    died = {"queue": ["S", queue], "reason": ["S", reason], "count": ["l", 1]}
    return "with=" + json.dumps({"headers": {"x-death": ["A", [["F", died]]]}}, separators=(",", ":"))


SEVERAL = f"""
    @queue q classic {REFUSES}
    @queue r classic
    @exchange x q r
    @confirming 8
    8 > publish q m1
    8 < ack 1
    8 > publish q m2
    8 < ack 2
    8 > publish any m3 exchange=x
"""
SERVED = (
    "@queue q classic x-max-length=1 \n @confirming 8 \n @open 1 \n 1 > qos 1 \n 1 < qos-ok \n @consume 1 q c1 \n"
    "8 > publish q m1 \n 8 < ack 1 \n 1 < deliver c1 1 m1 q \n"
    "8 > publish q m2 \n 8 < ack 2 \n 8 > publish q m3 \n 8 < ack 3 \n"
)
LEFT = SERVED + "1 > cancel c1 \n 1 < cancel-ok c1 \n"
QUORUM = "@queue q quorum x-max-length=2 \n @open 1 \n @confirming 8 \n"
REPLICATED = QUORUM + "".join(f"8 > publish q m{at} \n 8 < ack {at} \n" for at in (1, 2, 3))
SOUND = {
    "LEN-001": filled(COUNT, 3) + got("m2", "m3"),
    "LEN-002": filled(COUNT, 5) + got("m4", "m5"),
    "LEN-003": filled(COUNT, 4) + got("m3", "m4"),
    "LEN-004": CROWDED + got("m2", "m3"),
    "LEN-005": filled(OCTETS, 3) + got("m2", "m3"),
    "LEN-006": filled(BOTH, 4) + got("m3", "m4"),
    "LEN-007": filled(REFUSES, 4, refused="3 4") + got("m1", "m2"),
    "LEN-008": RETURNED + got("m3", "m4", first=3),
    "LEN-009": FULL + "8 < ack 4 \n" + got("m2", "m4", first=2),
    "LEN-010": ranked(1, 5, 3, 0) + got(of("m1", 1), of("m4", 0)),
    "LEN-011": REPLICATED + got("m2", "m3"),
    "LEN-012": SEVERAL + "8 < nack 3 \n 8 > get r no_ack \n 8 < get-ok 1 m3 any \n",
    "LEN-014": filled(OCTETS, 3) + got("m2", "m3"),
    "LEN-015": LEFT + got("m3", first=2),
    "LEN-013": refusing() + f"1 > get g no_ack \n 1 < get-ok 1 m3 g {death('maxlen')}",
}
MORE = "".join(f"8 > publish q m{at} \n 8 < ack {at} \n" for at in (5, 6, 7))
EMPTIED = RETURNED + got("m3", "m4", first=3) + MORE
PURGED = filled(COUNT, 4) + "1 > purge q \n 1 < purge-ok 2 \n" + got() + MORE
BURIES = f"{COUNT} x-dead-letter-exchange= x-dead-letter-routing-key=d"
OCTETS_RANKED = ranked(1, 5, 3, 0).replace(COUNT, OCTETS)
DROPS = "x-max-length=2 x-overflow=drop-head"
BACK_RANKED = BACK.replace(COUNT, f"{COUNT} x-max-priority=5") + "1 > reject 1 requeue \n 1 > reject 2 requeue \n"
BROKEN = [
    ("LEN-002", filled(DROPS, 2) + tried(8, "nack", 3)),
    ("LEN-002", filled(COUNT, 2) + tried(8, "nack", 3)),
    ("LEN-008", BACK_RANKED + got("m1 redelivered", "m2 redelivered", "m3", "m4", first=3)),
    ("LEN-001", filled(COUNT, 3) + got("m1", "m2", "m3")),
    ("LEN-001", EMPTIED + got("m5", "m6", "m7", first=5)),
    ("LEN-001", filled(COUNT, 2) + AGAIN + "8 > publish q m3 \n 8 < ack 3 \n" + got("m1", "m2", "m3")),
    ("LEN-001", CROWDED_BY_COUNT + got("m1", "m2", "m3")),
    ("LEN-001", CROWDED_BY_LETTERS + got("m1", "m2", "m3")),
    ("LEN-001", CROWDED_BY_LETTERS.replace(COUNT, REFUSES) + got("m1", "m2", "m3")),
    ("LEN-003", PURGED + got("m7")),
    ("LEN-002", filled(BURIES, 3) + got("m1", "m2")),
    ("LEN-010", OCTETS_RANKED + got(of("m2", 5), of("m3", 3))),
    ("LEN-001", filled("x-max-length=0", 1) + got("m1")),
    ("LEN-002", filled(COUNT, 3) + got("m1", "m2")),
    ("LEN-003", filled(COUNT, 3) + got("m3")),
    ("LEN-003", filled(COUNT, 3) + got()),
    ("LEN-004", CROWDED + got("m3")),
    ("LEN-005", filled(OCTETS, 3) + got("m1", "m2", "m3")),
    ("LEN-006", filled(BOTH, 3) + got("m1", "m2", "m3")),
    ("LEN-007", filled(REFUSES, 3, refused="3") + got("m2", "m3")),
    ("LEN-008", WEIGHED + got("m1 redelivered", "m2 redelivered", "m3", "m4", first=3)),
    ("LEN-011", REPLICAS + got("m1 redelivered", "m2 redelivered", "m3", "m4", first=3)),
    ("LEN-008", RETURNED + got("m1 redelivered", "m2 redelivered", "m3", "m4", first=3)),
    ("LEN-009", ROOMY + tried(8, "nack")),
    ("LEN-009", TEN + SWEPT + tried(8, "nack")),
    ("LEN-010", ranked(1, 5, 3, 0) + got(of("m2", 5), of("m3", 3))),
    ("LEN-010", ranked(5, 1, 1) + got(of("m1", 5), of("m3", 1))),
    ("LEN-011", REPLICATED + got("m1", "m2", "m3")),
    ("LEN-011", REPLICATED + got("m1", "m2")),
    ("LEN-012", SEVERAL + "8 < ack 3 \n"),
    ("LEN-012", SEVERAL + "8 < nack 3 \n 8 > get r no_ack \n 8 < get-empty"),
    ("LEN-014", filled(OCTETS, 3) + got("m3")),
    ("LEN-015", LEFT + got("m2", "m3", first=2)),
    ("LEN-015", LEFT.replace("length=1", f"length=1 {SINGLE}") + got("m2", "m3", first=2)),
    ("LEN-013", refusing().replace(COUNT, OCTETS) + "- wait 11 \n 1 > get g no_ack \n 1 < get-empty"),
    ("LEN-013", refusing(third="ack")),
    ("LEN-013", refusing() + f"1 > get g no_ack \n 1 < get-ok 1 m3 g {death('rejected')}"),
    ("LEN-013", refusing() + "- wait 11 \n 1 > get g no_ack \n 1 < get-empty"),
]
DEAD = "@queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n"
LAWFUL = {
    "a queue that drops its oldest refuses some, for reasons of its own": filled(DROPS, 2)
    + tried(7, "nack", 3)
    + tried(1, "ack", 10)
    + tried(7, "nack", 11),
    "it came where it may have been settled before it was read": "@queue o classic \n"
    + refusing()
    + "@consume 1 o c1 \n 1 > get g \n 1 > ack 0 multiple \n "
    + f"1 < get-ok 1 m3 g {death('maxlen')} \n @barrier 1 \n - wait 11 \n 1 > get g no_ack \n 1 < get-empty",
    "a queue that has room for its octets refuses what it likes": refusing().replace(COUNT, "x-max-length-bytes=9")
    + "- wait 11 \n 1 > get g no_ack \n 1 < get-empty",
    "where one of two is served it takes one": LEFT.replace("length=1", f"length=1 {SINGLE}") + got("m3", first=2),
    "a queue that has room refuses what it likes": filled("x-max-length=30", 2) + tried(20, "nack", 3),
    "a policy may say that it refuses": filled(COUNT, 2)
    + '- rule p ^q {"overflow":"reject-publish"} \n'
    + tried(8, "nack", 3),
    "what comes back to a queue with priorities pushes some out": BACK_RANKED + got("m3", "m4", first=3),
    "some of a queue with priorities were taken before more came": BACK.replace(COUNT, f"{COUNT} x-max-priority=5")
    .replace("1 > get q \n 1 < get-ok 2 m2 q \n", "")
    .replace("8 < ack 4", "8 < ack 4 \n 1 > reject 1 requeue")
    + got("m1 redelivered", "m4", first=2),
    "it says that it is full": SAID.format(f"classic {COUNT}") + "90 < declare-ok q 2",
    "it says more than there are": CROWDED_BY_COUNT + got("m2", "m3"),
    "it counts what a client holds": BACK + TOO_MANY,
    "it has not counted yet what it has dropped": filled(COUNT, 3) + TOO_MANY + got("m2", "m3"),
    "they come while others are taken": f"@queue q classic {COUNT} \n @open 1 \n @open 3 \n 3 > publish q m1 \n"
    + "3 > publish q m2 \n 3 > publish q m3 \n"
    + TOO_MANY
    + got("m1", "m2", "m3"),
    "a queue that refuses is given back more than it has room for": SAID.format(f"classic {REFUSES}")
    + "90 < declare-ok q 3",
    "a queue that refuses gives out what it was given back": RETURNED.replace(COUNT, REFUSES)
    + "90 > declare q passive \n 90 < declare-ok q 4 \n"
    + got("m1 redelivered", "m2 redelivered", "m3", "m4", first=3),
    "a quorum queue drops its oldest in time": SAID.format(f"quorum {COUNT}") + "90 < declare-ok q 3",
    "it was declared again": filled(COUNT, 2) + AGAIN + "8 > publish q m3 \n 8 < ack 3 \n" + got("m2", "m3"),
    "another consumes": filled(COUNT, 3) + "@consume 2 q c no_ack \n" + got("m3"),
    "another connection has taken one": filled(COUNT, 3)
    + "d:1 > open \n d:1 < open-ok \n d:1 > get q no_ack \n"
    + got("m3"),
    "of octets that come back some go": WEIGHED + got("m3", "m4", first=3),
    "of what comes back to a quorum queue some goes": REPLICAS + got("m2 redelivered", "m4", first=3),
    "one comes back again and again": filled(COUNT, 1)
    + "".join(
        f"1 > get q \n 1 < get-ok {tag} m1 q{' redelivered' if tag > 1 else ''} \n 1 > reject {tag} requeue \n"
        for tag in range(1, 7)
    )
    + got("m1 redelivered", first=7),
    "one comes back": CROWDED + "2 > nack 1 requeue \n" + got("m1 redelivered", "m3"),
    "its holder closes": CROWDED + "2 > close \n 2 < close-ok \n" + got("m1 redelivered", "m3"),
    "it is found empty by another channel than the one that gave back": BACK
    + "1 > reject 1 requeue \n 8 > get q no_ack \n 8 < get-ok 1 m3 q \n 8 > get q no_ack \n 8 < get-ok 2 m4 q \n"
    "8 > get q no_ack \n 8 < get-empty \n" + MORE + got("m1 redelivered", "m6", "m7", first=3),
    "it is found empty while some are held": KEPT
    + got("m2")
    + "2 > nack 1 requeue \n"
    + MORE.replace("ack 5", "ack 3").replace("ack 6", "ack 4").replace("ack 7", "ack 5")
    + got("m1 redelivered", "m6", "m7", first=2),
    "a purge is under way when it is found empty": filled(COUNT, 4)
    + "2 > purge q \n"
    + got()
    + MORE
    + "2 < purge-ok \n"
    + got("m7"),
    "its dead letters go elsewhere": filled(BURIES, 3) + got("m2", "m3"),
    "it is emptied": filled(COUNT, 3) + "1 > purge q \n 1 < purge-ok 2 \n" + got(),
    "dead letters come": DEAD + filled(COUNT, 3) + got("m3"),
    "an exchange leads to it": filled(COUNT, 3) + "@exchange x q \n" + got("m3"),
    "one is under way": filled(COUNT, 3) + "8 > publish q m4 \n" + got("m3"),
    "messages expire": filled(COUNT + " x-message-ttl=5", 3) + got(),
    "one is lost, and its limit of octets is far away": filled("x-max-length-bytes=9000", 3) + got("m2", "m3"),
    "a quorum queue that refuses": (filled(REFUSES, 3) + got("m1", "m2", "m3")).replace("classic", "quorum"),
    "a quorum queue that has dropped more": REPLICATED + got("m3"),
    "some come back while others take": RETURNED
    + "8 > get q \n 8 < get-ok 1 m3 q \n"
    + got("m4", "m1 redelivered", "m2 redelivered", first=3),
    "another channel holds some, and fails": BACK.replace("1 > get q \n 1 < get-ok 2", "8 > get q \n 8 < get-ok 1")
    + "1 > reject 1 requeue \n 8 > ack 7 \n"
    + got("m1 redelivered", "m2 redelivered", "m4", first=2),
    "another channel gives one back before": BACK.replace("1 > get q \n 1 < get-ok 2", "8 > get q \n 8 < get-ok 1")
    + "8 > reject 1 requeue \n 1 > reject 1 requeue \n"
    + got("m1 redelivered", "m2 redelivered", "m4", first=2),
    "more come back between gets": BACK
    + "1 > reject 1 requeue \n 1 > get q no_ack \n 1 < get-ok 3 m3 q \n 1 > get q no_ack \n 1 > reject 2 requeue \n"
    "1 < get-ok 4 m4 q \n" + got("m2 redelivered", first=5),
    "it refuses, and was never full": filled(REFUSES, 1) + "8 > publish q m2 \n 8 < nack 2 \n",
    "what was taken may be on its way": filled(REFUSES, 3, refused="3")
    + "1 > get q no_ack \n 8 > publish q m4 \n 8 < nack 4 \n 1 < get-ok 1 m1 q \n",
    "a consumer that is still there": SERVED + got("m2", "m3", first=2),
    "more comes when its consumer has left": LEFT + "8 > publish q m4 \n 8 < ack 4 \n" + got("m3", "m4", first=2),
    "another channel looks": LEFT + "@open 2 \n 2 > get q no_ack \n 2 < get-ok 1 m2 q \n" + got("m3", first=2),
    "equal priorities": ranked(5, 5, 5) + got(of("m2", 5), of("m3", 5)),
    "another looks, and finds nothing yet": SEVERAL + "8 < nack 3 \n @open 1 \n 1 > get r no_ack \n 1 < get-empty",
    "a dead letter is under way": refusing() + "1 > get g no_ack \n 1 < get-empty",
    "it refuses, and is not full": refusing().replace("length=2", "length=9")
    + "- wait 2 \n 1 > get g no_ack \n 1 < get-empty",
    "somebody has taken a dead letter": refusing()
    + "- wait 2 \n @consume 1 g c no_ack \n @open 2 \n 2 > get g no_ack \n 2 < get-empty",
    "it refuses some for reasons of its own": ROOMY + tried(7, "nack"),
    "it refuses some after a purge": TEN + SWEPT + tried(7, "nack"),
    "more comes while it is purged": TEN + SWEPT.replace("1 <", f"{tried(1, 'nack')} 1 <") + tried(8, "nack", 13),
    "it holds one when it is purged": TEN
    + "1 > get q \n 1 < get-ok 1 m1 q \n 1 > purge q \n 1 < purge-ok 9 \n"
    + tried(8, "nack"),
    "it takes one of many": ROOMY + tried(4, "nack") + tried(1, "ack", at=16) + tried(4, "nack", at=17),
    "it refuses another one before it is full": earlier(1, 2, 3) + "- wait 2 \n 1 > get g no_ack \n 1 < get-empty",
    "it is told later that it refuses": earlier(2, 3, 1) + "- wait 2 \n 1 > get g no_ack \n 1 < get-empty",
    "it refuses although there is room": filled(REFUSES, 2, refused="2") + got("m1"),
}
