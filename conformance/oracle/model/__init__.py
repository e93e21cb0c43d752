"""The model: what a history of wire events proves, and the facts that it derives for the monitors.

Events are read into facts (`facts`), monitors judge facts, the model learns from them. It is organised by what things
are (`records`, `queues`, `channels`, `connections`) and by what happens to them (`sending`, `consuming`, `defining`,
`settling`, `receiving`, `delivering`, `closing`, `endings`); `owed` says what the broker must still send, `views` what
others may look at.
"""

from conformance.oracle.model.facts import Fact
from conformance.oracle.model.model import Model
from conformance.oracle.model.owed import Obligation
from conformance.oracle.model.views import ChannelView, ConnectionView, ConsumerView, DeliveryView

__all__ = ["ChannelView", "ConnectionView", "ConsumerView", "DeliveryView", "Fact", "Model", "Obligation"]
