"""The model: what a history of wire events proves, and the facts that it derives for the monitors.

Events are read into facts (`facts`), monitors judge facts, the model learns from them. `sending` and `receiving` lead
from a method to what it means, `incidents` from everything else. What things are, and what happens to them, lies in a
room of its kind: `connections` with their channels, `queues`, `publishing`, `consumers`. `doubts` holds what a history
leaves open, `circumstances` what is noted for deviations. `owed` says what the broker must still send, `views` what
others may look at.
"""

from conformance.oracle.model.facts import Fact
from conformance.oracle.model.model import Model
from conformance.oracle.model.owed import Obligation
from conformance.oracle.model.views import ChannelView, ConnectionView, ConsumerView, DeliveryView

__all__ = ["ChannelView", "ConnectionView", "ConsumerView", "DeliveryView", "Fact", "Model", "Obligation"]
