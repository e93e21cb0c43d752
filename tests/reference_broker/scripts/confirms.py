"""Confirms and transactions."""

import codec
from codec import methods as m

FLOW = m.ChannelFlow(1, True)


def _content(body, queue="q", exchange="", mandatory=False, **properties):
    return codec.content(m.BasicPublish(1, 0, exchange, queue, mandatory), body.encode(), **properties)


def confirms_selected_twice(client):
    client.send(m.ConfirmSelect(1, True), FLOW)
    client.publish("1", "2")
    client.send(m.ConfirmSelect(1))
    client.publish("3")


def confirms_after_plain_publishes(client):
    client.publish("1")
    client.send(m.ConfirmSelect(1), _content("2"))
    client.publish("3")


def confirms_on_several_channels(client):
    client.open(2, 3)
    client.send(m.ConfirmSelect(1), m.ConfirmSelect(2))
    for channel in (1, 2, 3, 1):
        client.publish("m", channel=channel)


def confirms_and_transactions(client):
    client.send(m.ConfirmSelect(1), m.TxSelect(1))
    client.reopen()
    client.send(m.TxSelect(1), m.ConfirmSelect(1))


def confirms_of_all_sizes(client):
    client.send(m.ConfirmSelect(1))
    for body in ("", "x" * 300_000, "y"):
        client.publish(body)


def confirms_of_what_leaves(client):
    client.send(m.ConfirmSelect(1))
    client.send(_content("1"), m.QueuePurge(1, 0, "q"))


def confirms_beside_acknowledgements(client):
    client.publish("1", "2")
    client.gets(2)
    client.send(m.ConfirmSelect(1), _content("3"), _content("4"), m.BasicAck(1, 1))


def confirms_of_full_queues(client):
    client.queue("full", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    client.send(m.ConfirmSelect(1), m.QueueBind(1, 0, "full", "amq.fanout"), m.QueueBind(1, 0, "q", "amq.fanout"))
    client.publish(*"12345", queue="full")
    client.publish("6", exchange="amq.fanout")
    client.publish("7", queue="full", mandatory=True)
    client.drain("full")


def confirms_of_fanned_out(client):
    client.queue("other")
    client.send(m.ConfirmSelect(1), m.QueueBind(1, 0, "other", "amq.fanout"), m.QueueBind(1, 0, "q", "amq.fanout"))
    client.publish("1", exchange="amq.fanout")
    client.drain("other")
    client.drain()


def confirms_of_unroutable(client):
    client.send(m.ConfirmSelect(1))
    for mandatory in (False, True):
        client.publish("1", queue="nowhere", mandatory=mandatory)
        client.publish("2", mandatory=mandatory)


def confirms_of_failing_publishes(client):
    client.send(m.ConfirmSelect(1), _content("1", expiration="soon"))
    client.reopen()


def transaction_with_a_wrong_ack(client):
    client.send(m.TxSelect(1), m.BasicAck(1, 9), FLOW, m.TxCommit(1))
    client.reopen()


def transaction_rolled_back(client):
    client.publish("1", "2")
    client.send(m.TxSelect(1))
    client.gets(1)
    client.send(m.BasicAck(1, 1), m.TxRollback(1))
    client.get()
    client.send(m.BasicAck(1, 1), FLOW)
    client.reopen()


def transaction_with_publishes(client):
    client.send(m.TxSelect(1), _content("1"), _content("2", "nowhere", mandatory=True))
    client.drain()
    client.send(m.TxCommit(1))


def no_transaction(client):
    for method in (m.TxCommit(1), m.TxRollback(1)):
        client.send(method)
        client.reopen()


def crash_of_the_broker(client):
    client.queue("kept", durable=True)
    client.publish("1", "2", "3", "4", "5", queue="kept", delivery_mode=2)
    client.connection.lost()
    client.core.restart()
    after = type(client)(client.core).open()
    after.drain("kept")
    client.log += after.log
