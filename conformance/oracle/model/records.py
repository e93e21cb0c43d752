"""What is remembered about messages, deliveries and settlements.

A `Copy` is one message in one queue: messages are told apart by their id, and a message that a queue hands on to
another (dead-lettering, several bindings) is another copy there. Every copy is at one of five places:

    WAITING   in its queue, as far as we know
    OUT       held by the delivery `holder`, unsettled
    GONE      settled, or delivered with no_ack: must never be seen again
    VOID      published on a channel that had failed: must never be seen at all
    PROVISIONAL  published in a transaction that is not committed: must not be seen either

`unowed` copies may be lost, or never have arrived: nobody owes them. `indeterminate` copies may be anywhere, because
a race that the text allows decided about them: nothing at all is claimed until they are seen again. All indices are
the `seq` of events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife, Consumer
    from conformance.oracle.model.consumers.clocks import Timer
    from conformance.oracle.model.queues.queue import Queue

WAITING, OUT, GONE, VOID, PROVISIONAL = "waiting", "out", "gone", "void", "provisional"

PUBLISHED, RETURNED, RECOVERED, RELEASED, DEAD = "published", "returned", "recovered", "released", "dead-lettered"
RETURNED_LATE = "timed out"
"""How a copy came into its queue: by publish; by nack or reject; by recover; by the end of its channel; from another
queue that it was rejected from; because its delivery timed out."""

EITHER = "either"
"""Stands for a rule id where the broker may accept or refuse a settlement."""


@dataclass(slots=True, eq=False, repr=False)
class Copy:
    """One message in one queue."""

    id: str
    queue: Queue
    published: int
    publisher: ChannelLife | None = None
    place: str = WAITING
    confirmed: int = 0
    proof: int = 0
    """When an answer came that proves it to be in its queue; 0: none has come since it entered."""
    entered: int = 0
    """When the client sent what brought it into its queue."""
    entry: str = PUBLISHED
    settlement: Settlement | None = None
    """The settlement that returned it, or that made it GONE."""
    holder: Delivery | None = None
    """Its last delivery that the client saw on a living channel."""
    seen: bool = False
    returns: int = 0
    failures: int = 0
    """Those of its returns that were a reject, or the end of a channel."""
    miscounted: bool = False
    """More of its returns may have been such."""
    spent: bool = False
    """It was returned more often than the delivery limit of its queue allows."""
    aground: ChannelLife | None = None
    """The channel on which it was delivered last, after that had failed: its end is believed to have returned it."""
    inherited: bool = False
    """It came into its queue as a dead letter."""
    former: Publication | None = None
    """Of a dead letter: how that was published which died."""
    deaths: tuple[tuple[str, str, int], ...] = ()
    """What x-death told when it was delivered last: queues, reasons and counts."""
    hidden: bool = False
    """It may have been delivered without the client counting it as seen."""
    fleeting: bool = False
    """It or its queue may expire, or be dropped: it is never owed."""
    unowed: bool = False
    indeterminate: bool = False
    ambiguous: bool = False
    """Another message of the same id was published to this queue."""
    stale_settlement: Settlement | None = None
    """The client settled a delivery of it that had timed out before."""
    publication: Publication | None = None
    survives: int = 0
    """When the broker was killed, for the first time since it promised to keep the message or last showed it."""

    weathered: str = ""
    """How the broker has ended since it was published: the kind of the last such event, KILLED or RESTARTED."""

    def count(self, entry: str, settlement: Settlement | None) -> None:
        """It is returned once more."""
        self.returns += 1
        self.failures += entry == RELEASED or (settlement is not None and settlement.method == "basic.reject")
        self.miscounted = self.miscounted or self.hidden or self.unproven_return()

    @property
    def undecided(self) -> bool:
        """May the broker still say that it has not taken it over? Then it may come into its queue late, or never."""
        return self.publication is not None and self.publication.undecided

    def unproven_return(self) -> bool:
        """May the end of the channel have returned it, instead of what was sent before?"""
        settlement = self.settlement
        return settlement is not None and not settlement.channel.alive()

    def older_than(self, other: Copy) -> bool:
        """Was this certainly put into the queue before the other: by the same channel, or confirmed before? What is
        refused may come into it at any later time."""
        if self.publication is not None and self.publication.verdict == "basic.nack":
            return False
        if self.undecided and not (self.publisher is not None and self.publisher.alive()):
            return False
        if self.publisher is other.publisher and self.publisher is not None:
            return self.published < other.published
        return 0 < self.confirmed < other.published


@dataclass(slots=True, eq=False, repr=False)
class Publication:
    """One basic.publish with its content, and what the broker has said about it."""

    seq: int
    number: int
    """Its number on a channel in confirm mode, else 0."""
    message: str
    exchange: str
    routing_key: str
    mandatory: bool
    persistent: bool
    size: int
    body: str
    """What stands for its body."""
    content: str
    """The arguments of its event, with its properties."""
    frames: int
    """How many body frames it fills."""
    uneven: bool = False
    """It was split otherwise than into frames of one size and a rest."""
    has_frame_end: bool = False
    """Its body has an octet that ends frames, and nothing else is special about it."""
    copies: list[Copy] = field(default_factory=list)
    routed: bool | None = None
    """Does it reach any queue? None: the history does not prove it either way."""
    full: Queue | None = None
    """A queue on its way that has to turn it away, unless it has turned away what came before."""
    pressed: int = 0
    """This many publishes of its channel went to that queue before it; 0: those that were confirmed by then fill it."""
    pipelined: bool = False
    """It was sent before the answer to confirm.select came, or there is none."""
    immediate: bool = False
    """It asks for a consumer that takes it at once: without one it is returned, whether it was routed or not."""
    returned: int = 0
    committed: int = 0
    """When the client committed the transaction that it was part of."""
    resolved: int = 0
    verdict: str = ""
    """basic.ack or basic.nack."""
    turned_away: bool = False
    """It was refused by a queue that was certainly full; else the broker had reasons of its own."""

    @property
    def undecided(self) -> bool:
        """May the broker still say that it has not taken it over?"""
        return self.number > 0 and not self.resolved

    def __str__(self) -> str:
        """In words, as reports show it."""
        return f"publish {self.number} ({self.message})" if self.number else f"the publish of {self.message}"


@dataclass(slots=True, eq=False, repr=False)
class Delivery:
    """One basic.deliver or get-ok on a channel."""

    tag: int
    message: str
    queue: str
    consumer_tag: str | None
    redelivered: bool
    seq: int
    no_ack: bool
    channel: ChannelLife
    copy: Copy
    consumer: Consumer | None = None
    settlement: Settlement | None = None
    recovered: int = 0
    """When the client asked to have it recovered."""
    orphan: bool = False
    """Its consumer had been cancelled when it was settled."""
    crowd: int = 0
    """How many deliveries and receivers its queue had when its channel ended with it."""
    indeterminate: bool = False
    restored: int = 0
    """When a rollback made it outstanding again."""
    timer: Timer | None = None
    """Its clock, where it may time out."""
    ignored: int = 0
    """When the client settled it after a mistake, which has no effect."""
    endangered: Settlement | None = None
    """This settled a stale delivery of an earlier consumer of the same tag, while this one was out."""

    @property
    def stale(self) -> bool:
        """It has timed out."""
        return self.timer is not None and self.timer.stale > 0

    @property
    def owner(self) -> str:
        """Who got it, for brokers that settle by owner: the consumer, or all gets of the channel."""
        return self.consumer_tag if self.consumer_tag is not None else "basic.get"


@dataclass(slots=True, eq=False, repr=False)
class Settlement:
    """One ack, nack or reject of the client, and how it looked when it was sent."""

    seq: int
    method: str
    method_id: int
    tag: int
    multiple: bool
    requeue: bool
    channel: ChannelLife
    committed: int = 0
    """The tx.commit with which it takes effect, in a transaction."""
    refusal: str = ""
    """The rule by which the broker must refuse it; empty: it must accept it; EITHER: both are right."""
    covered: list[Delivery] = field(default_factory=list)
    """What it settles; for a multiple that must be refused, what it would have settled."""
    outstanding: int = 0
    gap: bool = False
    """It passes over tags that are settled already."""
    early: bool = False
    """It leaves older deliveries outstanding."""
    cancelled: bool = False
    """It covers deliveries of a cancelled consumer."""
    deleted: bool = False
    """It covers deliveries from a deleted queue."""
    racing: bool = False
    """It may reach deliveries that were under way when it was sent."""
    accepted: int = 0
    """When an answer showed that the broker took it without complaint."""
    accepted_ns: int = 0
    time_ns: int = 0

    @property
    def everything(self) -> bool:
        return self.multiple and self.tag == 0

    @property
    def owners(self) -> int:
        """Over how many queues, consumers and gets it reaches."""
        return len({(delivery.queue, delivery.owner) for delivery in self.covered})

    def __str__(self) -> str:
        """In words, as reports show it."""
        multiple = ", multiple" if self.multiple else ""
        requeue = "" if self.method == "basic.ack" else ", requeue" if self.requeue else ", no requeue"
        return f"{self.method}({self.tag}{multiple}{requeue})"


@dataclass(slots=True, eq=False, repr=False)
class Census:
    """A queue at rest, of which a count was asked for."""

    queue: Queue
    due: int
    """This many messages must be ready in it."""
    said: int
    """This many the answer before has said; -1: nothing that still holds."""
    said_by: int
    stirred: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Request:
    """A method of the client that is to be answered."""

    seq: int
    method: str
    class_id: int
    method_id: int
    consumer_tag: str = ""
    source: Queue | None = None
    no_ack: bool = False
    receiver: PotentialReceiver | None = None
    ignored: bool = False
    """Sent after a mistake that closes the channel: must not be answered."""
    rule: str = ""
    """The rule by which it must be answered, where its method alone does not tell."""
    change: TopologyChange | None = None
    again: bool = False
    """A basic.qos with the count that is set already."""
    committed: list[Publication] = field(default_factory=list)
    """What a tx.commit publishes."""
    settled: list[Delivery] = field(default_factory=list)
    """What it settles."""
    census: Census | None = None
    """What its answer tells the count of."""
    claims: tuple[str, ...] = ()
    """Rules by which it must be carried out."""
    sent_ns: int = 0
    """When it was sent."""
    table: bool = False
    """It has arguments."""
    names: frozenset[str] = frozenset()
    """The queues and exchanges that it is about, where it must."""
    consumers: int = -1
    """So many consumers the queue had when its declaration was sent; -1: that is not certain."""


@dataclass(slots=True, eq=False, repr=False)
class PotentialReceiver:
    """Something that may take messages off a queue: a consumer or a basic.get, until it is known to have ended."""

    start: int
    no_ack: bool
    get: bool
    lost: bool = False
    """Its channel has failed or closed: what it takes from now on may come back, or vanish, unseen."""
    consumer: Consumer | None = field(default=None, repr=False)


@dataclass(slots=True, eq=False, repr=False)
class ClientError:
    """What the client did wrong, and how the broker must end its channel or its connection for it."""

    seq: int
    rule: str
    code: int
    class_id: int
    method_id: int
    what: str
    optional: bool = False
    """The broker may also do as asked."""
    channel: int = 0
    """Of a connection: where only an answer on this channel shows that the broker did as asked; 0: on any."""
    scope: Literal["channel", "connection"] = "connection"
    """What it costs the client."""
    number: int = 0
    """The number that a failing publish would have had in confirm mode."""
    answered: list[Request] = field(default_factory=list)
    """Requests sent with or after it that were answered all the same."""
    names: frozenset[str] = frozenset()
    """The queues and exchanges that it is about, where it costs the channel."""
    done: str = ""
    """What the broker has said on channel 0 in place of an end."""
    also: tuple[int, ...] = ()
    """Codes beside `code` that are right as well."""
    instead: tuple[int, ...] = ()
    """Of a channel: codes by which it may cost the connection instead."""
    octets: bool = False
    """It was no method: a close may name what it likes."""
    place: int = 0
    """It is a frame that was out of place on this channel; once that is closed it is discarded."""
    silent: bool = False
    """The mere end of the connection is right as well."""

    @property
    def codes(self) -> tuple[int, ...]:
        """All codes that are right."""
        return (self.code, *self.also)

    @property
    def all_codes(self) -> str:
        """The same in words."""
        return " or ".join(map(str, self.codes)) if self.code else "of any kind"

    def forgiven(self) -> ClientError:
        """The same mistake, for which nothing need follow any more, and which breaks no rule."""
        same = ClientError(self.seq, "", self.code, self.class_id, self.method_id, self.what, optional=True)
        same.channel, same.scope, same.number, same.answered = self.channel, self.scope, self.number, self.answered
        same.names, same.done, same.also, same.instead = self.names, self.done, self.also, self.instead
        same.octets, same.silent = self.octets, self.silent
        return same


@dataclass(slots=True, eq=False, repr=False)
class SettlementError(ClientError):
    """A settlement that the broker must refuse by closing the channel."""

    settlement: Settlement = field(kw_only=True)
