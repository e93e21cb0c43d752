"""Which claims hold although the history does not show everything.

A fact speaks of a channel, a connection, or messages of a queue. A claim holds if everything that it depends on was
seen from its beginning (`model/gaps.py`). Otherwise it is not a finding, but a doubt with its reason. Three things
decide:

- *where* the fact is: about an adopted channel nothing holds, except claims about any two of its frames. A conclusion
  from silence, or from the end of a connection, needs a connection that was seen from its beginning
- *what* it is: an unseen client may have caused a delivery of a known message, an empty queue, a notification, or a
  close that blames no method. Claims about these need a closed world
- the *rule*: a rule that depends on the broker's configuration needs a closed world. A rule that needs all connections
  does not count as exercised by what one of them shows
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.catalogue import rules
from conformance.history.events import METHOD
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import (
    ChannelInsteadOfConnection,
    ChannelRefused,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    DroppedSilently,
    Fact,
    Faulted,
    FoundEmpty,
    Missing,
    Notified,
    StillThere,
    StrayDelivery,
    TimedOut,
    TimeoutOverdue,
    Unanswered,
)
from conformance.oracle.model.owed import DELIVERY, NOTICE

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

ANYWHERE = frozenset({"TAG-002", "TAG-003", "TAG-004", "TAG-005"})
"""These hold between any two deliveries of a channel."""
OF_WINDOWS = frozenset(rule.id for rule in rules.CATALOGUE.values() if rule.family == "QOS") | {"CAN-015"}
"""These judge a delivery, whichever message it brings."""
BY_ANNOUNCEMENT = frozenset({"CAN-001", "CAN-002", "CAN-004"})
"""Whether a client may be notified at all is decided when it connects."""
BY_FATE = frozenset({"CAN-009", "CAN-010", "CAN-013", "CAN-014"})
"""What may come for a consumer's tag, and whether it is free, depends on why the consumer ended."""
CONFIGURED = frozenset(
    rule.id for rule in rules.CATALOGUE.values() if rule.family == "TMO" or "CFG" in rule.scope.split("+")
)
BY_ALL = frozenset(rule.id for rule in rules.CATALOGUE.values() if "ALL" in rule.scope.split("+"))

FROM_SILENCE = (Unanswered, ConnectionFailed, DroppedSilently, StillThere, TimeoutOverdue, Missing)
OF_THE_WORLD = (FoundEmpty, Missing, DroppedSilently, StillThere, TimeoutOverdue, TimedOut, ChannelInsteadOfConnection)
CLOSES = (ClosedUnasked, ConnectionFailed, ChannelRefused, Faulted)


def doubt(rule: str, fact: Fact, model: Model, *, finding: bool) -> str:
    """Why this rule cannot be judged by this fact; empty: it can. `finding`: the fact contradicts it."""
    channel = _channel(fact)
    connection = channel.connection if channel is not None else _connection(fact, model)
    if rule in ANYWHERE:
        return ""
    if channel is not None and channel.adopted:
        return channel.connection.broken or model.open
    if isinstance(fact, FROM_SILENCE) and (connection is None or not connection.whole):
        return (connection.broken if connection is not None else "") or model.open
    if rule in CONFIGURED or _of_the_world(rule, fact) or (not finding and rule in BY_ALL):
        return model.open
    return ""


def _channel(fact: Fact) -> ChannelLife | None:
    settlement = getattr(fact, "settlement", None)
    found: ChannelLife | None = settlement.channel if settlement is not None else getattr(fact, "channel", None)
    return found


def _connection(fact: Fact, model: Model) -> Connection | None:
    if isinstance(fact, Unanswered):
        return model.connections.get(fact.obligation.connection)
    found: Connection | None = getattr(fact, "connection", None)
    return found


def _of_the_world(rule: str, fact: Fact) -> bool:
    """May an unseen client be the cause of this?"""
    if isinstance(fact, Delivered):
        return rule not in OF_WINDOWS
    if isinstance(fact, Notified):
        return rule not in BY_ANNOUNCEMENT
    if isinstance(fact, StrayDelivery):
        return rule in BY_FATE
    if isinstance(fact, Unanswered):
        return fact.obligation.kind in (DELIVERY, NOTICE)
    if isinstance(fact, CLOSES):
        return rule in BY_FATE or fact.event.kind != METHOD or ids_of(fact.event) == (0, 0)
    return isinstance(fact, OF_THE_WORLD)
