"""Users of a history's own, who may use certain names and no others. They are gone when the history is cleaned up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.drive.around import EVERYTHING
from conformance.drive.channel import Channel
from conformance.drive.stage import NotOffered, Stage

__all__ = ["EVERYTHING", "NOTHING", "enter", "exactly", "patterns", "user"]

NOTHING = "^none$"
"""A pattern that fits nothing that there is, and is not empty."""


def exactly(*names: str) -> str:
    """A pattern that fits these names alone."""
    return "^(" + "|".join(name.replace(".", "[.]") for name in names) + ")$" if names else NOTHING


def patterns(configure: Iterable[str] = (), write: Iterable[str] = (), read: Iterable[str] = ()) -> Mapping[str, str]:
    """Rights on these names and on no others."""
    return {"configure": exactly(*configure), "write": exactly(*write), "read": exactly(*read)}


def user(stage: Stage, may: Mapping[str, str] | None, tags: str = "") -> tuple[str, str]:
    """A user who may do this in the vhost of the run."""
    if stage.around.admin is None:
        raise NotOffered("no management API was given, by which users could be made")
    return stage.around.user(stage, may, tags)


def enter(stage: Stage, login: tuple[str, str], vhost: str | None = None) -> Channel:
    """A channel of a new connection of this user."""
    connection = stage.connect(f"u{len(stage.connections)}", login=login, vhost=vhost)
    return stage.channel(connection=connection)
