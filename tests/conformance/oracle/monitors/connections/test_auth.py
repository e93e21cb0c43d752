"""AUTH: one sound and one broken history per rule, and what a user may or may not do for all that is known."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

ALL = {"configure": ".*", "write": ".*", "read": ".*"}
EMPTY = {"configure": "", "write": "", "read": ""}


def permit(user: str = "u", vhost: str = "/", **may: object) -> str:
    """The user may do this, and nothing else."""
    return f"- permit {user} {vhost} {json.dumps(may, separators=(',', ':'))} \n "


def without(**may: str) -> str:
    """The user may do all but this."""
    return permit(**{**ALL, **may})


def enters(user: str = "u", vhost: str = "/", on: str = "") -> str:
    """A connection of this user, by its name, with channel 1."""
    on = on or user
    return (
        f"{on}:0 < start \n {on}:0 > start-ok user={user} \n {on}:0 > enter {vhost} \n {on}:0 < entered \n "
        f"{on}:1 > open \n {on}:1 < open-ok \n "
    )


def refused(what: str, ids: str, on: str = "u") -> str:
    return f"{on}:1 > {what} \n {on}:1 < closed 403 {ids} ACCESS_REFUSED"


def kicked(what: str, ids: str, on: str = "u") -> str:
    return f"{on}:1 > {what} \n {on}:0 < kicked 403 {ids} ACCESS_REFUSED"


def done(what: str, answer: str, on: str = "u") -> str:
    return f"{on}:1 > {what} \n {on}:1 < {answer}"


DECLARE, DELETE, BIND, UNBIND, PURGE = "50 10", "50 40", "50 20", "50 50", "50 30"
EXCHANGE, UNEXCHANGE, BIND_X, UNBIND_X = "40 10", "40 20", "40 30", "40 40"
GET, CONSUME, PUBLISH = "60 70", "60 20", "60 40"
Q, X, T = "@queue q \n ", "@queue q \n @exchange x q \n ", "@queue q \n @route t topic a q \n "
TWO = X + "@exchange y \n "
NO_QUEUE = "@queue n \n 90 > delete n \n 90 < delete-ok \n "
NO_EXCHANGE = X + "@exchange n \n 90 > unexchange n \n 90 < unexchange-ok \n "
BARRIER = " \n u:1 > flow \n u:1 < flow-ok"
UNHEARD = BARRIER + " \n - deadline replies"
HEIR, ALTERNATE = "declare n classic x-dead-letter-exchange=x", "exchange n alternate-exchange=x"
TOPICS: Mapping[str, object] = {"topics": {"t": {"write": "^w", "read": "^r"}}}
OF_TOPICS = T + permit(**ALL, **TOPICS) + enters()
NAMED = T + permit(**ALL, topics={"t": {"write": "^{username}{vhost}w$", "read": "^none$"}}) + enters()
LOSES = without() + without(read="^none$") + enters()
GAINS = without(read="^none$") + without(configure="^none$") + enters()
APART = Q + permit(read="^q$") + permit(vhost="v", write="^amq") + enters() + enters(vhost="v", on="w")
OTHER = Q + permit(read="^q$") + permit("w", read="^none$") + enters()
SPEAKER = permit(**{**ALL, "configure": "^none$"}, tags=["impersonator"]) + enters()
FORGED = 'publish q m1 with={"user_id":"guest"}'
SPARED = Q + NO_QUEUE + without(configure="^none$") + enters()
NOT_DECLARED = SPARED + refused("declare n", DECLARE) + " \n 90 > declare n passive \n "
NOT_DELETED = SPARED + refused("delete q", DELETE) + " \n 90 > declare q passive \n "

SOUND = {
    "AUTH-001": Q + without(configure="^x") + enters() + refused("declare q", DECLARE),
    "AUTH-002": Q + without(configure="^x") + enters() + refused("delete q", DELETE),
    "AUTH-003": NO_QUEUE + X + without(write="^n$") + enters() + refused(HEIR, DECLARE),
    "AUTH-004": without(configure="^x") + enters() + refused("exchange y", EXCHANGE),
    "AUTH-005": X + without(configure="^y") + enters() + refused("unexchange x", UNEXCHANGE),
    "AUTH-006": NO_EXCHANGE + without(write="^n$") + enters() + refused(ALTERNATE, EXCHANGE),
    "AUTH-007": X + without(read="^q$") + enters() + refused("bind q x k", BIND),
    "AUTH-008": X + without(write="^x$") + enters() + refused("unbind q x", UNBIND),
    "AUTH-009": TWO + without(read="^x$") + enters() + refused("bind-exchange x y k", BIND_X),
    "AUTH-010": X + without(write="^q$") + enters() + refused("publish q m1 exchange=x", PUBLISH),
    "AUTH-011": Q + without(read="^x$") + enters() + refused("get q", GET),
    "AUTH-012": Q + without(read="^x$") + enters() + refused("consume q c1", CONSUME),
    "AUTH-013": Q + without(read="^x$") + enters() + refused("purge q", PURGE),
    "AUTH-014": Q + permit(read="^q$") + enters() + done("get q", "get-empty"),
    "AUTH-015": Q + permit(**EMPTY) + enters() + refused("get q", GET),
    "AUTH-016": "@queue abc \n " + permit(read="b") + enters() + done("get abc", "get-empty"),
    "AUTH-017": permit(configure=r"^amq\.gen-") + enters() + done("declare", "declare-ok amq.gen-1"),
    "AUTH-018": Q + permit(write=r"^amq\.default$") + enters() + "u:1 > publish q m1" + BARRIER,
    "AUTH-019": Q + permit(read="^q$") + enters() + done("declare q passive", "declare-ok q"),
    "AUTH-020": Q + permit() + enters() + refused("declare q passive", DECLARE),
    "AUTH-021": OF_TOPICS + refused("publish r.a m1 exchange=t", PUBLISH),
    "AUTH-022": OF_TOPICS + refused("bind q t w.a", BIND),
    "AUTH-023": TWO + OF_TOPICS + done("bind q y w.a", "bind-ok"),
    "AUTH-024": APART + refused("publish k m1 exchange=amq.direct", PUBLISH),
    "AUTH-025": "- permit u / none \n u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n u:0 < kicked 530 10 40 no",
    "AUTH-026": Q + LOSES + refused("get q", GET),
    "AUTH-027": OTHER + done("get q", "get-empty"),
    "AUTH-028": without() + enters() + "- permit u / gone \n u:0 < kicked 320 0 0 deleted",
    "AUTH-029": Q + SPEAKER + "u:1 > " + FORGED + BARRIER,
    "AUTH-030": NOT_DECLARED + "90 < closed 404 50 10 NOT_FOUND",
}
COPIES = ' with={"headers":{"CC":["A",[["S","w.b"],["S","r.b"]]]}}'
SOUND["AUTH-031"] = OF_TOPICS + refused(f"publish w.a m1 exchange=t{COPIES}", PUBLISH)
BROKEN = [
    ("AUTH-001", Q + without(configure="^x") + enters() + done("declare q", "declare-ok q")),
    ("AUTH-001", Q + without(configure="^x") + enters() + "u:1 > declare q \n - deadline replies"),
    ("AUTH-001", Q + without(configure="^x") + enters() + "u:1 > declare q \n u:0 < kicked 403 50 10 no"),
    ("AUTH-002", Q + without(configure="^x") + enters() + done("delete q", "delete-ok")),
    ("AUTH-003", NO_QUEUE + X + without(write="^n$") + enters() + done(HEIR, "declare-ok n")),
    ("AUTH-003", NO_QUEUE + X + without(read="^x$") + enters() + done(HEIR, "declare-ok n")),
    ("AUTH-004", without(configure="^x") + enters() + done("exchange y", "exchange-ok")),
    ("AUTH-005", X + without(configure="^y") + enters() + done("unexchange x", "unexchange-ok")),
    ("AUTH-006", NO_EXCHANGE + without(write="^n$") + enters() + done(ALTERNATE, "exchange-ok")),
    ("AUTH-007", X + without(read="^q$") + enters() + done("bind q x k", "bind-ok")),
    ("AUTH-007", X + without(write="^x$") + enters() + done("bind q x k", "bind-ok")),
    ("AUTH-008", X + without(write="^x$") + enters() + done("unbind q x", "unbind-ok")),
    ("AUTH-009", TWO + without(read="^x$") + enters() + done("bind-exchange x y k", "bind-exchange-ok")),
    ("AUTH-009", TWO + without(write="^y$") + enters() + done("unbind-exchange x y k", "unbind-exchange-ok")),
    ("AUTH-010", X + without(write="^q$") + enters() + "u:1 > publish q m1 exchange=x" + UNHEARD),
    ("AUTH-011", Q + without(read="^x$") + enters() + done("get q", "get-empty")),
    ("AUTH-011", Q + without(read="^x$") + enters() + "u:1 > get q \n u:1 < closed 404 60 70 no"),
    ("AUTH-012", Q + without(read="^x$") + enters() + done("consume q c1", "consume-ok c1")),
    ("AUTH-013", Q + without(read="^x$") + enters() + done("purge q", "purge-ok")),
    ("AUTH-014", Q + permit(read="^q$") + enters() + refused("get q", GET)),
    ("AUTH-014", Q + permit(read="^q$") + enters() + refused("purge q", PURGE)),
    ("AUTH-014", X + permit(write="^x$") + enters() + refused("publish q m1 exchange=x", PUBLISH)),
    ("AUTH-015", Q + permit(**EMPTY) + enters() + done("get q", "get-empty")),
    ("AUTH-016", "@queue abc \n " + permit(read="b") + enters() + refused("get abc", GET)),
    ("AUTH-016", "@queue abc \n " + permit(read="^a") + enters() + refused("get abc", GET)),
    ("AUTH-017", permit(configure=r"^amq\.gen-") + enters() + refused("declare", DECLARE)),
    ("AUTH-017", permit(configure="^q") + enters() + done("declare", "declare-ok amq.gen-1")),
    ("AUTH-018", Q + permit(write=r"^amq\.default$") + enters() + refused("publish q m1", PUBLISH)),
    ("AUTH-018", Q + permit(write="^q$") + enters() + "u:1 > publish q m1" + UNHEARD),
    ("AUTH-019", Q + permit(read="^q$") + enters() + refused("declare q passive", DECLARE)),
    ("AUTH-020", Q + permit() + enters() + done("declare q passive", "declare-ok q")),
    ("AUTH-021", OF_TOPICS + "u:1 > publish r.a m1 exchange=t" + UNHEARD),
    ("AUTH-021", OF_TOPICS + refused("publish w.a m1 exchange=t", PUBLISH)),
    ("AUTH-021", NAMED + "u:1 > publish v/w m1 exchange=t" + UNHEARD),
    ("AUTH-021", NAMED + refused("publish u/w m1 exchange=t", PUBLISH)),
    ("AUTH-031", OF_TOPICS + f"u:1 > publish w.a m1 exchange=t{COPIES}" + UNHEARD),
    ("AUTH-031", OF_TOPICS + refused(f"publish w.a m1 exchange=t{COPIES.replace('r.b', 'w.c')}", PUBLISH)),
    ("AUTH-022", OF_TOPICS + done("bind q t w.a", "bind-ok")),
    ("AUTH-022", OF_TOPICS + refused("bind q t r.a", BIND)),
    ("AUTH-023", TWO + OF_TOPICS + refused("bind q y w.a", BIND)),
    ("AUTH-024", APART + "u:1 > publish k m1 exchange=amq.direct" + UNHEARD),
    ("AUTH-024", APART + refused("publish k m1 exchange=amq.direct", PUBLISH, "w")),
    ("AUTH-025", "- permit u / none \n " + enters()),
    ("AUTH-025", permit(**EMPTY) + "u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n u:0 < kicked 530 10 40 no"),
    (
        "AUTH-025",
        "- permit u / none \n u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n u:0 < kicked 541 10 40 no",
    ),
    ("AUTH-026", Q + LOSES + done("get q", "get-empty")),
    ("AUTH-026", Q + GAINS + refused("get q", GET)),
    ("AUTH-027", OTHER + refused("get q", GET)),
    ("AUTH-028", without() + enters() + "- permit u / gone \n - still u"),
    ("AUTH-029", Q + SPEAKER + f"u:1 > {FORGED} \n u:1 < closed 406 60 40 no"),
    ("AUTH-030", NOT_DECLARED + "90 < declare-ok n"),
    ("AUTH-030", NOT_DELETED + "90 < closed 404 50 10 NOT_FOUND"),
]
AFTERWARDS = Q + without() + enters() + without(read="^none$")
LAWFUL = {
    "no room in the virtual host": permit(**EMPTY)
    + "u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n u:0 < kicked 530 10 40 connection limit (1) is reached",
    "a right that is taken away may count at once": AFTERWARDS + refused("get q", GET),
    "or later": AFTERWARDS + done("get q", "get-empty"),
    "a right that is given may count at once": Q + permit() + enters() + without() + done("get q", "get-empty"),
    "or later, too": Q + permit() + enters() + without() + refused("get q", GET),
    "what was sent before may meet the new rights": Q
    + permit(read="^q$")
    + enters()
    + "u:1 > get q \n "
    + permit(read="^none$")
    + "u:1 < closed 403 60 70 no",
    "another mistake may be told first": Q
    + permit()
    + enters()
    + "90 > delete q \n 90 < delete-ok \n u:1 > purge q \n u:1 < closed 404 50 30 no",
    "or the right": Q + permit() + enters() + "90 > delete q \n 90 < delete-ok \n " + refused("purge q", PURGE),
    "of a queue that is there the heir need not be asked about": "@queue n classic x-dead-letter-exchange=x \n "
    + X
    + without(write="^n$")
    + enters()
    + done(HEIR, "declare-ok n"),
    "a pattern that is not simple": Q + permit(read="(?i)^Q$") + enters() + done("get q", "get-empty"),
    "or does not fit after all": Q + permit(read="(?i)^Q$") + enters() + refused("get q", GET),
    "an exclusive consumer is refused by the same code": Q
    + "@consume 1 q c1 exclusive \n "
    + permit(read="^q$")
    + enters()
    + refused("consume q c2", CONSUME),
    "a key in a header may be refused": OF_TOPICS + refused("publish w.a m1 exchange=t h.CC=r.a", PUBLISH),
    "the end of a binding may be free of topics": OF_TOPICS + done("unbind q t w.a", "unbind-ok"),
    "an internal exchange is refused by the same code": "90 > open \n 90 < open-ok \n 90 > exchange i internal \n "
    "90 < exchange-ok \n " + permit(write="^i$") + enters() + refused("publish k m1 exchange=i", PUBLISH),
    "an empty pattern may cost the connection": Q + permit(**EMPTY) + enters() + kicked("get q", GET),
    "so may rights of another virtual host": APART + kicked("get q", GET, on="w"),
    "and rights of former times": Q + LOSES + kicked("get q", GET),
    "and the default exchange": Q + permit(write="^q$") + enters() + kicked("publish q m1", PUBLISH),
    "hung up without a word": "- permit u / none \n u:0 < start \n u:0 > start-ok user=u \n u:0 > enter \n - end u fin",
    "a publish of which another may be meant": X
    + "@exchange y \n "
    + permit(write="^x$")
    + enters()
    + "u:1 > publish k m1 exchange=x \n u:1 > publish k m2 exchange=y \n u:1 < closed 403 60 40 no",
    "declared by somebody else since": NOT_DECLARED.replace("90 > declare n passive", "@queue n")
    + "90 > declare n passive \n 90 < declare-ok n",
    "there again": SPARED + refused("delete q", DELETE) + " \n 90 > delete q \n 90 < delete-ok \n "
    "90 > declare q passive \n 90 < closed 404 50 10 NOT_FOUND",
    "nothing is known of this user": Q + permit("w", read="^none$") + enters() + done("get q", "get-empty"),
    "a connection that was not seen from its beginning": permit(read="^none$") + Q + "u:1 > get q \n u:1 < get-empty",
}
