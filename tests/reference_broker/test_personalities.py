"""Strangers: their truth is consistent, they are drawn alike, and every trait shows on the wire.

The scripts that let mutants show are played to traits, too; what only a login or many commands can show has a script of
its own here. Time is moved by hand.
"""

from __future__ import annotations

import asyncio
import re
from itertools import combinations

import pytest

import codec
from codec import methods as m
from codec import values
from conformance.catalogue import rules
from reference_broker import ReferenceBroker, personalities
from reference_broker.core.broker import Broker
from reference_broker.core.parts import Parts
from reference_broker.personalities import PERSONALITIES, TRAITS, UnknownPersonality, drawn, meet, personality
from reference_broker.personalities.kinds import Truth, fits, together
from reference_broker.server import Server

IDS = list(rules.CATALOGUE)
HARMLESS = {
    "unanswered.",
    "wedges.",
    "dies.",
    "slow.",
    "tune.",
    "login.",
    "refused.",
    "arguments.",
    "immediate.",
    "queues.",
    "poor.",
    "cut.",
    "muted.",
    "wire.",
    "unbound.",
}
"""Beginnings of the names of traits that may break nothing."""


@pytest.fixture
def stranger(client_of):
    """A broker with these traits, and what makes clients of it."""

    def make(*traits):
        parts = Parts()
        personalities.of("test", traits).apply(parts)
        return Broker(parts=parts), type(client_of())

    return make


# -- the truth


@pytest.mark.parametrize("name", TRAITS)
def test_the_truth_names_rules_that_exist(name):
    truth = TRAITS[name].truth
    for pattern in truth.breaks | truth.may | truth.hides:
        assert any(fits(rule, [pattern]) for rule in IDS), pattern
    assert all(rule in IDS for rule in truth.breaks), "what is broken is named one by one"
    assert not truth.breaks & truth.may


@pytest.mark.parametrize("name", TRAITS)
def test_a_trait_has_a_name_and_a_sentence_and_breaks_something_unless_its_kind_need_not(name):
    assert re.fullmatch(r"[a-z]+\.[a-z0-9.-]+", name)
    assert TRAITS[name].says[:1].islower()
    truth = TRAITS[name].truth
    assert truth.breaks or truth.may or any(name.startswith(kind) for kind in HARMLESS)


def test_what_one_breaks_and_another_hides_may_be_found():
    one, other = Truth(frozenset({"ACK-001", "RQ-011"})), Truth(hides=frozenset({"ACK-*"}))
    both = together([one, other])
    assert [both.of(rule) for rule in ("ACK-001", "ACK-002", "RQ-011", "QOS-001")] == [
        "may",
        "hides",
        "breaks",
        "keeps",
    ]


def test_what_a_trait_hides_itself_it_breaks_all_the_same():
    alone = together([Truth(frozenset({"CNF-004"}), hides=frozenset({"CNF-*"}))])
    assert (alone.of("CNF-004"), alone.of("CNF-005")) == ("breaks", "hides")


# -- who is put together


def test_there_are_many_and_no_two_are_the_same():
    assert len(PERSONALITIES) >= 30
    assert len({one.traits for one in PERSONALITIES.values()}) == len(PERSONALITIES)


def everybody():
    return [*PERSONALITIES.values(), *(drawn(seed) for seed in range(300))]


def test_traits_that_are_about_the_same_never_meet():
    for stranger in everybody():
        assert 3 <= len(stranger.traits) <= (14 if stranger.name in PERSONALITIES else 8)
        assert all(meet(one, other) for one, other in combinations(stranger.traits, 2)), stranger.name


def test_those_that_start_from_the_honest_part_are_applied_first():
    for stranger in everybody():
        order = [one.replaces for one in stranger.traits]
        assert order == sorted(order, reverse=True)


def test_each_name_says_the_traits_that_the_table_gives():
    for name, traits in personalities.NAMED.items():
        assert {one.name for one in PERSONALITIES[name].traits} == set(traits.split())


def test_the_same_seed_draws_the_same_and_others_draw_others():
    assert drawn(5) == drawn(5) == personality("5") == personality(5)
    assert len({drawn(seed).traits for seed in range(100)}) > 95


def test_in_time_every_trait_is_drawn():
    assert {one.name for seed in range(2000) for one in drawn(seed).traits} == set(TRAITS)


def test_some_of_those_drawn_break_down_and_most_do_not():
    frail = sum(drawn(seed).breaks_down for seed in range(400))
    assert 20 <= frail <= 120


def test_traits_can_be_put_together_by_name():
    one = personality("redelivered.always+tags.start-at-zero")
    assert [trait.name for trait in one.traits] == ["tags.start-at-zero", "redelivered.always"]


def test_an_unknown_name_is_told_with_its_neighbours():
    with pytest.raises(UnknownPersonality, match="'minimalst'; did you mean minimalist"):
        personality("minimalst")
    with pytest.raises(UnknownPersonality, match="seeds are numbers"):
        ReferenceBroker(personality="zzz")


# -- every trait shows


@pytest.mark.parametrize(
    "name", [name for name, one in TRAITS.items() if one.connections is None and name != "wire.trickles"]
)
def test_each_trait_shows_on_the_wire(scripts, stranger, name):
    """But for those that are about the listener, which a core has not, and about octets: see below."""
    played = [*scripts, *OWN]
    assert any(replies_to(script, *stranger(name)) != replies_to(script, *stranger()) for script in played)


def replies_to(script, broker, kind):
    """What the broker says to this script, and later."""
    client, drainer = kind(broker), kind(broker)
    try:
        client.open()
        client.queue()
        script(client)
        client.connection.lost()
        drainer.open().drain()
    except (ValueError, AttributeError, TypeError, StopIteration, IndexError):
        pass  # a script that reads answers is lost where there are none: what was said counts
    return [repr(frame) for frame in client.log + drainer.log]


def login(properties):
    def script(client):
        other = type(client)(client.core, log_in=False)
        other.send(codec.ProtocolHeader(), m.ConnectionStartOk(0, properties, "PLAIN", b"\0guest\0guest", "en_US"))
        client.log += other.log

    return script


def refused_arguments(client):
    client.queue("other", arguments={"x-max-length": 5})


def methods(client):
    client.send(m.ExchangeDeclare(1, 0, "e", "fanout"))
    client.send(m.ExchangeBind(1, 0, "e", "amq.fanout", "", False, []))
    client.send(m.QueueBind(1, 0, "q", "e"))
    client.send(m.QueuePurge(1, 0, "q"))
    client.send(m.ChannelFlow(1, True))


def recover_async(client):
    client.publish("1")
    client.get()
    client.send(m.BasicRecoverAsync(1, True))


def everything_in_transaction(client):
    client.send(m.TxSelect(1))
    client.send(m.BasicAck(1, 0, True))


def delete_with_consumer(client):
    client.consume()
    client.send(m.QueueDelete(1, 0, "q"))


def auto_delete(client):
    client.queue("passing", auto_delete=True)
    client.consume("c", "passing")
    client.send(m.BasicCancel(1, "c"))
    client.send(m.QueueDeclare(1, 0, "passing", passive=True))


def immediate(client):
    client.send(m.ConfirmSelect(1))
    client.send(codec.content(m.BasicPublish(1, 0, "", "q", False, True), b"now"))


def many(client):
    for _ in range(30):
        client.publish("x")
        client.get(no_ack=True)
    client.send(m.ConfirmSelect(1))
    client.publish(*"abcdef")


def returns(client):
    client.publish(*"abcdef")
    for _ in range(6):
        client.get()
    client.send(m.BasicNack(1, 0, True, True))
    client.gets(6)


def close_connection(client):
    client.send(m.ConnectionClose(0, 200, "", 0, 0))


def beats(client):
    client.connection.heartbeat = 10
    client.connection.beat()
    client.core.move_to(client.core.clock.now + 60)


def wears_out(client):
    for _ in range(1000):
        client.send(m.ChannelFlow(1, True))
    client.send(m.QueueDeclare(1, 0, "late"), m.ChannelOpen(2))
    other = type(client)(client.core)
    client.log += other.log


def many_queues(client):
    for number in range(50):
        client.send(m.QueueDeclare(1, 0, f"q{number}"))


def exchanges_that_are_not(client):
    client.send(m.ExchangeDeclare(1, 0, "nowhere", "fanout", True))


def lost_publishes(client):
    client.send(m.ConfirmSelect(1))
    client.send(codec.content(m.BasicPublish(1, 0, "nowhere", "q"), b"lost"))


def what_is_there(client):
    client.queue("q", durable=True, arguments={"x-max-length": 9})


def in_use(client):
    client.consume()
    client.send(m.QueueDelete(1, 0, "q", True))


def company(client):
    client.consume()
    client.send(m.BasicConsume(1, 0, "q", "alone", exclusive=True))


def counted(client):
    client.consume()
    client.send(m.QueueDeclare(1, 0, "q", passive=True))


def without_an_answer(client):
    client.send(m.QueueDeclare(1, 0, "quiet", no_wait=True))


def topics(client):
    client.send(m.ExchangeDeclare(1, 0, "t", "topic"), m.QueueBind(1, 0, "q", "t", "a.#"))
    client.send(m.QueueUnbind(1, 0, "q", "t", "a.#"))
    client.send(codec.content(m.BasicPublish(1, 0, "t", "a.b"), b"late"))
    client.get()


def headers(client):
    client.send(m.ExchangeDeclare(1, 0, "h", "headers"), m.QueueBind(1, 0, "q", "h"))


def of_others(client):
    client.queue("mine", exclusive=True)
    other = type(client)(client.core).open()
    other.send(m.QueuePurge(1, 0, "mine"))
    client.log += other.log


def a_wrong_login(client):
    other = type(client)(client.core, log_in=False)
    other.send(codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0wrong", "en_US"))
    other.send(m.ConnectionTuneOk(0, 0, 0, 0))
    client.log += [*other.log, other.connection.finished]


def on_the_way_in(client):
    slow = type(client)(client.core, log_in=False)
    other = type(client)(client.core, log_in=False)
    other.send(codec.ProtocolHeader())
    client.log += [*slow.log, *other.log]


def ways_to_declare(client):
    client.send(m.QueueDeclare(1, queue="own", exclusive=True))
    client.send(m.ChannelOpen(2))
    client.send(m.QueueDeclare(2))


def a_crowd(client):
    crowd = [type(client)(client.core).open() for _ in range(6)]
    client.log += crowd[-1].log


def from_two_queues(client):
    client.publish("1", queue=client.queue("other"))
    client.get()
    client.get("other")


OWN = [
    from_two_queues,
    exchanges_that_are_not,
    lost_publishes,
    what_is_there,
    in_use,
    company,
    counted,
    without_an_answer,
    topics,
    headers,
    of_others,
    a_wrong_login,
    on_the_way_in,
    ways_to_declare,
    a_crowd,
    login([]),
    login(values.table({"capabilities": {}})),
    login(values.table({"odd": 1})),
    refused_arguments,
    methods,
    recover_async,
    everything_in_transaction,
    delete_with_consumer,
    auto_delete,
    immediate,
    many,
    returns,
    close_connection,
    beats,
    wears_out,
    many_queues,
]


def test_a_slow_broker_says_everything_in_order_and_later(stranger):
    broker, kind = stranger("slow.deliveries")
    client = kind(broker).open()
    client.queue()
    client.consume()
    assert client.publish("1") == []
    assert client.send(m.ChannelFlow(1, True)) == [], "what is behind a late frame waits, too"
    broker.move_to(1.6)
    assert [type(frame).__name__ for frame in client.read()] == ["BasicDeliver", "Header", "Body", "ChannelFlowOk"]
    client.connection.lost()
    broker.move_to(9)


def test_a_broker_may_write_octet_by_octet(stranger):
    broker, kind = stranger("wire.trickles")
    client = kind(broker).open()
    client.feed(m.ChannelFlow(1, True).encode())
    pieces = []
    while piece := client.connection.take():
        pieces.append(piece)
    assert b"".join(pieces) == m.ChannelFlowOk(1, True).encode()
    assert {len(piece) for piece in pieces} == {1}


def test_a_broker_that_dies_listens_no_more():
    async def knock():
        server = Server(Broker(), "real", 2)
        port = await server.listen("127.0.0.1", 0)
        greeted = []
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(codec.ProtocolHeader().encode())
            greeted.append(await seen(reader))
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        await server.close()
        return greeted

    first, second = asyncio.run(knock())
    assert first
    assert not second


async def seen(reader):
    try:
        return await reader.read(8)
    except ConnectionError:
        return b""


def test_a_stranger_presents_itself_as_one_unless_asked_otherwise(client_of):
    for named, product in ((None, "Stranger"), ("Else", "Else")):
        with ReferenceBroker(personality="sieve", product=named) as broker:
            told = values.plain(broker._server.broker.server_properties)
        assert told["product"] == product
