"""AUTH: what a user may do, and what the broker must refuse it.

Which right a method takes is a table: a list of rights and names for each method. What is refused, and what is carried
out, are two questions about it at the moment when the client sends (`topology.preconditions`); what the user may do is
in `topology.rights`, and without a word about this user no rule speaks. A refusal is certain only where everything that
the method names is there, for the broker may look for that first.

The rules at the head of the table say why a right is missing; those of the single methods speak where no such reason is
known. So each refusal is for one rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.topology import Message
from conformance.oracle.topology.preconditions import ACCESS_REFUSED, Asked
from conformance.oracle.topology.rights import Granted, Right, agreed, every

DECLARE, DELETE, DEAD_LETTERS = "AUTH-001", "AUTH-002", "AUTH-003"
EXCHANGE, NO_EXCHANGE, ALTERNATE = "AUTH-004", "AUTH-005", "AUTH-006"
BIND, UNBIND, BETWEEN = "AUTH-007", "AUTH-008", "AUTH-009"
PUBLISH, GET, CONSUME, PURGE = "AUTH-010", "AUTH-011", "AUTH-012", "AUTH-013"
EMPTY, CHOSEN = "AUTH-015", "AUTH-017"
DEFAULT, PASSIVE, NO_RIGHT = "AUTH-018", "AUTH-019", "AUTH-020"
TOPIC_KEY, TOPIC_BINDING, MORE_KEYS = "AUTH-021", "AUTH-022", "AUTH-031"
ELSEWHERE, CHANGED = "AUTH-024", "AUTH-026"

Need = tuple[Right, str]
GENERATED = "amq.gen-"
SAMPLES = GENERATED, "amq.gen-0", "amq.gen-JzTY20BRgKO-HjmUJj0wLg"
"""Of names that the broker chooses only their beginning is known."""
DEFAULT_EXCHANGE = "amq.default"
DEAD_LETTER_EXCHANGE, ALTERNATE_EXCHANGE = "x-dead-letter-exchange", "alternate-exchange"
KINDS = frozenset({"direct", "fanout", "topic", "headers"})
COPIES = "CC", "BCC"
DECLARES = "queue.declare", "exchange.declare"
FAILED_UNBIND = (ACCESS_REFUSED,)
"""Where an unbinding fails, the text of the protocol wants the connection closed, and the guide the channel."""
ANYWHERE = (ACCESS_REFUSED,)
"""That a method is refused with this code some rules say, and not what that costs."""
BINDS = "queue.bind", "queue.unbind", "exchange.bind", "exchange.unbind"


# -- which rights a method takes


def end_of(asked: Asked, end: str) -> str:
    return str(asked.event.args.get(end) or "")


def _exchange(name: str | None) -> str:
    return name or DEFAULT_EXCHANGE


def _bound(asked: Asked) -> list[Need]:
    return [("write", asked.queue_name), ("read", _exchange(asked.event.exchange))]


def _between(asked: Asked) -> list[Need]:
    return [("write", _exchange(end_of(asked, "destination"))), ("read", _exchange(end_of(asked, "source")))]


def _read(asked: Asked) -> list[Need]:
    return [("read", asked.queue_name)]


NEEDS: Mapping[str, Callable[[Asked], list[Need]]] = {
    "queue.declare": lambda asked: [("configure", asked.event.queue or GENERATED)],
    "queue.delete": lambda asked: [("configure", asked.queue_name)],
    "exchange.declare": lambda asked: [("configure", asked.event.exchange or "")],
    "exchange.delete": lambda asked: [("configure", asked.event.exchange or "")],
    "queue.bind": _bound,
    "queue.unbind": _bound,
    "exchange.bind": _between,
    "exchange.unbind": _between,
    "basic.publish": lambda asked: [("write", _exchange(asked.event.exchange))],
    "basic.get": _read,
    "basic.consume": _read,
    "queue.purge": _read,
}


def needs_of(asked: Asked) -> list[Need]:
    """What it takes by itself. A passive declaration has rules of its own."""
    needs = NEEDS[asked.event.method](asked) if not asked.event.has("passive") else []
    return needs if all(name for _, name in needs) else []


def heirs_of(asked: Asked) -> list[Need]:
    """What it takes because the queue or exchange hands messages on to an exchange."""
    if asked.event.has("passive") or asked.event.method not in DECLARES:
        return []
    queue = asked.event.method == "queue.declare"
    name, key = (asked.event.queue or GENERATED, DEAD_LETTER_EXCHANGE) if queue else ("", ALTERNATE_EXCHANGE)
    heir = arguments_of(asked).get(key)
    return [("read", name or asked.event.exchange or ""), ("write", _exchange(heir))] if isinstance(heir, str) else []


def arguments_of(asked: Asked) -> Mapping[str, object]:
    return asked.event.args.get("arguments") or {}


# -- whether the user has them


def _may(state: Granted, right: Right, name: str) -> bool | None:
    names = SAMPLES if name == GENERATED else (name,)
    return agreed(state.may(right, one) for one in names)


def may_all(state: Granted, needs: Iterable[Need]) -> bool | None:
    """Has the user all of these rights?"""
    return every(_may(state, right, name) for right, name in needs)


def may(asked: Asked, needs: list[Need]) -> bool | None:
    """The same of all that it may be held to; True where nothing is known of it."""
    held = asked.held if asked.topology.rights.states and needs else ()
    return agreed(may_all(state, needs) for state in held) if held else True


def there(asked: Asked) -> bool:
    """Is everything there that it names, so that nothing but the right can be missing?"""
    event = asked.event
    if event.method == "exchange.declare":
        return event.args.get("type") in KINDS
    if event.method == "queue.declare":
        return True
    if event.method == "basic.publish":
        return not event.has("immediate") and (not event.exchange or asked.exchange_there() is True)
    if event.method == "basic.consume" and event.consumer_tag in asked.actor.consumers:
        return False
    queue = event.method.startswith("exchange.") or asked.queue_there() is True
    return queue and all(asked.exchange_there(name) for name in _exchanges(asked))


def _exchanges(asked: Asked) -> list[str]:
    if asked.event.method in ("exchange.bind", "exchange.unbind"):
        return [end_of(asked, "destination"), end_of(asked, "source")]
    return [asked.event.exchange] if asked.event.exchange else []


def new(asked: Asked) -> bool:
    """Is there certainly nothing of the name that is declared?"""
    queue = asked.event.method == "queue.declare"
    return (asked.queue_there() if queue else asked.exchange_there()) is False


# -- what is refused, and why


def _lacking(asked: Asked, needs: list[Need], certain: bool) -> bool | None:
    """Must it be refused for want of these?"""
    answer = may(asked, needs)
    if answer:
        return False
    return True if answer is False and certain else None


def _because(rule: str, what: str, reason: Callable[[Asked, list[Need]], bool]) -> None:
    """All methods are refused where a right is missing and this is the reason."""

    @refuses(rule, *NEEDS, code=ACCESS_REFUSED, hard=ANYWHERE, what=what)
    def made(asked: Asked) -> bool | None:
        if not asked.topology.rights.states:
            return False
        needs = needs_of(asked)
        lacking = _lacking(asked, needs, there(asked))
        return lacking if lacking and reason(asked, needs) else False


def _by_empty(asked: Asked, needs: list[Need]) -> bool:
    """Is an empty pattern what it fails by?"""
    return all(any(state.pattern(right) == "" for right, _ in needs) for state in asked.held)


def _once_had(asked: Asked, needs: list[Need]) -> bool:
    """Had the user the rights before it connected?"""
    former = before(asked)
    return former is not None and may_all(former, needs) is True


def before(asked: Asked) -> Granted | None:
    connection = asked.actor.connection
    return asked.topology.rights.before(connection.user, connection.vhost, connection.entered)


def _has_elsewhere(asked: Asked, needs: list[Need]) -> bool:
    """Has the user the rights in another virtual host?"""
    return any(may_all(state, needs) for state in elsewhere(asked))


def elsewhere(asked: Asked) -> list[Granted]:
    return asked.topology.rights.elsewhere(asked.actor.connection.user, asked.actor.connection.vhost)


_because(ELSEWHERE, "a method for which the user has the right in another virtual host only", _has_elsewhere)
_because(CHANGED, "a method for which the user had the right before it connected", _once_had)
_because(EMPTY, "a method for which the user has an empty pattern", _by_empty)


def _takes(
    rule: str,
    what: str,
    *methods: str,
    applies: Callable[[Asked], bool] = lambda asked: True,
    hard: tuple[int, ...] = (),
) -> None:
    """These methods are refused where a right is missing."""

    @refuses(rule, *methods, code=ACCESS_REFUSED, hard=hard, what=what)
    def made(asked: Asked) -> bool | None:
        if not asked.topology.rights.states or not applies(asked):
            return False
        return _lacking(asked, needs_of(asked), there(asked))


_takes(
    DECLARE, "a queue.declare without the right to configure it", "queue.declare", applies=lambda a: bool(a.event.queue)
)
_takes(CHOSEN, "a queue.declare without the right to configure names of the broker", "queue.declare")
_takes(DELETE, "a queue.delete without the right to configure the queue", "queue.delete")
_takes(EXCHANGE, "an exchange.declare without the right to configure it", "exchange.declare")
_takes(NO_EXCHANGE, "an exchange.delete without the right to configure it", "exchange.delete")
_takes(BIND, "a queue.bind without the right to write the queue and to read the exchange", "queue.bind")
_takes(
    UNBIND,
    "a queue.unbind without the right to write the queue and to read the exchange",
    "queue.unbind",
    hard=FAILED_UNBIND,
)
_takes(BETWEEN, "a binding of exchanges without the rights to write one and read the other", "exchange.bind")
_takes(
    BETWEEN,
    "an unbinding of exchanges without the rights to write one and read the other",
    "exchange.unbind",
    hard=FAILED_UNBIND,
)
_takes(
    PUBLISH,
    "a publish without the right to write the exchange",
    "basic.publish",
    applies=lambda a: bool(a.event.exchange),
)
_takes(
    DEFAULT,
    "a publish to the default exchange without the right to write amq.default",
    "basic.publish",
    hard=ANYWHERE,
)
_takes(GET, "a basic.get without the right to read the queue", "basic.get")
_takes(CONSUME, "a basic.consume without the right to read the queue", "basic.consume")
_takes(PURGE, "a queue.purge without the right to read the queue", "queue.purge")


@refuses(DEAD_LETTERS, "queue.declare", code=ACCESS_REFUSED, what="a dead-letter exchange that the user may not write")
def heir_of_queue(asked: Asked) -> bool | None:
    """Of a new queue; of one that is there, brokers need not ask again."""
    return _lacking(asked, heirs_of(asked), new(asked)) if asked.topology.rights.states else False


@refuses(ALTERNATE, "exchange.declare", code=ACCESS_REFUSED, what="an alternate exchange that the user may not write")
def heir_of_exchange(asked: Asked) -> bool | None:
    """Of a new exchange."""
    return _lacking(asked, heirs_of(asked), new(asked) and there(asked)) if asked.topology.rights.states else False


# -- topics


def topic_of(asked: Asked) -> tuple[str, str] | None:
    """The topic exchange with which it uses a routing key, and the key; None: it uses none, or none that we know."""
    event = asked.event
    name = end_of(asked, "source") if event.method in BINDS[2:] else event.exchange or ""
    exchange = asked.exchange(name)
    if exchange is None or exchange.kind != "topic":
        return None
    return name, asked.key


def _key_refused(asked: Asked, right: Right, certain: bool) -> bool | None:
    topic = topic_of(asked) if asked.topology.rights.states and asked.held else None
    if topic is None:
        return False
    answer = agreed(state.may_use(right, *topic) for state in asked.held)
    if answer and _copied(asked) and limits(asked, topic[0]):
        return False if more_keys(asked) and more_may_be_used(asked, topic[0]) else None
    if answer:
        return False
    return True if answer is False and certain and there(asked) else None


def _copied(asked: Asked) -> bool:
    """Has it further routing keys?"""
    return any(f'"{name}"' in asked.event.arguments for name in COPIES)


def more_keys(asked: Asked) -> list[str]:
    """Those in CC and BCC; empty as well where these are no lists of texts."""
    found = Message("", asked.event.arguments).headers if _copied(asked) else {}
    lists = [found[name] for name in COPIES if name in found]
    known = all(isinstance(one, list) and all(isinstance(key, str) for key in one) for one in lists)
    return [key for one in lists for key in one] if known else []


def more_may_be_used(asked: Asked, exchange: str) -> bool | None:
    """May the user publish to this topic exchange by all further keys?"""
    return agreed(every(state.may_use("write", exchange, key) for key in more_keys(asked)) for state in asked.held)


def limits(asked: Asked, exchange: str) -> bool:
    return any(state.narrows(exchange) for state in asked.held)


@refuses(TOPIC_KEY, "basic.publish", code=ACCESS_REFUSED, what="a publish with a routing key that the user may not use")
def key_of_publish(asked: Asked) -> bool | None:
    """Has the user rights of its own for this exchange, which the key does not fit?"""
    return _key_refused(asked, "write", certain=True)


@refuses(MORE_KEYS, "basic.publish", code=ACCESS_REFUSED, what="a publish with a key in CC or BCC that may not be used")
def key_of_copies(asked: Asked) -> bool | None:
    """May the user publish by the routing key, and not by all the others?"""
    topic, more = topic_of(asked), more_keys(asked) if asked.topology.rights.states and asked.held else []
    if topic is None or not more or not limits(asked, topic[0]):
        return False
    first = agreed(state.may_use("write", *topic) for state in asked.held)
    others = more_may_be_used(asked, topic[0])
    if others or first is False:
        return False
    return True if first and others is False and there(asked) else None


@refuses(TOPIC_BINDING, *BINDS, code=ACCESS_REFUSED, what="a binding by a routing key that the user may not use")
def key_of_binding(asked: Asked) -> bool | None:
    """Likewise; about the end of a binding the texts say nothing."""
    return _key_refused(asked, "read", certain=asked.event.method in ("queue.bind", "exchange.bind"))


# -- passive declarations


def _any_right(state: Granted, name: str) -> bool | None:
    found = [state.may(right, name) for right in ("configure", "write", "read")]
    return True if True in found else None if None in found else False


def _looks(asked: Asked) -> str:
    """The name that a passive declaration looks for."""
    name = asked.event.queue if asked.event.method == "queue.declare" else asked.event.exchange
    return (name or "") if asked.event.has("passive") else ""


def _found(asked: Asked) -> bool:
    return (asked.queue_there() if asked.event.method == "queue.declare" else asked.exchange_there()) is True


@refuses(NO_RIGHT, *DECLARES, code=ACCESS_REFUSED, what="a passive declaration without any right")
def no_right(asked: Asked) -> bool | None:
    """Has the user no right on it? Where the broker does not ask for one, or asks for more, nobody knows."""
    name = _looks(asked) if asked.topology.rights.states else ""
    if not name or not asked.held:
        return False
    answer = agreed(_any_right(state, name) for state in asked.held)
    if answer:
        return False
    asks = asked.profile.choices.get("rights_of_passive") == "any"
    return True if asks and answer is False and _found(asked) else None


@grants(PASSIVE, *DECLARES)
def looked_for(asked: Asked) -> bool:
    """It is there, and the user has at least one right on it, but not all."""
    name, known = _looks(asked), asked.event.args.get("type", "direct") in KINDS
    some = bool(name) and asked.limited and bool(asked.held)
    return some and known and _found(asked) and agreed(_any_right(state, name) for state in asked.held) is True
