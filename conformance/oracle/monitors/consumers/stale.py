"""TMO, after a timeout: the message is free for any consumer, its former consumer waits, its tag can still be settled.

A stale delivery is one that timed out and is not settled. It is judged only if it had certainly timed out when it was
settled.
"""

from __future__ import annotations

from conformance.history.events import METHOD
from conformance.oracle.model.connections.channels import TIMED
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers.cancelling import AGREED
from conformance.oracle.model.facts import (
    Accepted,
    Answered,
    ChannelRefused,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    TimedOut,
    Unanswered,
)
from conformance.oracle.model.owed import CLOSE
from conformance.oracle.model.records import OUT, RETURNED_LATE, WAITING, Delivery
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


def _sure(delivery: Delivery, now: int = 0) -> bool:
    timer = delivery.timer
    return timer is not None and timer.stale > 0 and (timer.sure or timer.certain(now))


# -- the message


@judges(Delivered, "TMO-006", "TMO-015", "TMO-021", "TMO-025", again=True)
def goes_on(fact: Delivered, notes: Notes) -> None:
    """A message whose delivery timed out comes to somebody, redelivered."""
    copy, held = fact.copy, fact.copy.holder
    if held is None or copy.indeterminate or copy.place != WAITING:
        return
    if held.endangered is not None:
        notes.exercise("TMO-021")
    if copy.stale_settlement is not None:
        notes.exercise("TMO-015")
    if copy.entry != RETURNED_LATE:
        return
    notes.exercise("TMO-006")
    if not fact.delivery.redelivered:
        notes.find(
            "TMO-006",
            fact.event,
            f"{copy.id} comes with redelivered set: it timed out before",
            "redelivered is not set",
            held.seq,
        )
    if fact.queue.fresh:
        notes.exercise("TMO-025")
        notes.report("TMO-025", "before messages that were never delivered")


@judges(Delivered, "TMO-025")
def passes_by(fact: Delivered, notes: Notes) -> None:
    """A message that was never delivered goes first."""
    copy, queue = fact.copy, fact.queue
    if not queue.returned or copy.seen or copy.place != WAITING or copy.unowed or queue.crowded(fact.receiver):
        return
    late = [one for one in queue.returned.values() if one.entry == RETURNED_LATE and one.entered < fact.since]
    if late:
        notes.exercise("TMO-025")
        notes.report("TMO-025", "after messages that were never delivered")


@judges(Delivered, "TMO-009", "TMO-010", again=True)
def taken_from(fact: Delivered, notes: Notes) -> None:
    """A delivery that was spared by another's timeout is still out: it does not come to anybody else."""
    copy, held = fact.copy, fact.copy.holder
    if held is None or held.timer is None or copy.indeterminate or copy.place != OUT or not held.channel.alive():
        return
    rules = [rule for rule, on in (("TMO-009", held.timer.spared), ("TMO-010", held.timer.later)) if on]
    for rule in rules:
        notes.find(
            rule,
            fact.event,
            f"{copy.id} stays with tag {held.tag} of channel {held.channel.number}, whose "
            f"timeout is not over ({held.timer.levels})",
            f"{copy.id} is delivered",
            held.seq,
        )


@judges(TimedOut, "TMO-010")
def each_in_its_turn(fact: TimedOut, notes: Notes) -> None:
    """A second delivery of one consumer times out at its own time."""
    for delivery in fact.deliveries[:1]:
        if delivery.timer is not None and delivery.timer.later:
            notes.exercise("TMO-010")


@judges(Accepted, "TMO-009", "TMO-015")
def settled(fact: Accepted, notes: Notes) -> None:
    """Settlements that were taken: of what timed out, and of what was spared."""
    settlement = fact.settlement
    if settlement.refusal or not any(one.timer for one in settlement.covered):
        return
    if any(_sure(one) for one in settlement.covered):
        notes.exercise("TMO-015")
    if any(one.timer is not None and one.timer.spared and not one.stale for one in settlement.covered):
        notes.exercise("TMO-009")


@judges(TimedOut, "TMO-022")
def by_the_old_policy(fact: TimedOut, notes: Notes) -> None:
    """The policy has changed since the consumer started; the delivery times out when it would have."""
    consumer, renewed = fact.consumer, fact.renewed
    if consumer is None or renewed is None or consumer.levels is None or not fact.deliveries:
        return
    if renewed.effective() != consumer.levels.effective():
        notes.exercise("TMO-022")
        notes.report("TMO-022", "fixed when the consumer starts")


# -- the consumer


@judges(Delivered, "TMO-011", "TMO-012")
def served(fact: Delivered, notes: Notes) -> None:
    """Nothing while it is in the timeout state; again when all that timed out is settled."""
    consumer, channel = fact.delivery.consumer, fact.channel
    if consumer is None:
        return
    if consumer.revived and consumer.state != TIMED:
        notes.exercise("TMO-012")
    if consumer.state != TIMED:
        if channel.timed and any(one.state == TIMED for one in channel.consumers.values()):
            notes.exercise("TMO-011")
        return
    stale = [one for one in channel.unacked.values() if one.consumer is consumer and _sure(one, fact.event.time_ns)]
    if stale:
        rule = "TMO-012" if consumer.partly else "TMO-011"
        notes.find(
            rule,
            fact.event,
            f"no delivery to {consumer.tag} before tag {stale[0].tag}, which timed out, is settled",
            f"a delivery of {fact.copy.id}",
            stale[0].seq,
        )


@judges(Accepted, "TMO-011", "TMO-012")
def still_waits(fact: Accepted, notes: Notes) -> None:
    """The channel has answered, its timed-out consumer has room and a message waits, and nothing came."""
    channel = fact.settlement.channel
    for consumer in channel.consumers.values() if channel.timed else ():
        if consumer.state == TIMED and consumer.source.may_hold():
            notes.exercise("TMO-012" if consumer.partly else "TMO-011")


@judges(Answered, "TMO-013", "TMO-014")
def ended(fact: Answered, notes: Notes) -> None:
    """cancel-ok for a consumer that timed out; consume-ok for its tag afterwards."""
    request, channel = fact.request, fact.channel
    if request.rule == "TMO-013":
        notes.exercise("TMO-013")
    if request.method != "basic.consume":
        return
    former = channel.ended.get(request.consumer_tag)
    if former is not None and former.how == AGREED:
        notes.exercise("TMO-013")
    error = channel.connection.error
    if error is not None and error.rule == "TMO-014" and error.seq == request.seq:
        notes.exercise("TMO-014")
        notes.report("TMO-014", "accepted")


@judges(ConnectionFailed, "TMO-013", "TMO-014")
def end_refused(fact: ConnectionFailed, notes: Notes) -> None:
    """The tag of a consumer that timed out is taken; unless the client has agreed to its end."""
    event, error = fact.event, fact.error
    if event.kind != METHOD:
        return
    if error is not None and error.rule == "TMO-014":
        notes.exercise("TMO-014")
        notes.report("TMO-014", f"connection.close {event.args.get('reply_code')}")
        return
    for channel in fact.connection.open_channels():
        agreed = next((one for one in channel.ended.values() if one.how == AGREED), None)
        if error is None and agreed is not None and ids_of(event) in ((60, 31), (60, 20), (0, 0)):
            notes.find(
                "TMO-013", event, f"the client's cancel-ok for {agreed.tag} ends it", closing(event.args), agreed.at
            )
            return


@judges(ClosedUnasked, "TMO-013")
def cancel_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel was closed over the cancel of a consumer that timed out."""
    for request in fact.channel.pending():
        if request.rule == "TMO-013" and ids_of(fact.event) == (request.class_id, request.method_id):
            notes.find(
                "TMO-013", fact.event, f"cancel-ok for {request.consumer_tag}", closing(fact.event.args), request.seq
            )


# -- the tag


@judges(ChannelRefused, "TMO-016")
def refused_twice(fact: ChannelRefused, notes: Notes) -> None:
    """The second settlement of what timed out costs the channel."""
    spent = fact.channel.deliveries.get(fact.error.settlement.tag)
    if spent is not None and spent.stale:
        notes.exercise("TMO-016")


@judges(Unanswered, "TMO-016")
def accepted_twice(fact: Unanswered, notes: Notes) -> None:
    """It does not."""
    error = fact.error
    spent = (
        fact.channel.deliveries.get(error.settlement.tag) if fact.channel is not None and error is not None else None
    )
    if fact.obligation.kind == CLOSE and error is not None and spent is not None and spent.stale:
        notes.find(
            "TMO-016",
            fact.event,
            f"channel.close 406 for {error.settlement}: tag {spent.tag} was settled",
            "no channel.close comes",
            error.seq,
        )


@judges(ClosedUnasked, "TMO-015")
def refused_once(fact: ClosedUnasked, notes: Notes) -> None:
    """The first one does not cost it."""
    suspect = fact.suspect
    if suspect is not None and not suspect.refusal and any(_sure(one) for one in suspect.covered):
        notes.find(
            "TMO-015",
            fact.event,
            f"{suspect} is accepted: it settles what timed out",
            closing(fact.event.args),
            suspect.seq,
            unless=fate.refuses_any(suspect, "TMO-015"),
        )
