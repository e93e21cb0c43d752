"""What a broker offers: what it announces to lack it lacks, unless its answer shows the contrary."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from codec import methods as m
from conformance.drive.drivers.target import Target
from conformance.drive.probes import OFFERED, REFUSED, SILENT, Answer, Inquiry
from reference_broker import ReferenceBroker
from reference_broker.broker import CAPABILITIES
from reference_broker.parts import HANDLERS

PATIENCE = 0.3


def asked(monkeypatch: pytest.MonkeyPatch, capabilities: Mapping[str, bool | None]) -> dict[str, Answer]:
    """The answers of a broker that announces these capabilities, and leaves exchange.bind unanswered."""
    monkeypatch.setitem(HANDLERS, m.ExchangeBind, lambda channel, method: None)
    said = {name: on for name, on in {**CAPABILITIES, **capabilities}.items() if on is not None}
    monkeypatch.setattr("reference_broker.broker.CAPABILITIES", said)
    with ReferenceBroker() as broker:
        return {one.feature: one for one in Inquiry(Target.parse(broker.url), PATIENCE).answers()}


def test_what_a_broker_announces_to_lack_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {"consumer_priorities": False, "exchange_exchange_bindings": False, "basic.nack": False}
    found = asked(monkeypatch, lacking)
    for feature, capability in (("x-priority", "consumer_priorities"), ("basic.nack", "basic.nack")):
        assert found[feature] == Answer(feature, REFUSED, f"the broker announces no {capability}")
    assert found["exchange.bind"].state == REFUSED


def test_an_argument_that_nobody_announces_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {"consumer_priorities": None, "basic.nack": None})
    assert (found["x-priority"].state, found["basic.nack"].state) == (REFUSED, OFFERED)


def test_what_is_answered_is_offered_whatever_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {"publisher_confirms": False, "direct_reply_to": False})
    assert (found["confirm.select"].state, found["direct reply-to"].state) == (OFFERED, OFFERED)


def test_what_is_announced_and_not_answered_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, {})
    assert (found["exchange.bind"].state, found["x-priority"].state) == (SILENT, OFFERED)
