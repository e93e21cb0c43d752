"""Confirms and returned publishes: their order, their number, what they may answer.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations

import pytest

IMMEDIATE = """
    @queue q
    @confirming 1
    1 > publish q m1 immediate {}
    1 < return q m1 code={}
    1 < {} 1
"""


@pytest.mark.parametrize("also", ["", "mandatory"])
def test_no_consumer_is_not_no_route(play, also: str) -> None:
    """CNF-025: an immediate publish that nobody takes at once comes back with 313, and no rule is about that."""
    for verdict in ("ack", "nack"):
        assert play(IMMEDIATE.format(also, 313, verdict)).broken == []
    assert play(IMMEDIATE.format(also, 312, "ack")).broken == ["CNF-025"]
    assert play(IMMEDIATE.replace("immediate", "").format(also, 313, "ack")).broken[0] == "CNF-025"


FULL = """
    @queue q classic x-max-length=1 x-overflow=reject-publish
    @confirming 1
    1 > publish q m1 mandatory
    1 < ack 1
    1 > publish q m2 mandatory
"""


def test_what_a_full_queue_refuses_is_not_without_a_route(play) -> None:
    """CNF-025: it is the return that is wrong, and not the refusal which follows it (CNF-009)."""
    assert play(FULL + "1 < nack 2").broken == []
    assert play(FULL + "1 < return q m2 code=312 \n 1 < nack 2").broken == ["CNF-025"]
    assert play(FULL + "1 < return q m2 code=312 \n 1 < ack 2").broken == ["CNF-025", "CNF-011"]


def test_a_return_alone_does_not_show_that_there_was_no_route(play) -> None:
    """CNF-009: the way through an exchange of somebody else may lead to a full queue, which refuses the publish."""
    text = "@confirming 1 \n 1 > publish k m1 exchange=x mandatory \n 1 < return k m1 exchange=x code=312 \n 1 < {} 1"
    for verdict in ("ack", "nack"):
        assert play(text.format(verdict)).broken == []
    assert play("@exchange x \n" + text.format("nack")).broken == ["CNF-009"]


def test_a_close_may_be_about_a_publish_to_an_exchange_that_is_not_yet_there(play) -> None:
    """CNF-011: another channel has not heard yet that the exchange exists. Once it has, nothing else costs the
    channel."""
    sent, closed = "1 > publish any m0 exchange=y \n", "1 < closed 404 60 40 no exchange 'y'"
    full, next_ = FULL.rpartition("1 >")[0], "1 > publish q m2 \n"
    assert play("90 > exchange y \n" + full + sent + next_ + closed).broken == []
    assert "CNF-011" in play("@exchange y \n" + full + sent + next_ + closed).broken


def many(name: str) -> tuple[str, str, str]:
    """Publishes that no queue takes, their returns, and the confirm of them all; `name` says what each is called."""
    names = [name.format(each) for each in range(1, 501)]
    publishes = "\n".join(f"1 > publish any {each} exchange=x mandatory" for each in names)
    returns = "\n".join(f"1 < return any {each} exchange=x" for each in names)
    return f"@exchange x \n @confirming 1 \n {publishes} \n", f"{returns} \n", f"1 < ack {len(names)} multiple"


@pytest.mark.parametrize("name", ["m{}", "m1"], ids=["different", "alike"])
def test_a_return_is_remembered_for_as_long_as_its_confirm_is_owed(play, name: str) -> None:
    """CNF-009: five hundred publishes are under way before the first comes back."""
    publishes, returns, ack = many(name)
    assert play(publishes + returns + ack).broken == []
    assert "CNF-009" in play(publishes + returns.partition("\n")[2] + ack).broken


FANNED = """
    @queue q
    @queue r
    @exchange x q r
    @confirming 1
    1 > publish any m1 exchange=x
    1 < ack 1
    1 < ack 1
"""


def test_a_confirm_for_each_queue_comes_too_soon(play) -> None:
    """CNF-010: GarageMQ confirms with each queue. Twice for one alone is CNF-004."""
    assert play(FANNED).broken == ["CNF-010"]
    assert play(FANNED.replace("@exchange x q r", "@exchange x q")).broken == ["CNF-004"]
    assert play(FANNED.replace("1 < ack 1\n    1 < ack 1", "1 < ack 1 \n 1 < nack 1")).broken == ["CNF-005"]


def test_a_failure_without_a_name_has_many_suspects(play) -> None:
    """ACK-004, ACK-011: on LavinMQ another channel's empty transaction was the cause, and any one was accused."""
    history = """
        @queue q
        @stock q m1
        @hold 1 q m1
        @open 3
        3 > select
        3 < select-ok
        3 > ack 0 multiple
        1 > ack 1
        0 < kicked 541 0 0 INTERNAL_ERROR
    """
    assert play(history).broken == []
    assert play(history.replace("1 > ack 1", "")).broken == ["ACK-007"]


def test_most_confirms_come_in_order(play) -> None:
    """CNF-015: GarageMQ confirms by chance, which was reported as held; RabbitMQ has one in hundreds overtake."""
    publishes = "@queue q \n @confirming 1 \n" + "".join(f"1 > publish q m{n} \n" for n in range(1, 31))
    once = publishes + "1 < ack 2 \n 1 < ack 1 \n" + "".join(f"1 < ack {n} \n" for n in range(3, 31))
    assert play(once).broken == []
    assert play(once).exercised["CNF-015"] == 29
    chance = publishes + "".join(f"1 < ack {n + 1} \n 1 < ack {n} \n" for n in range(1, 31, 2))
    found = play(chance).judge.judgement.findings
    assert [(one.rule, one.certain) for one in found][:1] == [("CNF-015", False)], "any order is lawful, if not usual"
    refused = chance.replace("@queue q", "@queue q classic x-max-length=40 x-overflow=reject-publish")
    assert play(refused).broken == [], "a queue that refuses answers at once"


def test_numbers_that_go_on_after_a_reopen_are_one_fault(play) -> None:
    """ERR-007: GarageMQ goes on counting publishes, too; that broke CNF-006 and CNF-023."""
    begin = "@queue q \n @confirming 1 \n 1 > publish q m1 \n 1 < ack 1 \n @close 1 \n"
    begin += "1 > open \n 1 < open-ok \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n"
    assert play(begin + "1 < ack 2").broken == ["ERR-007"]
    assert play(begin + "1 < ack 1").broken == []
    assert play(begin + "1 > publish q m3 \n 1 < ack 2 \n 1 < ack 3").broken == ["ERR-007"], "2 might have been right"
    assert play(begin + "1 < ack 3").broken == ["CNF-006"]


CONFIRMED_BEFORE = """
    @queue q
    @stock q m1 m2
    @confirming 1
    1 > publish q m3
    1 < ack 1
    @close 1
    @open 1
"""


def test_an_answer_to_a_settlement_is_no_confirm_mode_that_lives_on(play) -> None:
    """ERR-007: where nothing is published on the new channel there is nothing to confirm."""
    held = CONFIRMED_BEFORE + "1 > get q \n 1 < get-ok 1 m1 q \n 1 > {} \n 1 < ack {}"
    assert play(held.format("ack 1", 1)).broken == ["ACK-015"]
    assert play(held.format("ack 0 multiple", 0)).broken == ["ACK-015", "TAG-002"]
    published = CONFIRMED_BEFORE + "1 > publish q m4 \n 1 < ack {}"
    assert play(published.format(2)).broken == ["ERR-007"]
    assert play(published.format(1)).broken == ["ERR-007"]


THREE = FANNED.replace("@queue r", "@queue r \n @queue s").replace("x q r", "x q r s") + "{} \n"
NEXT = "1 > publish q m2 \n 1 < ack 2"


def test_a_confirm_again_is_one_for_each_queue_where_it_is_as_many(play) -> None:
    """CNF-010: of three queues each is confirmed. A confirm that is doubled, whatever it speaks of, is CNF-004."""
    assert play(THREE.format("1 < ack 1 \n" + NEXT)).broken == ["CNF-010"]
    assert play(THREE.format(NEXT)).broken == ["CNF-004"]
    assert play(THREE.format("")).broken == []
    lone = "@queue q \n @queue r \n @exchange x q r \n @confirming 1 \n 1 > publish q m1 \n 1 < ack 1 \n {} \n"
    both = "1 > publish any m2 exchange=x \n 1 < ack 2 \n 1 < ack 2"
    assert play(lone.format("1 < ack 1") + both).broken == ["CNF-004"]
    assert play(lone.format("") + both).broken == ["CNF-010"]
