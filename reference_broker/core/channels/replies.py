"""Direct reply-to: answers that go straight to a channel, with no queue in between.

A channel that consumes from the pseudo-queue amq.rabbitmq.reply-to, without acknowledgements, gets an address of its
own. What it publishes with reply-to set to the name of the pseudo-queue carries that address instead, and who publishes
to the address, through the default exchange, reaches the channel, as long as it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.errors import precondition, reused
from reference_broker.core.queues.message import Message

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel

REPLY_TO = "amq.rabbitmq.reply-to"


class ReplyTo:
    """One channel's address. Takes messages as a queue does."""

    __slots__ = ("channel", "name", "tag")

    def __init__(self, channel: Channel, tag: str) -> None:
        self.channel = channel
        self.tag = tag
        self.name = f"{REPLY_TO}.{channel.vhost.unique()}"

    def publish(self, message: Message) -> bool:
        channel = self.channel
        method = m.BasicDeliver(
            channel.number, self.tag, channel.next_tag(), False, message.exchange, message.routing_key
        )
        channel.connection.send_content(method, message)
        return True


def consume(channel: Channel, method: m.BasicConsume) -> None:
    """Raises ChannelException where answers would have to be acknowledged, or there is an address already, and
    ConnectionException where the tag is in use."""
    if method.consumer_tag in channel.consumers:
        raise reused(method.consumer_tag)
    if channel.reply_to is not None:
        raise precondition("reply consumer already set")
    if not method.no_ack:
        raise precondition("reply consumer cannot acknowledge")
    tag = method.consumer_tag or f"amq.ctag-{channel.vhost.unique()}"
    channel.reply_to = ReplyTo(channel, tag)
    channel.vhost.replies[channel.reply_to.name] = channel.reply_to
    if not method.no_wait:
        channel.connection.send(m.BasicConsumeOk(channel.number, tag))


def cancel(channel: Channel) -> None:
    if channel.reply_to is not None:
        channel.vhost.replies.pop(channel.reply_to.name, None)
        channel.reply_to = None


def with_address(channel: Channel, message: Message) -> Message:
    """The message with the channel's own address to reply to. Raises ChannelException if it has none."""
    if channel.reply_to is None:
        raise precondition("fast reply consumer does not exist")
    return message.copy(message.exchange, message.routing_key, reply_to=channel.reply_to.name)
