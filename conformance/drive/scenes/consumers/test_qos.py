"""QOS: how many deliveries may be outstanding, and what makes room for more.

Without global a limit belongs to each consumer that is started after it; with global, where the profile serves that,
to the channel. Most scenes put more into a queue than the limit lets through, and let the broker come to rest each
time. What takes a slot and what gives one back is in `test_qos_slots`.
"""

from __future__ import annotations

from typing import Any

import pytest

from codec import methods as m
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, limited, outstanding, reopen, restock, shares, stocked
from conformance.drive.stage import Stage

MANY = {"classic": 400, "quorum": 2100}
"""More than a window that somebody might take for unlimited; of quorum queues it is known."""
KINDS: tuple[dict[str, Any], ...] = (
    {"no_wait": True},
    {"exclusive": True},
    {"arguments": {"x-priority": 3}},
    {"tag": ""},
)
"""What a consumer may be beside."""
WIDE, MORE = ((1 << 8) + 2, (1 << 15) + 2), 5


@rule("QOS-001")
def test_a_consumers_limit_is_never_passed(stage: Stage) -> None:
    """Limits of 1, 2 and 5 over three times as many messages; then one message more. The queue is purged, and some come
    again, while the consumer holds what it may. And consumers of all kinds: started with nowait, exclusive, with a
    priority, and with a tag that the broker chooses. And another channel of the connection fails."""
    for limit in (1, 2, 5):
        queue = stocked(stage, 3 * limit)
        channel = limited(stage, queue, limit)
        restock(stage, queue, 1)
        stage.barrier(channel)
        stage.backstage(queue).purge(queue)
        stage.quiesce()
        restock(stage, queue, 2)
        stage.barrier(channel)
    for terms in KINDS:
        if "arguments" not in terms or stage.offers("x-priority"):
            queue, channel = stocked(stage, 5), stage.channel()
            channel.qos(2)
            channel.consume(queue, **terms)
            stage.barrier(channel)
            stage.barrier(channel)
    channel, failing = limited(stage, stocked(stage, 5), 2), stage.channel()
    failing.ack(BAD_TAG)
    stage.quiesce()
    stage.barrier(channel)


@rule("QOS-002")
def test_a_consumers_limit_is_used_up(stage: Stage) -> None:
    """A window of 4 over 9 messages; when all are settled it is filled again, then with the only one left. Windows
    that are a little larger than a number of one octet can say, or of two with a sign, over a few messages. A channel
    number that was closed with a full window has a whole one again."""
    channel = limited(stage, stocked(stage, 9), 4)
    for _ in range(3):
        channel.ack(0, multiple=True)
        stage.quiesce()
    former = limited(stage, stocked(stage, 6), 4)
    former.close()
    reopen(stage, former)
    former.qos(4)
    former.consume(stocked(stage, 6))
    stage.quiesce()
    for limit in WIDE:
        for shared in (False, True) if shares(stage) else (False,):
            limited(stage, stocked(stage, 4), limit, shared=shared)


@rule("QOS-003")
def test_each_consumer_has_its_own_limit(stage: Stage) -> None:
    """Two consumers with a limit of 3 on one channel, of the same queue and of two; and nine with a limit of 1, whose
    tags the broker chooses, and of a client's choice."""
    first, second = stocked(stage, 10), stocked(stage, 5)
    channel = limited(stage, first, 3)
    for queue in (first, second):
        channel.consume(queue)
        stage.quiesce()
    stage.barrier(channel)
    for tag in ("", None):
        many, channel = stocked(stage, 20), stage.channel()
        channel.qos(1)
        for _ in range(9):
            channel.consume(many, tag=tag)
            stage.quiesce()
        stage.barrier(channel)


@rule("QOS-004")
@pytest.mark.parametrize("then", ["many", "none", "at once", "together"])
def test_running_consumers_keep_their_limit(stage: Stage, then: str) -> None:
    """A runs with 2 while the limit becomes 4, none, and 1; B is started under 4. Then A settles one. Or there is none
    for those to come, and A settles all that it has, twice. Or the other limits come in one write with A. Or the
    channel has a limit as well, which they do not reach."""
    if then == "together":
        _beside_a_limit_of_the_channel(stage)
        return
    if then == "none":
        channel = limited(stage, stocked(stage, 8), 2)
        channel.qos(0)
        stage.quiesce()
        for _ in range(2):
            channel.ack(0, multiple=True)
            stage.quiesce()
        return
    if then == "at once":
        for limit in (4, 0, 1):
            queue, channel = stocked(stage, 6), stage.channel()
            with stage.batch():
                channel.qos(2)
                channel.consume(queue)
                channel.qos(limit)
            stage.quiesce()
        return
    queue, other = stocked(stage, 6), stocked(stage, 6)
    channel = limited(stage, queue, 2)
    for limit in (4, 0, 1):
        channel.qos(limit)
        stage.barrier(channel)
        if limit == 4:
            channel.consume(other)
            stage.quiesce()
    channel.ack(1)
    stage.quiesce()
    channel.ack(2)
    stage.quiesce()


def _beside_a_limit_of_the_channel(stage: Stage) -> None:
    if not shares(stage):
        return
    channel = stage.channel()
    channel.qos(2)
    channel.qos(20, global_=True)
    channel.consume(stocked(stage, 8))
    stage.quiesce()
    for limit in (4, 0, 1):
        channel.qos(limit)
        stage.quiesce()
        stage.barrier(channel)
        channel.ack(outstanding(channel)[0])
        stage.quiesce()


@rule("QOS-005")
def test_0_is_no_limit(stage: Stage) -> None:
    """More messages to one consumer than any window that brokers are known to have; some are settled, then all
    by the last tag. It gets what comes then."""
    queue, many = stage.queue(), MANY[stage.queue_type]
    publisher = stage.channel()
    publisher.confirm()
    publisher.publish(queue, many)
    stage.quiesce()
    channel = stage.channel()
    channel.qos(5)
    channel.qos(0)
    channel.consume(queue)
    stage.quiesce()
    channel.ack(7, multiple=True)
    stage.quiesce()
    for _ in range(2):
        if channel.unacked:
            channel.ack(channel.unacked[-1], multiple=True)
        stage.quiesce()
    publisher.publish(queue, 3)
    stage.quiesce()


@rule("QOS-006", queue_types=("classic",))
def test_a_channels_limit_is_never_passed(stage: Stage) -> None:
    """Limits of 1, 3, 5, and more than an octet can say, for two consumers of two queues; then one is settled."""
    for limit in (1, 3, 5, WIDE[0]):
        channel = stage.channel()
        channel.qos(limit, global_=True)
        for _ in range(2):
            channel.consume(stocked(stage, min(2 * limit, limit // 2 + MORE)))
        stage.quiesce()
        stage.barrier(channel)
        channel.ack(1)
        stage.quiesce()


@rule("QOS-007", queue_types=("classic",))
def test_both_limits_hold_at_once(stage: Stage) -> None:
    """10 for each consumer, 15 for the channel, two queues of 12; all is settled, and it fills again."""
    channel = stage.channel()
    channel.qos(10)
    channel.qos(15, global_=True)
    for _ in range(2):
        channel.consume(stocked(stage, 12))
        stage.quiesce()
    stage.barrier(channel)
    channel.ack(0, multiple=True)
    stage.quiesce()


@rule("QOS-008", queue_types=("classic",))
def test_limits_may_be_set_in_either_order(stage: Stage) -> None:
    """5 for the channel and 3 for each of two consumers, set in both orders."""
    for shared_first in (False, True):
        channel = stage.channel()
        channel.qos(5 if shared_first else 3, global_=shared_first)
        channel.qos(3 if shared_first else 5, global_=not shared_first)
        for _ in range(2):
            channel.consume(stocked(stage, 4))
            stage.quiesce()
        stage.barrier(channel)


@rule("QOS-009")
def test_what_global_means_where_it_is_denied(stage: Stage) -> None:
    """qos(5), then qos(2) with global, then two consumers with plenty of messages."""
    channel = stage.channel()
    channel.qos(5)
    channel.qos(2, global_=True)
    for _ in range(2):
        channel.consume(stocked(stage, 4))
        stage.quiesce()
    stage.barrier(channel)


@rule("QOS-011", queue_types=("classic",))
def test_a_changed_limit_takes_hold_in_the_end(stage: Stage) -> None:
    """6 deliveries are out when the limit becomes 2, and 4 when there had been none; then they are settled."""
    for before in (6, 0):
        queue = stocked(stage, 12 if before else 4)
        channel = limited(stage, queue, before, shared=True)
        out = len(channel.unacked)
        channel.qos(2, global_=True)
        stage.quiesce()
        restock(stage, queue, 6)
        stage.barrier(channel)
        channel.ack(out - 2, multiple=True)
        stage.barrier(channel)
        for tag in (out - 1, out):
            channel.ack(tag)
            stage.quiesce()


@rule("QOS-014")
def test_get_is_not_limited(stage: Stage) -> None:
    """A full window, and gets from the same queue; the same under a channel's limit, and where gets alone are out."""
    for shared in (False, True) if shares(stage) else (False,):
        queue = stocked(stage, 6)
        channel = limited(stage, queue, 2, shared=shared)
        for no_ack in (False, True):
            channel.get(queue, no_ack)
            stage.quiesce()
        full, alone = stocked(stage, 4), stage.channel()
        alone.qos(2, shared)
        stage.fetch(alone, full, 2)
        alone.get(full)
        stage.quiesce()


@rule("QOS-020")
def test_a_successor_has_its_full_limit(stage: Stage) -> None:
    """A is cancelled with a full window; B starts under another tag, and on a second channel under A's own, and with
    less. Then the same for limits that are smaller and greater than A's, which holds nothing when it is cancelled."""
    for before, after in ((4, 1), (1, 4)):
        queue = stocked(stage, 9)
        channel = limited(stage, queue, before)
        tag = next(iter(channel.view.consumers)) if channel.view is not None else None
        if tag is None:
            return
        channel.cancel(tag)
        stage.quiesce()
        channel.ack(0, multiple=True)
        channel.qos(after)
        stage.quiesce()
        channel.consume(queue, tag=tag)
        stage.quiesce()
        stage.barrier(channel)
    for same, less in ((False, False), (True, False), (True, True)):
        queue = stocked(stage, 9)
        channel = stage.channel()
        channel.qos(3)
        tag = channel.consume(queue)
        stage.quiesce()
        channel.cancel(tag)
        if less:
            channel.qos(1)
        stage.quiesce()
        channel.consume(queue, tag=tag if same else None)
        stage.quiesce()
        stage.barrier(channel)


@rule("QOS-021")
def test_limits_are_those_of_their_channel(stage: Stage) -> None:
    """Channels of one connection with a limit of 2, with one of 4, with one for the channel, and without any."""
    channels = [stage.channel() for _ in range(4)]
    channels[0].qos(2)
    channels[1].qos(4)
    if shares(stage):
        channels[2].qos(1, global_=True)
    stage.quiesce()
    for channel in channels:
        channel.consume(stocked(stage, 6))
        stage.quiesce()
    for channel in channels:
        stage.barrier(channel)


@rule("QOS-022", queue_types=("classic",))
@pytest.mark.parametrize("last", [0, 5_000])
def test_raising_and_removing_a_limit_delivers_at_once(stage: Stage, last: int) -> None:
    """A channel's limit of 2 is reached, and three consumers wait; it becomes 5, then it is none, or a high one."""
    channel = limited(stage, stocked(stage, 10), 2, shared=True)
    for _ in "12":
        channel.consume(stocked(stage, 2))
        stage.quiesce()
    for limit in (5, last):
        channel.qos(limit, global_=True)
        stage.quiesce()


@rule("QOS-023")
def test_a_prefetch_size_is_refused(stage: Stage) -> None:
    """basic.qos with a size of one octet, on a connection of its own; who accepts it is to obey it."""
    queue = stocked(stage, 3)
    channel = stage.channel(connection=stage.connect("sized"))
    channel.send(m.BasicQos(channel.number, prefetch_size=1, prefetch_count=3))
    stage.quiesce()
    channel.consume(queue)
    stage.quiesce()
    for _ in range(2):
        stage.barrier(channel)


@rule("QOS-024")
def test_qos_is_always_answered(stage: Stage) -> None:
    """Twice the same count, then none, then none again; with global, too."""
    channel = stage.channel()
    for shared in (False, True):
        for limit in (3, 3, 0, 0):
            channel.qos(limit, shared)
            stage.quiesce()
    with stage.batch():
        channel.qos(1)
        channel.qos(1)
    stage.quiesce()


@rule("QOS-025", queue_types=("quorum",))
def test_a_quorum_queue_refuses_a_channels_limit(stage: Stage) -> None:
    """A limit with global, and a consumer of a quorum queue, on a connection of its own."""
    queue = stocked(stage, 3)
    channel = stage.channel(connection=stage.connect("limited"))
    channel.qos(2, global_=True)
    stage.quiesce()
    channel.consume(queue)
    stage.quiesce()


@rule("QOS-027")
def test_a_full_consumer_holds_nobody_up(stage: Stage) -> None:
    """A, with a limit of 1, comes first; B, on another connection, gets all the rest."""
    queue = stage.queue()
    limited(stage, queue, 1)
    other = stage.channel(connection=stage.connect("other"))
    other.consume(queue)
    stage.quiesce()
    for _ in range(2):
        restock(stage, queue, 3)


@rule("QOS-028")
def test_without_qos_there_is_no_limit(stage: Stage) -> None:
    """A channel that never sends basic.qos, and twenty messages."""
    stage.channel().consume(stocked(stage, 20))
    stage.quiesce()
