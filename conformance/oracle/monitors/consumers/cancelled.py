"""CAN, ends: what still comes for a consumer that has ended, and what its end does to others.

Nothing is delivered to it, what it holds can be settled, and its neighbours go on. That nothing came counts for a rule
only where something could have: a message that entered its queue after the end, and went to somebody else.
"""

from __future__ import annotations

from conformance.oracle.model.connections.channels import STARTING, ChannelLife, Consumer
from conformance.oracle.model.consumers.cancelling import AGREED, CANCELLED, NOTIFIED, SILENT
from conformance.oracle.model.facts import Accepted, ClosedUnasked, Delivered, StrayDelivery
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


@judges(StrayDelivery, "CAN-009", "CAN-010", "CAN-014", "CAN-015")
def to_nobody(fact: StrayDelivery, notes: Notes) -> None:
    """A delivery to a consumer that has ended, or that has not been confirmed."""
    channel, tag = fact.channel, fact.consumer_tag
    if channel.indeterminate or channel.connection.error:
        return
    ended = channel.ended.get(tag)
    if ended is None and (
        channel.of_before(tag) or channel.let_pass or channel.settlement_error or channel.method_error
    ):
        return  # it may have been started after a mistake that the broker lets pass: of that others speak
    if ended is None and channel.requests.get(("basic.consume", "")):
        notes.find("CAN-015", fact.event, "consume-ok before the first delivery", f"a delivery to {tag}")
        return
    if ended is not None and ended.how != NOTIFIED and ended.source.deletion and ended.source.deletion.sent < ended.at:
        notes.report("CAN-009", "deliveries that were under way when the queue was deleted, after cancel-ok")
        return
    how = ended.how if ended is not None else CANCELLED
    rule = {CANCELLED: "CAN-009", NOTIFIED: "CAN-010", SILENT: "CAN-014", AGREED: "TMO-013"}[how]
    notes.find(
        rule,
        fact.event,
        "deliveries to the channel's consumers only",
        f"a delivery to {tag!r}",
        ended.at if ended is not None else 0,
    )


@judges(Delivered, "CAN-009", "CAN-014")
def passed_by(fact: Delivered, notes: Notes) -> None:
    """A message that came after a consumer had ended went to somebody else."""
    for how, rule in ((CANCELLED, "CAN-009"), (SILENT, "CAN-014")):
        if 0 < fact.queue.left.get(how, 0) < fact.copy.entered:
            notes.exercise(rule)


@judges(Delivered, "CAN-011", "CAN-015")
def to_somebody(fact: Delivered, notes: Notes) -> None:
    """The first delivery follows consume-ok; the end of a neighbour changes nothing."""
    consumer = fact.delivery.consumer
    if consumer is None or fact.channel.adopted:
        return
    if not consumer.received:
        notes.exercise("CAN-015")
    if consumer.state == STARTING:
        notes.find(
            "CAN-015",
            fact.event,
            f"consume-ok for {consumer.tag} before its first delivery",
            f"a delivery to {consumer.tag}",
            consumer.receiver.start,
        )
    if notified_neighbour(fact.channel, consumer, fact.copy.entered):
        notes.exercise("CAN-011")


def tag_of_former(channel: ChannelLife, consumer: Consumer) -> bool:
    """Does the consumer have the tag of a former one of its queue, and is it a queue that may mistake it for that?"""
    ended = channel.ended.get(consumer.tag)
    return (
        ended is not None
        and ended.at < consumer.receiver.start
        and ended.source.name == consumer.queue
        and consumer.source.kind != "classic"
    )


def notified_neighbour(channel: ChannelLife, consumer: Consumer, before: int) -> bool:
    """Did another consumer of the channel end with its queue, while this one was there, before that moment?"""
    return channel.bereaved and any(
        ended.how == NOTIFIED and consumer.receiver.start < ended.at < before for ended in channel.ended.values()
    )


@judges(Accepted, "CAN-012")
def still_settleable(fact: Accepted, notes: Notes) -> None:
    """Deliveries of a notified consumer were settled."""
    settlement = fact.settlement
    if settlement.deleted and any(_lost_with_queue(settlement.channel, one.consumer) for one in settlement.covered):
        notes.exercise("CAN-012")
        notes.report("CAN-012", "accepted")


@judges(ClosedUnasked, "CAN-012")
def not_settleable(fact: ClosedUnasked, notes: Notes) -> None:
    """They were refused."""
    suspect = fact.suspect
    if suspect is not None and suspect.deleted and not suspect.refusal:
        notes.report("CAN-012", "refused")
        notes.find(
            "CAN-012",
            fact.event,
            f"{suspect} is accepted, though the queue is gone",
            closing(fact.event.args),
            suspect.seq,
            certain=fate.one_cause(suspect),
            unless=fate.refuses_any(suspect, "CAN-012"),
        )


def _lost_with_queue(channel: ChannelLife, consumer: Consumer | None) -> bool:
    ended = channel.ended.get(consumer.tag) if consumer is not None else None
    return ended is not None and consumer is not None and ended.how == NOTIFIED and ended.source is consumer.source


@judges(Delivered, "CAN-019")
def served_without_the_right(fact: Delivered, notes: Notes) -> None:
    """What was published after the broker had taken the new credentials is no delivery that was under way."""
    consumer, renewed = fact.delivery.consumer, fact.channel.connection.renewed
    if consumer is not None and 0 < consumer.revoked < renewed < fact.copy.published:
        notes.find(
            "CAN-019",
            fact.event,
            f"basic.cancel for {consumer.tag}: its user may no longer read the queue",
            f"{fact.copy.id} is delivered",
            consumer.revoked,
            renewed,
            fact.copy.published,
        )
