"""ERR: one sound and one broken history per rule, and the form of an error."""

from __future__ import annotations

import pytest

from tests.support.readings import OTHER
from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

TEXT = "PRECONDITION_FAILED - unknown delivery tag"
U3 = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 m3 \n"
BAD = U3 + "1 > ack 9 \n"
REFUSED = f"1 < closed 406 60 80 {TEXT} 9 \n"
GONE = "@queue q \n 90 > delete q \n 90 < delete-ok \n @open 1 \n 1 > get q \n"
SOUND = {
    "ERR-001": U3 + f"1 > ack 1 \n 1 > reject 1 requeue \n 1 < closed 406 60 90 {TEXT} 1",
    "ERR-002": BAD + REFUSED,
    "ERR-003": U3 + f"@open 2 \n 2 > ack 3 \n 2 < closed 406 60 80 {TEXT} 3 \n 2 > closed-ok \n1 > ack 3 \n @barrier 1",
    "ERR-004": "@open 5 \n" + BAD + REFUSED + "@barrier 5",
    "ERR-005": U3 + f"1 > ack 9 multiple \n 1 < closed 406 60 80 {TEXT} 9 \n 1 > closed-ok \n@drain q m1 m2 m3",
    "ERR-006": BAD + "1 > publish q m4 \n 1 > flow \n" + REFUSED + "1 > closed-ok \n @open 1 \n @drain q m1 m2 m3",
    "ERR-007": "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > qos 1 \n 1 < qos-ok \n @close 1 \n @open 1 \n"
    "@consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q",
    "ERR-008": BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n 1 < close-ok \n @open 1",
    "ERR-009": "@queue q \n @consume 1 q c1 \n 1 > consume q c1 \n 0 < kicked 530 60 20 NOT_ALLOWED",
    "ERR-010": "@open 1 \n 7 > ack 1 \n 0 < kicked 504 60 80 CHANNEL_ERROR",
    "ERR-011": BAD + "1 > flow \n" + REFUSED,
    "ERR-012": "@queue q \n @open 1 \n 1 > purge q \n 1 < purge-ok \n @close 1",
    "ERR-013": "@queue q \n @stock q m1 \n @hold 1 q m1 \n 0 > bye \n 0 < bye-ok \n - end c closed",
    "ERR-014": "@queue q \n 90 > purge q \n 90 < purge-ok \n 0 > bye \n 0 < bye-ok \n - end c closed",
    "ERR-015": GONE + "1 < closed 404 60 70 NOT_FOUND",
}
BROKEN = {
    "ERR-001": U3 + "1 > ack 1 \n 1 > ack 1 \n @barrier 1 \n - deadline replies",
    "ERR-002": BAD + "- deadline replies",
    "ERR-003": U3 + "@open 2 \n 2 > ack 3 \n - deadline replies",
    "ERR-004": BAD + f"0 < kicked 406 60 80 {TEXT} 9",
    "ERR-005": U3 + f"1 > ack 9 multiple \n 1 < closed 406 60 80 {TEXT} 9 \n 1 > closed-ok \n @drain q \n"
    "- deadline drain q",
    "ERR-006": BAD + "1 > publish q m4 \n" + REFUSED + "1 > closed-ok \n @drain q m1 m2 m3 m4",
    "ERR-007": BAD + REFUSED + "1 > closed-ok \n 1 > open \n - deadline replies",
    "ERR-008": BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n - deadline replies",
    "ERR-009": "@queue q \n @consume 1 q c1 \n 1 > consume q c1 \n 1 < closed 530 60 20 NOT_ALLOWED",
    "ERR-010": "@open 1 \n 7 > ack 1 \n - deadline replies",
    "ERR-011": BAD + "@barrier 1 \n" + REFUSED,
    "ERR-012": "@queue q \n @open 1 \n 1 > purge q \n 0 < kicked 541 50 30 INTERNAL_ERROR",
    "ERR-013": "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 < flow-ok",
    "ERR-014": "@queue q \n 90 > purge q \n - deadline replies",
    "ERR-015": GONE + "1 < closed 404 70 60 NOT_FOUND",
}


CROSSED = BAD + "1 > close \n" + REFUSED + "1 < close-ok \n 1 > closed-ok \n"


def test_the_close_ok_that_the_broker_asked_for_costs_nothing(play) -> None:
    """After closes that crossed the broker names it in a close of the connection."""
    assert play(CROSSED + "0 < kicked 504 20 41 CHANNEL_ERROR").broken == ["ERR-008"]


@pytest.mark.parametrize("more", ["1 > closed-ok \n 0 < kicked 504 20 41 CHANNEL_ERROR", "0 < kicked 320 0 0 FORCED"])
def test_a_second_close_ok_may_cost_the_connection(play, more: str) -> None:
    """And so may whatever has nothing to do with it."""
    assert play(CROSSED + more).broken == []


def test_a_mistake_that_passes_breaks_its_own_rule_only(play) -> None:
    assert play(BAD + "@barrier 1 \n - deadline replies").broken == ["ERR-002"]


@pytest.mark.parametrize(
    "close",
    [
        f"404 60 80 {TEXT} 9",
        f"406 60 80 {TEXT} 8",
        f"406 0 0 {TEXT} 9",
        f"406 60 90 {TEXT} 9",
    ],
)
def test_the_form_of_a_refusal(play, close: str) -> None:
    assert play(BAD + f"1 < closed {close}").broken == ["ERR-002"]


def test_the_wording_counts_only_where_the_profile_says_so(play) -> None:
    history = BAD + "1 < closed 406 60 80 PRECONDITION_FAILED - Delivery tag [9] not found"
    assert play(history).broken == []
    assert play(history, "rabbitmq-3.10").broken == ["ERR-002"]


@pytest.mark.parametrize(
    "late",
    [
        "1 < flow-ok",
        "1 > publish q m4 \n 1 < ack 1",
    ],
)
def test_answers_after_the_close(play, late: str) -> None:
    history = BAD + "1 > flow \n" + REFUSED + late
    instead = ["ERR-011"] if "flow-ok" in late else []
    assert play(history).broken == ["ERR-006", *instead]
    assert play(BAD + REFUSED + "1 > flow \n" + late).broken == ["ERR-006"], "it was sent after the close was read"


def test_a_delivery_that_no_longer_can_have_been_under_way(play) -> None:
    history = "@queue q \n @consume 1 q c1 \n 1 > ack 9 \n" + REFUSED + "@stock q m1 \n 1 < deliver c1 1 m1 q"
    assert play(history).broken == ["ERR-006"]


def test_nothing_comes_after_close_ok(play) -> None:
    history = "@queue q \n @consume 1 q c1 \n @stock q m1 \n @close 1 \n 1 < deliver c1 1 m1 q"
    assert play(history).broken == ["ERR-006"]


def test_the_delivering_channel_is_closed_instead(play) -> None:
    history = U3 + f"@open 2 \n 2 > ack 3 \n 1 < closed 406 60 80 {TEXT} 3"
    assert play(history).broken == ["ERR-003", "ERR-004"]


def test_the_connection_follows_its_channel(play) -> None:
    assert play(BAD + REFUSED + f"0 < kicked 406 60 80 {TEXT} 9").broken == ["ERR-004"]


NOT_OFFERED = [
    ("1 > recover", "540 60 110 NOT_IMPLEMENTED - requeue=false", []),
    ("1 > qos 0 size=1", "540 60 10 NOT_IMPLEMENTED - prefetch_size!=0 (1)", ["QOS-023"]),
    ("1 > publish q m1 immediate", "540 60 40 NOT_IMPLEMENTED - immediate=true", []),
]


@pytest.mark.parametrize(("error", "kick", "also"), NOT_OFFERED)
def test_what_may_be_implemented(play, error: str, kick: str, also: list[str]) -> None:
    begin = "@queue q \n @open 1 \n" + error + "\n"
    assert play(begin + f"0 < kicked {kick}").exercised["ERR-009"] == 1
    assert play(begin + f"0 < kicked {kick}").broken == []
    soft = play(begin + f"1 < closed {kick}")
    assert soft.broken == ["ERR-009", *also]
    assert soft.exercised["QOS-023"] == len(also), "one frame does not hold one rule and break another about itself"


@pytest.mark.parametrize(("error", "kick", "also"), NOT_OFFERED)
def test_where_it_costs_the_channel_by_choice(play, error: str, kick: str, also: list[str]) -> None:
    """Where the profile says that 540 comes as channel.close; any other code is no refusal of that kind."""
    begin = "@queue q \n @open 1 \n" + error + "\n"
    soft = play(begin + f"1 < closed {kick}", OTHER)
    assert soft.broken == []
    assert all(soft.exercised[rule] for rule in also)
    assert "ERR-009" in play(begin + f"1 < closed {kick.replace('540', '541')}", OTHER).broken


def test_failing_is_no_way_to_refuse(play) -> None:
    """ERR-009: LavinMQ closes with 541 over basic.recover without requeue, beside a live consumer."""
    begin = "@queue q \n @consume 1 q c1 \n 1 > recover \n"
    assert play(begin + "0 < kicked 541 0 0 INTERNAL_ERROR").broken == ["ERR-009"]
    other = "@open 2 \n 2 > publish q m1 \n"
    assert play(other + begin + "0 < kicked 541 0 0 INTERNAL_ERROR").broken == [], "it may be about the publish"


def test_where_it_is_implemented_nothing_is_wrong(play) -> None:
    book = play("@open 1 \n 1 > qos 0 size=1 \n 1 < qos-ok \n @barrier 1 \n - deadline replies")
    assert book.broken == []
    assert book.judge.owed() == []


def test_a_reopened_channel_is_fresh(play) -> None:
    begin = "@queue q \n @open 1 \n 1 > confirm \n 1 < confirm-ok \n @consume 1 q c1 \n @close 1 \n @open 1 \n"
    assert play(begin + "1 > publish q m1 \n 1 < ack 1").broken == ["ERR-007"]
    assert play(begin + "1 > publish q m1 \n 1 < deliver c1 1 m1 q").broken[:1] == ["ERR-007"]


def test_a_reopened_channel_has_no_tags_in_use(play) -> None:
    begin = "@queue q \n @consume 1 q c1 \n 1 > ack 9 \n" + REFUSED + "1 > closed-ok \n"
    begin += "@open 1 \n 1 > consume q c1 \n"
    assert play(begin + "1 < consume-ok c1").broken == []
    assert play(begin + "0 < kicked 530 60 20 NOT_ALLOWED").broken == ["ERR-007"]
    assert play(begin + "1 < closed 530 60 20 NOT_ALLOWED").broken == ["ERR-007"]
    assert play(begin + "1 < closed 404 60 20 NOT_FOUND").broken != ["ERR-007"]
    other = begin.replace("1 > consume q c1", "1 > consume q c2")
    assert "ERR-007" not in play(other + "0 < kicked 530 60 20 NOT_ALLOWED").broken


def test_a_mode_may_outlive_several_lives_of_a_channel(play) -> None:
    """ERR-007: GarageMQ confirmed on the third life of a number what only the first had asked for."""
    begin = "@queue q \n @open 1 \n 1 > confirm \n 1 < confirm-ok \n @close 1 \n @open 1 \n @close 1 \n @open 1 \n"
    assert play(begin + "1 > publish q m1 \n 1 < ack 1").broken == ["ERR-007"]
    never = "@queue q \n @open 1 \n @close 1 \n @open 1 \n @close 1 \n @open 1 \n"
    assert play(never + "1 > publish q m1 \n 1 < ack 1").broken == ["CNF-023"]


LIVES_ON = (
    " \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
    + "1 > ack 9 \n"
    + REFUSED
    + "1 > closed-ok \n @open 1 \n"
)


@pytest.mark.parametrize("meanwhile", ["", "@close 1 \n"])
def test_a_failed_channel_of_a_quorum_queue_outlives_its_number(play, meanwhile: str) -> None:
    """The delivery may meet the next life of the number, or come when that, too, has been closed."""
    late = LIVES_ON + "@stock q m2 \n" + meanwhile + "1 < deliver c1 2 m2 q"
    assert play("@queue q quorum" + late).broken == []
    assert play("@queue q" + late).broken == ["ERR-006" if meanwhile else "ERR-007"]


def test_a_closed_channel_gets_nothing_for_consumers_it_never_had(play) -> None:
    history = "@queue q quorum" + LIVES_ON + "@stock q m2 \n @close 1 \n 1 < deliver c9 2 m2 q"
    assert "ERR-006" in play(history).broken


def test_other_channels_stall(play) -> None:
    history = "@queue p \n @consume 5 p c5 \n" + BAD + REFUSED + "1 > closed-ok \n @stock p n1 \n - deadline replies"
    assert play(history).rest().broken == ["ERR-004"]


@pytest.mark.parametrize("settlement", ["nack 1 multiple", "nack 1", "reject 1"])
@pytest.mark.parametrize(
    ("declared", "broken"),
    [("q classic x-dead-letter-exchange= x-dead-letter-routing-key=d", ["ERR-012"]), ("q", None)],
)
def test_who_fails_at_a_dead_letter_fails_by_any_method(play, settlement: str, declared: str, broken) -> None:
    """The method has a rule of its own, and where a dead letter is made there is another cause."""
    begin = f"@queue {declared} \n @stock q m1 \n @hold 1 q m1 \n"
    found = play(begin + f"1 > {settlement} \n 0 < kicked 541 0 0 INTERNAL_ERROR").broken
    assert found == broken if broken else "ERR-012" not in found


FAILED = ["1 < closed 541 0 0 INTERNAL_ERROR", "0 < kicked 541 0 0 INTERNAL_ERROR"]


@pytest.mark.parametrize("close", FAILED)
def test_an_internal_error_of_which_another_rule_speaks_is_accused_once(play, close: str) -> None:
    assert play("@open 1 \n 1 > nack 0 multiple requeue \n" + close).broken == ["ACK-008"]


THERE = "@queue q \n @exchange x \n @open 1 \n "


@pytest.mark.parametrize(
    ("history", "broken"),
    [
        ("1 > unbind q x key \n 0 < kicked 541 50 50 INTERNAL_ERROR", ["BIND-005", "ERR-012"]),
        ("1 > unbind q x key \n 1 < closed 541 50 50 INTERNAL_ERROR", ["BIND-005", "ERR-012"]),
        ("1 > unbind q x key \n 1 < closed 404 50 50 NOT_FOUND", ["BIND-005"]),
        ("1 > unbind q x key \n 0 < kicked 504 50 50 CHANNEL_ERROR", ["BIND-005"]),
        ("1 > bind q \n 1 < closed 541 50 20 INTERNAL_ERROR", ["BIND-006"]),
    ],
    ids=["connection", "channel", "refused", "another code", "a mistake"],
)
def test_what_is_only_usual_excuses_no_internal_error(play, history: str, broken: list[str]) -> None:
    assert sorted(play(THERE + history).broken) == broken


@pytest.mark.parametrize("close", FAILED)
def test_an_internal_error_that_answers_a_mistake_is_for_the_rule_about_it(play, close: str) -> None:
    broken = play(BAD + close).broken
    assert broken
    assert "ERR-012" not in broken


@pytest.mark.parametrize("close", FAILED)
def test_an_internal_error_over_nothing_is_accused_wherever_it_comes(play, close: str) -> None:
    assert play("@queue q \n @open 1 \n" + close).broken == ["ERR-012"]
    assert play("@queue q \n @open 1 \n" + close.replace("541", "320")).broken == []


HELD = "@queue q quorum \n @stock q m1 m2 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n {} 1 > ack 1 \n"
AGAIN = "1 > cancel c1 \n 1 < cancel-ok c1 \n 1 > consume q c1 \n 1 < consume-ok c1 \n"


def test_an_internal_error_beside_a_namesake_is_none_of_its_settlement(play) -> None:
    """ACK-013: what the ack makes room for goes to a consumer under the tag of the old one, and 3.10 fails at that."""
    kicked = "0 < kicked 541 0 0 INTERNAL_ERROR"
    assert play(HELD.format(AGAIN) + kicked).broken == ["ERR-012"]
    assert play(HELD.format("") + kicked).broken == ["ACK-013"]


PURGES = "@queue q \n @open 1 \n 1 > purge q \n "
WITHOUT_A_WORD = "- end c fin"


@pytest.mark.parametrize("then", ["", "@open 2 \n 2 > flow \n"], ids=["one", "two"])
def test_a_connection_that_ends_over_methods_without_a_word(play, then: str) -> None:
    found = play(PURGES + then + WITHOUT_A_WORD).judge.judgement.findings
    assert [(one.rule, one.certain, one.observed) for one in found] == [
        ("ERR-012", True, "connection: it ends without connection.close")
    ]


@pytest.mark.parametrize(
    "history",
    [
        "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > purge q \n",
        "@queue q \n" + BAD + REFUSED + "1 > closed-ok \n @open 1 \n 1 > purge q \n",
        "- joined c \n 1 > purge q \n",
        "@queue q \n @open 1 \n",
    ],
    ids=[
        "a publish before it",
        "a refusal before it",
        "joined",
        "nothing",
    ],
)
def test_the_end_without_a_word_may_be_about_something_else(play, history: str) -> None:
    assert play(history + WITHOUT_A_WORD).broken == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 < flow-ok", "channel.flow-ok, which nobody asked for"),
        ("5 < flow-ok", "channel.flow-ok"),
        ("0 < flow-ok", "channel.flow-ok on channel 0"),
        ("1 < bye-ok", None),
    ],
)
def test_a_frame_that_nobody_asked_for_is_the_brokers_fault_unless_the_question_may_be_missing(
    play,
    text: str,
    found: str | None,
) -> None:
    book = play("@open 1 \n" + text)
    assert [one.observed for one in book.judge.judgement.findings if one.rule == "ERR-013"] == [found] * bool(found)
    if found and "channel 0" not in found:
        assert play("- observed \n @open 1 \n" + text).broken == []


def test_what_is_discarded_costs_no_connection(play) -> None:
    """ERR-006: unless the broker may mean what came for a channel that is open."""
    late, lost = "1 > cancel c1 \n", "0 < kicked 504 60 30 CHANNEL_ERROR"
    assert play(BAD + REFUSED + late + lost).broken == ["ERR-006"]
    assert play(BAD + late + REFUSED + "1 > closed-ok \n" + lost).broken == ["ERR-006"]
    assert "ERR-006" not in play(BAD + REFUSED + late + "@open 7 \n 7 > cancel c2 \n" + lost).broken


@pytest.mark.parametrize("lost", ["505 0 0 UNEXPECTED_FRAME", "501 60 40 FRAME_ERROR", "504 0 0 CHANNEL_ERROR"])
def test_nor_does_the_content_of_what_is_discarded(play, lost: str) -> None:
    """ERR-006: unless another publish is under way, or nothing has a content; frames go wrong in other ways, too."""
    late, lost = "1 > publish q m9 \n", f"0 < kicked {lost}"
    assert play(BAD + REFUSED + late + lost).broken == ["ERR-006"]
    assert "ERR-006" not in play(BAD + REFUSED + lost).broken
    assert "ERR-006" not in play(BAD + REFUSED + late + "@open 7 \n 7 > publish q m8 \n" + lost).broken
    assert "ERR-006" not in play(BAD + REFUSED + late + lost.replace("60 40", "0 0").replace("0 0", "60 20")).broken


@pytest.mark.parametrize("closes", [REFUSED, REFUSED + "1 < close-ok \n", REFUSED + "1 > closed-ok \n"])
def test_what_a_client_sends_behind_its_own_close_is_its_mistake(play, closes: str) -> None:
    """ERR-006: it may cost the connection, although the broker has closed the channel, too."""
    behind = BAD + "1 > close \n 1 > publish q m1 \n" + closes
    assert play(behind + "0 < kicked 504 60 40 CHANNEL_ERROR").broken == []


def test_a_channel_is_closed_once(play) -> None:
    """ERR-006: not for each mistake, and not again behind the first; closes that cross are another matter."""
    assert play(BAD + "1 > ack 9 \n" + REFUSED + REFUSED).broken == ["ERR-006"]
    assert play(BAD + REFUSED + "1 > closed-ok \n" + REFUSED).broken == ["ERR-006"]
    assert not play(BAD + "1 > close \n" + REFUSED + "1 > closed-ok \n 1 < close-ok \n @open 1").broken


def test_something_of_the_former_life_is_under_way(play) -> None:
    """A broker that waits for more of what has closed the channel, when its number is used again."""
    again = BAD + REFUSED + "1 > closed-ok \n @open 1 \n 1 > get q \n 0 < kicked {} 60 70 UNEXPECTED_FRAME"
    assert play(again.format(505)).broken == ["ERR-007"]
    assert "ERR-007" not in play(again.format(320)).broken
    unknown = (
        BAD + REFUSED + "1 > closed-ok \n @open 1 \n 1 > exchange z fan-out \n 0 < kicked 503 40 10 COMMAND_INVALID"
    )
    assert "ERR-007" not in play(unknown).broken
    odd = BAD + REFUSED + "1 > closed-ok \n @open 1 \n 1 > declare r x-odd=1 \n 0 < kicked 501 50 10 FRAME_ERROR"
    assert play(odd).broken == [], "it may not understand an argument"
    assert "ERR-007" not in play("@queue q \n @open 1 \n 1 > get q \n 0 < kicked 505 60 70 UNEXPECTED_FRAME").broken


def test_a_close_of_the_connection_counts_on_whatever_channel_it_comes(play) -> None:
    """ERR-013: that is all that is wrong with it; whether there had to be one, and by which code, is judged as ever."""
    for number in (1, 3):
        assert play(f"@open 1 \n 3 > get q \n {number} < kicked 504 60 70 CHANNEL_ERROR").broken == ["ERR-013"]
    assert set(play("@open 1 \n 3 > get q \n 3 < kicked 541 60 70 no").broken) == {"ERR-010", "ERR-013"}


@pytest.mark.parametrize(
    ("history", "broken"),
    [
        (GONE + "1 < closed 404 70 60 NOT_FOUND", ["ERR-015"]),
        (GONE + "1 < closed 404 0 0 NOT_FOUND", []),
        (GONE + "1 < closed 405 70 60 LOCKED", ["ERR-015", "GET-001"]),
        (GONE.replace("1 > get", "1 > flow \n 1 > get") + "1 < closed 405 70 60 LOCKED", ["ERR-015"]),
        (BAD + f"1 < closed 406 80 60 {TEXT} 9", ["ERR-015"]),
        (BAD + f"1 < closed 406 60 90 {TEXT} 9", ["ERR-002"]),
        ("@open 1 \n 7 > ack 1 \n 0 < kicked 504 80 60 CHANNEL_ERROR", ["ERR-015"]),
        ("@open 1 \n 7 > ack 1 \n 0 < kicked 504 0 0 CHANNEL_ERROR", ["ERR-010"]),
    ],
)
def test_a_close_that_names_what_was_not_sent_is_one_fault(play, history: str, broken: list[str]) -> None:
    """The rule of the mistake speaks of what else is wrong with the close, and where another method was sent."""
    assert play(history).broken == broken
