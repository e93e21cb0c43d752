"""How a machine of the suite comes to its broker, its size, and its place in the ledger."""

from __future__ import annotations

import time
from dataclasses import dataclass

from conformance.drive.machines import search
from conformance.drive.machines.campaign import Scheduler
from conformance.session.checks import Attempt
from conformance.session.hunting import MACHINES, Round, chance_of
from conformance.session.plays import revisited
from conformance.session.size import STEPS, examples


@dataclass(frozen=True, slots=True)
class Campaign:
    """One machine on one queue type."""

    attempt: Attempt

    def run(self, machine: search.Machine, scheduler: Scheduler) -> None:
        """Random histories. Each broken rule is shown by the shortest one that breaks it."""
        opened, options = self.attempt.opened, self.attempt.options
        outcome = search.run(
            machine,
            opened.target,
            opened.profile,
            lambda: opened.recorder,
            self.attempt.queue_type,
            scheduler,
            options.examples or examples(options.depth, timed=machine.clock),
            STEPS[options.depth],
            options.seed,
            on_judgement=self.attempt.contribute,
            deadline=opened.deadline,
            around=opened.around,
            known=self.attempt.settled,
            budget=opened.budget,
            guard=opened.guard,
            between=self.attempt,
        )
        for broken in outcome.broken.values():
            self.attempt.show(broken.finding, broken.events, broken.reproduced)

    def hunt(self) -> None:
        """Rounds at what was not reached yet, for as long as this turn may take; or the one that was asked for."""
        attempt, opened, options = self.attempt, self.attempt.opened, self.attempt.options
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
        attempt, opened = self.attempt, self.attempt.opened
        attempt.round = str(one)
        outcome = search.run(
            MACHINES[one.machine],
            opened.target,
            opened.profile,
            lambda: opened.recorder,
            one.queue_type,
            one.scheduler,
            one.examples,
            one.steps,
            one.seed,
            on_judgement=attempt.contribute,
            deadline=opened.deadline,
            around=opened.around,
            known=lambda finding: attempt.settled(finding) or opened.hunt.seen(finding, one.queue_type),
            budget=opened.budget,
            guard=opened.guard,
            between=attempt,
            lean=one.lean,
        )
        for broken in outcome.broken.values():
            attempt.show(broken.finding, broken.events, broken.reproduced)
            opened.hunt.show(broken.finding, one.queue_type)
            opened.hunt.show(broken.first_finding, one.queue_type)

    def revisit(self) -> None:
        """Scenes once more."""
        attempt, opened, options = self.attempt, self.attempt.opened, self.attempt.options
        for number, play in revisited(opened.profile, attempt.queue_type, options.depth, opened.around):
            if opened.guard.over or not attempt.fit():
                break
            stage, trouble = play.again(
                opened.target,
                opened.profile,
                opened.recorder,
                opened.deadline,
                opened.around,
                options.seed + number,
                opened.guard,
            )
            attempt.after(stage)
            attempt.contribute(stage.judgement, stage.events)
            if trouble is not None:
                raise trouble
