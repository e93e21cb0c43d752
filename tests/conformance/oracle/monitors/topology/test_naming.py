"""Names of queues, exchanges and keys: sound and broken histories, and what the history leaves open."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

PLAIN, LONG, OTHER = "a_name:1", "n" * 200, "Größe"
UNEQUAL = "1 < closed 406 50 10 PRECONDITION_FAILED"


def free(name: str) -> str:
    """It is deleted, and declared anew."""
    return f"@open 1 \n 1 > delete {name} \n 1 < delete-ok \n 1 > declare {name} durable \n"


def sought(name: str) -> str:
    """It is looked for, not found, and declared."""
    missing = f"@open 1 \n 1 > declare {name} passive \n 1 < closed 404 50 10 NOT_FOUND \n 1 > closed-ok \n"
    return missing + f"@open 1 \n 1 > declare {name} durable \n"


EXCHANGE = "@open 1 \n 1 > exchange a_name:1 direct passive \n 1 < closed 404 40 10 NOT_FOUND \n 1 > closed-ok \n"
EXCHANGE += "@open 1 \n 1 > exchange a_name:1 direct \n"
LAST = "@open 1 \n 1 > declare q durable \n 1 < declare-ok q \n"
NONE = LAST + "@open 2 \n "
BOUND = LAST + "@exchange x \n 1 > bind q x k \n 1 < bind-ok \n"
KEY = f"@queue q \n @exchange x \n @open 1 \n 1 > bind q x {'k' * 200} \n"
MISSING = f"@open 1 \n 1 > delete {LONG} \n 1 < delete-ok \n 1 > declare {LONG} passive \n"
SOUND = {
    "QUEUE-022": free(PLAIN) + f"1 < declare-ok {PLAIN}",
    "QUEUE-023": free(OTHER) + f"1 < declare-ok {OTHER}",
    "QUEUE-028": LAST + "1 > delete \n 1 < delete-ok",
    "QUEUE-035": MISSING + "1 < closed 404 50 10 NOT_FOUND",
    "EXCH-019": EXCHANGE + "1 < exchange-ok",
    "BIND-010": BOUND + "1 > unbind - x k \n 1 < unbind-ok",
    "BIND-016": KEY + "1 < bind-ok",
}
BROKEN = [
    ("QUEUE-022", free(PLAIN) + UNEQUAL),
    ("QUEUE-022", sought(PLAIN) + UNEQUAL),
    ("QUEUE-023", free(LONG) + UNEQUAL),
    ("QUEUE-023", free(OTHER) + "0 < kicked 541 0 0 INTERNAL_ERROR"),
    ("QUEUE-028", LAST + "1 > delete \n 1 < closed 404 50 40 NOT_FOUND"),
    ("QUEUE-028", NONE + "2 > delete \n 2 < delete-ok"),
    ("QUEUE-035", MISSING + "1 < declare-ok"),
    ("QUEUE-035", MISSING + "0 < kicked 541 0 0 INTERNAL_ERROR"),
    ("QUEUE-035", MISSING + "- deadline replies"),
    ("EXCH-019", EXCHANGE + "1 < closed 406 40 10 PRECONDITION_FAILED"),
    ("BIND-010", BOUND + "1 > unbind - x k \n 1 < closed 404 50 50 NOT_FOUND"),
    ("BIND-010", BOUND + "@open 2 \n 2 > unbind - x k \n 2 < unbind-ok"),
    ("BIND-016", KEY + "1 < closed 406 50 20 PRECONDITION_FAILED"),
]
LAWFUL = {
    "a long name is refused for its length": MISSING + "1 < closed 406 50 10 PRECONDITION_FAILED",
    "an unbinding that fails costs the connection": BOUND
    + "@open 2 \n 2 > unbind - x k \n 0 < kicked 404 50 50 NOT_FOUND",
    "somebody may have declared it": f"@open 1 \n 1 > declare {PLAIN} durable \n" + UNEQUAL,
    "somebody else declares it meanwhile": free(PLAIN).replace(
        f"1 > declare {PLAIN}", f"@open 2 \n 2 > declare {PLAIN} \n 1 > declare {PLAIN}"
    )
    + UNEQUAL,
    "a name that is reserved": free("amq.my:own") + "1 < closed 403 50 10 ACCESS_REFUSED",
    "a channel that was opened again": LAST + "1 > close \n 1 < close-ok \n @open 1 \n 1 > delete \n 1 < delete-ok",
    "something else is looked for beside it": f"@open 1 \n 1 > declare other passive no_wait \n 1 > declare {PLAIN} "
    f"passive \n 1 < closed 404 50 10 NOT_FOUND \n 1 > closed-ok \n @open 1 \n 1 > declare {PLAIN} durable \n"
    + UNEQUAL,
}
