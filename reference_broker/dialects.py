"""What brokers decide differently, as data: one frozen table of named decisions per dialect.

`documented` is what the texts promise, without known bugs. The others do as the RabbitMQ of that
series does where it can be seen from outside, wrong or not, and introduce themselves as it, so that a
judge holds them to the same profile. Few places read a decision, each by its name; none asks for the
dialect's own name.

Not imitated: what RabbitMQ only does when two things happen to race (a cancellation that meets a
deletion on another connection, a cancel pipelined behind its consume, a timer that gets lost), and
what quorum queues do of their own: in 3.8 deliveries that a cancel meets are delivered twice or lost,
a length limit is exceeded while publishes are under way, and up to 4.2 priorities are two, mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from codec.errors import ReplyCode

Order = Literal["original", "returns-first", "tail"]
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str = "documented"
    product: str = "amqp-conformance reference"
    version: str = ""
    """Empty: the version of this package."""

    # Quorum queues: where a returned message goes, without and with a delivery limit, and with none.
    returns: Order = "returns-first"
    returns_limited: Order = "returns-first"
    returns_unlimited: Order = "returns-first"
    delivery_limit: int | None = 20
    negative_limit_is_none: bool = True
    nack_counts: bool = False
    """Does every return count towards the limit, or only those that tell of a failure?"""
    counters: Literal["always", "redelivered", "acquired"] = "acquired"
    """x-delivery-count on every delivery; on later ones; or of failures, with x-acquired-count of all."""
    gets_return_by_text: bool = False
    """Does a quorum queue get back what a channel had got by the text of the tags, 10 before 9, when that ends?"""
    server_named_quorum: bool = False
    soft_limit: int | None = None
    """Settlements a channel passes on at once to a quorum queue; what waits behind is lost with it."""

    rights_refreshed: bool = True
    """Does a refresh of the credentials end consumers of queues that their user may no longer read?"""

    # Prefetch.
    channel_limit: bool = True
    consumer_limit_clears_channel_limit: bool = False
    gets_fill_channel_limit: bool = False
    channel_limit_stops_auto_ack: bool = False
    same_tag_inherits_slots: bool = False
    """On a quorum queue a new consumer begins with what an earlier one of its tag has outstanding."""
    dropped_return_frees_two: bool = False
    """A return beyond the delivery limit widens its consumer's limit by one."""

    # Confirms and transactions.
    mandatory_counts: bool = False
    """Do mandatory publishes before confirm.select take numbers?"""
    partial_commit_fails: bool = False
    """Does a commit cost the channel when a queue has no room for a part of it?"""

    # Errors.
    exception_requeues: Literal["all", "classic", "consuming"] = "all"
    """Whose messages are back before the close-ok to an exception: see `channel.Channel.fail`."""
    cancel_meets_deletion: ReplyCode | None = None
    """What a cancel costs that follows at once on the deletion of its quorum queue by the same channel."""
    deliveries_follow_cancel_ok: bool = False
    """Of a quorum queue, does what is on its way to a consumer come after the cancel-ok for it?"""
    namesake_takes_settlements: bool = False
    """Does a classic queue take a settlement of a delivery from its deleted namesake for one of its own?"""
    client_cancel_ok: ReplyCode = ReplyCode.COMMAND_INVALID
    unknown_exchange_type: ReplyCode = ReplyCode.COMMAND_INVALID
    max_message: int = 128 * MEBIBYTE
    lazy_queues: bool = False
    """Does x-queue-mode mean something?"""

    # Dead letters.
    tells_last_death: bool = True
    dead_letters_keep_copies: bool = True
    """Does CC stay among the headers when x-dead-letter-routing-key takes the place of its keys?"""

    # Policies, permissions, limits.
    policies: Literal["3.8", "3.10", "4.0", "4.3"] = "4.3"
    """Whose settings a policy may have: see `policies`."""
    refusal_names_right: bool = True
    """Does a refusal say which of configure, write and read was missing?"""
    passive_needs_configure: bool = False
    """Does a passive declaration need a permission?"""
    topic_needs_of_all_keys: bool = True
    """Does a permission for topics hold for the keys in CC and BCC, too?"""
    smallest_frame_max: int = 4096
    """The least that a client may want."""
    tune_needs_limits: bool = False
    """Is a client refused that wants no limit (0) where there is one?"""

    # Consumer timeouts: nobody's, the channel's (by its tick), the quorum queue's own.
    consumer_timeout: Literal["none", "channel", "queue"] = "queue"
    timeout_of_queue: bool = True
    """Do a queue's argument and policy count?"""
    stale_requeue_revives: bool = True
    """Is a consumer served again when the last thing it did with what timed out was to requeue it?"""
    stale_ack_reaches_successor: bool = False
    """An ack of what timed out settles what a later consumer of the same tag has."""


RABBITMQ_3_8 = Dialect(
    name="rabbitmq-3.8",
    product="RabbitMQ",
    version="3.8.9",
    delivery_limit=None,
    negative_limit_is_none=False,
    nack_counts=True,
    counters="always",
    gets_return_by_text=True,
    rights_refreshed=False,
    server_named_quorum=True,
    soft_limit=32,
    consumer_limit_clears_channel_limit=True,
    gets_fill_channel_limit=True,
    channel_limit_stops_auto_ack=True,
    same_tag_inherits_slots=True,
    dropped_return_frees_two=True,
    mandatory_counts=True,
    partial_commit_fails=True,
    deliveries_follow_cancel_ok=True,
    exception_requeues="classic",
    cancel_meets_deletion=ReplyCode.INTERNAL_ERROR,
    refusal_names_right=False,
    consumer_timeout="none",
    timeout_of_queue=False,
    lazy_queues=True,
    tells_last_death=False,
    dead_letters_keep_copies=False,
    policies="3.8",
    tune_needs_limits=True,
    topic_needs_of_all_keys=False,
)
RABBITMQ_3_10 = replace(
    RABBITMQ_3_8,
    name="rabbitmq-3.10",
    version="3.10.8",
    returns="tail",
    server_named_quorum=False,
    mandatory_counts=False,
    deliveries_follow_cancel_ok=False,
    namesake_takes_settlements=True,
    exception_requeues="consuming",
    consumer_timeout="channel",
    policies="3.10",
)
RABBITMQ_4_0 = replace(
    RABBITMQ_3_10,
    name="rabbitmq-4.0",
    version="4.0.5",
    returns="returns-first",
    returns_unlimited="tail",
    delivery_limit=20,
    negative_limit_is_none=True,
    dropped_return_frees_two=False,
    counters="redelivered",
    unknown_exchange_type=ReplyCode.PRECONDITION_FAILED,
    refusal_names_right=True,
    timeout_of_queue=True,
    max_message=16 * MEBIBYTE,
    tells_last_death=True,
    dead_letters_keep_copies=True,
    policies="4.0",
    topic_needs_of_all_keys=True,
)
RABBITMQ_4_3 = replace(
    RABBITMQ_4_0,
    name="rabbitmq-4.3",
    version="4.3.6",
    rights_refreshed=True,
    returns_unlimited="returns-first",
    nack_counts=False,
    counters="acquired",
    channel_limit=False,
    client_cancel_ok=ReplyCode.INTERNAL_ERROR,
    passive_needs_configure=True,
    consumer_timeout="queue",
    stale_requeue_revives=False,
    stale_ack_reaches_successor=True,
    lazy_queues=False,
    policies="4.3",
    smallest_frame_max=8192,
)

DOCUMENTED = Dialect()
DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect for dialect in (DOCUMENTED, RABBITMQ_3_8, RABBITMQ_3_10, RABBITMQ_4_0, RABBITMQ_4_3)
}


class UnknownDialect(ValueError):
    """A name that is not in `DIALECTS`."""


def dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise UnknownDialect(f"no dialect is called '{name}'; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]
