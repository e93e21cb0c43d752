"""One connection: its channels, and what closes all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.oracle.model.connections.blocking import Blocking
from conformance.oracle.model.connections.channels import CLOSED, OPEN, ChannelLife
from conformance.oracle.model.connections.handshake import Handshake
from conformance.oracle.model.records import ClientError, SettlementError


@dataclass(slots=True, eq=False, repr=False)
class Connection:
    """What one client sees of one TCP connection."""

    name: str
    vhost: str = "/"
    user: str = ""
    """Who is logged in, where the login tells."""
    channels: dict[int, ChannelLife] = field(default_factory=dict)
    failed: dict[int, ChannelLife] = field(default_factory=dict)
    """Closed by the broker: late frames of these may come until their number is open again."""
    whole: bool = False
    """Seen from its beginning; otherwise channels are taken as open when they are first met."""
    broken: str = ""
    """Why it is not whole, as `gaps` has it."""
    overheard: bool = False
    """It was captured: a frame of the client may be missing, and that may show only later."""
    recovered_gone: int = 0
    """When a recover last gave back what came from a queue that has been deleted: of that the broker may fail later."""
    torn: bool = False
    """The broker's frames are missing from here on. Until they are seen again, the client's frames are ignored."""
    error: ClientError | None = None
    closing: int = 0
    left: int = 0
    """When the broker agreed to its end."""
    left_ns: int = 0
    """The time of that."""
    ended: int = 0
    kicked: int = 0
    """When the broker closed it, over a mistake or for reasons of its own."""
    hung_up_ns: int = 0
    """The time at which its socket was closed."""
    unasked_close_ok: bool = False
    """The client has sent a close-ok that no close of the broker had asked for."""
    blocking: Blocking = field(default_factory=Blocking)
    misused: int = 0
    """When the client last used a channel that was closed already."""
    refusals: int = 0
    """When the broker last closed a channel of it over a mistake of the client."""
    refused: SettlementError | None = None
    """That mistake."""
    offers: bool | None = None
    """Does the broker say that it notifies clients of cancelled consumers? None: we have not seen."""
    notices: bool | None = None
    """Has the client said that it wants to be notified?"""
    entered: int = 0
    """When the client asked for its virtual host."""
    regranted: int = 0
    """When it was last told that the rights of its user are others."""
    banished: int = 0
    """When it was told that there is no such user any more."""
    unreadable: set[str] = field(default_factory=set)
    """Queues that its user may no longer read."""
    renewed: int = 0
    """When the broker last said that it has taken new credentials."""
    heartbeat: int = 0
    """Seconds, as the client agreed to."""
    channel_max: int = 0
    """How many channels may be open, as the client agreed to; 0: not seen, or no limit."""
    closes: int = 0
    """When the broker last agreed to the end of a channel."""
    closed: int = 0
    """The number of that channel. It may be open again by then, for a client need not wait."""
    beats: bool | None = None
    """Has the broker said that it wants heartbeats? None: we have not seen."""
    handshake: Handshake = field(default_factory=Handshake)
    heard_at: int = 0
    """The time of the client's last frame."""
    hushed: bool = False
    """Something that the broker owed did not come, and it has sent nothing since: what else does not come is the same
    fault."""
    read_at: int = 0
    """The time of the broker's last frame, where timeouts are the subject."""
    looked_at: int = 0
    """The same before those that were read in one go with it: whatever had come by then was read by then."""

    def channel(self, number: int) -> ChannelLife | None:
        """The current life of this channel number."""
        return self.channels.get(number)

    def met(self, number: int, seq: int) -> ChannelLife | None:
        """The channel that a frame belongs to; adopted if it was open before the history began."""
        channel = self.channels.get(number)
        if channel is None and not self.whole:
            channel = ChannelLife(self, number, seq, state=OPEN, adopted=True)
            self.channels[number] = channel
        return channel

    def usable(self) -> bool:
        """Can it still be expected to do as asked?"""
        return not (self.error or self.closing or self.ended)

    def erred_after_close(self) -> bool:
        """Did the client err after its own close? Then that close need not be answered."""
        return self.error is not None and 0 < self.closing < self.error.seq

    def open_channels(self) -> list[ChannelLife]:
        return [channel for channel in self.channels.values() if channel.state != CLOSED]
