"""The circumstances in which brokers are known to fail. A known deviation names one of them in `where`.

`oracle.model.circumstances` notes where in a history each of them arises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NAMES: Mapping[str, str] = {
    "closes-cross": "the client's channel.close and the broker's cross",
    "opened-after-failure": "the number of a channel that the broker had closed is opened again",
    "settlements-kept-back": "a busy channel ends, and nothing shows that its last settlements were processed",
    "publish-before-end": "a channel ends, and nothing shows that its last publishes were processed",
    "cancel-amid-deliveries": "a consumer is cancelled while there are messages for it, or while it holds some",
    "cancel-meets-deletion": "a consumer is cancelled, and the deletion of its queue has been sent",
    "queue-deleted": "a client has deleted a queue",
    "name-used-again": "a queue is declared again while deliveries of its deleted namesake are outstanding",
    "tag-used-again": "a consumer has the tag of an earlier one that left deliveries outstanding",
    "tag-used-again-here": "the same, noted for its connection",
    "namesake-settled": "what a cancelled consumer has is settled, and a later one of the queue has its tag",
    "delivery-limited": "the queue has a delivery limit",
    "mandatory-before-confirms": "mandatory publishes come before confirm.select",
    "limit-after-channel-limit": "a limit for consumers is set after one for their channel",
    "channel-limit-after-gets": "a limit for a channel is set while deliveries of basic.get are outstanding",
    "stale-returned": "a delivery that had timed out is returned to its queue by the client",
    "several-deadlines": "two deliveries of one queue have deadlines, and one of the deadlines passes",
    "client-cancel-ok": "the client answers a notification",
    "nothing-to-settle": "everything is settled at once when nothing is outstanding",
    "nothing-to-settle-in-transaction": "the same in a transaction",
    "recover-without-requeue": "basic.recover without requeue is sent on a channel that has a consumer",
    "recover-async": "basic.recover-async is sent",
    "gets-recovered": "deliveries of basic.get are recovered",
    "prefetch-size": "basic.qos asks for a limit in octets",
    "limit-changed": "a limit for consumers is set while another one is in force",
    "tag-taken": "basic.consume names a tag that is in use on its channel",
    "unopened-work": "a close, a publish, a settlement or a method about a queue is sent on a channel that is not open",
    "mandatory-to-the-full": "a mandatory publish goes to a queue that rejects, after enough publishes to fill it",
    "queue-deleted-under-consumer": "a client has deleted a queue that has a consumer",
    "channel-shared": "a second consumer is started on a channel",
    "longer-body": "a body is longer than its header announced",
    "misplaced-content": "a content frame comes where no content is due",
    "interrupted-content": "a method comes in the middle of a content",
    "other-class": "a content header has another class than its method",
    "content-on-channel-0": "a content frame comes on channel 0",
    "unreadable-properties": "the properties of a content header cannot be read",
    "float-without-number": "a float among the headers of a publish is infinite, or no number",
    "content-weight": "a content header has a weight other than 0",
    "method-on-channel-0": "a method that belongs on a channel comes on channel 0",
    "get-meets-deletion": "a get is on its way to a queue, and so is the deletion of that queue",
    "deletion-meets-that-of-exchange": "a queue and an exchange bound to it are deleted at once, by two channels",
    "exclusive-consumer": "a consumer is started with exclusive",
    "connection-closes-cross": "connection.close of both sides cross",
    "frame-max-below-8192": "the client agrees to frames of 4096 octets or more, and fewer than 8192",
    "last-queue-elsewhere": "the empty name is used on a channel that declared no queue, and another channel did",
    "long-queue-name": "a queue is declared or looked for whose name is longer than 127 octets",
    "long-name-not-ascii": "a client declares a queue by a name of more than 127 octets, not all of them ASCII",
    "limited-declares-again": "a user with limited rights declares a queue or exchange that may be there already",
    "limited-names-dead-letters": "a user with limited rights declares a queue with a dead-letter exchange",
    "limited-names-alternate": "a user with limited rights declares an exchange with an alternate one",
    "limited-publishes-to-queues": "a user with limited rights publishes to the default exchange",
    "limited-names-long-queue": "a user with limited rights names a queue of more than 150 octets",
    "user-deleted": "a user is deleted while connections are open",
    "binding-without-value": "a queue is bound with an argument that has no value",
    "owner-hangs-up": "an exclusive queue is looked for whose client has left, and has not hung up, or just now",
    "dead-letters-renamed": "a queue gives its dead letters another routing key",
    "limited-in-octets": "a queue has a limit of octets",
    "refused-are-dead-letters": "a queue is to make dead letters of what it refuses",
    "made-up-address": "a client declares a name that only begins like the address of a requester",
    "second-requester": "a channel that consumes replies asks for a second consumer of them",
    "requesters-share-a-tag": "consumers of replies on two channels have the same tag",
    "long-tag-of-requester": "a consumer of replies has a tag of more than 200 octets",
    "single-active-cancelled": "a client cancels a consumer of a queue that serves one at a time",
    "priority-above-maximum": "a message has a higher priority than its queue",
    "killed-young": "the broker is killed when the queue is younger than two seconds",
    "transient-exchange-restarted": "the broker is restarted when there is a transient exchange",
    "transient-message-restarted": "the broker is restarted when a transient message is in a durable classic queue",
    "delivered-restarted": "the broker is restarted when a client holds a delivery that it has not settled",
}


def named(where: Iterable[str]) -> list[str]:
    """The names alone of those in which a finding stands; each is told as its name and its place."""
    return [one.partition(" ")[0] for one in where]
