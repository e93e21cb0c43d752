"""What channels and queues were used for before a history begins, so that any action can meet any past.

The past leaves nothing behind that matters: settings are set back or never reached, and what was started has ended.
Only one of several channels and one of several queues has a past, so both kinds stand side by side.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from conformance.drive.stage import NotOffered

if TYPE_CHECKING:
    from conformance.drive.channel import Channel
    from conformance.drive.stage import Stage

AMPLE, ROOMY = 100_000, 5_000
"""More messages than any history has, and than it has out at once."""


def _limit(stage: Stage, channel: Channel, queue: str) -> None:
    channel.qos(7)
    channel.qos(0)


def _window(stage: Stage, channel: Channel, queue: str) -> None:
    channel.qos(ROOMY)


def _get(stage: Stage, channel: Channel, queue: str) -> None:
    channel.get(queue)


def _cancel(stage: Stage, channel: Channel, queue: str) -> None:
    _consume(stage, channel, queue, quiet=False)


def _nowait(stage: Stage, channel: Channel, queue: str) -> None:
    _consume(stage, channel, queue, quiet=True)


def _consume(stage: Stage, channel: Channel, queue: str, *, quiet: bool) -> None:
    """A consumer comes and goes."""
    if stage.cancels:
        tag = channel.consume(queue, no_wait=quiet)
        stage.barrier(channel)
        channel.cancel(tag, no_wait=quiet)
        stage.barrier(channel)


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


def worn(stage: Stage, channel: Channel, times: int) -> None:
    """The same is done so often, in one write: that there is no limit, and that nothing is settled, all of it."""
    with contextlib.suppress(NotOffered), stage.batch():
        for _ in range(times):
            channel.qos(0)
            channel.ack(0, multiple=True)
    stage.quiesce()


PAST: Mapping[str, Callable[[Stage, Channel, str], None]] = {
    "confirm": _confirm,
    "tx": _transact,
    "reopen": _reopen,
    "qos": _limit,
    "window": _window,
    "get": _get,
    "cancel": _cancel,
    "nowait": _nowait,
    "recover": _recover,
}
"""Of a channel; those that open it again come first."""
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
    """Gives the channel such a past."""
    for name, live in PAST.items():
        if name in used:
            with contextlib.suppress(NotOffered):
                live(stage, channel, queue)
                stage.quiesce()
