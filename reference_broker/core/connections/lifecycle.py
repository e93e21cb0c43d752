"""The life of a connection and of a channel, as tables.

Rule 1: which methods may open, tune and close is written here and nowhere else. A method that is
missing in the row of the present phase is a protocol error, raised by the lookup itself.
Rule 2: the tables name actions; `connection.py` performs them. An action may still refuse (a wrong
password, an unknown vhost) by raising; then the exception, not the table, decides where we go.
Rule 3: in CLOSING, of a connection or of a channel, everything but the two closing methods is
discarded without a word: the peer sent it before it knew.

connection            header       start-ok        tune-ok         open
            GREETING --------> LOGIN ------> TUNING ------> OPENING ----> RUNNING
            any but GREETING: -- the peer's close --> CLOSED
                              -- an exception, ours --> CLOSING -- close-ok --> CLOSED

channel              open         a soft exception             close-ok
            ABSENT ------> OPEN ------------------> CLOSING -----------> ABSENT
                           OPEN -- the peer's close --> ABSENT
"""

from __future__ import annotations

from enum import Enum

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.errors import ConnectionException


class Phase(Enum):
    GREETING = "greeting"
    LOGIN = "login"
    TUNING = "tuning"
    OPENING = "opening"
    RUNNING = "running"
    CLOSING = "closing"
    CLOSED = "closed"


class ChannelPhase(Enum):
    ABSENT = "absent"
    OPEN = "open"
    CLOSING = "closing"


Step = tuple[str, Phase]

CONNECTION: dict[Phase, dict[type[codec.Method], Step]] = {
    Phase.GREETING: {},
    Phase.LOGIN: {
        m.ConnectionStartOk: ("log_in", Phase.TUNING),
        m.ConnectionClose: ("closed_by_peer", Phase.CLOSED),
    },
    Phase.TUNING: {
        m.ConnectionTuneOk: ("tune", Phase.OPENING),
        m.ConnectionClose: ("closed_by_peer", Phase.CLOSED),
    },
    Phase.OPENING: {
        m.ConnectionOpen: ("enter", Phase.RUNNING),
        m.ConnectionClose: ("closed_by_peer", Phase.CLOSED),
    },
    Phase.RUNNING: {
        m.ConnectionUpdateSecret: ("update_secret", Phase.RUNNING),
        m.ConnectionClose: ("closed_by_peer", Phase.CLOSED),
    },
    Phase.CLOSING: {
        m.ConnectionClose: ("answer_close", Phase.CLOSING),
        m.ConnectionCloseOk: ("finish", Phase.CLOSED),
    },
    Phase.CLOSED: {},
}

CHANNEL: dict[ChannelPhase, dict[type[codec.Method], str]] = {
    ChannelPhase.ABSENT: {m.ChannelOpen: "open_channel"},
    ChannelPhase.OPEN: {m.ChannelClose: "channel_closed_by_peer", m.ChannelOpen: "second_open"},
    ChannelPhase.CLOSING: {
        m.ChannelClose: "answer_channel_close",
        m.ChannelCloseOk: "forget_channel",
    },
}

SILENT = (Phase.CLOSING, Phase.CLOSED)


def connection_step(phase: Phase, method: type[codec.Method]) -> Step | None:
    """What a method on channel 0 leads to; None where it is to be discarded."""
    row = CONNECTION[phase]
    if method in row:
        return row[method]
    if phase in SILENT:
        return None
    raise ConnectionException(ReplyCode.CHANNEL_ERROR, f"unexpected method in connection state {phase.value}")


def channel_step(phase: ChannelPhase, method: type[codec.Method]) -> str | None:
    """The action of a method that opens or closes channels; None if it is for the handlers (or nobody)."""
    action = CHANNEL[phase].get(method)
    if action is None and phase is ChannelPhase.ABSENT:
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "expected 'channel.open'")
    return action
