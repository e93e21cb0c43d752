"""Where histories are made: a broker, what it is held to, what is around it, and where what happens is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from conformance.catalogue import deviations
from conformance.catalogue.profiles import Profile
from conformance.drive.around import Around
from conformance.drive.budget import TimeBudget
from conformance.drive.drivers.target import Target
from conformance.drive.guard import Guard
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from conformance.oracle.verdicts import Finding, Judgement

S = TypeVar("S", bound=Stage)


@dataclass(frozen=True, slots=True)
class Bench:
    """Of one process. `deadline` in seconds."""

    target: Target
    profile: Profile
    around: Around = field(default_factory=Around)
    deadline: float = 1.0
    seed: int = 0
    depth: str = "ci"
    run: str = "campaign"
    """Goes into the names of queues; another one in each history, where the broker is not ours alone."""
    guard: Guard | None = None
    """What tells a slow broker from a silent one."""
    recorder: Recorder | None = None
    """Of all histories; without one each scene, and each machine, has a recorder of its own."""
    budget: TimeBudget | None = None
    """For looking into what machines find."""
    examples: int | None = None
    """Of each machine; else as many as the depth says."""

    def recording(self) -> Recorder:
        """The recorder from which the next history begins."""
        return self.recorder or Recorder(self.run, self.target.address)

    def stage(
        self,
        kind: Callable[..., S],
        name: str,
        rules: Sequence[str] = (),
        queue_type: str = "classic",
        *,
        recorder: Recorder | None = None,
        deadline: float | None = None,
    ) -> S:
        """The stage of a new history, with what is around it; with less patience, where a deadline is given."""
        stage = kind(
            self.target,
            self.profile,
            recorder or self.recording(),
            name,
            rules,
            queue_type,
            self.deadline if deadline is None else deadline,
            self.guard,
        )
        self.around.enter(stage)
        return stage

    @contextmanager
    def staged(
        self,
        kind: Callable[..., S],
        name: str,
        rules: Sequence[str] = (),
        queue_type: str = "classic",
    ) -> Iterator[S]:
        """The same; afterwards nothing is left of it at the broker."""
        stage = self.stage(kind, name, rules, queue_type)
        try:
            yield stage
        finally:
            stage.cleanup()

    def damning(self, judgement: Judgement, queue_type: str) -> list[Finding]:
        """What is certain and no known deviation of the profile."""
        known = _known(self.profile.deviations)
        return [
            finding
            for finding in judgement.findings
            if finding.certain
            and deviations.excuse(known, finding.rule, finding.observed, queue_type, finding.where) is None
        ]


@cache
def _known(name: str | None) -> Sequence[deviations.Deviation]:
    return deviations.load(name) if name else ()
