"""TAG: how deliveries are numbered.

Tags belong to a channel: one sequence from 1, shared by its consumers and its gets, never repeated while the channel
lives, begun anew when its number is opened again, and apart from the numbers of confirms.
"""

from __future__ import annotations

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import holding, outstanding, reopen, stocked
from conformance.drive.stage import Stage


@rule("TAG-001")
def test_the_first_tag_of_a_channel(stage: Stage) -> None:
    """The first delivery of a fresh channel: once by get, once by consume."""
    queue = stocked(stage, 2)
    stage.fetch(stage.channel(), queue)
    stage.channel().consume(queue)
    stage.quiesce()


@rule("TAG-002")
def test_no_tag_is_zero(stage: Stage) -> None:
    """Deliveries of every kind, and confirms, before and after the channel is opened again."""
    queue = stocked(stage, 6)
    channel = stage.channel()
    for _ in range(2):
        channel.confirm()
        channel.publish(queue, 2)
        stage.fetch(channel, queue, no_ack=True)
        stage.fetch(channel, queue)
        channel.consume(queue, no_ack=True)
        stage.quiesce()
        channel.close()
        reopen(stage, channel)


@rule("TAG-003")
def test_tags_increase_over_consumers_and_gets(stage: Stage) -> None:
    """Two consumers, one of them automatic, and gets: what they are to receive is published and asked for in one go.
    Then more come than an octet can count."""
    manual, automatic, got = stage.queue(), stage.queue(), stocked(stage, 4)
    publisher, channel = stage.channel(), stage.channel()
    channel.consume(manual)
    channel.consume(automatic, no_ack=True)
    stage.quiesce()
    for _ in range(2):
        with stage.batch():
            for queue in (manual, automatic, automatic, manual):
                publisher.publish(queue)
            channel.get(got)
            channel.get(got, no_ack=True)
        stage.quiesce()
    publisher.publish(automatic, 256)
    stage.quiesce()
    stage.barrier(publisher)
    stage.barrier(channel)


@rule("TAG-004")
def test_tags_leave_no_gap(stage: Stage) -> None:
    """Auto-ack deliveries count too: they and manual ones take turns."""
    first, second, third = (stocked(stage, 3) for _ in range(3))
    channel = stage.channel()
    for no_ack in (True, False, True):
        stage.fetch(channel, first, no_ack=no_ack)
    channel.consume(second, no_ack=True)
    channel.consume(third)
    stage.quiesce()


@rule("TAG-005")
def test_gets_and_deliveries_share_one_sequence(stage: Stage) -> None:
    """A consumer with a window of one, and gets around its deliveries."""
    queue = stocked(stage, 6)
    channel = stage.channel()
    channel.qos(1)
    channel.consume(queue)
    stage.quiesce()
    for _ in range(2):
        stage.fetch(channel, queue)
        channel.ack(outstanding(channel)[0])
        stage.quiesce()


@rule("TAG-006")
def test_each_channel_counts_for_itself(stage: Stage) -> None:
    """Two channels of one connection fetch in turns."""
    queue = stocked(stage, 6)
    channels = [stage.channel(), stage.channel()]
    for _ in range(3):
        for channel in channels:
            stage.fetch(channel, queue)


@rule("TAG-007")
def test_a_reopened_channel_counts_from_one(stage: Stage) -> None:
    """The same number has three lives: each begins at 1, and the last is asked to settle a tag of the one before."""
    channel, queue = holding(stage, 2)
    channel.close()
    reopen(stage, channel)
    stage.fetch(channel, queue, 2)
    channel.close()
    reopen(stage, channel)
    channel.ack(1)
    stage.quiesce()


@rule("TAG-008")
def test_a_redelivery_has_a_new_tag(stage: Stage) -> None:
    """Requeued messages come again to the get, and to the consumer, that had them; the old tags are spent."""
    channel, queue = holding(stage, 1)
    channel.nack(1, requeue=True)
    stage.fetch(channel, queue)
    channel.ack(1)
    stage.quiesce()
    channel = stage.channel()
    channel.consume(stocked(stage, 2))
    stage.quiesce()
    for tag in channel.unacked[:1]:
        channel.reject(tag, requeue=True)
        stage.quiesce()
        channel.ack(tag)
    stage.quiesce()


@rule("TAG-009")
def test_tags_are_unsigned_64_bit(stage: Stage) -> None:
    """Tags around 2^63 and the largest are well-formed, and unknown; single, multiple, ack, nack and reject."""
    channel, queue = holding(stage, 2)
    for tag in (2**63, 2**64 - 1, 2**63 - 1):  # the rule's own first: any of them may cost the connection
        for multiple in (False, True):
            channel.ack(tag, multiple=multiple)
            reopen(stage, channel)
            stage.fetch(channel, queue, 2)
    channel.nack(2**63, multiple=True)
    reopen(stage, channel)
    channel.reject(2**64 - 1)
    stage.quiesce()


@rule("TAG-010")
def test_confirms_and_deliveries_are_numbered_apart(stage: Stage) -> None:
    """One channel confirms five publishes and settles three deliveries, one of them by a number the other has too."""
    queue, elsewhere = stage.queue(), stage.queue()
    channel = stage.channel()
    channel.confirm()
    channel.publish(elsewhere, 2)
    channel.consume(queue)
    stage.quiesce()
    for _ in range(3):
        channel.publish(queue)
        stage.quiesce()
    for tag in channel.unacked:
        channel.ack(tag)
    channel.publish(elsewhere)
    stage.quiesce()
