"""What applications do with a broker, in small: ten ways to use queues and exchanges, played with pika.

Each declares what it needs (`declare`), and then works (`work`), on connections of its own. So a capture may begin
before the declarations or after them. Names are fixed; whoever plays one gives it a broker of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import UnroutableError

MESSAGES = 30
IDLE = 0.3
"""Seconds after which a worker takes its queue for empty."""
Step = Callable[[BlockingChannel], None]


@dataclass(frozen=True)
class Application:
    """One way to use a broker; `says`: what it does, in words."""

    name: str
    says: str
    declare: Step
    work: Sequence[Step]
    """One connection each, one after the other."""


def play(step: Step, port: int) -> None:
    """On a connection of its own."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        step(connection.channel())


def _declared(kind: str, bindings: Mapping[str, Sequence[str]], **arguments: object) -> Step:
    """An exchange of this type, and queues with their keys."""

    def declare(channel: BlockingChannel) -> None:
        channel.exchange_declare(kind, kind, durable=True, arguments=dict(arguments))
        for queue, keys in bindings.items():
            channel.queue_declare(queue, durable=True)
            for key in keys:
                channel.queue_bind(queue, kind, key)

    return declare


def _publishes(exchange: str, *keys: str, mandatory: bool = False) -> Step:
    """With confirms, the keys in turn."""

    def work(channel: BlockingChannel) -> None:
        channel.confirm_delivery()
        for number in range(MESSAGES):
            _publish(channel, exchange, keys[number % len(keys)], f"{number}", mandatory=mandatory)

    return work


def _publish(channel: BlockingChannel, exchange: str, key: str, name: str, *, mandatory: bool = False) -> None:
    properties = pika.BasicProperties(message_id=name, headers={"kind": key}, delivery_mode=2)
    try:
        channel.basic_publish(exchange, key, name.encode(), properties, mandatory=mandatory)
    except UnroutableError:
        return


def _consumes(*queues: str, refuses: int = 0) -> Step:
    """One queue after the other, until it is empty; every so many are refused, and every so many given back once."""

    def work(channel: BlockingChannel) -> None:
        channel.basic_qos(prefetch_count=5)
        for queue in queues:
            for seen, (method, _, _) in enumerate(channel.consume(queue, inactivity_timeout=IDLE), 1):
                if method is None:
                    break
                if refuses and not seen % refuses:
                    channel.basic_reject(method.delivery_tag, requeue=False)
                elif not seen % 7 and not method.redelivered:
                    channel.basic_nack(method.delivery_tag)
                else:
                    channel.basic_ack(method.delivery_tag)
            channel.cancel()
            while channel.basic_get(queue, auto_ack=True)[0] is not None:
                pass

    return work


def _work_queue(channel: BlockingChannel) -> None:
    channel.queue_declare("work", durable=True)


def _headers(channel: BlockingChannel) -> None:
    channel.exchange_declare("headers", "headers", durable=True)
    for queue in ("red", "blue"):
        channel.queue_declare(queue, durable=True)
        channel.queue_bind(queue, "headers", arguments={"x-match": "all", "kind": queue})


def _chain(channel: BlockingChannel) -> None:
    _declared("fanout", {"audit": [""], "copy": [""]})(channel)
    _declared("topic", {"orders": ["order.*"]})(channel)
    channel.exchange_bind("fanout", "topic", "#")


def _alternate(channel: BlockingChannel) -> None:
    channel.exchange_declare("parking", "fanout", durable=True)
    channel.queue_declare("parked", durable=True)
    channel.queue_bind("parked", "parking")
    _declared("direct", {"known": ["known"]}, **{"alternate-exchange": "parking"})(channel)


def _retry(channel: BlockingChannel) -> None:
    channel.exchange_declare("dead", "direct", durable=True)
    channel.queue_declare("retry", durable=True)
    channel.queue_bind("retry", "dead", "work")
    channel.queue_declare("work", durable=True, arguments={"x-dead-letter-exchange": "dead"})


def _calls(channel: BlockingChannel) -> None:
    channel.queue_declare("calls")
    channel.queue_declare("replies")


def _asks(channel: BlockingChannel) -> None:
    for number in range(MESSAGES):
        properties = pika.BasicProperties(reply_to="replies", correlation_id=f"{number}", message_id=f"q{number}")
        channel.basic_publish("", "calls", b"?", properties)


def _answers(channel: BlockingChannel) -> None:
    for method, properties, _ in channel.consume("calls", inactivity_timeout=IDLE):
        if method is None or properties is None:
            break
        reply = pika.BasicProperties(correlation_id=properties.correlation_id, message_id=f"a{method.delivery_tag}")
        channel.basic_publish("", properties.reply_to or "", b"!", reply)
        channel.basic_ack(method.delivery_tag)
    channel.cancel()


APPLICATIONS = (
    Application("work queue", "workers share one queue", _work_queue, (_publishes("", "work"), _consumes("work"))),
    Application(
        "calls", "requests, and answers in a queue for replies", _calls, (_asks, _answers, _consumes("replies"))
    ),
    Application(
        "broadcast",
        "a fanout exchange, three queues",
        _declared("fanout", {"a": [""], "b": [""], "c": [""]}),
        (_publishes("fanout", ""), _consumes("a", "b", "c")),
    ),
    Application(
        "by key",
        "a direct exchange, two queues, three keys",
        _declared("direct", {"all": ["info", "error"], "errors": ["error"]}),
        (_publishes("direct", "info", "error", "debug"), _consumes("all", "errors")),
    ),
    Application(
        "events",
        "a topic exchange with * and #",
        _declared("topic", {"all": ["#"], "eu": ["eu.*"], "errors": ["*.error"]}),
        (_publishes("topic", "eu.info", "us.error", "eu.app.error"), _consumes("all", "eu", "errors")),
    ),
    Application(
        "by headers",
        "a headers exchange",
        _headers,
        (_publishes("headers", "red", "blue", "green"), _consumes("red", "blue")),
    ),
    Application(
        "chain",
        "a topic exchange that leads to a fanout exchange",
        _chain,
        (_publishes("topic", "order.new", "user.new"), _consumes("orders", "audit", "copy")),
    ),
    Application(
        "parking",
        "an alternate exchange takes what has no way",
        _alternate,
        (_publishes("direct", "known", "unknown"), _consumes("known", "parked")),
    ),
    Application(
        "returns",
        "mandatory publishes, of which some come back",
        _declared("direct", {"known": ["known"]}),
        (_publishes("direct", "known", "unknown", mandatory=True), _consumes("known")),
    ),
    Application(
        "retry",
        "what is refused goes to another queue",
        _retry,
        (_publishes("", "work"), _consumes("work", refuses=4), _consumes("retry")),
    ),
)
