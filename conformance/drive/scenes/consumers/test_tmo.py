"""TMO: deliveries that stay unacknowledged for too long.

Each scene starts the clocks of several deliveries side by side and lets them run out. What must not time out is
observed beside something that does. Timeouts are short, since whoever waits for them really waits; on the reference
broker time passes as we say.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codec import methods as m
from conformance.drive.around import expire
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.precedence import possible, stage_rows
from conformance.drive.scenes.props import outstanding, reopen, restock, stocked
from conformance.drive.scenes.timing import LONG, SOONER, T, about_once_a_minute, by_queue, pause, plain, polite, timed
from conformance.drive.stage import Stage
from conformance.oracle.model.consumers.clocks import ARGUMENT

CERTAINLY = 1100
"""This much later the second of two deliveries that came together has timed out like the first."""
QUORUM: tuple[QueueType, ...] = ("quorum",)
ALLOWED_RETURNS = 20
"""This many failed deliveries a quorum queue forgives by default."""


@rule("TMO-001", queue_types=("classic",))
def test_classic_queues_have_none(stage: Stage) -> None:
    """The argument on a classic queue and on its consumer; a policy for one, beside a quorum queue that times out."""
    channel, queue = stage.channel(connection=polite(stage)), stocked(stage, 1)
    channel.consume(queue, arguments={ARGUMENT: T})
    reopen(stage, channel)
    channel.declare(stage.recorder.private_name(), arguments={"x-queue-type": "classic", ARGUMENT: T})
    reopen(stage, channel)
    if stage.around.admin is not None:
        stage.around.policy(stage, queue, SOONER)
    channel.consume(queue)
    stage.quiesce()
    if "quorum" in stage.profile.queue_types:
        timing = stage.queue({"x-queue-type": "quorum"})
        restock(stage, timing, 1)
        timed(stage, timing)
        expire(stage)
    stage.barrier(channel)


@rule("TMO-002", queue_types=QUORUM)
def test_the_consumer_s_own_goes_first(stage: Stage) -> None:
    """Longer and shorter than all others, in every order of all levels that can be set."""
    stage_rows(stage, (row for row in possible(stage.around) if row.consumer is not None))


@rule("TMO-003", queue_types=QUORUM)
def test_the_shorter_of_argument_and_policy(stage: Stage) -> None:
    """Each alone, both in both orders, and with every place of the broker's own setting."""
    if not by_queue(stage):
        return
    stage_rows(stage, (row for row in possible(stage.around) if row.rule == "TMO-003"))


@rule("TMO-004", queue_types=QUORUM)
def test_the_broker_s_setting_comes_last(stage: Stage) -> None:
    """Alone, and where the queue has a longer one."""
    if not by_queue(stage):
        return
    rows = possible(stage.around, ("argument", "policy", "general"))
    stage_rows(stage, (row for row in rows if row.general is not None))


@rule("TMO-005", queue_types=QUORUM)
def test_the_default(stage: Stage) -> None:
    """Nothing is set, and half an hour passes: only where the broker's clock is ours."""
    if stage.around.advance is None or not stage.around.adjustable:
        return
    stage.around.setting(stage, None)
    channel = stage.channel(connection=polite(stage))
    channel.consume(stocked(stage, 1))
    stage.quiesce()
    expire(stage, within=3600)


@rule("TMO-006", queue_types=QUORUM)
def test_back_to_the_queue(stage: Stage) -> None:
    """To a consumer that waits; to a get on the same channel; and more often than failures are forgiven."""
    first, second, third = (stocked(stage, 1) for _ in range(3))
    timed(stage, first)
    channel, _ = timed(stage, second)
    waiting = stage.channel()
    waiting.consume(first)
    stage.quiesce()
    expire(stage)
    stage.fetch(channel, second)
    again, _ = timed(stage, third, timeout=0)
    for _ in range(ALLOWED_RETURNS + 2):
        expire(stage)
        if again.unacked:
            again.ack(0, multiple=True)
        stage.quiesce()


@rule("TMO-007", queue_types=QUORUM)
def test_a_notification(stage: Stage) -> None:
    """Two consumers of one channel, of which one times out; the channel is used on."""
    channel, _ = timed(stage, stocked(stage, 1))
    timed(stage, stocked(stage, 1), LONG, channel=channel)
    expire(stage)
    stage.barrier(channel)
    stage.fetch(channel, stocked(stage, 1))


@rule("TMO-008", queue_types=QUORUM)
def test_the_channel_of_an_old_client_is_closed(stage: Stage) -> None:
    """The client announced nothing; another channel of its connection goes on, also when it has cancelled meanwhile."""
    client = plain(stage)
    channel, tag = timed(stage, stocked(stage, 1), connection=client)
    other = stage.channel(connection=client)
    with stage.hold_close_ok(client):
        expire(stage)
        if channel.state != "open":
            channel.cancel(tag)
        stage.barrier(other)
    reopen(stage, channel)
    stage.barrier(channel)


@rule("TMO-009", queue_types=QUORUM)
def test_others_are_not_hit(stage: Stage) -> None:
    """Another consumer on the channel, another one on the queue; both settle in the end."""
    queue, other = stocked(stage, 2), stocked(stage, 1)
    channel, _ = timed(stage, queue)
    timed(stage, other, LONG, channel=channel)
    beside, _ = timed(stage, queue, LONG)
    expire(stage)
    restock(stage, queue, 1)
    for one in (channel, beside):
        one.ack(outstanding(one)[-1])
        stage.barrier(one)


@rule("TMO-010", queue_types=QUORUM)
def test_each_delivery_has_its_own_deadline(stage: Stage) -> None:
    """Second deliveries come half-way through the timeout of the first, to five consumers. Five others give theirs back
    half-way, and have it again."""
    queues = [stocked(stage, 1) for _ in range(5)]
    channel = stage.channel(connection=polite(stage))
    for queue in queues:
        timed(stage, queue, 2 * T, channel=channel, prefetch=2)
    again = stage.channel(connection=polite(stage))
    for _ in queues:
        timed(stage, stocked(stage, 1), 2 * T, channel=again)
    pause(stage, T)
    for tag in outstanding(again):
        again.reject(tag)
    publisher = stage.channel()
    publisher.confirm()
    for queue in queues:
        publisher.publish(queue)
    stage.quiesce()
    expire(stage)


@rule("TMO-011", queue_types=QUORUM)
def test_nothing_new_meanwhile(stage: Stage) -> None:
    """Messages wait, the window is free, and the channel is used; then somebody else comes and is served."""
    queue, other = stocked(stage, 3), stocked(stage, 1)
    channel, _ = timed(stage, queue)
    expire(stage)
    restock(stage, queue, 1)
    channel.ack(stage.fetch(channel, other)[0])
    stage.barrier(channel)
    timed(stage, queue, LONG, channel=channel, prefetch=2)


@rule("TMO-012", queue_types=QUORUM)
@pytest.mark.parametrize("settle", [Channel.ack, Channel.nack])
@pytest.mark.parametrize("together", [False, True])
def test_revived_by_settling_everything(stage: Stage, settle: Callable[..., None], together: bool) -> None:
    """Two deliveries time out. One is settled, nothing comes; the other, and the consumer is served again. Or both are
    settled together."""
    queue = stocked(stage, 4)
    channel, _ = timed(stage, queue, prefetch=2)
    expire(stage)
    pause(stage, CERTAINLY)
    if together:
        settle(channel, outstanding(channel)[-1], multiple=True)
        stage.barrier(channel)
        restock(stage, queue, 1)
        return
    for tag in channel.unacked:
        settle(channel, tag)
        restock(stage, queue, 1)
        stage.barrier(channel)


@rule("TMO-013", queue_types=QUORUM)
@pytest.mark.parametrize("agrees", [False, True])
def test_cancelled_for_good(stage: Stage, agrees: bool) -> None:
    """By the client's cancel, or its cancel-ok; then the stale delivery is settled, and the tag used again."""
    queue = stocked(stage, 1)
    channel, tag = timed(stage, queue)
    expire(stage)
    if agrees:
        channel.send(m.BasicCancelOk(channel.number, tag))
    else:
        channel.cancel(tag)
        stage.quiesce()
    channel.ack(outstanding(channel)[0])
    stage.barrier(channel)
    channel.consume(queue, tag=tag)
    stage.quiesce()
    stage.barrier(channel)


@rule("TMO-014", queue_types=QUORUM)
def test_the_tag_is_taken(stage: Stage) -> None:
    """consume with the tag of a consumer that was just notified."""
    queue = stocked(stage, 1)
    channel, tag = timed(stage, queue)
    expire(stage)
    channel.consume(stage.queue(), tag=tag)
    stage.quiesce()


@rule("TMO-015", queue_types=QUORUM)
def test_settling_what_timed_out(stage: Stage) -> None:
    """By ack, nack and reject, with the message still waiting, or at another consumer. And given up, of a queue that
    hands on what is."""
    held, grave = [], stage.queue()
    for taken in (False, True):
        for settle in (Channel.ack, Channel.nack, Channel.reject, _give_up):
            dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": grave}
            queue = stage.queue(dead if settle is _give_up and stage.offers("x-dead-letter-exchange") else {})
            restock(stage, queue, 1)
            held.append((queue, taken, settle, *timed(stage, queue)))
    expire(stage)
    pause(stage)
    for queue, taken, settle, channel, tag in held:
        channel.cancel(tag)
        if taken:
            timed(stage, queue, LONG)
        settle(channel, outstanding(channel)[0])
        stage.barrier(channel)
        restock(stage, queue, 1)
    pause(stage, CERTAINLY)
    stage.channel().get(grave)
    stage.quiesce()


def _give_up(channel: Channel, tag: int) -> None:
    channel.reject(tag, requeue=False)


@rule("TMO-016", queue_types=QUORUM)
def test_settled_twice(stage: Stage) -> None:
    """The second settlement costs the channel, by ack and by nack."""
    for settle in (Channel.ack, Channel.nack):
        channel, _ = timed(stage, stocked(stage, 1))
        expire(stage)
        tag = outstanding(channel)[0]
        channel.ack(tag)
        stage.barrier(channel)
        settle(channel, tag)
        stage.quiesce()


@rule("TMO-017", queue_types=QUORUM)
def test_gets_time_out(stage: Stage) -> None:
    """From a queue with a timeout, while another queue's consumer on the same connection is not concerned."""
    if not by_queue(stage):
        return
    queue = stage.queue({ARGUMENT: T})
    restock(stage, queue, 1)
    channel = stage.channel(connection=polite(stage))
    stage.fetch(channel, queue)
    expire(stage)


@rule("TMO-018", queue_types=QUORUM)
def test_what_a_cancelled_consumer_left(stage: Stage) -> None:
    """The client cancels, and settles nothing."""
    channel, tag = timed(stage, stocked(stage, 1))
    channel.cancel(tag)
    stage.quiesce()
    expire(stage)


@rule("TMO-019", queue_types=QUORUM)
def test_nothing_early(stage: Stage) -> None:
    """Settled in time, one by one or together, delivered without need of it, delivered to a consumer that had waited
    for long, or given back and delivered again; and not late either, because of a settlement meanwhile."""
    if not by_queue(stage):
        return
    waiting, automatic, settled, third = stage.queue(), stocked(stage, 2), stocked(stage, 2), stocked(stage, 1)
    channel, _ = timed(stage, waiting)
    channel.consume(automatic, no_ack=True, arguments={ARGUMENT: T})
    prompt, _ = timed(stage, settled, prefetch=2)
    for tag in prompt.unacked:
        prompt.ack(tag)
    stage.barrier(prompt)
    together, _ = timed(stage, stocked(stage, 2), prefetch=2)
    together.ack(outstanding(together)[-1], multiple=True)
    stage.barrier(together)
    busy, _ = timed(stage, stocked(stage, 2), prefetch=2)
    again, _ = timed(stage, stocked(stage, 1))
    pause(stage)
    again.reject(outstanding(again)[0])
    busy.ack(outstanding(busy)[0])
    restock(stage, waiting, 1)
    timed(stage, third)
    expire(stage)
    stage.barrier(channel)
    stage.barrier(prompt)


@rule("TMO-020", queue_types=QUORUM)
def test_how_exactly(stage: Stage) -> None:
    """Deadlines in quick succession."""
    if not by_queue(stage):
        return
    for timeout in (T, T + 60, T + 120, T + 180):
        timed(stage, stocked(stage, 1), timeout)
    expire(stage)


@rule("TMO-021", queue_types=QUORUM)
@pytest.mark.parametrize("same", [True, False])
def test_a_stale_settlement_reaches_nothing_else(stage: Stage, same: bool) -> None:
    """The consumer is cancelled and started anew, by the same tag or another; the stale tag is acked. Then all ends."""
    queue = stocked(stage, 2)
    channel, tag = timed(stage, queue)
    expire(stage)
    channel.cancel(tag)
    stage.quiesce()
    receiver = stage.channel()
    stage.fetch(receiver, queue, no_ack=True)
    channel.consume(queue, tag=tag if same else None, arguments={ARGUMENT: LONG})
    stage.quiesce()
    channel.ack(outstanding(channel)[0])
    stage.barrier(channel)
    channel.close()
    stage.quiesce()


@rule("TMO-022", queue_types=QUORUM)
def test_a_policy_changes_meanwhile(stage: Stage) -> None:
    """From long to short, under a live consumer: before its delivery, and after it."""
    if stage.around.admin is None:
        return
    queue = stage.queue()
    stage.around.policy(stage, queue, 3 * T)
    channel = stage.channel(connection=polite(stage))
    channel.consume(queue)
    restock(stage, queue, 1)
    stage.around.policy(stage, queue, SOONER)
    restock(stage, queue, 1)
    expire(stage)


@rule("TMO-023", queue_types=QUORUM)
def test_what_is_no_timeout(stage: Stage) -> None:
    """Below zero, and no number, on consumers and on queues; zero is one."""
    queue = stocked(stage, 1)
    channel = stage.channel(connection=polite(stage))
    for bad in (-1, "soon"):
        channel.consume(queue, arguments={ARGUMENT: bad})
        reopen(stage, channel)
        channel.declare(stage.recorder.private_name(), arguments={"x-queue-type": "quorum", ARGUMENT: bad})
        reopen(stage, channel)
    timed(stage, queue, timeout=0)
    expire(stage)


@rule("TMO-024", queue_types=("classic",), depth="ci")
def test_watched_by_the_channel(stage: Stage) -> None:
    """The channel looks about once a minute: a classic queue and a quorum queue, side by side. This shows what can be
    shown of the other rules as well, for which nobody waits once more."""
    about_once_a_minute(stage, "channel")


@rule("TMO-027", queue_types=("classic",), depth="deep")
def test_watched_by_the_broker(stage: Stage) -> None:
    """The broker looks about once a minute."""
    about_once_a_minute(stage, "sweep")


@rule("TMO-025", queue_types=QUORUM)
def test_before_what_was_never_delivered(stage: Stage) -> None:
    """The first of three messages times out; then all are taken."""
    queue = stocked(stage, 3)
    timed(stage, queue)
    expire(stage)
    stage.fetch(stage.channel(), queue, 3)


@rule("TMO-026", queue_types=QUORUM)
def test_each_client_as_it_announced(stage: Stage) -> None:
    """One queue, a client that can be notified and one that cannot, both too slow."""
    queue = stocked(stage, 2)
    for client in (polite(stage), plain(stage)):
        timed(stage, queue, connection=client)
    expire(stage)
