"""The runner: plays a check from its first frame to the end of its histories, for every caller in the same way.

If a scene cannot go on, that is not an error: its history ends in order, and is judged. If a scene fails, it is cut
off. A play asserts nothing either; its judgement says everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from conformance.catalogue import deviations
from conformance.catalogue.profiles import Profile
from conformance.drive.around import Around
from conformance.drive.drivers.errors import ConnectionLost
from conformance.drive.machines import search
from conformance.drive.machines.campaign import Scheduler
from conformance.drive.machines.revisits import Circumstances, Veteran
from conformance.drive.machines.soak import Course, run_course
from conformance.drive.run.audience import Audience, Listener, Witness
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.size import PARTS, REVISITS, ROUNDS, STEPS, examples
from conformance.drive.stage import NotOffered, SceneOver, Stage

A = TypeVar("A", bound=Audience)
Played = tuple[Stage, BaseException | None]
"""The stage of a history that is over, and what went wrong and is no finding."""


def observe(play: Play, bench: Bench, witness: Witness) -> BaseException | None:
    """Plays it. What went wrong and is no finding is returned; ConnectionLost among it, where the broker hung up.

    The witness hears of each history as soon as that is judged.
    """
    if play.machine:
        play.function(Machines(bench, play.queue_type, Listener(witness)), **dict(play.arguments))
        return None
    stage, failure = perform(play, bench) if play.again is None else once_more(play, bench)
    witness(stage.judgement, stage.events)
    return failure


def perform(play: Play, bench: Bench) -> Played:
    """A scene from its first frame to its judgement, and what went wrong and is no finding. What it declared is gone
    again."""
    with bench.staged(Stage, play.name, play.check.rules, play.queue_type) as stage:
        return stage, run(stage, play.on(stage))


def once_more(play: Play, bench: Bench) -> Played:
    """The same under circumstances that the seed draws."""
    drawn = Circumstances.drawn(bench.seed + (play.again or 0), play.first)
    if play.timed:
        drawn = replace(drawn, passes=2)
    with bench.staged(Veteran, play.name, play.check.rules, play.queue_type) as stage:
        acted = partial(stage.repeat, play.on(stage), drawn)
        return stage, run(stage, acted, give_back=drawn.give_back and not play.timed)


def run(stage: Stage, scene: Callable[[], object], *, give_back: bool = False) -> BaseException | None:
    """A scene on this stage, and the end of its history."""
    return conclude(stage, attempted(scene), give_back=give_back)


def conclude(stage: Stage, failure: BaseException | None, *, give_back: bool = False) -> BaseException | None:
    """Brings the history to its end: in good order, or cut off where the scene, or that, failed. What failed is
    returned."""
    if isinstance(failure, NotOffered) and failure.refused:
        stage.lacking = str(failure)
    if failure is None or isinstance(failure, SceneOver):
        failure = attempted(partial(stage.finish, give_back=give_back))
    if failure is not None:
        attempted(stage.cut)
    return None if isinstance(failure, SceneOver) else failure


def attempted(
    action: Callable[[], object], kinds: tuple[type[BaseException], ...] = (Exception,)
) -> BaseException | None:
    """What the action raised, of these kinds."""
    try:
        action()
    except kinds as failure:
        return failure
    return None


@dataclass(frozen=True, slots=True)
class Machines(Generic[A]):
    """What a machine of the suite asks for, on one queue type."""

    bench: Bench
    queue_type: str
    audience: A

    def run(self, machine: search.Machine, scheduler: Scheduler) -> None:
        """Random histories. Each broken rule that the audience has looked into is shown by the shortest one."""
        bench = self.bench
        outcome = search.run(
            machine,
            bench,
            self.queue_type,
            scheduler,
            bench.examples or examples(bench.depth, machine.times),
            STEPS[bench.depth],
            bench.seed,
            self.audience,
        )
        for broken in outcome.broken.values():
            self.audience.show(broken.finding, broken.events, broken.reproduced)

    def revisit(self, part: int) -> None:
        """Scenes once more, those of this part, in a drawn order: a slow broker leaves time for a few, and each
        seed for others."""
        bench = self.bench
        scenes = list(revisited(part, bench.profile, self.queue_type, bench.depth, bench.around))
        random.Random(bench.seed).shuffle(scenes)
        self._follow([partial(once_more, play, bench) for play in scenes])

    def soak(self, courses: Sequence[Course]) -> None:
        """Each of these courses, so many rounds as the depth says."""
        self._follow([partial(self._soaked, course) for course in courses])

    def _soaked(self, course: Course) -> Played:
        with self.bench.staged(Stage, f"soak_{course.name}", (), self.queue_type) as stage:
            return stage, run(stage, partial(run_course, course, stage, ROUNDS[self.bench.depth]))

    def _follow(self, histories: Sequence[Callable[[], Played]]) -> None:
        """Plays these while there is time. Raises what went wrong first and is no finding, when all are over; that the
        broker hung up in one of them keeps nobody from the others."""
        guard, audience = self.bench.guard, self.audience
        trouble: BaseException | None = None
        for play in histories:
            if (guard is not None and guard.over) or not audience.fit():
                break
            stage, failure = play()
            audience.after(stage)
            audience.contribute(stage.judgement, stage.events)
            if not isinstance(failure, ConnectionLost):
                trouble = trouble or failure
        if trouble is not None:
            raise trouble


def revisited(part: int, profile: Profile, queue_type: str, depth: str, around: Around) -> Iterator[Play]:
    """The scenes of this part, so many times each: those that wait for time to pass only where none is lost by that,
    and none of a rule that the broker is known to break. Its scene shows that; in other forms it shows what follows."""
    broken = deviations.known_to_break(profile, queue_type)
    scenes = [
        play
        for play in plays()
        if not play.machine
        and play.queue_type == queue_type
        and play.suits(profile, depth)
        and (around.advance is not None or not play.timed)
        and broken.isdisjoint(play.check.rules)
    ]
    for number in range(REVISITS[depth]):
        yield from (replace(play, again=number) for play in scenes[part::PARTS])
