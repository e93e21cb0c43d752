"""Wrong routes: exchanges that match too much or too little, or that do not lead on as they should."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from codec import methods as m
from codec import values
from codec.values import FieldTable
from reference_broker.core.channels import topology
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, words_of
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import handles, replaces

Matches = Callable[[Exchange, Binding, FieldTable, Message], bool]
Step = Callable[[Exchange, Message], Iterable[Destination]]


def rightly(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    """Does this one binding match, as the exchange's type has it?"""
    alone = type(exchange)(exchange.name)
    alone.bind(binding.destination, binding.key, arguments)
    return bool(list(alone.matches(message.routing_key, message.headers)))


def walk(host: VirtualHost, start: Exchange, message: Message, step: Step) -> list[Queue]:
    """Follows an exchange with another idea of what it leads to."""
    found: dict[Queue, None] = {}
    seen, todo = {start}, [start]
    while todo:
        for destination in step(todo.pop(), message):
            if isinstance(destination, Queue):
                found[destination] = None
            elif destination not in seen:
                seen.add(destination)
                todo.append(destination)
    return list(found)


def alternate_of(host: VirtualHost, exchange: Exchange) -> list[Destination]:
    found = host.exchanges.get(exchange.alternate)
    return [found] if found is not None else []


def honestly(exchange: Exchange, message: Message) -> list[Destination]:
    """What the exchange itself leads to."""
    return [hit for key in message.routing_keys() for hit in exchange.matches(key, message.headers)]


def matches(kind: str, name: str, says: str, *rules: str, field: str = "") -> Callable[[Matches], Matches]:
    """The decorated function says which bindings of exchanges of this type match."""

    def add(wrong: Matches) -> Matches:
        def step(exchange: Exchange, message: Message) -> list[Destination]:
            if kind != exchange.TYPE:
                return honestly(exchange, message)
            return [
                binding.destination
                for binding, arguments in exchange.bindings.items()
                if wrong(exchange, binding, arguments, message)
            ]

        def route(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
            return walk(self, start, message, lambda one, sent: step(one, sent) or alternate_of(self, one))

        replaces("vhost._walk", name, says, *rules, field=field)(route)
        return wrong

    return add


# -- direct and fanout


@matches("direct", "exchanges.keys-without-case", "a direct exchange compares keys without their case", "ROUTE-001")
def keys_without_case(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return binding.key.lower() == message.routing_key.lower()


@matches("direct", "exchanges.prefix-is-enough", "a direct exchange takes a key that begins alike", "ROUTE-001")
def prefix_is_enough(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return message.routing_key.startswith(binding.key)


@matches("direct", "exchanges.empty-key-is-nowhere", "a direct exchange does not route the empty key", "ROUTE-001")
def empty_key_is_nowhere(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return message.routing_key == binding.key != ""


@matches("direct", "exchanges.direct-to-one", "a direct exchange leads to the first queue of a key alone", "ROUTE-001")
def direct_to_one(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    alike = [one for one in exchange.bindings if one.key == message.routing_key]
    return alike[:1] == [binding]


@matches("fanout", "exchanges.fanout-compares-keys", "a fanout exchange compares keys", "ROUTE-002")
def fanout_compares_keys(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return binding.key in ("", message.routing_key)


@matches("fanout", "exchanges.fanout-to-one", "a fanout exchange leads to the queue that was bound first", "ROUTE-002")
def fanout_to_one(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return binding is next(iter(exchange.bindings))


# -- topic


def like(pattern: str, key: str, star: str, many: str) -> bool:
    """Compares by an expression in which a star and a hash stand for these."""
    words = [star if word == "*" else many if word == "#" else re.escape(word) for word in words_of(pattern)]
    return re.fullmatch(r"\.".join(words), key) is not None


@matches(
    "topic",
    "exchanges.topic-prefix",
    "a key without wildcards also matches keys with more words",
    "ROUTE-003",
)
def topic_prefix(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    plain = binding.key and not {"*", "#"} & set(words_of(binding.key))
    longer = bool(plain) and message.routing_key.startswith(f"{binding.key}.")
    return longer or rightly(exchange, binding, arguments, message)


@matches("topic", "exchanges.empty-words-dropped", "topic keys lose their empty words", "ROUTE-016")
def empty_words_dropped(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    alone = type(exchange)(exchange.name)
    alone.bind(binding.destination, binding.key, arguments)
    return bool(list(alone.matches(".".join(filter(None, message.routing_key.split("."))), message.headers)))


@matches(
    "topic",
    "exchanges.star-is-several",
    "a star matches several words as well",
    "ROUTE-004",
    field="https://github.com/cloudamqp/lavinmq/issues/1299",
)
def star_is_several(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    if "#" in words_of(binding.key):
        return rightly(exchange, binding, arguments, message)
    return like(binding.key, message.routing_key, ".+", "")


@matches("topic", "exchanges.star-may-be-missing", "a star at the end of a key also matches no word", "ROUTE-004")
def star_may_be_missing(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    short = binding.key.endswith(".*") and message.routing_key == binding.key[:-2]
    return short or rightly(exchange, binding, arguments, message)


@matches(
    "topic",
    "exchanges.hash-wants-a-word",
    "a hash matches one word at least",
    "ROUTE-005",
    field="https://github.com/cloudamqp/lavinmq/issues/1607",
)
def hash_wants_a_word(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    if "#" not in words_of(binding.key):
        return rightly(exchange, binding, arguments, message)
    return like(binding.key, message.routing_key, r"[^.]*", ".+")


@matches("topic", "exchanges.hash-at-the-end-alone", "a hash is a wildcard at the end of a key alone", "ROUTE-005")
def hash_at_the_end_alone(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    inner = words_of(binding.key)[:-1]
    return ("#" not in inner or message.routing_key == binding.key) and rightly(exchange, binding, arguments, message)


@matches(
    "topic",
    "exchanges.one-hash-alone",
    "a key with more than one hash matches nothing",
    "ROUTE-005",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/17039",
)
def one_hash_alone(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return words_of(binding.key).count("#") < 2 and rightly(exchange, binding, arguments, message)


@matches("topic", "exchanges.words-without-case", "a topic exchange compares words without their case", "ROUTE-003")
def words_without_case(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return like(binding.key.lower(), message.routing_key.lower(), r"[^.]*", r"(?:.*)") or rightly(
        exchange, binding, arguments, message
    )


# -- headers


def with_form(arguments: FieldTable, form: str) -> FieldTable:
    """The same binding with another x-match."""
    return [("x-match", "S", form.encode()), *(entry for entry in arguments if entry[0] != "x-match")]


def text_of(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def form_of(arguments: FieldTable) -> str:
    return str(values.lookup(arguments, "x-match", "all"))


@matches("headers", "exchanges.all-is-any", "x-match all is treated as any", "ROUTE-006")
def all_is_any(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return rightly(exchange, binding, with_form(arguments, form_of(arguments).replace("all", "any")), message)


@matches("headers", "exchanges.headers-as-text", "headers are compared as text, without their types", "ROUTE-006")
def headers_as_text(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    def plain(table: FieldTable) -> FieldTable:
        return [(name, *(("V", None) if letter == "V" else ("S", text_of(value)))) for name, letter, value in table]

    alone = type(exchange)(exchange.name)
    alone.bind(binding.destination, binding.key, plain(arguments))
    return bool(list(alone.matches(message.routing_key, plain(message.headers))))


@matches(
    "headers",
    "exchanges.headers-match-nothing",
    "a headers exchange matches nothing",
    "ROUTE-006",
    field="https://github.com/absmach/magistrala/issues/3451",
)
def headers_match_nothing(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return False


@matches("headers", "exchanges.no-value-compared", "a header without a value in a binding is compared", "ROUTE-006")
def no_value_compared(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    empty = {name for name, letter, _ in arguments if letter == "V"}
    told = {name: letter for name, letter, _ in message.headers}
    return all(told.get(name) == "V" for name in empty) and rightly(exchange, binding, arguments, message)


@matches("headers", "exchanges.any-is-all", "x-match any is treated as all", "ROUTE-007")
def any_is_all(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return rightly(exchange, binding, with_form(arguments, form_of(arguments).replace("any", "all")), message)


@matches("headers", "exchanges.any-by-name", "x-match any looks for the names of headers alone", "ROUTE-007")
def any_by_name(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    named = {name for name, _, _ in message.headers} & {name for name, _, _ in arguments if not name.startswith("x-")}
    return (form_of(arguments) == "any" and bool(named)) or rightly(exchange, binding, arguments, message)


@matches("headers", "exchanges.x-always-compared", "headers that begin with x- are always compared", "ROUTE-008")
def x_always_compared(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    form = form_of(arguments).removesuffix("-with-x") + "-with-x"
    return rightly(exchange, binding, with_form(arguments, form), message)


@matches("headers", "exchanges.x-never-compared", "headers that begin with x- are never compared", "ROUTE-017")
def x_never_compared(exchange: Exchange, binding: Binding, arguments: FieldTable, message: Message) -> bool:
    return rightly(exchange, binding, with_form(arguments, form_of(arguments).removesuffix("-with-x")), message)


# -- one copy, onward, circles


@replaces(
    "vhost.route",
    "exchanges.copy-for-each-binding",
    "a queue gets a copy for each binding that matches",
    "ROUTE-009",
    field="https://github.com/arempe93/bunny-mock/issues/43",
)
def copy_for_each_binding(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    honest = list(VirtualHost.route(self, exchange, message))
    if not exchange:
        return honest
    start = self.exchanges[exchange]
    hits = [
        binding.destination
        for binding, arguments in start.bindings.items()
        if rightly(start, binding, arguments, message)
    ]
    return honest + [one for one in honest if isinstance(one, Queue) for _ in range(hits.count(one) - 1)]


@replaces("vhost._walk", "exchanges.no-way-onward", "bindings between exchanges are not followed", "ROUTE-010")
def no_way_onward(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    def step(exchange: Exchange, sent: Message) -> list[Destination]:
        found = honestly(exchange, sent)
        return [one for one in found if isinstance(one, Queue)] if found else alternate_of(self, exchange)

    return walk(self, start, message, step)


@replaces("vhost._walk", "exchanges.onward-by-the-binding", "what goes on has the binding's key", "ROUTE-010")
def onward_by_the_binding(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    hits = honestly(start, message)
    if all(isinstance(hit, Queue) for hit in hits):
        return VirtualHost._walk(self, start, message)
    found = {hit: None for hit in hits if isinstance(hit, Queue)}
    for binding in start.bindings:
        if isinstance(binding.destination, Exchange) and binding.destination in hits:
            onward = binding.destination.matches(binding.key, message.headers)
            found |= {hit: None for hit in onward if isinstance(hit, Queue)}
    return list(found)


@replaces("vhost._walk", "exchanges.onward-to-all", "a second exchange leads to all its queues", "ROUTE-010")
def onward_to_all(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    def step(exchange: Exchange, sent: Message) -> list[Destination]:
        if exchange is not start:
            return [binding.destination for binding in exchange.bindings]
        return honestly(exchange, sent) or alternate_of(self, exchange)

    return walk(self, start, message, step)


def in_a_circle(host: VirtualHost, start: Exchange) -> bool:
    """Does any way lead back to the exchange where it begins?"""
    seen: set[Destination] = set()
    todo: list[Destination] = [start]
    while todo:
        one = todo.pop()
        for binding in one.bindings if isinstance(one, Exchange) else ():
            if binding.destination is start:
                return True
            if binding.destination not in seen:
                seen.add(binding.destination)
                todo.append(binding.destination)
    return False


@replaces("vhost.route", "exchanges.circles-twice", "a circle of exchanges is gone round twice", "ROUTE-011")
def circles_twice(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    found = list(VirtualHost.route(self, exchange, message))
    return found + found if exchange and in_a_circle(self, self.exchanges[exchange]) else found


@replaces("vhost._walk", "exchanges.circles-given-up", "what comes into a circle of exchanges is dropped", "ROUTE-011")
def circles_given_up(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    return [] if in_a_circle(self, start) else VirtualHost._walk(self, start, message)


# -- alternate exchanges


@replaces("vhost._walk", "exchanges.no-alternate", "alternate exchanges are not used", "ROUTE-012")
def no_alternate(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    return walk(self, start, message, honestly)


@replaces("vhost._walk", "exchanges.alternate-for-all", "an alternate exchange gets every message", "ROUTE-013")
def alternate_for_all(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    return walk(self, start, message, lambda one, sent: [*honestly(one, sent), *alternate_of(self, one)])


# -- bindings that go


@handles(m.QueueUnbind, "exchanges.unbind-does-nothing", "queue.unbind is answered and not done", "ROUTE-014")
def unbind_does_nothing(channel: Channel, method: m.QueueUnbind) -> None:
    channel.connection.send(m.QueueUnbindOk(channel.number))


@handles(m.QueueUnbind, "exchanges.unbind-removes-all", "queue.unbind removes all bindings of the queue", "ROUTE-014")
def unbind_removes_all(channel: Channel, method: m.QueueUnbind) -> None:
    queue = channel.vhost.queues.get(method.queue)
    if queue is not None:
        channel.vhost.unbind_all(queue)
    topology.queue_unbind(channel, method)


# -- whose queues


@replaces("vhost._walk", "exchanges.queue-of-that-name", "a queue of the key's name gets it as well", "ROUTE-015")
def queue_of_that_name(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = VirtualHost._walk(self, start, message)
    named = self.queues.get(message.routing_key)
    return found if named is None or named in found else [*found, named]


@replaces("vhost._walk", "exchanges.bindings-shared", "exchanges of one type share their bindings", "ROUTE-015")
def bindings_shared(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = VirtualHost._walk(self, start, message)
    for other in self.exchanges.values():
        if type(other) is type(start) and other is not start:
            found += [one for one in honestly(other, message) if isinstance(one, Queue) and one not in found]
    return found
