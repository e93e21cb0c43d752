"""What is known about one queue: which messages wait in it, and who may be taking them.

Broker and client race, so the order in which a client sees things is not the order in which the queue did them. The
idea that makes judging safe all the same: keep the *receivers*, everything that may take messages. A message that the
client has not seen may then be with a receiver, or may have been with one that has given it back.

- `others`: may anybody but this receiver hold a message that entered at `since`, unseen by the client?
- `unseen`: may a message have been delivered and given back since then, without the client seeing it?
- `there`: was this message certainly in the queue when the broker handled what the channel sent at `since`?

`taking` says how receivers come and go, `dropping` what the queue does with messages by itself.

Cost: waiting messages are kept in order of publication (`fresh`) and of return (`returned`); those that nobody owes
any more are put aside (`aside`). So a step looks only at messages that are out of order right now.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.catalogue.profiles import QueueSemantics
from conformance.oracle.model import memory
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.queues.candidate_orders import CandidateOrders
from conformance.oracle.model.records import (
    GONE,
    OUT,
    PROVISIONAL,
    PUBLISHED,
    RECOVERED,
    RELEASED,
    RETURNED,
    WAITING,
    Copy,
    Delivery,
    PotentialReceiver,
    Settlement,
)
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife

MARGIN = 3
"""This near to a delivery limit a message is not owed if its returns may have been miscounted."""
STRANGERS = 4096
"""This many messages are remembered of a queue that others may use; nothing is claimed of them."""
RECENT = 128
"""This many of the latest settled deliveries are remembered until a get-empty after the end of their channel shows that
they stayed away."""


@dataclass(slots=True, eq=False, repr=False)
class Queue:
    """One queue, by name."""

    name: str
    kind: str
    semantics: QueueSemantics
    order: str
    declared: int = 0
    durable: bool = False
    declared_ns: int = 0
    """The time of its declaration."""
    deleted: int = 0
    spared: int = 0
    """Its deletion was asked for then, if it was unused or empty."""
    purged: int = 0
    cleared: int = 0
    """When the last purge was answered; 0 before that."""
    purging: int = 0
    """Purges under way: what enters meanwhile, from wherever, may fall to them."""
    emptied: int = 0
    """When the last purge was answered, if nobody could have got anything meanwhile; before that, when it was sent."""
    lossy: bool = False
    """It may drop messages by itself: declared with an expiry, or with a limit that may have been reached."""
    ample: int | None = None
    """Its limit, which cannot have been reached yet."""
    came: int = 0
    """How many messages may have come into it at most, gone ones included."""
    unordered: bool = False
    """Declared with priorities: there is more than one line."""
    levels: int = 0
    """Its x-max-priority."""
    single_active: bool = False
    latest: Delivery | None = None
    """What it has delivered last."""
    timeout: int | None = None
    """Its x-consumer-timeout, in milliseconds."""
    clients: set[bool | None] = field(default_factory=set)
    """What the clients of its consumers announced: do they want to be notified?"""
    dead_letters: Queue | None = None
    """Where rejected messages go."""
    buries: bool = False
    """It names an exchange for its dead letters."""
    heir: str = ""
    """The name of the queue to which they go, whether it is there or not."""
    opaque: bool = False
    """Messages may have come into it that we do not know of."""
    guests: bool = False
    """A message may have come into it by a key in CC or BCC, which the model does not follow: no count is certain."""
    declaration: TopologyChange | None = None
    deletion: TopologyChange | None = None
    auto_delete: bool = False
    leased: bool = False
    """A policy may let it expire."""
    volatile: bool = False
    """It may be deleted without anybody asking."""
    room: int | None = None
    """How many messages it takes before it turns others away; None: it turns nothing away."""
    disturbed: bool = False
    """Something may have left it: a receiver, a purge."""
    accepted: int = 0
    """How many publishes to it were confirmed."""
    pressed: Counter[int] = field(default_factory=Counter)
    """How many publishes each incarnation of a channel has sent to it, where it has room for so many only."""
    turned_away: Counter[int] = field(default_factory=Counter)
    """How many of them were refused."""
    copies: dict[str, Copy] = field(default_factory=dict)
    fresh: OrderedDict[str, Copy] = field(default_factory=OrderedDict)
    returned: OrderedDict[str, Copy] = field(default_factory=OrderedDict)
    aside: dict[str, Copy] = field(default_factory=dict)
    missed: dict[str, Copy] = field(default_factory=dict)
    """Messages that a consumer should have got, and did not: nobody waits again, but they must be in it."""
    receivers: dict[PotentialReceiver, None] = field(default_factory=dict)
    gone: deque[Copy] = field(default_factory=deque)
    """The latest messages that are GONE."""
    most: int = 0
    """How many that were not gone it has had at once."""
    settled: deque[Delivery] = field(default_factory=lambda: deque(maxlen=RECENT))
    voided: deque[Copy] = field(default_factory=lambda: deque(maxlen=RECENT))
    announced: int = 0
    """How many messages are PROVISIONAL."""
    held: int = 0
    """How many messages are OUT."""
    joined: int = 0
    """How many consumers were asked for."""
    parted: int = 0
    """How many of them have certainly ended, because their client wanted that."""
    fallen: int = 0
    """How many of them ended with a channel that the broker closed."""
    parted_ns: int = 0
    """The time at which the last of them ended, in either way."""
    settled_ns: int = 0
    """The time at which the last settlement was sent that has taken a message away."""
    left: dict[str, int] = field(default_factory=dict)
    """When a consumer of it that had room last ended in each way, where its channel lives on."""
    losers: set[str] = field(default_factory=set)
    """Connections of which a channel has ended that held messages of it."""
    sweepers: dict[int, None] = field(default_factory=dict)
    """Channels that have sent what may return deliveries which their client has not read."""
    limit: int | None = None
    """How many returns that count a message survives; None: any number."""
    all_count: bool = True
    """Every return counts towards it; else only those by reject and by the end of a channel."""
    overrun: bool = False
    """Uncertain messages of it were forgotten, or settled ones that are back: an id alone identifies none any more."""
    said: int = 0
    """What the last answer said of its messages, `said_by`; it holds while `stirred` is what it was then, `said_at`."""
    said_at: int = -1
    said_by: int = 0
    stirred: int = 0
    """Rises with all that may change it, but answers to gets."""
    reentered: bool = False
    """Something has been returned to it."""
    orders: CandidateOrders = field(init=False)
    blind_until: int = 0
    """When a receiver ended last that may have taken messages unseen."""
    blind_last: PotentialReceiver | None = None
    """That receiver."""
    shared_until: int = 0
    """When one ended last beside others, of several consumers."""
    mingled_until: int = 0
    """When one that was blind or lost ended last while others were there."""
    lost_until: int = 0
    """When one ended last, or was regained, that may have given back messages unseen."""
    swept: int = 0
    """When returns of deliveries that the client had not read were handled last."""
    lost: int = 0
    """How many of its receivers are lost."""
    swallowing: int = 0
    """How many of these may have settled what they took."""

    def __post_init__(self) -> None:
        self.orders = CandidateOrders(self.order, self.semantics.same_channel_order)

    # -- receivers

    def crowded(self, me: PotentialReceiver | None) -> bool:
        """Is there anybody beside this receiver who may be taking messages?"""
        return not self.declared or len(self.receivers) > (me in self.receivers)

    def others(self, since: int, me: PotentialReceiver | None) -> bool:
        return self.blind_until > since or self.crowded(me)

    def contested(self, copy: Copy) -> bool:
        """Did several consumers share the queue at any time since the message left it last? Then its place may have
        been gone when it was returned, and it is closer to the head."""
        return self.shared() or (copy.holder is not None and self.shared_until > copy.holder.seq)

    def mingled(self, since: int, giver: PotentialReceiver | None) -> bool:
        """May others than the one who gave a message back then have had it meanwhile, and have given it back?"""
        lost = any(receiver.lost and receiver is not giver for receiver in self.receivers)
        unseen = self.blind_until > since and self.blind_last is not giver
        return lost or unseen or self.shared() or max(self.shared_until, self.mingled_until) > since

    def shared(self) -> bool:
        return sum(not receiver.get for receiver in self.receivers) > 1

    def unseen(self, copy: Copy) -> bool:
        since = copy.published
        return (
            not self.declared
            or copy.hidden
            or self.lost > 0
            or self.lost_until > since
            or self.swept > since
            or len(self.sweepers) > 0
        )

    def there(self, copy: Copy, channel: ChannelLife, since: int) -> bool:
        if 0 < copy.proof <= since:
            return True
        if copy.entry == RELEASED or copy.entered >= since:
            return False
        origin = copy.publisher if copy.entry == PUBLISHED else copy.holder and copy.holder.channel
        return (
            origin is channel
            and not channel.overtook(since)
            and (
                self.semantics.same_channel_order or (copy.entry in (RETURNED, RECOVERED) and not channel.may_buffer())
            )
        )

    # -- messages

    def put(self, copy: Copy) -> None:
        """A published message enters."""
        namesake = self.copies.get(copy.id)
        self.stirred += 1
        self.announced -= copy.place == PROVISIONAL
        copy.place = WAITING
        if namesake is not None and namesake is not copy:
            self._drop(namesake)
        if self.overrun or (namesake is not None and namesake is not copy):
            copy.ambiguous = copy.unowed = copy.indeterminate = True
        self.copies[copy.id] = copy
        if self.swallowing or self.purging:
            copy.unowed = True
        if self.orders.lost and self._bare() and not self.opaque:
            self.orders.begin()
        if copy.unowed or copy.indeterminate or copy.entry != PUBLISHED:
            self.orders.lose()
        self.orders.enter(copy, returned=False)
        if copy.unowed or copy.indeterminate:
            memory.uncertain(self, copy)
        else:
            self.fresh[copy.id] = copy
        self.know(copy)

    def know(self, copy: Copy) -> None:
        """It is remembered; of a queue that others may use, for a while only."""
        self.copies[copy.id] = copy
        if not self.declared and len(self.copies) > STRANGERS:
            oldest = self.copies.pop(next(iter(self.copies)))
            self.aside.pop(oldest.id, None)
            self.fresh.pop(oldest.id, None)
            self.returned.pop(oldest.id, None)

    def announce(self, copy: Copy) -> None:
        """A message that may enter later: it is part of a transaction."""
        self.stirred += 1
        if copy.id in self.copies:
            copy.ambiguous = True
        else:
            copy.place = PROVISIONAL
            self.orders.lose()
            self.copies[copy.id] = copy
            self.announced += 1

    def back(self, copy: Copy, entry: str, at: int, settlement: Settlement | None = None) -> None:
        """A delivered message goes back, some time after the client sent what is to bring it back."""
        self._drop(copy)
        self.stirred += 1
        copy.count(entry, settlement)
        self.reentered = True
        copy.place, copy.entry, copy.entered, copy.proof = WAITING, entry, at, 0
        copy.settlement = settlement
        if self.limit is not None and self.counted(copy) > self.limit:
            dropping.end_returns(self, copy, at)
            return
        if self.swallowing or self.purging or self.may_be_spent(copy):
            copy.unowed = True
        if copy.unowed or copy.indeterminate or copy.hidden or (entry == RELEASED and self.order == "tail"):
            self.orders.lose()  # what a channel's end gives back goes to the front even there
        elif self.order == "original" and self.contested(copy):
            self.orders.lose()
        self.orders.enter(copy, returned=True)
        (self.aside if copy.unowed or copy.indeterminate else self.returned)[copy.id] = copy

    def counted(self, copy: Copy) -> int:
        """How many of its returns certainly count towards the delivery limit."""
        return copy.returns if self.all_count else copy.failures

    def may_be_spent(self, copy: Copy) -> bool:
        """May it have been returned so often that the limit has ended that, unseen by the client?"""
        if self.limit is None or copy.returns + MARGIN <= self.limit:
            return False
        return copy.miscounted or copy.unproven_return() or self.unseen(copy)

    def leave(self, copy: Copy, place: str) -> None:
        """A message is delivered, or settled."""
        self._drop(copy)
        copy.place = place
        if place == GONE:
            self.orders.drop(copy.id)
            memory.gone(self, copy)
        self.held += place == OUT
        copy.indeterminate = copy.ambiguous
        copy.unowed = copy.ambiguous or copy.fleeting

    def stayed_away(self, since: int) -> None:
        """It was found empty. What could have come back by then is not waited for any longer."""
        for _ in range(len(self.settled)):
            delivery = self.settled.popleft()
            if not (delivery.copy.spent or delivery.channel.over(since)):
                self.settled.append(delivery)

    def part(self, at_ns: int) -> None:
        """A consumer has ended, because its client wanted that."""
        self.parted, self.parted_ns = self.parted + 1, at_ns

    def forget(self) -> None:
        """Anybody may use it now, and nobody knows of what kind it is."""
        self.declared, self.opaque, self.lossy, self.volatile = 0, True, True, True
        self.room = self.ample = self.dead_letters = None
        self.doubt()
        for copy in self.copies.values():
            copy.unowed = copy.indeterminate = True

    def doubt(self) -> None:
        """Whatever waits may be lost."""
        self.disturbed = True
        self.stirred += 1
        self.orders.lose()
        for copy in self.waiting():
            copy.unowed = True
            memory.uncertain(self, copy)
        self.fresh.clear()
        self.returned.clear()
        self.missed.clear()

    def miss(self, copy: Copy) -> None:
        """A consumer should have got this message, and did not."""
        self.unsettle(copy, indeterminate=False)
        if not copy.indeterminate:
            self.missed[copy.id] = copy

    def absent(self) -> Iterator[Copy]:
        """Messages that must be in it, when nobody but who drains it takes any."""
        yield from self.waiting()
        yield from self.missed.values()

    def missing(self) -> int:
        """How many those are. Of what is fresh nobody has to look at each."""
        spent = sum(1 for copy in self.returned.values() if self.may_be_spent(copy))
        return len(self.fresh) + len(self.returned) - spent + len(self.missed)

    def unsettle(self, copy: Copy, *, indeterminate: bool) -> None:
        """Nobody owes this message any more; an indeterminate one may turn up anywhere, returned or not."""
        copy.unowed = True
        self.stirred += 1
        copy.indeterminate, copy.miscounted = copy.indeterminate or indeterminate, copy.miscounted or indeterminate
        self.orders.lose()
        self.missed.pop(copy.id, None)
        if copy.place == WAITING:
            self._drop(copy)
        if copy.place == WAITING or indeterminate:
            memory.uncertain(self, copy)

    def mix_up(self) -> None:
        """Messages that are forgotten may be in it again, each under an id that another may have by now."""
        self.overrun = True
        self.doubt()
        for copy in self.copies.values():
            copy.ambiguous = copy.unowed = copy.indeterminate = True

    def waiting(self) -> Iterator[Copy]:
        """Messages that are certainly owed: fresh ones by publication, then returned ones by return."""
        yield from self.fresh.values()
        yield from (copy for copy in self.returned.values() if not self.may_be_spent(copy))

    def _bare(self) -> bool:
        """Is it certainly empty, and does nobody hold anything of it?"""
        live = self.held or self.fresh or self.returned or self.aside or self.announced
        return not (live or self.lost or self.swallowing or self.sweepers or self.unordered or self.lossy)

    def may_hold(self) -> bool:
        """May there be anything in it to deliver?"""
        return bool(self.fresh or self.returned or self.aside) or self.opaque or not self.declared

    def _drop(self, copy: Copy) -> None:
        self.held -= copy.place == OUT
        self.fresh.pop(copy.id, None)
        self.returned.pop(copy.id, None)
        self.aside.pop(copy.id, None)
        self.missed.pop(copy.id, None)
