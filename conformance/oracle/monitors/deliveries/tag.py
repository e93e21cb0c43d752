"""TAG: how deliveries and confirms are numbered."""

from __future__ import annotations

from conformance.oracle.model.facts import Confirmed, Delivered, Numbered
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges


@judges(Numbered, "TAG-001", "TAG-006", "TAG-007")
def first_tag(fact: Numbered, notes: Notes) -> None:
    """The first delivery of a channel has tag 1, whatever other channels and former lives of its number have had.

    One that goes on from the former life says which of these is the fault; and 0 is a number of nobody's. It has to
    do with other channels where it goes on from the highest tag of these.
    """
    channel = fact.channel
    if channel.last_tag or channel.haunted:
        return
    rules = ["TAG-001"]
    others = fact.tag != 0
    if others and any(other.last_tag for other in channel.connection.channels.values() if other is not channel):
        rules.append("TAG-006")
    if others and channel.former_tag:
        rules.append("TAG-007")
    lives = [one for one in channel.connection.channels.values() if one is not channel]
    highest = max((max(other.last_tag, other.former_tag) for other in lives), default=0)
    if fact.tag == 1:
        notes.exercise(*rules)
    else:
        told = [rule for rule in rules if rule != "TAG-006" or fact.tag == highest + 1]
        for rule in ("TAG-007",) if 0 < channel.former_tag < fact.tag else told:
            notes.find(
                rule,
                fact.event,
                "delivery tag 1 on a channel that had no delivery yet",
                f"{fact.event.method} with tag {fact.tag}",
                channel.opened,
            )


LEFT_OUT = ", which had been left out"


@judges(Numbered, "TAG-002", "TAG-003", "TAG-004", "TAG-005")
def rising_tags(fact: Numbered, notes: Notes) -> None:
    """Never 0; always higher than all before, over consumers and gets alike; without gaps, which is seen where one may
    be expected: after what a consumer got that does not acknowledge."""
    tag, last = fact.tag, fact.channel.last_tag
    if tag == 0:
        notes.find("TAG-002", fact.event, "delivery tags from 1", f"{fact.event.method} with tag 0")
    if not last:
        notes.exercise("TAG-002")
        return
    if tag == 0:
        return
    mixed = ("TAG-005",) if fact.channel.last_was_get != fact.get else ()
    notes.exercise("TAG-002")
    if tag <= last:
        for rule in ("TAG-003", *mixed):
            notes.find(
                rule,
                fact.event,
                f"a tag above {last}, the highest on the channel so far",
                f"{fact.event.method} with tag {tag}" + LEFT_OUT * (tag in fact.channel.skipped),
            )
        return
    notes.exercise("TAG-003", *mixed)
    if tag == last + 1:
        before = fact.channel.deliveries.get(last)
        if before is not None and before.no_ack and before.consumer is not None:
            notes.exercise("TAG-004")
    else:
        notes.find("TAG-004", fact.event, f"tag {last + 1} after {last}", f"tag {tag}")


@judges(Delivered, "TAG-008", again=True)
def new_tag_for_a_redelivery(fact: Delivered, notes: Notes) -> None:
    """A message that was returned comes again under another tag. That its old tag is spent is shown by a refusal alone,
    which exercises the rule."""
    before = fact.copy.holder
    if before is None or before.channel is not fact.channel:
        return
    if before.tag == fact.delivery.tag:
        notes.find(
            "TAG-008",
            fact.event,
            f"a new tag: {fact.copy.id} came before with tag {before.tag}",
            f"{fact.event.method} of {fact.copy.id} with tag {before.tag} again",
            before.seq,
        )


@judges(Numbered, "TAG-010")
def deliveries_apart_from_confirms(fact: Numbered, notes: Notes) -> None:
    """Publishes in confirm mode do not advance delivery tags."""
    channel = fact.channel
    if not channel.confirm or not channel.published or channel.adopted:
        return
    expected = channel.last_tag + 1
    if channel.confirms_since:
        notes.exercise("TAG-010")
    if channel.confirms_since and fact.tag == expected + channel.confirms_since:
        notes.find(
            "TAG-010",
            fact.event,
            f"tag {expected}: publishes do not count",
            f"tag {fact.tag} after {channel.confirms_since} publishes",
            certain=True not in channel.modes,
        )


@judges(Confirmed, "TAG-002", "TAG-010")
def confirms_apart_from_deliveries(fact: Confirmed, notes: Notes) -> None:
    """Confirms number publishes, from 1, whatever was delivered on the channel."""
    channel, number = fact.channel, fact.number
    notes.exercise("TAG-002")
    if number == 0:
        notes.find("TAG-002", fact.event, "confirms numbered from 1", f"{fact.event.method} with tag 0")
    elif channel.confirm and channel.last_tag:
        notes.exercise("TAG-010")
        if number > channel.former_published + channel.published and not channel.adopted:
            notes.find(
                "TAG-010",
                fact.event,
                f"confirms up to {channel.published}, the publishes so far",
                f"{fact.event.method} with tag {number}, on a channel whose deliveries have reached "
                f"tag {channel.last_tag}",
                certain=not channel.plain,
            )
