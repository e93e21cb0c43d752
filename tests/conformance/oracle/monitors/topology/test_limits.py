"""Numbers and arguments: sound and broken histories, and what the history leaves open."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

UNEQUAL = "1 < closed 406 50 10 PRECONDITION_FAILED \n"
IN_USE = "1 < closed 406 50 40 PRECONDITION_FAILED"


def chosen(*arguments: str) -> str:
    """A queue whose name the broker chooses."""
    return f"@open 1 \n 1 > declare exclusive {' '.join(arguments)} \n"


def queues(count: int) -> str:
    """So many, and one more that is asked for."""
    made = (f"1 > declare exclusive \n 1 < declare-ok chosen-{number} \n" for number in range(count))
    return "@open 1 \n" + "".join(made) + "1 > declare exclusive \n"


def exchanges(count: int) -> str:
    """So many, and one more that is asked for, and was not there before."""
    made = (f"1 > exchange x{number} \n 1 < exchange-ok \n" for number in range(count))
    missing = "@open 2 \n 2 > exchange y passive \n 2 < closed 404 40 10 NOT_FOUND \n 2 > closed-ok \n"
    return "@open 1 \n" + "".join(made) + missing + "1 > exchange y \n"


JUST, LATER = "@queue q \n @consume 2 q c1 \n 2 > cancel c1 \n 2 < cancel-ok c1 \n", "- wait 3 \n"
UNUSED, EMPTY = "@open 1 \n 1 > delete q if_unused \n", "@open 1 \n 1 > delete q if_empty \n"
LEFT = JUST + LATER + UNUSED
TAKEN = "@queue q \n @stock q m1 \n @hold 2 q m1 \n"
ACKED = TAKEN + "2 > ack 1 \n @barrier 2 \n"
EMPTIED = "@queue q \n @stock q m1 \n @drain q m1 \n @open 1 \n 1 > delete q if_empty \n"
UNBOUND = "@queue q \n @exchange x q \n @open 1 \n 1 > unbind q x \n 1 < unbind-ok \n 1 > unexchange x if_unused \n"
ABSENT = "@open 2 \n 2 > unexchange y \n 2 < unexchange-ok \n 2 > unexchange x \n 2 < unexchange-ok \n @open 1 \n"
ABSENT += "1 > exchange x direct alternate-exchange=y \n"
HEADERS = "@queue q \n @open 1 \n 1 > exchange x headers \n 1 < exchange-ok \n 1 > bind q x key x-match=some ink=red \n"
MANY = "@queue q \n @stock q " + " ".join(f"m{number}" for number in range(300)) + " \n @open 1 \n 1 > purge q \n"
SOUND = {
    "QUEUE-026": chosen("x-expires=0") + UNEQUAL,
    "QUEUE-027": chosen("x-message-ttl=0") + "1 < declare-ok chosen",
    "QUEUE-029": queues(130) + "1 < declare-ok another",
    "QUEUE-030": LEFT + "1 < delete-ok",
    "QUEUE-033": chosen("x-single-active-consumer=false") + "1 < declare-ok chosen",
    "QUEUE-034": MANY + "1 < purge-ok 300",
    "QUEUE-036": chosen("x-max-length=2147483648") + "1 < declare-ok chosen",
    "EXCH-020": exchanges(6) + "1 < exchange-ok",
    "EXCH-022": UNBOUND + "1 < unexchange-ok",
    "EXCH-023": ABSENT + "1 < exchange-ok",
    "BIND-015": HEADERS + "1 < closed 406 50 20 PRECONDITION_FAILED",
}
BROKEN = [
    ("QUEUE-026", chosen("x-expires=0") + "1 < declare-ok chosen"),
    ("QUEUE-027", chosen("x-message-ttl=0") + UNEQUAL),
    ("QUEUE-027", chosen("x-max-length=0") + UNEQUAL),
    ("QUEUE-029", queues(200) + UNEQUAL),
    ("QUEUE-030", LEFT + IN_USE),
    ("QUEUE-030", EMPTIED + IN_USE),
    ("QUEUE-030", ACKED + LATER + EMPTY + IN_USE),
    ("QUEUE-033", chosen("x-single-active-consumer=false") + UNEQUAL),
    ("QUEUE-034", MANY + "- deadline replies"),
    ("QUEUE-036", chosen("x-max-length-bytes=1099511627776") + UNEQUAL),
    ("QUEUE-036", chosen("x-expires=4294967296") + UNEQUAL),
    ("EXCH-020", exchanges(6) + "1 < closed 406 40 10 PRECONDITION_FAILED"),
    ("EXCH-022", UNBOUND + "1 < closed 406 40 20 PRECONDITION_FAILED"),
    ("EXCH-023", ABSENT + "1 < closed 404 40 10 NOT_FOUND"),
    ("BIND-015", HEADERS + "1 < bind-ok"),
]
NO_ROOM = "1 < closed 403 50 10 ACCESS_REFUSED"
LAWFUL = {
    "a queue that has not heard yet that nobody consumes": JUST + UNUSED + IN_USE,
    "a queue that has its messages until they are settled": TAKEN + LATER + EMPTY + IN_USE,
    "a queue that has not heard yet of a settlement": ACKED + EMPTY + IN_USE,
    "an operator has set a limit": queues(200) + "1 < closed 406 50 10 queue limit in vhost / (200) is reached",
    "no room for another queue": chosen("x-expires=0") + NO_ROOM,
    "no room for another one that the broker names": "@open 1 \n 1 > declare \n 1 < declare-ok given \n"
    "1 > declare exclusive x-expires=0 \n" + NO_ROOM,
    "nor for one whose limit makes no sense": "@open 1 \n 1 > declare q x-max-length=-1 \n" + NO_ROOM,
    "a limit that is negative": chosen("x-message-ttl=-1") + UNEQUAL,
    "a time beside another argument": chosen("x-message-ttl=0", "x-odd=1") + UNEQUAL,
    "as many as there must be room for": queues(240) + UNEQUAL,
    "nine exchanges beside those of the beginning": exchanges(9) + "1 < closed 406 40 10 PRECONDITION_FAILED",
    "a consumer that is being cancelled": LEFT.replace("2 < cancel-ok c1 \n", "") + IN_USE,
    "a message that is on its way": "@queue q \n @open 2 \n 2 > publish q m1 \n @open 1 \n 1 > delete q if_empty \n"
    + IN_USE,
    "another client binds it meanwhile": UNBOUND.replace(
        "1 > unexchange", "@open 2 \n 2 > bind q x k \n 1 > unexchange"
    )
    + "1 < closed 406 40 20 PRECONDITION_FAILED",
    "an alternate that may be there": ABSENT.replace("2 > unexchange y \n 2 < unexchange-ok \n", "")
    + "1 < closed 404 40 10 NOT_FOUND",
    "the queue of a binding may be gone": HEADERS.replace("1 > bind", "@open 2 \n 2 > delete q \n 1 > bind")
    + "1 < bind-ok",
}
