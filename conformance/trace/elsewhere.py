"""Where results go if that may be an object store as well, and where inputs come from: looked at before any work."""

from __future__ import annotations

from pathlib import Path

from conformance.session.exits import WRONG_USE, Refused
from conformance.session.places import local, writable
from reports import objects
from reports.objects import Place, Unavailable


def anywhere(text: str) -> Place:
    """A path of this machine or an address of an object store, as argparse takes it."""
    return objects.place(text) if objects.is_address(text) else local(text)


def usable(name: str, where: Place) -> Place:
    """Where the option leads, if something can be written there. Raises Refused."""
    if isinstance(where, Path):
        return writable(name, where)
    try:
        objects.installed(tables=True)
    except Unavailable as bad:
        raise Refused(WRONG_USE, f"--{name} {where}: {bad}.") from None
    try:
        objects.writable(where)
    except Unavailable as bad:
        raise Refused(WRONG_USE, f"--{name} {str(bad).rstrip('.')}.") from None
    return where


def readable(paths: list[Place]) -> tuple[Place, ...]:
    """The inputs, if what they need is installed. Raises Refused."""
    try:
        if any(map(objects.is_address, paths)):
            objects.installed()
    except Unavailable as bad:
        raise Refused(WRONG_USE, f"{str(bad).rstrip('.')}.") from None
    return tuple(paths)
