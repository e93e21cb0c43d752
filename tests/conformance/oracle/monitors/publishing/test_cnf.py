"""CNF: sound and broken histories, and the lawful ones that a naive oracle takes for broken."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

TEXT = "NOT_FOUND - no exchange 'x' in vhost '/'"
Q = "@queue q \n @confirming 1 \n"
FULL = "@queue q classic x-max-length=2 x-overflow=reject-publish \n @confirming 1 \n"
BURST = FULL + "1 > publish q m1 \n 1 > publish q m2 \n 1 > publish q m3 \n"
NOWHERE = "@exchange x \n @confirming 1 \n"
X = "exchange=x"
BOTH = f"@queue q \n @queue r \n @exchange x q r \n @confirming 1 \n 1 > publish any m1 {X} \n 1 < ack 1 \n @open 2 \n"
PLAIN = "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n"
ONE_OF_TWO = """
    @queue q classic x-max-length=1 x-overflow=reject-publish
    @queue r
    @exchange x q r
    @confirming 1
    1 > publish q m1
    1 < ack 1
    1 > publish any m2 exchange=x
"""
GONE = NOWHERE + "1 > unexchange x \n 1 < unexchange-ok \n 1 > publish any m1 exchange=x \n"
TX = "@queue q \n @open 1 \n 1 > select \n 1 < select-ok \n 1 > publish q m1 \n 1 > commit \n"

KEPT = """
    @queue q durable
    @confirming 1
    1 > publish q m1 persistent
    1 > publish q m2 persistent
    1 < ack 1
    - killed
"""
HELD = "@open 2 \n 2 > get q \n 2 < get-ok 1 m1 q persistent \n"
AFTER = "d:2 > open \n d:2 < open-ok \n d:2 > get q \n"
SOUND = {
    "CNF-001": "@queue q \n @open 1 \n 1 > confirm no_wait \n 1 > publish q m1 \n 1 < ack 1",
    "CNF-002": PLAIN + "1 < ack 1",
    "CNF-003": Q + "1 > publish q m1 \n 1 < ack 1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n 1 < ack 2",
    "CNF-004": Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 > publish q m3 \n 1 < ack 2 \n 1 < ack 3 multiple",
    "CNF-005": BURST + "1 < nack 3 \n 1 > publish q m4 \n 1 < ack 2 multiple \n 1 < nack 4",
    "CNF-006": Q + "1 > publish q m1 \n 1 < ack 1",
    "CNF-007": BURST + "1 < ack 2 multiple \n 1 < nack 3 multiple",
    "CNF-008": NOWHERE + "1 > publish any m1 exchange=x \n 1 < ack 1",
    "CNF-009": NOWHERE + "1 > publish any m1 exchange=x mandatory \n 1 < return any m1 exchange=x \n 1 < ack 1",
    "CNF-010": BOTH + "2 > get r no_ack \n 2 < get-ok 1 m1 any",
    "CNF-011": BURST + "1 < ack 2 multiple \n 1 < nack 3",
    "CNF-012": ONE_OF_TWO + "1 < nack 2 \n @drain r m2",
    "CNF-013": KEPT + AFTER + "d:2 < get-ok 1 m1 q persistent",
    "CNF-014": Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 \n 1 < ack 1",
    "CNF-015": Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 multiple",
    "CNF-016": "@confirming 1 \n 1 > select \n 1 < closed 406 90 10 cannot switch from confirm to tx mode",
    "CNF-017": Q + "1 > publish q m1 \n 1 > delete q \n 1 < delete-ok \n 1 < ack 1",
    "CNF-018": Q + "@consume 2 q c1 \n 1 > publish q m1 \n 2 < deliver c1 1 m1 q \n 1 < ack 1",
    "CNF-019": GONE + f"1 > publish q m2 \n 1 < closed 404 60 40 {TEXT}",
    "CNF-020": Q + "1 > publish q m1 \n 1 < ack 1",
    "CNF-021": BURST + "1 < ack 2 multiple \n 1 < nack 3 requeue \n @drain q m1 m2",
    "CNF-022": "@queue q \n @open 1 \n 1 > confirm \n 1 > publish q m1 \n 1 < confirm-ok \n 1 < ack 1",
    "CNF-023": Q + "@open 2 \n 2 > publish q m1 \n @barrier 2 \n @confirming 3 \n 3 > publish q m3 \n 3 < ack 1 \n"
    "1 > publish q m2 \n 1 < ack 1",
    "CNF-024": TX + "1 < commit-ok \n @barrier 1",
    "CNF-025": Q + "1 > publish q m1 mandatory \n 1 < ack 1",
    "CNF-026": Q + "1 > publish q m1 bodies=3 \n 1 > publish q m2 bodies=0 \n 1 < ack 2 multiple",
    "CNF-027": "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n"
    "1 > ack 1 \n 1 < ack 1",
}
BROKEN = [
    ("CNF-001", "@open 1 \n 1 > confirm no_wait \n 1 < confirm-ok"),
    ("CNF-001", "@open 1 \n 1 > confirm \n - deadline replies"),
    ("CNF-001", "@queue q \n @open 1 \n 1 > confirm no_wait \n 1 > publish q m1 \n - deadline replies"),
    ("CNF-002", PLAIN + "1 < ack 2"),
    ("CNF-002", Q + "1 > publish q m1 \n 1 < ack 0"),
    ("CNF-003", Q + "1 > publish q m1 \n 1 < ack 1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n 1 < ack 1"),
    ("CNF-004", Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 multiple \n 1 < ack 2"),
    ("CNF-004", Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 \n - deadline replies"),
    ("CNF-005", BURST + "1 < nack 3 \n 1 < ack 3"),
    ("CNF-005", BURST + "1 < ack 3 multiple \n 1 < nack 3"),
    ("CNF-006", Q + "1 > publish q m1 \n 1 < ack 2"),
    ("CNF-006", Q + "1 > publish q m1 \n 1 < ack 1 multiple \n 1 < ack 1 multiple"),
    ("CNF-008", NOWHERE + "1 > publish any m1 exchange=x \n 1 < nack 1"),
    ("CNF-008", NOWHERE + "1 > publish any m1 exchange=x \n 1 < return any m1 exchange=x"),
    ("CNF-008", NOWHERE + "1 > publish any m1 exchange=x \n - deadline replies"),
    ("CNF-009", NOWHERE + "1 > publish any m1 exchange=x mandatory \n 1 < ack 1 \n 1 < return any m1 exchange=x"),
    ("CNF-009", NOWHERE + "1 > publish any m1 exchange=x mandatory \n 1 < return any m1 exchange=x code=313"),
    ("CNF-009", NOWHERE + "1 > publish any m1 exchange=x mandatory \n 1 < return any bodies=0 exchange=x"),
    (
        "CNF-009",
        NOWHERE + "1 > publish any m1 exchange=x mandatory \n1 < return any m1 exchange=x \n - deadline replies",
    ),
    ("CNF-009", NOWHERE + "1 > publish any m1 exchange=x mandatory \n 1 < return any m1 exchange=x \n 1 < nack 1"),
    ("CNF-010", BOTH + "2 > get r no_ack \n 2 < get-empty"),
    ("CNF-010", BOTH + "- deadline drain r"),
    ("CNF-011", BURST + "1 < ack 3 multiple"),
    ("CNF-011", BURST + "1 < closed 406 60 40 full"),
    ("CNF-012", ONE_OF_TWO + "1 < nack 2 \n 1 > publish any m3 exchange=x \n 1 < ack 3"),
    ("CNF-013", KEPT + "- deadline drain q"),
    ("CNF-013", KEPT + AFTER + "d:2 < closed 404 60 70 gone"),
    ("CNF-013", KEPT + AFTER + "- deadline replies"),
    ("CNF-016", "@confirming 1 \n 1 > select \n 1 < select-ok"),
    ("CNF-016", "@open 1 \n 1 > select \n 1 < select-ok \n 1 > confirm \n 1 < confirm-ok"),
    ("CNF-016", "@confirming 1 \n 1 > select \n 1 < closed 404 90 10 no"),
    ("ERR-015", "@confirming 1 \n 1 > select \n 1 < closed 406 85 10 no"),
    ("CNF-016", "@confirming 1 \n 1 > select \n - deadline replies"),
    ("CNF-017", Q + "1 > publish q m1 \n 1 > delete q \n 1 < delete-ok \n - deadline replies"),
    ("CNF-018", Q + "@consume 2 q c1 \n 1 > publish q m1 \n 2 < deliver c1 1 m1 q \n - deadline replies"),
    ("CNF-016", "@confirming 1 \n 1 > select \n 0 < kicked 406 90 10 no"),
    ("CNF-019", GONE + f"0 < kicked 404 60 40 {TEXT}"),
    ("CNF-019", GONE + "1 < nack 1"),
    ("CNF-019", GONE + f"1 < closed 404 60 40 {TEXT} \n 1 < ack 1"),
    ("CNF-019", GONE + "- deadline replies"),
    ("CNF-019", Q + "1 > publish q m1 expiration=soon \n 1 < ack 1"),
    ("CNF-020", Q + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 1 \n - deadline replies"),
    ("CNF-021", BURST + "1 < ack 2 multiple \n 1 < nack 3 requeue \n @drain q m1 m2 m3"),
    ("CNF-022", "@queue q \n @open 1 \n 1 > confirm \n 1 > publish q m1 \n 1 < confirm-ok \n - deadline replies"),
    ("CNF-023", Q + "@open 2 \n 2 > publish q m1 \n 2 < ack 1"),
    ("CNF-023", "@confirming 1 \n @open 2 \n 2 > confirm \n 2 < closed 406 85 10 no"),
    ("CNF-023", Q + "@open 2 \n 2 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2"),
    ("CNF-024", TX + "1 < ack 1 \n 1 < commit-ok"),
    ("CNF-025", Q + "1 > publish q m1 mandatory \n 1 < return q m1"),
    ("CNF-026", Q + "1 > publish q m1 bodies=3 \n 1 < ack 3"),
    ("CNF-026", Q + "1 > publish q m1 bodies=0 \n - deadline replies"),
    (
        "CNF-027",
        "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n"
        "1 > ack 1 \n - deadline replies",
    ),
]
LAWFUL = {
    "it is refused while its queue is deleted": Q + "1 > publish q m1 \n 1 > delete q \n 1 < delete-ok \n 1 < nack 1",
    "no channel has confirms": "@open 1 \n 1 > confirm \n 1 < closed 540 85 10 no \n @open 2 \n 2 > confirm \n"
    "2 < closed 540 85 10 no",
    "another connection has confirms": "@confirming 1 \n d:1 > open \n d:1 < open-ok \n d:1 > confirm \n"
    "d:1 < closed 540 85 10 no",
    "they may have come before the queue was there": "@open 2 \n @confirming 1 \n"
    "2 > declare q durable x-max-length=2 x-overflow=reject-publish \n"
    "1 > publish q m1 \n 1 > publish q m2 \n 1 > publish q m3 \n 1 < ack 3 multiple \n 2 < declare-ok q",
    "what has expired leaves room": FULL.replace("classic", "classic x-message-ttl=100")
    + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 multiple \n - wait 1 \n 1 > publish q m3 \n 1 < ack 3",
    "somebody may have taken one before it came": FULL
    + "1 > publish q m1 \n 1 > publish q m2 \n 1 < ack 2 multiple \n @open 2 \n 1 > publish q m3 \n 2 > get q \n"
    "2 < get-ok 1 m1 q \n 1 < ack 3",
    "a multiple that lies above a refused number does not speak of it": BURST
    + "1 > publish q m4 \n 1 < nack 3 \n 1 < nack 4 \n 1 < ack 4 multiple",
    "confirms that are lost with their channel": Q
    + "1 > publish q m1 \n 1 > close \n 1 < close-ok \n - deadline replies",
    "a return overtakes confirms of earlier publishes": "@queue q \n"
    + NOWHERE
    + "1 > publish q m1 \n 1 > publish any m2 exchange=x mandatory \n"
    "1 < return any m2 exchange=x \n 1 < ack 2 \n 1 < ack 1",
    "a queue that is unbound elsewhere while a publish is under way": (
        "@queue q \n @exchange x q \n @confirming 1 \n @open 2 \n 2 > delete q \n"
        "1 > publish any m1 exchange=x mandatory \n"
        "1 < return any m1 exchange=x \n 2 < delete-ok \n 1 < ack 1"
    ),
    "a binding that is not confirmed yet when another channel publishes": (
        "@queue q \n @exchange x \n @confirming 1 \n @open 2 \n 2 > bind q x \n"
        "1 > publish any m1 exchange=x mandatory \n"
        "1 < ack 1 \n 2 < bind-ok"
    ),
    "an exchange that nobody declared here": (
        "@confirming 1 \n 1 > publish any m1 exchange=amq.fanout mandatory \n 1 < ack 1"
    ),
    "a full queue from which something was taken": BURST
    + "@open 2 \n 2 > get q no_ack \n 1 > publish q m4 \n 1 < ack 2 multiple \n 1 < nack 3 \n"
    "2 < get-ok 1 m1 q \n 1 < ack 4",
    "the limit of a quorum queue is learned late": BURST.replace("classic", "quorum")
    + "1 < ack 3 multiple \n @drain q m1 m2 m3",
    "a purge reaches what others publish before it is answered": Q
    + "@open 2 \n 2 > purge q \n 1 > publish q m1 \n 1 < ack 1 \n 2 < purge-ok \n @drain q",
    "a confirm that comes after it was given up": Q
    + "1 > publish q m1 \n 1 < ack 1 \n 1 > publish q m2 \n 1 > publish q m3 \n 1 < ack 3 \n 1 < ack 2",
}


def test_a_late_confirm_is_nothing_more(play) -> None:
    """What was given up is found once; that it comes after all is no second contradiction."""
    book = play(Q + "1 > publish q m1 \n - deadline replies \n 1 < ack 1 \n 1 > publish q m2 \n 1 < ack 2")
    assert set(book.broken) == {"CNF-004"}


def test_a_profile_may_know_that_mandatory_publishes_have_numbers(play) -> None:
    history = """
        @queue q
        @open 1
        1 > publish q m1 mandatory
        1 > confirm
        1 < confirm-ok
        1 > publish q m2
        1 < ack 2
        1 > publish q m3
        1 < ack 3
    """
    assert play(history, "rabbitmq-3.8").broken == ["CNF-002"]
    assert "CNF-006" in play(history, "rabbitmq-3.10").broken


@pytest.mark.parametrize(
    ("rule", "history", "what"),
    [
        ("CNF-014", "1 < ack 2 \n 1 < ack 1", {"out of order": 1, "in order": 1}),
        ("CNF-007", "1 < ack 1 multiple \n 1 < ack 2", {"one basic.ack, multiple": 1, "one basic.ack, single": 1}),
        ("CNF-015", "1 < ack 2 multiple", {"in order": 2}),
        ("CNF-018", "1 < ack 2 multiple", {"confirm first": 2}),
    ],
)
def test_what_is_left_open_is_reported(play, rule: str, history: str, what: dict[str, int]) -> None:
    book = play(Q + "1 > publish q m1 \n 1 > publish q m2 \n" + history)
    assert book.broken == []
    assert book.judge.judgement.reports[rule] == what


@pytest.mark.parametrize(
    ("once", "now"),
    [
        ("1 < ack 1\n", ""),
        ("m1 persistent", "m1"),
        ("q durable", "q"),
        ("q durable", "q durable x-message-ttl=1"),
        ("    - killed", HELD + "2 > ack 1 \n - killed"),
        ("    - killed", HELD + "- killed"),
    ],
)
def test_what_nobody_promised_may_be_gone_after_a_crash(play, once: str, now: str) -> None:
    """CNF-013: not confirmed, transient, in a transient queue or one that may drop it, settled, or with a client."""
    assert play(KEPT.replace(once, now) + "- deadline drain q").broken == []


@pytest.mark.parametrize("profile", ["documented", "rabbitmq-3.8", "rabbitmq-4.3", "lavinmq-2.9"])
@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_what_was_promised_is_missed_on_every_broker(play, profile: str, kind: str) -> None:
    """CNF-013: also where a lost connection may take along what it published last."""
    book = play(KEPT.replace("q durable", f"q {kind} durable") + "- deadline drain q", profile)
    assert book.broken == ["CNF-013"]


@pytest.mark.parametrize("came", ["m1 q redelivered", "m2 q", "m3 q"])
def test_what_a_crash_leaves_comes_in_any_order(play, came: str) -> None:
    """CNF-013: also what was never confirmed, what nobody knows of, and marked as it likes."""
    assert play(KEPT + AFTER + f"d:2 < get-ok 1 {came} persistent").broken == []


def test_an_exchange_that_is_gone_after_a_crash_has_taken_no_message_along(play) -> None:
    gone = "d:2 > publish q m5 exchange=x \n d:2 < closed 404 60 40 gone"
    assert play(KEPT + AFTER + gone).broken == []


def test_a_crash_ends_what_connections_are_owed(play) -> None:
    """CNF-020: the confirm of m2 will never come, and a lost connection is no fault of a broker that was killed."""
    assert play(KEPT + "- deadline replies").broken == []
    assert play(KEPT + "- end c reset \n @open 3").broken == []


def test_what_was_settled_may_be_back_after_a_crash(play) -> None:
    """MODE-004: the settlement need not be on disk."""
    settled = KEPT.replace("    - killed", HELD + "2 > ack 1 \n @barrier 2 \n - killed")
    assert play(settled + AFTER + "d:2 < get-ok 1 m1 q persistent").broken == []
    assert play(settled.replace("- killed", "") + AFTER + "d:2 < get-ok 1 m1 q persistent").broken != []


@pytest.mark.parametrize(
    ("binding", "publish", "answer", "broken"),
    [
        ("topic *", "a.b", "1 < ack 1", ["CNF-009"]),
        ("topic *", "a.", "1 < ack 1", []),
        ("direct a.b", "a.b", "1 < return a.b m1 exchange=x", ["CNF-025"]),
        ("topic a.*", "a.b", "1 < return a.b m1 exchange=x", []),
        ("topic a.*", "a.", "1 < return a. m1 exchange=x", []),
        ("headers - ink=void", "a", "1 < return a m1 exchange=x", []),
    ],
)
def test_a_return_says_nothing_of_returns_where_a_match_is_at_stake(
    play,
    binding: str,
    publish: str,
    answer: str,
    broken: list[str],
) -> None:
    """CNF-009, CNF-025: what the queue then holds tells which rule is broken. Of empty words no text speaks."""
    bound = f"@queue q \n @route x {binding} q \n @confirming 1 \n"
    assert play(f"{bound} 1 > publish {publish} m1 exchange=x mandatory \n {answer}").broken == broken


@pytest.mark.parametrize(
    ("before", "broken"),
    [("", ["CNF-025"]), ("2 > unbind q x a.b \n 2 < unbind-ok \n 2 > bind q x a.b \n 2 < bind-ok \n", [])],
)
def test_a_return_from_a_transaction(play, before: str, broken: list[str]) -> None:
    """CNF-025: by the time of the commit the bindings may be others than when it was published."""
    dealt = "@queue q \n @route x direct a.b q \n @open 1 \n @open 2 \n 1 > select \n 1 < select-ok \n"
    dealt += "1 > publish a.b m1 exchange=x mandatory \n @barrier 1 \n" + before
    assert play(dealt + "1 > commit \n 1 < return a.b m1 exchange=x \n 1 < commit-ok").broken == broken


def test_who_does_not_answer_a_select_need_not_be_in_confirm_mode(play) -> None:
    """CNF-001: OtterMQ announces confirms, and knows no confirm.select."""
    sent = "@queue q \n @open 1 \n 1 > confirm \n 1 > publish q m1 \n {} - deadline replies"
    for answered, others in (("", ("CNF-001",)), ("1 < confirm-ok \n ", ())):
        found = play(sent.format(answered)).judge.judgement.findings
        assert [one.unless for one in found if one.rule == "CNF-022"] == [others]
