"""The hunt is a check like any other, and played in turns, so that what a turn has found is kept whatever happens next.

It is collected only where it is asked for: `amqp-conformance hunt`.
"""

from __future__ import annotations

from typing import Protocol

from conformance.catalogue import rules
from conformance.drive.scenes.marks import rule


class HuntFixture(Protocol):
    """What the plugin's fixture of this name does."""

    def hunt(self) -> None: ...


@rule(families=tuple(rules.FAMILIES))
def test_hunt(campaign: HuntFixture, turn: int) -> None:
    """Rounds of all machines, at what was not reached yet, until this turn's time is over."""
    campaign.hunt()
