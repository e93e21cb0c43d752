"""What events mean, given what was known before them.

Monitors judge facts and nothing else. A fact is handed out *before* the model learns from it, so that whatever it
points to shows the state in which the broker's frame arrived, unless its docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import ChannelLife, Consumer
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.owed import Obligation
from conformance.oracle.model.queues.queue import Queue
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
from conformance.oracle.topology import Topology

if TYPE_CHECKING:
    from conformance.oracle.model.consumers.cancelling import Ended
    from conformance.oracle.model.consumers.clocks import Levels


@dataclass(slots=True)
class Fact:
    """What the event at hand means."""

    event: Event


@dataclass(slots=True)
class Passed(Fact):
    """A method of either side passes, and the model has not read it yet. For families that keep a memory of their own;
    see `monitors.table.follows`."""

    connection: Connection
    topology: Topology


@dataclass(slots=True)
class Policed(Fact):
    """A policy is about to be set or removed, or that is done: the topology knows of it already."""

    topology: Topology


@dataclass(slots=True)
class OnChannel(Fact):
    """What it means for one channel."""

    channel: ChannelLife


@dataclass(slots=True)
class Numbered(OnChannel):
    """A basic.deliver or get-ok carries its tag, on a channel that the client has not seen closed."""

    tag: int
    get: bool


@dataclass(slots=True)
class Delivered(OnChannel):
    """A delivery that the client counts as its own."""

    delivery: Delivery
    copy: Copy
    queue: Queue
    receiver: PotentialReceiver | None
    since: int
    explained: bool | None = None
    """Some order of what all receivers have seen explains it; None: that cannot be told."""


@dataclass(slots=True)
class FirstDelivery(Delivered):
    """Plainly the first delivery of its message: nothing has happened to that since it was published, and nothing is
    unowed about where it is."""


@dataclass(slots=True)
class StrayDelivery(OnChannel):
    """A delivery to a consumer that this channel does not have."""

    consumer_tag: str


@dataclass(slots=True)
class FoundEmpty(OnChannel):
    """A get-empty. `claims`: rules by which the get had to be carried out."""

    queue: Queue
    receiver: PotentialReceiver | None
    since: int
    claims: tuple[str, ...] = ()


@dataclass(slots=True)
class Confirmed(OnChannel):
    """The broker's basic.ack or basic.nack."""

    number: int
    multiple: bool
    resolved: list[Publication]
    """What it resolves: of all that is unresolved, what its number and multiple speak of."""


@dataclass(slots=True)
class Returned(OnChannel):
    """A basic.return, and the publish that it returns, if that can be told."""

    publication: Publication | None


@dataclass(slots=True)
class Answered(OnChannel):
    """A reply, and the request it belongs to."""

    request: Request


@dataclass(slots=True)
class Counted(OnChannel):
    """The answer tells how many messages are ready, or were removed, in a queue at rest of which it was told before."""

    queue: Queue
    count: int
    expected: int
    """What follows from the answer before, `by`."""
    due: int
    """What the model believes."""
    by: int


@dataclass(slots=True)
class Unrequested(OnChannel):
    """A method of the broker that nobody has asked for."""


@dataclass(slots=True)
class ChannelOpened(OnChannel):
    """Open-ok; `previous` is the former life of the number."""

    previous: ChannelLife | None


@dataclass(slots=True)
class Accepted(Fact):
    """An answer shows that the broker took this settlement without complaint."""

    settlement: Settlement


@dataclass(slots=True)
class ChannelRefused(OnChannel):
    """The broker's channel.close after a mistake of the client."""

    error: SettlementError


@dataclass(slots=True)
class Faulted(OnChannel):
    """The broker's channel.close after a mistake of the client other than a bad settlement."""

    error: ClientError


@dataclass(slots=True)
class ClosedUnasked(OnChannel):
    """The broker's channel.close where no settlement was to be refused; the suspect is the one it names, if any."""

    suspect: Settlement | None


@dataclass(slots=True)
class Unrecovered(Fact):
    """A queue gives nothing out after the broker was killed, and must hold these."""

    queue: Queue
    copies: list[Copy]


@dataclass(slots=True)
class Stopping(Fact):
    """The broker is shut down in good order, and nothing is under way. This is all that was known of it."""

    topology: Topology
    queues: Mapping[str, Queue]


@dataclass(slots=True)
class Killed(Fact):
    """The broker was killed and started again: what it has lost then no memory of a family tells."""


@dataclass(slots=True)
class Started(Fact):
    """It was started again, and has been seen to be the same broker with the same data."""


@dataclass(slots=True)
class AfterClose(Fact):
    """A frame for a channel that is closed, other than a delivery of the closed channel."""

    channel: ChannelLife | None
    request: Request | None
    ours: bool
    """The close was the client's, and has been answered."""


@dataclass(slots=True)
class ChannelClosed(OnChannel):
    """Close-ok to the client's close; `crossed`: the broker closed at the same time."""

    crossed: bool


@dataclass(slots=True)
class ConnectionFailed(Fact):
    """The broker's connection.close, or the end of a connection that nobody had closed."""

    connection: Connection
    error: ClientError | None
    failing: list[ChannelLife] = field(default_factory=list)
    suspect: Settlement | None = None


@dataclass(slots=True)
class ChannelInsteadOfConnection(OnChannel):
    """The broker closed a channel where the mistake should cost the connection."""

    error: ClientError


@dataclass(slots=True)
class Unanswered(Fact):
    """The deadline passed, and this was still owed."""

    obligation: Obligation
    channel: ChannelLife | None
    error: SettlementError | None = None
    connection_error: ClientError | None = None
    request: Request | None = None
    consumer: Consumer | None = None
    unread: bool = False
    """After its own close the client sent what need not be read to its end."""
    claims: tuple[str, ...] = ()
    """Of a step of the handshake: the rules by which it must be answered."""


@dataclass(slots=True)
class Missing(Fact):
    """The drain's deadline passed, and these messages never came."""

    queue: Queue
    copies: list[Copy]


@dataclass(slots=True)
class Forsaken(Fact):
    """The same of a queue that serves one at a time, and nobody since a client has cancelled the one that it served."""

    queue: Queue
    copies: list[Copy]


@dataclass(slots=True)
class Overlooked(OnChannel):
    """The broker shows that it let a mistake pass: it answered it, or closed the channel at the client's word."""

    error: ClientError


@dataclass(slots=True)
class Notified(OnChannel):
    """The broker's own basic.cancel, and the consumer that it ends, or the end that it follows."""

    tag: str
    consumer: Consumer | None
    ended: Ended | None


@dataclass(slots=True)
class ConsumerEndProven(OnChannel):
    """The channel has answered something that was sent after this consumer had ended."""

    ended: Ended


@dataclass(slots=True)
class UnnotifiedConsumer(OnChannel):
    """A consumer lost its queue, its client wants no notification, and its channel has answered since."""

    consumer: Consumer


@dataclass(slots=True)
class Unlawful(Fact):
    """Octets from the broker that are no frame, or a frame that must not come there; `found` says what it is, and
    `allowed` what may come."""

    connection: Connection
    allowed: str
    found: str

    def beyond_agreed(self) -> bool:
        """Is it a frame that would have been right, had the client not agreed to smaller ones?"""
        return "frame_max" in self.allowed and self.connection.handshake.lowered()


@dataclass(slots=True)
class CloseConfirmed(Fact):
    """Close-ok to the client's connection.close: all that the broker had to say on it was read."""

    connection: Connection


@dataclass(slots=True)
class DroppedSilently(Fact):
    """The broker dropped a connection with heartbeats, without connection.close."""

    connection: Connection
    calm: bool
    """Had neither of them stood still shortly before?"""

    @property
    def silence(self) -> float:
        """For how many seconds it had heard nothing of the client."""
        return (self.event.time_ns - self.connection.heard_at) / 1e9

    @property
    def lasted(self) -> float:
        """For how many seconds heartbeats had been agreed."""
        return (self.event.time_ns - self.connection.handshake.tuned_at) / 1e9

    @property
    def at_once(self) -> bool:
        """Did it follow upon something that the client had said? A broker that drops its clients over a mistake does so
        with heartbeats as without; whatever interval it counts, nobody is missed in the first tenth of it."""
        silent = self.silence >= self.connection.heartbeat / 10
        busy = any(one.pending() or one.unproven or one.publishing for one in self.connection.channels.values())
        return not silent and (busy or self.lasted <= self.connection.heartbeat)


@dataclass(slots=True)
class SocketClosed(Fact):
    """The socket of the connection is closed, whoever did it."""

    connection: Connection


@dataclass(slots=True)
class HeartbeatReceived(Fact):
    """A heartbeat of the broker."""

    connection: Connection


@dataclass(slots=True)
class HeartbeatMissed(Fact):
    """The driver waited in vain for a heartbeat on this connection."""

    connection: Connection


@dataclass(slots=True)
class StillThere(Fact):
    """The driver waited in vain for the broker to end this connection."""

    connection: Connection


@dataclass(slots=True)
class TimedOut(OnChannel):
    """The broker says that deliveries have timed out: of one consumer, by basic.cancel, or by closing the channel.

    `deliveries`: those that may have, and of which the client had not been told before; the first certainly has.
    """

    consumer: Consumer | None
    deliveries: list[Delivery]
    renewed: Levels | None = None
    """The timeouts that would count if the consumer started now."""


@dataclass(slots=True)
class TimeoutOverdue(OnChannel):
    """The driver has waited long enough: this delivery should have timed out, and the broker is silent."""

    delivery: Delivery
