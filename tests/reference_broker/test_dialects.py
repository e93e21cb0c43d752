"""What the dialects do differently, besides what is returned to quorum queues: limits, errors, lost settlements."""

from __future__ import annotations

from inspect import isfunction

import pytest

import codec
from codec import methods as m
from codec import values
from conformance.catalogue import profiles
from reference_broker import ReferenceBroker, dialects
from reference_broker.dialects import BEHAVIOURS
from reference_broker.mutants import MUTANTS
from reference_broker.parts import Parts
from tests.support.octets.frames import OCTETS

REAL = ["rabbitmq-3.8", "rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3"]
BEFORE_4_3 = REAL[:3]


def bodies(frames):
    return [frame for frame in frames if isinstance(frame, m.BasicDeliver)]


def closes(frames):
    return [frame for frame in frames if isinstance(frame, m.ChannelClose | m.ConnectionClose)]


def classic(speaking, dialect, *messages):
    client = speaking(dialect)
    client.queue("cq")
    client.publish(*messages, queue="cq")
    return client


@pytest.mark.parametrize("name", dialects.DIALECTS)
def test_a_dialect_is_held_to_the_profile_of_its_name(name, speaking):
    properties = values.plain(speaking(name).core.server_properties)
    assert profiles.detect(properties).name == name


def test_an_unknown_dialect_is_refused_before_anything_starts():
    with pytest.raises(dialects.UnknownDialect, match=r"rabbitmq-4\.3"):
        ReferenceBroker(dialect="rabbitmq-5")


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_behaviour_is_one_of_some_series_and_says_what_it_is(name):
    behaviour = BEHAVIOURS[name]
    assert [one.name for one in dialects.DIALECTS.values() if behaviour in one.behaviours]
    assert behaviour not in dialects.DOCUMENTED.behaviours
    assert behaviour.says[:1].islower()
    assert behaviour.says[-1] != "."


def test_what_the_texts_say_is_the_core_as_it_is():
    assert dialects.DOCUMENTED.parts() == Parts()


def methods_of(other):
    return {name for name, one in vars(other).items() if isfunction(one)}


class Noted(Parts):
    """Parts that know which of their methods have been replaced, and what was below."""

    def extend(self, part, other):
        vars(self).setdefault("replaced", {}).update({(part, name): getattr(self, part) for name in methods_of(other)})
        super().extend(part, other)

    def override(self, part, **methods):
        vars(self).setdefault("replaced", {}).update({(part, name): getattr(self, part) for name in methods})
        super().override(part, **methods)


THE_DECISION_ITSELF = {
    "restarts.transient-exchanges-kept",
    "slots.slots-in-order",
    "timeouts.classic-too",
    "timeouts.from-the-consumer",
    "expiry.never-looks",
    "rights.looks-freely",
    "rights.copies-by-any-key",
    "deadletters.limit-rejects",
    "deadletters.copies-kept",
    "deadletters.copies-dropped",
}
"""Mutants that decide otherwise, whatever a dialect decides there: they call nothing below."""


@pytest.mark.parametrize("dialect", REAL)
def test_a_mutant_does_not_undo_a_dialect(dialect):
    """Where both replace a method, the mutant calls the one below, and not that of the core."""
    decided = Noted()
    dialects.dialect(dialect).apply(decided)
    met = set()
    for name, mutant in MUTANTS.items():
        parts = Noted()
        dialects.dialect(dialect).apply(parts)
        parts.replaced = {}
        mutant.apply(parts)
        for part, method in decided.replaced.keys() & parts.replaced.keys():
            met.add(name)
            cells = getattr(getattr(parts, part), method).__closure__ or ()
            builds_on = any(cell.cell_contents is parts.replaced[part, method] for cell in cells)
            assert builds_on or name in THE_DECISION_ITSELF, f"{name} undoes {part}.{method}"
    assert "settle.close-overtakes" in met


@pytest.mark.parametrize(
    ("dialect", "expected"), [("documented", 5), ("rabbitmq-3.8", 6), ("rabbitmq-4.0", 6), ("rabbitmq-4.3", 6)]
)
def test_the_order_of_the_two_limits(speaking, dialect, expected):
    """A channel's limit of 5, then 3 for each consumer: up to 4.2 the second call ends the first one's effect."""
    client = classic(speaking, dialect, *"abcdefgh")
    client.send(m.BasicQos(1, 0, 5, True), m.BasicQos(1, 0, 3, False))
    client.consume("c1", "cq")
    client.consume("c2", "cq")
    assert len(client.connection.channels[1].unacked) == expected


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 3), ("rabbitmq-4.0", 0), ("rabbitmq-4.3", 3)])
def test_gets_before_a_channels_limit(speaking, dialect, expected):
    client = classic(speaking, dialect, *"abcdefgh")
    client.gets(3, "cq")
    client.send(m.BasicQos(1, 0, 3, True))
    client.send(m.BasicAck(1, 0, True))
    assert len(client.consume("c", "cq")) == expected


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 4), ("rabbitmq-3.10", 0), ("rabbitmq-4.3", 4)])
def test_a_full_channel_and_automatic_deliveries(speaking, dialect, expected):
    client = classic(speaking, dialect, *"abcdef")
    client.send(m.BasicQos(1, 0, 2, True))
    client.consume("manual", "cq")
    assert len(client.consume("auto", "cq", no_ack=True)) == expected
    left = client.send(m.BasicAck(1, 1))
    assert len(bodies(left)) == (0 if expected else 1)


@pytest.mark.parametrize("dialect", ["documented", "rabbitmq-3.10"])
def test_automatic_deliveries_go_on_when_the_channel_has_room(speaking, dialect):
    client = classic(speaking, dialect, *"ab")
    client.send(m.BasicQos(1, 0, 2, True))
    client.consume("manual", "cq")
    client.consume("auto", "cq", no_ack=True)
    client.send(m.BasicAck(1, 0, True), m.BasicCancel(1, "manual"))
    client.publish(*"cdef", queue="cq")
    assert len(client.connection.channels[1].unacked) == 0
    assert client.core.vhost.queues["cq"].count() == 0


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 3), ("rabbitmq-3.8", 0), ("rabbitmq-4.3", 0)])
def test_a_tag_used_again_on_a_quorum_queue(speaking, dialect, expected):
    client = speaking(dialect)
    client.publish(*"abcdefgh")
    client.send(m.BasicQos(1, 0, 3, False))
    client.consume("c")
    client.send(m.BasicCancel(1, "c"))
    assert len(client.consume("c")) == expected
    assert len(bodies(client.send(m.BasicAck(1, 2, True)))) == (0 if expected else 2)


@pytest.mark.parametrize(("dialect", "number"), [("documented", 1), ("rabbitmq-3.8", 3), ("rabbitmq-3.10", 1)])
def test_mandatory_publishes_before_the_select(speaking, dialect, number):
    client = speaking(dialect)
    client.publish("a", "b", mandatory=True)
    client.publish("c")
    client.send(m.ConfirmSelect(1))
    assert [f.delivery_tag for f in client.publish("d")] == [number]


@pytest.mark.parametrize(
    ("dialect", "code", "offender"),
    [
        ("documented", 503, (60, 31)),
        *[(name, 503, (60, 31)) for name in BEFORE_4_3],
        ("rabbitmq-4.3", 541, (0, 0)),
    ],
)
def test_a_cancel_ok_nobody_asked_for(speaking, dialect, code, offender):
    (close,) = speaking(dialect).send(m.BasicCancelOk(1, "c"))
    assert isinstance(close, m.ConnectionClose)
    assert (close.reply_code, (close.class_id, close.method_id)) == (code, offender)


@pytest.mark.parametrize(("dialect", "code"), [("documented", None), ("rabbitmq-3.8", 541), ("rabbitmq-4.3", 541)])
def test_a_cancel_at_once_after_the_deletion_of_its_queue(speaking, dialect, code):
    client = speaking(dialect)
    client.consume("c")
    frames = client.send(m.QueueDelete(1, 0, "q"), m.BasicCancel(1, "c"))
    assert [close.reply_code for close in closes(frames)] == ([code] if code else [])


@pytest.mark.parametrize("dialect", REAL)
def test_a_cancel_a_little_later_is_fine(speaking, dialect):
    client = speaking(dialect)
    client.consume("c")
    client.send(m.QueueDelete(1, 0, "q"))
    assert [type(frame) for frame in client.send(m.BasicCancel(1, "c"))] == [m.BasicCancelOk]


@pytest.mark.parametrize(
    ("dialect", "kind"),
    [
        ("documented", m.ConnectionClose),
        ("rabbitmq-3.10", m.ConnectionClose),
        ("rabbitmq-4.0", m.ChannelClose),
        ("rabbitmq-4.3", m.ChannelClose),
    ],
)
def test_an_unknown_type_of_exchange(speaking, dialect, kind):
    (close,) = speaking(dialect).send(m.ExchangeDeclare(1, 0, "e", "odd"))
    assert isinstance(close, kind)
    assert close.reply_text.endswith("unknown exchange type 'odd'")


@pytest.mark.parametrize(("dialect", "refused"), [("rabbitmq-3.10", False), ("rabbitmq-4.0", True)])
def test_how_large_a_message_may_be(speaking, dialect, refused):
    client = speaking(dialect)
    header = b"\x02\x00\x01\x00\x00\x00\x0e\x00\x3c\x00\x00" + (2**24 + 1).to_bytes(8, "big") + b"\x00\x00\xce"
    frames = client.send(m.BasicPublish(1, 0, "", "q"), header)
    assert [frame.reply_code for frame in frames] == ([406] if refused else [])


# -- bodies that are longer than announced


@pytest.mark.parametrize(("dialect", "code"), [("documented", 501), ("rabbitmq-4.0", None), ("rabbitmq-4.3", 501)])
def test_a_body_that_is_longer_than_announced(speaking, dialect, code):
    client = speaking(dialect)
    said = client.send(OCTETS["FRAME-006"])
    assert [close.reply_code for close in said] == ([code] if code else [])
    if code is None:
        (close,) = client.send(m.ChannelFlow(1, True))
        assert close.reply_code == 505


# -- properties that cannot be read


@pytest.mark.parametrize(("dialect", "code"), [("documented", 501), ("rabbitmq-3.8", 541), ("rabbitmq-4.3", 541)])
def test_properties_that_cannot_be_read(speaking, dialect, code):
    (close,) = speaking(dialect).send(OCTETS["FRAME-015"])
    assert close.reply_code == code


@pytest.mark.parametrize(("dialect", "codes"), [("documented", []), ("rabbitmq-3.8", [541]), ("rabbitmq-4.3", [541])])
def test_floats_that_are_no_numbers(speaking, dialect, codes):
    header = codec.header(1, 0, headers=[("list", "A", [("F", [("x", "d", float("inf"))])])])
    said = speaking(dialect).send(m.BasicPublish(1, 0, "", "nowhere"), header)
    assert [close.reply_code for close in said] == codes


@pytest.mark.parametrize("dialect", ["documented", "rabbitmq-4.3"])
def test_a_weight(speaking, dialect):
    (close,) = speaking(dialect).send(OCTETS["FRAME-016"])
    assert close.reply_code == 501


# -- whose messages are back before the close-ok to an exception


@pytest.mark.parametrize(
    ("dialect", "soon"),
    [
        ("documented", {"live", "got", "quorum"}),
        ("rabbitmq-3.8", {"live", "got"}),
        ("rabbitmq-3.10", {"live"}),
        ("rabbitmq-4.3", {"live"}),
    ],
)
def test_after_an_exception(speaking, dialect, soon):
    client = speaking(dialect)
    client.queue("live")
    client.queue("got")
    for name in ("live", "got", "q"):
        client.publish("m", queue=name)
    client.consume("c", "live")
    client.consume("d", "q")
    client.get("got")
    queues = client.core.vhost.queues
    names = {"live": "live", "got": "got", "quorum": "q"}
    (close,) = client.send(m.BasicAck(1, 99))
    assert close.reply_code == 406
    assert {label for label, name in names.items() if queues[name].count()} == soon
    client.send(m.ChannelCloseOk(1))
    assert {label for label, name in names.items() if queues[name].count()} == set(names)


@pytest.mark.parametrize("dialect", ["documented", "rabbitmq-4.0"])
def test_a_peer_that_never_answers_an_exception_keeps_nothing_for_ever(speaking, dialect):
    client = speaking(dialect)
    client.publish("m")
    client.get()
    client.send(m.BasicAck(1, 99))
    client.connection.lost()
    assert client.core.vhost.queues["q"].count() == 1


# -- settlements held up behind the soft limit


@pytest.mark.parametrize("end", [m.ChannelClose(1), m.ConnectionClose(0), m.BasicAck(1, 999)])
@pytest.mark.parametrize(("dialect", "back"), [("documented", 0), *[(name, 67) for name in REAL]])
def test_settling_a_hundred_and_closing_in_one_write(speaking, dialect, back, end):
    client = speaking(dialect)
    client.publish(*["m"] * 100)
    client.gets(100)
    client.send(*[m.BasicAck(1, tag) for tag in range(1, 101)], end)
    client.send(m.ChannelCloseOk(1))
    assert client.core.vhost.queues["q"].count() == back


@pytest.mark.parametrize("how", ["few", "multiple", "answered", "classic", "transaction"])
def test_what_is_never_lost(speaking, how):
    client = speaking("rabbitmq-4.3")
    client.queue("cq")
    name, count = "cq" if how == "classic" else "q", 33 if how == "few" else 100
    client.publish(*["m"] * count, queue=name)
    client.gets(count, name)
    acks = [m.BasicAck(1, tag) for tag in range(1, count + 1)]
    if how == "multiple":
        acks = [m.BasicAck(1, 0, True)]
    if how == "transaction":
        acks = [m.TxSelect(1), *acks, m.TxCommit(1)]
    if how == "answered":
        client.send(*acks)
        acks = []
    client.send(*acks, m.ChannelClose(1))
    assert client.core.vhost.queues[name].count() == 0


def test_a_tag_that_is_held_up_is_settled_all_the_same(speaking):
    client = speaking("rabbitmq-4.0")
    client.publish(*["m"] * 100)
    client.gets(100)
    acks = [m.BasicAck(1, tag) for tag in range(1, 101)]
    (close,) = closes(client.send(*acks, m.BasicAck(1, 100)))
    assert close.reply_text == "PRECONDITION_FAILED - unknown delivery tag 100"


# -- what settling a stale tag does, once its delivery has timed out


def timed_out(speaking, dialect):
    client = speaking(dialect)
    client.publish("a")
    client.send(m.BasicQos(1, 0, 1, False))
    client.consume("c", arguments=values.table({"x-consumer-timeout": 1000}))
    client.core.move_to(2.0)
    client.read()
    client.gets(1, no_ack=True)
    return client


@pytest.mark.parametrize(
    ("dialect", "settle", "served"),
    [
        ("documented", m.BasicNack(1, 1, False, True), 1),
        ("rabbitmq-4.3", m.BasicNack(1, 1, False, True), 0),
        ("rabbitmq-4.3", m.BasicReject(1, 1, True), 1),
        ("rabbitmq-4.3", m.BasicAck(1, 1), 1),
    ],
)
def test_what_revives_a_consumer(speaking, dialect, settle, served):
    client = timed_out(speaking, dialect)
    client.send(settle)
    assert len(bodies(client.publish("b"))) == served


@pytest.mark.parametrize(("dialect", "left"), [("documented", 1), ("rabbitmq-4.3", 0)])
def test_a_stale_ack_and_the_next_consumer_of_the_tag(speaking, dialect, left):
    client = timed_out(speaking, dialect)
    client.send(m.BasicCancel(1, "c"))
    client.publish("b")
    assert [body for _, body, _ in client.consume("c")] == ["b"]
    client.send(m.BasicAck(1, 1))
    client.send(m.ChannelClose(1))
    assert client.core.vhost.queues["q"].count() == left


@pytest.mark.parametrize(
    ("dialect", "settle", "back"),
    [
        ("rabbitmq-3.8", m.BasicAck(1, 1), ["2"]),
        ("documented", m.BasicAck(1, 1), ["2"]),
        ("rabbitmq-3.10", m.BasicAck(1, 1), []),
        ("rabbitmq-4.3", m.BasicNack(1, 1, False, True), ["2"]),
    ],
)
def test_a_namesake_takes_settlements(speaking, dialect, settle, back):
    """Tag 1 is from a queue that was deleted, tag 2 from the next one of that name: does settling 1 touch 2?"""
    client = classic(speaking, dialect, "1")
    client.get("cq")
    client.send(m.QueueDelete(1, 0, "cq"))
    client.queue("cq")
    client.publish("2", queue="cq")
    client.get("cq")
    client.send(settle)
    early = [body for body, _ in client.drain("cq")]
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    assert early == (back if isinstance(settle, m.BasicNack) else [])
    assert [body for body, _ in client.drain("cq")] == ([] if early else back)


@pytest.mark.parametrize("dialect", ["documented", *REAL])
def test_a_commit_of_which_a_full_queue_refuses_a_part(speaking, dialect):
    client = speaking(dialect)
    client.queue("full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    client.queue("other")
    client.send(m.TxSelect(1))
    client.publish("1", "2", queue="full")
    client.publish("3", queue="other")
    answer = client.send(m.TxCommit(1))
    if dialect == "documented":
        assert answer == [m.TxCommitOk(1)]
    else:
        assert answer == [m.ChannelClose(1, 406, "PRECONDITION_FAILED - partial tx completion", 90, 20)]
        client.reopen()
    assert [body for body, _ in client.drain("full") + client.drain("other")] == ["1", "3"]


@pytest.mark.parametrize(("dialect", "late"), [("rabbitmq-3.8", True), ("rabbitmq-3.10", False), ("documented", False)])
@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_deliveries_on_their_way_when_their_consumer_is_cancelled(speaking, dialect, kind, late):
    client = speaking(dialect)
    client.queue("x", durable=True, arguments={"x-queue-type": kind})
    client.consume("c", "x")
    publish = codec.content(m.BasicPublish(1, 0, "", "x"), b"1")
    methods = [type(one) for one in client.send(publish, m.BasicCancel(1, "c")) if isinstance(one, codec.Method)]
    expected = [m.BasicDeliver, m.BasicCancelOk]
    assert methods == (expected[::-1] if late and kind == "quorum" else expected)


@pytest.mark.parametrize(("dialect", "heeded"), [("rabbitmq-3.10", False), ("rabbitmq-4.0", True)])
def test_the_timeout_of_a_queue_where_channels_watch(speaking, dialect, heeded):
    client = speaking(dialect)
    client.queue("x", arguments={"x-consumer-timeout": 500})
    client.publish("1", queue="x")
    client.get("x")
    client.core.move_to(client.core.clock.now + 61)
    assert bool(closes(client.read())) is heeded


@pytest.mark.parametrize(("dialect", "expected"), [("documented", 0), *((name, 1) for name in REAL)])
def test_what_an_earlier_consumer_of_the_tag_had(speaking, dialect, expected):
    """Its acknowledgement frees a slot of the one that has the tag now."""
    client = classic(speaking, dialect, *"abcd")
    client.send(m.BasicQos(1, 0, 1, False))
    client.consume("c", "cq")
    client.send(m.BasicCancel(1, "c"))
    assert len(client.consume("c", "cq")) == 1
    assert len(bodies(client.send(m.BasicAck(1, 1)))) == expected
    assert len(bodies(client.send(m.BasicAck(1, 2)))) == 1


@pytest.mark.parametrize(("dialect", "stays"), [(name, name == REAL[-1]) for name in ("documented", *REAL)])
def test_a_transient_exchange_and_a_restart(speaking, dialect, stays):
    client = speaking(dialect)
    client.send(m.ExchangeDeclare(1, 0, "x", "fanout"), m.ExchangeDeclare(1, 0, "y", "fanout", durable=True))
    vhost = client.connection.vhost
    client.core.restart()
    assert ("x" in vhost.exchanges) is stays
    assert "y" in vhost.exchanges
