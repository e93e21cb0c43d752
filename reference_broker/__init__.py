"""A small AMQP 0-9-1 broker that does what the texts say. It reads the texts independently of the oracle.

A pure core (`core/`: no sockets, no clock, no chance), an asyncio shell around it (`server.py`, `peer.py`) and two
doors: `ReferenceBroker` inside a process, `python -m reference_broker` alone.
"""

from reference_broker.core.connections.limits import Limits
from reference_broker.embedded import ReferenceBroker
from reference_broker.tls import Tls

__all__ = ["Limits", "ReferenceBroker", "Tls"]
