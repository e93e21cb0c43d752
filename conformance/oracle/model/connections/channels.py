"""One life of a channel number, as its client sees it.

A number that is closed and opened again is another `Channel`: nothing is carried over, so nothing here is keyed by
number. States, from the client's side:

    opening --open-ok--> open --our close--> closing --close-ok--> closed
                          |                     ^
                          +--a mistake--> failing +--our close (the closes cross)
                                            |
                                            +--the broker's close--> closed (until our close-ok: `discarding`)

`failing` begins when a mistake is *sent*: all that is sent after it must have no effect. A channel is `indeterminate`
while a race that the text allows decides whether it has failed; then nothing is claimed about what it does.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.oracle.model import memory
from conformance.oracle.model.consumers.windows import Shared, Window
from conformance.oracle.model.records import (
    ClientError,
    Copy,
    Delivery,
    PotentialReceiver,
    Publication,
    Request,
    Settlement,
    SettlementError,
)

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.consumers.cancelling import Ended
    from conformance.oracle.model.consumers.clocks import Levels
    from conformance.oracle.model.queues.emptied import QuietPurge
    from conformance.oracle.model.queues.queue import Queue
    from conformance.oracle.topology import TopologyChange

OPENING, OPEN, FAILING, CLOSING, CLOSED = "opening", "open", "failing", "closing", "closed"
STARTING, LIVE, CANCELLING, GIVEN_UP, TIMED = "starting", "live", "cancelling", "given up", "timed out"

PUBLISH = 60, 40
BUFFERING = 32
"""This many commands a channel sends to a quorum queue before it waits for the first to be applied."""
UNDONE = 64
"""So many messages are remembered that a client has rolled back."""
NEVER = 1 << 64
"""A number above all that a channel can reach."""
UNNAMED = "\0"
"""So the tag of a consumer begins as long as nobody knows which one the broker has chosen."""


def unnamed(seq: int) -> str:
    """The tag, until it is known, of a consumer that was asked for then."""
    return f"{UNNAMED}{seq}"


@dataclass(slots=True, eq=False, repr=False)
class Consumer:
    """One consumer, from the sending of consume until cancel-ok."""

    tag: str
    """As long as the broker has not told the one that it has chosen: `UNNAMED` and a number."""
    queue: str
    no_ack: bool
    state: str
    source: Queue
    receiver: PotentialReceiver
    limit: int = 0
    limited_at: int = 0
    """The basic.qos that set this limit; 0: the channel had seen none."""
    limited_globally: bool = False
    """It had the global flag, which the profile disregards."""
    limit_moved: bool = False
    """Nothing is known of its limit."""
    overruled: bool = False
    """Another limit was set for the consumers to come, which is none of its business."""
    window: Window = field(default_factory=Window)
    since: int = 0
    """From here on the broker could have sent what the consumer gets next."""
    by_ack: bool = False
    """An ack made room then; RabbitMQ's queues handle one before returns that were sent earlier and wait as well."""
    established: int = 0
    """When it was proven that the queue knows it."""
    received: int = 0
    asked: int = 0
    """When the client sent its cancel."""
    handled: int = 0
    """When an answer showed that the channel has handled that."""
    noticed: int = 0
    """When the broker said that it has ended."""
    levels: Levels | None = None
    """The timeouts that were set when it started."""
    started_ns: int = 0
    revived: int = 0
    """When the client settled the last delivery that had timed out."""
    revived_by_return: bool = False
    """It returned some of these to the queue."""
    partly: bool = False
    """It has settled some of them."""
    revoked: int = 0
    """When its client sent new credentials after it had lost the right to read the queue."""
    quiet: bool = False
    """It was started with nowait."""
    exclusive: bool = False
    """Its queue serves nobody beside it."""
    suspended: bool = False
    """Its client has paused its channel: from then on a broker may count it or not."""
    rank: int = 0
    """Its x-priority."""
    bereft: bool = False
    """Its queue is gone, its client is not told, and the channel has answered since."""

    @property
    def named(self) -> bool:
        """Is its tag known?"""
        return not self.tag.startswith(UNNAMED)

    def full(self) -> bool:
        return not self.no_ack and 0 < self.limit <= self.window.held and not self.limit_moved

    def may_receive(self) -> bool:
        return not self.full() and self.source.may_hold()


@dataclass(slots=True, eq=False, repr=False)
class ConfirmRequest:
    """One confirm.select, and how many publishes in confirm mode came before it."""

    seq: int
    published: int
    waits: bool
    """It is to be answered."""
    answered: int = 0


@dataclass(slots=True, eq=False, repr=False)
class ChannelLife:
    """One life of a channel number."""

    connection: Connection
    number: int
    opened: int
    state: str = OPENING
    adopted: bool = False
    """It was open before the history began: its past is not known."""
    previous: ChannelLife | None = None
    former_tag: int = 0
    """The highest tag that any former life of the number has had."""
    former_published: int = 0
    """How many publishes all its former lives have numbered."""
    former_open: int = 0
    """How many of those were unresolved when their life ended."""
    former_confirm: bool = False
    """Any of them was in confirm mode."""
    haunted: bool = False
    """What any of them did is seen to live on in this one."""
    ghosts: frozenset[str] = frozenset()
    """The consumers of those lives."""
    last_tag: int = 0
    skipped: set[int] = field(default_factory=set)
    """Tags that were left out so far, up to a number of them."""
    last_was_get: bool = False
    fetched: bool = False
    """It has used basic.get."""
    unacked: OrderedDict[int, Delivery] = field(default_factory=OrderedDict)
    deliveries: dict[int, Delivery] = field(default_factory=dict)
    first_tag: int = -1
    """The tag of its first delivery; -1: it has had none."""
    forgotten: int = 0
    """Up to this tag settled deliveries may have been forgotten."""
    strays: set[int] = field(default_factory=set)
    """Tags that came to no consumer: the broker may wait for their settlement, or not."""
    consumers: dict[str, Consumer] = field(default_factory=dict)
    joined: int = 0
    """How many consumers it has ever had."""
    ended: dict[str, Ended] = field(default_factory=dict)
    """The latest consumer of each tag that has ended while the channel lived."""
    bereaved: bool = False
    """One of them ended by a notification."""
    unrested: list[Ended] = field(default_factory=list)
    """Those after whose end the channel has not answered yet."""
    joining: list[Consumer] = field(default_factory=list)
    """Consumers of which it is not yet proven that their queue knows them."""
    silent: list[Consumer] = field(default_factory=list)
    """Consumers that were cancelled without answer, and may still be there."""
    quiet: list[Request] = field(default_factory=list)
    """What was sent with nowait, and may not be handled yet, with what is claimed of it."""
    untold: list[TopologyChange | QuietPurge] = field(default_factory=list)
    """What was changed with nowait, and may not be done yet."""
    risk: int = 0
    """The last request that fails the channel if its queue is deleted before; until an answer shows that it did not."""
    afterlife: bool = False
    """It was delivered to when both sides had said that it is closed."""
    end: str = ""
    """What ended it: close, connection.close, error, closed or aborted (the socket, by us), fin, reset, heartbeat."""
    requests: dict[tuple[str, str], deque[Request]] = field(default_factory=dict)
    late: dict[tuple[str, str], deque[Request]] = field(default_factory=dict)
    """Requests that must not be answered, because they were sent after a mistake."""
    confirm: bool = False
    published: int = 0
    astray: bool = False
    """Its gets may be answered from any queue."""
    unconfirmed: OrderedDict[int, Publication] = field(default_factory=OrderedDict)
    """Publishes without confirm, by number."""
    refused: set[int] = field(default_factory=set)
    """Numbers that were refused."""
    accepted: int = 0
    """How many publishes were confirmed."""
    met: set[str] = field(default_factory=set)
    """Where the messages of these were when the confirm came: WAITING, OUT, GONE."""
    counted: bool = False
    """A confirm has shown that the broker numbers publishes as the client does: it named the latest there was, or 1
    before any other."""
    overtaking: int = 0
    """How many of them were confirmed before an earlier one of their kind, and how many were not."""
    orderly: int = 0
    spread: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """The latest numbers that were resolved of publishes to several queues, and how many queues are left of each."""
    repeating: int = 0
    """The number that was just confirmed again, and for fewer of its queues than it went to."""
    twice: bool = False
    """It has confirmed again what went to one queue, or not once for each of several."""
    forgiven: int = 0
    """Nothing is claimed about the numbers up to this one any more."""
    selects: list[ConfirmRequest] = field(default_factory=list)
    """Each confirm.select."""
    uncounted: int = 0
    """Publishes in confirm mode that came after a mistake."""
    plain: int = 0
    """Publishes outside of confirm mode."""
    numbered: int = 0
    """Those of them that the broker counts nevertheless."""
    oversize: int = 0
    """By how much the body frames of publishes in confirm mode exceed their number; and how many had none."""
    bodiless: int = 0
    recent: OrderedDict[str, list[Publication]] = field(default_factory=OrderedDict)
    """The latest publishes by message, for what may be returned."""
    forgetful: bool = False
    """There were more."""
    sizes: set[int] = field(default_factory=set)
    """The octets of large bodies that were published."""
    method_error: ClientError | None = None
    transactional: bool = False
    rolled_back: int = 0
    """When its client last rolled back."""
    undone: deque[str] = field(default_factory=lambda: deque(maxlen=UNDONE))
    """The latest messages that were published and rolled back."""
    uncommitted: list[tuple[Settlement, list[Delivery]]] = field(default_factory=list)
    unpublished: list[Publication] = field(default_factory=list)
    prefetch: int = 0
    """The limit for consumers that are started from now on, when it was set, and by which flag."""
    prefetch_at: int = 0
    prefetch_global: bool = False
    octets: int = 0
    """The prefetch-size that was asked for last, and when."""
    octets_at: int = 0
    shared: Shared = field(default_factory=Shared)
    paused: bool = False
    timed: bool = False
    """A consumer of it has timed out."""
    settlement_error: SettlementError | None = None
    indeterminate: bool = False
    race: Settlement | None = None
    """A multiple with tag 0 that may cover deliveries we have not read, until an answer shows it was handled."""
    swept: list[Queue] = field(default_factory=list)
    """The queues to which that may return something."""
    unproven: deque[Settlement] = field(default_factory=deque)
    lapsed: dict[Queue, int] = field(default_factory=dict)
    """Queues of which messages are forgotten that it settled without any proof so far, and when the last of them."""
    handled: int = 0
    """An answer has shown that the broker has handled what was sent until then."""
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    """Other methods sent since the last answer, by class and method id, with when."""
    dubious: dict[tuple[int, int], int] = field(default_factory=dict)
    """Those of which nobody knows whether they are a mistake."""
    spurned: dict[tuple[int, int], int] = field(default_factory=dict)
    """Methods sent after the broker closed it, or had to, and before the client did, which the broker must discard."""
    unsynced: dict[str, deque[tuple[int, Copy]]] = field(default_factory=dict)
    confirmed_from: int = 0
    """When the latest publish was sent that has been confirmed by the queue of its last single settlement."""
    last_single: Settlement | None = None
    highest_single: Settlement | None = None
    settlements: int = 0
    """How many it was sent."""
    last_multiple: Settlement | None = None
    last_settlement: Settlement | None = None
    may_have_missed: int = 0
    """The latest publish to an exchange that may not have been there."""
    gave_back: int = 0
    """When the client last returned deliveries, or had them recovered."""
    gets_recovered: int = 0
    """How many deliveries of basic.get it had recovered."""
    modes: set[bool] = field(default_factory=set)
    released: list[Copy] = field(default_factory=list)
    let_pass: bool = False
    """The broker let a mistake pass. What was sent after it may have been carried out."""
    came_back: int = 0
    """How many messages that its end gave back were seen again."""
    gets_back: int = 0
    """How many of these basic.get had fetched."""
    live_queues: frozenset[str] = frozenset()
    close_sent: int = 0
    """When our close was sent that is not answered yet."""
    closed_with: int = 0
    """When the client sent its close, of the channel or of the whole connection."""
    close_answered: int = 0
    """When close-ok for our close came, of the channel or of the whole connection."""
    close_seen: int = 0
    """When the broker's own close came."""
    voided: list[Copy] = field(default_factory=list)
    """Published after a mistake."""
    discarding: bool = False
    """The broker has closed it and our close-ok is not yet sent."""
    confirms_since: int = 0
    """Publishes sent since the last delivery; tells one shared counter from two."""

    @property
    def incarnation(self) -> int:
        """Tells the lives of one number apart."""
        return self.opened

    @property
    def settled(self) -> frozenset[int]:
        """Tags of manual deliveries that are settled."""
        return frozenset(
            tag for tag, delivery in self.deliveries.items() if not delivery.no_ack and tag not in self.unacked
        )

    @property
    def getting(self) -> bool:
        """Is a basic.get not answered yet?"""
        return bool(self.requests.get(("basic.get", "")))

    def in_flight_possible(self) -> bool:
        """May the broker be sending deliveries that we have not read?"""
        return self.getting or any(consumer.may_receive() for consumer in self.consumers.values())

    def overtook(self, since: int) -> bool:
        """May what was sent then have reached its queue before returns that were sent earlier?"""
        return any(consumer.by_ack and consumer.since == since for consumer in self.consumers.values())

    def may_buffer(self) -> bool:
        """May it be keeping settlements for a quorum queue back, because so much is under way?"""
        return self.settlements + self.published + self.plain >= BUFFERING

    def expect(self, request: Request) -> None:
        queue = self.late if request.ignored else self.requests
        queue.setdefault((request.method, request.consumer_tag), deque()).append(request)

    def answered(self, method: str, consumer_tag: str = "") -> Request | None:
        """The request that this reply belongs to; replies to different methods may overtake each other."""
        for pending in (self.requests, self.late):
            for key in ((method, consumer_tag), (method, "")):
                queue = pending.get(key)
                if queue:
                    request = queue.popleft()
                    if not queue:
                        del pending[key]
                    return request
        return None

    @property
    def publishing(self) -> bool:
        """Was a publish sent that no later answer shows to be handled?"""
        return PUBLISH in self.sent

    def pending(self) -> list[Request]:
        """What is still to be answered, oldest first."""
        return sorted((one for queue in self.requests.values() for one in queue), key=lambda one: one.seq)

    def covered(self, tag: int, multiple: bool) -> list[Delivery]:
        """The outstanding deliveries that a settlement reaches."""
        if not multiple:
            return [self.unacked[tag]] if tag in self.unacked else []
        if tag == 0:
            return list(self.unacked.values())
        reached: list[Delivery] = []
        for number, delivery in self.unacked.items():
            if number > tag:
                break
            reached.append(delivery)
        return reached

    def await_proof(self, copy: Copy, seq: int) -> None:
        """The channel has sent what brings this message into its queue; a later answer may prove that it did."""
        memory.sent(self, copy, seq)

    def over(self, since: int) -> bool:
        """Did its client know of its end when it sent this?"""
        return any(0 < end < since for end in (self.closed_with, self.close_seen, self.connection.ended))

    def at_risk(self) -> bool:
        """Was something sent that may cost it, as nobody knows, and that may not be answered yet?"""
        return max(self.may_have_missed, 0, *self.dubious.values()) > self.handled

    def asked(self) -> list[Request]:
        """All that may not be handled yet: what is to be answered, and what is not."""
        return [*self.pending(), *(one for one in self.quiet if one.seq > self.handled)]

    def consumer_of(self, tag: str, message: str = "") -> Consumer | None:
        """Who has this tag. A consumer that was started without an answer, and left its tag to the broker, is known by
        the first delivery that names a tag of nobody's; of several the one in whose queue the message is."""
        found = self.consumers.get(tag)
        if found is not None or tag in self.ended or self.of_before(tag):
            return found
        quiet = [one for one in self.consumers.values() if one.quiet and not one.named]
        fitting = [one for one in quiet if message in one.source.copies] or quiet
        if not fitting:
            return None
        found = fitting[0]
        del self.consumers[found.tag]
        found.tag, found.limit_moved = tag, found.limit_moved or len(fitting) > 1
        self.consumers[tag] = found
        return found

    def of_before(self, consumer: str) -> bool:
        """Had a former life of the number a consumer of this tag?"""
        return consumer in self.ghosts or (self.previous is not None and consumer in self.previous.consumers)

    def alive(self) -> bool:
        return self.state in (OPEN, OPENING)
