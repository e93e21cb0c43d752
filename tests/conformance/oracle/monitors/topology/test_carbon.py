"""ROUTE-018 and ROUTE-019: sound and broken histories of messages that name more queues in their headers."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

CC, BCC = '"CC":["A",[["S","q2"]]]', '"BCC":["A",[["S","q2"]]]'


def with_headers(*headers: str) -> str:
    """The properties of a message, as the playbook has them."""
    return f'with={{"headers":{{{",".join(headers)}}}}}'


def comes(tag: int, queue: str) -> str:
    """It comes out of this queue."""
    return f"2 < get-ok {tag} m1 {queue} {with_headers(CC)} \n"


BOTH = "@queue q \n @queue q2 \n @confirming 1 \n @open 2 \n"
SENT = f"1 > publish q m1 {with_headers(CC)} \n 1 < ack 1 \n 2 > get q2 no_ack \n"
BLIND = f"1 > publish q m1 {with_headers(BCC)} \n 1 < ack 1 \n 2 > get q2 no_ack \n"
LISTED = BOTH + f"1 > publish q m1 {with_headers(CC, BCC)} \n 1 < ack 1 \n 2 > get q2 no_ack \n"
DEALT = "@queue q \n @queue q2 \n @open 1 \n @open 2 \n 1 > select \n 1 < select-ok \n"
DEALT += f"1 > publish q m1 {with_headers(CC)} \n"
COMMITTED, UNDONE = "1 > commit \n 1 < commit-ok \n", "1 > rollback \n 1 < rollback-ok \n"
GOT, EMPTY = "2 < get-ok 1 m1 q", "2 < get-empty \n"
SPARE = "@queue q3 \n @exchange y q3 \n"
X = f"{BOTH} {SPARE} 90 > exchange x direct alternate-exchange=y \n 90 < exchange-ok \n"
X += "90 > bind q2 x q2 \n 90 < bind-ok \n"
BY_X = f"1 > publish nowhere m1 exchange=x {with_headers(CC)} \n"
ACKED = "1 < ack 1 \n"
ASKED = "2 > get {} no_ack \n"
UNBIND = "90 > unbind q2 x q2 \n 90 < unbind-ok \n"
RETURNED = f"1 < return nowhere m1 exchange=x {with_headers(CC)} \n 1 < ack 1 \n"
MANDATORY = BY_X.replace("exchange=x", "exchange=x mandatory")
ANEW = "90 > delete q2 \n 90 < delete-ok 0 \n 90 > declare q2 \n 90 < declare-ok q2 \n"
ON = BOTH + "90 > exchange x topic \n 90 < exchange-ok \n 90 > exchange z fanout \n 90 < exchange-ok \n"
ON += "90 > bind q2 z \n 90 < bind-ok \n 90 > bind q x q2 \n 90 < bind-ok \n"
ON += "90 > bind-exchange z x nowhere \n 90 < bind-exchange-ok \n"
WORDS = BOTH + "90 > exchange x topic \n 90 < exchange-ok \n 90 > bind q2 x a.*.b \n 90 < bind-ok \n"
EMPTY_WORDS = '1 > publish nowhere m1 exchange=x mandatory with={"headers":{"CC":["A",[["S","a..b"]]]}} \n'
NEXT = ON.replace("z fanout", "z direct").replace("bind q2 z", "bind q2 z q2")
FULL = "@queue q \n @queue f classic x-max-length=2 x-overflow=reject-publish \n @confirming 1 \n @open 2 \n"
FULL += f"1 > publish q m1 {with_headers(CC.replace('q2', 'f'))} \n" + "1 < HOW 1 \n 2 > get f no_ack \n 2 < get-empty"
SOUND = {
    "ROUTE-018": BOTH + SENT + f"{GOT} {with_headers(CC)}",
    "ROUTE-019": LISTED + f"{GOT} {with_headers(CC)}",
}
BROKEN = [
    ("ROUTE-018", BOTH + SENT + EMPTY),
    ("ROUTE-018", DEALT + COMMITTED + ASKED.format("q2") + EMPTY),
    ("ROUTE-018", X + BY_X + ACKED + ASKED.format("q2") + EMPTY),
    ("ROUTE-018", X + BY_X + ACKED + ASKED.format("q3") + comes(1, "q3")),
    ("ROUTE-018", BOTH + SENT + comes(1, "q2") + ASKED.format("q2") + comes(2, "q2")),
    ("ROUTE-018", BOTH + BLIND + EMPTY),
    ("ROUTE-018", ON + BY_X + ACKED + ASKED.format("q2") + EMPTY),
    ("ROUTE-018", X + MANDATORY + RETURNED),
    ("CNF-012", FULL.replace("HOW", "ack")),
    ("ROUTE-019", LISTED + f"{GOT} {with_headers(CC, BCC)}"),
    ("ROUTE-019", LISTED + f"{GOT} {with_headers()}"),
]
LAWFUL = {
    "it may have expired": BOTH + SENT.replace("with={", 'with={"expiration":"1000",') + EMPTY,
    "a policy may have taken it": BOTH + '- rule p ^q {"max-length":0} \n' + SENT + EMPTY,
    "a policy that came later may have taken it": BOTH
    + SENT.replace("2 > get", '- rule p ^q {"max-length":0} \n 2 > get')
    + EMPTY,
    "a transaction that is not committed": DEALT + ASKED.format("q2") + EMPTY,
    "one that is rolled back": DEALT + UNDONE + ASKED.format("q2") + EMPTY + COMMITTED + ASKED.format("q2") + EMPTY,
    "it is fetched before the commit is answered": DEALT
    + "1 > commit \n 2 > get q2 no_ack \n"
    + comes(1, "q2")
    + "1 < commit-ok \n"
    + ASKED.format("q2")
    + EMPTY,
    "the queue is deleted, and another is declared, before the commit": DEALT
    + ANEW
    + COMMITTED
    + ASKED.format("q2")
    + EMPTY,
    "the same in two transactions": DEALT
    + COMMITTED
    + DEALT[DEALT.index("1 > publish") :]
    + UNDONE
    + ASKED.format("q2")
    + EMPTY,
    "one that is full has refused it": FULL.replace("HOW", "nack"),
    "behind another exchange it has one key": NEXT + BY_X + ACKED + ASKED.format("q2") + EMPTY,
    "or all of them": NEXT + BY_X + ACKED + ASKED.format("q2") + comes(1, "q2"),
    "without its binding it comes back": X.replace(" alternate-exchange=y", "") + MANDATORY + UNBIND + RETURNED,
    "the queue is another of its name": BOTH + SENT.replace("2 > get", ANEW + "2 > get") + EMPTY,
    "a key leads there": X + BY_X + ACKED + ASKED.format("q2") + comes(1, "q2"),
    "its binding was removed meanwhile": X + BY_X + UNBIND + ACKED + ASKED.format("q2") + EMPTY,
    "without its binding the alternate has it": X + BY_X + UNBIND + ACKED + ASKED.format("q3") + comes(1, "q3"),
    "the texts do not speak of empty words": WORDS
    + MANDATORY.replace("nowhere", "a..b")
    + RETURNED.replace("nowhere", "a..b"),
    "nor of those in further keys": WORDS
    + EMPTY_WORDS
    + EMPTY_WORDS.replace("1 > publish", "1 < return").replace(" mandatory", ""),
    "it came back": BOTH
    + SENT.replace(" no_ack", "")
    + comes(1, "q2")
    + "2 > reject 1 requeue \n 2 > flow \n 2 < flow-ok \n"
    + ASKED.format("q2")
    + comes(2, "q2").rstrip()
    + " redelivered",
    "it is not confirmed yet": BOTH + SENT.replace("1 < ack 1 \n", "") + EMPTY,
    "a get may have had it unseen": BOTH
    + SENT.replace("2 > get", "@open 3 \n 3 > get q2 \n 3 > close \n 3 < close-ok \n 2 > get")
    + EMPTY,
    "somebody else has taken it": BOTH + "@consume 3 q2 c1 no_ack \n" + SENT + EMPTY,
    "the queue was purged": BOTH + SENT.replace("2 > get", "90 > purge q2 \n 90 < purge-ok \n 2 > get") + EMPTY,
    "the queue is short": "@queue q \n @queue q2 classic x-max-length=1 \n @confirming 1 \n @open 2 \n" + SENT + EMPTY,
    "one text is no list": BOTH + SENT.replace(CC, '"CC":["S","q2"]') + EMPTY,
}
