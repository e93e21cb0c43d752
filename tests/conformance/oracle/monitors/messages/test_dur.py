"""DUR: histories with a restart in their midst. Connection c is before it, connection d after it."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

RESTART = "- restarted stopping \n - restarted started \n"
BACK = RESTART + "d:1 > open \n d:1 < open-ok \n"
MISSED = "- restarted stopping \n d:1 > open \n d:1 < open-ok \n"
"""It was no such restart as it should be: the second event never comes."""
NO_QUEUE = "closed 404 50 10 NOT_FOUND - no queue 'q' in vhost '/'"
NO_EXCHANGE = "closed 404 40 10 NOT_FOUND - no exchange 'x' in vhost '/'"
UNEQUAL = "PRECONDITION_FAILED - inequivalent arg"

GOT = "d:1 > get other no_ack \n d:1 < get-ok 1 m1 other \n"
GOT_NOTHING = "d:1 > get other no_ack \n d:1 < get-empty \n"
"""Of a queue that nobody knows anything about: it is answered, and what is asked then is another question."""


def queue(flags: str, answer: str, *, before: str = "", again: str = "", back: str = BACK) -> str:
    """A queue that is declared with these flags, and looked for after the restart."""
    twice = f"90 > declare q {flags} \n 90 < declare-ok q \n" if again else ""
    return f"@queue q {flags} \n {twice} {before} {back} d:1 > declare q passive \n d:1 < {answer} \n {again}"


def exchange(flags: str, answer: str, *, before: str = "", again: str = "") -> str:
    """The same of an exchange."""
    declared = f"1 > exchange x {flags} \n 1 < exchange-ok \n"
    made = f"@open 1 \n {declared} {declared if again else ''} {before}"
    return f"{made} {BACK} d:1 > exchange x passive \n d:1 < {answer} \n {again}"


def again(declared: str, answer: str) -> str:
    return f"d:1 > {declared} \n d:1 < {answer}"


DELETED = "90 > delete q \n 90 < delete-ok \n"
UNDECLARED = "1 > unexchange x \n 1 < unexchange-ok \n"
MADE = "@open 1 \n 1 > declare - durable \n 1 < declare-ok amq.gen-1 \n".replace(" - ", " ")
NAMED = MADE + BACK + "d:1 > declare amq.gen-1 passive \n d:1 < declare-ok amq.gen-1 \n d:1 > declare durable \n "

BOUND = "@queue q durable \n @open 1 \n 1 > exchange x direct durable \n 1 < exchange-ok \n"
BIND = "1 > bind q x a \n 1 < bind-ok \n"
BETWEEN = BOUND + "1 > exchange y fanout durable \n 1 < exchange-ok \n 1 > bind q y \n 1 < bind-ok \n"
ONWARD = BETWEEN + "1 > bind-exchange y x a \n 1 < bind-exchange-ok \n"
ELSE = BETWEEN + "1 > exchange z direct durable alternate-exchange=y \n 1 < exchange-ok \n"
UNBOUND = BOUND + BIND + "1 > unbind q x a \n 1 < unbind-ok \n"
LOOK = "d:1 > declare q passive \n d:1 < declare-ok q \n d:1 > exchange {} passive \n d:1 < exchange-ok \n"
CONFIRMING = "d:1 > confirm \n d:1 < confirm-ok \n"


def routed(before: str, to: str = "x", *, comes_back: bool, worked: bool = True, back: str = BACK) -> str:
    """What is bound is looked for after the restart; then a mandatory message is published."""
    came = f"d:1 < return a m1 exchange={to} \n" if comes_back else ""
    tried = f"@confirming 7 \n 7 > publish a m0 exchange={to} mandatory \n"
    tried += ("" if worked else f"7 < return a m0 exchange={to} \n") + "7 < ack 1 \n"
    published = f"d:1 > publish a m1 exchange={to} mandatory \n {came} d:1 < ack 1"
    return f"{before} {tried} {back} {LOOK.format(to)} {CONFIRMING} {published}"


BY_ITSELF = BOUND.replace("direct durable", "direct durable auto_delete")
LOST = f"{BACK} d:1 > exchange x passive \n d:1 < {NO_EXCHANGE}"
ONCE_BEFORE = (BACK + LOOK.format("x") + CONFIRMING).replace("d:1", "e:1")
ONCE_BEFORE += "e:1 > publish a m8 exchange=x mandatory \n e:1 < ack 1 \n"
"""It has been restarted before, and all was there then, and worked."""

STOCK = "@queue q {} durable \n @confirming 1 \n @open 2 \n"
FULL = "".join(f"1 > publish q m{at} persistent \n 1 < ack {at} \n" for at in (1, 2, 3))
NARROW = "classic x-max-length=3 x-overflow=reject-publish"
TAKEN = "2 > get q \n 2 < get-ok 1 m1 q persistent \n"
SETTLED = TAKEN + "2 > ack 1 \n 2 > declare q passive \n 2 < declare-ok q \n"
PROVEN = TAKEN + "2 > ack 1 \n 2 > get q \n 2 < get-ok 2 m2 q persistent \n"
ONCE = "2 > get q no_ack \n 2 < get-ok 1 m1 q persistent \n"
NEXT = "2 > get q \n 2 < get-ok 2 m2 q persistent \n"
STARTED = "2 > consume q t no_ack \n 2 < consume-ok t \n "
AUTOMATIC = STARTED + "2 < deliver t 1 m1 q persistent \n 2 > cancel t \n 2 < cancel-ok t \n"
IN_TX = "2 > select \n 2 < select-ok \n" + TAKEN + "2 > ack 1 \n"
LEFT = "1 > publish q m9 \n 1 < ack 1 \n 1 > publish q m1 persistent \n 1 < ack 2 \n"
TX = "@open 3 \n 3 > select \n 3 < select-ok \n 3 > publish q m7 persistent \n"
COMMITTED = TX + "3 > commit \n 3 < commit-ok \n"
HEADS = 'with={"headers":{"a":["S","b"]}}'
WHOLE = f"1 > publish q m1 persistent {HEADS} \n 1 < ack 1 \n 1 > publish q m2 persistent {HEADS} \n 1 < ack 2 \n"
SEEN_WHOLE = WHOLE + f"2 > get q no_ack \n 2 < get-ok 1 m1 q persistent {HEADS} \n"


def left(before: str, *messages: str, kind: str = "classic", back: str = BACK, empty: bool = True) -> str:
    """These are what gets find after the restart."""
    came = "".join(
        f"d:1 > get q no_ack \n d:1 < get-ok {tag} {one.replace(' ', ' q ', 1) if ' ' in one else one + ' q'} \n"
        for tag, one in enumerate(messages, 1)
    )
    end = "d:1 > get q no_ack \n d:1 < get-empty \n" if empty else ""
    return f"{STOCK.format(kind)} {before} {back} {came} {end}"


FOUND = "@open 1 \n 1 > exchange amq.topic direct passive \n 1 < exchange-ok \n"
P = "{} persistent".format
DEADLINE = "- deadline drain q"
ROOM = "durable x-max-length=5"
RULED = '@queue q classic durable \n - rule p ^q$ {"max-length":1} \n @confirming 8 \n '
AGAIN = "d:1 > declare q classic durable \n d:1 < declare-ok q \n d:1 > confirm \n d:1 < confirm-ok \n "
AGAIN += "d:1 > publish q m1 \n d:1 < ack 1 \n d:1 > publish q m2 \n d:1 < ack 2 \n "
LOW, HIGH = (f'{name} persistent with={{"priority":{at}}}' for name, at in (("m1", 1), ("m2", 3)))
RANKED = f"1 > publish q {LOW} \n 1 < ack 1 \n 1 > publish q {HIGH} \n 1 < ack 2 \n"
LEVELS = "classic x-max-priority=5"


def ruled(*messages: str) -> str:
    """A policy limits the queue to one message, and two come after the restart; these are left."""
    came = "".join(f"d:1 > get q no_ack \n d:1 < get-ok {tag} {one} q \n " for tag, one in enumerate(messages, 1))
    return f"{RULED} {BACK} {AGAIN} {came} d:1 > get q no_ack \n d:1 < get-empty \n"


OF_THE_BROKER = (
    "@queue q durable \n @open 1 \n 1 > exchange amq.direct direct passive \n 1 < exchange-ok \n"
    "1 > bind q amq.direct k \n 1 < bind-ok \n @confirming 7 \n 7 > publish k m0 exchange=amq.direct mandatory \n"
    f"7 < ack 1 \n {BACK} {LOOK.format('amq.direct direct')} {CONFIRMING} "
    "d:1 > publish k m1 exchange=amq.direct mandatory \n"
)
PURGED = FULL + "90 > purge q \n 90 < purge-ok \n"
RENEWED = FULL + "90 > delete q \n 90 < delete-ok \n @queue q classic durable \n"
HEIR = "@queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n".replace("queue q", "queue other")
SOUND = {
    "DUR-022": ruled("m2"),
    "DUR-023": left(RANKED, HIGH, LOW, kind=LEVELS),
    "DUR-001": queue("durable", "declare-ok q"),
    "DUR-002": queue(ROOM, "declare-ok q", again=again("declare q " + ROOM, "declare-ok q")),
    "DUR-003": exchange("topic durable", "exchange-ok"),
    "DUR-004": exchange("topic durable", "exchange-ok", again=again("exchange x topic durable", "exchange-ok")),
    "DUR-005": routed(BOUND + BIND, comes_back=False),
    "DUR-006": routed(ONWARD, comes_back=False),
    "DUR-007": routed(ELSE, "z", comes_back=False),
    "DUR-008": queue("", NO_QUEUE),
    "DUR-009": queue("durable exclusive", NO_QUEUE),
    "DUR-010": exchange("direct", NO_EXCHANGE),
    "DUR-011": queue("durable", NO_QUEUE, before=DELETED),
    "DUR-012": FOUND + BACK + "d:1 > exchange amq.topic direct passive \n d:1 < exchange-ok",
    "DUR-013": left(FULL, P("m1"), P("m2"), P("m3")),
    "DUR-014": left(SEEN_WHOLE, f"m2 persistent {HEADS}"),
    "DUR-015": left(FULL, P("m1"), P("m2"), P("m3")),
    "DUR-016": left(LEFT, P("m1")),
    "DUR-017": left(FULL + PROVEN, "m2 redelivered persistent", P("m3")),
    "DUR-018": left(FULL + TAKEN, "m1 redelivered persistent", P("m2"), P("m3")),
    "DUR-019": left(COMMITTED, P("m7")),
    "DUR-020": left(FULL + TX, P("m1"), P("m2"), P("m3")),
    "DUR-021": NAMED + "d:1 < declare-ok amq.gen-2",
}
BROKEN = [
    ("DUR-001", queue("durable", NO_QUEUE)),
    ("DUR-001", queue("durable auto_delete", NO_QUEUE)),
    ("DUR-001", queue("quorum durable", NO_QUEUE)),
    ("DUR-002", queue(ROOM, "declare-ok q", again=again("declare q " + ROOM, f"closed 406 50 10 {UNEQUAL}"))),
    ("DUR-003", exchange("fanout durable", NO_EXCHANGE)),
    (
        "DUR-004",
        exchange("topic durable", "exchange-ok", again=again("exchange x topic durable", "closed 406 40 10 no")),
    ),
    ("DUR-003", BY_ITSELF + BIND + LOST),
    ("DUR-001", queue("durable", NO_QUEUE, back=ONCE_BEFORE.partition("e:1 > exchange")[0] + BACK)),
    ("DUR-005", routed(BOUND + BIND, comes_back=True)),
    ("DUR-005", routed(BOUND + BIND, comes_back=True, back=ONCE_BEFORE + BACK)),
    ("DUR-005", routed(BOUND + BIND.replace(" a", " b"), comes_back=False, worked=False)),
    ("DUR-006", routed(ONWARD, comes_back=True)),
    ("DUR-006", routed(ONWARD.replace("y x a", "y x b"), comes_back=False, worked=False)),
    ("DUR-007", routed(ELSE, "z", comes_back=True)),
    ("DUR-008", queue("", "declare-ok q", back=BACK + GOT)),
    ("DUR-008", queue("", "declare-ok q", back=BACK + GOT_NOTHING)),
    ("DUR-008", queue("", "declare-ok q")),
    ("DUR-009", queue("durable exclusive", "declare-ok q")),
    ("DUR-009", queue("exclusive", "closed 405 50 10 RESOURCE_LOCKED")),
    ("DUR-010", exchange("direct", "exchange-ok")),
    ("DUR-011", queue("durable", "declare-ok q", before=DELETED)),
    ("DUR-011", exchange("direct durable", "exchange-ok", before=UNDECLARED)),
    ("DUR-011", routed(UNBOUND, comes_back=False, worked=False)),
    ("DUR-011", left(PURGED, P("m1"))),
    ("DUR-011", left(FULL + "90 > purge q no_wait \n @barrier 90 \n", P("m1"))),
    ("DUR-011", left(RENEWED, P("m2"))),
    ("DUR-012", FOUND + BACK + f"d:1 > exchange amq.topic direct passive \n d:1 < {NO_EXCHANGE}"),
    ("DUR-013", left(FULL, P("m1"), P("m2")) + DEADLINE),
    ("DUR-013", left(FULL + TAKEN, P("m2"), P("m3")) + DEADLINE),
    ("DUR-013", left(FULL, kind="quorum") + DEADLINE),
    ("DUR-013", left(FULL, P("m1"), P("m2"), kind=NARROW) + DEADLINE),
    ("DUR-014", left(SEEN_WHOLE, P("m2") + ' with={"headers":{"a":["S","c"]}}')),
    ("DUR-014", left(SEEN_WHOLE, f"m2 persistent {HEADS} octets=7878")),
    ("DUR-015", left(FULL, P("m2"), P("m1"), P("m3"))),
    ("DUR-016", left(LEFT, "m9", P("m1"))),
    ("DUR-017", left(FULL + PROVEN, P("m1"), P("m2"), P("m3"))),
    ("DUR-017", left(FULL + PROVEN.replace("ack 1", "reject 1"), P("m1"), P("m2"), P("m3"))),
    ("DUR-017", left(FULL + IN_TX + "2 > commit \n 2 < commit-ok \n" + NEXT, P("m1"), P("m2"), P("m3"))),
    ("DUR-017", left(FULL + AUTOMATIC + NEXT, P("m1"), P("m2"), P("m3"))),
    ("DUR-005", OF_THE_BROKER + "d:1 < return k m1 exchange=amq.direct \n d:1 < ack 1"),
    ("DUR-018", left(FULL + TAKEN, P("m1"), P("m2"), P("m3"))),
    ("DUR-019", left(COMMITTED) + DEADLINE),
    ("DUR-020", left(FULL + TX, P("m1"), P("m2"), P("m3"), P("m7"))),
    ("DUR-021", NAMED + "d:1 < declare-ok amq.gen-1"),
    ("DUR-022", ruled("m1", "m2")),
    ("DUR-022", ruled("m1", "m2").replace('"max-length":1}', '"max-length":1} operator=1')),
    ("DUR-023", left(RANKED, LOW, HIGH, kind=LEVELS)),
]
LAWFUL = {
    "what was given back, or up with a chance to come back": left(
        FULL + PROVEN.replace("ack 1", "reject 1 requeue"),
        "m1 redelivered persistent",
        "m2 redelivered persistent",
        P("m3"),
    ),
    "a settlement in a transaction that was not committed": left(
        FULL + IN_TX + NEXT, "m1 redelivered persistent", "m2 redelivered persistent", P("m3")
    ),
    "a settlement in a transaction that was taken back": left(
        FULL + IN_TX + "2 > rollback \n 2 < rollback-ok \n" + NEXT,
        "m1 redelivered persistent",
        "m2 redelivered persistent",
        P("m3"),
    ),
    "a commit, behind which no answer of the queue has come": left(
        FULL + IN_TX + "2 > commit \n 2 < commit-ok \n", P("m1"), P("m2"), P("m3")
    ),
    "another one has pushed it out since": left(
        FULL, P("m2"), P("m3"), P("m4"), kind=NARROW, back=BACK + "d:1 > publish q m4 persistent \n"
    ),
    "others may have bound what is the broker's": OF_THE_BROKER.replace(
        "1 > bind q amq.direct k \n 1 < bind-ok \n @confirming 7 \n", "@confirming 7 \n"
    ).replace("7 < ack 1", "7 < return k m0 exchange=amq.direct \n 7 < ack 1")
    + "d:1 < ack 1",
    "a get of what is gone costs the channel, and says nothing of the queue that is looked for": (
        f"@queue q durable \n {BACK} {GOT} d:1 > get missing \n d:1 > declare q passive \n"
        "d:1 < closed 404 60 70 NOT_FOUND - no queue 'missing'"
    ),
    "a queue without priorities does not heed them": left(RANKED, LOW, HIGH),
    "what is above the highest is like it": left(
        RANKED.replace('"priority":1', '"priority":6').replace('"priority":3', '"priority":9'),
        LOW.replace('"priority":1', '"priority":6'),
        HIGH.replace('"priority":3', '"priority":9'),
        kind=LEVELS,
    ),
    "a policy was removed before the restart": ruled("m1", "m2").replace(BACK, "- unrule p \n " + BACK),
    "an auto-delete exchange leads to nothing that stays": BY_ITSELF.replace("queue q durable", "queue q")
    + BIND
    + LOST,
    "that it leads anywhere was not answered": BY_ITSELF + "1 > bind q x a \n" + LOST,
    "its last binding was removed": BY_ITSELF + BIND + "1 > unbind q x a \n 1 < unbind-ok \n" + LOST,
    "it was unbound between two restarts": routed(
        *(BOUND + BIND,),
        comes_back=True,
        back=ONCE_BEFORE + "e:1 > unbind q x a \n e:1 < unbind-ok \n" + BACK,
    ),
    "a queue was deleted between two restarts": queue(
        *("durable", NO_QUEUE),
        back=ONCE_BEFORE.partition("e:1 > exchange")[0] + "e:1 > delete q \n e:1 < delete-ok \n" + BACK,
    ),
    "an auto-delete queue was used between them": queue(
        *("durable auto_delete", NO_QUEUE),
        back=ONCE_BEFORE.partition("e:1 > exchange")[0] + "e:1 > consume q c1 \n e:1 < consume-ok c1 \n" + BACK,
    ),
    "the restart never ended well": queue("durable", NO_QUEUE, back=MISSED),
    "nor did it for messages": left(FULL, back=MISSED) + DEADLINE,
    "nor for bindings": routed(BOUND + BIND, comes_back=True, back=MISSED),
    "another client declares it first": queue("", "declare-ok q").replace("q passive", "q"),
    "a purge was not answered": left(PURGED.replace("90 < purge-ok \n", ""), P("m1"), P("m2"), P("m3")),
    "something may come by itself to a queue that was purged": left(HEIR + PURGED, P("m1")),
    "or to one that is new": left(HEIR + RENEWED, P("m1")),
    "what comes after a purge stays": left(PURGED + "1 > publish q m4 persistent \n 1 < ack 4 \n", P("m4")),
    "what was delivered may come again": left(
        "1 > publish q m1 persistent \n 1 < ack 1 \n" + TAKEN + "2 > ack 1 \n", P("m1")
    ),
    "it was declared without an answer": "@open 1 \n 1 > declare q durable \n"
    + BACK
    + "d:1 > declare q passive \n d:1 < "
    + NO_QUEUE,
    "its deletion was not answered": queue("durable", "declare-ok q", before="90 > delete q \n"),
    "an auto-delete queue has had a consumer": queue("durable auto_delete", NO_QUEUE, before="@consume 5 q c1 \n"),
    "it may have expired": queue("durable x-expires=1", NO_QUEUE),
    "it was declared otherwise": queue(
        ROOM, "declare-ok q", again=again("declare q durable x-max-length=6", f"closed 406 50 10 {UNEQUAL}")
    ),
    "it could not be declared again before": queue(
        ROOM, "declare-ok q", again=again("declare q " + ROOM, f"closed 406 50 10 {UNEQUAL}")
    ).replace(f"90 > declare q {ROOM} \n 90 < declare-ok q \n  ", ""),
    "the binding was not answered": routed(BOUND + "1 > bind q x a \n", comes_back=True),
    "the unbinding was not answered": routed(BOUND + BIND + "1 > unbind q x a \n", comes_back=True),
    "its queue is gone": routed(BOUND + BIND, comes_back=True).replace(LOOK.format("x"), ""),
    "a client has unbound it since": routed(BOUND + BIND, comes_back=True).replace(
        CONFIRMING, "d:1 > unbind q x a \n d:1 < unbind-ok \n" + CONFIRMING
    ),
    "the key is another": routed(BOUND + BIND.replace(" a", " b"), comes_back=True, worked=False),
    "it was not confirmed": left(FULL.replace("1 < ack 3 \n", ""), P("m1"), P("m2")) + DEADLINE,
    "the queue is not durable": left(FULL).replace("classic durable", "classic") + DEADLINE,
    "it was settled without an answer": left(FULL + TAKEN + "2 > ack 1 \n", P("m1"), P("m2"), P("m3")),
    "the answer was of no queue": left(FULL + TAKEN + "2 > ack 1 \n @barrier 2 \n", P("m1"), P("m2"), P("m3")),
    "only a declaration was answered": left(FULL + SETTLED, P("m1"), P("m2"), P("m3")),
    "another channel may have it": left(FULL, P("m1"), P("m2")) + "@consume 5 q c1 \n" + DEADLINE,
    "a quorum queue keeps transient messages": left(LEFT, "m9", P("m1"), kind="quorum"),
    "the priorities differ": left(FULL.replace("m1 persistent", 'm1 persistent with={"priority":1}'), P("m2"))
    + 'd:1 > get q no_ack \n d:1 < get-ok 2 m1 q persistent with={"priority":1}',
    "what was delivered comes last": left(FULL + TAKEN, P("m2"), P("m3"), "m1 redelivered persistent"),
    "the commit was not answered": left(TX + "3 > commit \n") + DEADLINE,
    "a name is made anew": NAMED.replace("declare amq.gen-1 passive", "delete amq.gen-1").replace(
        "d:1 < declare-ok amq.gen-1", "d:1 < delete-ok"
    )
    + "d:1 < declare-ok amq.gen-1",
}


def test_a_name_that_was_lost_is_no_other_message_lost(play) -> None:
    """One fault, one finding: a queue that is gone has taken its messages along."""
    text = f"{STOCK.format('classic')} {FULL} {BACK} d:1 > declare q passive \n d:1 < {NO_QUEUE}"
    assert play(text).broken == ["DUR-001"]


ASKED = f"d:1 > exchange amq.topic direct passive \n d:1 < {NO_EXCHANGE}"


@pytest.mark.parametrize(
    "text",
    [routed(BOUND + BIND, comes_back=True, worked=False), f"@open 1 \n {BACK} {ASKED}"],
    ids=["a binding", "an exchange"],
)
def test_what_had_not_worked_before_need_not_work_afterwards(play, text: str) -> None:
    """It is another rule that is broken then."""
    assert [rule for rule in play(text).broken if rule.startswith("DUR")] == []


def test_a_kill_promises_less(play) -> None:
    """After a kill nothing is accused of coming back."""
    text = left(FULL + PROVEN, P("m1"), P("m2"), P("m3"), back=BACK.replace(RESTART, "- killed \n"))
    assert play(text).broken == []


@pytest.mark.parametrize("profile", ["rabbitmq-3.8", "rabbitmq-4.3", "lavinmq-2.9"])
def test_others_have_nothing_to_say_of_it(play, profile: str) -> None:
    """What was known before is no evidence for other families."""
    assert play(left(FULL + PROVEN, "m2 redelivered persistent", P("m3")), profile).broken == []


@pytest.mark.parametrize(
    ("settled", "others"),
    [
        ("ack 1", ("MODE-004",)),
        ("ack 1 multiple", ("ACK-002", "ACK-003", "ACK-006")),
        ("reject 1", ("MODE-005", "ACK-012")),
    ],
)
def test_what_was_never_settled_is_there_after_a_restart(play, settled: str, others: tuple[str, ...]) -> None:
    """DUR-017: a broker that settles nothing by this has broken the rule about that."""
    book = play(left(FULL + PROVEN.replace("ack 1", settled), P("m1"), P("m2"), P("m3")))
    found = book.judge.judgement.findings[0]
    assert (found.rule, found.unless) == ("DUR-017", others)


def test_what_a_restart_brings_back_may_be_there_twice(play) -> None:
    """MODE-002: a broker that brings back what was settled does so at the next restart, with one more. Without a
    restart nothing else explains a second delivery."""
    twice = FULL + TAKEN + "2 > ack 1 \n"
    cases = (left(twice, P("m1"), P("m1")), f"{STOCK.format('classic')} {FULL} {ONCE} {ONCE}")
    found = [play(text).judge.judgement.findings for text in cases]
    assert [[(one.rule, one.unless) for one in each if one.rule == "MODE-002"] for each in found] == [
        [("MODE-002", ("DUR-017",))],
        [("MODE-002", ())],
    ]


def test_who_never_marks_a_redelivery_marks_none_after_a_restart(play) -> None:
    """DUR-018: a broker without the flag breaks RQ-008, and does so where it returns anything."""
    found = play(left(FULL + TAKEN, P("m1"), P("m2"), P("m3"))).judge.judgement.findings
    assert [(one.rule, one.unless) for one in found] == [("DUR-018", ("RQ-008",))]
