"""What an answer proves about everything that was sent before its request.

A channel handles what it is sent in order. So an answer shows that every earlier settlement was accepted. Where the
profile says that one channel's work reaches a queue in order, it also shows that every earlier publish and return is in
its queue. A proof counts from the receipt of the answer, never from the sending of its request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from conformance.history.events import Event
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.consumers import cancelling, settling, windows
from conformance.oracle.model.doubts import races
from conformance.oracle.model.facts import Accepted, Fact
from conformance.oracle.model.records import EITHER, PUBLISHED, WAITING, Copy


def proven(channel: ChannelLife, sent: int, event: Event) -> Iterable[Fact]:
    """An answer to what was sent then: everything before that has been handled, and was not refused."""
    shared, connection = channel.shared, channel.connection
    if (
        channel.unproven
        or channel.race is not None
        or channel.risk
        or shared.count
        or not shared.answered
        or channel.joining
        or channel.silent
        or channel.unrested
        or channel.untold
        or connection.error is not None
        or connection.notices is False
    ):
        return _proven(channel, sent, event)
    _answered(channel, sent)
    return ()


def _proven(channel: ChannelLife, sent: int, event: Event) -> Iterator[Fact]:
    unproven = channel.unproven
    while unproven and unproven[0].seq < sent and unproven[0].committed <= sent:
        settlement = unproven.popleft()
        settlement.accepted, settlement.accepted_ns = event.seq, event.time_ns
        yield Accepted(event, settlement)
        if settlement.refusal == EITHER:
            settling.turned_out(settlement)
            _clear(channel, event.seq)
    for queue in [queue for queue, settled in channel.lapsed.items() if settled < sent]:
        del channel.lapsed[queue]
    if channel.race is not None and channel.race.seq <= sent:  # recover-ok says that the recover itself was handled
        races.end(channel, event.seq)
    if 0 < channel.risk <= sent:
        channel.risk = 0
        _clear(channel, event.seq)
    for change in [one for one in channel.untold if one.sent < sent]:
        channel.untold.remove(change)
        change.came(event)
    windows.change_answered(channel, sent, event.seq)
    yield from cancelling.rest(channel, sent, event)
    _answered(channel, sent)
    error = channel.connection.error
    if error is not None and error.optional and error.seq <= sent and error.channel in (0, channel.number):
        channel.connection.error = None
        for other in channel.connection.channels.values():
            _clear(other, event.seq)


def _answered(channel: ChannelLife, sent: int) -> None:
    channel.handled = max(channel.handled, sent)
    for methods in (channel.sent, channel.dubious):
        for ids in [ids for ids, seq in methods.items() if seq <= sent]:
            del methods[ids]


def _clear(channel: ChannelLife, at: int) -> None:
    """Is there still anything that may have failed the channel? Misuse of a closed one is never cleared up."""
    if channel.alive() and not channel.connection.error and all(one.refusal != EITHER for one in channel.unproven):
        endings.clear(channel, at)


def prove(channel: ChannelLife, queue: str, before: int, at: int) -> None:
    """What the channel sent to this queue before that index is in it, unless it has been taken."""
    entries = channel.unsynced.get(queue)
    while entries and entries[0][0] < before:
        seq, copy = entries.popleft()
        if copy.entered == seq and copy.place == WAITING:
            copy.proof = at


def prove_returns(channel: ChannelLife, queue: str, before: int, at: int) -> None:
    """The same where publishes may be overtaken: only what was returned is proven."""
    kept = deque[tuple[int, Copy]]()
    for seq, copy in channel.unsynced.get(queue, ()):
        if copy.entry == PUBLISHED or seq >= before:
            kept.append((seq, copy))
        elif copy.entered == seq and copy.place == WAITING:
            copy.proof = at
    channel.unsynced[queue] = kept
