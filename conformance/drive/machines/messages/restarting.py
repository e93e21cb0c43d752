"""The command of the life machine by which the broker is shut down in good order and started again.

It needs a command that does so, and does nothing without it. A real broker takes ten seconds or more for it, so a whole
run has a few of them only, and a history one. What waits then is persistent, in durable queues with whatever arguments;
what becomes of it afterwards is seen when all queues are emptied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.drive.machines.messages.acts import Elapse, Send, empty_all, lifetimes
from conformance.drive.machines.messages.courses import Compete, Follow, Overfill
from conformance.drive.machines.world import World


@dataclass(frozen=True, slots=True)
class Outlive:
    """Messages wait in a queue, some given up before, and the broker restarts; more come, and all is taken. Then the
    queue and its heirs are declared again, so that it is known what they are, and each thing that a queue can be is
    asked of them: they are filled beyond their limits, left alone, given up from, and shared by two consumers."""

    channel: int
    queue: int
    before: tuple[Send, ...]
    behind: tuple[Send, ...]
    given_up: int
    held: int
    looks: int
    after: int
    fill: Overfill
    follow: Follow
    compete: Compete

    def perform(self, world: World) -> None:
        lives = lifetimes(world)
        if not lives.may_restart():
            return
        self._send(world, self.before)
        self._give_up(world, self.given_up)
        self._look(world)
        world.stage.around.revive(world.stage)
        self._give_up(world, self.given_up)
        self._send(world, self.behind)
        Elapse(self.after).perform(world)
        empty_all(world, self.channel, lives.line(self.queue))
        for place in lives.line(self.queue):
            lives.declare_again(place)
        replace(self.fill, channel=self.channel, queue=self.queue).perform(world)
        replace(self.follow, channel=self.channel, queue=self.queue).perform(world)
        replace(self.compete, queue=self.queue).perform(world)

    def _look(self, world: World) -> None:
        """Some of what waits is taken, and held until the end."""
        for place in lifetimes(world).line(self.queue):
            for _ in range(self.looks):
                world.stage.get(world.channel(self.channel), world.queue(place))

    def _send(self, world: World, sends: tuple[Send, ...]) -> None:
        for send in sends:
            replace(send, queue=self.queue, persistent=True, special=False).perform(world)
        world.stage.quiesce()

    def _give_up(self, world: World, count: int) -> None:
        """So many are rejected, and go on to where the dead go; some time later."""
        channel, queue = world.channel(self.channel), world.queue(self.queue)
        for _ in range(count):
            tag = world.stage.get(channel, queue)
            if tag is None:
                break
            channel.reject(tag, requeue=False)
            world.stage.barrier(channel)
        Elapse(self.held if count else 0).perform(world)
