"""Who follows histories as they are played: says whether one more may begin, and hears what became of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from conformance.drive.stage import Stage
from conformance.history.events import Event
from conformance.oracle.verdicts import Finding, Judgement

Witness = Callable[[Judgement, Sequence[Event]], None]
"""Hears of every judged history; what it raises ends the play."""


class Audience(Protocol):
    """Of all histories that one check makes."""

    def fit(self) -> bool:
        """Is there a broker, and time, for one more history?"""

    def after(self, stage: Stage) -> None:
        """This history is over, recorded or not."""

    def contribute(
        self,
        judgement: Judgement,
        history: Sequence[Event] = (),
        *,
        reproduced: str = "witnessed",
    ) -> None:
        """A recorded history was judged; a failing one of a machine only when it is known how often it fails."""

    def settled(self, finding: Finding) -> bool:
        """Need nobody look into this finding any more?"""

    def show(self, finding: Finding, history: Sequence[Event], reproduced: str) -> None:
        """The shortest history that shows this finding."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An audience that only hears of histories; what breaks in those of machines is looked into if it is `curious`."""

    witness: Witness = lambda judgement, history: None
    curious: bool = False

    def fit(self) -> bool:
        return True

    def after(self, stage: Stage) -> None:
        pass

    def contribute(
        self,
        judgement: Judgement,
        history: Sequence[Event] = (),
        *,
        reproduced: str = "witnessed",
    ) -> None:
        self.witness(judgement, history)

    def settled(self, finding: Finding) -> bool:
        return not self.curious

    def show(self, finding: Finding, history: Sequence[Event], reproduced: str) -> None:
        pass


CURIOUS = Listener(curious=True)
