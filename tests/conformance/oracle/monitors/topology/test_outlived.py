"""EXCH-010 over a restart: exchanges that are to go with their last binding, which they had before."""

from __future__ import annotations

from tests.conformance.oracle.monitors.messages.test_dur import BACK, BIND, BY_ITSELF, NO_EXCHANGE, RESTART
from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

TWO = BY_ITSELF + BIND + BIND.replace(" a", " b")
LOOK = "d:1 > exchange x passive \n d:1 < exchange-ok \n"
UNBIND = "d:1 > unbind q x a \n d:1 < unbind-ok \n"
LATER, GONE = "- wait 2.5 \n d:1 > exchange x passive \n", f"d:1 < {NO_EXCHANGE}"
THERE = "d:1 < exchange-ok"
BEFORE = BY_ITSELF + BIND + BACK
ONCE = RESTART + ("d:1 > open \n d:1 < open-ok \n" + LOOK).replace("d:1", "e:1")
SOUND = {
    "EXCH-010": BEFORE + LOOK + UNBIND + LATER + GONE,
}
BROKEN = [
    ("EXCH-010", BEFORE + LOOK + UNBIND + LATER + THERE),
    ("EXCH-010", TWO + BACK + LOOK + UNBIND + UNBIND.replace(" a", " b") + LATER + THERE),
    ("EXCH-010", BY_ITSELF + BIND + ONCE + BACK + LOOK + UNBIND + LATER + THERE),
]
LAWFUL = {
    "another binding is left": TWO + BACK + LOOK + UNBIND + LATER + THERE,
    "it was looked for too soon": BEFORE + LOOK + UNBIND + LATER.replace("2.5", "1.5") + THERE,
    "the unbinding was not answered": BEFORE + LOOK + UNBIND.partition("d:1 <")[0] + LATER + THERE,
    "another key was unbound": BEFORE + LOOK + UNBIND.replace(" a", " c") + LATER + THERE,
    "it was bound again": BEFORE + LOOK + "d:1 > bind q x b \n d:1 < bind-ok \n" + UNBIND + LATER + THERE,
    "nobody has seen it since": BEFORE + UNBIND + LATER + THERE,
    "it was declared anew": BEFORE
    + LOOK
    + UNBIND
    + "d:1 > exchange x direct durable auto_delete \n d:1 < exchange-ok \n"
    + LATER
    + THERE,
    "it is no such exchange": BEFORE.replace(" auto_delete", "") + LOOK + UNBIND + LATER + THERE,
    "its queue was not to stay": BEFORE.replace("queue q durable", "queue q") + LOOK + UNBIND + LATER + THERE,
}
