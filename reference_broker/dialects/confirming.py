"""Confirms and transactions: which publish has which number, and what a commit costs."""

from __future__ import annotations

import codec
from codec import methods as m
from reference_broker.channel import Channel
from reference_broker.confirms import Confirms
from reference_broker.dialects.kinds import Behaviour, does
from reference_broker.errors import precondition
from reference_broker.intake import Intake
from reference_broker.transaction import Transaction

BEHAVIOURS: list[Behaviour] = []


@does("channel", BEHAVIOURS, "confirms.begin-late", "confirms begin behind what was numbered before", until="3.8")
class BeginLate(Channel):
    numbered = 0

    def select_confirms(self) -> Confirms:
        confirms = super().select_confirms()
        confirms.published = self.numbered
        return confirms


@does(
    "intake",
    BEHAVIOURS,
    "confirms.mandatory-counts",
    "mandatory publishes before confirm.select take numbers",
    until="3.8",
)
class MandatoryCounts(Intake):
    def publish(self, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        super().publish(channel, method, header, body)
        plain = channel.confirms is None and channel.transaction is None
        if method.mandatory and plain and isinstance(channel, BeginLate):
            channel.numbered += 1


@does(
    "transaction",
    BEHAVIOURS,
    "transactions.partial-commit-fails",
    "a commit costs the channel when a queue has no room for a part of it; the rest has happened then",
)
class PartialCommitFails(Transaction):
    def commit(self, channel: Channel) -> bool:
        if not super().commit(channel):
            raise precondition("partial tx completion")
        return True
