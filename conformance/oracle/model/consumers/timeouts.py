"""What a deadline does: what times out, who is told of it, and what settling it does afterwards.

A delivery that timed out is *stale*: its message is back in the queue, but its tag is not settled yet. Settling it
moves no message. Its consumer is in the timeout state, and gets nothing until its last stale delivery is settled. If
several deliveries of a queue may have timed out when a notification comes, the oldest one has; the others certainly
have a little later (`SLACK`). Nothing is claimed about what the client settles in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import CANCELLING, GIVEN_UP, LIVE, OPEN, TIMED, ChannelLife, Consumer
from conformance.oracle.model.consumers.clocks import ARGUMENT, BURST, MS, SLACK, TICK, Timer
from conformance.oracle.model.facts import Fact, Notified, TimedOut, TimeoutOverdue
from conformance.oracle.model.records import GONE, OUT, RETURNED_LATE, WAITING, Delivery, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

PRECONDITION_FAILED, CONSUME = 406, (60, 20)


def dialect(model: Model, queue: Queue) -> str:
    """Who watches deliveries of this queue: queue, channel, or nobody that we would judge."""
    choice = model.profile.choices.get("consumer_timeout", "none")
    return "none" if choice == "queue" and queue.kind == "classic" else choice


def refusal(model: Model, event: Event, kind: str, arguments: Mapping[str, object]) -> str:
    """The rule by which the argument must be refused, if it must be."""
    offered = model.profile.choices.get("consumer_timeout") == "queue" and "quorum" in model.profile.queue_types
    if not offered or ARGUMENT not in arguments:
        return ""
    if kind == "classic":
        return "TMO-001"
    value = arguments[ARGUMENT]
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if good else "TMO-023"


def read(connection: Connection, event: Event) -> None:
    """The broker was heard: the client was awake before, and read what there was."""
    if event.time_ns - connection.read_at > BURST:
        connection.looked_at = connection.read_at
    connection.read_at = event.time_ns


def started(model: Model, channel: ChannelLife, consumer: Consumer, event: Event) -> None:
    """basic.consume was sent: its timeout is fixed."""
    watch = dialect(model, consumer.source)
    if watch == "none" or consumer.no_ack:
        return
    argument = (event.args.get("arguments") or {}).get(ARGUMENT) if watch == "queue" else None
    consumer.levels = model.settings.levels(consumer.source, argument)
    consumer.started_ns = event.time_ns
    consumer.source.clients.add(channel.connection.notices)
    model.settings.timed = model.settings.timed or bool(consumer.levels.others) or argument is not None


def delivered(model: Model, channel: ChannelLife, event: Event, since: int) -> None:
    """The clock of a delivery starts."""
    delivery = channel.unacked.get(event.delivery_tag or 0)
    if delivery is None or not model.settings.timed:
        return
    queue, consumer, stamps = delivery.copy.queue, delivery.consumer, model.settings.stamps
    watch = dialect(model, queue)
    if watch == "none":
        return
    if consumer is not None:
        levels, begin = consumer.levels, consumer.started_ns
    else:
        levels, begin = model.settings.levels(queue), stamps.get(since, 0)
    if levels is not None:
        earliest = max(begin, stamps.get(delivery.copy.entered, 0))
        delivery.timer = Timer(levels, earliest, event.time_ns, tick=0 if watch == "queue" else TICK)
        if watch == "queue":
            delivery.timer.behind = _ahead(model.settings.latest.get(queue), delivery.timer)
            model.settings.latest[queue] = delivery


def _ahead(older: Delivery | None, timer: Timer) -> Delivery | None:
    """The older one, if its time is not over yet, and will be before that of the new one."""
    first, then = older.timer.due() if older is not None and older.timer is not None else None, timer.due()
    return older if first is not None and then is not None and timer.at < first < then else None


# -- timeouts


def overtaken(model: Model, event: Event, queue: Queue) -> None:
    """A message comes to somebody while another has it: then the other's time is over, or its channel's."""
    copy = queue.copies.get(event.message or "")
    if copy is None or copy.holder is None:
        return
    holder = copy.holder
    if copy.place != OUT:
        _settled_too_late(model, holder, event)
        return
    timer, fellows = holder.timer, holder.channel.unacked.values()
    failed = any(_costs_the_channel(one, event.time_ns) for one in fellows if one is not holder)
    if timer is not None and dialect(model, queue) == "queue" and timer.possible(event.time_ns):
        _expire(holder, event, sure=not failed)
    elif failed:
        queue.unsettle(copy, indeterminate=True)


def _settled_too_late(model: Model, delivery: Delivery, event: Event) -> None:
    """A settlement that was under way when the time was over moves nothing, and the message may be back; a return
    has not been counted as one then."""
    settlement, timer, copy = delivery.settlement, delivery.timer, delivery.copy
    if settlement is None or timer is None or dialect(model, copy.queue) != "queue":
        return
    if not timer.possible(settlement.accepted_ns or event.time_ns):
        return
    if copy.place == GONE:
        copy.queue.unsettle(copy, indeterminate=True)
    elif copy.place == WAITING and copy.settlement is settlement:
        copy.miscounted = True


def _costs_the_channel(delivery: Delivery, now: int) -> bool:
    """May it have timed out, unannounced, with nobody whom a notification could tell?"""
    timer = delivery.timer
    if timer is None or timer.announced or not timer.possible(now):
        return False
    return not (present(delivery) and delivery.channel.connection.notices)


def present(delivery: Delivery) -> bool:
    """Is its consumer there, and its client not about to cancel it?"""
    consumer = delivery.consumer
    return (
        consumer is not None
        and consumer.state != CANCELLING
        and delivery.channel.consumers.get(consumer.tag) is consumer
    )


def _expire(delivery: Delivery, event: Event, *, sure: bool = True) -> None:
    """Its message is back; or may be, where it is not sure that its time was over."""
    timer, copy = delivery.timer, delivery.copy
    assert timer is not None
    timer.stale = timer.stale or event.seq
    if copy.holder is delivery and copy.place == OUT:
        if not sure or delivery.indeterminate or copy.indeterminate:
            copy.queue.unsettle(copy, indeterminate=True)
        else:
            copy.queue.back(copy, RETURNED_LATE, event.seq)


def _candidates(channel: ChannelLife, now: int) -> list[Delivery]:
    """Deliveries that may have timed out, and of which the client has not been told for certain."""
    return [
        one
        for one in channel.unacked.values()
        if one.timer is not None
        and not (one.timer.announced and one.timer.sure)
        and (one.timer.stale or one.timer.possible(now))
    ]


def concerns(model: Model, channel: ChannelLife, event: Event) -> Consumer | None:
    """The consumer that this notification says has timed out, where it can say nothing else."""
    consumer = channel.consumers.get(event.consumer_tag or "")
    if consumer is None or consumer.source.deleted or consumer.state not in (LIVE, TIMED, GIVEN_UP):
        return None
    return consumer if consumer.levels is not None and consumer.levels.effective() is not None else None


def notified(model: Model, channel: ChannelLife, consumer: Consumer, event: Event) -> Iterator[Fact]:
    """basic.cancel for a consumer whose queue is there."""
    expired = [one for one in _candidates(channel, event.time_ns) if one.consumer is consumer]
    yield Notified(event, channel, consumer.tag, consumer, None)
    own = consumer.levels.consumer if consumer.levels is not None else None
    yield TimedOut(event, channel, consumer, expired, model.settings.levels(consumer.source, own))
    if consumer.state != TIMED:
        consumer.revived_by_return = False
        consumer.state = TIMED if expired else GIVEN_UP
    channel.timed = True
    for place, delivery in enumerate(expired):
        assert delivery.timer is not None
        delivery.timer.announced = True
        delivery.timer.sure = place == 0 or delivery.timer.certain(event.time_ns)
        _expire(delivery, event, sure=delivery.timer.sure)
    _spare(model, channel, consumer)


def behind(model: Model, channel: ChannelLife, event: Event) -> list[Delivery]:
    """The deliveries whose timeout may be why the broker closes this channel."""
    args = event.args
    named = args.get("class_id"), args.get("method_id")
    if args.get("reply_code") != PRECONDITION_FAILED or not (named == (0, 0) or _names_consume(model, channel, named)):
        return []
    over = [one for one in _candidates(channel, event.time_ns) if one.timer is not None and not one.timer.announced]
    return [one for one in over if _costs_the_channel(one, event.time_ns)] or over


def _names_consume(model: Model, channel: ChannelLife, named: tuple[object, object]) -> bool:
    """Does it name basic.consume, of which none is under way? So says LavinMQ what it ends, a get as well."""
    under_way = CONSUME in channel.sent or channel.requests.get(("basic.consume", ""))
    return named == CONSUME and model.profile.choices.get("consumer_timeout") == "sweep" and not under_way


def closed(model: Model, channel: ChannelLife, event: Event, expired: list[Delivery]) -> Iterator[Fact]:
    """channel.close because of a timeout: of the oldest, where they are of one queue, for each looks for itself."""
    yield TimedOut(event, channel, None, expired)
    several = len({id(delivery.copy.queue) for delivery in expired}) > 1
    for place, delivery in enumerate(expired):
        assert delivery.timer is not None
        delivery.timer.announced, delivery.timer.sure = True, not (place or several)
        if dialect(model, delivery.copy.queue) == "queue":
            _expire(delivery, event, sure=delivery.timer.sure)
    _spare(model, channel, None)


def _spare(model: Model, channel: ChannelLife, consumer: Consumer | None) -> None:
    """Who else has deliveries out, on this channel or on this queue?"""
    sources = {consumer.source} if consumer is not None else set()
    for connection in model.connections.values():
        for other in connection.channels.values():
            for one in other.unacked.values():
                if one.timer is None or one.timer.stale or (other is channel and consumer is None):
                    continue
                if one.consumer is consumer:
                    one.timer.later = True
                elif other is channel or one.copy.queue in sources:
                    one.timer.spared = True


def settled(settlement: Settlement) -> None:
    """A settlement was sent: the last stale delivery of a consumer revives it."""
    channel = settlement.channel
    stale = [one for one in settlement.covered if one.timer is not None and one.timer.stale]
    if not stale or settlement.refusal:
        return
    for delivery in stale:
        assert delivery.timer is not None
        delivery.timer.sure = delivery.timer.sure or delivery.timer.certain(settlement.time_ns)
        delivery.copy.stale_settlement = settlement
        for other in channel.unacked.values():
            if other.consumer_tag == delivery.consumer_tag and other.consumer is not delivery.consumer:
                other.endangered = settlement
    for consumer in {one.consumer for one in stale if one.consumer is not None and one.consumer.state == TIMED}:
        left = [
            one
            for one in channel.unacked.values()
            if one.consumer is consumer and one.timer is not None and one.timer.announced
        ]
        consumer.partly = bool(left)
        consumer.revived_by_return = consumer.revived_by_return or settlement.requeue
        if not left:
            sure = all(one.timer is not None and one.timer.sure for one in stale) and not channel.transactional
            consumer.state = LIVE if sure else GIVEN_UP
            consumer.since = consumer.revived = settlement.seq


def moves_nothing(delivery: Delivery, settlement: Settlement) -> bool:
    """It is stale: its settlement touches no message, if it is certain that it had timed out."""
    timer = delivery.timer
    if timer is None or not timer.stale:
        return False
    if not (timer.sure or timer.certain(settlement.time_ns)):
        delivery.copy.queue.unsettle(delivery.copy, indeterminate=True)
    return True


# -- waiting


def running(connections: Iterable[Connection]) -> Iterator[tuple[int, ChannelLife, Delivery]]:
    """All clocks that run, with the time at which they end at the latest."""
    for connection in connections:
        for channel in connection.channels.values() if not connection.ended else ():
            for delivery in channel.unacked.values() if channel.state == OPEN else ():
                timer = delivery.timer
                due = timer.due() if timer is not None and not (timer.stale or timer.overdue) else None
                if due is not None and not delivery.indeterminate:
                    yield due, channel, delivery


def overdue(model: Model, event: Event) -> Iterator[Fact]:
    """The driver has waited: whose time is over, and nothing came? It may know how much is enough."""
    slack = int(event.args.get("slack_ms", SLACK // MS)) * MS
    for due, channel, delivery in list(running(model.connections.values())):
        if due + slack <= event.time_ns:
            assert delivery.timer is not None
            yield TimeoutOverdue(event, channel, delivery)
            delivery.timer.overdue = True
