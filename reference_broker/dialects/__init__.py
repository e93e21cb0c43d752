"""What brokers decide otherwise than the texts say, each decision an override of the core.

`documented` is what the texts promise, without known bugs: the core as it is. The others do as the RabbitMQ of that
series does where it can be seen from outside, wrong or not, and introduce themselves as it, so that a judge holds them
to the same profile. A dialect is its *edition*, which is data, and the behaviours of its series (see `kinds`).

Not imitated: what RabbitMQ only does when two things happen to race (a cancellation that meets a
deletion on another connection, a cancel pipelined behind its consume, a timer that gets lost), and
what quorum queues do of their own: in 3.8 deliveries that a cancel meets are delivered twice or lost,
more than 32 messages that return together come in any order, a length limit is exceeded while publishes are under way,
and up to 4.2 priorities are two, mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from codec.errors import ReplyCode
from reference_broker.core import edition
from reference_broker.core.edition import MEBIBYTE, Edition
from reference_broker.core.parts import Parts
from reference_broker.dialects import (
    confirming,
    deadlettering,
    declaring,
    ending,
    limiting,
    matching,
    permitting,
    reading,
    replying,
    returning,
    serving,
    settling,
    watching,
)
from reference_broker.dialects.kinds import Behaviour

FAMILIES = (
    returning,
    serving,
    limiting,
    settling,
    confirming,
    ending,
    declaring,
    permitting,
    deadlettering,
    watching,
    reading,
    replying,
    matching,
)
BEHAVIOURS: Mapping[str, Behaviour] = {one.name: one for family in FAMILIES for one in family.BEHAVIOURS}


@dataclass(frozen=True)
class Dialect:
    edition: Edition
    behaviours: tuple[Behaviour, ...] = ()
    """In the order in which they are applied."""

    @property
    def name(self) -> str:
        return self.edition.name

    @property
    def product(self) -> str:
        return self.edition.product

    @property
    def version(self) -> str:
        return self.edition.version

    def apply(self, parts: Parts) -> Parts:
        """These parts, with what is otherwise in this dialect."""
        parts.edition = self.edition
        for behaviour in self.behaviours:
            behaviour.apply(parts)
        return parts

    def parts(self) -> Parts:
        return self.apply(Parts())


def rabbitmq(told: Edition) -> Dialect:
    """The RabbitMQ that this edition introduces."""
    return Dialect(told, tuple(one for one in BEHAVIOURS.values() if one.known(told.policies)))


EDITION_3_8 = Edition("rabbitmq-3.8", "RabbitMQ", "3.8.9", policies="3.8", delivery_limit=None)
EDITION_3_10 = replace(EDITION_3_8, name="rabbitmq-3.10", version="3.10.8", policies="3.10")
EDITION_4_0 = replace(
    EDITION_3_10,
    name="rabbitmq-4.0",
    version="4.0.5",
    policies="4.0",
    delivery_limit=20,
    max_message=16 * MEBIBYTE,
    unknown_exchange_type=ReplyCode.PRECONDITION_FAILED,
)
EDITION_4_3 = replace(EDITION_4_0, name="rabbitmq-4.3", version="4.3.6", policies="4.3", smallest_frame_max=8192)

DOCUMENTED = Dialect(edition.DOCUMENTED)
DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (DOCUMENTED, *map(rabbitmq, (EDITION_3_8, EDITION_3_10, EDITION_4_0, EDITION_4_3)))
}


class UnknownDialect(ValueError):
    """A name that is not in `DIALECTS`."""


def dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise UnknownDialect(f"no dialect is called '{name}'; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]
