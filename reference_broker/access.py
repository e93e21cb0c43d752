"""Who may log in: SASL PLAIN and RabbitMQ's AMQPLAIN, against a table of users."""

from __future__ import annotations

from collections.abc import Mapping

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker.errors import ConnectionException

MECHANISMS = ("PLAIN", "AMQPLAIN")
OFFERED = " ".join(MECHANISMS).encode()


class LoginRefused(ConnectionException):
    """A wrong user or password; only clients that asked for it are told, others are cut off."""

    def __init__(self, mechanism: str) -> None:
        super().__init__(
            ReplyCode.ACCESS_REFUSED,
            f"Login was refused using authentication mechanism {mechanism}. "
            "For details see the broker logfile.",
            offender=(0, 0),
        )


def log_in(mechanism: str, response: bytes, users: Mapping[str, str]) -> str:
    """The user who logged in."""
    if mechanism not in MECHANISMS:
        raise ConnectionException(
            ReplyCode.COMMAND_INVALID, f"unknown authentication mechanism '{mechanism}'"
        )
    user, password = credentials(mechanism, response)
    if user is None or users.get(user) != password:
        raise LoginRefused(mechanism)
    return user


def credentials(mechanism: str, response: bytes) -> tuple[str | None, str]:
    if mechanism == "PLAIN":
        parts = response.split(b"\0")
        if len(parts) != 3:
            return None, ""
        return parts[1].decode(errors="replace"), parts[2].decode(errors="replace")
    table = read_table(response)
    login, password = (values.lookup(table, name) for name in ("LOGIN", "PASSWORD"))
    return (login, password) if isinstance(login, str) and isinstance(password, str) else (None, "")

def read_table(octets: bytes) -> values.FieldTable:
    """A table without its length, as AMQPLAIN sends it: read as the first argument of a start-ok."""
    empty = m.ConnectionStartOk(0).encode()
    head, rest = empty[7:11], empty[15:-1]
    payload = head + len(octets).to_bytes(4, "big") + octets + rest
    try:
        frame = codec.decode(empty[:3] + len(payload).to_bytes(4, "big") + payload + empty[-1:])
    except codec.MalformedFrame:
        return []
    assert isinstance(frame, m.ConnectionStartOk)
    return frame.client_properties
