"""What the suite's machines and its hunt ask for under pytest: rounds on the broker of this run, into the ledger."""

from __future__ import annotations

import time

from conformance.drive.machines import search
from conformance.drive.run.runner import Machines
from conformance.session.checks import Attempt
from conformance.session.hunting import MACHINES, Round, chance_of


class MachineCampaign(Machines[Attempt]):
    """One machine, or one turn of the hunt, on one queue type."""

    __slots__ = ()

    @classmethod
    def of(cls, attempt: Attempt) -> MachineCampaign:
        return cls(attempt.bench, attempt.queue_type, attempt)

    def hunt(self) -> None:
        """Rounds at what was not reached yet, for as long as this turn may take; or the one that was asked for."""
        attempt, opened, options = self.audience, self.audience.opened, self.audience.options
        if options.again:
            asked = Round.read(options.again)
            if asked.queue_type == attempt.queue_type and opened.hunt.rounds == 0:
                opened.hunt.rounds = 1
                self._round(asked)
            return
        seconds = opened.hunt.seconds(options.hunt, opened.age())
        opened.guard.check_ends = min(opened.guard.check_ends, time.monotonic() + seconds)
        chance = chance_of(options.seed, attempt.queue_type)
        while not opened.guard.over and attempt.fit():
            self._round(
                opened.hunt.next(
                    chance,
                    opened.tally.reach.rows,
                    opened.profile,
                    attempt.queue_type,
                    opened.around,
                )
            )

    def _round(self, one: Round) -> None:
        """What was shown in an earlier round is judged, and not looked into."""
        attempt, hunt = self.audience, self.audience.opened.hunt
        attempt.round = str(one)
        outcome = search.run(
            MACHINES[one.machine],
            self.bench,
            one.queue_type,
            one.scheduler,
            one.examples,
            one.steps,
            one.seed,
            attempt,
            one.lean,
        )
        for broken in outcome.broken.values():
            attempt.show(broken.finding, broken.events, broken.reproduced)
            hunt.show(broken.finding, one.queue_type)
            hunt.show(broken.first_finding, one.queue_type)
