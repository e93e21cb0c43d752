"""Leads other people's suites to the broker under test, and changes nothing of them.

Suites look for a broker at the well-known ports of this machine. Python loads this file before all else, in the
processes that a suite starts as well: a connection to a well-known port of loopback goes to the port that LEAD names
("5672=40001 15672=40002"), or to one where nobody listens; one to another machine is refused. Standard library only: it
is loaded into the environments of the suites, and knows nothing of ours.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

WELL_KNOWN = {5671, 5672, 15672}
HERE = {"127.0.0.1", "localhost", "::1", "0.0.0.0", "::", ""}
NOWHERE = 1


def ports(said: str) -> dict[int, int]:
    """Where each well-known port is, as LEAD says it."""
    return {int(here): int(there) for here, _, there in (pair.partition("=") for pair in said.split())}


def led(address: Any, where: dict[int, int]) -> Any:
    """The address that is meant; raises ConnectionRefusedError where that is another machine."""
    if not isinstance(address, tuple):
        return address
    if address[0] not in HERE and not str(address[0]).startswith("127."):
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"a suite stays on this machine, and {address} is none of it")
    if address[1] in WELL_KNOWN:
        return (address[0], where.get(address[1], NOWHERE), *address[2:])
    return address


def lead(verb: str, where: dict[int, int]) -> None:
    """Makes one verb of sockets go where it is led."""
    plain = getattr(socket.socket, verb)
    setattr(socket.socket, verb, lambda self, address: plain(self, led(address, where)))


if "LEAD" in os.environ:
    for name in ("connect", "connect_ex"):
        lead(name, ports(os.environ["LEAD"]))
