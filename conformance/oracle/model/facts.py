"""What events mean, given what was known before them.

Monitors judge facts and nothing else. A fact is handed out *before* the model learns from it, so that whatever it
points to shows the state in which the broker's frame arrived, unless its docstring says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.channels import Channel, Consumer
from conformance.oracle.model.connections import Connection
from conformance.oracle.model.owed import Obligation
from conformance.oracle.model.queues import Queue
from conformance.oracle.model.records import (
    Copy,
    Delivery,
    Doom,
    HardDoom,
    Mistake,
    PotentialReceiver,
    Publication,
    Request,
    Settlement,
)

if TYPE_CHECKING:
    from conformance.oracle.model.cancelling import Ended
    from conformance.oracle.model.timeouts import Levels


@dataclass(slots=True)
class Numbered:
    """A basic.deliver or get-ok carries its tag, on a channel that the client has not seen closed."""

    event: Event
    channel: Channel
    tag: int
    get: bool


@dataclass(slots=True)
class Delivered:
    """A delivery that the client counts as its own."""

    event: Event
    channel: Channel
    delivery: Delivery
    copy: Copy
    queue: Queue
    receiver: PotentialReceiver | None
    since: int
    explained: bool | None = None
    """Some order of what all receivers have seen explains it; None: that cannot be told."""


@dataclass(slots=True)
class First(Delivered):
    """Plainly the first delivery of its message: nothing has happened to that since it was published, and nothing is
    doubtful about where it is."""


@dataclass(slots=True)
class Stray:
    """A delivery to a consumer that this channel does not have."""

    event: Event
    channel: Channel
    consumer_tag: str


@dataclass(slots=True)
class FoundEmpty:
    """A get-empty."""

    event: Event
    channel: Channel
    queue: Queue
    receiver: PotentialReceiver | None
    since: int


@dataclass(slots=True)
class Confirmed:
    """The broker's basic.ack or basic.nack."""

    event: Event
    channel: Channel
    number: int
    multiple: bool
    resolved: list[Publication]
    """What it resolves: of all that is unresolved, what its number and multiple speak of."""


@dataclass(slots=True)
class Returned:
    """A basic.return, and the publish that it returns, if that can be told."""

    event: Event
    channel: Channel
    publication: Publication | None


@dataclass(slots=True)
class Answered:
    """A reply, and the request it belongs to."""

    event: Event
    channel: Channel
    request: Request


@dataclass(slots=True)
class Counted:
    """The answer tells how many messages are ready, or were removed, in a queue at rest of which it was told before."""

    event: Event
    channel: Channel
    queue: Queue
    count: int
    expected: int
    """What follows from the answer before, `by`."""
    due: int
    """What the model believes."""
    by: int


@dataclass(slots=True)
class Unrequested:
    """A method of the broker that nobody has asked for."""

    event: Event
    channel: Channel


@dataclass(slots=True)
class Opened:
    """Open-ok; `previous` is the former life of the number."""

    event: Event
    channel: Channel
    previous: Channel | None


@dataclass(slots=True)
class Accepted:
    """An answer shows that the broker took this settlement without complaint."""

    event: Event
    settlement: Settlement


@dataclass(slots=True)
class Refused:
    """The broker's channel.close after a mistake of the client."""

    event: Event
    channel: Channel
    doom: Doom


@dataclass(slots=True)
class Faulted:
    """The broker's channel.close after a mistake of the client other than a bad settlement."""

    event: Event
    channel: Channel
    mistake: Mistake


@dataclass(slots=True)
class ClosedUnasked:
    """The broker's channel.close where no settlement was to be refused; the suspect is the one it names, if any."""

    event: Event
    channel: Channel
    suspect: Settlement | None


@dataclass(slots=True)
class Unrecovered:
    """A queue gives nothing out after the broker was killed, and must hold these."""

    event: Event
    queue: Queue
    copies: list[Copy]


@dataclass(slots=True)
class AfterClose:
    """A frame for a channel that is closed, other than a delivery of the closed channel."""

    event: Event
    channel: Channel | None
    request: Request | None
    ours: bool
    """The close was the client's, and has been answered."""


@dataclass(slots=True)
class ChannelClosed:
    """Close-ok to the client's close; `crossed`: the broker closed at the same time."""

    event: Event
    channel: Channel
    crossed: bool


@dataclass(slots=True)
class ConnectionFailed:
    """The broker's connection.close, or the end of a connection that nobody had closed."""

    event: Event
    connection: Connection
    doom: HardDoom | None
    doomed: list[Channel] = field(default_factory=list)
    suspect: Settlement | None = None


@dataclass(slots=True)
class ChannelInsteadOfConnection:
    """The broker closed a channel where the mistake should cost the connection."""

    event: Event
    channel: Channel
    doom: HardDoom


@dataclass(slots=True)
class Unanswered:
    """The deadline passed, and this was still owed."""

    event: Event
    obligation: Obligation
    channel: Channel | None
    doom: Doom | None = None
    hard: HardDoom | None = None
    request: Request | None = None
    consumer: Consumer | None = None


@dataclass(slots=True)
class Missing:
    """The drain's deadline passed, and these messages never came."""

    event: Event
    queue: Queue
    copies: list[Copy]


@dataclass(slots=True)
class Overlooked:
    """The broker shows that it let a mistake pass: it answered it, or closed the channel at the client's word."""

    event: Event
    channel: Channel
    mistake: Mistake


@dataclass(slots=True)
class Notified:
    """The broker's own basic.cancel, and the consumer that it ends, or the end that it follows."""

    event: Event
    channel: Channel
    tag: str
    consumer: Consumer | None
    ended: Ended | None


@dataclass(slots=True)
class Rested:
    """The channel has answered something that was sent after this consumer had ended."""

    event: Event
    channel: Channel
    ended: Ended


@dataclass(slots=True)
class Bereft:
    """A consumer lost its queue, its client wants no notification, and its channel has answered since."""

    event: Event
    channel: Channel
    consumer: Consumer


@dataclass(slots=True)
class Unlawful:
    """Octets from the broker that are no frame, or a frame that must not come there; `found` says what it is, and
    `allowed` what may come."""

    event: Event
    connection: Connection
    allowed: str
    found: str


@dataclass(slots=True)
class Parted:
    """Close-ok to the client's connection.close: all that the broker had to say on it was read."""

    event: Event
    connection: Connection


@dataclass(slots=True)
class Silenced:
    """The broker dropped a connection with heartbeats, without a word."""

    event: Event
    connection: Connection

    @property
    def silence(self) -> float:
        """For how many seconds it had heard nothing of the client."""
        return (self.event.time_ns - self.connection.heard_at) / 1e9


@dataclass(slots=True)
class StillThere:
    """The driver waited in vain for the broker to end this connection."""

    event: Event
    connection: Connection


@dataclass(slots=True)
class TimedOut:
    """The broker says that deliveries have timed out: of one consumer, by basic.cancel, or by closing the channel.

    `deliveries`: those that may have, and of which the client had not been told before; the first certainly has.
    """

    event: Event
    channel: Channel
    consumer: Consumer | None
    deliveries: list[Delivery]
    renewed: Levels | None = None
    """The timeouts that would count if the consumer started now."""


@dataclass(slots=True)
class Overdue:
    """The driver has waited long enough: this delivery should have timed out, and the broker is silent."""

    event: Event
    channel: Channel
    delivery: Delivery


Fact = (
    Numbered
    | Delivered
    | Stray
    | FoundEmpty
    | Confirmed
    | Returned
    | Answered
    | Unrequested
    | Opened
    | Accepted
    | Refused
    | Faulted
    | Overlooked
    | ClosedUnasked
    | AfterClose
    | ChannelClosed
    | ConnectionFailed
    | ChannelInsteadOfConnection
    | Unanswered
    | Missing
    | Notified
    | Rested
    | Bereft
    | Silenced
    | StillThere
    | TimedOut
    | Overdue
    | Unlawful
    | Parted
    | Counted
    | Unrecovered
)
