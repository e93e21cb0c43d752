"""The circumstances in which brokers are known to fail, by name: what a known deviation may point at.

`model.circumstances` notes where in a history each of them arises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NAMES: Mapping[str, str] = {
    "closes-cross": "the client's channel.close and the broker's cross",
    "opened-after-failure": "the number of a channel that the broker had closed is opened again",
    "settlements-kept-back": "a channel with much under way ends, and its last settlements are not known to be handled",
    "publish-before-end": "a channel ends, and its last publishes are not known to be handled",
    "cancel-amid-deliveries": "a consumer is cancelled while there are messages for it, or it holds some",
    "cancel-meets-deletion": "a consumer is cancelled, and the deletion of its queue has been sent",
    "queue-deleted": "a client has deleted a queue",
    "name-used-again": "a queue is declared again while deliveries of its deleted namesake are outstanding",
    "tag-used-again": "a consumer has the tag of an earlier one that left deliveries outstanding",
    "tag-used-again-here": "the same, told of its connection",
    "delivery-limited": "the queue has a delivery limit",
    "mandatory-before-confirms": "mandatory publishes come before confirm.select",
    "limit-after-channel-limit": "a limit for consumers is set after one for their channel",
    "channel-limit-after-gets": "a limit for a channel is set while deliveries of basic.get are outstanding",
    "stale-returned": "what had timed out is returned to its queue",
    "several-deadlines": "two deliveries of one queue have deadlines when one passes",
    "client-cancel-ok": "the client answers a notification",
    "nothing-to-settle": "everything is settled at once where nothing is outstanding",
    "nothing-to-settle-in-transaction": "the same in a transaction",
    "recover-without-requeue": "basic.recover without requeue is sent where a consumer is",
    "recover-async": "basic.recover-async is sent",
    "gets-recovered": "deliveries of basic.get are recovered",
    "prefetch-size": "a limit in octets is asked for",
    "limit-changed": "another limit for consumers is set while one is there",
    "tag-taken": "a consumer is to have a tag that is in use on its channel",
    "unopened-work": "a close, a publish, a settlement or a method about a queue is sent on a channel that is not open",
    "mandatory-to-the-full": "a mandatory publish goes to a queue that rejects, and has been sent its fill",
    "queue-deleted-under-consumer": "a client has deleted a queue that has a consumer",
    "channel-shared": "a second consumer is started on a channel",
    "killed-young": "the broker is killed when the queue is not two seconds old",
}


def named(where: Iterable[str]) -> list[str]:
    """The names alone of those in which a finding stands; each is told as its name and its place."""
    return [one.partition(" ")[0] for one in where]
