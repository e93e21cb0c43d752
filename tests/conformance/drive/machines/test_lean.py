"""Leans: what they fix, and that their text is all there is to them."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from conformance.catalogue.profiles import load
from conformance.drive.machines.lean import BOOST, PLAIN, BadLean, Lean
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.timeouts import TIMED_OUT

LEANS = (
    PLAIN,
    Lean((("window", 1030), ("stock", 300))),
    Lean((), ("Get", "Settle")),
    Lean((("used", frozenset({"dead-letter exchange", "qos"})), ("apart", True)), ("Reopen",)),
)


@pytest.mark.parametrize("lean", LEANS, ids=str)
def test_the_text_of_a_lean_is_the_lean(lean: Lean) -> None:
    assert Lean.read(str(lean)) == lean


@pytest.mark.parametrize("text", ["width=3", "window=-1", "window=wide", "used=luck", "stock"])
def test_what_is_no_lean_is_refused(text: str) -> None:
    with pytest.raises(BadLean):
        Lean.read(text)


def test_what_is_fixed_is_fixed_and_all_else_stays() -> None:
    drawn = Shape(queues=2, wide=9, window=16, quiet=True)
    assert PLAIN.applied(drawn) is not None
    assert asdict(PLAIN.applied(drawn)) == asdict(drawn)
    leant = Lean((("window", 1030),)).applied(drawn)
    assert (leant.window, leant.wide, leant.quiet) == (1030, 9, True)


def test_of_what_takes_long_a_history_has_one() -> None:
    leant = Lean((("stock", 500),)).applied(Shape(wide=70, often=4, frames=2))
    assert (leant.stock, leant.wide, leant.often, leant.frames) == (500, 1, 1, 0)


def test_connections_are_apart_or_one_of_them_older() -> None:
    leant = Lean((("behind", True),)).applied(Shape(apart=True))
    assert (leant.behind, leant.apart) == (True, False)


def test_commands_are_drawn_more_often() -> None:
    alphabet = SETTLEMENT.commands(load("documented"), "classic")
    factors = Lean((), ("Get",)).weighed(alphabet, [1] * len(alphabet))
    assert {choice.name: factor for choice, factor in zip(alphabet, factors, strict=True)}["Get"] == BOOST
    assert sum(factors) == len(alphabet) + BOOST - 1


def test_no_machine_is_made_to_do_what_it_keeps_clear_of() -> None:
    """On quorum queues nothing is wide, what is pipelined is not apart, and rivals are always apart."""
    wanted = Lean((("stock", 500), ("apart", True), ("window", 64)))
    assert dict(PREFETCH.allowed(wanted, "quorum", "lockstep").fixed) == {"apart": True, "window": 64}
    assert dict(PREFETCH.allowed(wanted, "classic", "pipelined").fixed) == {"stock": 500, "window": 64}
    assert dict(REQUEUEING.allowed(wanted, "classic", "lockstep").fixed) == {"stock": 500, "window": 64}
    assert "behind" not in dict(TIMED_OUT[0].allowed(Lean((("behind", True),)), "quorum", "lockstep").fixed)
