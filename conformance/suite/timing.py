"""What scenes about consumer timeouts begin with: clients of both kinds, and consumers whose clocks run."""

from __future__ import annotations

from conformance.around import expire
from conformance.channel import Channel
from conformance.drivers.raw import RawConnection
from conformance.model.timeouts import ARGUMENT
from conformance.stage import Stage
from conformance.suite.props import restock, stocked

T, SOONER, LONG = 500, 250, 60_000
"""Milliseconds."""
A_MINUTE_OR_SO = 90
NOTICE = "consumer_cancel_notify"


def polite(stage: Stage, name: str = "polite") -> RawConnection:
    """A client that can be notified."""
    return stage.connections.get(name) or stage.connect(name, {NOTICE: True})


def plain(stage: Stage) -> RawConnection:
    """A client that cannot."""
    return stage.connections.get("plain") or stage.connect("plain", {})


def timed(
    stage: Stage, queue: str, timeout: int = T, *, channel: Channel | None = None, prefetch: int = 1,
    connection: RawConnection | None = None,
) -> tuple[Channel, str]:
    """A consumer with this timeout that has what it may have of the queue, and its channel."""
    channel = channel or stage.channel(connection=connection or polite(stage))
    channel.qos(prefetch)
    tag = channel.consume(queue, arguments={ARGUMENT: timeout})
    stage.quiesce()
    return channel, tag


def pause(stage: Stage, milliseconds: int = SOONER) -> None:
    """Lets so much time pass: by a consumer of its own that times out then."""
    timed(stage, stocked(stage, 1), milliseconds)
    expire(stage, milliseconds / 1000 + 0.1)


def about_once_a_minute(stage: Stage, watcher: str) -> None:
    """Where this one watches, and heeds the queue's timeout: a consumer of a queue of each type holds one message of
    two until somebody looks."""
    choices = stage.profile.choices
    if choices["consumer_timeout"] != watcher or choices["timeout_of_queue"] == "ignored":
        return
    for queue_type in stage.profile.queue_types:
        queue = stage.queue({"x-queue-type": queue_type, ARGUMENT: T})
        restock(stage, queue, 2)
        channel = stage.channel(connection=polite(stage))
        channel.qos(1)
        channel.consume(queue)
    stage.quiesce()
    expire(stage, within=A_MINUTE_OR_SO)
    stage.barrier(stage.channel(connection=polite(stage)))
