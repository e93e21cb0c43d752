"""Where a connection comes from, as far as the transport can tell: addresses, TLS, and the certificate shown there."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a verified client certificate says of its owner; names in the notation of RFC 4514, the last part first."""

    subject: str
    common_name: str = ""
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    peer_host: str = "127.0.0.1"
    peer_port: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    tls: str = ""
    """The version of TLS that is spoken; empty without."""
    cipher: str = ""
    certificate: Certificate | None = None

    @property
    def name(self) -> str:
        """As RabbitMQ calls a connection."""
        return f"{self.peer_host}:{self.peer_port} -> {self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        return is_loopback(self.peer_host)


def is_loopback(host: str) -> bool:
    """Is this the address of the machine itself, for itself?"""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in ("localhost", "")
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
