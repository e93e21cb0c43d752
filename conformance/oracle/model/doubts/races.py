"""Races between what a channel sends and the deliveries that are under way to it.

A multiple with tag 0, and recover, reach what the broker has delivered when it handles them, not what the client has
read when it sends them. Until an answer shows that they were handled, every delivery that comes may have been settled
by them, and a queue of such a channel may see messages returned that the client has not read yet. That its queues
look empty proves nothing: other channels publish and return at the same time.

recover-ok is such an answer: a channel gives a delivery its tag and writes it in order with its answers, so what comes
after recover-ok was not out when the recover was handled (docs/findings/after_recover_ok.py measures it).
"""

from __future__ import annotations

from conformance.oracle.model.connections.channels import NEVER, OPEN, ChannelLife
from conformance.oracle.model.consumers import taking, windows
from conformance.oracle.model.records import VOID, WAITING, Settlement

FAR = 64
"""A tag so far above all that were read belongs to no delivery that is under way."""


def may_be_delivering(channel: ChannelLife) -> bool:
    """May the broker deliver anything on this channel before it handles what is sent now?"""
    if channel.requests.get(("basic.get", "")):
        return True
    return any(not windows.surely_full(channel, consumer) for consumer in channel.consumers.values())


def may_be_under_way(channel: ChannelLife, tag: int) -> bool:
    """May this tag, which was not read yet, be that of a delivery under way?"""
    return channel.last_tag < tag <= channel.last_tag + FAR and may_be_delivering(channel)


def may_be_settled(channel: ChannelLife, tag: int) -> bool:
    """May the client have settled this delivery, before it read it?"""
    return channel.race is not None or channel.indeterminate or tag in channel.strays


def begin(channel: ChannelLife, settlement: Settlement) -> None:
    """The settlement takes all that is outstanding, read or not."""
    if not may_be_delivering(channel):
        return
    channel.race = settlement
    settlement.racing = True
    if settlement.requeue:
        for consumer in channel.consumers.values():
            consumer.source.sweepers[channel.opened] = None
            channel.swept.append(consumer.source)
        for request in channel.requests.get(("basic.get", ""), ()):
            if request.source is not None:
                request.source.sweepers[channel.opened] = None
                channel.swept.append(request.source)


def end(channel: ChannelLife, at: int) -> None:
    """An answer shows that it was handled."""
    channel.race = None
    for queue in channel.swept:
        taking.swept(queue, channel.opened, at)
    channel.swept.clear()


def lift(channel: ChannelLife) -> None:
    """The tag of a mistake was under way when it was sent: so it may have been none, and nothing after it is void."""
    channel.settlement_error, channel.state, channel.indeterminate = None, OPEN, True
    if channel.uncounted:
        channel.published += channel.uncounted
        channel.forgiven = NEVER
    for copy in channel.released:
        copy.queue.unsettle(copy, indeterminate=True)
    for copy in channel.voided:
        if copy.place == VOID:
            copy.place = WAITING
            copy.queue.unsettle(copy, indeterminate=True)
    for key, requests in channel.late.items():
        for request in requests:
            request.ignored = False
        channel.requests.setdefault(key, type(requests)()).extend(requests)
    channel.late.clear()
