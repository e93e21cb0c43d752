"""Where a broker is and how to log in: an `amqp` or `amqps` URL, taken apart.

The vhost is the path without its first slash, percent-decoded; an empty one means `/`. Query parameters are those
of RabbitMQ's URI specification that concern a test client. Whatever cannot be understood is refused here, in words
that say what to type instead, so that nothing further down has to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

PORTS = {"amqp": 5672, "amqps": 5671}
EXAMPLE = "amqp://guest:guest@localhost:5672/%2F"
OPTIONS = (
    "cacertfile",
    "certfile",
    "keyfile",
    "verify",
    "server_name_indication",
    "connection_timeout",
    "auth_mechanism",
    "heartbeat",
)
MECHANISMS = ("plain", "external")


class BadUrl(ValueError):
    """A URL that does not name a broker. The message says why, and shows one that does."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}. A broker URL looks like {EXAMPLE}.")


@dataclass(frozen=True, slots=True)
class Target:
    """One broker, one login, one vhost."""

    host: str
    port: int = 5672
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    tls: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    terse: bool = False
    """Clients say no more of themselves than they must: the broker lets nobody in who announces capabilities."""
    channels: int = 0
    """Clients take no more channels on one connection: the broker lets nobody in who takes all; 0: all it allows."""

    @classmethod
    def parse(cls, url: str) -> Target:
        parts = _split(url.strip())
        if parts.scheme not in PORTS:
            raise BadUrl(_no_scheme(url, parts.scheme))
        if not parts.hostname:
            raise BadUrl(f"{_hidden(url)!r} names no host")
        return cls(
            host=unquote(parts.hostname),
            port=_port(url) or PORTS[parts.scheme],
            user=unquote(parts.username) if parts.username is not None else "guest",
            password=unquote(parts.password) if parts.password is not None else "guest",
            vhost=_vhost(url, parts.path),
            tls=parts.scheme == "amqps",
            options=_options(parts.query),
        )

    @property
    def timeout(self) -> float:
        """Seconds that one step of the handshake may take."""
        return float(self.options.get("connection_timeout", 10000)) / 1000

    @property
    def heartbeat(self) -> int:
        """Seconds between heartbeats that clients want, where a scene has no wish of its own; 0: none."""
        return int(self.options.get("heartbeat", 0))

    def beating(self, seconds: int) -> Target:
        """The same, for clients that want heartbeats."""
        return replace(self, options={**self.options, "heartbeat": str(seconds)})

    @property
    def mechanism(self) -> str:
        """How to log in: PLAIN, or EXTERNAL by client certificate."""
        return self.options.get("auth_mechanism", "plain").upper()

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        """The URL without its password."""
        scheme = "amqps" if self.tls else "amqp"
        return f"{scheme}://{quote(self.user, safe='')}@{self.address}/{quote(self.vhost, safe='')}"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise BadUrl(f"{_hidden(url)!r} cannot be read ({error})") from None


def _no_scheme(url: str, scheme: str) -> str:
    if scheme in ("http", "https"):
        return f"{scheme!r} is the scheme of a web address, not of a broker; use amqp or amqps"
    if "://" not in url:
        return f"{_hidden(url)!r} has no scheme; begin it with amqp:// or amqps://"
    return f"the scheme {scheme!r} is not known; use amqp or amqps"


def _hidden(url: str) -> str:
    """The URL with everything hidden that may be a password."""
    before, at, after = url.rpartition("@")
    return f"{before.split(':')[0]}:...@{after}" if at else url


def _port(url: str) -> int | None:
    try:
        port = urlsplit(url).port
    except ValueError:
        raise BadUrl(f"the port of {_hidden(url)!r} is not a number from 1 to 65535") from None
    if port == 0:
        raise BadUrl(f"the port of {_hidden(url)!r} is 0, where nothing can listen")
    return port


def _vhost(url: str, path: str) -> str:
    name = path.removeprefix("/")
    if "/" in name:
        raise BadUrl(f"the vhost {name!r} in {_hidden(url)!r} has a bare slash; write it as %2F")
    return unquote(name) or "/"


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in options.items():
        if name not in OPTIONS:
            raise BadUrl(f"the query parameter {name!r} is not known; known are {', '.join(OPTIONS)}")
        if name == "verify" and value not in ("verify_peer", "verify_none"):
            raise BadUrl(f"verify={value} is not known; use verify_peer or verify_none")
        if name == "auth_mechanism" and value.lower() not in MECHANISMS:
            raise BadUrl(f"auth_mechanism={value} is not known; use {' or '.join(MECHANISMS)}")
        if name == "connection_timeout" and not (value.isdigit() and int(value) > 0):
            raise BadUrl(f"connection_timeout={value} is not a number of milliseconds above 0")
        if name == "heartbeat" and not (value.isdecimal() and int(value) < 1 << 16):
            raise BadUrl(f"heartbeat={value} is not a number of seconds from 0 to 65535")
    return options
