"""Direct reply-to, where no real broker is needed to see it."""

import codec
from codec import methods as m
from reference_broker.core.channels.replies import REPLY_TO


def ask(client, queue="q"):
    """A request, and the address to reply to that it carries."""
    client.send(codec.content(m.BasicPublish(1, 0, "", queue), b"?", reply_to=REPLY_TO))
    _, header, _ = client.send(m.BasicGet(1, 0, queue, True))
    return header.reply_to


def test_an_answer_reaches_the_channel_that_asked(client, connect):
    client.send(m.BasicConsume(1, 0, REPLY_TO, "answers", no_ack=True))
    address = ask(client)
    assert address.startswith(f"{REPLY_TO}.")
    other = connect().open()
    other.send(codec.content(m.BasicPublish(1, 0, "", address, True), b"!"))
    delivered, _, body = client.read()
    assert delivered == m.BasicDeliver(1, "answers", 2, False, "", address)
    assert body.payload == b"!"


def test_an_answer_to_nobody_is_returned(client, connect):
    client.send(m.BasicConsume(1, 0, REPLY_TO, "answers", no_ack=True))
    address = ask(client)
    client.send(m.ChannelClose(1, 200))
    returned, *_ = connect().open().send(codec.content(m.BasicPublish(1, 0, "", address, True), b"!"))
    assert isinstance(returned, m.BasicReturn)


def test_a_cancelled_address_is_gone(client, core):
    client.send(m.BasicConsume(1, 0, REPLY_TO, "answers", no_ack=True))
    assert client.send(m.BasicCancel(1, "answers")) == [m.BasicCancelOk(1, "answers")]
    assert not core.vhost.replies


def test_an_address_is_a_queue_that_is_there_as_long_as_its_channel(client, connect):
    client.send(m.BasicConsume(1, 0, REPLY_TO, "answers", no_ack=True))
    address, other = ask(client), connect().open()
    assert other.send(m.QueueDeclare(1, 0, address, passive=True)) == [m.QueueDeclareOk(1, address, 0, 1)]
    client.send(m.ChannelClose(1, 200))
    (close,) = other.send(m.QueueDeclare(1, 0, address, passive=True))
    assert close.reply_code == 404
