"""An AMQP 0-9-1 broker that does what the text says: small, readable, its own reading of the rules.

A pure core (`broker.py` and what it uses: no sockets, no clock, no chance), an asyncio shell
(`server.py`) and two doors: `ReferenceBroker` inside a process, `python -m reference_broker` alone.
"""

from reference_broker.embedded import ReferenceBroker
from reference_broker.limits import Limits
from reference_broker.tls import Tls

__all__ = ["Limits", "ReferenceBroker", "Tls"]
