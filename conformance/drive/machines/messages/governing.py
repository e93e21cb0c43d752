"""The commands of the life machine by which policies are set, changed and removed while messages wait.

They need the management API, and do nothing without it. A queue is at rest when its policy changes, and has a second to
heed that; what it must keep, lose or hand on then is seen when all queues are emptied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.drive.around import wait
from conformance.drive.machines.messages.acts import Send, Sweep, empty_all, lifetimes
from conformance.drive.machines.messages.lots import RULED
from conformance.drive.machines.world import World
from conformance.drive.stage import NotOffered

HEEDED, ARRIVED, EXPIRED = 1.1, 1.3, 0.5
"""Seconds after which a policy is heeded, a dead letter has come, and a message that lives `SHORT` is gone."""
SHORT = 200
"""Milliseconds."""
PRIORITY = 100
"""Higher than that of policies which the broker may have had before."""
TO_THE_LAST = "to the last queue"
Definition = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Govern:
    """Messages wait in a queue, and a policy for it is set, or another one in the place of that, or it is removed. More
    come, one of them is perhaps rejected, and at last all is taken."""

    channel: int
    queue: int
    rank: int
    """A queue may have several policies, of different priorities."""
    definition: Definition
    """Nothing: the oldest one is removed."""
    operator: bool
    waiting: int
    coming: int
    gives_up: bool

    def perform(self, world: World) -> None:
        stage, lives = world.stage, lifetimes(world)
        if RULED not in lives.traits or not lives.rulings:
            return
        if stage.around.admin is None:
            raise NotOffered("no management API was given, by which policies could be set")
        lives.rulings -= 1
        Sweep(self.channel, self.queue, True).perform(world)
        self._publish(world, self.waiting)
        said = self._rule(world)
        wait(stage, HEEDED)
        lives.count(self.channel, self.queue)
        self._publish(world, self.coming)
        if self.gives_up:
            self._give_up(world)
        wait(stage, ARRIVED if self.gives_up else EXPIRED if said.get("message-ttl") == SHORT else 0)
        empty_all(world, self.channel, (self.queue, self.queue + 1, self.queue + 2))

    def _publish(self, world: World, count: int) -> None:
        Send(0, self.queue, count, None, None, 10, False, False, False).perform(world)
        world.stage.quiesce()

    def _rule(self, world: World) -> Mapping[str, Any]:
        """Sets it, or removes the one that is there, and tells what it says."""
        stage, lives, queue = world.stage, lifetimes(world), world.queue(self.queue)
        said = {name: world.queue(2) if value == TO_THE_LAST else value for name, value in self.definition}
        place = queue, self.rank, self.operator
        if said:
            name = lives.policies.setdefault(place, stage.recorder.private_name())
            pattern = f"^{queue.replace('.', '[.]')}$"
            priority = PRIORITY + self.rank
            stage.around.rule(stage, name, pattern, said, priority=priority, operator=self.operator)
        else:
            for one in [one for one in lives.policies if one[0] == queue][:1]:
                stage.around.unrule(stage, lives.policies.pop(one), operator=one[2])
        return said

    def _give_up(self, world: World) -> None:
        channel = world.channel(self.channel)
        tag = world.stage.get(channel, world.queue(self.queue))
        if tag is not None:
            channel.reject(tag, requeue=False)
            world.stage.barrier(channel)
