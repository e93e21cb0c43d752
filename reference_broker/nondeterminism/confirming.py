"""Lawful variations of publisher confirms: in which shape, in which order, when, and whether at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.queues.queue import Queue
from reference_broker.nondeterminism.kinds import SHARES, TICKS, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.channels.confirms import Confirms
    from reference_broker.core.queues.message import Message

GUIDE = "guide: Consumer Acknowledgements and Publisher Confirms"


@variation(
    "confirms.each",
    "confirm every publish by itself, however many are ready",
    f'{GUIDE}, "Ordering Considerations for Publisher Confirms": a confirm is for "a single message or a group"',
)
def each(free: Free) -> None:
    def flush(self: Confirms, channel: int) -> list[m.BasicAck | m.BasicNack]:
        accepted, ready = set(self.accepted), sorted([*self.accepted, *self.refused])
        self.accepted, self.refused = [], []
        return [
            m.BasicAck(channel, number, False) if number in accepted else m.BasicNack(channel, number, False, False)
            for number in ready
        ]

    free.parts.override("confirms", flush=flush)


@variation(
    "confirms.multiple-of-one",
    "say multiple where it covers only the publish it names",
    'AMQP 0-9-1 XML: basic.ack, field multiple: a number "up to and including" which; how many those are is not said',
    share=SHARES,
)
def multiple_of_one(free: Free) -> None:
    honest = free.parts.confirms.flush

    def flush(self: Confirms, channel: int) -> list[m.BasicAck | m.BasicNack]:
        out = honest(self, channel)
        lowest = min([*self.pending, *(confirm.delivery_tag for confirm in out)], default=0)
        return [widened(confirm) if confirm.delivery_tag == lowest and free.luck() else confirm for confirm in out]

    free.parts.override("confirms", flush=flush)


def widened(confirm: m.BasicAck | m.BasicNack) -> m.BasicAck | m.BasicNack:
    if isinstance(confirm, m.BasicAck):
        return m.BasicAck(confirm.channel, confirm.delivery_tag, True)
    return m.BasicNack(confirm.channel, confirm.delivery_tag, True, confirm.requeue)


@variation(
    "confirms.held-back",
    "confirm late, and then what has gathered meanwhile together",
    f'{GUIDE}, "Ack Latency for Persistent Messages": confirms come after an interval, "a few hundred milliseconds"',
    share=SHARES,
    ticks=TICKS,
)
def held_back(free: Free) -> None:
    hold(free, all_of_them=True)


@variation(
    "confirms.out-of-order",
    "confirm a later publish before an earlier one",
    f'{GUIDE}, "Ordering Considerations for Publisher Confirms": the moment depends on delivery mode and queues, so '
    'confirms "can arrive in a different order"',
    share=SHARES,
    ticks=TICKS,
)
def out_of_order(free: Free) -> None:
    hold(free, all_of_them=False)
    honest = free.parts.confirms.flush

    def flush(self: Confirms, channel: int) -> list[m.BasicAck | m.BasicNack]:
        out = honest(self, channel)
        multiples = [confirm for confirm in out if confirm.multiple]
        single = [confirm for confirm in out if not confirm.multiple]
        free.chance.shuffle(single)
        return multiples + single

    free.parts.override("confirms", flush=flush)


def hold(free: Free, *, all_of_them: bool) -> None:
    """Some of what is ready to be confirmed stays unresolved for some ticks; none when the channel ends."""
    honest = free.parts.channel

    def flush_confirms(self: Channel) -> None:
        held = [] if self.confirms is None or self.closing else keep(self.confirms, free, all_of_them)
        honest.flush_confirms(self)
        if held:
            free.put_off(lambda: release(self, held))

    free.parts.override("channel", flush_confirms=flush_confirms)


def keep(confirms: Confirms, free: Free, all_of_them: bool) -> list[tuple[int, bool]]:
    """Take numbers out of what is ready: these, and whether they are accepted."""
    ready = [*((number, True) for number in confirms.accepted), *((number, False) for number in confirms.refused)]
    held = (ready if free.luck() else []) if all_of_them else [one for one in ready if free.luck()]
    numbers = {number for number, _ in held}
    confirms.accepted = [number for number in confirms.accepted if number not in numbers]
    confirms.refused = [number for number in confirms.refused if number not in numbers]
    confirms.pending = dict.fromkeys(sorted([*confirms.pending, *numbers]))
    return held


def release(channel: Channel, held: list[tuple[int, bool]]) -> None:
    """Ready again. With a share of 1 they would be held for ever, so now they leave."""
    if channel.confirms is None or channel.closing:
        return
    for number, accepted in held:
        (channel.confirms.accept if accepted else channel.confirms.refuse)(number)
    for confirm in channel.confirms.flush(channel.number):
        channel.connection.send(confirm)


@variation(
    "returns.late",
    "return a message after later publishes were confirmed, and confirm it after that",
    f'{GUIDE}, "When Will Published Messages Be Confirmed by the Broker?": an unroutable message is returned before it '
    "is confirmed; where that stands among other confirms is not said",
    share=SHARES,
    ticks=TICKS,
)
def returns_late(free: Free) -> None:
    honest, accepted = free.parts.channel, free.parts.confirms.accept
    late: dict[Confirms, dict[int, tuple[str, Message]]] = {}

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        confirms = self.confirms
        if confirms is None or self.transaction is not None or not (confirms in late or free.luck()):
            honest.give_back(self, exchange, message)
            return
        if confirms not in late:
            late[confirms] = {}
            free.put_off(lambda: go_on(self, confirms))
        late[confirms][confirms.published] = exchange, message

    def accept(self: Confirms, number: int) -> None:
        if number not in late.get(self, ()):
            accepted(self, number)

    def go_on(channel: Channel, confirms: Confirms) -> None:
        returned = late.pop(confirms)
        if channel.closing or channel.confirms is not confirms:
            return
        for exchange, message in returned.values():
            honest.give_back(channel, exchange, message)
        release(channel, [(number, True) for number in returned if number in confirms.pending])

    free.parts.override("channel", give_back=give_back)
    free.parts.override("confirms", accept=accept)


@variation(
    "confirms.refuse",
    "refuse what it could take, for reasons of its own, with the message in each of its queues now, later or never",
    f'{GUIDE}, "Negative Acknowledgments for Published Messages": in exceptional cases a broker "was unable to process '
    'the messages and refuses responsibility for them"; where they are then is not said',
    share=(0.05, 0.3),
    ticks=TICKS,
)
def refuse(free: Free) -> None:
    honest = free.parts.channel.publish

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        queues = [] if self.confirms is None or self.transaction is not None else routed(self, exchange, message)
        full = any(queue.refuses(message) for queue in queues)
        if full or not queues or not free.luck():
            return honest(self, exchange, message, mandatory)
        for queue in queues:
            free.chance.choice((lose, arrive, arrive_late))(queue, message)
        return False

    def lose(queue: Queue, message: Message) -> None: ...

    def arrive(queue: Queue, message: Message) -> None:
        queue.publish(message)

    def arrive_late(queue: Queue, message: Message) -> None:
        free.put_off(lambda: None if queue.deleted else arrive(queue, message))

    free.parts.override("channel", publish=publish)


def routed(channel: Channel, exchange: str, message: Message) -> list[Queue]:
    """Its queues, where it goes nowhere else."""
    found = list(channel.vhost.route(exchange, message))
    queues = [one for one in found if isinstance(one, Queue)]
    return queues if len(queues) == len(found) else []
