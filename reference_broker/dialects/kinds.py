"""What a behaviour of a dialect is, and the decorator that makes one out of the decision itself.

    @does("channel", BEHAVIOURS, "ends.some-wait", "...", since="3.10")
    class SomeWait(Channel):
        def fail(self) -> None: ...

reads: in RabbitMQ from 3.10 on, `Channel.fail` is the method below, and `super()` is what the earlier series or the
texts have there. A series begins and ends a behaviour, so that each dialect is a list of them, in the order in which
they came.

A behaviour is applied to the `Parts` that a broker is made from, below mutants, personalities and variations. A mutant
that starts from a part of the core would undo what a behaviour decides in the same method; a test keeps the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from reference_broker.core.edition import Series
from reference_broker.core.parts import Parts

SERIES: Sequence[Series] = get_args(Series)
FIRST, LAST = SERIES[0], SERIES[-1]
C = TypeVar("C", bound=type[Any])


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`says` completes "a RabbitMQ in which ..."."""

    name: str
    says: str
    since: Series
    until: Series
    apply: Callable[[Parts], None]

    def known(self, series: Series) -> bool:
        """Does this series do so?"""
        return SERIES.index(self.since) <= SERIES.index(series) <= SERIES.index(self.until)


def does(
    part: str, family: list[Behaviour], name: str, says: str, *, since: Series = FIRST, until: Series = LAST
) -> Callable[[C], C]:
    """The methods of the decorated class come before those of this part."""

    def add(other: C) -> C:
        family.append(Behaviour(name, says, since, until, lambda parts: parts.extend(part, other)))
        return other

    return add
