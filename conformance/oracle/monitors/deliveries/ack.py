"""ACK: settlements that had to be accepted, and what they leave alone."""

from __future__ import annotations

from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.closing import NAMED_TAG
from conformance.oracle.model.facts import Accepted, ClosedUnasked, Confirmed, Delivered, Unrequested
from conformance.oracle.model.records import DEAD, EITHER, RELEASED, RETURNED, WAITING, Settlement
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

UP_TO, ALL = "reaches up to its tag", "reaches all by tag 0"
OF_MULTIPLE = UP_TO, ALL
SINGLES = "basic.nack returns", "basic.nack removes", "basic.reject returns", "basic.reject removes"
ACKS, OTHERS = "basic.ack", "basic.nack or basic.reject"


@judges(
    Accepted,
    "ACK-005",
    "ACK-006",
    "ACK-007",
    "ACK-008",
    "ACK-011",
    "ACK-013",
    "ACK-014",
    "ACK-015",
    "ACK-016",
    "ACK-017",
)
def accepted(fact: Accepted, notes: Notes) -> None:
    """A settlement was taken without complaint."""
    settlement = fact.settlement
    if settlement.refusal == EITHER:
        notes.exercise("ACK-014")
        notes.report("ACK-014", "accepted")
    elif settlement.refusal:
        notes.find(
            settlement.refusal,
            fact.event,
            f"channel.close 406 for {settlement}",
            f"{fact.event.method}: it was accepted",
            settlement.seq,
        )
    else:
        notes.show("ACK-015", ACKS if settlement.method == ACKS else OTHERS, (ACKS, OTHERS))
        notes.exercise(*_borne_out(settlement))
        if settlement.racing:
            notes.exercise("ACK-014")


def _borne_out(settlement: Settlement) -> list[str]:
    """The rules that speak for a settlement which has just been accepted. Of those that say how far it reaches that
    shows nothing."""
    rules = []
    ack = settlement.method == "basic.ack"
    if settlement.everything and not settlement.outstanding:
        rules.append("ACK-007" if ack else "ACK-008")
    elif settlement.early:
        rules.append("ACK-013")
    if settlement.cancelled and not settlement.deleted:
        rules.append("ACK-016")
    if settlement.deleted:
        rules.append("ACK-017")
    return rules


@judges(
    ClosedUnasked,
    "ACK-002",
    "ACK-003",
    "ACK-004",
    "ACK-005",
    "ACK-006",
    "ACK-007",
    "ACK-008",
    "ACK-011",
    "ACK-013",
    "ACK-014",
    "ACK-016",
    "ACK-017",
    "MODE-003",
)
def refused_without_cause(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a settlement that it had to accept."""
    suspect = fact.suspect
    if suspect is None:
        return
    if suspect.refusal == EITHER:
        notes.exercise("ACK-014")
        notes.report("ACK-014", "refused")
        return
    plain = (
        fact.channel.settlement_error is None
        or NAMED_TAG.search(str(fact.event.args.get("reply_text", ""))) is not None
    )
    rule = fate.of_refused(suspect)
    notes.find(
        rule,
        fact.event,
        f"{suspect} is accepted: {_why(suspect)}",
        closing(fact.event.args),
        suspect.seq,
        *(delivery.seq for delivery in suspect.covered[-3:]),
        certain=plain and fate.one_cause(suspect),
        unless=fate.refuses_any(suspect, rule),
    )


def _why(settlement: Settlement) -> str:
    if settlement.covered:
        tags = ", ".join(str(delivery.tag) for delivery in settlement.covered[:8])
        return f"it reaches {'…, ' if len(settlement.covered) > 8 else ''}{tags}, outstanding on its channel"
    return "tag 0 with multiple means all outstanding deliveries, even if there are none"


def closing(arguments: object) -> str:
    """A close of the broker, in words."""
    assert isinstance(arguments, dict)
    return (
        f"close {arguments.get('reply_code')} {arguments.get('reply_text')!r} "
        f"({arguments.get('class_id')}, {arguments.get('method_id')})"
    )


@judges(Confirmed, "ACK-015", "ERR-007")
def acks_nobody_asked_for(fact: Confirmed, notes: Notes) -> None:
    """On a channel without confirm mode the broker has nothing to acknowledge.

    A mode that outlives its channel shows by numbers of publishes: where there are none, a settlement is answered.
    """
    channel = fact.channel
    if channel.confirm or channel.adopted or channel.transactional or channel.haunted:
        return
    settled = channel.last_settlement
    if channel.former_confirm and fact.number > 0 and (channel.plain > 0 or settled is None):
        notes.find(
            "ERR-007",
            fact.event,
            "no confirms: the reopened channel is not in confirm mode",
            f"{fact.event.method} {fact.number}",
            channel.opened,
        )
    elif settled is not None:
        notes.find(
            "ACK-015",
            fact.event,
            f"no answer to {settled}",
            f"{fact.event.method} {fact.number}",
            settled.seq,
            certain=not _confirmed_elsewhere(channel),
        )
    else:
        notes.find(
            "CNF-023",
            fact.event,
            "no confirms: the channel is not in confirm mode",
            f"{fact.event.method} {fact.number}",
        )


def _confirmed_elsewhere(channel: ChannelLife) -> bool:
    """May it be a confirm of what this channel published, as another one of the connection asked for?"""
    others = channel.connection.channels.values()
    return channel.plain > 0 and any(other.confirm for other in others if other is not channel)


@judges(Unrequested, "ACK-015", "RQ-014")
def replies_nobody_asked_for(fact: Unrequested, notes: Notes) -> None:
    """Settlements and recover-async have no reply."""
    channel, method = fact.channel, fact.event.method
    if method == "basic.recover-ok":
        notes.find(
            "RQ-014",
            fact.event,
            "no recover-ok: only basic.recover has that answer",
            "a recover-ok that nobody asked for",
        )
    elif channel.unproven and not channel.connection.error and method not in ("basic.consume-ok", "basic.cancel-ok"):
        settlement = channel.unproven[-1]
        notes.find("ACK-015", fact.event, f"no answer to {settlement}", method, settlement.seq)


@judges(
    Delivered,
    "ACK-001",
    "ACK-002",
    "ACK-004",
    "ACK-011",
    "ACK-012",
    "ACK-019",
    "ERR-005",
    "MODE-003",
    "MODE-005",
    again=True,
)
def what_was_left_alone_comes_back(fact: Delivered, notes: Notes) -> None:
    """Unsettled when its channel ended, or returned on purpose: here it is again."""
    copy = fact.copy
    if copy.indeterminate or copy.place != WAITING:
        return
    settlement = copy.settlement
    if copy.entry == RELEASED and copy.holder is not None:
        notes.exercise(*set(fate.left_alone(copy)))
    elif copy.entry == RETURNED and settlement is not None and not copy.unproven_return():
        if not settlement.multiple:
            single_took_effect(settlement, notes)
        elif copy.holder is not None and copy.holder.tag != settlement.tag:
            nacked_as_acked(settlement, notes)
    elif copy.entry == DEAD and settlement is not None and settlement.method == "basic.reject":
        notes.exercise("MODE-005")


def nacked_as_acked(settlement: Settlement, notes: Notes) -> None:
    """A multiple nack has reached a delivery that it does not name."""
    notes.show("ACK-011", ALL if settlement.everything else UP_TO, OF_MULTIPLE)


def single_took_effect(settlement: Settlement, notes: Notes) -> None:
    """A single nack or reject has done to its message what it says. Both have to, in both ways."""
    effect = "returns" if settlement.requeue else "removes"
    notes.show("ACK-012", f"{settlement.method} {effect}", SINGLES)
