"""Each kind of trigger holds when it should, in a broker that is spoken to; and is drawn only where it can hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

import codec
from codec import methods as m
from reference_broker.core.broker import Broker
from reference_broker.core.queues.queue import Queue
from tests.reference_broker.conftest import Client
from tests.tools.mutation.conftest import place
from tools.mutation.install import installed
from tools.mutation.subjects import KINDS, MEASURES, TWICE, Subjects
from tools.mutation.triggers import ALWAYS, TRIGGERS, WRITE, Trigger, drawn

NEXT_TAG = "channel.Channel.next_tag", "constant"
PUSH = "queue.Queue.publish", "dropped", "self.ready.push("
HELD = "channel.Channel.hold", "dropped", "timeouts"
"""Places: the next tag, a message that comes into a queue, a delivery that is held."""


def fired(trigger: Trigger, where: Sequence[str], *steps: Callable[[], object]) -> list[int]:
    """How often it has fired after each step."""
    with installed(place(*where), trigger) as live:
        return [(step(), live.fired)[1] for step in steps]


def put(client: Client, body: str = "x", queue: str = "q", **how: object) -> Callable[[], object]:
    return lambda: client.publish(body, queue=queue, **how)


def say(client: Client, *items: object) -> Callable[[], object]:
    return lambda: client.send(*items)


def test_always() -> None:
    client = spoken_to()
    assert fired(ALWAYS, PUSH, put(client), put(client)) == [1, 2]


@pytest.mark.parametrize(("kind", "seen"), [("from", [0, 1, 2, 3]), ("every", [0, 1, 1, 2])])
def test_from_the_kth_on_and_every_kth(kind: str, seen: list[int]) -> None:
    client = spoken_to()
    assert fired(Trigger(kind, k=2), PUSH, *[put(client)] * 4) == seen


def test_only_the_second_time_on_each_queue() -> None:
    client = spoken_to("r")
    steps = [put(client), put(client, queue="r"), put(client), put(client), put(client, queue="r")]
    assert fired(Trigger("second", "queue", "queue"), PUSH, *steps) == [0, 0, 1, 1, 2]


def test_only_the_second_time_on_each_channel() -> None:
    client = spoken_to().open(2)
    steps = [put(client), put(client, channel=2), put(client), put(client), put(client, channel=2)]
    assert fired(Trigger("second", "channel", "channel"), PUSH, *steps) == [0, 0, 1, 1, 2]


def test_only_the_second_time_for_each_consumer() -> None:
    client = spoken_to()
    client.consume(no_ack=True)
    trigger = Trigger("second", "consumer", "consumer")
    assert fired(trigger, NEXT_TAG, put(client), put(client), put(client)) == [0, 1, 1]


def test_only_for_the_second_consumer_under_a_tag() -> None:
    client = spoken_to()
    consume, cancel = m.BasicConsume(1, 0, "q", "c"), m.BasicCancel(1, "c")
    steps = [
        say(client, consume),
        put(client),
        say(client, cancel, consume),
        put(client),
        say(client, cancel, consume),
        put(client),
    ]
    assert fired(Trigger("second", "tag", "consumer"), NEXT_TAG, *steps) == [0, 0, 0, 1, 1, 1]


def test_only_on_the_second_channel_under_a_number() -> None:
    client = spoken_to()
    close, open_ = m.ChannelClose(1, 200), m.ChannelOpen(1)
    steps = [put(client), say(client, close, open_), put(client), say(client, close, open_), put(client)]
    assert fired(Trigger("second", "number", "channel"), PUSH, *steps) == [0, 0, 1, 1, 1]


def grown(measure: str, client: Client) -> tuple[Sequence[str], list[Callable[[], object]]]:
    """A place, and steps of which the first three see 1, 2 and 3 of what is measured there."""
    if measure in ("octets", "name"):
        names = ("r", "rr", "rrr")
        for name in names:
            client.queue(name)
        each = [put(client, "x" * size, queue=names[size - 1]) for size in (1, 2, 3)]
        return PUSH, each
    client.publish(*"123456")
    if measure == "window":
        ended = m.BasicCancel(1, "c")
        return NEXT_TAG, [say(client, m.BasicQos(1, 0, n), m.BasicConsume(1, 0, "q", "c"), ended) for n in (1, 2, 3)]
    if measure == "ready":
        return PUSH, [say(client, m.QueuePurge(1, 0, "q")), *[put(client)] * 3]
    return HELD, [client.get] * 3


@pytest.mark.parametrize("measure", MEASURES)
def test_only_from_a_size_on(measure: str) -> None:
    scope = next(one.scope for one in TRIGGERS["size"] if one.what == measure)
    at, beside = (Trigger("size", measure, scope, 2, beside) for beside in (0, 1))
    assert fired(at, *_unpacked(measure))[-3:].count(0) == 1 + (measure == "ready")
    assert fired(beside, *_unpacked(measure))[-3:].count(0) == 2 + (measure == "ready")


def _unpacked(measure: str) -> tuple[Sequence[str], Callable[[], object]]:
    where, steps = grown(measure, spoken_to())
    return where, *steps


def test_only_if_another_feature_was_used_before() -> None:
    client = spoken_to().open(2)
    trigger = Trigger("feature", "confirm", "channel")
    steps = [put(client), say(client, m.ConfirmSelect(1)), put(client), put(client, channel=2)]
    assert fired(trigger, PUSH, *steps) == [0, 0, 1, 1]


def test_what_is_being_done_is_not_its_own_past() -> None:
    client = spoken_to()
    client.publish("1", "2")
    assert fired(Trigger("feature", "get", "connection"), NEXT_TAG, client.get, client.get) == [0, 1]


FEATURES = {
    "qos": m.BasicQos(1, 0, 5),
    "confirm": m.ConfirmSelect(1),
    "tx": m.TxSelect(2),
    "get": m.BasicGet(1, 0, "q"),
    "nowait": m.QueueDeclare(1, 0, "q", no_wait=True),
    "recover": m.BasicRecover(1, True),
    "cancel": m.BasicCancel(1, "nobody"),
}


@pytest.mark.parametrize("feature", [one.what for one in TRIGGERS["feature"] if one.scope == "connection"])
def test_every_feature_can_be_used(feature: str) -> None:
    client = spoken_to().open(2)
    if feature == "reopen":
        use = say(client, m.ChannelClose(2, 200), m.ChannelOpen(2), m.BasicQos(2, 0, 0))
    elif feature in FEATURES:
        use = say(client, FEATURES[feature])
    else:
        argument = {"limit": {"x-max-length": 5}, "dead-letter exchange": {"x-dead-letter-exchange": ""}}[feature]
        use = lambda: client.queue("other", arguments=argument)  # noqa: E731
    assert fired(Trigger("feature", feature, "connection"), PUSH, put(client), use, put(client)) == [0, 0, 1]


def test_only_on_another_connection_than_the_first() -> None:
    first = spoken_to()
    second = Client(first.core).open()
    assert fired(Trigger("connection"), PUSH, put(first), put(second), put(first)) == [0, 1, 1]


def test_only_if_two_methods_came_in_one_write() -> None:
    client = spoken_to()
    one = codec.content(m.BasicPublish(1, 0, "", "q"), b"x")
    steps = [say(client, one), say(client, one, one), say(client, m.BasicQos(1, 0, 1), one), say(client, one)]
    assert fired(Trigger("write"), PUSH, *steps) == [0, 2, 3, 3]


def test_the_one_that_a_decision_concerns_is_the_nearest() -> None:
    """A publish on one connection is delivered on another: the tag is of the consumer's channel."""
    publisher = spoken_to()
    consumer = Client(publisher.core).open()
    used, put_one = say(consumer, m.ConfirmSelect(1), m.BasicConsume(1, 0, "q", "c")), put(publisher)
    assert fired(Trigger("feature", "confirm", "channel"), NEXT_TAG, used, put_one) == [0, 1]
    assert fired(Trigger("feature", "confirm", "channel"), PUSH, say(consumer, m.ConfirmSelect(1)), put_one) == [0, 0]


@pytest.mark.parametrize(
    "trigger",
    [
        Trigger("size", "ready", "queue", 2),
        Trigger("feature", "get", "queue"),
    ],
    ids=lambda trigger: trigger.kind,
)
def test_what_is_in_the_making_has_no_size_and_no_past(trigger: Trigger) -> None:
    client = spoken_to()
    where = "arguments.QueueArguments.length_limited", "comparison", "self.max_length is not None"
    with installed(place(*where), trigger) as live:
        assert isinstance(client.send(m.QueueDeclare(1, 0, "new"))[0], m.QueueDeclareOk)
    assert live.occasions > live.fired == 0


@pytest.mark.parametrize("kind", TRIGGERS)
def test_what_is_drawn_can_hold_there_and_is_the_same_each_time(kind: str) -> None:
    everything = frozenset({*KINDS, WRITE})
    many = [drawn(kind, random.Random(seed), everything) for seed in range(50)]
    assert many == [drawn(kind, random.Random(seed), everything) for seed in range(50)]
    assert all(one is not None and one.kind == kind and one.fits(everything) for one in many)
    few = drawn(kind, random.Random(0), frozenset())
    assert few is None or few.kind in ("from", "every")


def test_every_measure_and_subject_that_a_trigger_names_is_there() -> None:
    assert {one.what for one in TRIGGERS["size"]} == set(MEASURES)
    assert {one.scope for those in TRIGGERS.values() for one in those} <= {"", *KINDS}
    assert {one.k for one in TRIGGERS["every"]} == {2**n for n in range(1, 11)}


def spoken_to(*queues: str) -> Client:
    client = Client(Broker()).open()
    for queue in ("q", *queues):
        client.queue(queue)
    return client


def test_a_second_time_is_drawn_only_where_something_comes_twice() -> None:
    """A consumer is cancelled once; a tag or a number may be another's all the same."""
    once = frozenset({*KINDS, WRITE})
    assert {one.what for one in TRIGGERS["second"] if one.fits(once)} == {"tag", "number"}
    assert Trigger("second", "queue", "queue").fits(once | {f"queue{TWICE}"})
    client = spoken_to()
    (queue,) = client.core.vhosts["/"].queues.values()
    first, other = Subjects(queue=queue), Subjects(queue=Queue.__new__(Queue))
    assert (first.again([]), first.again([other]), first.again([other, first])) == (set(), set(), {f"queue{TWICE}"})
