"""Dead letters that do not come, come to the wrong place, or tell a wrong story."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from codec import values
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel, Fate, acked
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues import deadletter
from reference_broker.core.queues.deadletter import DeadLetters, earlier_deaths
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/issues/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/issues/{}"
Retelling = Callable[[list[Any], list[Any]], list[Any]]
"""From the entries of x-death before the death, and after it."""


# -- which come


def losing(reason: str) -> Any:
    def dead(self: VirtualHost, queue: Queue, message: Message, why: str) -> None:
        if why != reason:
            VirtualHost.dead(self, queue, message, why)

    return dead


replaces("vhost.dead", "deadletters.rejected-lost", "rejected messages are just dropped", "DLX-001")(losing("rejected"))
replaces(
    "vhost.dead",
    "deadletters.expired-lost",
    "expired messages are just dropped",
    "DLX-002",
    field=RABBITMQ.format(4947),
)(losing("expired"))
replaces("vhost.dead", "deadletters.pushed-out-lost", "a full queue just drops", "DLX-003")(losing("maxlen"))
replaces("vhost.dead", "deadletters.returned-lost", "the delivery limit just drops", "DLX-004")(
    losing("delivery_limit")
)


@replaces(
    "queue.exceed", "deadletters.limit-rejects", "beyond the delivery limit messages count as rejected", "DLX-004"
)
def limit_rejects(self: Queue, entry: Entry, delivery: Delivery) -> None:
    self.die(entry, "rejected")


@replaces(
    "queue.trim", "deadletters.limit-of-octets", "a limit of octets has a reason of its own", "DLX-003", "DLX-008"
)
def limit_of_octets(self: Queue) -> None:
    most = self.settings.max_length
    while self.ready and self.over_limit():
        self.die(self.ready.pop(), "maxlen" if most is not None and len(self.ready) + 1 > most else "maxlenbytes")


@replaces(
    "vhost.dead", "deadletters.one-at-a-time", "of messages that expire together only the first goes on", "DLX-002"
)
def one_at_a_time(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    if reason != "expired" or memory(queue, "expired", list) != [self.clock.now]:
        memory(queue, "expired", list)[:] = [self.clock.now]
        VirtualHost.dead(self, queue, message, reason)


@replaces("channel.settle", "deadletters.acknowledged-too", "an ack makes a dead letter", "DLX-013")
def acknowledged_too(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    for delivery in deliveries if fate is acked else ():
        self.vhost.dead(delivery.queue, delivery.entry.message, "rejected")
    Channel.settle(self, deliveries, fate)


# -- where to


def readdressed(name: str, says: str, exchange: str | None, key: str) -> None:
    """A dead letter has an address made of these: empty for its own, None for that of its queue."""

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, target: str, given: str | None
    ) -> Message:
        dead = DeadLetters.letter(self, message, queue, reason, now, target, given)
        told = {"own": message.routing_key, "queue": queue, "": dead.routing_key}[key]
        return Message(dead.exchange if exchange is None else "elsewhere", told, dead.header, dead.body)

    replaces("dead_letters.letter", name, says, "DLX-005")(letter)


readdressed("deadletters.exchange-untold", "a dead letter names another exchange", "elsewhere", "")
readdressed("deadletters.key-of-the-queue", "the name of the queue becomes the key of a dead letter", None, "queue")


# -- what it tells


def retold(name: str, says: str, *rules: str, field: str = "") -> Callable[[Retelling], Retelling]:
    """The decorated function changes the list of deaths: what it was, and what it has become."""

    def add(wrong: Retelling) -> Retelling:
        def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
            dead = DeadLetters.letter(self, message, *about)
            before = deadletter.earlier_deaths(message)
            deaths = wrong(before, deadletter.earlier_deaths(dead))
            return dead.with_headers([("x-death", "A", deaths)])

        replaces("dead_letters.letter", name, says, *rules, field=field)(letter)
        return wrong

    return add


def with_field(death: Any, name: str, letter: str, value: Any) -> Any:
    """An entry that says this."""
    return death[0], [*(one for one in death[1] if one[0] != name), (name, letter, value)]


@retold("deadletters.entry-each-time", "x-death has an entry for each death", "DLX-006")
def entry_each_time(before: list[Any], deaths: list[Any]) -> list[Any]:
    return [with_field(deaths[0], "count", "l", 1), *before]


@retold("deadletters.latest-last", "x-death has the latest death last", "DLX-006")
def latest_last(before: list[Any], deaths: list[Any]) -> list[Any]:
    return [*deaths[1:], deaths[0]]


@retold("deadletters.count-stays", "x-death does not count", "DLX-006", field=LAVINMQ.format(574))
def count_stays(before: list[Any], deaths: list[Any]) -> list[Any]:
    return [with_field(deaths[0], "count", "l", 1), *deaths[1:]]


@retold("deadletters.count-ends-at-two", "x-death counts up to 2", "DLX-006", field=LAVINMQ.format(601))
def count_ends_at_two(before: list[Any], deaths: list[Any]) -> list[Any]:
    count = values.lookup(deaths[0][1], "count", 0)
    return [with_field(deaths[0], "count", "l", min(2, count)), *deaths[1:]]


@retold("deadletters.earlier-forgotten", "x-death tells of the latest death only", "DLX-006", "DLX-012")
def earlier_forgotten(before: list[Any], deaths: list[Any]) -> list[Any]:
    return deaths[:1]


@retold("deadletters.new-address-told", "x-death has the exchange of the dead letter", "DLX-007")
def new_address_told(before: list[Any], deaths: list[Any]) -> list[Any]:
    return [with_field(deaths[0], "exchange", "S", b"elsewhere"), *deaths[1:]]


@retold("deadletters.expiration-untold", "x-death does not keep the expiration", "DLX-007")
def expiration_untold(before: list[Any], deaths: list[Any]) -> list[Any]:
    return [(deaths[0][0], [one for one in deaths[0][1] if one[0] != "original-expiration"]), *deaths[1:]]


@retold("deadletters.one-key-told", "x-death has one routing key only", "DLX-007")
def one_key_told(before: list[Any], deaths: list[Any]) -> list[Any]:
    keys = values.lookup(deaths[0][1], "routing-keys", [])
    first = [("S", one.encode() if isinstance(one, str) else one) for one in keys[:1]]
    return [with_field(deaths[0], "routing-keys", "A", first), *deaths[1:]]


@replaces("dead_letters.letter", "deadletters.first-is-latest", "x-first-death-* tells of the latest", "DLX-008")
def first_is_latest(self: DeadLetters, message: Message, queue: str, reason: str, *about: Any) -> Message:
    dead = DeadLetters.letter(self, message, queue, reason, *about)
    told: FieldTable = [
        ("x-first-death-queue", "S", queue.encode()),
        ("x-first-death-reason", "S", reason.encode()),
        ("x-first-death-exchange", "S", message.exchange.encode()),
    ]
    return dead.with_headers(told)


@changes("deadletters.first-untold", "there is no x-first-death-*", "DLX-008")
def first_untold(parts: Parts) -> None:
    def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
        dead = DeadLetters.letter(self, message, *about)
        left = [one for one in dead.headers if not one[0].startswith("x-first-death")]
        return dead.copy(dead.exchange, dead.routing_key, headers=left)

    parts.override("dead_letters", letter=letter)


@changes(
    "deadletters.first-exchange-untold",
    "there is no x-first-death-exchange",
    "DLX-008",
    field=RABBITMQ.format(15385),
)
def first_exchange_untold(parts: Parts) -> None:
    def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
        dead = DeadLetters.letter(self, message, *about)
        left = [one for one in dead.headers if one[0] != "x-first-death-exchange"]
        return dead.copy(dead.exchange, dead.routing_key, headers=left)

    parts.override("dead_letters", letter=letter)


@replaces(
    "vhost.dead",
    "deadletters.told-by-the-client",
    "what a client has published with x-death alone is lost when it dies",
    "MODE-005",
    field=RABBITMQ.format(12933),
)
def told_by_the_client(self: VirtualHost, queue: Queue, message: Message, why: str) -> None:
    if not deadletter.earlier_deaths(message) or values.lookup(message.headers, "x-first-death-queue") is not None:
        VirtualHost.dead(self, queue, message, why)


# -- what it keeps


@replaces(
    "dead_letters.letter",
    "deadletters.lives-on",
    "a dead letter keeps its expiration",
    "DLX-009",
    field=RABBITMQ.format(18),
)
def lives_on(self: DeadLetters, message: Message, *about: Any) -> Message:
    dead = DeadLetters.letter(self, message, *about)
    return dead.copy(dead.exchange, dead.routing_key, expiration=message.header.expiration)


@replaces(
    "dead_letters.dropped",
    "deadletters.copies-kept",
    "a dead letter with a new key keeps its CC",
    "DLX-010",
    field=LAVINMQ.format(1990),
)
def copies_kept(self: DeadLetters, key: str | None) -> tuple[str, ...]:
    return ("x-death",)


@replaces("dead_letters.dropped", "deadletters.copies-dropped", "a dead letter has no CC", "DLX-010")
def copies_dropped(self: DeadLetters, key: str | None) -> tuple[str, ...]:
    return "x-death", "CC"


# -- round and round


def circling(name: str, says: str, rule: str, field: str, **wrong: Any) -> None:
    """A broker with another idea of when a message goes in circles."""

    @changes(name, says, rule, field=field)
    def apply(parts: Parts) -> None:
        def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
            target, key = queue.settings.dead_letter_exchange, queue.settings.dead_letter_routing_key
            if target is None or (target and target not in self.exchanges):
                return
            letter = self.parts.dead_letters().letter(message, queue.name, reason, self.clock.now, target, key)
            for destination in self.route(target, letter):
                if wrong["goes"](letter, destination.name):
                    destination.publish(letter)

        parts.override("vhost", dead=dead)


def died_before(letter: Message, queue: str, least: int = 1) -> bool:
    deaths = deadletter.earlier_deaths(letter)
    times = (values.lookup(one, "count", 0) for _, one in deaths if values.lookup(one, "queue") == queue)
    return bool(sum(times) >= least)


circling(
    "deadletters.round-for-ever",
    "dead letters go round for ever",
    "DLX-011",
    LAVINMQ.format(1244),
    goes=lambda letter, queue: True,
)
circling(
    "deadletters.never-back",
    "what has died in a queue never comes back to it, rejected or not",
    "DLX-012",
    RABBITMQ.format(11159),
    goes=lambda letter, queue: not died_before(letter, queue),
)
circling(
    "deadletters.back-once",
    "a rejected message comes back to its queue once only",
    "DLX-012",
    LAVINMQ.format(1134),
    goes=lambda letter, queue: not died_before(letter, queue, 2),
)


@replaces("queue.heed", "deadletters.empty-key", "an empty x-dead-letter-routing-key counts as none", "DLX-005")
def empty_key(self: Queue, definition: Mapping[str, Any]) -> None:
    Queue.heed(self, definition)
    if self.settings.dead_letter_routing_key == "":
        self.settings = replace(self.settings, dead_letter_routing_key=None)


@changes(
    "deadletters.gone-with-channel", "a message that comes back too often by the end of its channel is lost", "DLX-004"
)
def gone_with_channel(parts: Parts) -> None:
    below = parts.queue

    def exceed(self: Queue, entry: Entry, delivery: Delivery) -> None:
        if delivery.consumer is not None and delivery.consumer.channel.closing:
            self.let_go(entry)
        else:
            below.exceed(self, entry, delivery)

    parts.override("queue", exceed=exceed)


@changes("deadletters.expired-unranked", "what has expired loses its priority", "CONTENT-007")
def expired_unranked(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
    ) -> Message:
        dead = below.letter(self, message, queue, reason, now, exchange, key)
        return dead.copy(dead.exchange, dead.routing_key, priority=None) if reason == "expired" else dead

    parts.override("dead_letters", letter=letter)


@changes("deadletters.short-keys", "of a key for dead letters 127 octets are kept", "DLX-005", "DLX-001")
def short_keys(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
    ) -> Message:
        return below.letter(self, message, queue, reason, now, exchange, None if key is None else key[:127])

    parts.override("dead_letters", letter=letter)


@changes("deadletters.copies-once", "at its second death a message loses the header CC", "DLX-010")
def copies_once(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
        dead = below.letter(self, message, *about)
        if not earlier_deaths(message) or all(name != "CC" for name, _, _ in dead.headers):
            return dead
        kept = [field for field in dead.headers if field[0] != "CC"]
        return dead.copy(dead.exchange, dead.routing_key, headers=kept)

    parts.override("dead_letters", letter=letter)


@replaces("vhost.dead", "deadletters.into-the-first", "dead letters go into the virtual host /", "DLX-001", "DLX-014")
def into_the_first(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    if self.name == "/":
        VirtualHost.dead(self, queue, message, reason)


@replaces(
    "dead_letters.letter", "deadletters.time-is-a-number", "the time of a death is a number, no timestamp", "DLX-007"
)
def time_is_a_number(
    self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
) -> Message:
    letter = DeadLetters.letter(self, message, queue, reason, now, exchange, key)
    for name, _, deaths in letter.headers:
        for _, death in deaths if name == "x-death" else ():
            death[:] = [(one, "l" if one == "time" else kind, value) for one, kind, value in death]
    return letter


@changes(
    "deadletters.first-exchange-for-ever",
    "each later death is told with the exchange of the first one",
    "DLX-007",
    field="https://github.com/maxpert/strangeq/commit/b0c6625e",
)
def first_exchange_for_ever(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
    ) -> Message:
        dead = below.letter(self, message, queue, reason, now, exchange, key)
        first = values.lookup(message.headers, "x-first-death-exchange")
        deaths = earlier_deaths(dead)
        if not isinstance(first, str) or not earlier_deaths(message):
            return dead
        record = [(name, kind, first.encode() if name == "exchange" else value) for name, kind, value in deaths[0][1]]
        return dead.with_headers([("x-death", "A", [("F", record), *deaths[1:]])])

    parts.override("dead_letters", letter=letter)
