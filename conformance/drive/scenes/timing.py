"""What scenes about consumer timeouts begin with: clients of both kinds, and consumers whose clocks run."""

from __future__ import annotations

from conformance.drive.around import expire
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.scenes.props import reopen, restock, stocked
from conformance.drive.stage import Stage
from conformance.oracle.model.consumers.clocks import ARGUMENT

T, SOONER, LONG, AN_HOUR = 500, 250, 60_000, 3_600_000
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
    stage: Stage,
    queue: str,
    timeout: int = T,
    *,
    channel: Channel | None = None,
    prefetch: int = 1,
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


def time_out_together(stage: Stage) -> None:
    """Three consumers of a client that cannot be notified."""
    channel = stage.channel(connection=plain(stage))
    for _ in range(3):
        timed(stage, stocked(stage, 1), channel=channel)
    with stage.hold_close_ok(plain(stage)):
        expire(stage)
        pause(stage)
    reopen(stage, channel)
    stage.barrier(channel)


def by_queue(stage: Stage) -> bool:
    """Do queues watch their deliveries, so that nobody waits for a minute?"""
    return stage.profile.choices["consumer_timeout"] == "queue"


def about_once_a_minute(stage: Stage, watcher: str) -> None:
    """Where this one watches: for queues of each type a consumer and a get hold one message of three each until
    somebody looks. Beside them one needs no acknowledgements, and one is under a longer policy as well."""
    if stage.profile.choices["consumer_timeout"] != watcher or (arguments := _shortly(stage)) is None:
        return
    client = polite(stage)
    for queue_type in stage.profile.queue_types:
        queue = stage.queue({"x-queue-type": queue_type, **arguments})
        restock(stage, queue, 3)
        _waiting(stage, queue)
        stage.fetch(stage.channel(connection=client), queue)
    automatic = stage.channel(connection=client)
    automatic.consume(stocked(stage, 1), no_ack=True)
    if ARGUMENT in arguments and stage.around.admin is not None:
        queue = stage.queue(arguments)
        stage.around.policy(stage, queue, AN_HOUR)
        restock(stage, queue, 1)
        _waiting(stage, queue)
    stage.quiesce()
    expire(stage, within=A_MINUTE_OR_SO)
    stage.barrier(automatic)


def _waiting(stage: Stage, queue: str) -> None:
    channel = stage.channel(connection=polite(stage))
    channel.qos(1)
    channel.consume(queue)


def _shortly(stage: Stage) -> dict[str, object] | None:
    """The arguments of a queue whose deliveries time out soon; None where that cannot be had. Where the broker does
    not heed those of a queue its own setting must be short, or ours to make so."""
    around = stage.around
    if stage.profile.choices["timeout_of_queue"] == "heeded":
        return {ARGUMENT: T}
    if around.adjustable:
        around.setting(stage, T)
    return {} if around.adjustable or (around.general or AN_HOUR) < LONG else None
