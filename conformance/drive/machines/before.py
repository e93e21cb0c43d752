"""What channels and queues were used for before a history begins, so that any action can meet any past.

The past leaves nothing behind that matters: settings are set back or never reached, and what was started has ended.
Only one of several channels and one of several queues has a past, so both kinds stand side by side.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.stage import NotOffered

if TYPE_CHECKING:
    from conformance.drive.stage import Stage

End = Callable[[], None]
Act = Callable[["Stage", Channel, str], End | None]
"""Something that is done with a stage, a channel and a queue; and what ends it, where it must not end at once."""

SPENT = bytes(70)
"""Octets: most of what the scenes allow that allow a hundred."""
AT_ONCE = 16
"""So many channels are few."""
AMPLE, ROOMY = 100_000, 5_000
"""More messages than any history has, and than it has out at once."""


def _limit(stage: Stage, channel: Channel, queue: str) -> None:
    channel.qos(7)
    channel.qos(0)


def _window(stage: Stage, channel: Channel, queue: str) -> None:
    channel.qos(ROOMY)


def _get(stage: Stage, channel: Channel, queue: str) -> None:
    channel.get(queue)


def _cancel(stage: Stage, channel: Channel, queue: str) -> End | None:
    return _consume(stage, channel, queue, quiet=False)


def _nowait(stage: Stage, channel: Channel, queue: str) -> End | None:
    return _consume(stage, channel, queue, quiet=True)


def _consume(stage: Stage, channel: Channel, queue: str, *, quiet: bool) -> End | None:
    """A consumer comes, and goes at the end: RabbitMQ need not answer the start of one that is cancelled at once."""
    if not stage.cancels:
        return None
    tag = channel.consume(queue, no_wait=quiet)
    return partial(channel.cancel, tag, no_wait=quiet)


def _recover(stage: Stage, channel: Channel, queue: str) -> None:
    channel.recover()


def _reopen(stage: Stage, channel: Channel, queue: str) -> None:
    channel.close()
    stage.quiesce()
    stage.reopen(channel)


def _transact(stage: Stage, channel: Channel, queue: str) -> None:
    channel.tx_select()
    channel.tx_rollback()
    _reopen(stage, channel, queue)


def _confirm(stage: Stage, channel: Channel, queue: str) -> None:
    channel.confirm()
    _reopen(stage, channel, queue)


def _bind(stage: Stage, channel: Channel, queue: str) -> None:
    """Exchanges of the broker lead to it, one after the other, and then do not."""
    for exchange in ("amq.direct", "amq.fanout"):
        channel.bind(queue, exchange, "unused")
        channel.unbind(queue, exchange, "unused")


def _ask(stage: Stage, channel: Channel, queue: str) -> None:
    stage.go_round(channel)


def _settle(stage: Stage, channel: Channel, queue: str) -> None:
    """All that is out: nothing is."""
    channel.ack(0, multiple=True)


def _pass_on(stage: Stage, channel: Channel, queue: str) -> None:
    """A message comes and goes, and the channel counts a delivery."""
    channel.publish(queue, body=b"", persistent=False)
    channel.get(queue, no_ack=True)


WEAR: Mapping[str, Act] = {
    "limit": _limit,
    "settle": _settle,
    "messages": _pass_on,
    "consumers": _nowait,
    "questions": _ask,
}
"""What can be done often, and changes nothing."""


def worn(stage: Stage, channel: Channel, queue: str, times: int, what: str) -> None:
    """The same is done so often, in one write; then the queue is as empty as before."""
    _act(stage, channel, queue, [*(WEAR[what],) * times, _purge])


def _act(stage: Stage, channel: Channel, queue: str, acts: Iterable[Act]) -> None:
    """All in one write, and what ends some of it in another."""
    ends: list[End] = []
    with stage.batch():
        for act in acts:
            with contextlib.suppress(NotOffered):
                end = act(stage, channel, queue)
                ends += [end] if end else []
    stage.quiesce()
    if ends:
        stage.barrier(channel)
        with stage.batch():
            for end in ends:
                end()
        stage.barrier(channel)


def _purge(stage: Stage, channel: Channel, queue: str) -> None:
    channel.purge(queue)


def spent(stage: Stage, channel: Channel, queue: str) -> None:
    """A message comes, of which the broker says so, and is purged. The channel is in confirm mode."""
    channel.publish(queue, body=SPENT)
    stage.confirmed(channel)
    channel.purge(queue)
    stage.quiesce()


def opened(stage: Stage, connection: RawConnection, times: int) -> None:
    """So many channels of the connection are opened and closed, few at a time: an operator may have set a limit."""
    most = min(connection.tuned.channel_max or AT_ONCE, AT_ONCE)
    for _ in range(0, times, most):
        channels = [Channel(stage, connection, number) for number in range(1, most + 1)]
        for act in (Channel.open, Channel.close):
            with stage.batch():
                for channel in channels:
                    act(channel)
            stage.quiesce()


PAST: Mapping[str, Act] = {
    "confirm": _confirm,
    "tx": _transact,
    "reopen": _reopen,
    "qos": _limit,
    "window": _window,
    "get": _get,
    "cancel": _cancel,
    "nowait": _nowait,
    "recover": _recover,
    "bind": _bind,
}
"""Of a channel; those that open it again come first."""
RENEWING = frozenset({"confirm", "tx", "reopen"})
BOUNDED, BEQUEATHING = "limit", "dead-letter exchange"
ARGUMENTS = BOUNDED, BEQUEATHING
FEATURES = (*PAST, *ARGUMENTS)


def arguments(declare: Callable[[], str], used: frozenset[str]) -> dict[str, Any]:
    """Of a queue that has such a past."""
    found: dict[str, Any] = {}
    if BOUNDED in used:
        found |= {"x-max-length": AMPLE}
    if BEQUEATHING in used:
        found |= {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": declare()}
    return found


def lived(stage: Stage, channel: Channel, queue: str, used: frozenset[str]) -> None:
    """Gives the channel such a past: what opens it again, then all else in one write."""
    for name in PAST:
        if name in used & RENEWING:
            with contextlib.suppress(NotOffered):
                PAST[name](stage, channel, queue)
                stage.quiesce()
    _act(stage, channel, queue, [PAST[name] for name in PAST if name in used - RENEWING])
