"""How a machine of the suite comes to its broker, its size, and its place in the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.front.checks import Attempt
from conformance.front.plays import revisited
from conformance.front.size import STEPS, examples
from conformance.machines import search
from conformance.machines.campaign import Scheduler


@dataclass(frozen=True, slots=True)
class Campaign:
    """One machine on one queue type."""

    attempt: Attempt

    def run(self, machine: search.Machine, scheduler: Scheduler) -> None:
        """Random histories. Each broken rule is shown by the shortest one that breaks it."""
        opened, options = self.attempt.opened, self.attempt.options
        outcome = search.run(
            machine, opened.target, opened.profile, lambda: opened.recorder, self.attempt.queue_type, scheduler,
            options.examples or examples(options.depth, timed=machine.clock), STEPS[options.depth], options.seed,
            on_judgement=self.attempt.contribute, deadline=opened.deadline, around=opened.around,
            known=self.attempt.settled, purse=opened.purse, guard=opened.guard, between=self.attempt,
        )
        for broken in outcome.broken.values():
            self.attempt.show(broken.finding, broken.events, broken.reproduced)

    def revisit(self) -> None:
        """Scenes once more."""
        attempt, opened, options = self.attempt, self.attempt.opened, self.attempt.options
        for number, play in revisited(opened.profile, attempt.queue_type, options.depth, opened.around):
            if opened.guard.over or not attempt.fit():
                break
            stage, trouble = play.again(
                opened.target, opened.profile, opened.recorder, opened.deadline, opened.around, options.seed + number,
                opened.guard,
            )
            attempt.after(stage)
            attempt.contribute(stage.judgement, stage.events)
            if trouble is not None:
                raise trouble
