"""How a client tells who it is: SASL PLAIN, RabbitMQ's AMQPLAIN, and EXTERNAL, by its TLS certificate.

EXTERNAL is offered only where it was switched on, and a certificate was shown and verified. It means the user who is
called like the subject of the certificate, as RabbitMQ writes it, or else like its common name.
"""

from __future__ import annotations

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from reference_broker.core.access import Access
from reference_broker.core.connections.origin import Certificate, Origin
from reference_broker.core.errors import ConnectionException

BY_PASSWORD = ("PLAIN", "AMQPLAIN")
EXTERNAL = "EXTERNAL"


class LoginRefused(ConnectionException):
    """A wrong user or password; only clients that asked for it are told, others are cut off."""

    def __init__(self, mechanism: str) -> None:
        super().__init__(
            ReplyCode.ACCESS_REFUSED,
            f"Login was refused using authentication mechanism {mechanism}. For details see the broker logfile.",
            offender=(0, 0),
        )


def mechanisms(access: Access) -> tuple[str, ...]:
    """All that there are for anybody."""
    return (*BY_PASSWORD, EXTERNAL) if access.external else BY_PASSWORD


def offered(origin: Origin, access: Access) -> tuple[str, ...]:
    return mechanisms(access) if origin.certificate is not None else BY_PASSWORD


def log_in(mechanism: str, response: bytes, access: Access, origin: Origin) -> str:
    """The user who logged in. Raises LoginRefused."""
    if mechanism not in offered(origin, access):
        raise ConnectionException(ReplyCode.COMMAND_INVALID, f"unknown authentication mechanism '{mechanism}'")
    if mechanism == EXTERNAL and origin.certificate is not None:
        user = owner(origin.certificate, access)
        known = user is not None and access.may_come(user, origin.loopback)
    else:
        user, password = credentials(mechanism, response)
        known = user is not None and access.by_password(user, password, origin.loopback) is not None
    if user is None or not known:
        raise LoginRefused(mechanism)
    return user


def owner(certificate: Certificate, access: Access) -> str | None:
    names = (certificate.subject, certificate.common_name)
    return next((name for name in names if name in access.users), None)


def credentials(mechanism: str, response: bytes) -> tuple[str | None, str]:
    """What was said of user and password; no user when it cannot be read."""
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
