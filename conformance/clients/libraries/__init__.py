"""Client libraries as drivers: a library carries out the commands that otherwise go to the wire.

A library runs in a process of its own, behind an *adapter* (`adapter.py`): it is told what to do in lines of JSON and
tells in lines of JSON what its callbacks, return values and exceptions show an application. What it does to the broker
passes a tap (`wiretap.py`) in this process. So of each history there are two accounts: the wire, by which the broker is
judged, and what the library showed, by which only the library can be. An adapter judges nothing and hides nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shipped:
    """An adapter that comes with the suite. `package` is what must be installed for it, `module` what it imports."""

    module: str
    package: str
    adapter: str

    @property
    def command(self) -> Sequence[str]:
        return sys.executable, "-m", f"conformance.clients.libraries.{self.adapter}"


SHIPPED: Mapping[str, Shipped] = {
    "pika-select": Shipped("pika", "pika", "pika_select"),
    "pika-blocking": Shipped("pika", "pika", "pika_blocking"),
    "py-amqp": Shipped("amqp", "amqp", "py_amqp"),
}
