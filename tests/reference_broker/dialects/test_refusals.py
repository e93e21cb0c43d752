"""What dialects do differently about refusals: which mistakes they answer with which code, and which they let pass.

Here are also the other answers that a series gives in a way of its own: the numbers of confirms, a commit that a full
queue refuses in part, and what is still there after a restart.
"""

from __future__ import annotations

import pytest

import codec
from codec import methods as m
from tests.reference_broker.dialects.speech import REAL
from tests.support.octets.frames import OCTETS

BEFORE_4_3 = REAL[:3]


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


@pytest.mark.parametrize(("dialect", "stays"), [(name, name == REAL[-1]) for name in ("documented", *REAL)])
def test_a_transient_exchange_and_a_restart(speaking, dialect, stays):
    client = speaking(dialect)
    client.send(m.ExchangeDeclare(1, 0, "x", "fanout"), m.ExchangeDeclare(1, 0, "y", "fanout", durable=True))
    vhost = client.connection.vhost
    client.core.restart()
    assert ("x" in vhost.exchanges) is stays
    assert "y" in vhost.exchanges


@pytest.mark.parametrize(("dialect", "expired"), [("rabbitmq-3.8", False), ("rabbitmq-3.10", True)])
def test_messages_expire_in_quorum_queues(speaking, dialect, expired):
    client = speaking(dialect)
    client.quorum("quorum")
    client.publish("a", queue="quorum", expiration="50")
    client.core.move_to(client.core.clock.now + 1.0)
    assert (client.get("quorum", no_ack=True) is None) is expired


@pytest.mark.parametrize(("dialect", "taken"), [("rabbitmq-3.8", False), ("rabbitmq-3.10", True)])
def test_a_time_to_live_is_an_argument_of_quorum_queues(speaking, dialect, taken):
    arguments = codec.values.table({"x-queue-type": "quorum", "x-message-ttl": 50})
    (answer,) = speaking(dialect).send(m.QueueDeclare(1, 0, "quorum", durable=True, arguments=arguments))
    assert isinstance(answer, m.QueueDeclareOk if taken else m.ChannelClose)
