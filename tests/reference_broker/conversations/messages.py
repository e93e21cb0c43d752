"""Conversations about messages: those that expire, are one too many, die, rank, are copied or come back.

Dead letters and refusals are awaited, for a broker may take its time with them. Expirations are zero or never reached,
so that no clock decides.
"""

from __future__ import annotations

import codec
from codec import methods as m
from tests.reference_broker.conversations.words import (
    DLX,
    NOWHERE,
    Await,
    Q,
    R,
    X,
    bind,
    consume,
    exchange,
    gets,
    headers,
    keys,
    put,
    queue,
)

MESSAGES = {
    "expiration zero": [queue(), put("1", expiration="0"), gets()],
    "expiration with blanks": [queue(), put("1", expiration=" 5")],
    "expiration negative": [queue(), put("1", expiration="-5")],
    "expiration too large": [queue(), put("1", expiration="99999999999")],
    "expiration empty": [queue(), put("1", expiration="")],
    "expired to another queue": [
        queue(R), queue(x=DLX), put("1", expiration="0"), consume("r", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
    "queue ttl to another queue": [
        queue(R), queue(x={**DLX, "message_ttl": 0}), put("1"), consume("r", R, no_ack=True), Await(m.BasicDeliver),
    ],
    "over the limit to another queue": [
        queue(R), queue(x={**DLX, "max_length": 1}), put(*"123"), consume("r", R, no_ack=True),
        Await(m.BasicDeliver, 2),
    ],
    "over the octets": [queue(x={"max_length_bytes": 5}), put("123", "456", "78"), gets(3)],
    "limit zero": [queue(x={"max_length": 0}), put("1", mandatory=True), gets()],
    "reject publish": [
        queue(x={"max_length": 1, "overflow": "reject-publish"}), m.ConfirmSelect(1), put("1"), Await(m.BasicAck),
        put("2"), Await(m.BasicNack), gets(2),
    ],
    "reject publish, to another queue": [
        queue(R), queue(x={**DLX, "max_length": 1, "overflow": "reject-publish-dlx"}), m.ConfirmSelect(1), put("1"),
        Await(m.BasicAck), put("2"), Await(m.BasicNack), consume("r", R, no_ack=True), Await(m.BasicDeliver), gets(2),
    ],
    "rejected to an exchange": [
        exchange(kind="fanout"), queue(R), bind("", R), queue(x={"dead_letter_exchange": X}),
        put("1", expiration="9999"), m.BasicGet(1, 0, Q), m.BasicReject(1, 1), consume("r", R, no_ack=True),
        Await(m.BasicDeliver),
    ],
    "rejected to a missing exchange": [
        queue(x={"dead_letter_exchange": X}), put("1"), m.BasicGet(1, 0, Q), m.BasicReject(1, 1), gets(),
    ],
    "rejected twice": [
        queue(R, x={"dead_letter_exchange": "", "dead_letter_routing_key": Q}), queue(x=DLX), put("1"),
        m.BasicGet(1, 0, Q), m.BasicReject(1, 1), consume("r", R), Await(m.BasicDeliver), m.BasicReject(1, 2),
        consume("q", Q), Await(m.BasicDeliver, 2),
    ],
    "priorities": [
        queue(x={"max_priority": 3}), put("1"), put("2", priority=1), put("3", priority=3), put("4", priority=9),
        put("5", priority=1), gets(5),
    ],
    "copies": [
        queue(), queue(R), put("1", headers=[("CC", "A", keys(R)), ("BCC", "A", keys(Q, NOWHERE))], key=NOWHERE),
        gets(), gets(1, R),
    ],
    "a copy to no list": [queue(), put("1", headers=[("CC", "S", Q.encode())])],
    "a blind copy to a number": [queue(), put("1", headers=[("BCC", "I", 5)])],
    "own user id": [queue(), put("1", user_id="guest"), gets()],
    "no route": [put("1", key=NOWHERE, mandatory=True, headers=headers(a=1), delivery_mode=2)],
    "no route, no queue bound": [exchange(), put("1", to=X, mandatory=True), m.ExchangeDelete(1, 0, X)],
    "all properties": [
        queue(), put("1", content_type="a", content_encoding="b", headers=headers(k="v"), delivery_mode=2, priority=4,
                     correlation_id="c", reply_to="d", expiration="9999", message_id="e", timestamp=5, type="f",
                     app_id="g", cluster_id="h"), gets(),
    ],
    "publish to nothing, with confirms": [m.ConfirmSelect(1), put("1", to=X), m.ConfirmSelect(1)],
    "immediate": [queue(), codec.content(m.BasicPublish(1, 0, "", Q, False, True), b"1")],
    "publish and return by alternate": [
        exchange(arguments={"alternate-exchange": "amq.fanout"}), put("1", to=X, key=NOWHERE, mandatory=True),
        m.ExchangeDelete(1, 0, X),
    ],
}  # fmt: skip
