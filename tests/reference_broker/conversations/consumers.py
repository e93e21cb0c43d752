"""Conversations about consumers: who may read beside whom, whose turn it is, and addresses for replies.

Which consumer is served next is open where several have room. So either one consumer alone may be served, or it is
awaited what one message does before the next is sent.
"""

from __future__ import annotations

from codec import methods as m
from tests.reference_broker.conversations.words import REPLY_TO, Await, Q, bind, consume, gets, put, queue

CONSUMERS = {
    "exclusive consumer": [queue(), consume("a", exclusive=True), consume("b")],
    "exclusive beside another": [queue(), consume("a"), consume("b", exclusive=True)],
    "exclusive again": [queue(), consume("a", exclusive=True), m.BasicCancel(1, "a"), consume("b", exclusive=True)],
    "no-local": [queue(), consume(no_local=True, no_ack=True), put("1"), Await(m.BasicDeliver)],
    "consumer priority as text": [queue(), m.BasicConsume(1, 0, Q, "c", arguments=[("x-priority", "S", b"5")])],
    "consumer priorities": [
        queue(),
        consume("low", priority=-1),
        consume("high", priority=5),
        m.BasicQos(1, 0, 0),
        put("1"),
        Await(m.BasicDeliver),
        put("2"),
        Await(m.BasicDeliver, 2),
    ],
    "single active consumer": [
        queue(x={"single_active_consumer": True}),
        consume("a", no_ack=True),
        consume("b", no_ack=True),
        put("1"),
        Await(m.BasicDeliver),
        put("2"),
        Await(m.BasicDeliver, 2),
        m.BasicCancel(1, "a"),
        put("3"),
        Await(m.BasicDeliver, 3),
    ],
    "exclusive on a single active one": [
        queue(x={"single_active_consumer": True}),
        consume("a"),
        consume("b", exclusive=True),
    ],
    "cancelled by a deletion": [queue(), consume(), m.QueueDelete(1, 0, Q), Await(m.BasicCancel)],
    "prefetch": [
        queue(),
        m.BasicQos(1, 0, 1),
        consume(),
        put(*"12"),
        Await(m.BasicDeliver),
        m.BasicAck(1, 1),
        Await(m.BasicDeliver, 2),
    ],
    "reply-to with acks": [consume(name=REPLY_TO)],
    "reply-to twice": [consume("a", REPLY_TO, no_ack=True), consume("b", REPLY_TO, no_ack=True)],
    "reply-to, tag taken": [queue(), consume("a"), consume("a", REPLY_TO, no_ack=True)],
    "reply-to, tag taken afterwards": [queue(), consume("a", REPLY_TO, no_ack=True), consume("a")],
    "reply-to, passive": [m.QueueDeclare(1, 0, REPLY_TO, passive=True)],
    "reply-to without a consumer": [queue(), put("1", reply_to=REPLY_TO)],
    "reply-to, get": [gets(1, REPLY_TO)],
    "reply-to, declared": [m.QueueDeclare(1, 0, REPLY_TO)],
    "reply-to, purged": [consume("a", REPLY_TO, no_ack=True), m.QueuePurge(1, 0, REPLY_TO)],
    "reply-to, deleted": [consume("a", REPLY_TO, no_ack=True), m.QueueDelete(1, 0, REPLY_TO)],
    "reply-to, bound": [bind("k", REPLY_TO, to="amq.direct")],
    "reply-to, cancelled": [
        consume("a", REPLY_TO, no_ack=True),
        m.BasicCancel(1, "a"),
        consume("b", REPLY_TO, no_ack=True),
    ],
    "reply to nobody": [put("1", key=f"{REPLY_TO}.nobody", mandatory=True)],
    "cancel twice": [queue(), consume(), m.BasicCancel(1, "c"), m.BasicCancel(1, "c")],
}
