"""CONN: handshakes that are answered rightly and wrongly, and what may pass for either."""

from __future__ import annotations

from tests.support.octets.frames import OCTETS
from tests.support.tables import Play, test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

HEADER, OLD, JUNK = b"AMQP\x00\x00\x09\x01".hex(), b"AMQP\x00\x00\x00\x01".hex(), b"JUNKJUNK".hex()
LOGIN, ENTER = "0 > start-ok user=guest", "0 > enter"


def greeted(says: str = "", knows: str = "login=1 vhost=1") -> str:
    """Up to connection.start; `says`: what is in it."""
    return f"- known c {knows} \n - header c {HEADER} \n 0 < start {says} \n "


def tuned(limits: str = "channels=8 frames=8192", knows: str = "login=1 vhost=1") -> str:
    """Up to connection.tune."""
    return greeted(knows=knows) + f"{LOGIN} \n 0 < tune {limits} \n "


def entered(tune_ok: str = "channels=8 frames=8192", knows: str = "login=1 vhost=1") -> str:
    """Up to connection.open-ok."""
    return tuned(knows=knows) + f"0 > tune-ok {tune_ok} \n {ENTER} \n 0 < entered \n "


TELLING = greeted("tell", knows="login=0") + "0 > start-ok tell user=guest \n "
WRONG = greeted(knows="login=0") + f"{LOGIN} \n "
UNKNOWN = greeted() + "0 > start-ok mechanism=NONE \n "
ABOVE = tuned() + "0 > tune-ok channels=9 frames=8192 \n 0 > enter \n "
BELOW = tuned() + "0 > tune-ok channels=8 frames=4096 \n 0 > enter \n "
NOWHERE = tuned(knows="login=1 vhost=0") + "0 > tune-ok channels=8 frames=8192 \n 0 > enter \n "
EARLY = greeted() + "1 > open \n "
AGAIN = entered() + "0 > enter \n "
QUEUE = "d:1 > open \n d:1 < open-ok \n d:1 > declare q \n d:1 < declare-ok q \n "
GETS = "d:1 > get q no_ack \n d:1 < get-ok 1 m1 q"
EMPTY = "d:1 > get q no_ack \n d:1 < get-empty"
FAILED = QUEUE + entered() + "@open 1 \n 0 > enter \n 1 > publish q m1 \n 0 < kicked 504 10 40 again \n "
LEFT = QUEUE + entered() + "@open 1 \n 0 > bye \n 1 > publish q m1 \n 0 < bye-ok \n - end c closed \n "
CROSS = AGAIN + "0 > bye \n 0 < kicked 504 10 40 again \n "
BEATING = tuned("channels=8 frames=8192 heartbeat=9") + "0 > tune-ok heartbeat=1 \n 0 > enter \n 0 < entered \n "
QUIET = tuned("channels=8 frames=8192 heartbeat=9") + "0 > tune-ok heartbeat=0 \n 0 > enter \n 0 < entered \n "
OTHER = BEATING.replace("- known c", "- known d").replace("header c", "header d").replace("0 >", "d:0 >")
OTHER = OTHER.replace("0 <", "d:0 <")
TALKS = "@open 1 \n" + " - wait 1 \n 1 > flow \n 1 < flow-ok \n" * 3
STEADY = "@open 1 \n" + " - wait 0.4 \n 1 > flow \n 1 < flow-ok \n" * 4
BEATS = " - wait 1 \n - beat c > \n - beat c < \n" * 3
BYSTANDER = "d:1 > open \n d:1 < open-ok \n d:1 > flow \n d:1 < flow-ok \n "
DIED = AGAIN.replace("- known c", "- known d").replace("header c", "header d").replace("0 >", "d:0 >")
DIED = DIED.replace("0 <", "d:0 <") + "d:0 < kicked 504 10 40 again \n - end d fin \n "
STRAY = OCTETS["FRAME-004"].hex()
SOUND = {
    "CONN-001": f"- header c {OLD} \n - answer c {HEADER} \n - end c fin",
    "CONN-002": greeted(),
    "CONN-003": greeted("locales=en_US"),
    "CONN-004": greeted(),
    "CONN-005": tuned(),
    "CONN-006": greeted() + "0 > start-ok rare user=guest \n 0 < tune frames=8192",
    "CONN-007": WRONG + "- end c fin",
    "CONN-008": TELLING + "0 < kicked 403 0 0 refused",
    "CONN-009": UNKNOWN + "- end c reset",
    "CONN-010": tuned("frames=4096"),
    "CONN-011": ABOVE + "- end c fin",
    "CONN-012": BELOW + "0 < entered",
    "CONN-013": entered("channels=8 frames=5000")
    + "@queue q \n @open 1 \n 1 > publish q m1 split=5001 \n 1 > get q \n 1 < get-ok 1 m1 q split=5001",
    "CONN-015": NOWHERE + "0 < kicked 402 10 40 nowhere",
    "CONN-016": entered(),
    "CONN-017": EARLY + "- end c fin",
    "CONN-018": AGAIN + "0 < kicked 503 10 40 again",
    "CONN-019": FAILED + "- end c fin \n " + EMPTY,
    "CONN-020": LEFT + EMPTY,
    "CONN-021": CROSS + "0 < bye-ok",
    "CONN-022": BEATING + "- beat c <",
    "CONN-023": QUIET + "@open 1 \n " + OTHER + "- wait 3 \n - beat d < \n 1 > flow \n 1 < flow-ok",
    "CONN-024": BEATING + TALKS + "- wait 1 \n" + BEATS,
    "CONN-014": BYSTANDER + AGAIN + "0 < kicked 503 10 40 again \n d:1 > flow \n d:1 < flow-ok",
}
BROKEN = [
    ("CONN-001", f"- header c {OLD} \n - end c fin"),
    ("CONN-001", f"- header c {JUNK} \n 0 < start"),
    ("CONN-001", f"- header c {JUNK} \n 0 < kicked 501 0 0 junk"),
    ("CONN-001", f"- header c {JUNK} \n - answer c {HEADER} \n - deadline replies"),
    ("CONN-002", greeted("major=8")),
    ("CONN-002", greeted("mechanisms=")),
    ("CONN-002", f"- header c {HEADER} \n - deadline replies"),
    ("CONN-003", greeted("locales=en-US")),
    ("CONN-004", greeted("nameless")),
    ("CONN-005", greeted() + f"{LOGIN} \n 0 < kicked 403 10 11 no"),
    ("CONN-005", greeted() + f"{LOGIN} \n - deadline replies"),
    ("CONN-006", greeted() + "0 > start-ok rare user=guest \n - end c fin"),
    ("CONN-006", greeted() + "0 > start-ok rare user=guest \n - deadline replies"),
    ("CONN-006", greeted() + "0 > start-ok modest user=guest \n - end c fin"),
    ("CONN-007", WRONG + "0 < tune frames=8192"),
    ("CONN-007", WRONG + "- deadline replies"),
    ("CONN-008", TELLING + "- end c fin"),
    ("CONN-008", TELLING + "0 < kicked 530 0 0 refused"),
    ("CONN-009", UNKNOWN + "0 < tune frames=8192"),
    ("CONN-010", tuned("frames=4095")),
    ("CONN-011", ABOVE + "0 < entered"),
    ("CONN-012", BELOW + "- end c fin"),
    ("CONN-013", entered("channels=8 frames=5000") + "- oversize c"),
    ("CONN-014", BYSTANDER + AGAIN + "0 < kicked 503 10 40 again \n d:0 < kicked 503 10 40 again"),
    ("CONN-014", BYSTANDER + AGAIN + "- end d fin \n 0 < kicked 503 10 40 again"),
    ("CONN-015", NOWHERE + "0 < entered"),
    ("CONN-015", NOWHERE + "0 < kicked 541 10 40 nowhere"),
    ("CONN-016", tuned() + f"0 > tune-ok channels=8 frames=8192 \n {ENTER} \n 0 < kicked 530 10 40 no"),
    ("CONN-016", tuned() + f"0 > tune-ok channels=8 frames=8192 \n {ENTER} \n - deadline replies"),
    ("CONN-017", EARLY + "1 < open-ok"),
    ("CONN-017", tuned() + f"{ENTER} \n 0 < entered"),
    ("CONN-018", AGAIN + "0 < kicked 541 10 40 again"),
    ("CONN-018", AGAIN + "- end c fin"),
    ("CONN-018", AGAIN + "- deadline replies"),
    ("CONN-019", FAILED + "- end c fin \n " + GETS),
    ("CONN-020", LEFT + GETS),
    ("CONN-021", CROSS + "- end c fin"),
    ("CONN-021", CROSS + "- deadline replies"),
    ("CONN-022", BEATING + "- heartless c"),
    ("CONN-023", QUIET + "- beat c <"),
    ("CONN-024", BEATING + STEADY + "- wait 0.4 \n - end c fin"),
]
LAWFUL = [
    ("an end that a client earned while it stood still", BEATING + STEADY + "- wait 3 \n - beat c > \n - end c fin"),
    (
        "an end that had come before its client was heard again, and is read with an earlier heartbeat",
        BEATING + STEADY + "- wait 3 \n - beat c > \n - beat c < \n - end c fin",
    ),
    (
        "an end by a broker that stood still",
        BEATING + STEADY + " - wait 0.4 \n - beat c > \n" * 8 + "1 > flow \n 1 < flow-ok \n - end c fin",
    ),
    (
        "a method before any header",
        f"{DIED} - known c login=1 vhost=1 \n 0 > start-ok user=guest \n - answer c {HEADER} \n - end c fin",
    ),
    ("no frame after the client's close", f"{DIED} {entered()} 0 > bye \n - octets c {STRAY} \n 0 < kicked 501 0 0 no"),
    (
        "closes that cross, where no frame followed the client's own",
        f"@open 1 \n 0 > bye \n - octets c {STRAY} \n 0 < kicked 501 0 0 no \n 0 > agree \n - deadline replies",
    ),
    ("the end alone, where no frame followed the client's close", f"0 > bye \n - octets c {STRAY} \n - end c fin"),
    ("no word, where no frame followed the client's close", f"0 > bye \n - octets c {STRAY} \n - deadline replies"),
    ("a second header", f"{DIED} {entered()} - header c {HEADER} \n - end c fin"),
    ("a frame that has no place, before open-ok", f"{DIED} {tuned()} - octets c {STRAY} \n - end c fin"),
    ("the same, and the broker says why", f"{tuned()} - octets c {STRAY} \n 0 < kicked 530 0 0 no"),
    ("a reset may swallow the header", f"- header c {JUNK} \n - end c reset"),
    ("a newer version may be answered with an older one", f"- header c {b'AMQP'.hex()}00090909 \n 0 < start"),
    ("no reason where the client does not ask for it", WRONG + "- end c fin"),
    ("no reason where the broker does not offer it", WRONG + "0 < kicked 530 0 0 no"),
    ("a reset may swallow the reason", TELLING + "- end c reset"),
    ("a client that asks is told in another way too", ABOVE + "0 < kicked 530 10 31 more"),
    ("a broker without a limit", tuned("channels=0 frames=0") + "0 > tune-ok channels=9 frames=99999 \n 0 > enter"),
    ("no room for more", tuned() + f"0 > tune-ok channels=8 frames=8192 \n {ENTER} \n 0 < kicked 506 10 40 full"),
    (
        "no room for more, since an operator has set a limit",
        tuned()
        + f"0 > tune-ok channels=8 frames=8192 \n {ENTER} \n 0 < kicked 530 10 40 connection limit (3) is reached",
    ),
    ("the same, and the client wants less", BELOW + "0 < kicked 530 10 40 user connection limit (3) is reached"),
    ("nobody knows whether the login is right", greeted(knows="vhost=1") + f"{LOGIN} \n - end c fin"),
    (
        "methods ahead of open-ok",
        tuned() + f"0 > tune-ok frames=8192 \n {ENTER} \n 1 > open \n 0 < entered \n 1 < open-ok",
    ),
    ("smaller frames than anybody has to take", BELOW.replace("4096", "100") + "- end c fin"),
    ("no limit, where the broker has one", tuned() + "0 > tune-ok frames=8192 \n 0 > enter \n - end c fin"),
    ("a reset may swallow close-ok", CROSS + "- end c reset"),
    ("a close behind close-ok", AGAIN + "0 < kicked 504 10 40 again \n 0 > agree \n 0 > bye \n - end c fin"),
    (
        "a message from before the close",
        LEFT.replace("0 > bye \n 1 > publish q m1", "1 > publish q m1 \n 0 > bye") + GETS,
    ),
    ("a client that was silent", BEATING + "- wait 3 \n - end c fin"),
    ("an operator closes all", BYSTANDER + AGAIN + "0 < kicked 503 10 40 again \n d:0 < kicked 320 0 0 forced"),
    (
        "its own mistake",
        BYSTANDER + AGAIN + "d:7 > flow \n 0 < kicked 503 10 40 again \n d:0 < kicked 504 20 20 closed",
    ),
    ("a connection that was joined", f"- joined c \n {LOGIN} \n 1 > open \n 0 > enter \n 0 > enter \n - end c fin"),
]


def test_a_method_on_a_channel_that_is_not_open_may_be_noticed_late(play) -> None:
    """CONN-014: whoever has made such a mistake is no bystander of another, also where something was answered since."""
    failed = (
        "{0}1 > declare q durable \n {0}1 < closed 406 50 10 other \n {0}1 > closed-ok \n {0}1 > declare q durable \n"
    )
    text = "@queue q \n @open 1 \n d:1 > open \n d:1 < open-ok \n" + failed.format("") + failed.format("d:")
    text += "d:0 < kicked 504 50 10 none \n 3 > open \n 3 < open-ok \n 0 < kicked 504 50 10 none"
    assert play(text).broken == []


def test_what_answers_a_method_out_of_its_turn_is_judged_once(play: Play) -> None:
    """As on MetalMQ, where a client that has not logged in opens channels: no ERR-013 beside it."""
    assert play(EARLY + "1 < open-ok").broken == ["CONN-017"]
