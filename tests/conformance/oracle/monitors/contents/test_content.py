"""CONTENT: sound and broken histories, and what a broker may do to a content."""

from __future__ import annotations

from dataclasses import replace

from conformance.catalogue import profiles
from tests.support.octets.frames import OCTETS
from tests.support.tables import Play, test_broken, test_lawful, test_no_finding, test_sound

__all__ = ["test_broken", "test_lawful", "test_no_finding", "test_sound"]

BEGUN = "@queue q \n @open 1 \n "
INTEGER, WIDE = (f'with={{"headers":{{"a":["{letter}",3]}}}}' for letter in "Il")
ALL = 'with={"headers":{"a":["I",3],"b":["V",null],"c":["A",[["I",1],["F",[["d","t",true]]]]],"s":["S","t"]}}'
VOID, NOTHING = ('with={"headers":{"b":["I",1]' + more + "}}" for more in (',"a":["V",null]', ""))
NARROW, BROAD = (f'with={{"headers":{{"c":["A",[["{letter}",1]]]}}}}' for letter in "Il")
EMPTY = 'with={"headers":{}}'
STAMPED = 'with={"timestamp":1700000001,"headers":{"timestamp_in_ms":["l",1700000001999]}}'
LATE, PRIORITY, WORD = 'with={"timestamp":1700000000000}', 'with={"priority":200}', 'with={"content_type":"odd"}'
RARE = 'with={"headers":{"a":["D",[2,314]]}}'
GUEST = "c:0 > start-ok user=guest \n"
OWN, OTHER = (f'with={{"user_id":"{name}"}}' for name in ("guest", "other"))
LARGE, SMALL = "split=3,4000,997", "split=1,3,2"
TOO_LARGE = "1 < closed 406 60 40 message size 5000 is larger than configured max size 2000"
TAKEN_BEFORE = BEGUN + "1 > publish q m0 split=4000,1001 \n 1 > get q \n 1 < get-ok 1 m0 q bodies=5001 \n "
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


SILENT = 'with={"app_id":"","priority":0}'
NUMBERS = 'with={"headers":{"a":["l",9007199254740993],"b":["A",[["d",0.1],["D",[2,310]]]]}}'
NO_NUMBER, ZERO = 'with={"headers":{"a":["d",Infinity]}}', 'with={"headers":{"a":["d",0.0]}}'
DEEP, SHALLOW = ('with={"headers":{"a":' + '["A",[' * depth + '["I",1]' + "]]" * depth + "}}" for depth in (20, 3))
LONG, SHORT = (f'with={{"headers":{{"a":["S","{"a" * size}"]}}}}' for size in (9000, 8000))


def with_end(came: str) -> str:
    """A body of octets that end frames, as another one came."""
    return f"{BEGUN} 1 > publish q m1 octets=61ce62 \n {came}"


SOUND = {
    "CONTENT-001": got("split=1,3,2", "bodies=6"),
    "CONTENT-002": got(ALL, ALL),
    "CONTENT-003": got(EMPTY, EMPTY) + " \n 1 > publish q - \n 1 > get q \n 1 < get-ok 2 - q",
    "CONTENT-004": taken(LATE),
    "CONTENT-005": taken(PRIORITY),
    "CONTENT-006": GUEST + refused(OTHER),
    "CONTENT-007": rejected(LETTER.replace('"I",3]', '"I",3],"x-death":["I",1]')),
    "CONTENT-008": taken(WORD),
    "CONTENT-009": got(SILENT, SILENT) + " \n 1 > publish q - \n 1 > get q \n 1 < get-ok 2 - q",
    "CONTENT-010": got(NUMBERS, NUMBERS),
    "CONTENT-011": got(NO_NUMBER, NO_NUMBER),
    "CONTENT-012": got(DEEP, DEEP),
    "CONTENT-013": with_end("1 > get q \n 1 < get-ok 1 m1 q octets=61ce62"),
    "CONTENT-014": got(LONG, LONG),
}
BROKEN = [
    ("CONTENT-001", got("split=1,3,2", "bodies=5")),
    ("CONTENT-001", refused("split=1,3,2", "0 < kicked 501 0 0 FRAME_ERROR")),
    ("CONTENT-002", got(INTEGER, WIDE)),
    ("CONTENT-002", got(NARROW, BROAD)),
    ("CONTENT-002", got(VOID, NOTHING)),
    ("CONTENT-002", got(NOTHING, VOID)),
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
    ("CONTENT-009", got(SILENT, 'with={"priority":0}')),
    ("CONTENT-009", got(SILENT, 'with={"app_id":""}')),
    ("CONTENT-009", got("", 'with={"priority":0}')),
    ("CONTENT-010", got(NUMBERS, NUMBERS.replace("993", "992"))),
    ("CONTENT-010", got(NUMBERS, NUMBERS.replace("0.1]", "0.125]"))),
    ("CONTENT-010", got(NUMBERS, NUMBERS.replace("[2,310]", "[1,31]"))),
    ("CONTENT-011", got(NO_NUMBER, ZERO)),
    ("CONTENT-011", refused(NO_NUMBER, "0 < kicked 541 0 0 INTERNAL_ERROR")),
    ("CONTENT-011", refused(NO_NUMBER.replace("{", '{"timestamp":1700000000000,', 1))),
    ("CONTENT-012", refused(DEEP)),
    ("CONTENT-012", got(DEEP, SHALLOW)),
    ("CONTENT-013", with_end("1 > get q \n 1 < get-ok 1 m1 q octets=61")),
    ("CONTENT-013", with_end("0 < kicked 501 60 40 FRAME_ERROR")),
    ("CONTENT-014", got(LONG, SHORT)),
    ("CONTENT-014", refused(LONG)),
    ("RQ-016", got(LATE, STAMPED.replace("1700000001,", "1700000002,"))),
    ("RQ-016", got(LATE, 'with={"headers":{"timestamp_in_ms":["l",1700000001999]}}')),
    ("CONTENT-001", refused(LARGE, "1 < closed 406 60 40 no")),
    ("CONTENT-001", refused(LARGE, TOO_LARGE.replace("5000", "5001"))),
    ("CONTENT-001", refused(LARGE, TOO_LARGE.replace("406 60 40", "406 0 0"))),
    ("CONTENT-001", refused(SMALL, TOO_LARGE.replace("5000", "6"))),
    ("CONTENT-001", TAKEN_BEFORE + f"1 > publish q m1 {LARGE} \n {TOO_LARGE}"),
]
LAWFUL = {
    "RabbitMQ may be set up to stamp messages": got(LATE, STAMPED),
    "also those that have no time, in a table of their own": got(
        NOTHING, STAMPED.replace('":{"t', '":{"b":["I",1],"t')
    ),
    "a body may be too large": refused(LARGE, TOO_LARGE),
    "by a code of its own": refused(LARGE, "1 < closed 311 60 40 CONTENT_TOO_LARGE"),
    "although a smaller one was not": TAKEN_BEFORE.replace("1001", "999").replace("5001", "4999")
    + f"1 > publish q m1 {LARGE} \n {TOO_LARGE}",
    "what a broker says of itself need not be about octets in a body": f"{BEGUN} 1 > publish q m1 octets=ce \n"
    "1 < closed 406 60 40 PRECONDITION_FAILED",
    "a body with such an octet may have properties that are refused": f"{BEGUN} 1 > publish q m1 octets=ce "
    'with={"user_id":"somebody"} \n 1 < closed 406 60 40 no',
    "the octets after the client's own close are refused, and not what was published after it": BEGUN
    + f"0 > bye \n 1 > publish q m1 split=1,3,2 \n - octets c {OCTETS['FRAME-001'].hex()} \n 0 < kicked 501 0 0 no",
    "tables that are not deep, and a publish that is refused for what nobody knows": refused(SHALLOW),
    "a broker adds headers of its own": got(INTEGER, 'with={"headers":{"a":["I",3],"x-more":["S",""]}}')
    + f" \n 1 > publish q m2 {EMPTY} \n 1 > get q \n"
    ' 1 < get-ok 2 m2 q with={"headers":{"x-more":["l",1]}}',
    "the broker's record of deaths takes the place of its client's": rejected(
        LETTER.replace('"I",3]', '"I",3],"x-death":["I",1]'),
        LETTER.replace('"I",3]', '"I",3],"x-death":["S","old"]'),
    ),
    "a dead letter has no expiration": rejected(LETTER, LETTER.replace("{", '{"expiration":"9999999",', 1)),
    "what has no rule of its own may be the cause": f"{BEGUN} 1 > publish q m1 {LATE} \n 1 > publish q m2 \n"
    "1 < closed 406 60 40 no",
    "an exchange that is not there": refused(f"exchange=x {LATE}", "1 < closed 404 60 40 no exchange"),
    "a name, where the login does not tell who publishes": refused(OTHER),
    "a channel that is not open": refused("split=1,3,2", "0 < kicked 504 60 40 CHANNEL_ERROR"),
}
TRAPS = {"a name, where the login does not tell who publishes": taken(OTHER)}


def test_who_was_found_to_take_a_larger_body_takes_this_one(play: Play) -> None:
    history = refused(LARGE, TOO_LARGE)
    asked = replace(profiles.load("documented"), body=5000)
    assert play(history, asked).broken == ["CONTENT-001"]
    assert play(history, replace(asked, body=4999)).broken == []
