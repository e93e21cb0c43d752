"""Rights that are looked up for one form of a method, and passed over in another: without an answer, for the queue that
was declared last, in a transaction."""

from __future__ import annotations

from collections.abc import Iterable

import codec
from codec import methods as m
from reference_broker.core.access import Rights, Topics
from reference_broker.core.channels.channel import Channel
from reference_broker.core.needs import DEFAULT, Need, Needs
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, replaces


@replaces(
    "needs.of",
    "forms.not-of-the-last",
    "who names no queue needs no rights on the one that was declared last",
    "AUTH-002",
    "AUTH-007",
    "AUTH-008",
    "AUTH-011",
    "AUTH-012",
    "AUTH-013",
)
def not_of_the_last(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    declares = isinstance(method, m.QueueDeclare)
    return () if not declares and getattr(method, "queue", None) == "" else Needs.of(self, channel, method)


@replaces("needs.of", "forms.not-without-an-answer", "methods with nowait take no rights", "AUTH-002", "AUTH-013")
def not_without_an_answer(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    return () if getattr(method, "no_wait", False) else Needs.of(self, channel, method)


@replaces("needs.of", "forms.not-in-transactions", "a publish in a transaction takes no rights", "AUTH-018")
def not_in_transactions(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    free = channel.transaction is not None and isinstance(method, m.BasicPublish)
    return () if free else Needs.of(self, channel, method)


@replaces(
    "needs.of", "forms.exchanges-bound-quietly", "exchanges may be bound by anybody who wants no answer", "AUTH-009"
)
def exchanges_bound_quietly(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    free = isinstance(method, m.ExchangeBind) and method.no_wait
    return () if free else Needs.of(self, channel, method)


@replaces(
    "needs.of",
    "forms.any-alternate-quietly",
    "an exchange that is declared with nowait may have any alternate",
    "AUTH-006",
)
def any_alternate_quietly(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    needs = [*Needs.of(self, channel, method)]
    return needs[:1] if isinstance(method, m.ExchangeDeclare) and method.no_wait else needs


@changes("forms.looks-quietly", "who looks with nowait needs no right", "AUTH-020")
def looks_quietly(parts: Parts) -> None:
    below = parts.needs

    def check_looking(
        self: Needs, rights: Rights, channel: Channel, method: m.QueueDeclare | m.ExchangeDeclare
    ) -> None:
        if not method.no_wait:
            below.check_looking(self, rights, channel, method)

    parts.override("needs", check_looking=check_looking)


@replaces(
    "needs.of",
    "forms.deletes-if-unused-freely",
    "the deletion of an exchange with if-unused takes no rights",
    "AUTH-005",
)
def deletes_if_unused_freely(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    free = isinstance(method, m.ExchangeDelete) and method.if_unused
    return () if free else Needs.of(self, channel, method)


@replaces("needs.check", "forms.large-publishes-freely", "a publish of several body frames takes no rights", "AUTH-010")
def large_publishes_freely(
    self: Needs, rights: Rights, channel: Channel, method: codec.Method, header: codec.Header | None = None
) -> None:
    if header is None or header.body_size < channel.connection.outbox.frame_max:
        Needs.check(self, rights, channel, method, header)


@replaces("needs.of", "forms.missing-heir-freely", "a missing dead-letter exchange takes no rights", "AUTH-003")
def missing_heir_freely(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    for right, kind, name in Needs.of(self, channel, method):
        there = name == DEFAULT or name in channel.vhost.exchanges
        if there or kind != "exchange" or not isinstance(method, m.QueueDeclare):
            yield right, kind, name


@replaces("needs.check_topics", "forms.no-word-freely", "the empty routing key takes no rights to topics", "AUTH-021")
def no_word_freely(
    self: Needs, topics: Topics, channel: Channel, method: codec.Method, header: codec.Header | None
) -> None:
    if not isinstance(method, m.BasicPublish) or method.routing_key:
        Needs.check_topics(self, topics, channel, method, header)
