"""Conversations about what carries all others: connections, channels and frames; and what Java's client has shown.

`FROM_JAVA` has what the tests of RabbitMQ's client for Java do and no other conversation did: frames of the wrong kind
or class, line breaks in names, and messages that expire when they come back.
"""

from __future__ import annotations

import codec
from codec import methods as m
from codec import values
from tests.reference_broker.conversations.words import Await, Q, R, X, bind, consume, exchange, gets, put, queue

CONNECTIONS = {
    "a ticket": [m.AccessRequest(1, "/data")],
    "a channel far out": [m.ChannelOpen(2000), m.ChannelClose(2000, 200), Await(m.ChannelCloseOk)],
    "a secret": [m.ConnectionUpdateSecret(0, b"guest", "test")],
    "qos of everybody": [m.BasicQos(1, 0, 5, True)],
    "recover": [m.BasicRecover(1, True)],
    "recover without an answer": [m.BasicRecoverAsync(1, True)],
    "open again": [m.ConnectionOpen(0, "/")],
    "an oversized name": [codec.content(m.BasicPublish(1, 0, "", "k" * 255, True), b"")],
    "confirm, then a commit": [m.ConfirmSelect(1), m.TxCommit(1)],
}

METHOD, HEADER = m.BasicPublish(1, 0, "", Q).encode(), codec.header(1, 1).encode()
"""A header frame of class 60 has its class in octets 7 and 8."""
FROM_JAVA = {
    "line breaks in a queue's name": [queue(f"{Q}\r\n"), queue(Q, passive=True), m.QueueDelete(1, 0, f"\n{Q}")],
    "line breaks in an exchange's name": [exchange(f"{X}\n\r"), exchange(X, passive=True), queue(), bind(to=f"{X}\n")],
    "line breaks in names that are bound": [queue(), exchange(), bind(name=f"{Q}\n"), put("1", to=X, key="k"), gets()],
    "a header in place of a method": [b"\x02" + METHOD[1:]],
    "a header of another class": [METHOD + HEADER[:7] + b"\x0c\x22" + HEADER[9:]],
    "a method in place of a header": [METHOD + METHOD],
    "requeued when its time is over": [
        queue(x={"message_ttl": 0}),
        consume(),
        put("1"),
        Await(m.BasicDeliver),
        m.BasicReject(1, 1, True),
        queue(x={"message_ttl": 0}),
        gets(),
    ],
    "dead with copies": [
        queue(R),
        queue(x={"message_ttl": 0, "dead_letter_exchange": "", "dead_letter_routing_key": R}),
        put("1", headers=values.table({"CC": ["nowhere"], "BCC": ["nobody"]})),
        consume("c", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
}
