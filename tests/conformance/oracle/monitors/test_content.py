"""CONTENT: sound and broken histories, and what a broker may do to a content."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_no_finding, test_sound

__all__ = ["test_broken", "test_lawful", "test_no_finding", "test_sound"]

BEGUN = "@queue q \n @open 1 \n "
INTEGER, WIDE = (f'with={{"headers":{{"a":["{letter}",3]}}}}' for letter in "Il")
ALL = 'with={"headers":{"a":["I",3],"b":["V",null],"c":["A",[["I",1],["F",[["d","t",true]]]]],"s":["S","t"]}}'
NARROW, BROAD = (f'with={{"headers":{{"c":["A",[["{letter}",1]]]}}}}' for letter in "Il")
EMPTY = 'with={"headers":{}}'
LATE, PRIORITY, WORD = 'with={"timestamp":1700000000000}', 'with={"priority":200}', 'with={"content_type":"odd"}'
RARE = 'with={"headers":{"a":["D",[2,314]]}}'
GUEST = "c:0 > start-ok user=guest \n"
OWN, OTHER = (f'with={{"user_id":"{name}"}}' for name in ("guest", "other"))
HEIR = "@queue heir \n @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=heir \n @open 1 \n "
LETTER = 'with={"priority":3,"headers":{"a":["I",3]}}'


def taken(properties: str) -> str:
    """A publish with these properties, and an answer that shows that the broker took it."""
    return f"{BEGUN} 1 > publish q m1 {properties} \n @barrier 1"


def refused(properties: str, how: str = "1 < closed 406 60 40 no") -> str:
    """The same, and the broker closes the channel, or the connection."""
    return f"{BEGUN} 1 > publish q m1 {properties} \n {how}"


def rejected(came: str, sent: str = LETTER) -> str:
    """A message that is rejected, and what comes to its dead letter queue."""
    return (
        f"{HEIR} 1 > publish q m1 {sent} \n 1 > get q \n 1 < get-ok 1 m1 q {sent} \n 1 > reject 1 \n"
        f"1 > get heir \n 1 < get-ok 2 m1 heir {came}"
    )


def got(sent: str, came: str) -> str:
    """A message that is published, and got."""
    return f"{BEGUN} 1 > publish q m1 {sent} \n 1 > get q \n 1 < get-ok 1 m1 q {came}"


SOUND = {
    "CONTENT-001": got("split=1,3,2", "bodies=6"),
    "CONTENT-002": got(ALL, ALL),
    "CONTENT-003": got(EMPTY, EMPTY) + " \n 1 > publish q - \n 1 > get q \n 1 < get-ok 2 - q",
    "CONTENT-004": taken(LATE),
    "CONTENT-005": taken(PRIORITY),
    "CONTENT-006": GUEST + refused(OTHER),
    "CONTENT-007": rejected(LETTER.replace('"I",3]', '"I",3],"x-death":["I",1]')),
    "CONTENT-008": taken(WORD),
}
BROKEN = [
    ("CONTENT-001", got("split=1,3,2", "bodies=5")),
    ("CONTENT-001", refused("split=1,3,2", "0 < kicked 501 0 0 FRAME_ERROR")),
    ("CONTENT-002", got(INTEGER, WIDE)),
    ("CONTENT-002", got(NARROW, BROAD)),
    ("CONTENT-002", f"{BEGUN} 1 > publish none m1 mandatory {INTEGER} \n 1 < return none m1 {WIDE}"),
    ("CONTENT-002", refused(RARE)),
    ("CONTENT-003", got(EMPTY, "")),
    ("CONTENT-003", got("", EMPTY)),
    ("CONTENT-004", refused(LATE)),
    ("CONTENT-004", refused('with={"timestamp":0}', "0 < kicked 502 60 40 SYNTAX_ERROR")),
    ("CONTENT-005", refused(PRIORITY)),
    ("CONTENT-006", GUEST + refused(OTHER, "1 < closed 403 60 40 no")),
    ("CONTENT-006", GUEST + refused(OTHER, "- deadline replies")),
    ("CONTENT-006", GUEST + refused(OWN)),
    ("CONTENT-007", rejected('with={"priority":3,"headers":{"x-death":["I",1]}}')),
    ("CONTENT-007", rejected('with={"priority":3,"headers":{"a":["l",3]}}')),
    ("CONTENT-007", rejected('with={"headers":{"a":["I",3]}}')),
    ("CONTENT-008", refused(WORD)),
]
LAWFUL = {
    "a broker adds headers of its own": got(INTEGER, 'with={"headers":{"a":["I",3],"x-more":["S",""]}}')
    + f" \n 1 > publish q m2 {EMPTY} \n 1 > get q \n"
    ' 1 < get-ok 2 m2 q with={"headers":{"x-more":["l",1]}}',
    "a dead letter has no expiration": rejected(LETTER, LETTER.replace("{", '{"expiration":"9999999",', 1)),
    "what has no rule of its own may be the cause": f"{BEGUN} 1 > publish q m1 {LATE} \n 1 > publish q m2 \n"
    "1 < closed 406 60 40 no",
    "an exchange that is not there": refused(LATE, "1 < closed 404 60 40 no exchange"),
    "a name, where the login does not tell who publishes": refused(OTHER),
}
TRAPS = {"a name, where the login does not tell who publishes": taken(OTHER)}
