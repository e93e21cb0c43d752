"""What commands of a machine do on the wire."""

from __future__ import annotations

from collections.abc import Callable

from conformance.drive.machines.world import Command, World
from conformance.history.events import Event

Until = Callable[[str], None]
"""Ends a search where this rule, or one that begins so, was found broken."""


def last(world: World, *commands: Command) -> list[Event]:
    """What goes over the wire for the last of these commands, each on a broker at rest."""
    begin = 0
    for command in commands:
        world.stage.quiesce()
        begin = len(world.stage.events)
        command.perform(world)
    world.stage.quiesce()
    return world.stage.events[begin:]
